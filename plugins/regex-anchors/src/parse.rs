//! Reads a summary back into its structure.
//!
//! The inverse of [`crate::summary::render`] for every summary whose texts are clean. It is also tolerant: a host or
//! a person may have put lines around or into the text. What is not understood is handed back as `rest`, so that it
//! can be carried on as somebody else's words; nothing is lost and nothing is an error.

use crate::summary::{
    ARROW, Command, Counted, ErrorLine, INTRO, MARKER, NOTHING, NameList, Open, OpenKind, Replaced, Section, Status,
    Summary, is_listable,
};

/// What was found in the text of a summary entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// The structure.
    pub(crate) summary: Summary,
    /// Lines that belong to no part of it, in order; empty for an unchanged summary.
    pub(crate) rest: String,
}

/// Reads the text, or answers `None` if it is not a summary of this plugin.
pub(crate) fn parse(text: &str) -> Option<Parsed> {
    let mut lines = text.split('\n');
    let mut rest = Vec::new();
    loop {
        let line = lines.next()?;
        if line.trim_end() == MARKER {
            break;
        }
        rest.push(line);
    }
    let mut reader = Reader {
        summary: Summary::default(),
        section: None,
        item: None,
        rest,
    };
    for line in lines {
        reader.line(line);
    }
    reader.end_item();
    let rest = reader.rest.join("\n");
    Some(Parsed {
        summary: reader.summary,
        rest: rest.trim().to_owned(),
    })
}

struct Reader<'t> {
    summary: Summary,
    section: Option<Section>,
    item: Option<String>,
    rest: Vec<&'t str>,
}

impl<'t> Reader<'t> {
    fn line(&mut self, line: &'t str) {
        if let Some(heading) = line.strip_prefix("## ") {
            self.end_item();
            let heading = heading.trim_end();
            self.section = Section::ALL.into_iter().find(|section| section.heading() == heading);
        } else if self.section.is_some() && line.starts_with("- ") {
            self.end_item();
            self.item = Some(line[2..].to_owned());
        } else if let Some(item) = self.item.as_mut().filter(|_| line.is_empty() || line.starts_with("  ")) {
            item.push('\n');
            item.push_str(line.get(2..).unwrap_or_default());
        } else {
            self.end_item();
            if line != INTRO && line != NOTHING && !line.is_empty() {
                self.rest.push(line);
            }
        }
    }

    fn end_item(&mut self) {
        let (Some(section), Some(item)) = (self.section, self.item.take()) else {
            return;
        };
        let item = item.trim_end_matches('\n');
        if item.is_empty() {
            return;
        }
        if !put(&mut self.summary, section, item) {
            // Somebody edited it; the words are kept among the earlier summaries.
            self.summary.earlier.push(item.to_owned());
        }
    }
}

/// Puts an item where it belongs; `false` if it does not have the form of its section.
fn put(summary: &mut Summary, section: Section, item: &str) -> bool {
    let text = item.to_owned();
    match section {
        Section::Goal if summary.goal.is_none() => summary.goal = Some(text),
        Section::Goal => return false,
        Section::Focus if summary.focus.is_none() => summary.focus = Some(text),
        Section::Focus => summary.focus_notes.push(text),
        Section::Constraints => summary.constraints.push(text),
        Section::Messages => summary.messages.push(text),
        Section::State => summary.state.push(text),
        Section::Decisions => summary.decisions.push(text),
        Section::Notes => summary.notes.push(text),
        Section::Earlier => summary.earlier.push(text),
        Section::Replaced => return replaced(item).map(|it| summary.replaced.push(it)).is_some(),
        Section::Open => return open(item).map(|it| summary.open.push(it)).is_some(),
        Section::Commands => return command(item).map(|it| summary.commands.push(it)).is_some(),
        Section::Errors => return error(item).map(|it| summary.errors.push(it)).is_some(),
        Section::Files | Section::Anchors => {
            let Some(list) = name_list(item) else { return false };
            match (section, list.kind.as_str()) {
                (Section::Files, "modified") => summary.modified.extend(list.names),
                (Section::Files, "read") => summary.read.extend(list.names),
                (Section::Files, _) => return false,
                _ => summary.anchors.push(list),
            }
        }
        Section::Originals => {
            let mut numbers = item
                .split(|c: char| !c.is_ascii_digit())
                .filter(|digits| !digits.is_empty())
                .map(|digits| digits.parse::<u64>().unwrap_or(u64::MAX));
            summary.entries = summary.entries.saturating_add(numbers.next().unwrap_or(0));
            let rounds = u32::try_from(numbers.next().unwrap_or(0)).unwrap_or(u32::MAX);
            summary.rounds = summary.rounds.saturating_add(rounds);
            summary.messages_left_out = summary.messages_left_out.saturating_add(numbers.next().unwrap_or(0));
        }
    }
    true
}

fn replaced(item: &str) -> Option<Replaced> {
    let (old, by) = item.strip_prefix("~~")?.split_once("~~ replaced by: ")?;
    Some(Replaced {
        old: old.to_owned(),
        by: by.to_owned(),
    })
}

fn open(item: &str) -> Option<Open> {
    let (word, text) = item.split_once(": ")?;
    let kind = OpenKind::ALL.into_iter().find(|kind| kind.word() == word)?;
    Some(Open {
        kind,
        text: text.to_owned(),
    })
}

/// `word ×3: …` as the word, the number and the rest.
fn counted_head(item: &str) -> Option<(&str, u32, &str)> {
    let (head, tail) = item.split_once(": ")?;
    match head.split_once(" ×") {
        Some((word, count)) => Some((word, count.parse().ok()?, tail)),
        None => Some((head, 1, tail)),
    }
}

fn command(item: &str) -> Option<Command> {
    let (word, count, line) = counted_head(item)?;
    let status = Status::ALL.into_iter().find(|status| status.word() == word)?;
    Some(Command {
        status,
        count,
        line: line.to_owned(),
    })
}

fn error(item: &str) -> Option<ErrorLine> {
    let (word, count, tail) = counted_head(item)?;
    let resolved = match word {
        "resolved" => true,
        "unresolved" => false,
        _ => return None,
    };
    let (source, line) = tail.split_once(ARROW)?;
    Some(ErrorLine {
        resolved,
        count,
        source: source.to_owned(),
        line: line.to_owned(),
    })
}

fn name_list(item: &str) -> Option<NameList> {
    let (kind, tail) = item.split_once(": ")?;
    let names = tail
        .split(", ")
        .map(|name| match name.rsplit_once(" ×") {
            Some((name, count)) => Some(Counted {
                name: name.to_owned(),
                count: count.parse().ok()?,
            }),
            None => Some(Counted {
                name: name.to_owned(),
                count: 1,
            }),
        })
        .collect::<Option<Vec<_>>>()?;
    names.iter().all(|name| is_listable(&name.name)).then(|| NameList {
        kind: kind.to_owned(),
        names,
    })
}
