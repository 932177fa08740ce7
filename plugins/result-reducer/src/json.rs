//! JSON shortened to JSON: fewer items, shorter strings, less depth, and a note where something is missing.
//!
//! Works on the text and not on parsed values: what stays is byte for byte what it was (numbers keep their digits, keys
//! their order, indentation its width), and memory is the output and the depth.

use std::ops::Range;

use crate::config::JsonStep;
use crate::{blob, notes};

/// Deeper nesting is not read: the stack of a component is small.
const MAX_DEPTH: u32 = 120;

/// A string is cut only if this many bytes more than its limit go: a note takes some.
const SLACK: usize = 48;

/// A quick look: it could be an object or an array.
pub(crate) fn may_be(text: &str) -> bool {
    let text = text.trim_ascii();
    (text.starts_with('{') && text.ends_with('}')) || (text.starts_with('[') && text.ends_with(']'))
}

/// The text shortened by a step; `None` where it is not one JSON object or array. Strings that are data of at least
/// `blob_bytes` become notes.
pub(crate) fn shorten(text: &str, step: &JsonStep, blob_bytes: u32) -> Option<String> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, out: String::new(), step, blob_bytes };
    let start = reader.space();
    reader.out.push_str(&text[start]);
    reader.value(true, 0)?;
    let end = reader.space();
    reader.out.push_str(&text[end]);
    (reader.at == reader.bytes.len()).then_some(reader.out)
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    out: String,
    step: &'a JsonStep,
    blob_bytes: u32,
}

/// Brackets, and how many members stay.
struct Shape {
    close: u8,
    keyed: bool,
    most: u32,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Reads white space.
    fn space(&mut self) -> Range<usize> {
        let start = self.at;
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        start..self.at
    }

    fn emit(&mut self, shown: bool, range: Range<usize>) {
        if shown {
            self.out.push_str(&self.text[range]);
        }
    }

    fn value(&mut self, shown: bool, depth: u32) -> Option<()> {
        match self.peek()? {
            b'{' => self.members(shown, depth, &Shape { close: b'}', keyed: true, most: self.step.keys }),
            b'[' => self.members(shown, depth, &Shape { close: b']', keyed: false, most: self.step.items }),
            b'"' => self.string(shown, self.step.string as usize),
            _ => self.scalar(shown),
        }
    }

    /// An object or an array.
    fn members(&mut self, shown: bool, depth: u32, shape: &Shape) -> Option<()> {
        if depth >= MAX_DEPTH {
            return None;
        }
        let too_deep = depth >= self.step.depth;
        let (start, written) = (self.at, self.out.len());
        self.emit(shown, start..start + 1);
        self.at += 1;
        let mut count: u32 = 0;
        // White space before the first member that is left out: the note takes its place.
        let mut gap: Option<Range<usize>> = None;
        loop {
            let space = self.space();
            if count == 0 && self.takes(shape.close) {
                self.emit(shown, space.start..self.at);
                return Some(());
            }
            let stays = count < shape.most && !too_deep;
            if !stays && gap.is_none() {
                gap = Some(space.clone());
            }
            if stays && count > 0 && shown {
                self.out.push(',');
            }
            self.emit(shown && stays, space);
            if shape.keyed {
                self.key(shown && stays)?;
            }
            self.value(shown && stays, depth + 1)?;
            count += 1;
            let after = self.space();
            if self.takes(b',') {
                // Space before a comma is not kept: nobody writes it on purpose.
                continue;
            }
            if !self.takes(shape.close) {
                return None;
            }
            match gap {
                Some(_) if too_deep => self.note_instead(shown, written, count, shape),
                Some(gap) => self.note_after(shown, gap, after, count, shape),
                None => self.emit(shown, after.start..self.at),
            }
            return Some(());
        }
    }

    /// A note after the members that stay.
    fn note_after(&mut self, shown: bool, gap: Range<usize>, after: Range<usize>, count: u32, shape: &Shape) {
        if !shown {
            return;
        }
        if shape.most > 0 {
            self.out.push(',');
        }
        self.out.push_str(&self.text[gap]);
        let more = count - shape.most;
        let what = if shape.keyed { "keys" } else { "items" };
        let note = format!("\"[... {more} more {what} ...]\"");
        self.out.push_str(&note);
        if shape.keyed {
            self.out.push_str(": null");
        }
        self.out.push_str(&self.text[after]);
        self.out.push(char::from(shape.close));
    }

    /// A note in the place of an object or array that lies too deep.
    fn note_instead(&mut self, shown: bool, written: usize, count: u32, shape: &Shape) {
        if shown {
            self.out.truncate(written);
            let what = if shape.keyed { "keys" } else { "items" };
            let note = format!("\"[... {count} {what} ...]\"");
            self.out.push_str(&note);
        }
    }

    fn key(&mut self, shown: bool) -> Option<()> {
        self.string(shown, usize::MAX)?;
        let start = self.at;
        self.space();
        if !self.takes(b':') {
            return None;
        }
        self.space();
        self.emit(shown, start..self.at);
        Some(())
    }

