//! How much of a result may enter.

use crate::config::Config;

/// What a shortened result may take: the limits less what the host's own line needs, which says how to get the original
/// back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) tokens: u32,
    pub(crate) bytes: usize,
    pub(crate) lines: usize,
    /// The limits themselves: from here on something is done.
    most: (u32, usize, usize),
}

impl Limits {
    /// The smallest of what is configured, for a window of so many tokens; 0 is unknown.
    pub(crate) fn of(config: &Config, window: u32) -> Self {
        let of_window = match window {
            0 => u32::MAX,
            // A share is checked to lie in 0..=1, so the product fits.
            _ => (config.max_share * f64::from(window)) as u32,
        };
        let mut tokens = unlimited(config.max_tokens);
        if config.max_share > 0.0 {
            tokens = tokens.min(of_window.max(Config::LEAST_TOKENS));
        }
        // The last tier that the window reaches counts; an unknown window is a small one.
        let tier =
            config.byte_tiers.iter().filter(|tier| window >= tier.from_window).max_by_key(|tier| tier.from_window);
        let bytes = unlimited(config.max_bytes).min(tier.map_or(u32::MAX, |tier| tier.max_bytes)) as usize;
        let lines = unlimited(config.max_lines) as usize;
        Self {
            tokens: tokens.saturating_sub(config.reserve_tokens),
            bytes: bytes.saturating_sub(config.reserve_bytes as usize),
            lines: lines.saturating_sub(config.reserve_lines as usize),
            most: (tokens, bytes, lines),
        }
    }

    pub(crate) fn are_exceeded(&self, text: &str, tokens: u32) -> bool {
        let (most_tokens, most_bytes, most_lines) = self.most;
        tokens > most_tokens || text.len() > most_bytes || count_lines(text) > most_lines
    }

    pub(crate) fn bytes_fit(&self, text: &str) -> bool {
        text.len() <= self.bytes && count_lines(text) <= self.lines
    }
}

fn unlimited(limit: u32) -> u32 {
    if limit == 0 { u32::MAX } else { limit }
}

/// Lines of a text; one that ends with a break has no empty line after it.
pub(crate) fn count_lines(text: &str) -> usize {
    let breaks = text.bytes().filter(|&byte| byte == b'\n').count();
    breaks + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_absolute_and_share_counts() {
        let config = Config { max_tokens: 8_000, max_share: 0.1, reserve_tokens: 0, ..Config::default() };
        assert_eq!(Limits::of(&config, 200_000).tokens, 8_000);
        assert_eq!(Limits::of(&config, 32_000).tokens, 3_200);
        assert_eq!(Limits::of(&config, 0).tokens, 8_000, "an unknown window says nothing");
        let unlimited = Config { max_tokens: 0, max_share: 0.0, reserve_tokens: 0, ..Config::default() };
        assert_eq!(Limits::of(&unlimited, 1_000).tokens, u32::MAX);
    }

    #[test]
    fn lines_are_counted_as_people_count_them() {
        assert_eq!(["", "a", "a\n", "a\nb", "\n\n"].map(count_lines), [0, 1, 1, 2, 2]);
    }
}
