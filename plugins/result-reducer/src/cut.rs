//! What is too long: head, tail, and the lines between them that say what went wrong.

use std::borrow::Cow;

use contextengine_sdk::budget::{ends_bytes, head_bytes, tail_bytes};

use crate::config::{Config, Keep};
use crate::notes::{self, NOTE_BYTES};

/// Which part of a text stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    head: usize,
    middle: usize,
    context: usize,
    line: usize,
}

impl Shape {
    /// What the configuration says for this text. By content: the end stays too if it says how it ended, and most of
    /// what stays is the end if the result is an error.
    pub(crate) fn of(text: &str, config: &Config, failed: bool) -> Self {
        let both = if failed { config.failed_head_percent } else { config.head_percent };
        let head = match config.keep {
            Keep::Head => 100,
            Keep::Tail => 0,
            Keep::Ends => both,
            Keep::Auto if failed => both,
            Keep::Auto => {
                let end = tail_bytes(text, config.tail_scan_bytes as usize);
                if notes::end_matters(end) { both } else { 100 }
            }
        };
        let middle = if matches!(config.keep, Keep::Head | Keep::Tail) { 0 } else { config.middle_percent };
        Self {
            head: head as usize,
            middle: middle as usize,
            context: config.context_lines as usize,
            line: config.max_line_bytes as usize,
        }
    }

    pub(crate) fn head_percent(&self) -> u32 {
        u32::try_from(self.head).unwrap_or(100)
    }
}

/// A text of more than `most` bytes to its ends, so that what follows looks at no more than that.
pub(crate) fn bounded(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let half = most.saturating_sub(NOTE_BYTES) / 2;
    let head = head_bytes(text, half);
    let head = head.rfind('\n').map_or(head, |at| &head[..=at]);
    let tail = tail_bytes(text, half);
    let tail = tail.find('\n').map_or(tail, |at| &tail[at + 1..]);
    let gone = &text[head.len()..text.len() - tail.len()];
    let mut bounded = String::with_capacity(most);
    bounded.push_str(head);
    note_line(&mut bounded, &notes::left_out(breaks(gone).max(1), gone.len()));
    bounded.push_str(tail);
    Cow::Owned(bounded)
}

/// The first lines of a text.
pub(crate) fn first_lines(text: &str, count: usize) -> &str {
    let end: usize = text.split_inclusive('\n').take(count).map(str::len).sum();
    &text[..end]
}

/// The text in about `bytes` bytes and at most `most` lines. Whole lines, unless one alone is too long.
pub(crate) fn cut(text: &str, bytes: usize, most: usize, shape: &Shape) -> String {
    let count = text.split_inclusive('\n').count().max(1);
    // The fewer the lines, the longer each may be.
    let allowance = shape.line.min(bytes / 2).max(bytes / count);
    let lines: Vec<Cow<'_, str>> = text.split_inclusive('\n').map(|line| shortened(line, allowance)).collect();
    let total: usize = lines.iter().map(|line| line.len()).sum();
    if total <= bytes && lines.len() <= most {
        return lines.concat();
    }
    let room = Room { bytes: bytes.saturating_sub(2 * NOTE_BYTES), lines: most.saturating_sub(2) };
    let mut ends = Ends::of(&lines, room, shape.head);
    let mut middle = Vec::new();
    if shape.middle > 0 && lines[ends.between()].iter().any(|line| notes::matters(line)) {
        ends = Ends::of(&lines, room.share(100 - shape.middle), shape.head);
        middle = what_matters(&lines, ends, room.share(shape.middle), shape.context);
    }
    written(&lines, ends, &middle)
}

#[derive(Debug, Clone, Copy)]
struct Room {
    bytes: usize,
    lines: usize,
}

impl Room {
    fn share(self, percent: usize) -> Self {
        Self { bytes: self.bytes / 100 * percent, lines: self.lines / 100 * percent + self.lines % 100 * percent / 100 }
    }

    /// Takes lines, if they fit.
    fn takes(&mut self, bytes: usize, lines: usize) -> bool {
        let fits = lines <= self.lines && bytes <= self.bytes;
        if fits {
            self.lines -= lines;
            self.bytes -= bytes;
        }
        fits
    }
}

/// Where the head ends and the tail begins.
#[derive(Debug, Clone, Copy)]
struct Ends {
    head: usize,
    tail: usize,
}

