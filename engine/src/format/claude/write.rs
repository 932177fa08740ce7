//! Writes a transcript of Claude Code after a compaction.
//!
//! With a new summary the file is the new context: a `compact_boundary`, the summary, then everything that was kept, in
//! the order of the file. What stood ahead of the boundary before is left out, since Claude Code does not look at it;
//! lines that are no messages stay where they are. Without a new summary every line stays but those that were dropped.
//!
//! A kept line is written as it was, with one exception: where its `parentUuid` leads to no line that is written, that
//! value alone becomes the uuid of the line before it, so a reader that walks the tree finds everything.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::{Session, entries, own_metadata};
use crate::format::changes::{Changes, Step, has_more_than_words, words};
use crate::format::content::{blocks_with_words, with_words};
use crate::format::json::{Object, array, on_one_line, quote, range_in};
use crate::format::source::Source;
use crate::format::{Format, FormatError, WriteFacts, Written, ids, marker};
use crate::transcript::{Entry, EntryKind, Role, SourcePart};

/// Fields that every line of a session has alike.
const COMMON: [&str; 6] = ["userType", "cwd", "sessionId", "version", "gitBranch", "slug"];

pub(in crate::format) fn write(
    source: &Source,
    session: &Session,
    context: &[Arc<Entry>],
    changes: &Changes<'_>,
    facts: &WriteFacts,
) -> Result<Written, FormatError> {
    let mut writer = Writer::new(source, session, context, facts);
    writer.plan(changes)?;
    let keeps_checkpoint =
        changes.steps.iter().any(|step| step.at().is_some_and(|at| context[at].kind == EntryKind::Summary));
    let compacted = changes.has_summary();
    if compacted && !keeps_checkpoint {
        writer.checkpoint(changes);
    }
    if compacted && session.hidden > 0 {
        let lines = if session.hidden == 1 { "1 line".to_owned() } else { format!("{} lines", session.hidden) };
        writer
            .remarks
            .push(format!("{lines} ahead of the last compaction are left out: Claude Code does not read them"));
    }
    let order: Vec<usize> = if compacted { session.active.clone() } else { (0..session.lines.len()).collect() };
    for line in order {
        writer.inserts_before(line);
        if !(writer.fresh && Some(line) == session.boundary) {
            writer.line(line)?;
        }
    }
    writer.inserts_before(usize::MAX);
    Ok(Written { bytes: writer.out, remarks: writer.remarks })
}

/// What becomes of the parts of a line that is a message.
type Parts<'a> = Vec<(&'a SourcePart, Option<Step<'a>>)>;

struct Writer<'a> {
    source: &'a Source,
    session: &'a Session,
    context: &'a [Arc<Entry>],
    facts: &'a WriteFacts,
    /// By line.
    parts: HashMap<usize, Parts<'a>>,
    /// New entries by the line ahead of which they come.
    inserts: HashMap<usize, Vec<&'a Entry>>,
    /// Uuids of the file.
    known: HashSet<String>,
    /// Uuids of the lines that are written.
    written: HashSet<String>,
    /// Uuid of the line before.
    previous: Option<String>,
    /// A new boundary begins the file.
    fresh: bool,
    common: String,
    remarks: Vec<String>,
    out: Vec<u8>,
}

impl<'a> Writer<'a> {
    fn new(source: &'a Source, session: &'a Session, context: &'a [Arc<Entry>], facts: &'a WriteFacts) -> Self {
        let mut writer = Self {
            source,
            session,
            context,
            facts,
            parts: HashMap::new(),
            inserts: HashMap::new(),
            known: HashSet::new(),
            written: HashSet::new(),
            previous: None,
            fresh: false,
            common: String::new(),
            remarks: Vec::new(),
            out: Vec::new(),
        };
        let records = || (0..session.lines.len()).filter_map(|line| writer.record(line));
        writer.known = records().filter_map(|record| Some(record.str("uuid")?.into_owned())).collect();
        writer.common = session
            .active
            .iter()
            .rev()
            .filter_map(|line| writer.record(*line))
            .find(|record| record.get("sessionId").is_some() && !record.is_true("isSidechain"))
            .map(|record| common(&record))
            .unwrap_or_default();
        writer
    }

