//! When to ask again, and how long to wait before.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use super::ModelError;

/// How often a request is repeated, and how long to wait.
///
/// Repeated are requests that the provider turned away or could not answer for now, and those without an answer in
/// time; never those that it found wrong, and none that was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// Repetitions at most; 0 asks once.
    pub limit: u32,
    /// The longest wait before the first repetition; it doubles with each.
    pub base: Duration,
    /// The longest wait before any repetition.
    pub cap: Duration,
    /// The longest wait that a provider may ask for; if it asks for more, its answer is handed on at once.
    pub patience: Duration,
}

impl Default for Retries {
    /// Three repetitions within 0.5 s, 1 s and 2 s, or when the provider says, up to a minute.
    fn default() -> Self {
        Self {
            limit: 3,
            base: Duration::from_millis(500),
            cap: Duration::from_secs(8),
            patience: Duration::from_secs(60),
        }
    }
}

impl Retries {
    /// No repetition.
    pub fn none() -> Self {
        Self { limit: 0, ..Self::default() }
    }

    /// How long to wait before asking again after this error, the `attempt`th, counted from 0; `None` if not at all.
    ///
    /// `chance` from 0 to 1 picks the moment: all of the wait is drawn by chance, so that many who were turned away
    /// together do not come back together ("full jitter", of the AWS Architecture Blog on exponential backoff).
    pub(super) fn wait(&self, error: &ModelError, attempt: u32, chance: f64) -> Option<Duration> {
        if attempt >= self.limit {
            return None;
        }
        let asked = match error {
            ModelError::RateLimited { after } | ModelError::Unavailable { after, .. } => *after,
            ModelError::Timeout | ModelError::Unreachable(_) => None,
            _ => return None,
        };
        let longest = self.base.saturating_mul(1 << attempt.min(16)).min(self.cap);
        let drawn = longest.mul_f64(chance.clamp(0.0, 1.0));
        match asked {
            // Not before the provider says, and not all in the same moment after it.
            Some(asked) if asked <= self.patience => Some(asked + drawn.min(self.base)),
            Some(_) => None,
            None => Some(drawn),
        }
    }
}

/// A number from 0 to 1, by chance. The hasher of the standard library is seeded by the system.
pub(super) fn chance() -> f64 {
    let bits = RandomState::new().hash_one(0u8) >> 11;
    bits as f64 / (1u64 << 53) as f64
}
