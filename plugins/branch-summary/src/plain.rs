//! The summary that is written by rules.

use contextengine_sdk::Host;
use contextengine_sdk::sections::{Body, Keep, Section, fit};
use contextengine_sdk::transcript::{defused, one_line, quotable};

use crate::earlier::{BY_RULES, HEAD, HEADING, RETURNED, joined};
use crate::gather::Facts;

/// A summary, and whether earlier summaries had to be shortened.
pub(crate) struct Plain {
    pub(crate) text: String,
    pub(crate) lost_earlier: bool,
}

/// Tokens from which a summary has room for more than what is most needed.
const ROOMY: u32 = 200;

/// The summary in at most `budget` tokens; `None` if no more than its head fits.
pub(crate) fn summary(host: &Host, facts: &Facts, budget: u32) -> Option<Plain> {
    let mut head = format!("{HEAD}\n{BY_RULES}");
    if budget >= ROOMY {
        head = format!("{head}\n{RETURNED}");
    }
    let mut sections = vec![
        Section::new("## Goal", 2, Body::Text(facts.goal.clone())),
        Section::new("## Focus", 2, focus(facts)),
        Section::new("## Done", 2, Body::Lines(done(facts), Keep::First)),
        files(facts, 3),
        Section::new("## Commands", 1, Body::Lines(facts.commands.clone(), Keep::Last)),
        Section::new("## Failures", 2, Body::Lines(facts.failures.clone(), Keep::Last)),
        Section::new("## Where it ended", 4, Body::Text(ended(facts))),
    ];
    // Nobody sees what they stand for any more; the branch's own entries are in the log like theirs, but were never
    // summarised before.
    sections.push(Section::new(HEADING, 6, Body::Text(joined(&facts.earlier))));
    let fitted = fit(host, &head, &sections, "", budget)?;
    if fitted.text == head {
        return None;
    }
    Some(Plain { text: fitted.text, lost_earlier: fitted.cut.last().copied().unwrap_or(false) })
}

/// Files, newest first where not all fit.
pub(crate) fn files(facts: &Facts, weight: u32) -> Section {
    // A path is what a model wrote as one: it can hold anything.
    let shown = |path: &String| defused(&one_line(path, usize::MAX));
    let newest_first = |paths: Vec<String>| paths.iter().rev().map(shown).collect();
    let read = facts.files.only_read().map(str::to_owned).collect();
    let lists = vec![
        ("- modified: ".to_owned(), newest_first(facts.files.modified.clone())),
        ("- read: ".to_owned(), newest_first(read)),
    ];
    Section::new("## Files", weight, Body::Lists(lists))
}

fn focus(facts: &Facts) -> Body {
    let Some(focus) = &facts.focus else { return Body::Text(String::new()) };
    let asked = format!("- asked to keep in focus: {}", quotable(focus));
    Body::Lines(std::iter::once(asked).chain(facts.focused.iter().cloned()).collect(), Keep::First)
}

fn done(facts: &Facts) -> Vec<String> {
    let entries = if facts.entries == 1 { "1 entry".to_owned() } else { format!("{} entries", facts.entries) };
    let mut lines = vec![format!("- {entries}, {} of the user", counted(facts.turns, "request"))];
    lines.extend(facts.tools.iter().map(|(tool, calls)| match calls.failed {
        0 => format!("- {tool}: {}", counted(calls.made, "call")),
        failed => format!("- {tool}: {}, {failed} failed", counted(calls.made, "call")),
    }));
    lines
}

fn ended(facts: &Facts) -> String {
    let mut parts = Vec::new();
    // The goal stands above.
    if !facts.request.is_empty() && facts.request != facts.goal {
        parts.push(format!("Last request of the user: {}", facts.request));
    }
    if !facts.answer.is_empty() {
        parts.push(format!("Last answer: {}", facts.answer));
    }
    parts.join("\n\n")
}

fn counted(count: u32, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
