//! Who owns which hook: six slots, each bound by configuration or by an explicit call, never by loading a plugin.
//!
//! | slot | owners |
//! |---|---|
//! | `ingest` | one |
//! | `select` | a chain, in the order in which it was named |
//! | `compress` | one, and successors that are asked in their order when it fails |
//! | `branch` | one |
//! | `observers` | any number |
//! | `tools` | any number; their tools have different names |
//!
//! [`SlotsBuilder`] takes claims and refuses the ones that contradict each other: there is no last one that wins and no
//! first one that wins silently. [`Slots`] is the result, and never changes; another binding is another value.

mod claim;
mod generation;
mod origin;
mod quarantine;

use std::fmt;
use std::sync::Arc;

pub use claim::{ClaimError, SlotsBuilder};
pub(crate) use generation::changes;
pub use generation::{Generation, Installed, Owner, SlotChange};
pub use origin::Origin;
pub(crate) use quarantine::Ward;
pub use quarantine::{NoAnswer, Quarantine};

use serde::Serialize;

use crate::hooks::Hook;
use crate::plugin::Plugin;

/// Id under which the host lists what was done on a branch, where no plugin summarised it. See
/// [`RESERVED_PREFIX`](crate::plugin::RESERVED_PREFIX).
pub const HOST_BRANCH_LIST: &str = "builtin:branch-list";

/// A question of the host that plugins answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slot {
    /// Shorten a tool result before it enters the view?
    Ingest,
    /// Shape this one request?
    Select,
    /// Compact the context, and how?
    Compress,
    /// What was done on the branch that is being left?
    Branch,
    /// Told what happens; changes nothing.
    Observers,
    /// Tools for the agent's model.
    Tools,
}

impl Slot {
    /// Every slot.
    pub const ALL: [Slot; 6] = [Slot::Ingest, Slot::Select, Slot::Compress, Slot::Branch, Slot::Observers, Slot::Tools];

    /// The name that configuration uses.
    pub fn name(self) -> &'static str {
        match self {
            Slot::Ingest => "ingest",
            Slot::Select => "select",
            Slot::Compress => "compress",
            Slot::Branch => "branch",
            Slot::Observers => "observers",
            Slot::Tools => "tools",
        }
    }

    /// The hook that a plugin must export to be bound here.
    pub fn hook(self) -> Hook {
        match self {
            Slot::Ingest => Hook::Reducer,
            Slot::Select => Hook::Selector,
            Slot::Compress => Hook::Compressor,
            Slot::Branch => Hook::BranchSummarizer,
            Slot::Observers => Hook::Observer,
            Slot::Tools => Hook::Toolbox,
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A plugin in a slot, and who put it there.
#[derive(Debug, Clone)]
pub struct Binding {
    plugin: Plugin,
    origin: Origin,
}

impl Binding {
    /// The plugin.
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.plugin.description().id
    }

    /// Where the binding was configured.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// Who owns what. Cheap to clone; never changes.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    bound: Arc<Bound>,
}

#[derive(Debug, Clone, Default)]
struct Bound {
    ingest: Vec<Binding>,
    select: Vec<Binding>,
    compress: Vec<Binding>,
    branch: Vec<Binding>,
    observers: Vec<Binding>,
    tools: Vec<Binding>,
    strict: bool,
}

impl Bound {
    fn slot(&self, slot: Slot) -> &Vec<Binding> {
        match slot {
            Slot::Ingest => &self.ingest,
            Slot::Select => &self.select,
            Slot::Compress => &self.compress,
            Slot::Branch => &self.branch,
            Slot::Observers => &self.observers,
            Slot::Tools => &self.tools,
        }
    }

    fn slot_mut(&mut self, slot: Slot) -> &mut Vec<Binding> {
        match slot {
            Slot::Ingest => &mut self.ingest,
            Slot::Select => &mut self.select,
            Slot::Compress => &mut self.compress,
            Slot::Branch => &mut self.branch,
            Slot::Observers => &mut self.observers,
            Slot::Tools => &mut self.tools,
        }
    }
}

impl Slots {
    /// Takes claims.
    pub fn builder() -> SlotsBuilder {
        SlotsBuilder::default()
    }

    /// Who is bound to a slot, in the order in which they are asked; empty where nobody is.
    pub fn bindings(&self, slot: Slot) -> &[Binding] {
        self.bound.slot(slot)
    }

    /// Who owns a slot: the first one that is asked.
    pub fn owner(&self, slot: Slot) -> Option<&Binding> {
        self.bindings(slot).first()
    }

    /// Whether every substitution is an error: a failed owner is not succeeded, a failed link is not skipped.
    pub fn strict(&self) -> bool {
        self.bound.strict
    }

    /// Every plugin that is bound, each once, in the order of its first slot.
    pub fn plugins(&self) -> Vec<&Plugin> {
        let mut plugins: Vec<&Plugin> = Vec::new();
        for binding in Slot::ALL.iter().flat_map(|slot| self.bindings(*slot)) {
            if !plugins.iter().any(|known| known.description().id == binding.id()) {
                plugins.push(&binding.plugin);
            }
        }
        plugins
    }
}
