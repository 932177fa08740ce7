//! Completions for plugins, from any provider.
//!
//! [`Model`] is what a provider has to be; [`ModelConfig`] makes one that speaks HTTP, [`FnModel`] makes one of a closure,
//! [`ScriptedModel`] plays answers from a file. [`ModelService`] is what the host lends to plugins: it puts redaction,
//! the window check, a timeout, retries and a limit on requests side by side around a model. An [`Allowance`] says how
//! much of it one attempt of one plugin may use.
//!
//! ```
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! # runtime.block_on(async {
//! use std::sync::Arc;
//! use std::time::{Duration, Instant};
//!
//! use contextengine::services::model::{Allowance, Completion, FnModel, ModelService, Prompt};
//!
//! let model = FnModel::new("echo", |prompt: Prompt| async move { Ok(Completion::new(prompt.user)) });
//! let service = ModelService::new(Arc::new(model));
//!
//! let prompt = Prompt::new("Repeat.", "password=hunter22", 100);
//! let deadline = Instant::now() + Duration::from_secs(5);
//! let answer = service.complete(&prompt, &Allowance::new(1, 1_000), deadline).await?;
//! assert_eq!(answer.text, "password=[redacted]");
//! # Ok::<(), contextengine::services::model::ModelError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Promises: no secret that [`redact`](crate::redact) knows leaves in a prompt, a record, an error or a span; nothing is
//! sent that cannot fit or that the allowance does not cover; a dropped future sends nothing more and gives back what it
//! held; no answer is returned that is empty or of another shape than a completion.

mod allowance;
#[cfg(feature = "providers")]
mod config;
mod function;
#[cfg(feature = "genai")]
mod genai;
#[cfg(feature = "providers")]
mod http;
mod overflow;
mod retry;
mod script;
mod scripted;
mod secret;
mod service;
#[cfg(test)]
mod tests;
mod thinking;

use std::fmt;
use std::time::Duration;

pub use allowance::Allowance;
#[cfg(feature = "providers")]
pub use config::{ModelConfig, ModelConfigError, OutputLimit, Provider, UnknownProvider};
pub use function::FnModel;
pub use overflow::is_overflow;
pub use retry::Retries;
pub use script::ScriptError;
pub use scripted::ScriptedModel;
pub use secret::{Secret, SecretError};
pub use service::{ModelOptions, ModelService};

use super::ServiceFuture;

/// What to ask.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Instructions.
    pub system: String,
    /// The question; the last thing that the model reads.
    pub user: String,
    /// The longest answer to accept, in tokens.
    pub max_output_tokens: u32,
    /// Randomness, from 0; the provider's default if not given.
    pub temperature: Option<f32>,
    /// Texts at which the model stops.
    pub stop: Vec<String>,
}

impl Prompt {
    /// A prompt without wishes about randomness or stops.
    pub fn new(system: impl Into<String>, user: impl Into<String>, max_output_tokens: u32) -> Self {
        Self { system: system.into(), user: user.into(), max_output_tokens, temperature: None, stop: Vec::new() }
    }
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// By itself.
    Complete,
    /// At the limit; not fit to be a summary.
    Truncated,
    /// The model or the provider declined.
    Refused,
}

impl Finish {
    /// Its name in records and scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What the model wrote, without its reasoning.
    pub text: String,
    /// How it ended.
    pub finish: Finish,
    /// Tokens of the prompt, by the provider's count. A [`Model`] that was not told says 0; the service counts then.
    pub input_tokens: u32,
    /// Tokens of the answer, by the provider's count, with those of reasoning. A [`Model`] that was not told says 0; the
    /// service counts then.
    pub output_tokens: u32,
}

impl Completion {
    /// A complete answer whose tokens nobody has counted yet.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), finish: Finish::Complete, input_tokens: 0, output_tokens: 0 }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No model is configured or granted.
    #[error("no model is configured or granted")]
    Absent,
    /// The prompt does not fit the model's window.
    #[error("the prompt does not fit the model's window{}", window.map_or_else(String::new, |tokens| format!(" of {tokens} tokens")))]
    TooLong {
        /// The window in tokens, if known.
        window: Option<u32>,
    },
    /// The operator's allowance of calls or tokens is spent.
    #[error("the allowance of model calls or tokens is spent")]
    OverBudget,
    /// The provider asks to wait.
    #[error("the provider asks to wait{}", after.map_or_else(String::new, |after| format!(" {} ms", after.as_millis())))]
    RateLimited {
        /// For how long, if it says.
        after: Option<Duration>,
    },
    /// No answer in time.
    #[error("the model did not answer in time")]
    Timeout,
    /// The provider could not answer for now: it is overloaded, it failed, or the connection broke. Asking again may
    /// help.
    #[error("the provider failed for now: {reason}")]
    Unavailable {
        /// What happened, without secrets.
        reason: String,
        /// When to ask again, if it says.
        after: Option<Duration>,
    },
    /// The provider was not reached, so it saw nothing of the request. Asking again may help.
    #[error("the provider was not reached: {0}")]
    Unreachable(String),
    /// Anything else, in the provider's words. Asking again does not help.
    #[error("the provider failed: {0}")]
    Provider(String),
}

/// The answer of a model, to be awaited. Dropping it cancels the request.
pub type ModelFuture<'a> = ServiceFuture<'a, Result<Completion, ModelError>>;

/// A model of some provider. One call is one request: retries and limits are put around it by [`ModelService`], which
/// tells by the variant of the error whether to ask again.
pub trait Model: fmt::Debug + Send + Sync {
    /// The name that the provider knows it by, for records.
    fn name(&self) -> &str;

    /// Input window in tokens, if known.
    fn window(&self) -> Option<u32>;

    /// Asks once.
    fn complete<'a>(&'a self, prompt: &'a Prompt) -> ModelFuture<'a>;
}
