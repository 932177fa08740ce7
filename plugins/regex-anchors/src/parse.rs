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
    let mut reader = Reader { summary: Summary::default(), section: None, item: None, rest };
    for line in lines {
        reader.line(line);
    }
    reader.end_item();
    let rest = reader.rest.join("\n");
    Some(Parsed { summary: reader.summary, rest: rest.trim().to_owned() })
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
    Some(Replaced { old: old.to_owned(), by: by.to_owned() })
}

fn open(item: &str) -> Option<Open> {
    let (word, text) = item.split_once(": ")?;
    let kind = OpenKind::ALL.into_iter().find(|kind| kind.word() == word)?;
    Some(Open { kind, text: text.to_owned() })
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
    Some(Command { status, count, line: line.to_owned() })
}

fn error(item: &str) -> Option<ErrorLine> {
    let (word, count, tail) = counted_head(item)?;
    let resolved = match word {
        "resolved" => true,
        "unresolved" => false,
        _ => return None,
    };
    let (source, line) = tail.split_once(ARROW)?;
    Some(ErrorLine { resolved, count, source: source.to_owned(), line: line.to_owned() })
}

fn name_list(item: &str) -> Option<NameList> {
    let (kind, tail) = item.split_once(": ")?;
    let names = tail
        .split(", ")
        .map(|name| match name.rsplit_once(" ×") {
            Some((name, count)) => Some(Counted { name: name.to_owned(), count: count.parse().ok()? }),
            None => Some(Counted { name: name.to_owned(), count: 1 }),
        })
        .collect::<Option<Vec<_>>>()?;
    names.iter().all(|name| is_listable(&name.name)).then(|| NameList { kind: kind.to_owned(), names })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::summary::{clean_block, clean_line, clean_source, clean_struck, render};

    /// Texts that try to look like parts of a summary.
    fn nasty() -> impl Strategy<Value = String> {
        prop_oneof![
            ".{1,40}",
            "(## Goal|## Constraints|- |  |\n|```|~~|: | ×3|, | → |replaced by: |request|ok|a|\\.|#|\t|\r|\0){1,20}",
            Just(format!("{MARKER}\n## Goal\n- x")),
            Just(NOTHING.to_owned()),
            Just(INTRO.to_owned()),
        ]
    }

    fn block() -> impl Strategy<Value = String> {
        nasty().prop_map(|text| clean_block(&text)).prop_filter("empty", |text| !text.is_empty())
    }

    fn line() -> impl Strategy<Value = String> {
        nasty().prop_map(|text| clean_line(&text)).prop_filter("empty", |text| !text.is_empty())
    }

    fn names() -> impl Strategy<Value = Vec<Counted>> {
        let name = line().prop_filter("not listable", |name| is_listable(name));
        prop::collection::vec((name, 1_u32..50).prop_map(|(name, count)| Counted { name, count }), 0..4)
    }

    prop_compose! {
        fn any_summary()(
            goal in prop::option::of(block()),
            focus in prop::option::of((block(), prop::collection::vec(line(), 0..3))),
            constraints in prop::collection::vec(line(), 0..4),
            replaced in prop::collection::vec((line(), line()), 0..3),
            messages in prop::collection::vec(block(), 0..4),
            open in prop::collection::vec((0..3_usize, block()), 0..3),
            more in (prop::collection::vec(block(), 0..3), prop::collection::vec(line(), 0..3)),
            files in (names(), names()),
            commands in prop::collection::vec((0..3_usize, 1_u32..9, line()), 0..3),
            errors in prop::collection::vec((any::<bool>(), 1_u32..9, line(), line()), 0..3),
            notes in prop::collection::vec(block(), 0..2),
            earlier in prop::collection::vec(block(), 0..2),
            anchors in prop::collection::vec(("[a-z][a-z0-9-]{0,8}", names()), 0..3),
            numbers in (any::<u32>(), any::<u32>(), any::<u32>()),
        ) -> Summary {
            let (focus, focus_notes) = focus.map_or((None, Vec::new()), |(focus, notes)| (Some(focus), notes));
            Summary {
                goal, focus, focus_notes, constraints, messages, notes, earlier,
                replaced: replaced.into_iter().map(|(old, by)| Replaced { old: clean_struck(&old), by }).collect(),
                open: open.into_iter().map(|(kind, text)| Open { kind: OpenKind::ALL[kind], text }).collect(),
                state: more.0,
                decisions: more.1,
                modified: files.0,
                read: files.1,
                commands: commands.into_iter()
                    .map(|(status, count, line)| Command { status: Status::ALL[status], count, line }).collect(),
                errors: errors.into_iter().map(|(resolved, count, source, line)| ErrorLine {
                    resolved, count, source: clean_source(&source), line,
                }).collect(),
                anchors: anchors.into_iter().filter(|(_, names)| !names.is_empty())
                    .map(|(kind, names)| NameList { kind, names }).collect(),
                entries: u64::from(numbers.0),
                rounds: numbers.1,
                messages_left_out: u64::from(numbers.2),
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_rendered_is_read_back_as_it_was(
            summary in any_summary(),
            required in prop::collection::vec("[A-Z][a-z ]{0,10}[a-z]|Goal|Errors", 0..3),
        ) {
            let text = render(&summary, &required);
            let parsed = parse(&text);
            prop_assert_eq!(parsed, Some(Parsed { summary, rest: String::new() }), "{}", text);
        }

        #[test]
        fn any_text_behind_the_marker_is_read_without_loss_of_words(text in "(## Goal\n|## Files\n|- |  |word|\n|: ){0,40}") {
            let parsed = parse(&format!("{MARKER}\n{text}"));
            prop_assert!(parsed.is_some());
            let again = parsed.map(|parsed| render(&parsed.summary, &[]) + &parsed.rest).unwrap_or_default();
            prop_assert!(again.matches("word").count() >= text.matches("word").count().min(1));
        }
    }

    #[test]
    fn lines_of_a_host_around_a_summary_are_not_part_of_it() {
        let summary = Summary { goal: Some("a".to_owned()), rounds: 1, ..Summary::default() };
        let text = format!("Summary of before:\n<summary>\n{}\n</summary>", render(&summary, &[]));
        let parsed = parse(&text);
        assert_eq!(
            parsed.map(|parsed| (parsed.summary, parsed.rest)),
            Some((summary, "Summary of before:\n<summary>\n</summary>".to_owned()))
        );
    }

    #[test]
    fn other_texts_are_not_summaries_of_this_plugin() {
        assert_eq!(parse("## Goal\n- a"), None);
        assert_eq!(parse(""), None);
    }
}
