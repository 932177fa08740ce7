//! The engine's view as the SDK's: runs a strategy natively, in the test's own process, on the very view that the
//! host would lend to its component. For comparing the two.

use contextengine::hooks;
use contextengine::transcript::{Block, EntryKind};
use contextengine::view::{EntryInfo, View};
use contextengine_sdk as sdk;

/// Lends an engine's view to a strategy in the same process.
#[derive(Debug, Clone)]
pub struct NativeView(pub View);

impl NativeView {
    fn positions(&self, range: sdk::Span) -> std::ops::Range<u32> {
        let end = range.end.min(self.0.len());
        range.start.min(end)..end
    }
}

impl sdk::View for NativeView {
    fn len(&self) -> u32 {
        self.0.len()
    }

    fn entries(&self, range: sdk::Span) -> Vec<sdk::EntryInfo> {
        self.positions(range).filter_map(|at| self.0.infos().get(at as usize)).map(entry_info).collect()
    }

    fn tools(&self) -> Vec<String> {
        self.0.tools().to_vec()
    }

    fn text(&self, at: u32, limit: Option<u32>) -> String {
        self.0.text(at, limit).into_owned()
    }

    fn text_range(&self, at: u32, start: u32, end: u32) -> String {
        self.0.text_range(at, start, end).into_owned()
    }

    fn texts(&self, range: sdk::Span, limit: Option<u32>) -> sdk::Texts {
        let mut texts = sdk::Texts { joined: String::new(), ends: Vec::new() };
        for at in self.positions(range) {
            texts.joined.push_str(&self.0.text(at, limit));
            texts.ends.push(u32::try_from(texts.joined.len()).unwrap_or(u32::MAX));
        }
        texts
    }

    fn blocks(&self, at: u32) -> Vec<sdk::Block> {
        self.0.blocks(at).iter().filter_map(block).collect()
    }

    fn original(&self, at: u32, limit: Option<u32>) -> Option<String> {
        self.0.original(at, limit)
    }

    fn last_compaction(&self) -> Option<sdk::CompactionRecord> {
        self.0.last_compaction().map(|last| sdk::CompactionRecord {
            at: last.at,
            plugin: last.compaction.plugin,
            summary: last.summary,
            details: last.compaction.details,
            tokens_before: last.compaction.tokens_before,
            tokens_after: last.compaction.tokens_after,
        })
    }

    fn attribute(&self, at: u32, key: &str) -> Option<String> {
        self.0.attribute(at, key)
    }
}

/// What the host knows of an entry, as a plugin sees it.
pub fn entry_info(info: &EntryInfo) -> sdk::EntryInfo {
    sdk::EntryInfo {
        kind: match info.kind {
            EntryKind::System => sdk::EntryKind::System,
            EntryKind::User => sdk::EntryKind::User,
            EntryKind::Assistant => sdk::EntryKind::Assistant,
            EntryKind::ToolResult => sdk::EntryKind::ToolResult,
            EntryKind::Summary => sdk::EntryKind::Summary,
            EntryKind::BranchSummary => sdk::EntryKind::BranchSummary,
            EntryKind::Note => sdk::EntryKind::Note,
        },
        group: info.group,
        turn: info.turn,
        tokens: info.tokens,
        bytes: info.bytes,
        marks: marks(info),
        tool: info.tool,
        at: info.at.map(|at| at.0 as f64),
    }
}

fn marks(info: &EntryInfo) -> sdk::Marks {
    let marks = [
        (info.marks.pinned, sdk::Marks::PINNED),
        (info.marks.failed, sdk::Marks::FAILED),
        (info.marks.in_flight, sdk::Marks::IN_FLIGHT),
        (info.marks.current_turn, sdk::Marks::CURRENT_TURN),
        (info.marks.has_image, sdk::Marks::HAS_IMAGE),
        (info.marks.has_reasoning, sdk::Marks::HAS_REASONING),
        (info.marks.reduced, sdk::Marks::REDUCED),
    ];
    marks.into_iter().filter(|(set, _)| *set).fold(sdk::Marks::empty(), |all, (_, mark)| all | mark)
}

fn block(block: &Block) -> Option<sdk::Block> {
    Some(match block {
        Block::Text(text) => sdk::Block::Text(text.clone()),
        Block::Reasoning(reasoning) => sdk::Block::Reasoning(reasoning.text.clone()),
        Block::ToolCall(call) => sdk::Block::ToolCall(sdk::ToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        }),
        Block::ToolResult(result) => sdk::Block::ToolResult(sdk::ToolResult {
            call_id: result.call_id.clone(),
            name: result.name.clone(),
            text: result.text.clone(),
            failed: result.failed,
        }),
        _ => return None,
    })
}

/// A request to compress, as a plugin sees it.
pub fn compress_request(pressure: &hooks::Pressure, target: u32) -> sdk::CompressRequest {
    sdk::CompressRequest {
        pressure: sdk::Pressure {
            trigger: sdk::Trigger::Manual,
            window: pressure.window,
            reserve: pressure.reserve,
            overhead: pressure.overhead,
            budget: pressure.budget(),
            entries: pressure.entries,
            measured: pressure.measured,
            cache: None,
            now: pressure.now.0 as f64,
            extras: Vec::new(),
        },
        target,
        focus: None,
        memory: Vec::new(),
        corrections: Vec::new(),
        extras: Vec::new(),
    }
}
