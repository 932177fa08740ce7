//! The vocabularies that the host knows by itself.

use std::fmt;
use std::str::FromStr;

use tiktoken_rs::CoreBPE;

use super::TokenCounter;

/// A vocabulary that ships with the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Vocabulary {
    /// OpenAI's since GPT-4o. The default: for models whose vocabulary is not public it is the nearest that is.
    #[default]
    O200kBase,
    /// OpenAI's of GPT-4 and GPT-3.5.
    Cl100kBase,
}

impl Vocabulary {
    /// Every vocabulary.
    pub const ALL: [Vocabulary; 2] = [Vocabulary::O200kBase, Vocabulary::Cl100kBase];

    /// Its name, as in `o200k_base`.
    pub fn name(self) -> &'static str {
        match self {
            Vocabulary::O200kBase => "o200k_base",
            Vocabulary::Cl100kBase => "cl100k_base",
        }
    }
}

impl fmt::Display for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a vocabulary of the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a known tokenizer; known are o200k_base and cl100k_base")]
pub struct UnknownVocabulary {
    /// The name that was asked for.
    pub name: String,
}

impl FromStr for Vocabulary {
    type Err = UnknownVocabulary;

    fn from_str(name: &str) -> Result<Self, UnknownVocabulary> {
        Vocabulary::ALL
            .into_iter()
            .find(|vocabulary| vocabulary.name() == name)
            .ok_or_else(|| UnknownVocabulary { name: name.to_owned() })
    }
}

/// Counts with `tiktoken-rs`. The first use of a vocabulary loads it: about 0.2 s and 50 MB, kept for the process.
pub struct TiktokenCounter {
    vocabulary: Vocabulary,
    bpe: &'static CoreBPE,
}

impl TiktokenCounter {
    /// A counter for a vocabulary.
    pub fn new(vocabulary: Vocabulary) -> Self {
        let bpe = match vocabulary {
            Vocabulary::O200kBase => tiktoken_rs::o200k_base_singleton(),
            Vocabulary::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
        };
        Self { vocabulary, bpe }
    }
}

impl fmt::Debug for TiktokenCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TiktokenCounter").field("vocabulary", &self.vocabulary).finish_non_exhaustive()
    }
}

impl TokenCounter for TiktokenCounter {
    fn name(&self) -> &str {
        self.vocabulary.name()
    }

    fn count(&self, text: &str) -> u32 {
        let tokens = bounded_runs(text).map(|piece| self.bpe.count_ordinary(piece)).sum::<usize>();
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }
}

/// Counts with `bpe-openai`: the same figures about twice as fast, for 30 MB more binary.
#[cfg(feature = "bpe")]
#[derive(Debug)]
pub struct BpeCounter {
    vocabulary: Vocabulary,
}

#[cfg(feature = "bpe")]
impl BpeCounter {
    /// A counter for a vocabulary.
    pub fn new(vocabulary: Vocabulary) -> Self {
        Self { vocabulary }
    }
}

#[cfg(feature = "bpe")]
impl TokenCounter for BpeCounter {
    fn name(&self) -> &str {
        self.vocabulary.name()
    }

    fn count(&self, text: &str) -> u32 {
        let tokenizer = match self.vocabulary {
            Vocabulary::O200kBase => bpe_openai::o200k_base(),
            Vocabulary::Cl100kBase => bpe_openai::cl100k_base(),
        };
        u32::try_from(tokenizer.count(text)).unwrap_or(u32::MAX)
    }
}

/// The longest run of one class of characters that `tiktoken-rs` gets to see, in bytes. Its regex engine gives up, and
/// the library panics, at about a million spaces; a run of this length is 30 times shorter. Real text has none as long.
const LONGEST_RUN: usize = 32 * 1024;

/// What the splitting patterns of the vocabularies tell apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    Letter,
    Digit,
    Other,
}

fn class(c: char) -> Class {
    if c.is_whitespace() {
        Class::Space
    } else if c.is_alphabetic() {
        Class::Letter
    } else if c.is_numeric() {
        Class::Digit
    } else {
        Class::Other
    }
}

/// Cuts a text inside runs that are longer than [`LONGEST_RUN`], and nowhere else. Counts stay exact where nothing is
/// cut; a cut adds at most a token or two to a run of thousands.
fn bounded_runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(end_of_piece(rest));
        rest = after;
        Some(piece)
    })
}

fn end_of_piece(text: &str) -> usize {
    if text.len() <= LONGEST_RUN {
        return text.len();
    }
    let mut current = Class::Other;
    let mut run_start = 0;
    for (at, c) in text.char_indices() {
        let class = class(c);
        if class != current {
            current = class;
            run_start = at;
        } else if at - run_start >= LONGEST_RUN {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

    use proptest::prelude::*;

    use super::*;

    fn oracle(vocabulary: Vocabulary, text: &str) -> u32 {
        let tokenizer = match vocabulary {
            Vocabulary::O200kBase => bpe_openai::o200k_base(),
            Vocabulary::Cl100kBase => bpe_openai::cl100k_base(),
        };
        u32::try_from(tokenizer.count(text)).unwrap()
    }

    #[test]
    fn hostile_text_is_counted_without_a_panic() {
        let long = |unit: &str| unit.repeat(1_200_000 / unit.len());
        for vocabulary in Vocabulary::ALL {
            let counter = TiktokenCounter::new(vocabulary);
            for unit in [" ", "\n", "\t ", "a", "-", "\u{0}", "漢", "🦀", "\u{301}", "٣", "=\n", "\u{a0}", "\u{200b}"]
            {
                let text = long(unit);
                let (ours, exact) = (counter.count(&text), oracle(vocabulary, &text));
                // A cut inside a run can cost a token or two; there is one per 32 KiB.
                let slack = u32::try_from(text.len() / LONGEST_RUN).unwrap() * 4 + 4;
                assert!(ours.abs_diff(exact) <= slack, "{vocabulary} of {unit:?}: {ours}, exact {exact}");
            }
        }
    }

    #[test]
    fn pieces_put_together_are_the_text_and_no_run_is_too_long() {
        let text = format!("a b{}c{}é", " ".repeat(100_000), "xy".repeat(50_000));
        let pieces: Vec<&str> = bounded_runs(&text).collect();
        assert_eq!(pieces.concat(), text);
        assert!(pieces.len() > 5);
    }

    #[test]
    fn a_long_text_without_long_runs_is_counted_in_one_piece() {
        let text = "fn main() { println!(\"hello\"); }\n".repeat(10_000);
        assert_eq!(bounded_runs(&text).count(), 1);
        assert_eq!(TiktokenCounter::new(Vocabulary::O200kBase).count(&text), oracle(Vocabulary::O200kBase, &text));
    }

    proptest! {
        #[test]
        fn counts_are_exact(text in "\\PC{0,300}") {
            for vocabulary in Vocabulary::ALL {
                prop_assert_eq!(TiktokenCounter::new(vocabulary).count(&text), oracle(vocabulary, &text));
            }
        }

        #[test]
        fn a_fitted_prefix_fits_and_one_character_more_does_not_unless_counts_dip(
            text in "[a-z é漢🦀\n]{0,200}", budget in 0u32..80
        ) {
            let counter = TiktokenCounter::new(Vocabulary::O200kBase);
            let end = counter.fit(&text, budget);
            prop_assert!(text.is_char_boundary(end));
            prop_assert!(counter.count(&text[..end]) <= budget);
            if counter.count(&text) <= budget {
                prop_assert_eq!(end, text.len());
            }
        }
    }
}
