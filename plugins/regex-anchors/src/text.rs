//! Small things done to texts: cutting them, cleaning them of what programs put in, finding words of a focus.

/// The words of a focus that say something.
pub(crate) fn focus_words(focus: &str) -> Vec<String> {
    let mut words: Vec<String> = focus
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | '(' | ')'))
        .map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()).to_lowercase())
        .filter(|word| word.chars().count() >= 3 || !word.is_ascii() && !word.is_empty())
        .filter(|word| {
            !["the", "and", "for", "with", "about", "focus", "keep", "that", "this"].contains(&word.as_str())
        })
        .collect();
    words.sort();
    words.dedup();
    words
}

/// Does the text hold one of the words, without regard to case?
pub(crate) fn mentions(text: &str, words: &[String]) -> bool {
    let lower = text.to_lowercase();
    words.iter().any(|word| lower.contains(word.as_str()))
}

/// At most `limit` bytes, at a character boundary.
pub(crate) fn floor(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Head and tail of a text that is longer than `limit` bytes, with a mark that says how much is missing. `tail` is
/// the end of the text where `head` is not all of its `total` bytes.
pub(crate) fn head_and_tail(head: &str, tail: Option<&str>, total: usize, limit: usize) -> String {
    if tail.is_none() && head.len() <= limit {
        return head.to_owned();
    }
    // Two thirds for the head: people say what they want before they paste what they have.
    let first = floor(head, limit * 2 / 3);
    let end = tail.unwrap_or(head);
    let mut start = end.len().saturating_sub(limit / 3);
    while !end.is_char_boundary(start) {
        start += 1;
    }
    let last = &end[start..];
    let missing = total.saturating_sub(first.len() + last.len());
    format!(
        "{}\n[… {missing} bytes of this are left out here …]\n{}",
        first.trim_end(),
        last.trim_start()
    )
}

/// A user entry without what agent programs put into it: reminders, environment, echoes of local commands.
pub(crate) fn without_synthetic(text: &str) -> String {
    const WRAPPED: [&str; 7] = [
        "system-reminder",
        "environment_context",
        "user_instructions",
        "local-command-stdout",
        "command-name",
        "command-message",
        "command-args",
    ];
    if !text.contains('<') {
        return text.to_owned();
    }
    let mut text = text.to_owned();
    for tag in WRAPPED {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        let mut clean = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once(&open) {
            let Some((_, behind)) = after.split_once(&close) else {
                break;
            };
            clean.push_str(before);
            rest = behind;
        }
        clean.push_str(rest);
        text = clean;
    }
    text
}
