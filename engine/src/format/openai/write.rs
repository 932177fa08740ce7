//! Writes a list of messages after a compaction: one message a line, kept ones as they were.

use std::sync::Arc;

use super::Session;
use crate::format::changes::{Changes, Step, has_more_than_words, words};
use crate::format::content::with_words;
use crate::format::json::{Object, quote, range_in};
use crate::format::source::Source;
use crate::format::{Written, marker};
use crate::transcript::{Entry, Role};

pub(in crate::format) fn write(
    source: &Source,
    session: &Session,
    context: &[Arc<Entry>],
    changes: &Changes<'_>,
) -> Written {
    let mut remarks = Vec::new();
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut others = Others::new(session, context);
    for step in &changes.steps {
        if let Some(record) = step.at().and_then(|at| record_of(&context[at])) {
            others.before(record, source, &mut lines);
        }
        match *step {
            Step::Kept(at) => lines.extend(record_of(&context[at]).map(|record| element(source, session, record))),
            Step::Edited(at, entry) => {
                lines.extend(record_of(&context[at]).map(|record| edited(source, session, record, entry)));
            }
            Step::Summary(entry) => {
                if entry.compaction.as_ref().is_some_and(|compaction| compaction.details.is_some()) {
                    remarks
                        .push("the details of the summary are left out: a chat message has no place for them".into());
                }
                lines.push(message(Role::User, &marker::wrap(entry.kind, &words(entry))).into_bytes());
            }
            Step::Note(entry) => {
                lines.push(message(entry.role, &marker::wrap(entry.kind, &words(entry))).into_bytes());
            }
        }
    }
    others.before(session.elements.len(), source, &mut lines);
    Written { bytes: assemble(source, session, &lines), remarks }
}

fn assemble(source: &Source, session: &Session, lines: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(source.text().len());
    source.copy(0..session.list.start, &mut bytes);
    bytes.push(b'[');
    for (index, line) in lines.iter().enumerate() {
        bytes.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
        bytes.extend_from_slice(line);
    }
    bytes.extend_from_slice(if lines.is_empty() { b"]" } else { b"\n]" });
    source.copy(session.list.end..source.text().len(), &mut bytes);
    bytes
}

/// The elements that are no entries, to be written ahead of the entry that followed them.
struct Others<'a> {
    session: &'a Session,
    is_entry: Vec<bool>,
    next: usize,
}

impl<'a> Others<'a> {
    fn new(session: &'a Session, context: &[Arc<Entry>]) -> Self {
        let mut is_entry = vec![false; session.elements.len()];
        for record in context.iter().filter_map(|entry| record_of(entry)) {
            if let Some(mark) = is_entry.get_mut(record) {
                *mark = true;
            }
        }
        Self { session, is_entry, next: 0 }
    }

    fn before(&mut self, record: usize, source: &Source, lines: &mut Vec<Vec<u8>>) {
        while self.next < record.min(self.is_entry.len()) {
            if !self.is_entry[self.next] {
                lines.push(element(source, self.session, self.next));
            }
            self.next += 1;
        }
    }
}

fn record_of(entry: &Entry) -> Option<usize> {
    entry.source.first().and_then(|part| usize::try_from(part.record).ok())
}

fn element(source: &Source, session: &Session, record: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(range) = session.elements.get(record) {
        source.copy(range.clone(), &mut bytes);
    }
    bytes
}

/// The message with its content replaced and every other byte as it was.
fn edited(source: &Source, session: &Session, record: usize, entry: &Entry) -> Vec<u8> {
    let Some(range) = session.elements.get(record).cloned() else {
        return Vec::new();
    };
    let text = &source.text()[range.clone()];
    let message = Object::parse(text);
    let content = message.as_ref().and_then(|message| message.get("content"));
    let new = with_words(content, &words(entry), has_more_than_words(entry));
    let mut bytes = Vec::new();
    match content {
        Some(content) => {
            let place = range_in(source.text(), content.get());
            source.copy(range.start..place.start, &mut bytes);
            bytes.extend_from_slice(new.as_bytes());
            source.copy(place.end..range.end, &mut bytes);
        }
        None => {
            // Every element that is an entry is an object, so its first byte is the brace.
            let comma = if message.is_some_and(|message| message.fields().next().is_some()) { "," } else { "" };
            bytes.extend_from_slice(format!("{{\"content\":{new}{comma}").as_bytes());
            source.copy(range.start + 1..range.end, &mut bytes);
        }
    }
    bytes
}

/// A message that is nothing but text.
pub(in crate::format) fn message(role: Role, text: &str) -> String {
    let role = match role {
        Role::System => "system",
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    };
    format!(r#"{{"role":"{role}","content":{}}}"#, quote(text))
}
