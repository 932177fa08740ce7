//! The view.

use std::fmt;
use std::rc::Rc;

use super::{limited, quarter_of_bytes};
use crate::types::{
    Block, CompactionRecord, EntryInfo, EntryKind, Image, Marks, Position, Span, Texts, Timestamp, ToolCall, ToolResult,
};
use crate::view::View;

/// One entry as it was built.
#[derive(Debug, Clone)]
struct Item {
    kind: EntryKind,
    blocks: Vec<Block>,
    group: u32,
    turn: u32,
    marks: Marks,
    tokens: Option<u32>,
    at: Option<Timestamp>,
    original: Option<String>,
    attributes: Vec<(String, String)>,
}

/// A [`View`] that is built entry by entry.
///
/// Methods named after a kind add an entry; [`call`](Self::call), [`reasoning`](Self::reasoning),
/// [`image`](Self::image) add to the newest assistant entry where it is the newest entry; the others change the newest
/// entry, and do nothing if there is none.
#[derive(Clone)]
pub struct MemoryView {
    items: Vec<Item>,
    tools: Vec<String>,
    last_compaction: Option<CompactionRecord>,
    users: u32,
    groups: u32,
    count: Rc<dyn Fn(&str) -> u32>,
}

impl Default for MemoryView {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            tools: Vec::new(),
            last_compaction: None,
            users: 0,
            groups: 0,
            count: Rc::new(quarter_of_bytes),
        }
    }
}

impl fmt::Debug for MemoryView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryView").field("items", &self.items).finish_non_exhaustive()
    }
}

impl MemoryView {
    /// An empty view. Tokens: a quarter of the bytes, rounded up.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts tokens with this function instead.
    #[must_use]
    pub fn count_with(mut self, count: impl Fn(&str) -> u32 + 'static) -> Self {
        self.count = Rc::new(count);
        self
    }

