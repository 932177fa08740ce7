//! The text that says where the rest is: writing it, and reading it back.

use contextengine_sdk::sections::{Body, Fitted, Keep, Section, fit};
use contextengine_sdk::transcript::{defused, one_line, quotable};
use contextengine_sdk::{Host, budget};

use crate::config::Config;
use crate::corrections::Corrections;
use crate::folded::Folded;

/// The first line, by which a text of this strategy is known.
const HEAD: &str = "# Fresh window (fresh-window 1)";
const REQUESTS: &str = "## Earlier requests of the user";
const NOTES: &str = "## Saved notes";
const EARLIER: &str = "## Earlier summary by another strategy";
const STOOD: &str = "## Last words of the model";
const NAMES: &str = "## Exact names";
/// Begin and end of a line in place of those that are not shown.
const LEFT_OUT: (&str, &str) = ("- (", " not shown)");
/// The last line. It ends with a full stop: a text that breaks off is taken for one that was cut.
const FOOT: &str = "Search the session for the words of a request, a path, or an id in brackets before you assume what \
was said or done.";

/// Tokens of the lists where the host found the text too small.
const ROOMY: u32 = 600;

/// What is written beside the sums.
pub(crate) struct Beside<'a> {
    pub(crate) focus: Option<&'a str>,
    pub(crate) of_this_turn: u32,
    pub(crate) corrections: &'a Corrections,
}

/// The text in at most `limit` tokens; `None` if not even the sums fit, and what the host asked for.
pub(crate) fn write(host: &Host, folded: &Folded, beside: &Beside<'_>, config: &Config, limit: u32) -> Option<String> {
    let least = if beside.corrections.too_little { ROOMY } else { 0 };
    let sections = [
        Section::new(NAMES, 50, Body::Lists(vec![("- ".to_owned(), beside.corrections.names.clone())])),
        Section::new(
            REQUESTS,
            3,
            Body::Lines(
                first_and_newest(host, &folded.requests, folded.turns, config.requests_tokens.max(least)),
                Keep::Last,
            ),
        ),
        Section::new("## Files", 2, Body::Text(files(host, folded, config.files_tokens.max(least)))),
        Section::new(NOTES, 3, Body::Lines(newest(host, &folded.notes, config.notes_tokens.max(least)), Keep::Last)),
        Section::new(
            EARLIER,
            3,
            Body::Text(budget::ends(host, &folded.earlier, config.earlier_tokens.max(least), 70).into_owned()),
        ),
        Section::new(
            STOOD,
            1,
            Body::Text(if least > 0 {
                budget::ends(host, &folded.last_words, least, 50).into_owned()
            } else {
                String::new()
            }),
        ),
    ];
    let missing = beside.corrections.headings.iter().map(|heading| {
        let words = "Nothing was summarised; the session's log holds all of it.".to_owned();
        Section::new(format!("## {heading}"), 50, Body::Text(words))
    });
    let sections: Vec<Section> = sections.into_iter().chain(missing).collect();
    let Fitted { text, .. } = fit(host, &head(folded, beside), &sections, FOOT, limit)?;
    let Corrections { names, headings, .. } = beside.corrections;
    // Without what the host asked for it would be refused again.
    names.iter().chain(headings).all(|asked| text.contains(asked)).then_some(text)
}

fn head(folded: &Folded, beside: &Beside<'_>) -> String {
    let mut head = format!(
        "{HEAD}\nOlder parts of this conversation were taken out of the window, without a summary: {}\nNothing is lost: \
         the session's log holds every entry, and recall finds it. What follows is what is being worked on.",
        sums(folded)
    );
    if beside.of_this_turn > 0 {
        head.push_str(&format!(
            "\nEntries of the turn in progress among them: {}. What follows the request are its newest steps.",
            beside.of_this_turn
        ));
    }
    if let Some(focus) = beside.focus.map(str::trim).filter(|focus| !focus.is_empty()) {
        head.push_str(&format!("\nThe user asked to keep this in focus: {}", one_line(&quotable(focus), 400)));
    }
    head
}

fn sums(folded: &Folded) -> String {
    let counted = |count: u64, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
    format!(
        "{}, {}, {}, in {}.",
        counted(folded.entries, "entry", "entries"),
        counted(folded.turns, "turn", "turns"),
        counted(folded.tokens, "token", "tokens"),
        counted(folded.compactions, "compaction", "compactions"),
    )
}

/// Tokens that the names take that the host misses.
pub(crate) fn names_cost(host: &Host, corrections: &Corrections) -> u32 {
    /// What joining the section to the others can cost.
    const JOINTS: u32 = 4;
    if corrections.names.is_empty() {
        return 0;
    }
    host.count(&format!("\n\n{NAMES}\n- {}", corrections.names.join(", "))).saturating_add(JOINTS)
}

