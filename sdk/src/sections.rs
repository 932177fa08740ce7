//! A text of sections that fits a budget, for summaries that are written by rules.
//!
//! Sections say what they want to write and how much they weigh; [`fit`] shares the room among them and writes what
//! fits: lines, lists of names, and texts, which are cut to head and tail. What is left out is counted in the text. By
//! the host's own count, what it returns never takes more than the budget.
//!
//! ```
//! use contextengine_sdk::memory::TestHost;
//! use contextengine_sdk::sections::{Body, Keep, Section, fit};
//! use contextengine_sdk::Services;
//!
//! let host = TestHost::new();
//! let commands = (1..=40).map(|n| format!("- cargo test -p crate_{n}")).collect();
//! let sections = [
//!     Section::new("## Goal", 1, Body::Text("Fix the parser.".to_owned())),
//!     Section::new("## Commands", 2, Body::Lines(commands, Keep::Last)),
//! ];
//! let fitted = fit(&host, "# Summary", &sections, "", 60).unwrap_or_default();
//! assert!(host.count(&fitted.text) <= 60);
//! assert!(fitted.text.starts_with("# Summary\n\n## Goal\nFix the parser.\n\n## Commands\n- ("));
//! assert!(fitted.text.contains(" earlier ones are not shown)\n"));
//! assert!(fitted.text.ends_with("crate_40"));
//! assert_eq!(fitted.cut, [false, true]);
//! assert!(fit(&host, "# Summary", &sections, "", 2).is_none(), "not even the heading fits");
//! ```

use crate::budget;
use crate::host::Host;

/// Tokens below which a section is left out rather than written: its heading and a few words.
const LEAST: u32 = 12;

/// Of a text that is too long, how much of what stays is its beginning.
const HEAD_PERCENT: u32 = 60;

/// How often the room is made smaller before the sections are given up: parts joined can take more tokens than the sum
/// of their counts.
const TRIES: u32 = 8;

/// Which lines matter most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Those at the front.
    First,
    /// Those at the end: the newest.
    Last,
}

/// What stands below a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Lines; what does not fit is counted in a line of its own.
    Lines(Vec<String>, Keep),
    /// Names behind labels, the most important first, as [`budget::list`] writes them.
    Lists(Vec<(String, Vec<String>)>),
    /// One text; what does not fit is cut out of its middle.
    Text(String),
}

/// A heading and what stands below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    heading: String,
    weight: u32,
    body: Body,
}

impl Section {
    /// A section. Where there is too little room, sections get it in proportion to their weights.
    pub fn new(heading: impl Into<String>, weight: u32, body: Body) -> Self {
        Self { heading: heading.into(), weight, body }
    }

    fn is_empty(&self) -> bool {
        match &self.body {
            Body::Lines(lines, _) => lines.is_empty(),
            Body::Lists(lists) => lists.iter().all(|(_, names)| names.is_empty()),
            Body::Text(text) => text.trim().is_empty(),
        }
    }

    fn whole(&self) -> String {
        let body = match &self.body {
            Body::Lines(lines, _) => lines.join("\n"),
            Body::Lists(lists) => {
                let lists = lists.iter().filter(|(_, names)| !names.is_empty());
                lists.map(|(label, names)| format!("{label}{}", names.join(", "))).collect::<Vec<_>>().join("\n")
            }
            Body::Text(text) => text.trim_end().to_owned(),
        };
        format!("\n\n{}\n{body}", self.heading)
    }

    /// The section in about `room` tokens; `None` if that is too little to say anything.
    fn within(&self, host: &Host, room: u32) -> Option<String> {
        let room = room.checked_sub(host.count(&format!("\n\n{}\n", self.heading))).filter(|&room| room > 0)?;
        let body = match &self.body {
            Body::Lines(lines, keep) => some_lines(host, lines, *keep, room),
            Body::Lists(lists) => some_names(host, lists, room),
            Body::Text(text) => budget::ends(host, text.trim_end(), room, HEAD_PERCENT).into_owned(),
        };
        (!body.trim().is_empty()).then(|| format!("\n\n{}\n{body}", self.heading))
    }
}

fn some_lines(host: &Host, lines: &[String], keep: Keep, room: u32) -> String {
    let left_out = |count: usize| match keep {
        Keep::First => format!("- (and {count} more)"),
        Keep::Last => format!("- ({count} earlier ones are not shown)"),
    };
    let room = room.saturating_sub(host.count(&left_out(lines.len())) + 1);
    let costs = host.count_all(&lines.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>());
    let (shown, count) = match keep {
        Keep::First => {
            let end = budget::leading(&costs, room);
            (&lines[..end], lines.len() - end)
        }
        Keep::Last => {
            let start = budget::newest(&costs, room);
            (&lines[start..], start)
        }
    };
    let note = (count > 0).then(|| left_out(count));
    let parts: Vec<&str> = match keep {
        _ if shown.is_empty() => return String::new(),
        Keep::First => shown.iter().chain(&note).map(String::as_str).collect(),
        Keep::Last => note.iter().chain(shown).map(String::as_str).collect(),
    };
    parts.join("\n")
}

