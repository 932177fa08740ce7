//! Repeated output: of a block that comes again and again, one copy and a count; in a log, of each kind of line the
//! first two and the last.
//!
//! Lines of a log are of one kind if they differ only in words with digits: times, durations, counts, ids. Elsewhere
//! lines have to be the same: numbers are what a table or a listing says.

use std::collections::BTreeMap;

use crate::notes;

/// The longest block, in lines, whose repetition is looked for.
const LONGEST_BLOCK: usize = 8;

/// A text with fewer lines is not taken for a log.
const LEAST_LOG_LINES: usize = 8;

/// Where in a line of a log its time and its level stand, in bytes.
const LOG_HEAD: usize = 60;

/// How many lines of a kind stay from the front of a log.
const FIRST: usize = 2;

/// The text with repetitions of at least `from` lines taken out; `None` where there is none.
pub(crate) fn collapse(text: &str, from: usize) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.len() < from {
        return None;
    }
    if is_log(&lines) {
        return kinds(&lines, from);
    }
    let mut changed = false;
    let mut kept: Vec<Line<'_>> = lines.into_iter().map(Line::Output).collect();
    for block in 1..=LONGEST_BLOCK {
        changed |= blocks(&mut kept, block, from);
    }
    changed.then(|| kept.iter().map(Line::text).collect())
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Line<'a> {
    Output(&'a str),
    Note(String),
}

impl Line<'_> {
    fn text(&self) -> &str {
        match self {
            Line::Output(text) => text,
            Line::Note(text) => text,
        }
    }

    /// The same output; notes, also those of an earlier pass, are like nothing else.
    fn is_like(&self, other: &Line<'_>) -> bool {
        match (self, other) {
            (Line::Output(a), Line::Output(b)) => a.trim_end() == b.trim_end() && !notes::is_note(a),
            _ => false,
        }
    }
}

/// Collapses blocks of so many lines that stand at least `from` times below each other.
fn blocks(lines: &mut Vec<Line<'_>>, block: usize, from: usize) -> bool {
    if lines.len() < block * from {
        return false;
    }
    // How many lines from here on are like those one block further down.
    let mut like = vec![0_u32; lines.len()];
    for at in (0..lines.len() - block).rev() {
        if lines[at].is_like(&lines[at + block]) {
            like[at] = like[at + 1] + 1;
        }
    }
    let mut kept = Vec::with_capacity(lines.len());
    let mut changed = false;
    let mut at = 0;
    while at < lines.len() {
        let times = like[at] as usize / block + 1;
        if times >= from && is_worth_it(&lines[at..at + block], times) {
            kept.extend_from_slice(&lines[at..at + block]);
            kept.push(Line::Note(notes::repeated(block, times - 1) + "\n"));
            at += block * times;
            changed = true;
        } else {
            kept.push(lines[at].clone());
            at += 1;
        }
    }
    if changed {
        *lines = kept;
    }
    changed
}

/// The note is shorter than what it stands for.
fn is_worth_it(block: &[Line<'_>], times: usize) -> bool {
    let bytes: usize = block.iter().map(|line| line.text().len()).sum();
    bytes * (times - 1) > notes::NOTE_BYTES
}

/// Of each kind of line that comes at least `from` times, the first two and the last.
fn kinds(lines: &[&str], from: usize) -> Option<String> {
    let kinds: Vec<u64> = lines.iter().map(|line| kind(line)).collect();
    let mut known: BTreeMap<u64, Kind> = BTreeMap::new();
    for (at, kind) in kinds.iter().enumerate() {
        let known = known.entry(*kind).or_default();
        known.count += 1;
        known.last = at;
    }
    let mut text = String::new();
    let mut gap = Gap::default();
    let mut changed = false;
    for (at, (line, kind)) in lines.iter().zip(&kinds).enumerate() {
        let known = known.entry(*kind).or_default();
        known.seen += 1;
        let stays = known.count < from || known.seen <= FIRST || known.last == at;
        if stays || notes::is_note(line) || line.trim().is_empty() {
            changed |= gap.close(&mut text);
            text.push_str(line);
        } else {
            gap.add(line);
        }
    }
    changed |= gap.close(&mut text);
    changed.then_some(text)
}

#[derive(Debug, Default)]
struct Kind {
    count: usize,
    seen: usize,
    last: usize,
}

/// Lines below each other that go.
#[derive(Debug, Default)]
struct Gap {
    lines: usize,
    text: String,
}

impl Gap {
    fn add(&mut self, line: &str) {
        self.lines += 1;
        // Beyond the length of a note nothing but the count matters.
        if self.text.len() <= notes::NOTE_BYTES {
            self.text.push_str(line);
        }
    }

    /// Writes the note, or the lines where the note would be longer.
    fn close(&mut self, into: &mut String) -> bool {
        let gap = std::mem::take(self);
        if gap.text.len() <= notes::NOTE_BYTES {
            into.push_str(&gap.text);
            return false;
        }
        into.push_str(&notes::similar(gap.lines));
        into.push('\n');
        true
    }
}

/// What a line is without its numbers. FNV-1a over its characters; a word with a digit is one character.
fn kind(line: &str) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    let mut hash = OFFSET;
    for word in words(line.trim_end()) {
        hash = if word.iter().any(u8::is_ascii_digit) {
            fold(hash, b'0')
        } else {
            word.iter().fold(hash, |h, &b| fold(h, b))
        };
    }
    hash
}

