//! The host as a component sees it: each method is one imported function.

use crate::bindings::imports::contextengine::plugin::{files, log, model, recall, state, tokens};
use crate::host::Services;
use crate::types::{Completion, Hit, Level, ModelError, Prompt, Scope};

/// Calls the imports. Outside a component every method panics; nothing hands one out there.
#[derive(Debug, Clone, Copy)]
pub struct GuestHost {
    _private: (),
}

impl GuestHost {
    pub(super) const fn new() -> Self {
        Self { _private: () }
    }
}

/// Writes the methods twice: as inherent ones, so that they need no trait in scope (a `dyn Services` needs none
/// either), and as the trait.
macro_rules! services {
    ($($(#[$doc:meta])* fn $name:ident(&self $(, $arg:ident: $type:ty)*) $(-> $answer:ty)? $body:block)*) => {
        impl GuestHost {
            $($(#[$doc])* pub fn $name(&self $(, $arg: $type)*) $(-> $answer)? $body)*
        }
        impl Services for GuestHost {
            $(fn $name(&self $(, $arg: $type)*) $(-> $answer)? {
                Self::$name(self $(, $arg)*)
            })*
        }
    };
}

services! {
    /// See [`Services::count`].
    fn count(&self, text: &str) -> u32 {
        tokens::count(text)
    }
    /// See [`Services::count_all`].
    fn count_all(&self, texts: &[String]) -> Vec<u32> {
        tokens::count_all(texts)
    }
    /// See [`Services::fit`].
    fn fit(&self, text: &str, budget: u32) -> u32 {
        tokens::fit(text, budget)
    }
    /// See [`Services::log`].
    fn log(&self, level: Level, message: &str) {
        log::log(level, message);
    }
    /// See [`Services::progress`].
    fn progress(&self, done: u32, total: u32, label: &str) {
        log::progress(done, total, label);
    }
    /// See [`Services::model_window`].
    fn model_window(&self) -> Option<u32> {
        model::window()
    }
    /// See [`Services::complete`].
    fn complete(&self, prompt: &Prompt) -> Result<Completion, ModelError> {
        model::complete(prompt)
    }
    /// See [`Services::complete_all`].
    fn complete_all(&self, prompts: &[Prompt]) -> Vec<Result<Completion, ModelError>> {
        model::complete_all(prompts)
    }
    /// See [`Services::state_get`].
    fn state_get(&self, scope: Scope, key: &str) -> Option<Vec<u8>> {
        state::get(scope, key)
    }
    /// See [`Services::state_set`].
    fn state_set(&self, scope: Scope, key: &str, value: &[u8]) -> Result<(), String> {
        state::set(scope, key, value)
    }
    /// See [`Services::state_delete`].
    fn state_delete(&self, scope: Scope, key: &str) -> Result<(), String> {
        state::delete(scope, key)
    }
    /// See [`Services::state_keys`].
    fn state_keys(&self, scope: Scope, prefix: &str) -> Vec<String> {
        state::keys(scope, prefix)
    }
    /// See [`Services::recall_search`].
    fn recall_search(&self, query: &str, limit: u32) -> Vec<Hit> {
        recall::search(query, limit)
    }
    /// See [`Services::recall_fetch`].
    fn recall_fetch(&self, id: &str, limit: Option<u32>) -> Option<String> {
        recall::fetch(id, limit)
    }
    /// See [`Services::file_read`].
    fn file_read(&self, path: &str, limit: Option<u32>) -> Result<String, String> {
        files::read(path, limit)
    }
    /// See [`Services::file_entries`].
    fn file_entries(&self, path: &str) -> Result<Vec<String>, String> {
        files::entries(path)
    }
}
