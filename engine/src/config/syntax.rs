//! Errors of the TOML itself, and keys that are there twice.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::error::{Problem, ProblemKind};
use super::node::{Node, Value};
use super::source::Source;
use crate::slots::{ClaimError, Slot};

/// Errors of one file that are reported; after a hundred nobody reads on.
const MOST: usize = 100;

/// Lines that are taken out to get at the rest.
const ROUNDS: usize = 20;

/// A text that the parser reads to its end, with its errors. Where one breaks off, the parser leaves out what follows, so
/// that the rest of the file would go unchecked: the line of each error is blanked, and every other byte stays at its
/// place. Where that leads to nothing that can be read, one broken line was not what was wrong: then the errors are those
/// of the text as it is, and what the parser made of it has to do.
pub(super) fn mend(text: &str) -> (Cow<'_, str>, Vec<toml::de::Error>) {
    let (_, first) = DeTable::parse_recoverable(text);
    if first.iter().all(is_twice) {
        return (Cow::Borrowed(text), first);
    }
    let (mut mended, mut all) = (text.to_owned(), first.clone());
    let mut errors = first.clone();
    for _ in 0..ROUNDS {
        for error in errors.iter().filter(|error| !is_twice(error)) {
            blank(&mut mended, error.span().map_or(text.len(), |span| span.start));
        }
        errors = DeTable::parse_recoverable(&mended).1;
        all.retain(|error| !is_twice(error));
        all.extend(errors.iter().cloned());
        if errors.iter().all(is_twice) {
            return (Cow::Owned(mended), all);
        }
    }
    (Cow::Borrowed(text), first)
}

fn is_twice(error: &toml::de::Error) -> bool {
    error.message() == "duplicate key"
}

/// Puts spaces over the line that a byte is in, or over the last one.
fn blank(text: &mut String, at: usize) {
    let at = text.floor_char_boundary(at.min(text.len()));
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    text.replace_range(start..end, &" ".repeat(end - start));
}

pub(super) fn report(root: &Node, source: &Arc<Source>, errors: &[toml::de::Error], problems: &mut Vec<Problem>) {
    for error in errors.iter().take(MOST) {
        let end = source.text.len();
        let span = error.span().unwrap_or(end..end);
        if is_twice(error) {
            problems.push(twice(root, source, &span));
            continue;
        }
        let kind = ProblemKind::Syntax { reason: format!("this is no TOML: {}", error.message()) };
        problems.push(Problem::new(kind, source.place(&span, "")));
    }
}

/// A key is there twice. The parser keeps the first value and says only where the second is.
fn twice(root: &Node, source: &Arc<Source>, span: &Range<usize>) -> Problem {
    let name = source.text.get(span.clone()).unwrap_or("").trim_matches(['"', '\'']).to_owned();
    let Some(first) = before(root, &name, span.start) else {
        return Problem::new(ProblemKind::Twice { key: name }, source.place(span, ""));
    };
    let place = source.place(span, &first.key);
    let kind = held(first, source, span).unwrap_or_else(|| ProblemKind::Twice { key: first.key.to_string() });
    Problem::new(kind, place).and(first.name_place(), "it is there first")
}

/// The last node of this name that begins before a place.
fn before<'a>(node: &'a Node, name: &str, start: usize) -> Option<&'a Node> {
    let table = node.table()?;
    let own = table.get(name).filter(|node| node.name_start() < start);
    let deeper = table.values().filter_map(|node| before(node, name, start));
    own.into_iter().chain(deeper).max_by_key(|node| node.name_start())
}

/// Two claims on a slot: said as such, as the one to leave out is the reader's choice.
fn held(first: &Node, source: &Arc<Source>, span: &Range<usize>) -> Option<ProblemKind> {
    let slot = Slot::ALL.into_iter().find(|slot| *first.key == *format!("slots.{slot}"))?;
    if !matches!(slot, Slot::Ingest | Slot::Compress | Slot::Branch) {
        return None;
    }
    let owner = name_of(first)?;
    let line = DeTable::parse(source.line_text(span.start)).ok()?;
    let claimant = match line.get_ref().get(slot.name())?.get_ref() {
        DeValue::String(name) => name.to_string(),
        DeValue::Array(names) => names.first()?.get_ref().as_str()?.to_owned(),
        _ => return None,
    };
    if claimant == owner {
        return None;
    }
    let claimant_origin = Box::new(source.origin(span.start, &first.key));
    let owner_origin = Box::new(first.origin());
    Some(ProblemKind::Claim(ClaimError::Held { slot, owner, owner_origin, claimant, claimant_origin }))
}

fn name_of(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text(name) => Some(name.clone()),
        Value::List(names) => names.first()?.text().map(str::to_owned),
        _ => None,
    }
}
