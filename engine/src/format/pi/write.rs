//! Writes a compaction into a session of Pi: the file as it was, with entries appended.
//!
//! Pi has one layout, `[system, summary, kept from one entry on]`. What a new context has beyond that is said so:
//!
//! | in the new context | in the file |
//! |---|---|
//! | words of the user, or notes, kept ahead of the rest | at the end of the summary, under `## Kept verbatim` |
//! | other entries kept ahead of the rest, or images | what lies between is taken out by `context_edit` (version 3) |
//! | a tool result with other text | `context_edit` (version 3) |
//! | a note | `custom_message` at the end (versions 2 and 3) |
//! | several summaries | one, their texts one after another |

use std::collections::HashSet;
use std::sync::Arc;

use super::{Session, Version, entries};
use crate::format::changes::{Changes, Step, has_more_than_words, words};
use crate::format::content::{text_block, with_words};
use crate::format::json::{Object, is_valid, on_one_line, quote};
use crate::format::source::Source;
use crate::format::{Format, FormatError, WriteFacts, Written, ids};
use crate::transcript::{Entry, EntryKind, Role};

/// The heading under which a summary carries messages that Pi cannot keep in their place.
const VERBATIM: &str = "## Kept verbatim";

pub(in crate::format) fn write<'a>(
    source: &'a Source,
    session: &'a Session,
    context: &'a [Arc<Entry>],
    changes: &'a Changes<'a>,
    facts: &'a WriteFacts,
) -> Result<Written, FormatError> {
    let mut kept: Vec<Option<Step<'a>>> = vec![None; context.len()];
    for step in &changes.steps {
        if let Some(at) = step.at() {
            kept[at] = Some(*step);
        }
    }
    let mut writer = Writer {
        source,
        session,
        context,
        changes,
        kept,
        covered: changes.covered(),
        out: Vec::new(),
        taken: HashSet::new(),
        parent: session.leaf.clone(),
        time: ids::iso(facts.now),
        facts,
        remarks: Vec::new(),
    };
    writer.file();
    writer.systems();
    let start = if changes.has_summary() { writer.compaction()? } else { writer.no_compaction()? };
    writer.edits(start)?;
    writer.notes()?;
    Ok(Written { bytes: writer.out, remarks: writer.remarks })
}

struct Writer<'a> {
    source: &'a Source,
    session: &'a Session,
    context: &'a [Arc<Entry>],
    changes: &'a Changes<'a>,
    /// By position of the old context: what becomes of it.
    kept: Vec<Option<Step<'a>>>,
    /// Ids of the entries that new summaries stand for.
    covered: HashSet<&'a str>,
    out: Vec<u8>,
    /// Ids given to appended entries.
    taken: HashSet<String>,
    parent: Option<String>,
    time: String,
    facts: &'a WriteFacts,
    remarks: Vec<String>,
}

