//! Is the model's answer fit to be a summary?

use std::fmt;

use contextengine_sdk::transcript::TOOL_MARKUP;
use contextengine_sdk::{Completion, Finish};

use crate::earlier::{Earlier, names};

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Defect {
    Refused,
    Truncated,
    Empty,
    /// A heading that is not there, not in its order, or has nothing below it.
    Missing(String),
    /// A line of the instructions.
    Echo(String),
    Markup(&'static str),
    OpenFence,
    TooLong {
        tokens: u32,
        room: u32,
    },
    /// Of the exact names of an earlier summary so many were held, of so many.
    Forgot {
        held: usize,
        of: usize,
    },
}

impl Defect {
    /// Asking again can help.
    pub(crate) fn can_be_mended(&self) -> bool {
        *self != Self::Refused
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("the model refused"),
            Self::Truncated => f.write_str("it was cut off at the limit; write less"),
            Self::Empty => f.write_str("it was empty"),
            Self::Missing(heading) => write!(f, "the heading `## {heading}` is missing, out of order, or empty"),
            Self::Echo(line) => write!(f, "it repeats a line of the instructions: `{line}`"),
            Self::Markup(markup) => write!(f, "it holds `{markup}`, which looks like a call of a tool"),
            Self::OpenFence => f.write_str("a block of code in it is not closed"),
            Self::TooLong { tokens, room } => write!(f, "it has {tokens} tokens and {room} fit; write less"),
            Self::Forgot { held, of } => {
                write!(f, "it holds only {held} of {of} exact names of an earlier summary; carry them on")
            }
        }
    }
}

/// The answer as a summary: what stands before the first heading is gone (thinking aloud, "here is the summary"), and
/// so is a block of code around the whole.
pub(crate) fn read(completion: &Completion, headings: &[String], instructions: &str) -> Result<String, Defect> {
    match completion.finish {
        Finish::Refused => return Err(Defect::Refused),
        Finish::Truncated => return Err(Defect::Truncated),
        Finish::Complete => {}
    }
    let text = unwrapped(&completion.text);
    if text.is_empty() {
        return Err(Defect::Empty);
    }
    let text = from_first_heading(text, headings);
    if let Some(markup) = TOOL_MARKUP.into_iter().find(|markup| text.contains(markup)) {
        return Err(Defect::Markup(markup));
    }
    if text.lines().filter(|line| line.trim_start().starts_with("```")).count() % 2 == 1 {
        return Err(Defect::OpenFence);
    }
    let echoed = |line: &&str| line.len() > 12 && instructions.lines().any(|told| told.trim() == *line);
    if let Some(line) = text.lines().map(str::trim).find(echoed) {
        return Err(Defect::Echo(line.to_owned()));
    }
    match missing(&text, headings) {
        Some(heading) => Err(Defect::Missing(heading.to_owned())),
        None => Ok(text),
    }
}

/// Without reasoning that the model wrote out, and without a fence around everything.
fn unwrapped(text: &str) -> &str {
    let mut text = text.trim();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<analysis>", "</analysis>")] {
        if let Some((_, rest)) = text.strip_prefix(open).and_then(|inner| inner.split_once(close)) {
            text = rest.trim();
        }
    }
    let inner = text.strip_prefix("```").and_then(|inner| inner.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((language, inner)) if language.trim().chars().all(char::is_alphanumeric) && !inner.contains("```") => {
            inner.trim()
        }
        _ => text,
    }
}

/// The words of a line that is a heading, whatever its level and ornaments.
fn heading_of(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?;
    Some(rest.trim_start_matches('#').trim().trim_matches('*').trim_end_matches(':').trim())
}

fn is_heading(line: &str, heading: &str) -> bool {
    heading_of(line).is_some_and(|words| words.eq_ignore_ascii_case(heading.trim()))
}

/// From the first of the headings on, with all of them spelled as they were asked for.
fn from_first_heading(text: &str, headings: &[String]) -> String {
    let asked = |line: &str| headings.iter().find(|heading| is_heading(line, heading));
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| asked(line).is_some()).unwrap_or(0);
    let lines = lines[start..].iter().map(|line| match asked(line) {
        Some(heading) => format!("## {}", heading.trim()),
        None => (*line).to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// The first heading that is not there in its order with content.
fn missing<'a>(text: &str, headings: &'a [String]) -> Option<&'a str> {
    let lines: Vec<&str> = text.lines().collect();
    let mut from = 0;
    for heading in headings {
        let Some(at) = (from..lines.len()).find(|&at| is_heading(lines[at], heading)) else {
            return Some(heading);
        };
        let below = lines[at + 1..].iter().take_while(|line| !line.starts_with("## "));
        let says = |line: &&str| heading_of(line).is_none() && line.chars().any(char::is_alphanumeric);
        if !below.into_iter().any(says) {
            return Some(heading);
        }
        from = at + 1;
    }
    None
}

