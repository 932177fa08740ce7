//! Dividing an input that does not fit the model's window. The numbers and the rule are OpenClaw's.

use std::ops::Range;

use crate::config::Config;

/// A part of the input that is not divided further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// What the model reads.
    pub(crate) text: String,
    /// Its tokens, by the host's count.
    pub(crate) tokens: u32,
    /// A part may begin here: no call stands before it whose result follows.
    pub(crate) starts: bool,
    /// What it is, for the one who is told that it was set aside.
    pub(crate) name: String,
}

/// The most tokens of one part, by the host's count.
///
/// Large entries make small parts: the share of the window falls from `chunk_ratio` towards `min_chunk_ratio` with
/// the mean size of an entry.
pub(crate) fn limit(config: &Config, window: u32, pieces: &[Piece]) -> u32 {
    let total: u64 = pieces.iter().map(|piece| u64::from(piece.tokens)).sum();
    let mean = total as f64 / pieces.len().max(1) as f64;
    let average = mean * config.safety_margin / f64::from(window.max(1));
    let ratio = if average > 0.1 {
        (config.chunk_ratio - (2.0 * average).min(config.chunk_ratio - config.min_chunk_ratio))
            .max(config.min_chunk_ratio)
    } else {
        config.chunk_ratio
    };
    let room = f64::from(window) * ratio;
    let room = room - f64::from(config.overhead_tokens).min(room / 2.0);
    ((room / config.safety_margin) as u32).max(1)
}

/// Consecutive parts of at most `limit` tokens; a piece that is larger alone is a part of its own. Between a call and
/// its results only where they alone exceed the limit.
pub(crate) fn divide(pieces: &[Piece], limit: u32) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut filled = 0u32;
    let mut start = 0;
    let mut at = 0;
    while at < pieces.len() {
        let unit_end =
            pieces[at + 1..].iter().position(|piece| piece.starts).map_or(pieces.len(), |next| at + 1 + next);
        let unit = sum(&pieces[at..unit_end]);
        let end = if unit > limit { at + 1 } else { unit_end };
        let size = sum(&pieces[at..end]);
        if start < at && filled.saturating_add(size) > limit {
            parts.push(start..at);
            start = at;
            filled = 0;
        }
        filled = filled.saturating_add(size);
        at = end;
    }
    if start < pieces.len() {
        parts.push(start..pieces.len());
    }
    parts
}

/// Tokens of some pieces.
pub(crate) fn sum(pieces: &[Piece]) -> u32 {
    pieces.iter().fold(0, |sum, piece| sum.saturating_add(piece.tokens))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn piece(tokens: u32, starts: bool) -> Piece {
        Piece { text: String::new(), tokens, starts, name: String::new() }
    }

    #[test]
    fn the_share_of_the_window_falls_with_the_size_of_entries() {
        let config = Config::default();
        let limit = |tokens: u32| limit(&config, 100_000, &[piece(tokens, true), piece(tokens, true)]);
        // openclaw.md 2.6: 0.4 of the window less 4,096, over the margin of 1.2.
        assert_eq!(limit(1_000), 29_920);
        // A mean of 0.12 of the window: 0.4 - 0.24 = 0.16.
        assert_eq!(limit(10_000), 9_920);
        assert_eq!(limit(40_000), 9_086, "never below 0.15");
    }

    #[test]
    fn a_small_window_keeps_half_of_a_part_for_the_text() {
        assert_eq!(limit(&Config::default(), 8_000, &[piece(10, true)]), 1_333);
    }

    proptest! {
        #[test]
        fn parts_follow_each_other_and_are_small_where_pieces_are(
            pieces in prop::collection::vec((0u32..40, any::<bool>()), 0..40), limit in 1u32..100,
        ) {
            let pieces: Vec<Piece> = pieces.into_iter().map(|(tokens, starts)| piece(tokens, starts)).collect();
            let parts = divide(&pieces, limit);
            prop_assert!(parts.iter().flat_map(Clone::clone).eq(0..pieces.len()));
            for part in &parts {
                let tokens = sum(&pieces[part.clone()]);
                prop_assert!(!part.is_empty() && (tokens <= limit || part.len() == 1 || {
                    // Only the last piece of it went over alone.
                    pieces[part.clone()].iter().any(|piece| piece.tokens > limit)
                }), "{:?} takes {}", part, tokens);
            }
        }
    }
}
