use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::block::{read_shared, write_shared};
use super::{Block, ToolCall, ToolResult};

/// Stable name of an entry within its session.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(#[serde(serialize_with = "write_shared", deserialize_with = "read_shared")] Arc<str>);

impl EntryId {
    /// An id as the session spells it.
    pub fn new(id: impl AsRef<str>) -> Self {
        Self(Arc::from(id.as_ref()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// What an entry is to the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// System or developer instructions.
    System,
    /// Words of the person, or of the program that stands for them.
    User,
    /// Words, reasoning and tool calls of the model.
    Assistant,
    /// The answer to one tool call.
    ToolResult,
    /// Stands for older entries; written by a compaction.
    Summary,
    /// Stands for a branch that was left.
    BranchSummary,
    /// Injected by a plugin, the host or the agent program; stands for nothing and is no request of the user.
    Note,
}

/// Under which role a provider reads an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Instructions.
    System,
    /// The person, and everything that is told to the model.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

/// Which part of the file an entry was read from. Only the format that read it knows what the numbers mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePart {
    /// Index of the record (a line, or an element of the list of messages).
    pub record: u32,
    /// Content blocks of that record's message; `None` is the whole record.
    pub blocks: Option<Range<u32>>,
}

/// What is known of the compaction that wrote a summary.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Compaction {
    /// Id of the plugin that proposed it; empty if another program did.
    pub plugin: String,
    /// JSON that the plugin stored with it.
    pub details: Option<String>,
    /// Tokens of the entries before it, 0 if not known.
    pub tokens_before: u32,
    /// Tokens of the entries after it, 0 if not known.
    pub tokens_after: u32,
}

/// One step of a session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Stable name.
    pub id: EntryId,
    /// The entry before it on its branch; `None` at a root.
    pub parent: Option<EntryId>,
    /// What it is.
    pub kind: EntryKind,
    /// Under which role a provider reads it.
    pub role: Role,
    /// Its parts, in order.
    pub blocks: Vec<Block>,
    /// When it was written, if the session says so.
    pub at: Option<Timestamp>,
    /// Must survive every compaction verbatim.
    pub pinned: bool,
    /// Where it was read from; empty for an entry that the host made.
    pub source: Vec<SourcePart>,
    /// What it stands for: the covered entries of a summary, or the one entry whose text was replaced.
    pub replaces: Vec<Arc<Entry>>,
    /// For a summary: the compaction that wrote it.
    pub compaction: Option<Box<Compaction>>,
}

impl Entry {
    /// An entry with the role that its kind has by default, and nothing else set.
    pub fn new(id: impl AsRef<str>, kind: EntryKind, blocks: Vec<Block>) -> Self {
        Self {
            id: EntryId::new(id),
            parent: None,
            kind,
            role: match kind {
                EntryKind::System => Role::System,
                EntryKind::Assistant => Role::Assistant,
                EntryKind::ToolResult => Role::Tool,
                EntryKind::User | EntryKind::Summary | EntryKind::BranchSummary | EntryKind::Note => Role::User,
            },
            blocks,
            at: None,
            pinned: false,
            source: Vec::new(),
            replaces: Vec::new(),
            compaction: None,
        }
    }

    /// An entry with one block of text.
    pub fn text(id: impl AsRef<str>, kind: EntryKind, text: impl Into<String>) -> Self {
        Self::new(id, kind, vec![Block::Text(text.into())])
    }

    /// The calls of the entry, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The result that the entry holds, if it is one.
    pub fn tool_result(&self) -> Option<&ToolResult> {
        self.blocks.iter().find_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Puts a text in the place of the first one, words or result, and takes further ones out. Images stay.
    pub fn replace_text(&mut self, text: &str) {
        self.blocks = self.blocks_with(text);
    }

    /// The same entry with [another text](Self::replace_text). The text that goes is not copied.
    pub fn with_text(&self, text: &str) -> Self {
        Self {
            id: self.id.clone(),
            parent: self.parent.clone(),
            kind: self.kind,
            role: self.role,
            blocks: self.blocks_with(text),
            at: self.at,
            pinned: self.pinned,
            source: self.source.clone(),
            replaces: self.replaces.clone(),
            compaction: self.compaction.clone(),
        }
    }

    fn blocks_with(&self, text: &str) -> Vec<Block> {
        let mut new = Some(text.to_owned());
        let blocks = self.blocks.iter().filter_map(|block| match block {
            Block::ToolResult(result) => new.take().map(|text| {
                let (call_id, name) = (result.call_id.clone(), result.name.clone());
                Block::ToolResult(ToolResult { call_id, name, text, failed: result.failed })
            }),
            Block::Text(_) => new.take().map(Block::Text),
            other => Some(other.clone()),
        });
        blocks.collect()
    }

    /// The host replaced the text that the session recorded.
    pub fn is_edited(&self) -> bool {
        self.kind != EntryKind::Summary && !self.replaces.is_empty()
    }
}
