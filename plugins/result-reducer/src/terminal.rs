//! What a terminal would not show: colours, lines that were written over, characters that were taken back.

/// The text as a terminal leaves it; `None` where there is nothing to do.
pub(crate) fn clean(text: &str) -> Option<String> {
    let touched = |byte: u8| matches!(byte, 0x1b | b'\r' | 0x08 | 0x07 | 0x00);
    if !text.bytes().any(touched) {
        return None;
    }
    let mut cleaned = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        write_line(&mut cleaned, line);
        cleaned.push_str(end);
    }
    Some(cleaned)
}

/// One line: what was written last over the same place, without escape sequences.
fn write_line(into: &mut String, line: &str) {
    let start = into.len();
    let mut rest = line;
    // Whether a carriage return waits: it takes effect only when something is written over the line.
    let mut back = false;
    while let Some(at) = rest.find(['\u{1b}', '\r', '\u{8}', '\u{7}', '\0']) {
        write(into, start, &rest[..at], &mut back);
        let control = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match control {
            0x1b => rest = after_escape(rest),
            b'\r' => back = true,
            // Takes back the last character of this line, as overstriking and spinners do.
            0x08 if into.len() > start => drop(into.pop()),
            _ => {}
        }
    }
    write(into, start, rest, &mut back);
}

fn write(into: &mut String, start: usize, text: &str, back: &mut bool) {
    if text.is_empty() {
        return;
    }
    if std::mem::take(back) {
        into.truncate(start);
    }
    into.push_str(text);
}

/// What follows an escape sequence whose first byte was read. One that does not end takes the rest of the line.
fn after_escape(rest: &str) -> &str {
    let after = |found: Option<usize>| found.map_or("", |at| &rest[at + 1..]);
    match rest.as_bytes().first() {
        // Control sequence: parameters, then one byte from `@` to `~`.
        Some(b'[') => after(rest.bytes().skip(1).position(|byte| (0x40..=0x7e).contains(&byte)).map(|at| at + 1)),
        // Texts, like titles and links: up to a bell or to ESC \.
        Some(b']' | b'P' | b'^' | b'_' | b'X') => match rest.find(['\u{7}', '\u{1b}']) {
            Some(at) if rest.as_bytes()[at] == 0x1b => rest[at + 1..].strip_prefix('\\').unwrap_or(&rest[at + 1..]),
            found => after(found),
        },
        // Choice of a character set: one more byte.
        Some(b'(' | b')' | b'#' | b'%') => rest.get(2..).unwrap_or(""),
        Some(byte) if byte.is_ascii() => &rest[1..],
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::clean;

    #[test]
    fn a_text_reads_as_on_a_terminal() {
        for (text, shown) in [
            ("\u{1b}[1;31merror\u{1b}[0m: x", "error: x"),
            ("\u{1b}]8;;http://a\u{7}link\u{1b}]8;;\u{1b}\\!", "link!"),
            ("10 %\r20 %\r100 %\ndone\r\n", "100 %\ndone\n"),
            ("b\u{8}bo\u{8}ol\u{8}ld\u{8}d", "bold"),
            ("\u{1b}(Bplain", "plain"),
            ("a\u{1b}[", "a"),
            ("a\u{1b}", "a"),
            ("\u{1b}ä", "ä"),
            ("\u{8}x", "x"),
        ] {
            assert_eq!(clean(text).as_deref(), Some(shown), "{text:?}");
        }
        assert_eq!(clean("plain\ntext"), None);
    }

    proptest! {
        #[test]
        fn any_text_gets_shorter_and_then_stays(text in "(\u{1b}|\\[|\\]|[0-9;m]|\r|\n|\u{8}|\u{7}|ä|x){0,60}") {
            if let Some(cleaned) = clean(&text) {
                prop_assert!(cleaned.len() < text.len());
                prop_assert_eq!(clean(&cleaned), None);
            }
        }
    }
}