/// Runs of letters and digits, and each other byte alone.
fn words(line: &str) -> impl Iterator<Item = &[u8]> {
    line.as_bytes().chunk_by(|a, b| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric())
}

/// At least half of the lines with content begin with a time or a level.
fn is_log(lines: &[&str]) -> bool {
    let content = lines.iter().filter(|line| !line.trim().is_empty() && !notes::is_note(line));
    let (mut all, mut of_log) = (0, 0);
    for line in content {
        all += 1;
        let head = contextengine_sdk::budget::head_bytes(line, LOG_HEAD);
        of_log += usize::from(has_time(head) || has_level(head));
    }
    all >= LEAST_LOG_LINES && of_log * 2 >= all
}

/// Two digits, a colon, two digits, a colon, two digits.
fn has_time(head: &str) -> bool {
    let is_time = |window: &[u8]| {
        window.iter().enumerate().all(|(at, byte)| if at % 3 == 2 { *byte == b':' } else { byte.is_ascii_digit() })
    };
    head.as_bytes().windows(8).any(is_time)
}

fn has_level(head: &str) -> bool {
    const LEVELS: [&str; 10] =
        ["TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "SEVERE"];
    head.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| LEVELS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_repeats_is_counted() {
        let text = format!("start\n{}end\n", "waiting for the database to come up\n".repeat(40));
        let expected = "start\nwaiting for the database to come up\n[... the line above 39 times more ...]\nend\n";
        assert_eq!(collapse(&text, 4).as_deref(), Some(expected));
        assert_eq!(collapse(expected, 4), None);
    }

    #[test]
    fn a_block_that_repeats_is_counted() {
        let block = "retrying the request\nconnection refused\n\n";
        let text = format!("{}given up\n", block.repeat(20));
        assert_eq!(collapse(&text, 4), Some(format!("{block}[... the 3 lines above 19 times more ...]\ngiven up\n")));
    }

    #[test]
    fn lines_of_a_log_that_differ_in_numbers_are_of_one_kind() {
        let log: String = (0..50)
            .map(|n| format!("2026-03-01T12:00:{:02}Z INFO served req{n} in {} us\n", n % 60, n * 37 % 900))
            .collect();
        let error = "2026-03-01T12:00:07Z ERROR no route to host\n";
        let text = format!("{log}{error}{log}");
        let short = collapse(&text, 4).unwrap_or_default();
        let lines: Vec<&str> = short.lines().collect();
        assert_eq!(lines.len(), 6, "{short}");
        assert!(lines[1].contains("req1 ") && lines[5].contains("req49 ") && lines[3].contains("ERROR"), "{short}");
        assert_eq!(
            (lines[2], lines[4]),
            ("[... 48 similar lines left out ...]", "[... 49 similar lines left out ...]")
        );
        assert_eq!(collapse(&short, 4), None);
    }

    #[test]
    fn numbers_of_a_table_and_lines_of_code_stay() {
        let table: String = (0..50).map(|n| format!("row {n}, {}\n", n * n)).collect();
        let code = "    return Err(error);\n}\n\nfn next() {\n".to_owned() + "    a();\n    return Err(error);\n}\n";
        assert_eq!((collapse(&table, 4), collapse(&code, 2)), (None, None));
    }
}