    fn record(&self, line: usize) -> Option<Object<'a>> {
        let source = self.source;
        Object::parse(&source.text()[self.session.lines.get(line)?.content.clone()])
    }

    /// Sorts the new context by lines.
    fn plan(&mut self, changes: &Changes<'a>) -> Result<(), FormatError> {
        let mut becomes: Vec<Option<Step<'a>>> = vec![None; self.context.len()];
        let mut waiting: Vec<&'a Entry> = Vec::new();
        for step in &changes.steps {
            match *step {
                Step::Summary(entry) | Step::Note(entry) => waiting.push(entry),
                Step::Kept(at) | Step::Edited(at, _) => {
                    becomes[at] = Some(*step);
                    let line = self.context[at].source.first().map_or(usize::MAX, line_of);
                    self.inserts.entry(line).or_default().append(&mut waiting);
                }
            }
            if let Step::Edited(at, entry) = *step
                && self.context[at].kind == EntryKind::Assistant
            {
                return Err(FormatError::Inexpressible {
                    format: Format::ClaudeCode,
                    entry: entry.id.to_string(),
                    reason: "words of the model cannot be replaced".to_owned(),
                });
            }
        }
        self.inserts.entry(usize::MAX).or_default().append(&mut waiting);
        let context = self.context;
        for (at, entry) in context.iter().enumerate() {
            for part in &entry.source {
                self.parts.entry(line_of(part)).or_default().push((part, becomes[at]));
            }
        }
        Ok(())
    }

    /// The boundary and the first new summary, ahead of everything.
    fn checkpoint(&mut self, changes: &Changes<'a>) {
        let first = changes.steps.iter().find_map(|step| match step {
            Step::Summary(entry) => Some(*entry),
            _ => None,
        });
        let Some(summary) = first else { return };
        if changes.steps.iter().take_while(|step| !matches!(step, Step::Summary(_))).any(|step| step.at().is_some()) {
            self.remarks.push(AHEAD.to_owned());
        }
        for inserts in self.inserts.values_mut() {
            inserts.retain(|entry| !std::ptr::eq(*entry, summary));
        }
        self.fresh = true;
        let boundary = self.uuid("boundary", summary);
        let anchor = self.uuid("summary", summary);
        let kept = self.kept_uuids();
        let last =
            self.session.active.iter().rev().find_map(|line| Some(self.record(*line)?.str("uuid")?.into_owned()));
        let logical = kept.last().cloned().or(last).map_or_else(|| "null".to_owned(), |uuid| quote(&uuid));
        let mut metadata = format!(
            r#""trigger":"manual","preTokens":{},"postTokens":{}"#,
            self.facts.tokens_before, self.facts.tokens_after
        );
        if !kept.is_empty() {
            let uuids: Vec<String> = kept.iter().map(|uuid| quote(uuid)).collect();
            metadata.push_str(&format!(
                r#","preservedMessages":{{"anchorUuid":{},"uuids":[{}]}}"#,
                quote(&anchor),
                uuids.join(",")
            ));
        }
        if let Some(compaction) = &summary.compaction {
            metadata.push_str(&own_metadata(compaction).unwrap_or_else(|rest| {
                self.remarks.push("the details of the summary are left out: they are not JSON".into());
                rest
            }));
        }
        let json = format!(
            r#"{{"parentUuid":null,"logicalParentUuid":{logical},"isSidechain":false{},"type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"timestamp":{},"uuid":{},"level":"info","compactMetadata":{{{metadata}}}}}"#,
            self.common,
            quote(&ids::iso(self.facts.now)),
            quote(&boundary)
        );
        self.push(&json);
        self.wrote(Some(boundary));
        self.insert(summary);
    }

    fn kept_uuids(&self) -> Vec<String> {
        let kept = |line: &&usize| {
            self.parts.get(*line).is_some_and(|parts| parts.iter().any(|(_, becomes)| becomes.is_some()))
        };
        let lines = self.session.active.iter().filter(kept);
        lines.filter_map(|line| Some(self.record(*line)?.str("uuid")?.into_owned())).collect()
    }

    /// Always the same for the same session, time and text, and not in the file.
    fn uuid(&self, purpose: &str, entry: &Entry) -> String {
        let text = words(entry);
        let now = self.facts.now.0.to_le_bytes();
        let mut count = 0_u64;
        loop {
            let salt = count.to_le_bytes();
            let parts = [purpose.as_bytes(), self.common.as_bytes(), text.as_bytes(), &now, &salt];
            let uuid = ids::uuid(&parts);
            if !self.known.contains(&uuid) && !self.written.contains(&uuid) {
                return uuid;
            }
            count += 1;
        }
    }

    fn push(&mut self, json: &str) {
        self.end_line();
        self.out.extend_from_slice(json.as_bytes());
        self.out.extend_from_slice(self.source.line_end().as_bytes());
    }

    /// Ends a last line that has no end.
    fn end_line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with(b"\n") {
            self.out.extend_from_slice(self.source.line_end().as_bytes());
        }
    }

    fn wrote(&mut self, uuid: Option<String>) {
        if let Some(uuid) = uuid {
            self.written.insert(uuid.clone());
            self.previous = Some(uuid);
        }
    }

    fn inserts_before(&mut self, line: usize) {
        for entry in self.inserts.remove(&line).unwrap_or_default() {
            self.insert(entry);
        }
    }

    /// A new user line: a summary or a note.
    fn insert(&mut self, entry: &Entry) {
        let (purpose, flags) = match entry.kind {
            EntryKind::Summary => ("summary", r#","isVisibleInTranscriptOnly":true,"isCompactSummary":true"#),
            _ => ("note", r#","isMeta":true"#),
        };
        if entry.kind == EntryKind::Note && entry.role != Role::User {
            self.remarks
                .push(format!("note {} is read under the role of the user, as all notes of Claude Code", entry.id));
        }
        let text = match entry.kind {
            EntryKind::Note => words(entry),
            kind => marker::wrap(kind, &words(entry)),
        };
        let uuid = self.uuid(purpose, entry);
        let parent = self.previous.as_deref().map_or_else(|| "null".to_owned(), quote);
        let json = format!(
            r#"{{"parentUuid":{parent},"isSidechain":false{},"type":"user","message":{{"role":"user","content":{}}}{flags},"uuid":{},"timestamp":{}}}"#,
            self.common,
            quote(&text),
            quote(&uuid),
            quote(&ids::iso(self.facts.now))
        );
        self.push(&json);
        self.wrote(Some(uuid));
    }

    fn line(&mut self, line: usize) -> Result<(), FormatError> {
        let whole = self.session.lines[line].whole.clone();
        let Some(record) = self.record(line) else {
            self.end_line();
            self.source.copy(whole, &mut self.out);
            return Ok(());
        };
        let mut changed = Vec::new();
        if let Some(parts) = self.parts.remove(&line) {
            if parts.iter().all(|(_, becomes)| becomes.is_none()) {
                return Ok(());
            }
            if !parts.iter().all(|(_, becomes)| matches!(becomes, Some(Step::Kept(_)))) {
                changed.extend(self.content(&record, &parts));
            }
        }
        let uuid = record.str("uuid").map(std::borrow::Cow::into_owned);
        if !record.is_true("isSidechain") {
            changed.extend(self.parent(&record));
        }
        changed.sort_by_key(|(range, _)| range.start);
        self.end_line();
        let mut at = whole.start;
        for (range, bytes) in changed {
            self.source.copy(at..range.start, &mut self.out);
            self.out.extend_from_slice(&bytes);
            at = range.end;
        }
        self.source.copy(at..whole.end, &mut self.out);
        if !record.is_true("isSidechain") {
            self.wrote(uuid);
        }
        Ok(())
    }

    /// Another parent, where the one of the line is not written.
    fn parent(&self, record: &Object<'_>) -> Option<(Range<usize>, Vec<u8>)> {
        let raw = record.get("parentUuid")?;
        record.get("uuid")?;
        let previous = self.previous.as_ref()?;
        let is_lost = match record.str("parentUuid") {
            // A parent that the file never had is no worse for it, unless a walk now has to come to the boundary.
            Some(parent) => {
                !self.written.contains(parent.as_ref()) && (self.fresh || self.known.contains(parent.as_ref()))
            }
            None => self.fresh,
        };
        is_lost.then(|| (range_in(self.source.text(), raw.get()), quote(previous).into_bytes()))
    }

    /// The content of a line of which only some parts are kept as they were.
    fn content(&self, record: &Object<'_>, parts: &Parts<'_>) -> Option<(Range<usize>, Vec<u8>)> {
        let message = record.object("message")?;
        let content = message.get("content")?;
        let place = range_in(self.source.text(), content.get());
        let Some(blocks) = array(content) else {
            let edited = parts.iter().find_map(|(_, becomes)| match becomes {
                Some(Step::Edited(_, entry)) => Some(*entry),
                _ => None,
            })?;
            return Some((place, with_words(Some(content), &words(edited), false).into_bytes()));
        };
        let mut written: Vec<Vec<u8>> = Vec::new();
        for (part, becomes) in parts {
            let own = match &part.blocks {
                Some(range) => &blocks[bounded(range, blocks.len())],
                None => &blocks[..],
            };
            match becomes {
                None => {}
                Some(Step::Edited(_, entry)) => match own {
                    [block] if entries::is_result(block) => written.push(self.result(block, entry)),
                    _ => {
                        let new = blocks_with_words(own, &words(entry), has_more_than_words(entry));
                        written.extend(new.into_iter().map(String::into_bytes));
                    }
                },
                Some(_) => written.extend(own.iter().map(|block| self.slice(block.get()))),
            }
        }
        let mut bytes = vec![b'['];
        bytes.extend_from_slice(&written.join(&b","[..]));
        bytes.push(b']');
        Some((place, bytes))
    }

    fn slice(&self, part: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.source.copy(range_in(self.source.text(), part), &mut bytes);
        bytes
    }

    /// A `tool_result` block with other content.
    fn result(&self, block: &serde_json::value::RawValue, edited: &Entry) -> Vec<u8> {
        let range = range_in(self.source.text(), block.get());
        let old = Object::of(block).and_then(|block| block.get("content"));
        let new = with_words(old, &words(edited), has_more_than_words(edited));
        let mut bytes = Vec::new();
        match old {
            Some(old) => {
                let place = range_in(self.source.text(), old.get());
                self.source.copy(range.start..place.start, &mut bytes);
                bytes.extend_from_slice(new.as_bytes());
                self.source.copy(place.end..range.end, &mut bytes);
            }
            None => {
                // A tool result is an object with a type, so it begins with a brace and is not empty.
                bytes.extend_from_slice(format!("{{\"content\":{new},").as_bytes());
                self.source.copy(range.start + 1..range.end, &mut bytes);
            }
        }
        bytes
    }
}

const AHEAD: &str = "what is kept ahead of a summary comes after it: Claude Code does not look ahead of the boundary";

fn line_of(part: &SourcePart) -> usize {
    usize::try_from(part.record).unwrap_or(usize::MAX)
}

fn bounded(range: &Range<u32>, len: usize) -> Range<usize> {
    let start = usize::try_from(range.start).unwrap_or(len).min(len);
    start..usize::try_from(range.end).unwrap_or(len).clamp(start, len)
}

/// The fields that new lines take over from an old one, each with a comma ahead.
fn common(record: &Object<'_>) -> String {
    COMMON
        .iter()
        .filter_map(|name| record.get(name).map(|value| format!(r#","{name}":{}"#, on_one_line(value.get()))))
        .collect()
}
