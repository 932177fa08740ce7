//! The file itself: its text for reading, its bytes for writing.
//!
//! A byte sequence that is no UTF-8 is read as one U+FFFD and remembered, so every slice of the text can be written as
//! the bytes that it was read from.

use std::ops::Range;

use super::Problem;

/// The bytes of a file and the text that they are read as.
#[derive(Debug)]
pub(super) struct Source {
    text: String,
    /// Where a U+FFFD of the text stands for other bytes, in order.
    invalid: Vec<(usize, Box<[u8]>)>,
}

/// A line without its end.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// The line without its end, and for the first line without a byte order mark.
    pub(super) content: Range<usize>,
    /// The line with its end.
    pub(super) whole: Range<usize>,
}

const BOM: &str = "\u{FEFF}";

impl Source {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut text = String::with_capacity(bytes.len());
        let mut invalid = Vec::new();
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                invalid.push((text.len(), chunk.invalid().into()));
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        Self { text, invalid }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Where the content begins: after a byte order mark.
    pub(super) fn start(&self) -> usize {
        if self.text.starts_with(BOM) { BOM.len() } else { 0 }
    }

    /// Appends the bytes that a slice of the text was read from.
    pub(super) fn copy(&self, range: Range<usize>, out: &mut Vec<u8>) {
        let mut at = range.start;
        let first = self.invalid.partition_point(|(place, _)| *place < range.start);
        for (place, bytes) in self.invalid[first..].iter().take_while(|(place, _)| *place < range.end) {
            out.extend_from_slice(&self.text.as_bytes()[at..*place]);
            out.extend_from_slice(bytes);
            at = place + char::REPLACEMENT_CHARACTER.len_utf8();
        }
        out.extend_from_slice(&self.text.as_bytes()[at..range.end]);
    }

    /// The whole file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text.len());
        self.copy(0..self.text.len(), &mut out);
        out
    }

    /// The lines of the file; what follows the last line end counts only if there is something.
    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let whole = at..at + line.len();
            let content = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
            let start = if at == 0 { self.start() } else { at };
            lines.push(Line { content: start..at + content.len(), whole: whole.clone() });
            at = whole.end;
        }
        lines
    }

    /// The line end that the file uses: that of its first line.
    pub(super) fn line_end(&self) -> &'static str {
        match self.text.find('\n') {
            Some(at) if self.text.as_bytes()[..at].ends_with(b"\r") => "\r\n",
            _ => "\n",
        }
    }

    /// One problem for every line with bytes that are no UTF-8.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = Vec::new();
        let mut counter = LineCounter::new(&self.text);
        for (place, _) in &self.invalid {
            let line = counter.line(*place);
            if problems.last().is_none_or(|problem| problem.line != line) {
                let reason = "has bytes that are not UTF-8; they are read as U+FFFD and written back as they are";
                problems.push(Problem { line, reason: reason.to_owned() });
            }
        }
        problems
    }
}

/// Numbers lines from 1, for ascending offsets, in one pass.
pub(super) struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl<'a> LineCounter<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// The line that holds `offset`, which must not be less than the one before.
    pub(super) fn line(&mut self, offset: usize) -> u32 {
        let breaks = self.text.as_bytes()[self.at..offset].iter().filter(|byte| **byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        self.at = offset;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back() {
        for bytes in [&b"a\xFFb\xC3\nc\xE2\x82"[..], b"", b"\xEF\xBB\xBFx", b"\xED\xA0\x80", b"ok\r\nok"] {
            assert_eq!(Source::new(bytes).bytes(), bytes);
        }
    }

    #[test]
    fn a_slice_gives_the_bytes_it_was_read_from() {
        let source = Source::new(b"\"a\xFF\",\"b\xFE\xFF\"");
        let at = source.text().find(",").unwrap_or_default();
        let mut out = Vec::new();
        source.copy(at + 1..source.text().len(), &mut out);
        assert_eq!(out, b"\"b\xFE\xFF\"");
    }

    #[test]
    fn every_line_with_invalid_bytes_is_reported_once() {
        let lines: Vec<u32> = Source::new(b"a\n\xFF\xFF\nb\n\xFE").problems().iter().map(|p| p.line).collect();
        assert_eq!(lines, [2, 4]);
    }

    #[test]
    fn lines_keep_their_ends_apart() {
        let source = Source::new(b"\xEF\xBB\xBFa\r\n\nb");
        let content: Vec<&str> = source.lines().iter().map(|line| &source.text()[line.content.clone()]).collect();
        assert_eq!(content, ["a", "", "b"]);
        assert_eq!(source.line_end(), "\r\n");
    }
}
