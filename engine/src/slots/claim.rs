//! Claims, and the ones that are refused.

use std::sync::Arc;

use super::{Binding, Bound, Origin, Slot, Slots};
use crate::hooks::Hook;
use crate::plugin::Plugin;

/// Why a claim was refused. Nothing was bound by it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// The slot has an owner.
    #[error(
        "slot `{slot}` is owned by `{owner}` ({owner_origin}), so `{claimant}` ({claimant_origin}) cannot own it too; \
         {}",
        instead(*slot, owner, claimant)
    )]
    Held {
        /// The slot.
        slot: Slot,
        /// Id of the owner.
        owner: String,
        /// Where it was bound.
        owner_origin: Box<Origin>,
        /// Id of the plugin that claims the slot too.
        claimant: String,
        /// Where it was to be bound.
        claimant_origin: Box<Origin>,
    },
    /// The plugin does not export what the slot asks for.
    #[error(
        "`{claimant}` ({origin}) cannot own slot `{slot}`: it does not export `{}`; {}",
        slot.hook().interface(),
        fits(exports)
    )]
    CannotOwn {
        /// The slot.
        slot: Slot,
        /// Id of the plugin.
        claimant: String,
        /// Where it was to be bound.
        origin: Origin,
        /// What it exports.
        exports: Vec<Hook>,
    },
    /// Two plugins have one id.
    #[error(
        "two plugins have the id `{id}`: one bound at {first_origin}, another one at {second_origin}; ids must differ, \
         as records name plugins by them; leave one out"
    )]
    IdTaken {
        /// The id.
        id: String,
        /// Where the first one was bound.
        first_origin: Box<Origin>,
        /// Where the other one was to be bound.
        second_origin: Box<Origin>,
    },
    /// It is named twice in the order of a slot.
    #[error(
        "slot `{slot}` names `{plugin}` twice ({first_origin} and {second_origin}); name it once, at its place in the order"
    )]
    NamedTwice {
        /// The slot.
        slot: Slot,
        /// Id of the plugin.
        plugin: String,
        /// Where it was bound.
        first_origin: Box<Origin>,
        /// Where it was to be bound again.
        second_origin: Box<Origin>,
    },
    /// A successor of nobody.
    #[error("`{plugin}` ({origin}) cannot succeed the owner of `compress`: there is none; bind an owner first")]
    NoOwner {
        /// Id of the plugin.
        plugin: String,
        /// Where it was to be bound.
        origin: Origin,
    },
    /// Two plugins offer a tool of one name.
    #[error(
        "`{claimant}` ({claimant_origin}) offers the tool `{tool}`, which `{owner}` ({owner_origin}) offers already; a \
         model could not tell them apart; leave one of the plugins out of `tools`"
    )]
    ToolTaken {
        /// Name of the tool.
        tool: String,
        /// Id of the plugin that offers it.
        owner: String,
        /// Where that was bound.
        owner_origin: Box<Origin>,
        /// Id of the plugin that offers it too.
        claimant: String,
        /// Where it was to be bound.
        claimant_origin: Box<Origin>,
    },
}

fn instead(slot: Slot, owner: &str, claimant: &str) -> String {
    match slot {
        Slot::Compress => {
            format!(
                "write compress = [\"{owner}\", \"{claimant}\"] for it to succeed the owner on failure, or name one"
            )
        }
        _ => format!("write {slot} = \"{claimant}\" or {slot} = \"{owner}\", in one place"),
    }
}

fn fits(exports: &[Hook]) -> String {
    let slots: Vec<String> =
        Slot::ALL.iter().filter(|slot| exports.contains(&slot.hook())).map(|slot| format!("`{slot}`")).collect();
    format!("it can be bound to {}", slots.join(", "))
}

/// Takes claims on slots. Every claim is checked at once; a refused one leaves the builder as it was.
#[derive(Debug, Clone, Default)]
pub struct SlotsBuilder {
    bound: Bound,
}

impl SlotsBuilder {
    /// Binds a plugin to a slot: as the owner where there is one, as the last of the chain of `select`, as one more of
    /// the observers or the tools. The same plugin can claim again what it owns, and then nothing changes but the
    /// origin.
    ///
    /// # Errors
    ///
    /// The slot is held by another one, the plugin does not export the hook, another plugin has its id, `select` names
    /// it twice, or one of its tools has the name of another one.
    pub fn claim(&mut self, slot: Slot, plugin: &Plugin, origin: Origin) -> Result<&mut Self, ClaimError> {
        let binding = self.checked(slot, plugin, origin)?;
        match slot {
            Slot::Ingest | Slot::Compress | Slot::Branch => self.own(slot, binding)?,
            Slot::Select => self.append(slot, binding)?,
            Slot::Observers => self.join(slot, binding),
            Slot::Tools => {
                self.tools_are_free(&binding)?;
                self.join(slot, binding);
            }
        }
        Ok(self)
    }

