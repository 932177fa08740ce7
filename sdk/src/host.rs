//! What a strategy may ask of the host: tokens, a model, state, recall, files, log.
//!
//! Hooks take a `&`[`Host`]. Natively that is a `&dyn Services`, so a test passes a
//! [`TestHost`](crate::memory::TestHost). In a component it is a zero-sized struct whose methods call the imports
//! directly: a `dyn` would keep every import alive through its vtable, and a component would then ask for services
//! that it never uses.

use crate::types::{Completion, Hit, Level, ModelError, Prompt, Scope};

/// The host that a hook is handed.
#[cfg(not(target_arch = "wasm32"))]
pub type Host = dyn Services;
/// The host that a hook is handed.
#[cfg(target_arch = "wasm32")]
pub type Host = crate::guest::GuestHost;

/// The services of the host, every interface of `wit/host.wit` in one trait.
///
/// A service that the operator did not grant answers so; no call traps.
pub trait Services {
    /// Tokens of one text, by the tokenizer of the session's model.
    fn count(&self, text: &str) -> u32;

    /// Tokens of many texts, in the order asked; one call for all is cheaper than one for each.
    fn count_all(&self, texts: &[String]) -> Vec<u32>;

    /// Bytes of the longest prefix of `text` that fits `budget` tokens, at a character boundary.
    fn fit(&self, text: &str, budget: u32) -> u32;

    /// Writes a message for operators.
    fn log(&self, level: Level, message: &str);

    /// Shown as a progress bar by hosts that have one.
    fn progress(&self, done: u32, total: u32, label: &str);

    /// Input window of the granted model in tokens, if known.
    fn model_window(&self) -> Option<u32>;

    /// Asks the model once.
    fn complete(&self, prompt: &Prompt) -> Result<Completion, ModelError>;

    /// Runs the prompts side by side; answers in the order asked.
    fn complete_all(&self, prompts: &[Prompt]) -> Vec<Result<Completion, ModelError>>;

    /// The value of a key of this plugin's durable state.
    fn state_get(&self, scope: Scope, key: &str) -> Option<Vec<u8>>;

    /// Stores a value. The error says why not: no store, over the limit, not in this hook.
    fn state_set(&self, scope: Scope, key: &str, value: &[u8]) -> Result<(), String>;

    /// Removes a key; not an error if there is none.
    fn state_delete(&self, scope: Scope, key: &str) -> Result<(), String>;

    /// Keys that begin with `prefix`, in order.
    fn state_keys(&self, scope: Scope, prefix: &str) -> Vec<String>;

    /// The best matches in everything this session ever held, best first.
    fn recall_search(&self, query: &str, limit: u32) -> Vec<Hit>;

    /// The whole text behind a [`Hit::id`], at most `limit` bytes.
    fn recall_fetch(&self, id: &str, limit: Option<u32>) -> Option<String>;

    /// A granted file as text, at most `limit` bytes. The error says why not.
    fn file_read(&self, path: &str, limit: Option<u32>) -> Result<String, String>;

    /// Names in a granted folder, folders with a slash at the end. The error says why not.
    fn file_entries(&self, path: &str) -> Result<Vec<String>, String>;
}