    /// System or developer instructions.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        self.words(EntryKind::System, text)
    }

    /// Words of the person; begins a turn.
    #[must_use]
    pub fn user(mut self, text: impl Into<String>) -> Self {
        self.users += 1;
        self.words(EntryKind::User, text)
    }

    /// Words of the model.
    #[must_use]
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.words(EntryKind::Assistant, text)
    }

    /// Stands for older entries.
    #[must_use]
    pub fn summary(self, text: impl Into<String>) -> Self {
        self.words(EntryKind::Summary, text)
    }

    /// Stands for a branch that was left.
    #[must_use]
    pub fn branch_summary(self, text: impl Into<String>) -> Self {
        self.words(EntryKind::BranchSummary, text)
    }

    /// Injected by a plugin or the host.
    #[must_use]
    pub fn note(self, text: impl Into<String>) -> Self {
        self.words(EntryKind::Note, text)
    }

    /// A tool call; in flight until its result is added.
    #[must_use]
    pub fn call(mut self, id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        let call = ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() };
        self.tool_index(&call.name);
        let entry = self.open_assistant();
        entry.blocks.push(Block::ToolCall(call));
        entry.marks |= Marks::IN_FLIGHT;
        self
    }

    /// The answer to the newest call with this id; in its group, and with its tool's name.
    #[must_use]
    pub fn result(self, id: impl Into<String>, text: impl Into<String>) -> Self {
        self.answer(id.into(), text.into(), false)
    }

    /// An answer that reports an error.
    #[must_use]
    pub fn failed_result(self, id: impl Into<String>, text: impl Into<String>) -> Self {
        self.answer(id.into(), text.into(), true)
    }

    /// Reasoning of the model; `view.text` leaves it out, the tokens count it.
    #[must_use]
    pub fn reasoning(mut self, text: impl Into<String>) -> Self {
        let entry = self.open_assistant();
        entry.blocks.push(Block::Reasoning(text.into()));
        entry.marks |= Marks::HAS_REASONING;
        self
    }

    /// An image in the newest entry, whatever its kind.
    #[must_use]
    pub fn image(self, media_type: impl Into<String>, tokens: u32) -> Self {
        let image = Image { media_type: media_type.into(), tokens };
        self.change(|entry| {
            entry.blocks.push(Block::Image(image));
            entry.marks |= Marks::HAS_IMAGE;
        })
    }

    /// Must survive verbatim.
    #[must_use]
    pub fn pinned(self) -> Self {
        self.marked(Marks::PINNED)
    }

    /// Adds marks.
    #[must_use]
    pub fn marked(self, marks: Marks) -> Self {
        self.change(|entry| entry.marks |= marks)
    }

    /// Tokens of the entry, whatever its text.
    #[must_use]
    pub fn tokens(self, tokens: u32) -> Self {
        self.change(|entry| entry.tokens = Some(tokens))
    }

    /// Puts the entry into the group of an earlier position, so that groups can be non-contiguous.
    #[must_use]
    pub fn grouped_with(self, at: Position) -> Self {
        let group = self.items.get(at as usize).map(|entry| entry.group);
        self.change(|entry| entry.group = group.unwrap_or(entry.group))
    }

    /// When it was written.
    #[must_use]
    pub fn written(self, at: Timestamp) -> Self {
        self.change(|entry| entry.at = Some(at))
    }

    /// Marks the entry as reduced; this was its full text.
    #[must_use]
    pub fn reduced_from(self, original: impl Into<String>) -> Self {
        let original = original.into();
        self.change(|entry| {
            entry.marks |= Marks::REDUCED;
            entry.original = Some(original);
        })
    }

    /// A further fact.
    #[must_use]
    pub fn attributed(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        let fact = (key.into(), value.into());
        self.change(|entry| entry.attributes.push(fact))
    }

    /// The newest turn is being worked on: marks its entries so.
    #[must_use]
    pub fn working(mut self) -> Self {
        let current = self.turn();
        for entry in self.items.iter_mut().filter(|entry| entry.turn == current) {
            entry.marks |= Marks::CURRENT_TURN;
        }
        self
    }

    /// What the last compaction recorded.
    #[must_use]
    pub fn compacted(mut self, record: CompactionRecord) -> Self {
        self.last_compaction = Some(record);
        self
    }

    fn turn(&self) -> u32 {
        self.users.saturating_sub(1)
    }

    fn words(mut self, kind: EntryKind, text: impl Into<String>) -> Self {
        self.add(kind, vec![Block::Text(text.into())]);
        self
    }

    fn add(&mut self, kind: EntryKind, blocks: Vec<Block>) -> &mut Item {
        let item = Item {
            kind,
            blocks,
            group: self.groups,
            turn: self.turn(),
            marks: Marks::empty(),
            tokens: None,
            at: None,
            original: None,
            attributes: Vec::new(),
        };
        self.groups += 1;
        self.items.push(item);
        let newest = self.items.len() - 1;
        &mut self.items[newest]
    }

    /// The newest entry if the model wrote it, else a new one.
    fn open_assistant(&mut self) -> &mut Item {
        match self.items.last() {
            Some(entry) if entry.kind == EntryKind::Assistant => {
                let newest = self.items.len() - 1;
                &mut self.items[newest]
            }
            _ => self.add(EntryKind::Assistant, Vec::new()),
        }
    }

    fn change(mut self, change: impl FnOnce(&mut Item)) -> Self {
        if let Some(entry) = self.items.last_mut() {
            change(entry);
        }
        self
    }

    fn answer(mut self, call_id: String, text: String, failed: bool) -> Self {
        let asked = self
            .items
            .iter()
            .rposition(|entry| calls(entry).any(|call| call.id == call_id))
            .map(|at| (at, self.items[at].group));
        let name = asked
            .and_then(|(at, _)| calls(&self.items[at]).find(|call| call.id == call_id))
            .map_or_else(String::new, |call| call.name.clone());
        let result = Block::ToolResult(ToolResult { call_id, name, text, failed });
        let entry = self.add(EntryKind::ToolResult, vec![result]);
        if failed {
            entry.marks |= Marks::FAILED;
        }
        if let Some((at, group)) = asked {
            entry.group = group;
            self.settle(at);
        }
        self
    }

    /// Takes the in-flight mark from the entry at `asked` once all of its calls are answered.
    fn settle(&mut self, asked: usize) {
        let group = self.items[asked].group;
        let answered = self.items[asked..]
            .iter()
            .filter(|entry| entry.kind == EntryKind::ToolResult && entry.group == group)
            .count();
        if answered >= calls(&self.items[asked]).count() {
            self.items[asked].marks -= Marks::IN_FLIGHT;
        }
    }

    fn tool_index(&mut self, name: &str) -> u32 {
        let index = self.tools.iter().position(|tool| tool == name).unwrap_or_else(|| {
            self.tools.push(name.to_owned());
            self.tools.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    fn range(&self, span: Span) -> &[Item] {
        let end = (span.end as usize).min(self.items.len());
        self.items.get(span.start as usize..end).unwrap_or(&[])
    }

    fn info(&self, entry: &Item) -> EntryInfo {
        let text = plain(entry);
        EntryInfo {
            kind: entry.kind,
            group: entry.group,
            turn: entry.turn,
            tokens: entry.tokens.unwrap_or_else(|| self.counted(entry, &text)),
            bytes: u32::try_from(text.len()).unwrap_or(u32::MAX),
            marks: entry.marks,
            tool: self.tool_of(entry),
            at: entry.at,
        }
    }

    fn counted(&self, entry: &Item, text: &str) -> u32 {
        let unseen = entry.blocks.iter().map(|block| match block {
            Block::Reasoning(reasoning) => (self.count)(reasoning),
            Block::Image(image) => image.tokens,
            _ => 0,
        });
        unseen.fold((self.count)(text), u32::saturating_add)
    }

    fn tool_of(&self, entry: &Item) -> Option<u32> {
        let mut names = entry.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(&call.name),
            Block::ToolResult(result) => Some(&result.name),
            _ => None,
        });
        let name = names.next().filter(|_| names.next().is_none())?;
        let index = self.tools.iter().position(|tool| tool == name)?;
        u32::try_from(index).ok()
    }
}

