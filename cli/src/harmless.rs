//! Text from sessions and plugins, made fit to be shown.
//!
//! A session holds whatever a tool printed and a plugin says what it likes: escape sequences that a terminal would
//! obey, and characters that reverse or hide what stands beside them. Nothing of that kind reaches the reader. What is
//! written to sessions is not touched.

use std::fmt::Write as _;

/// A control character, or one that changes the direction of the text or is not seen.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // direction
            | '\u{2028}' | '\u{2029}' // ends of lines, to some
            | '\u{e0000}'..='\u{e007f}') // tags: a text within the text
}

/// Text of several lines: newlines and tabs stay.
pub(crate) fn text(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().map(|c| if is_harmful(c) && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}

/// Text as one line.
pub(crate) fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// The first `most` characters as one line, and whether there were more.
pub(crate) fn short_line(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => line(text),
        Some((end, _)) => format!("{}…", line(&text[..end])),
    }
}

/// JSON text that means the same. JSON itself escapes only the first 32 control characters.
pub(crate) fn json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmful(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

/// TOML that means the same: as JSON, with the escapes that TOML has.
pub(crate) fn toml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmful(c) && c != '\n' {
            let _ = write!(safe, "\\U{:08x}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
    use super::*;

    const HARMFUL: &str = "a\u{1b}[31mb\u{7}\u{8}\u{7f}\u{9b}2J\u{202e}\u{e0041}\0\r";

    #[test]
    fn no_control_character_is_left_but_newlines_and_tabs() {
        let shown = text(&format!("{HARMFUL}\n\tb\r\nc"));
        assert!(shown.chars().all(|c| !is_harmful(c) || matches!(c, '\n' | '\t')), "{shown:?}");
        assert!(shown.ends_with("\n\tb\nc"), "{shown:?}");
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(line(" a\n b\tc\r\nd \u{1b}[0m"), "a b c d \u{fffd}[0m");
        assert!(!line(HARMFUL).chars().any(is_harmful));
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(short_line("äöü", 3), "äöü");
        assert_eq!(short_line("äöü!", 3), "äöü…");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({ HARMFUL: HARMFUL });
        let safe = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!safe.chars().any(|c| is_harmful(c) && c != '\n'), "{safe:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }
}
