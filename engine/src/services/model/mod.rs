//! Completions for plugins, from any provider.
//!
//! [`Model`] is what a provider has to be. [`ModelService`] is what the host lends to plugins: it puts retries, timeouts,
//! a limit on calls side by side, redaction and the window check around a model. An [`Allowance`] says how much of it
//! one attempt of one plugin may use.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

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

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What the model wrote.
    pub text: String,
    /// How it ended.
    pub finish: Finish,
    /// Tokens of the prompt, by the provider's count.
    pub input_tokens: u32,
    /// Tokens of the answer, by the provider's count.
    pub output_tokens: u32,
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
    /// Anything else, in the provider's words.
    #[error("the provider failed: {0}")]
    Provider(String),
}

/// The answer of a model, to be awaited. Dropping it cancels the request.
pub type ModelFuture<'a> = ServiceFuture<'a, Result<Completion, ModelError>>;

/// A model of some provider. One call is one request: retries and limits are put around it by [`ModelService`].
pub trait Model: fmt::Debug + Send + Sync {
    /// The name that the provider knows it by, for records.
    fn name(&self) -> &str;

    /// Input window in tokens, if known.
    fn window(&self) -> Option<u32>;

    /// Asks once.
    fn complete<'a>(&'a self, prompt: &'a Prompt) -> ModelFuture<'a>;
}

/// How much of a model one attempt may use. A clone is the same allowance.
#[derive(Debug, Clone)]
pub struct Allowance {
    inner: Arc<Spent>,
    calls: u32,
    tokens: u64,
}

#[derive(Debug, Default)]
struct Spent {
    calls: AtomicU32,
    input_tokens: AtomicU64,
    output_tokens: AtomicU64,
}

impl Allowance {
    /// So many calls, and so many tokens in prompts and answers together.
    pub fn new(calls: u32, tokens: u64) -> Self {
        Self { inner: Arc::default(), calls, tokens }
    }

    /// Calls that were made.
    pub fn calls_made(&self) -> u32 {
        self.inner.calls.load(Ordering::Relaxed)
    }

    /// Tokens of prompts and of answers so far, by the provider's count.
    pub fn tokens_used(&self) -> (u64, u64) {
        (self.inner.input_tokens.load(Ordering::Relaxed), self.inner.output_tokens.load(Ordering::Relaxed))
    }
}

/// A model as the host lends it to plugins. Cheap to clone; clones share the limit on calls side by side.
#[derive(Debug, Clone)]
pub struct ModelService {
    model: Arc<dyn Model>,
}

impl ModelService {
    /// Lends this model, with the default options.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self { model }
    }

    /// The name that the provider knows it by.
    pub fn name(&self) -> &str {
        self.model.name()
    }

    /// Input window in tokens, if known.
    pub fn window(&self) -> Option<u32> {
        self.model.window()
    }

    /// Asks once, within the allowance and before the deadline. Dropping the future cancels the request.
    pub async fn complete(
        &self,
        prompt: &Prompt,
        allowance: &Allowance,
        deadline: Instant,
    ) -> Result<Completion, ModelError> {
        let (input, output) = allowance.tokens_used();
        if allowance.inner.calls.fetch_add(1, Ordering::Relaxed) >= allowance.calls
            || input + output >= allowance.tokens
        {
            return Err(ModelError::OverBudget);
        }
        let answer = tokio::time::timeout_at(deadline.into(), self.model.complete(prompt)).await;
        let completion = answer.unwrap_or(Err(ModelError::Timeout))?;
        allowance.inner.input_tokens.fetch_add(u64::from(completion.input_tokens), Ordering::Relaxed);
        allowance.inner.output_tokens.fetch_add(u64::from(completion.output_tokens), Ordering::Relaxed);
        Ok(completion)
    }

    /// Asks side by side, as many at once as the options allow; answers in the order asked.
    pub async fn complete_all(
        &self,
        prompts: &[Prompt],
        allowance: &Allowance,
        deadline: Instant,
    ) -> Vec<Result<Completion, ModelError>> {
        let mut answers = Vec::with_capacity(prompts.len());
        for prompt in prompts {
            answers.push(self.complete(prompt, allowance, deadline).await);
        }
        answers
    }
}