/// The exact names of earlier summaries that a merge does not hold. An error where of one of them less than `share`
/// is held: then it was not merged.
pub(crate) fn merged<'a>(text: &str, earlier: &'a [Earlier], share: f64) -> Result<Vec<&'a str>, Defect> {
    let mut lost: Vec<&str> = Vec::new();
    for one in earlier {
        let mut words = names(&one.text);
        if words.is_empty() {
            words = long_words(&one.text);
        }
        let (held, missing): (Vec<&str>, Vec<&str>) = words.iter().partition(|name| text.contains(**name));
        if (held.len() as f64) < share * words.len() as f64 {
            return Err(Defect::Forgot { held: held.len(), of: words.len() });
        }
        lost.extend(missing.into_iter().filter(|name| !names(name).is_empty()));
    }
    Ok(lost)
}

/// What a summary without any exact name is known by: its longer words.
fn long_words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if word.chars().count() > 6 && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const INSTRUCTIONS: &str = "Write these:\n- `## Goal`: what the user wanted\n- `## Next Steps`: what is left";

    fn check(text: &str, finish: Finish) -> Result<String, Defect> {
        let completion = Completion { text: text.to_owned(), finish, input_tokens: 0, output_tokens: 0 };
        read(&completion, &["Goal".to_owned(), "Next Steps".to_owned()], INSTRUCTIONS)
    }

    fn complete(text: &str) -> Result<String, Defect> {
        check(text, Finish::Complete)
    }

    #[test]
    fn a_summary_is_taken_out_of_what_models_put_around_it() {
        let clean = "## Goal\nPort it.\n\n## Next Steps\n- test";
        for text in [
            clean.to_owned(),
            format!("<think>\n## Goal\nno\n</think>\n{clean}"),
            format!("Here is the summary:\n\n{clean}\n"),
            format!("```markdown\n{clean}\n```"),
            clean.replace("## Goal", "# **goal:**"),
        ] {
            assert_eq!(complete(&text).unwrap(), clean, "{text}");
        }
    }

    #[test]
    fn what_is_not_fit_is_refused_with_the_reason() {
        let good = "## Goal\nPort it.\n\n## Next Steps\n- test";
        assert_eq!(check(good, Finish::Truncated), Err(Defect::Truncated));
        assert_eq!(check(good, Finish::Refused), Err(Defect::Refused));
        for (text, defect) in [
            (" \n", Defect::Empty),
            ("<think>hm</think>", Defect::Empty),
            ("## Goal\nPort it.", Defect::Missing("Next Steps".to_owned())),
            ("## Next Steps\ntest\n## Goal\nPort", Defect::Missing("Next Steps".to_owned())),
            ("## Goal\n\n---\n## Next Steps\ntest", Defect::Missing("Goal".to_owned())),
            (
                "## Goal\n- `## Goal`: what the user wanted\n## Next Steps\nx",
                Defect::Echo("- `## Goal`: what the user wanted".to_owned()),
            ),
            ("## Goal\n<tool_call>{}\n## Next Steps\nx", Defect::Markup("<tool_call>")),
            ("## Goal\n```\ncode\n## Next Steps\nx", Defect::OpenFence),
        ] {
            assert_eq!(complete(text), Err(defect), "{text}");
        }
    }

    #[test]
    fn a_merge_holds_the_names_or_they_are_told_apart() {
        let earlier = |text: &str| vec![Earlier { at: 0, text: text.to_owned() }];
        let with_names = earlier("Fixed src/a.rs and src/b.rs, see #12, port 8080:tcp");
        assert_eq!(merged("a.rs: src/a.rs, src/b.rs and #12", &with_names, 0.6), Ok(vec!["8080:tcp"]));
        assert_eq!(merged("nothing", &with_names, 0.6), Err(Defect::Forgot { held: 0, of: 4 }));
        assert_eq!(merged("nothing", &with_names, 0.0).unwrap().len(), 4);
        let without = earlier("The customer prefers patience");
        assert_eq!(merged("the customer has patience, prefers it", &without, 0.6), Ok(vec![]));
        assert_eq!(merged("no", &without, 0.6), Err(Defect::Forgot { held: 0, of: 3 }));
        assert_eq!(merged("no", &earlier(""), 0.6), Ok(vec![]));
    }
}
