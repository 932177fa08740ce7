//! Plugins that broke off, and are asked no more.
//!
//! A trap, a panic or a limit that was reached says that the next call may well end the same way, and cost as much. So
//! such a plugin is left alone in that session, in every slot, until another setup is installed. A plugin that answered
//! in order, if only that it cannot do it, is not at fault; nor is one whose caller stopped waiting.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Generation, Slot};
use crate::plugin::CallError;
use crate::transcript::Timestamp;

/// Why a plugin is asked no more in a session: the first fault, whatever came after it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quarantine {
    /// Id of the plugin.
    pub plugin: String,
    /// The slot that it was asked for.
    pub slot: Slot,
    /// The function that was called, as in `should-compress`.
    pub hook: &'static str,
    /// How it ended.
    pub error: CallError,
    /// When.
    pub at: Timestamp,
    /// The setup under which it happened. Installing another one lifts the quarantine.
    pub generation: Generation,
}

impl fmt::Display for Quarantine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is left alone in this session since it broke off in slot `{}`: {}; it is asked again after the next \
             reload of the configuration",
            self.plugin, self.slot, self.error
        )
    }
}

/// Why a plugin gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoAnswer {
    /// It was asked, and gave none.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It was not asked.
    #[error("{0}")]
    Quarantined(Arc<Quarantine>),
}

/// The quarantines of one session under one setup. Another setup starts with none.
#[derive(Debug, Default)]
pub(crate) struct Ward {
    quarantined: Mutex<HashMap<String, Arc<Quarantine>>>,
}

impl Ward {
    /// Why a plugin is left alone, if it is.
    pub(crate) fn of(&self, plugin: &str) -> Option<Arc<Quarantine>> {
        self.lock().get(plugin).cloned()
    }

    /// Leaves a plugin alone from now on. `false` if it was so already: the first cause stays.
    pub(crate) fn admit(&self, quarantine: Quarantine) -> bool {
        let mut quarantined = self.lock();
        if quarantined.contains_key(&quarantine.plugin) {
            return false;
        }
        quarantined.insert(quarantine.plugin.clone(), Arc::new(quarantine));
        true
    }

    /// All of them, by the plugins' ids.
    pub(crate) fn all(&self) -> Vec<Quarantine> {
        let mut all: Vec<Quarantine> = self.lock().values().map(|quarantine| (**quarantine).clone()).collect();
        all.sort_by(|a, b| a.plugin.cmp(&b.plugin));
        all
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Quarantine>>> {
        // Every change is one insertion.
        self.quarantined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
