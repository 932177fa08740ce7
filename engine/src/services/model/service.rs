//! A model as the host lends it to plugins.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Semaphore;
use tokio::time::timeout_at;
use tracing::Instrument as _;

use super::{Allowance, Completion, Finish, Model, ModelError, Prompt, Retries, retry, thinking};
use crate::redact::redact;
use crate::tokens::TokenCounter;

/// Requests side by side, by default. Enough for the parts of a long session, few enough for the limits of a new account.
const CONCURRENCY: usize = 4;

/// The longest wait for one answer, by default: as long as a plugin's call may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// Bytes of a token where nothing counts them; the rule of thumb for English that other hosts use too.
const BYTES_PER_TOKEN: usize = 4;

/// Tokens of a request besides its texts: 3 for each of two messages and 3 for the beginning of the answer (OpenAI's
/// cookbook, "How to count tokens with tiktoken").
const FRAME: u32 = 9;

/// How a model is lent.
#[derive(Debug, Clone)]
pub struct ModelOptions {
    counter: Option<Arc<dyn TokenCounter>>,
    request_timeout: Duration,
    retries: Retries,
    concurrency: usize,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self { counter: None, request_timeout: REQUEST_TIMEOUT, retries: Retries::default(), concurrency: CONCURRENCY }
    }
}

impl ModelOptions {
    /// What counts prompts, and answers whose tokens the provider does not say. Default: four bytes are a token, which
    /// is wrong for code and for many languages; lend the engine's ([`crate::Engine::counter`]).
    pub fn counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = Some(counter);
        self
    }

    /// The longest wait for one answer; the deadline of a call may end it earlier. Default: two minutes.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// How often a request is repeated. Default: three times.
    pub fn retries(mut self, retries: Retries) -> Self {
        self.retries = retries;
        self
    }

    /// Requests side by side, at least one; shared by all clones of the service. Default: 4.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests.clamp(1, Semaphore::MAX_PERMITS);
        self
    }
}

/// A model as the host lends it to plugins. Cheap to clone; clones share the limit on calls side by side.
#[derive(Debug, Clone)]
pub struct ModelService {
    model: Arc<dyn Model>,
    options: Arc<ModelOptions>,
    permits: Arc<Semaphore>,
}

