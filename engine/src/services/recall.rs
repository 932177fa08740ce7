//! Search over everything that a session ever held.

use std::fmt;

use super::ServiceFuture;

/// A passage that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Id of the entry, for [`Recall::fetch`].
    pub id: String,
    /// The words around the match, on one line.
    pub snippet: String,
    /// Higher is better; comparable within one answer only.
    pub score: f32,
}

/// Finds what was said in one session, also what was compacted away. The errors are for the log.
pub trait Recall: fmt::Debug + Send + Sync {
    /// The best matches, best first.
    fn search<'a>(&'a self, query: &'a str, limit: u32) -> ServiceFuture<'a, Result<Vec<Passage>, String>>;

    /// The whole text behind an id; `None` if there is no such entry.
    fn fetch<'a>(&'a self, id: &'a str) -> ServiceFuture<'a, Result<Option<String>, String>>;
}
