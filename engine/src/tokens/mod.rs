//! Counting tokens: exact, once per content, and safe on any input.
//!
//! A [`TokenCounter`] knows one vocabulary. An [`EntryCounter`] counts entries with it and remembers what it counted
//! by content, so that a text that comes again (in the next view, in another session) costs a look-up.

mod counters;
mod entries;
#[cfg(test)]
pub(crate) mod testing;

use std::fmt::Debug;

#[cfg(feature = "bpe")]
pub use counters::BpeCounter;
pub use counters::{TiktokenCounter, UnknownVocabulary, Vocabulary};
pub use entries::EntryCounter;

/// Counts the tokens of texts with one model's vocabulary.
pub trait TokenCounter: Debug + Send + Sync {
    /// Name of the vocabulary, as in `o200k_base`.
    fn name(&self) -> &str;

    /// Tokens of one text. Linear in its length on any input, and never panics.
    fn count(&self, text: &str) -> u32;

    /// Bytes of a longest prefix that takes at most `budget` tokens, at a character boundary.
    ///
    /// The default asks `count` for prefixes of growing length, so it costs a few times the prefix, not the text.
    fn fit(&self, text: &str, budget: u32) -> usize {
        if budget == 0 {
            return 0;
        }
        let budget_bytes = usize::try_from(budget).unwrap_or(usize::MAX);
        let mut fits = 0;
        // A token is four bytes of English; start there and double until the prefix is too long.
        let mut end = text.floor_char_boundary(budget_bytes.saturating_mul(4));
        loop {
            if self.count(&text[..end]) > budget {
                break;
            }
            fits = end;
            if end == text.len() {
                return fits;
            }
            end = text.floor_char_boundary(end.saturating_mul(2).max(end + 4));
        }
        while end - fits > 1 {
            let middle = text.floor_char_boundary(fits + (end - fits) / 2);
            if middle == fits {
                // Only one character lies between.
                break;
            }
            if self.count(&text[..middle]) <= budget {
                fits = middle;
            } else {
                end = middle;
            }
        }
        fits
    }
}