impl Writer<'_> {
    fn inexpressible(entry: &Entry, reason: &str) -> FormatError {
        FormatError::Inexpressible { format: Format::Pi, entry: entry.id.to_string(), reason: reason.to_owned() }
    }

    fn file(&mut self) {
        self.source.copy(0..self.source.text().len(), &mut self.out);
        if !self.out.ends_with(b"\n") {
            self.out.extend_from_slice(self.source.line_end().as_bytes());
        }
    }

    fn line(&mut self, json: &str) {
        self.out.extend_from_slice(json.as_bytes());
        self.out.extend_from_slice(self.source.line_end().as_bytes());
    }

    /// A new id; the next entry that is appended has it as its parent.
    fn next_id(&mut self, salt: &str) -> (String, String) {
        let mut count = 0_u64;
        let id = loop {
            let parent = self.parent.as_deref().unwrap_or_default();
            let hash = ids::hash(&[parent.as_bytes(), self.time.as_bytes(), salt.as_bytes(), &count.to_le_bytes()]);
            if !self.session.ids.contains(&hash[..8]) && self.taken.insert(hash[..8].to_owned()) {
                break hash[..8].to_owned();
            }
            count += 1;
        };
        let parent = self.parent.replace(id.clone()).map_or_else(|| "null".to_owned(), |parent| quote(&parent));
        (id, parent)
    }

    /// Positions of the old context that a compaction or an edit can leave out.
    fn movable(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let movable: Vec<usize> = (0..self.context.len())
            .filter(|at| !matches!(self.context[*at].kind, EntryKind::System) && !self.is_checkpoint(*at))
            .collect();
        movable.into_iter()
    }

    /// The summary of the compaction that is in force.
    fn is_checkpoint(&self, at: usize) -> bool {
        let entry = &self.context[at];
        entry.kind == EntryKind::Summary && entry.compaction.is_some()
    }

    fn systems(&mut self) {
        let systems = || (0..self.context.len()).filter(|at| self.context[*at].kind == EntryKind::System);
        if systems().any(|at| self.kept[at].is_none()) {
            self.remarks.push("system messages stay: Pi builds them from the whole session".into());
        }
        if self.changes.has_summary() && systems().count() > 1 {
            self.remarks.push("the system messages become one, as Pi records them with a compaction".into());
        }
    }

    fn no_compaction(&self) -> Result<usize, FormatError> {
        match (0..self.context.len()).find(|at| self.is_checkpoint(*at) && self.kept[*at].is_none()) {
            Some(at) => Err(Self::inexpressible(
                &self.context[at],
                "a summary can only go when a new one takes its place; let the new one cover it",
            )),
            None => Ok(0),
        }
    }

    /// Appends the compaction. Gives the position from which the old context stays.
    fn compaction(&mut self) -> Result<usize, FormatError> {
        let start = self.start()?;
        let summary = self.summary_text(start);
        let first = self.movable().find(|at| *at >= start);
        let place = first.and_then(|at| {
            let line = usize::try_from(self.context[at].source.first()?.record).ok()?;
            self.session.names.get(line)?.clone()
        });
        let json = if self.session.version == Version::One {
            let index = place.map_or(self.session.parsed, |name| name.index);
            format!(
                r#"{{"type":"compaction","timestamp":{},"summary":{},"firstKeptEntryIndex":{index}"#,
                quote(&self.time),
                quote(&summary)
            )
        } else {
            let (id, parent) = self.next_id(&summary);
            let first_kept = place.map_or_else(|| id.clone(), |name| name.id);
            format!(
                r#"{{"type":"compaction","id":{},"parentId":{parent},"timestamp":{},"summary":{},"firstKeptEntryId":{}"#,
                quote(&id),
                quote(&self.time),
                quote(&summary),
                quote(&first_kept)
            )
        };
        let mut json = format!(r#"{json},"tokensBefore":{}"#, self.facts.tokens_before);
        if let Some(details) = self.details() {
            json.push_str(&format!(r#","details":{details}"#));
        }
        if let Some(system) = &self.session.system {
            json.push_str(&format!(r#","systemMessage":{system},"timestamp":{}}}"#, self.facts.now.0));
        }
        json.push('}');
        self.line(&json);
        Ok(start)
    }

    /// The details of the newest summary that has any.
    fn details(&mut self) -> Option<String> {
        let mut all: Vec<&str> = Vec::new();
        for step in &self.changes.steps {
            if let Step::Summary(entry) = step {
                all.extend(entry.compaction.as_ref().and_then(|compaction| compaction.details.as_deref()));
            }
        }
        if all.len() > 1 {
            self.remarks.push("only the details of the last summary are written: a compaction has room for one".into());
        }
        let details = all.last()?;
        if is_valid(details) {
            return Some(on_one_line(details));
        }
        self.remarks.push("the details of the summary are left out: they are not JSON".into());
        None
    }

    /// The position from which everything is kept, or from which edits take out what is not.
    fn start(&self) -> Result<usize, FormatError> {
        let end = self.context.len();
        let carried = |at: usize| {
            let entry = &self.context[at];
            matches!(entry.kind, EntryKind::User | EntryKind::Note) && !has_more_than_words(entry)
        };
        let mut start = end;
        if self.session.version == Version::Three {
            start = self.movable().find(|at| self.kept[*at].is_some() && !carried(*at)).unwrap_or(end);
        }
        for at in self.movable().rev().filter(|at| *at < start).collect::<Vec<_>>() {
            if self.kept[at].is_some() {
                start = at;
            } else if self.session.version != Version::Three || self.covered.contains(self.context[at].id.as_str()) {
                break;
            }
        }
        let ahead = self.movable().filter(|at| *at < start && self.kept[*at].is_some());
        match ahead.into_iter().find(|at| !carried(*at)) {
            Some(at) => Err(Self::inexpressible(
                &self.context[at],
                "sessions of version 1 and 2 can only keep the end of the conversation, and this entry is kept ahead of \
                 it; keep it covered, or let Pi save the session as version 3 first",
            )),
            None => Ok(start),
        }
    }

    fn summary_text(&mut self, start: usize) -> String {
        let mut texts = Vec::new();
        let mut moved = false;
        let mut kept_before = false;
        for step in &self.changes.steps {
            match *step {
                Step::Summary(entry) => {
                    texts.push(words(entry));
                    moved |= kept_before;
                }
                Step::Kept(at) if self.is_checkpoint(at) => texts.push(words(&self.context[at])),
                Step::Kept(at) | Step::Edited(at, _) => {
                    kept_before |= at >= start && self.context[at].kind != EntryKind::System;
                }
                Step::Note(_) => {}
            }
        }
        if texts.len() > 1 {
            self.remarks.push(format!("{} summaries become one: Pi shows only the newest", texts.len()));
        }
        if moved {
            self.remarks.push("the summary comes ahead of all kept entries: Pi shows it first".into());
        }
        let ahead: Vec<String> = (self.movable().filter(|at| *at < start))
            .filter_map(|at| match self.kept[at]? {
                Step::Edited(_, entry) => Some(words(entry)),
                _ => Some(words(&self.context[at])),
            })
            .collect();
        if !ahead.is_empty() {
            self.remarks.push(format!(
                "{} kept ahead of the rest are carried word for word at the end of the summary, under `{VERBATIM}`",
                if ahead.len() == 1 { "1 message".to_owned() } else { format!("{} messages", ahead.len()) }
            ));
            texts.push(format!("{VERBATIM}\n\n{}", ahead.join("\n\n")));
        }
        texts.join("\n\n")
    }

    /// Appends an edit for every entry from `start` on that goes or has other text.
    fn edits(&mut self, start: usize) -> Result<(), FormatError> {
        for at in self.movable().filter(|at| *at >= start) {
            let replacement = match self.kept[at] {
                Some(Step::Edited(_, entry)) => self.replacement(at, entry)?,
                None => "null".to_owned(),
                Some(_) => continue,
            };
            let entry = &self.context[at];
            if self.session.version != Version::Three {
                return Err(Self::inexpressible(
                    entry,
                    "sessions of version 1 and 2 cannot leave out or change a single entry that the rest is kept around; \
                     let Pi save the session as version 3 first",
                ));
            }
            let target = quote(entry.id.as_str());
            let (id, parent) = self.next_id(&target);
            self.line(&format!(
                r#"{{"type":"context_edit","id":{},"parentId":{parent},"timestamp":{},"targetId":{target},"replacement":{replacement}}}"#,
                quote(&id),
                quote(&self.time)
            ));
        }
        if let Some(entry) = self.changes.steps.iter().find_map(|step| match step {
            Step::Edited(at, _) if !self.movable().any(|movable| movable == *at) => Some(&self.context[*at]),
            _ => None,
        }) {
            return Err(Self::inexpressible(entry, "Pi has no way to change the text of such an entry"));
        }
        Ok(())
    }

    fn replacement(&self, at: usize, edited: &Entry) -> Result<String, FormatError> {
        let refuse = || Self::inexpressible(edited, "Pi has no way to change the text of such an entry");
        let line = edited.source.first().and_then(|part| usize::try_from(part.record).ok()).ok_or_else(refuse)?;
        let fields = self.fields(line).filter(entries::is_editable).ok_or_else(refuse)?;
        let edit = self.session.edits.get(&line).and_then(|edit| self.fields(*edit)?.object("replacement"));
        let holder = edit.or_else(|| fields.object("message")).unwrap_or(fields);
        let content = holder.some("content");
        let words = words(edited);
        let mut json = with_words(content, &words, has_more_than_words(edited));
        // Pi wants a list where the message has one by its type.
        if matches!(self.context[at].kind, EntryKind::Assistant | EntryKind::ToolResult) && !json.starts_with('[') {
            json = format!("[{}]", text_block(&words));
        }
        Ok(format!(r#"{{"content":{}}}"#, on_one_line(&json)))
    }

    fn fields(&self, line: usize) -> Option<Object<'_>> {
        Object::parse(&self.source.text()[self.session.lines.get(line)?.content.clone()])
    }

    fn notes(&mut self) -> Result<(), FormatError> {
        let last_kept = self.changes.steps.iter().rposition(|step| step.at().is_some());
        let mut moved = false;
        for (place, step) in self.changes.steps.iter().enumerate() {
            let Step::Note(note) = *step else { continue };
            if self.session.version == Version::One {
                return Err(Self::inexpressible(
                    note,
                    "sessions of version 1 have no notes; let Pi save the session as version 3 first",
                ));
            }
            moved |= last_kept.is_some_and(|last| place < last);
            if note.role != Role::User {
                self.remarks.push(format!("note {} is read under the role of the user, as all notes of Pi", note.id));
            }
            let content = quote(&words(note));
            let (id, parent) = self.next_id(&content);
            self.line(&format!(
                r#"{{"type":"custom_message","customType":{},"content":{content},"display":true,"id":{},"parentId":{parent},"timestamp":{}}}"#,
                quote(entries::NOTE),
                quote(&id),
                quote(&self.time)
            ));
        }
        if moved {
            self.remarks.push("notes come at the end: Pi can only append them".into());
        }
        Ok(())
    }
}
