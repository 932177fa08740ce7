//! Data that no model reads: base64, hex, bytes that are no text. A note with its size stands for it.

use std::ops::Range;

use crate::notes;

/// Wrapped data has lines of one length, and it is at least this.
const LEAST_WIDTH: usize = 40;

/// A text is binary if more than one character in so many is none.
const BINARY_ONE_IN: usize = 10;

/// The text with notes in the place of data of at least `least` bytes; `None` where there is none.
pub(crate) fn replace(text: &str, least: usize) -> Option<String> {
    if is_binary(text, least) {
        return Some(notes::data(text.len(), "binary data"));
    }
    let found = blobs(text, least);
    if found.is_empty() {
        return None;
    }
    let mut replaced = String::with_capacity(text.len());
    let mut next = 0;
    for blob in found {
        replaced.push_str(&text[next..blob.start]);
        replaced.push_str(&notes::data(blob.len(), kind(&text[blob.clone()])));
        next = blob.end;
    }
    replaced.push_str(&text[next..]);
    Some(replaced)
}

/// The whole text is one piece of data.
pub(crate) fn is_blob(text: &str, least: usize) -> bool {
    let data = text.rsplit_once("base64,").map_or(text, |(_, data)| data);
    data.len() >= least && data.bytes().all(is_data)
}

pub(crate) fn kind(blob: &str) -> &'static str {
    let is_hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b'\n' || byte == b'\r';
    if blob.bytes().all(is_hex) { "hex" } else { "base64" }
}

fn is_data(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

/// Wrapped data is plain base64 or hex; dashes would make data of the frames around it.
fn is_wrapped_data(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Whether there is enough that is no text for `least` bytes of data. A line of text behind it changes nothing: what was
/// none before is none with that line.
fn is_binary(text: &str, least: usize) -> bool {
    let is_none =
        |c: &char| *c == '\u{fffd}' || (c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{1b}' | '\u{8}'));
    let none = text.chars().filter(is_none).count();
    none * BINARY_ONE_IN > text.chars().count().max(least.saturating_sub(1))
}

/// Runs of data within a line, and blocks of lines that are data cut to one width.
fn blobs(text: &str, least: usize) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut block = Block::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end();
        if !block.takes(start, content) {
            found.extend(std::mem::take(&mut block).finish(least));
            if !block.takes(start, content) {
                found.extend(runs(content, least).map(|run| start + run.start..start + run.end));
            }
        }
        start += line.len();
    }
    found.extend(block.finish(least));
    found
}

/// Runs of data of at least `least` bytes.
fn runs(line: &str, least: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    let pieces = line.as_bytes().split(|&byte| !is_data(byte)).map(move |piece| {
        let range = start..start + piece.len();
        start = range.end + 1;
        range
    });
    pieces.filter(move |range| range.len() >= least)
}

/// Lines of data, one below the other.
#[derive(Debug, Default)]
struct Block {
    range: Range<usize>,
    width: usize,
    lines: usize,
    /// A shorter line ends it.
    closed: bool,
}

impl Block {
    fn takes(&mut self, start: usize, line: &str) -> bool {
        let is_first = self.lines == 0;
        let wide = if is_first { line.len() >= LEAST_WIDTH } else { !line.is_empty() && line.len() <= self.width };
        if self.closed || !wide || !line.bytes().all(is_wrapped_data) {
            return false;
        }
        // What is shorter than the others ends the data, if it is not the first word of what follows.
        let is_last = !is_first && line.len() < self.width;
        if is_last && !line.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase() || byte == b'=') {
            return false;
        }
        if is_first {
            self.range.start = start;
            self.width = line.len();
        }
        self.closed = line.len() < self.width;
        self.range.end = start + line.len();
        self.lines += 1;
        true
    }

    /// Its range, if it is long enough. A single line of names or paths may look like data; three of one width do not.
    fn finish(self, least: usize) -> Option<Range<usize>> {
        ((self.lines >= 3 || self.width >= least) && self.range.len() >= least).then_some(self.range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: usize = 256;

    #[test]
    fn long_data_within_a_line_becomes_a_note() {
        let text = format!("before data:image/png;base64,{} after\n", "iVBORw0KGgo".repeat(40));
        let note = "before data:image/png;base64,[... 440 bytes of base64 left out ...] after\n";
        assert_eq!(replace(&text, LEAST).as_deref(), Some(note));
        assert_eq!(replace(&"ab12".repeat(100), LEAST).as_deref(), Some("[... 400 bytes of hex left out ...]"));
    }

    #[test]
    fn data_cut_into_lines_becomes_one_note() {
        let line = format!("{}\n", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldY".repeat(2));
        let text = format!("-----BEGIN-----\n{}QUJD==\n-----END-----\n", line.repeat(9));
        let note =
            format!("-----BEGIN-----\n[... {} bytes of base64 left out ...]\n-----END-----\n", 9 * line.len() + 6);
        assert_eq!(replace(&text, LEAST), Some(note));
    }

    #[test]
    fn words_paths_and_code_are_no_data() {
        let paths: String = (0..60).map(|n| format!("src/components/deeply/nested/module_{n}/handler\n")).collect();
        let code = "let total_amount=compute(a,b);".repeat(40);
        for text in [paths, code, "word ".repeat(200), "ä".repeat(2_000)] {
            assert_eq!(replace(&text, LEAST), None);
        }
    }

    #[test]
    fn a_line_of_text_behind_it_makes_nothing_binary() {
        let text = "0 \u{b}\u{80} 0\n".repeat(9);
        // Two characters a line that are none, and one in ten is enough.
        let least = 9 * 2 * BINARY_ONE_IN + 1;
        assert_eq!(replace(&text, least), None);
        let longer = format!("{text}[Shortened from 5000 to 300 tokens. All of it can be recalled by the id e17]");
        assert!(longer.len() > text.len() && replace(&longer, least).is_none());
        assert!(replace(&text, least - 1).is_some() && replace(&longer, least - 1).is_some());
    }

    #[test]
    fn bytes_that_are_no_text_become_one_note() {
        let text = "PK\u{3}\u{4}\u{fffd}\u{fffd}\0".repeat(100);
        assert_eq!(replace(&text, LEAST), Some(format!("[... {} bytes of binary data left out ...]", text.len())));
    }
}