impl Ends {
    fn of(lines: &[Cow<'_, str>], room: Room, head_percent: usize) -> Self {
        let mut of_head = room.share(head_percent);
        let head = lines.iter().take_while(|line| of_head.takes(line.len(), 1)).count();
        // What the head left goes to the tail, if there is to be one.
        let mut of_tail = match head_percent {
            100 => Room { bytes: 0, lines: 0 },
            _ => {
                let rest = room.share(100 - head_percent);
                Room { bytes: rest.bytes + of_head.bytes, lines: rest.lines + of_head.lines }
            }
        };
        let tail = lines[head..].iter().rev().take_while(|line| of_tail.takes(line.len(), 1)).count();
        Self { head, tail: lines.len() - tail }
    }

    fn between(self) -> std::ops::Range<usize> {
        self.head..self.tail
    }
}

/// Lines between the ends that matter, the first ones first, as errors have a first cause; then, as far as the room goes,
/// some lines that follow each.
fn what_matters(lines: &[Cow<'_, str>], ends: Ends, mut room: Room, context: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    for at in ends.between().filter(|&at| notes::matters(&lines[at]) && !notes::is_note(&lines[at])) {
        // A line that does not follow the one before it costs a note, too.
        let follows = chosen.last().is_some_and(|&last| last + 1 == at);
        let (note, notes) = if follows { (0, 0) } else { (NOTE_BYTES, 1) };
        if !room.takes(lines[at].len() + note, 1 + notes) {
            break;
        }
        chosen.push(at);
    }
    let mut following: Vec<usize> = Vec::new();
    for (index, &at) in chosen.iter().enumerate() {
        let next = chosen.get(index + 1).copied().unwrap_or(ends.tail);
        following.extend((at + 1..next.min(at + 1 + context)).take_while(|&at| room.takes(lines[at].len(), 1)));
    }
    chosen.append(&mut following);
    chosen.sort_unstable();
    chosen
}

fn written(lines: &[Cow<'_, str>], ends: Ends, middle: &[usize]) -> String {
    let mut text = String::new();
    let mut next = 0;
    let stay = (0..ends.head).chain(middle.iter().copied()).chain(ends.tail..lines.len());
    for at in stay {
        gap(&mut text, &lines[next..at]);
        text.push_str(&lines[at]);
        next = at + 1;
    }
    gap(&mut text, &lines[next..]);
    text
}

/// A note for lines that go.
fn gap(text: &mut String, gone: &[Cow<'_, str>]) {
    if !gone.is_empty() {
        let bytes = gone.iter().map(|line| line.len()).sum();
        note_line(text, &notes::left_out(gone.len(), bytes));
    }
}

fn note_line(text: &mut String, note: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(note);
    text.push('\n');
}

/// A line of more than `most` bytes to its ends.
fn shortened(line: &str, most: usize) -> Cow<'_, str> {
    if line.len() <= most || most <= NOTE_BYTES {
        return ends_if_tiny(line, most);
    }
    let (content, end) = line.strip_suffix('\n').map_or((line, ""), |content| (content, "\n"));
    let room = most - NOTE_BYTES;
    let head = head_bytes(content, room / 3 * 2);
    let tail = tail_bytes(&content[head.len()..], room - room / 3 * 2);
    let gone = content.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}{}{tail}{end}", notes::within_line(gone)))
}

fn ends_if_tiny(line: &str, most: usize) -> Cow<'_, str> {
    if line.len() <= most { Cow::Borrowed(line) } else { ends_bytes(line, most, 100) }
}

fn breaks(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SHAPE: Shape = Shape { head: 60, middle: 20, context: 1, line: 300 };

    fn numbered(count: usize) -> String {
        (0..count).map(|n| format!("line {n}\n")).collect()
    }

    #[test]
    fn head_and_tail_stay_and_a_note_says_what_does_not() {
        let text = numbered(200);
        let short = cut(&text, 400, 1_000, &SHAPE);
        let (head, tail) = short.split_once("[... ").unwrap_or_default();
        assert!(text.starts_with(head) && head.ends_with('\n'), "{short}");
        let (note, tail) = tail.split_once(" ...]\n").unwrap_or_default();
        assert!(text.ends_with(tail) && tail.starts_with("line "), "{short}");
        let gone = &text[head.len()..text.len() - tail.len()];
        assert_eq!(note, format!("{} lines, {} bytes left out", breaks(gone), gone.len()));
    }

    #[test]
    fn a_line_in_the_middle_that_says_what_went_wrong_stays_with_what_follows() {
        let text = format!("{}error[E0308]: mismatched\n  --> src/a.rs\n{}", numbered(100), numbered(100));
        let short = cut(&text, 800, 1_000, &SHAPE);
        assert!(short.contains("left out ...]\nerror[E0308]: mismatched\n  --> src/a.rs\n[... "), "{short}");
    }

    #[test]
    fn a_single_long_line_keeps_both_ends() {
        let text = format!("start{}end", "x".repeat(5_000));
        let short = cut(&text, 500, 10, &SHAPE);
        assert!(
            short.starts_with("startx") && short.ends_with("xend") && short.contains(" bytes left out ...]x"),
            "{short}"
        );
        assert!(short.len() <= 500);
    }

    proptest! {
        #[test]
        fn no_text_takes_more_than_its_room(
            text in "(\n|ä|error|[a-z ]{0,40}){0,60}", bytes in 200..900_usize, lines in 8..40_usize, head in 0..=100_usize,
        ) {
            let shape = Shape { head, ..SHAPE };
            let short = cut(&text, bytes, lines, &shape);
            prop_assert!(short.len() <= bytes.max(text.len().min(bytes)), "{} > {}: {}", short.len(), bytes, short);
            prop_assert!(short.split_inclusive('\n').count() <= lines, "{}", short);
        }
    }
}