fn some_names(host: &Host, lists: &[(String, Vec<String>)], room: u32) -> String {
    let wholes: Vec<String> = lists.iter().map(|(label, names)| format!("{label}{}\n", names.join(", "))).collect();
    let grants = budget::shares(&host.count_all(&wholes), &vec![1; lists.len()], room);
    let lines = lists.iter().zip(grants).map(|((label, names), grant)| budget::list(host, label, names, grant));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// A text that fits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fitted {
    /// The text.
    pub text: String,
    /// For each section whether something of it had to be left out.
    pub cut: Vec<bool>,
}

/// Writes the head, the sections that have content, and the foot, in at most `budget` tokens. Head and foot are
/// written whole, or there is no text.
pub fn fit(host: &Host, head: &str, sections: &[Section], foot: &str, budget: u32) -> Option<Fitted> {
    let foot = if foot.is_empty() { String::new() } else { format!("\n\n{foot}") };
    let wholes: Vec<String> = sections.iter().map(Section::whole).collect();
    let wants: Vec<u32> = host
        .count_all(&wholes)
        .into_iter()
        .zip(sections)
        .map(|(count, section)| if section.is_empty() { 0 } else { count })
        .collect();
    let mut room = budget.checked_sub(host.count(&format!("{head}{foot}")))?;
    for _ in 0..TRIES {
        let grants = grants(&wants, sections, room);
        let mut text = head.to_owned();
        let mut cut = Vec::with_capacity(sections.len());
        for (index, section) in sections.iter().enumerate() {
            let whole = grants[index] >= wants[index];
            let part = match whole {
                true if wants[index] == 0 => None,
                true => Some(wholes[index].clone()),
                false => section.within(host, grants[index]),
            };
            cut.push(!whole);
            text.push_str(&part.unwrap_or_default());
        }
        text.push_str(&foot);
        let count = host.count(&text);
        if count <= budget {
            return Some(Fitted { text, cut });
        }
        room = room.saturating_sub(count - budget + 1);
    }
    let text = format!("{head}{foot}");
    let cut = wants.iter().map(|&want| want > 0).collect();
    (host.count(&text) <= budget).then_some(Fitted { text, cut })
}

/// The room of each section. One that would get too little to say anything gives it to the others, the lightest first.
fn grants(wants: &[u32], sections: &[Section], room: u32) -> Vec<u32> {
    let mut asked = wants.to_vec();
    loop {
        let weights: Vec<u32> = sections.iter().map(|section| section.weight).collect();
        let grants = budget::shares(&asked, &weights, room);
        let starved = (0..asked.len()).filter(|&index| grants[index] < asked[index].min(LEAST));
        match starved.min_by_key(|&index| weights[index]) {
            Some(index) => asked[index] = 0,
            None => return grants,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::host::Services;
    use crate::memory::TestHost;

    /// A tokenizer whose parts can count less than their whole.
    fn words(text: &str) -> u32 {
        u32::try_from(text.split_whitespace().count() + text.matches('\n').count()).unwrap_or(u32::MAX)
    }

    fn body() -> impl Strategy<Value = Body> {
        let lines = || prop::collection::vec("- [a-z ä]{0,30}", 0..12);
        prop_oneof![
            (lines(), any::<bool>())
                .prop_map(|(lines, first)| Body::Lines(lines, if first { Keep::First } else { Keep::Last })),
            (lines(), lines()).prop_map(|(a, b)| Body::Lists(vec![("- read: ".into(), a), ("- run: ".into(), b)])),
            "[a-zä \n]{0,400}".prop_map(Body::Text),
        ]
    }

    proptest! {
        #[test]
        fn a_text_of_sections_never_counts_more_than_its_budget(
            bodies in prop::collection::vec((body(), 0u32..5), 0..6), budget in 0u32..300,
        ) {
            let sections: Vec<Section> = bodies.into_iter().map(|(body, weight)| Section::new("## H", weight, body)).collect();
            for host in [TestHost::new(), TestHost::new().count_with(words)] {
                match fit(&host, "# Head", &sections, "foot", budget) {
                    Some(fitted) => {
                        prop_assert!(host.count(&fitted.text) <= budget);
                        prop_assert!(fitted.text.starts_with("# Head") && fitted.text.ends_with("\n\nfoot"));
                        prop_assert_eq!(fitted.cut.len(), sections.len());
                    }
                    None => prop_assert!(host.count("# Head\n\nfoot") > budget),
                }
            }
        }

        #[test]
        fn with_room_enough_everything_is_written(bodies in prop::collection::vec(body(), 0..6)) {
            let sections: Vec<Section> = bodies.into_iter().map(|body| Section::new("## H", 1, body)).collect();
            let fitted = fit(&TestHost::new(), "# Head", &sections, "", 100_000).unwrap_or_default();
            prop_assert!(fitted.cut.iter().all(|cut| !cut));
            let written = sections.iter().filter(|section| !section.is_empty());
            let whole: String = written.map(Section::whole).collect();
            prop_assert_eq!(fitted.text, format!("# Head{whole}"));
        }
    }

    #[test]
    fn a_section_that_would_say_nothing_gives_its_room_to_the_others() {
        let text = "word ".repeat(200);
        let sections = [Section::new("## A", 9, Body::Text(text.clone())), Section::new("## B", 1, Body::Text(text))];
        let fitted = fit(&TestHost::new(), "#", &sections, "", 60).unwrap_or_default();
        assert!(fitted.text.contains("## A") && !fitted.text.contains("## B"), "{}", fitted.text);
        assert!(TestHost::new().count(&fitted.text) > 50);
    }
}
