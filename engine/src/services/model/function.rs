//! A model made of a closure.

use std::fmt;
use std::future::Future;

use super::{Completion, Model, ModelError, ModelFuture, Prompt};

/// A model that is a function of the embedder: an agent that has a client of its own lends it to plugins by this.
///
/// The function asks once; how errors are told apart decides whether [`ModelService`](super::ModelService) asks again.
pub struct FnModel<F> {
    name: String,
    window: Option<u32>,
    ask: F,
}

impl<F, A> FnModel<F>
where
    F: Fn(Prompt) -> A + Send + Sync,
    A: Future<Output = Result<Completion, ModelError>> + Send + 'static,
{
    /// A model by this name, for records, that asks by this function.
    pub fn new(name: impl Into<String>, ask: F) -> Self {
        Self { name: name.into(), window: None, ask }
    }

    /// Its input window in tokens. Default: not known.
    pub fn window(mut self, tokens: u32) -> Self {
        self.window = Some(tokens);
        self
    }
}

impl<F> fmt::Debug for FnModel<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnModel").field("name", &self.name).field("window", &self.window).finish_non_exhaustive()
    }
}

impl<F, A> Model for FnModel<F>
where
    F: Fn(Prompt) -> A + Send + Sync,
    A: Future<Output = Result<Completion, ModelError>> + Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> Option<u32> {
        self.window
    }

    fn complete<'a>(&'a self, prompt: &'a Prompt) -> ModelFuture<'a> {
        Box::pin((self.ask)(prompt.clone()))
    }
}