impl ModelService {
    /// Lends this model, with the default options.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self::with_options(model, ModelOptions::default())
    }

    /// Lends this model.
    pub fn with_options(model: Arc<dyn Model>, options: ModelOptions) -> Self {
        let permits = Arc::new(Semaphore::new(options.concurrency));
        Self { model, options: Arc::new(options), permits }
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
    ///
    /// The prompt goes out without its secrets, and only if it fits the window together with the longest answer that it
    /// accepts. A request that the provider could not answer for now is repeated, each time from the same allowance; if
    /// that or the time does not last, the answer is the provider's error.
    ///
    /// # Errors
    ///
    /// Why there is no answer. An answer that was cut off or refused is no error: see [`Completion::finish`].
    pub async fn complete(
        &self,
        prompt: &Prompt,
        allowance: &Allowance,
        deadline: Instant,
    ) -> Result<Completion, ModelError> {
        let prompt = masked(prompt);
        let input_tokens = self.count(&prompt.system).saturating_add(self.count(&prompt.user)).saturating_add(FRAME);
        let window = self.model.window();
        if window.is_some_and(|window| input_tokens.saturating_add(prompt.max_output_tokens) > window) {
            return Err(ModelError::TooLong { window });
        }
        let mut last = None;
        let mut attempt = 0;
        loop {
            let answer = timeout_at(deadline.into(), self.attempt(&prompt, input_tokens, allowance, deadline, attempt));
            let error = match answer.await {
                Ok(Ok(completion)) => return Ok(completion),
                // The retry was not covered; what the provider said tells more.
                Ok(Err(ModelError::OverBudget)) => return Err(last.unwrap_or(ModelError::OverBudget)),
                Ok(Err(error)) => error,
                Err(_) => return Err(last.unwrap_or(ModelError::Timeout)),
            };
            let now = Instant::now();
            match self.options.retries.wait(&error, attempt, retry::chance()) {
                Some(wait) if now.checked_add(wait).is_some_and(|then| then < deadline) => {
                    tracing::debug!(model = self.name(), attempt, wait_ms = millis(wait), %error, "model request will be repeated");
                    tokio::time::sleep(wait).await;
                }
                _ => return Err(error),
            }
            last = Some(error);
            attempt += 1;
        }
    }

    /// Asks side by side, as many at once as the options allow; answers in the order asked. A prompt that fails does
    /// not stop the others.
    pub async fn complete_all(
        &self,
        prompts: &[Prompt],
        allowance: &Allowance,
        deadline: Instant,
    ) -> Vec<Result<Completion, ModelError>> {
        let numbered = |(index, prompt)| async move { (index, self.complete(prompt, allowance, deadline).await) };
        // Started in their order, and waiting for a permit in their order.
        let asked: FuturesUnordered<_> = prompts.iter().enumerate().map(numbered).collect();
        let mut answers: Vec<(usize, Result<Completion, ModelError>)> = asked.collect().await;
        answers.sort_unstable_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// One request, when its turn comes.
    async fn attempt(
        &self,
        prompt: &Prompt,
        input_tokens: u32,
        allowance: &Allowance,
        deadline: Instant,
        attempt: u32,
    ) -> Result<Completion, ModelError> {
        let Ok(_permit) = self.permits.acquire().await else {
            return Err(ModelError::Absent);
        };
        let held = allowance.hold(input_tokens, prompt.max_output_tokens).await?;
        let span = tracing::info_span!(
            "model_request",
            model = self.name(),
            attempt,
            prompt_tokens = input_tokens,
            input_tokens = tracing::field::Empty,
            output_tokens = tracing::field::Empty,
            duration_ms = tracing::field::Empty,
            finish = tracing::field::Empty,
            error = tracing::field::Empty,
        );
        let start = Instant::now();
        let ends = deadline.min(start.checked_add(self.options.request_timeout).unwrap_or(deadline));
        let answer = timeout_at(ends.into(), self.model.complete(prompt)).instrument(span.clone()).await;
        let answer = answer.unwrap_or(Err(ModelError::Timeout)).map(|answer| self.counted(answer, input_tokens));
        // What an answer cost is entered also where it is of no use.
        held.settle(&answer);
        let outcome = answer.and_then(|answer| self.checked(answer));
        span.record("duration_ms", millis(start.elapsed()));
        match &outcome {
            Ok(completion) => {
                span.record("input_tokens", completion.input_tokens);
                span.record("output_tokens", completion.output_tokens);
                span.record("finish", completion.finish.name());
            }
            Err(error) => {
                span.record("error", tracing::field::display(error));
            }
        }
        outcome
    }

    /// An answer with what the provider did not count, and without its reasoning.
    fn counted(&self, mut answer: Completion, input_tokens: u32) -> Completion {
        if answer.input_tokens == 0 {
            answer.input_tokens = input_tokens;
        }
        if answer.output_tokens == 0 {
            answer.output_tokens = self.count(&answer.text);
        }
        let text = thinking::strip(&answer.text);
        if text.len() < answer.text.len() {
            answer.text = text.to_owned();
        }
        answer
    }

    /// An answer with something in it. One that was refused may be empty.
    fn checked(&self, answer: Completion) -> Result<Completion, ModelError> {
        if !answer.text.trim().is_empty() || answer.finish == Finish::Refused {
            return Ok(answer);
        }
        // Some servers take a prompt that is too long, and then have no room to answer.
        let window = self.model.window();
        let full = window.is_some_and(|window| u64::from(answer.input_tokens) * 100 >= u64::from(window) * 99);
        if answer.finish == Finish::Truncated && full {
            return Err(ModelError::TooLong { window });
        }
        let tokens = answer.output_tokens;
        Err(ModelError::Provider(match answer.finish {
            Finish::Truncated => format!(
                "the answer is empty: the model came to the limit after {tokens} tokens, before its first word; \
                 a model that reasons needs a longer answer to be allowed"
            ),
            _ => format!("the answer is empty, with {tokens} tokens of output"),
        }))
    }

    fn count(&self, text: &str) -> u32 {
        match &self.options.counter {
            Some(counter) => counter.count(text),
            None => u32::try_from(text.len().div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The prompt as it leaves.
fn masked(prompt: &Prompt) -> Prompt {
    Prompt {
        system: redact(&prompt.system).into_owned(),
        user: redact(&prompt.user).into_owned(),
        max_output_tokens: prompt.max_output_tokens,
        temperature: prompt.temperature,
        stop: prompt.stop.iter().map(|stop| redact(stop).into_owned()).collect(),
    }
}
