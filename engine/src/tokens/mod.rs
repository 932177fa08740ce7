//! Counting tokens: exact, once per content, and safe on any input.

use std::fmt::Debug;

/// Counts the tokens of texts with one model's vocabulary.
pub trait TokenCounter: Debug + Send + Sync {
    /// Name of the vocabulary, as in `o200k_base`.
    fn name(&self) -> &str;

    /// Tokens of one text. Linear in its length on any input, and never panics.
    fn count(&self, text: &str) -> u32;
}