    /// A string, cut to `most` bytes between its quotes.
    fn string(&mut self, shown: bool, most: usize) -> Option<()> {
        let start = self.at;
        if !self.takes(b'"') {
            return None;
        }
        let first = self.at;
        // The last place within the limit where neither a character nor an escape is cut.
        let mut cut = first;
        loop {
            if self.at - first <= most && self.text.is_char_boundary(self.at) {
                cut = self.at;
            }
            match self.peek()? {
                b'"' => break,
                b'\\' => self.escape()?,
                0..=0x1f => return None,
                _ => self.at += 1,
            }
        }
        let content = first..self.at;
        self.at += 1;
        if !shown {
            return Some(());
        }
        let is_value = most != usize::MAX;
        if is_value && blob::is_blob(&self.text[content.clone()], self.blob_bytes as usize) {
            let note = notes::data(content.len(), blob::kind(&self.text[content]));
            self.out.push('"');
            self.out.push_str(&note);
            self.out.push('"');
        } else if content.len() > most.saturating_add(SLACK) {
            self.out.push_str(&self.text[start..cut]);
            self.out.push_str(&notes::within_line(content.end - cut));
            self.out.push('"');
        } else {
            self.emit(true, start..self.at);
        }
        Some(())
    }

    /// An escape; both halves of a character that takes two.
    fn escape(&mut self) -> Option<()> {
        self.at += 1;
        match self.peek()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                self.at += 1;
                Some(())
            }
            b'u' => {
                let unit = self.unit()?;
                match unit {
                    0xd800..=0xdbff => {
                        let follows = self.takes(b'\\') && self.peek() == Some(b'u');
                        (follows && matches!(self.unit()?, 0xdc00..=0xdfff)).then_some(())
                    }
                    0xdc00..=0xdfff => None,
                    _ => Some(()),
                }
            }
            _ => None,
        }
    }

    /// The `u` and four hex digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at + 1..self.at + 5)?;
        self.at += 5;
        digits.iter().try_fold(0, |unit, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?))
    }

    /// A number or a name.
    fn scalar(&mut self, shown: bool) -> Option<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.')) {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        if !matches!(word, "true" | "false" | "null") && !is_number(word) {
            return None;
        }
        self.emit(shown, start..self.at);
        Some(())
    }
}

/// A number as JSON writes it.
fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let word = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match word.find(['e', 'E']) {
        Some(at) => (&word[..at], Some(&word[at + 1..])),
        None => (word, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    const STEP: JsonStep = JsonStep { items: 2, keys: 2, string: 8, depth: 2 };

    #[test]
    fn arrays_objects_strings_and_depth_are_shortened_with_notes() {
        let text = format!(r#"{{"a": [1, 2, 3, 4], "b": "{}", "c": 1, "d": 2}}"#, "x".repeat(90));
        let short = r#"{"a": [1, 2, "[... 2 more items ...]"], "b": "xxxxxxxx[... 82 bytes left out ...]", "[... 2 more keys ...]": null}"#;
        assert_eq!(shorten(&text, &STEP, 1_000).as_deref(), Some(short));
        assert_eq!(shorten(r#"[[{"a":1,"b":[2]},[]]]"#, &STEP, 9).as_deref(), Some(r#"[["[... 2 keys ...]",[]]]"#));
    }

    #[test]
    fn what_stays_keeps_its_digits_and_its_indentation() {
        let text = "[\n  12345678901234567890.10,\n  1e400,\n  3,\n  4\n]\n";
        let short = "[\n  12345678901234567890.10,\n  1e400,\n  \"[... 2 more items ...]\"\n]\n";
        assert_eq!(shorten(text, &STEP, 9).as_deref(), Some(short));
    }

    #[test]
    fn a_character_in_two_escapes_is_not_cut() {
        let text = format!(r#"["1234567{}"]"#, r"\ud83d\ude00".repeat(20));
        let short = shorten(&text, &STEP, 1_000).unwrap();
        assert!(short.starts_with(r#"["1234567[... "#), "{short}");
    }

    #[test]
    fn data_in_a_string_becomes_a_note() {
        let text = format!(r#"{{"png":"data:image/png;base64,{}"}}"#, "AB12".repeat(99));
        let short = r#"{"png":"[... 418 bytes of base64 left out ...]"}"#;
        assert_eq!(shorten(&text, &JsonStep::WHOLE, 300).as_deref(), Some(short));
    }

    #[test]
    fn what_is_no_json_is_not_touched() {
        for text in
            ["[1,]", "[01]", "{\"a\" 1}", "[1] x", "[\"\n\"]", "[\"\\x\"]", "[tru]", "[1", "", "[.5]", "[\"\\ud800\"]"]
        {
            assert_eq!(shorten(text, &STEP, 9), None, "{text}");
        }
        assert_eq!(shorten(&"[".repeat(100_000), &STEP, 9), None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            "(.|ä|\u{1F600}|\"|\\\\|\n){0,70}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 60, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[a-zä\"]{0,6}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_stays_json_and_whole_json_stays_as_it_is(
            value in any_json(), pretty in any::<bool>(), items in 0..4_u32, string in 0..40_u32, depth in 0..4_u32,
        ) {
            let value = Value::Array(vec![value]);
            let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            let same = shorten(&text, &JsonStep::WHOLE, u32::MAX);
            prop_assert_eq!(same.as_ref(), Some(&text));
            let short = shorten(&text, &JsonStep { items, keys: items, string, depth }, 30).unwrap();
            prop_assert!(serde_json::from_str::<Value>(&short).is_ok(), "{}", short);
        }

        #[test]
        fn what_is_read_as_json_is_json(text in "[\\[\\]{},:\"0-9a-z\\\\. -]{0,24}") {
            if let Some(same) = shorten(&text, &JsonStep::WHOLE, u32::MAX) {
                let parsed = serde_json::from_str::<Value>(&text);
                prop_assert!(parsed.is_ok() || text.contains('e'), "{} -> {}: {:?}", text, same, parsed);
            }
        }
    }
}
