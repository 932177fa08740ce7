//! How much of a model one attempt may use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::{Completion, ModelError};

/// How much of a model one attempt may use. A clone is the same allowance.
///
/// A call is a request that reached the provider, whether it was answered or not: retries count, as they cost and are
/// limited like any other. A connection that did not come about does not count. Tokens are those of prompts and
/// answers together, by the provider's count.
///
/// The limit is kept before sending: a request goes out only if its prompt and the longest answer that it accepts are
/// covered. What the answer did not take is there again for the next.
#[derive(Debug, Clone)]
pub struct Allowance {
    inner: Arc<Inner>,
    calls: u32,
    tokens: u64,
}

#[derive(Debug, Default)]
struct Inner {
    spent: Mutex<Spent>,
    /// Wakes who waits for the outcome of requests under way.
    settled: Notify,
}

/// What is used, and what requests under way may come to use.
#[derive(Debug, Default, Clone, Copy)]
struct Spent {
    calls: u32,
    input_tokens: u64,
    output_tokens: u64,
    held_calls: u32,
    held_tokens: u64,
}

impl Allowance {
    /// So many calls, and so many tokens in prompts and answers together.
    pub fn new(calls: u32, tokens: u64) -> Self {
        Self { inner: Arc::default(), calls, tokens }
    }

    /// Requests that reached the provider.
    pub fn calls_made(&self) -> u32 {
        self.lock().calls
    }

    /// Tokens of prompts and of answers so far, by the provider's count. Of a request that was sent and whose outcome
    /// is not known (no answer in time, cancelled, broken off), the prompt counts, by the host's count.
    pub fn tokens_used(&self) -> (u64, u64) {
        let spent = self.lock();
        (spent.input_tokens, spent.output_tokens)
    }

    fn lock(&self) -> MutexGuard<'_, Spent> {
        // The figures are whole at any time: nothing between lock and unlock can panic.
        self.inner.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets one call aside, and the tokens of its prompt and its longest answer. Waits where requests under way decide
    /// whether that is covered.
    pub(super) async fn hold(&self, input_tokens: u32, output_tokens: u32) -> Result<Held, ModelError> {
        let tokens = u64::from(input_tokens) + u64::from(output_tokens);
        loop {
            let settled = self.inner.settled.notified();
            tokio::pin!(settled);
            // From here on no wake-up is missed.
            settled.as_mut().enable();
            {
                let mut spent = self.lock();
                let used = spent.input_tokens + spent.output_tokens;
                if spent.calls >= self.calls || used.saturating_add(tokens) > self.tokens {
                    return Err(ModelError::OverBudget);
                }
                let calls = spent.calls + spent.held_calls;
                if calls < self.calls && used.saturating_add(spent.held_tokens).saturating_add(tokens) <= self.tokens {
                    spent.held_calls += 1;
                    spent.held_tokens += tokens;
                    return Ok(Held { allowance: self.clone(), input_tokens, tokens, reached: true, entered: false });
                }
            }
            settled.await;
        }
    }

    fn settle(&self, held: &Held, input_tokens: u64, output_tokens: u64) {
        let mut spent = self.lock();
        spent.held_calls = spent.held_calls.saturating_sub(1);
        spent.held_tokens = spent.held_tokens.saturating_sub(held.tokens);
        spent.calls = spent.calls.saturating_add(u32::from(held.reached));
        spent.input_tokens = spent.input_tokens.saturating_add(input_tokens);
        spent.output_tokens = spent.output_tokens.saturating_add(output_tokens);
        drop(spent);
        self.inner.settled.notify_waiters();
    }
}

/// What one request under way may use. Dropped without an outcome, it counts as sent: the request was cancelled, and
/// what the provider made of it is not known.
#[derive(Debug)]
pub(super) struct Held {
    allowance: Allowance,
    input_tokens: u32,
    tokens: u64,
    reached: bool,
    /// The outcome is entered, so that nothing is left to do.
    entered: bool,
}

impl Held {
    /// Enters what became of the request.
    pub(super) fn settle(mut self, outcome: &Result<Completion, ModelError>) {
        match outcome {
            Ok(answer) => self.enter(u64::from(answer.input_tokens), u64::from(answer.output_tokens)),
            // Sent, and perhaps worked on: dropping enters that.
            Err(ModelError::Timeout) => {}
            Err(ModelError::Unreachable(_) | ModelError::Absent | ModelError::OverBudget) => {
                self.reached = false;
                self.enter(0, 0);
            }
            Err(_) => self.enter(0, 0),
        }
    }

    fn enter(&mut self, input_tokens: u64, output_tokens: u64) {
        self.allowance.settle(self, input_tokens, output_tokens);
        self.entered = true;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.entered {
            self.allowance.settle(self, u64::from(self.input_tokens), 0);
        }
    }
}
