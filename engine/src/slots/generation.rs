//! Generations: each setup that is put in force has the next number, and a number fences off what came before it.

use std::fmt;

use serde::Serialize;

use super::{Binding, Slot, Slots};

/// Number of a setup of one engine: 0 before anything was installed, then 1, 2 and so on. What was begun under an older
/// one can be told from what is in force now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
#[serde(transparent)]
pub struct Generation(u64);

impl Generation {
    /// The number.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The one after this.
    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A plugin as records and events name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct Owner {
    /// Id of the plugin.
    pub id: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of its component, in hex.
    pub component_hash: String,
}

impl From<&Binding> for Owner {
    fn from(binding: &Binding) -> Self {
        let plugin = binding.plugin();
        Self {
            id: binding.id().to_owned(),
            version: plugin.description().version.clone(),
            component_hash: plugin.component_hash().to_owned(),
        }
    }
}

/// A slot whose owners are not the same any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SlotChange {
    /// The slot.
    pub slot: Slot,
    /// Who was bound to it, in the order in which they were asked.
    pub before: Vec<Owner>,
    /// Who is bound to it now. The same owners as before where only a configuration, a limit or a grant changed.
    pub after: Vec<Owner>,
}

impl fmt::Display for SlotChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |owners: &[Owner]| match owners {
            [] => "nobody".to_owned(),
            owners => owners.iter().map(|owner| format!("`{}`", owner.id)).collect::<Vec<_>>().join(", "),
        };
        write!(f, "{}: {} -> {}", self.slot, names(&self.before), names(&self.after))
    }
}

/// What an installation did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Installed {
    /// Its number. Turns that begin from now on have it.
    pub generation: Generation,
    /// The slots whose owners changed. A plugin that was loaded anew with another configuration is a change, too.
    pub changes: Vec<SlotChange>,
}

/// What differs between two bindings of the slots.
pub(crate) fn changes(before: &Slots, after: &Slots) -> Vec<SlotChange> {
    let differs = |slot: &Slot| {
        let (old, new) = (before.bindings(*slot), after.bindings(*slot));
        old.len() != new.len() || old.iter().zip(new).any(|(old, new)| !old.plugin().is_same(new.plugin()))
    };
    let owners = |slots: &Slots, slot: Slot| slots.bindings(slot).iter().map(Owner::from).collect();
    let changed = Slot::ALL.into_iter().filter(differs);
    changed.map(|slot| SlotChange { slot, before: owners(before, slot), after: owners(after, slot) }).collect()
}