fn calls(entry: &Item) -> impl Iterator<Item = &ToolCall> {
    entry.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        _ => None,
    })
}

/// Words and results as they are, a call as its name and arguments, one block a line.
fn plain(entry: &Item) -> String {
    let lines = entry.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.clone()),
        Block::ToolCall(call) => Some(format!("{}({})", call.name, call.arguments)),
        Block::ToolResult(result) => Some(result.text.clone()),
        Block::Reasoning(_) | Block::Image(_) | Block::Opaque(_) => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl View for MemoryView {
    fn len(&self) -> u32 {
        u32::try_from(self.items.len()).unwrap_or(u32::MAX)
    }

    fn entries(&self, range: Span) -> Vec<EntryInfo> {
        self.range(range).iter().map(|entry| self.info(entry)).collect()
    }

    fn tools(&self) -> Vec<String> {
        self.tools.clone()
    }

    fn text(&self, at: Position, limit: Option<u32>) -> String {
        let text = self.items.get(at as usize).map(plain).unwrap_or_default();
        limited(&text, limit).to_owned()
    }

    fn text_range(&self, at: Position, start: u32, end: u32) -> String {
        let text = self.text(at, None);
        let mut start = (start as usize).min(text.len());
        while !text.is_char_boundary(start) {
            start += 1;
        }
        let end = crate::budget::head_bytes(&text, end as usize).len();
        text.get(start..end).unwrap_or("").to_owned()
    }

    fn texts(&self, range: Span, limit: Option<u32>) -> Texts {
        let mut texts = Texts { joined: String::new(), ends: Vec::new() };
        for entry in self.range(range) {
            texts.joined.push_str(limited(&plain(entry), limit));
            texts.ends.push(u32::try_from(texts.joined.len()).unwrap_or(u32::MAX));
        }
        texts
    }

    fn blocks(&self, at: Position) -> Vec<Block> {
        self.items.get(at as usize).map(|entry| entry.blocks.clone()).unwrap_or_default()
    }

    fn original(&self, at: Position, limit: Option<u32>) -> Option<String> {
        let original = self.items.get(at as usize)?.original.as_deref()?;
        Some(limited(original, limit).to_owned())
    }

    fn last_compaction(&self) -> Option<CompactionRecord> {
        self.last_compaction.clone()
    }

    fn attribute(&self, at: Position, key: &str) -> Option<String> {
        let facts = &self.items.get(at as usize)?.attributes;
        facts.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
    }
}