    /// Binds a plugin to `compress` behind the owner and the successors that are there: it is asked when they fail.
    ///
    /// # Errors
    ///
    /// There is no owner, it is named already, it does not export the hook, or another plugin has its id.
    pub fn succeed(&mut self, plugin: &Plugin, origin: Origin) -> Result<&mut Self, ClaimError> {
        let binding = self.checked(Slot::Compress, plugin, origin)?;
        if self.bound.compress.is_empty() {
            return Err(ClaimError::NoOwner { plugin: binding.id().to_owned(), origin: binding.origin });
        }
        self.append(Slot::Compress, binding)?;
        Ok(self)
    }

    /// Makes every substitution an error, or not. Default: not.
    pub fn strict(&mut self, strict: bool) -> &mut Self {
        self.bound.strict = strict;
        self
    }

    /// The slots as they are bound now.
    pub fn build(&self) -> Slots {
        Slots { bound: Arc::new(self.bound.clone()) }
    }

    /// Whether the plugin can be bound there, and is the only one of its id.
    fn checked(&self, slot: Slot, plugin: &Plugin, origin: Origin) -> Result<Binding, ClaimError> {
        let id = &plugin.description().id;
        if !plugin.hooks().contains(&slot.hook()) {
            let (claimant, exports) = (id.clone(), plugin.hooks().to_vec());
            return Err(ClaimError::CannotOwn { slot, claimant, origin, exports });
        }
        let namesake = Slot::ALL
            .iter()
            .flat_map(|slot| self.bound.slot(*slot))
            .find(|binding| binding.id() == id && !binding.plugin.is_same(plugin));
        if let Some(namesake) = namesake {
            let (id, first_origin) = (id.clone(), Box::new(namesake.origin.clone()));
            return Err(ClaimError::IdTaken { id, first_origin, second_origin: Box::new(origin) });
        }
        Ok(Binding { plugin: plugin.clone(), origin })
    }

    fn own(&mut self, slot: Slot, binding: Binding) -> Result<(), ClaimError> {
        let bindings = self.bound.slot_mut(slot);
        match bindings.first_mut() {
            None => bindings.push(binding),
            Some(owner) if owner.id() == binding.id() => *owner = binding,
            Some(owner) => {
                return Err(ClaimError::Held {
                    slot,
                    owner: owner.id().to_owned(),
                    owner_origin: Box::new(owner.origin.clone()),
                    claimant: binding.id().to_owned(),
                    claimant_origin: Box::new(binding.origin),
                });
            }
        }
        Ok(())
    }

    fn append(&mut self, slot: Slot, binding: Binding) -> Result<(), ClaimError> {
        let bindings = self.bound.slot_mut(slot);
        if let Some(known) = bindings.iter().find(|known| known.id() == binding.id()) {
            let (plugin, first_origin) = (binding.id().to_owned(), Box::new(known.origin.clone()));
            let second_origin = Box::new(binding.origin);
            return Err(ClaimError::NamedTwice { slot, plugin, first_origin, second_origin });
        }
        bindings.push(binding);
        Ok(())
    }

    fn join(&mut self, slot: Slot, binding: Binding) {
        let bindings = self.bound.slot_mut(slot);
        match bindings.iter_mut().find(|known| known.id() == binding.id()) {
            Some(known) => *known = binding,
            None => bindings.push(binding),
        }
    }

    fn tools_are_free(&self, claimant: &Binding) -> Result<(), ClaimError> {
        for owner in self.bound.tools.iter().filter(|owner| owner.id() != claimant.id()) {
            let taken = claimant
                .plugin
                .tools()
                .iter()
                .find(|tool| owner.plugin.tools().iter().any(|other| other.name == tool.name));
            if let Some(tool) = taken {
                return Err(ClaimError::ToolTaken {
                    tool: tool.name.clone(),
                    owner: owner.id().to_owned(),
                    owner_origin: Box::new(owner.origin.clone()),
                    claimant: claimant.id().to_owned(),
                    claimant_origin: Box::new(claimant.origin.clone()),
                });
            }
        }
        Ok(())
    }
}
