//! Values with the places they come from, and how a later layer goes before an earlier one.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Problem, ProblemKind};
use super::source::{Layer, Place, Source};
use crate::slots::Origin;

pub(super) type Table = BTreeMap<String, Node>;

/// A value as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    /// A date or a time, which no key takes; a plugin gets it as text.
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

impl Value {
    /// What it is, with its article, for messages.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Value::Bool(true) => "true",
            Value::Bool(false) => "false",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number with a point",
            Value::Text(_) => "a text",
            Value::Date(_) => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// A value, where it was written, and what it goes before.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) value: Value,
    /// With the keys it lies in: `plugins.x.limits.time`.
    pub(super) key: Arc<str>,
    source: Arc<Source>,
    /// The name, in bytes of the source.
    name_span: Range<usize>,
    /// The value.
    span: Range<usize>,
    /// Values of earlier layers that this one goes before, the nearest first.
    pub(super) older: Vec<Node>,
}

/// Places are no part of what a value is.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Node {
    /// Reads a text. What cannot be read is reported and left out.
    pub(super) fn read(source: &Arc<Source>, problems: &mut Vec<Problem>) -> Node {
        let (mended, errors) = super::syntax::mend(&source.text);
        let (document, _) = DeTable::parse_recoverable(&mended);
        let mut reader = Reader { source, problems };
        let value = Value::Table(reader.table(document.get_ref(), ""));
        let root = Node {
            value,
            key: Arc::from(""),
            source: Arc::clone(source),
            name_span: 0..0,
            span: 0..0,
            older: Vec::new(),
        };
        super::syntax::report(&root, source, &errors, problems);
        root
    }

    pub(super) fn layer(&self) -> Layer {
        self.source.layer
    }

    pub(super) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The place of the value.
    pub(super) fn place(&self) -> Place {
        self.source.place(&self.span, &self.key)
    }

    /// The place of its name.
    pub(super) fn name_place(&self) -> Place {
        self.source.place(&self.name_span, &self.key)
    }

    /// Where its name begins, in bytes of its source.
    pub(super) fn name_start(&self) -> usize {
        self.name_span.start
    }

    pub(super) fn origin(&self) -> Origin {
        self.source.origin(self.name_span.start, &self.key)
    }

    pub(super) fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A list's items, or the value itself where one stands for a list of one.
    pub(super) fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => std::slice::from_ref(self),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.table()?.get(name)
    }

    /// What lies at these names, one in the other.
    pub(super) fn at(&self, names: &[&str]) -> Option<&Node> {
        names.iter().try_fold(self, |node, name| node.get(name))
    }

    /// The same with the places left out.
    pub(super) fn json(&self) -> Json {
        match &self.value {
            Value::Bool(value) => Json::from(*value),
            Value::Integer(value) => Json::from(*value),
            Value::Float(value) => Json::from(*value),
            Value::Text(value) | Value::Date(value) => Json::from(value.as_str()),
            Value::List(items) => items.iter().map(Node::json).collect(),
            Value::Table(table) => Json::Object(table.iter().map(|(name, node)| (name.clone(), node.json())).collect()),
        }
    }

    /// Puts a later layer before this one: tables are merged key by key, anything else replaces what was there.
    /// `apart` says which names of a table, by its key, exclude each other: where the later layer has one, the others
    /// of the earlier layer are gone.
    pub(super) fn overlay(&mut self, later: Node, apart: &dyn Fn(&str) -> &'static [&'static str]) {
        let later = match (&mut self.value, later) {
            (Value::Table(mine), Node { value: Value::Table(theirs), key, source, name_span, span, .. }) => {
                let apart_here = apart(&key);
                for (name, mut node) in theirs {
                    if apart_here.contains(&name.as_str()) {
                        for other in apart_here.iter().filter(|other| **other != name) {
                            if let Some(gone) = mine.remove(*other) {
                                node.supersede(gone);
                            }
                        }
                    }
                    match mine.get_mut(&name) {
                        Some(known) => known.overlay(node, apart),
                        None => {
                            mine.insert(name, node);
                        }
                    }
                }
                (self.key, self.source, self.name_span, self.span) = (key, source, name_span, span);
                return;
            }
            (_, later) => later,
        };
        let mut later = later;
        let older =
            std::mem::replace(self, Node { value: Value::Bool(false), older: Vec::new(), ..later.clone_place() });
        later.supersede(older);
        *self = later;
    }

    /// Remembers what it goes before.
    fn supersede(&mut self, mut older: Node) {
        let oldest = std::mem::take(&mut older.older);
        self.older.push(older);
        self.older.extend(oldest);
    }

    fn clone_place(&self) -> Node {
        Node {
            value: Value::Bool(false),
            key: Arc::clone(&self.key),
            source: Arc::clone(&self.source),
            name_span: self.name_span.clone(),
            span: self.span.clone(),
            older: Vec::new(),
        }
    }
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>, above: &str) -> Table {
        let mut read = Table::new();
        for (name, value) in table {
            let key = join(above, name.get_ref());
            if let Some(node) = self.node(value, key, name.span()) {
                read.insert(name.get_ref().clone().into_owned(), node);
            }
        }
        read
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>, key: String, name_span: Range<usize>) -> Option<Node> {
        let wrong = |reader: &mut Self, reason: &str| {
            let place = reader.source.place(&value.span(), &key);
            reader.problems.push(Problem::new(ProblemKind::NoSuchNumber { reason: reason.to_owned() }, place));
            None
        };
        let read = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.clone().into_owned()),
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(integer) => Value::Integer(integer),
                Err(_) => return wrong(self, "it has more than 64 bits"),
            },
            DeValue::Float(float) => match float.as_str().parse::<f64>() {
                Ok(float) if float.is_finite() => Value::Float(float),
                _ => return wrong(self, "it must be a finite one"),
            },
            DeValue::Array(items) => {
                let items = items.iter().enumerate();
                Value::List(
                    items.filter_map(|(at, item)| self.node(item, format!("{key}[{at}]"), item.span())).collect(),
                )
            }
            DeValue::Table(table) => Value::Table(self.table(table, &key)),
        };
        let source = Arc::clone(self.source);
        Some(Node { value: read, key: Arc::from(key), source, name_span, span: value.span(), older: Vec::new() })
    }
}

/// A key with those it lies in; quoted where it would not be one otherwise.
pub(super) fn join(above: &str, name: &str) -> String {
    let name = quoted(name);
    if above.is_empty() { name } else { format!("{above}.{name}") }
}

/// A name as it is written in TOML.
pub(super) fn quoted(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if bare { name.to_owned() } else { text(name) }
}

/// A text as TOML writes it: as JSON does, which escapes what TOML wants escaped but for one character.
pub(super) fn text(text: &str) -> String {
    Json::from(text).to_string().replace('\u{7f}', "\\u007f")
}