/// Modified files first, newest first.
fn files(host: &Host, folded: &Folded, tokens: u32) -> String {
    // A path is what a model wrote as one: it can hold anything.
    let shown = |path: &String| defused(&one_line(path, usize::MAX));
    let newest_first = |paths: Vec<String>| paths.iter().rev().map(shown).collect::<Vec<_>>();
    let modified = newest_first(folded.files.modified.clone());
    let read = newest_first(folded.files.only_read().map(str::to_owned).collect());
    let modified = budget::list(host, "- modified: ", &modified, tokens);
    let left = tokens.saturating_sub(host.count(&modified) + 1);
    let read = budget::list(host, "- read: ", &read, left);
    [modified, read].into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn newest(host: &Host, lines: &[String], tokens: u32) -> Vec<String> {
    lines[budget::newest(&host.count_all(lines), tokens)..].to_vec()
}

/// The first request, which is mostly what the whole is about, and the newest ones. A line in between says how many of
/// `turns` are not shown.
fn first_and_newest(host: &Host, requests: &[String], turns: u64, tokens: u32) -> Vec<String> {
    let costs = host.count_all(requests);
    let Some((first, left)) = requests.first().zip(costs.first().and_then(|&cost| tokens.checked_sub(cost))) else {
        return Vec::new();
    };
    let rest = &requests[1..];
    let start = budget::newest(&costs[1..], left);
    let mut lines = vec![first.clone()];
    let hidden = turns.saturating_sub(1 + (rest.len() - start) as u64);
    if hidden > 0 {
        lines.push(format!("{}{hidden} others are{}", LEFT_OUT.0, LEFT_OUT.1));
    }
    lines.extend_from_slice(&rest[start..]);
    lines
}

/// What a text of this strategy tells; `None` if it is none.
pub(crate) fn read(text: &str) -> Option<Folded> {
    let mut lines = text.lines();
    if lines.next()?.trim() != HEAD {
        return None;
    }
    let mut folded = read_sums(lines.next()?)?;
    let mut place = "";
    for line in lines {
        if line.starts_with("## ") {
            place = line;
            continue;
        }
        match place {
            REQUESTS if is_item(line) => folded.requests.push(line.to_owned()),
            NOTES if is_item(line) => folded.notes.push(line.to_owned()),
            EARLIER if line != FOOT => {
                folded.earlier.push_str(line);
                folded.earlier.push('\n');
            }
            _ => {}
        }
    }
    folded.earlier.truncate(folded.earlier.trim_end().len());
    Some(folded)
}

fn is_item(line: &str) -> bool {
    let (begin, end) = LEFT_OUT;
    let left_out = line.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
    line.starts_with("- ") && !left_out.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn read_sums(line: &str) -> Option<Folded> {
    let (_, sums) = line.split_once(": ")?;
    let mut numbers =
        sums.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty()).map(|n| n.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    Some(Folded { entries: next()?, turns: next()?, tokens: next()?, compactions: next()?, ..Folded::default() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use contextengine_sdk::Services;
    use contextengine_sdk::memory::TestHost;

    use super::*;

    fn folded() -> Folded {
        Folded {
            entries: 120,
            turns: 40,
            tokens: 98_765,
            compactions: 3,
            requests: (0..30).map(|n| format!("- [e{n}] do thing {n}")).collect(),
            notes: vec!["- pays by invoice".to_owned()],
            earlier: "\\## Goal\nPort it.\n\n\\## Next\ntest".to_owned(),
            ..Folded::default()
        }
    }

    fn written(limit: u32) -> Option<String> {
        let corrections = Corrections::default();
        let beside = Beside { focus: Some("the\nparser"), of_this_turn: 2, corrections: &corrections };
        write(&TestHost::new(), &folded(), &beside, &Config::default(), limit)
    }

    #[test]
    fn what_is_written_is_read_back() {
        let text = written(2_000).unwrap();
        assert!(text.contains("- [e0] do thing 0\n- (10 others are not shown)\n- [e1] do thing 1\n"), "{text}");
        assert!(text.contains("in focus: the parser") && text.ends_with('.'), "{text}");
        assert_eq!(read(&text), Some(folded()));
    }

    #[test]
    fn the_sums_survive_any_limit_and_the_text_fits_it() {
        for limit in 0..600 {
            let Some(text) = written(limit) else {
                assert!(limit < 200, "{limit}");
                continue;
            };
            assert!(TestHost::new().count(&text) <= limit);
            let read = read(&text).unwrap();
            assert_eq!((read.entries, read.turns, read.tokens, read.compactions), (120, 40, 98_765, 3));
        }
    }

    #[test]
    fn another_text_is_not_taken_for_one_of_this_strategy() {
        for text in ["", "# Fresh window", HEAD, "# Fresh window (fresh-window 1)\nno numbers: 1 entries", "## Goal\nx"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
