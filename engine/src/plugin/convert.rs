//! Between the types of the ABI and the host's own. Nothing is checked here: a plan can still be anything.

use std::time::Duration;

use super::bindings::contextengine::plugin::types as abi;
use super::bindings::exports::contextengine::plugin::{
    branch_summarizer, compressor, observer, plugin, reducer, selector, toolbox,
};
use crate::hooks::{
    BranchRequest, CacheState, CompactionNotice, CompressRequest, Decision, Description, Failure, Outcome, Pressure,
    ReduceRequest, Reduction, SelectRequest, Service, Tool, Trigger, TurnEnd, Urgency, Verdict,
};
use crate::plan::{Dropped, Note, Plan, Rewrite, Segment, Span, Summary};
use crate::transcript::{Block, EntryKind, Image, Role, Timestamp, ToolResult};
use crate::view::{EntryInfo, LastCompaction, Marks};

// From the host to a plugin.

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are exact in a float for 285,000 years")]
fn timestamp(at: Timestamp) -> f64 {
    at.0 as f64
}

pub(super) fn entry_info(info: &EntryInfo) -> abi::EntryInfo {
    abi::EntryInfo {
        kind: match info.kind {
            EntryKind::System => abi::EntryKind::System,
            EntryKind::User => abi::EntryKind::User,
            EntryKind::Assistant => abi::EntryKind::Assistant,
            EntryKind::ToolResult => abi::EntryKind::ToolResult,
            EntryKind::Summary => abi::EntryKind::Summary,
            EntryKind::BranchSummary => abi::EntryKind::BranchSummary,
            EntryKind::Note => abi::EntryKind::Note,
        },
        group: info.group,
        turn: info.turn,
        tokens: info.tokens,
        bytes: info.bytes,
        marks: marks(info.marks),
        tool: info.tool,
        at: info.at.map(timestamp),
    }
}

fn marks(marks: Marks) -> abi::Marks {
    [
        (marks.pinned, abi::Marks::PINNED),
        (marks.failed, abi::Marks::FAILED),
        (marks.in_flight, abi::Marks::IN_FLIGHT),
        (marks.current_turn, abi::Marks::CURRENT_TURN),
        (marks.has_image, abi::Marks::HAS_IMAGE),
        (marks.has_reasoning, abi::Marks::HAS_REASONING),
        (marks.reduced, abi::Marks::REDUCED),
    ]
    .into_iter()
    .filter(|(set, _)| *set)
    .fold(abi::Marks::empty(), |all, (_, mark)| all | mark)
}

pub(super) fn block(block: &Block) -> abi::Block {
    match block {
        Block::Text(text) => abi::Block::Text(text.clone()),
        Block::Reasoning(reasoning) => abi::Block::Reasoning(reasoning.text.clone()),
        Block::ToolCall(call) => abi::Block::ToolCall(abi::ToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        }),
        Block::ToolResult(result) => abi::Block::ToolResult(tool_result(result)),
        Block::Image(image) => {
            abi::Block::Image(abi::Image { media_type: image.media_type.clone(), tokens: Image::TOKENS })
        }
        Block::Opaque(opaque) => abi::Block::Opaque(opaque.type_name.clone()),
    }
}

fn tool_result(result: &ToolResult) -> abi::ToolResult {
    abi::ToolResult {
        call_id: result.call_id.clone(),
        name: result.name.clone(),
        text: result.text.clone(),
        failed: result.failed,
    }
}

pub(super) fn last_compaction(last: LastCompaction) -> abi::CompactionRecord {
    abi::CompactionRecord {
        at: last.at,
        plugin: last.compaction.plugin,
        summary: last.summary,
        details: last.compaction.details,
        tokens_before: last.compaction.tokens_before,
        tokens_after: last.compaction.tokens_after,
    }
}

pub(super) fn trigger(trigger: Trigger) -> abi::Trigger {
    match trigger {
        Trigger::PreTurn => abi::Trigger::PreTurn,
        Trigger::MidTurn => abi::Trigger::MidTurn,
        Trigger::PostTurn => abi::Trigger::PostTurn,
        Trigger::Overflow => abi::Trigger::Overflow,
        Trigger::Timeout => abi::Trigger::Timeout,
        Trigger::Manual => abi::Trigger::Manual,
        Trigger::ModelSwitch => abi::Trigger::ModelSwitch,
        Trigger::Idle => abi::Trigger::Idle,
    }
}

pub(super) fn pressure(pressure: &Pressure) -> abi::Pressure {
    abi::Pressure {
        trigger: trigger(pressure.trigger),
        window: pressure.window,
        reserve: pressure.reserve,
        overhead: pressure.overhead,
        budget: pressure.budget(),
        entries: pressure.entries,
        measured: pressure.measured,
        cache: pressure.cache.map(cache_state),
        now: timestamp(pressure.now),
        extras: pressure.extras.clone(),
    }
}

fn cache_state(cache: CacheState) -> abi::CacheState {
    abi::CacheState {
        cached_tokens: cache.cached_tokens,
        expires_at: cache.expires_at.map(timestamp),
        read_price: cache.read_price,
        write_price: cache.write_price,
        output_price: cache.output_price,
    }
}

pub(super) fn compress_request(request: &CompressRequest) -> compressor::Request {
    compressor::Request {
        pressure: pressure(&request.pressure),
        target: request.target,
        focus: request.focus.clone(),
        memory: request.memory.clone(),
        corrections: request.corrections.clone(),
        extras: request.extras.clone(),
    }
}

pub(super) fn select_request(request: &SelectRequest) -> selector::Request {
    selector::Request { pressure: pressure(&request.pressure), incoming: request.incoming.clone() }
}

pub(super) fn reduce_request(request: &ReduceRequest) -> reducer::Request {
    reducer::Request { tool_result: tool_result(&request.result), tokens: request.tokens, window: request.window }
}

pub(super) fn branch_request(request: &BranchRequest) -> branch_summarizer::Request {
    branch_summarizer::Request { budget: request.budget, focus: request.focus.clone() }
}

pub(super) fn turn(turn: TurnEnd) -> observer::Turn {
    observer::Turn {
        index: turn.index,
        usage: turn.usage.map(|usage| observer::Usage {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
        }),
        interrupted: turn.interrupted,
        at: timestamp(turn.at),
    }
}

pub(super) fn compaction_notice(notice: &CompactionNotice) -> observer::Compaction {
    observer::Compaction {
        owner: notice.owner.clone(),
        trigger: trigger(notice.trigger),
        tokens_before: notice.tokens_before,
        tokens_after: notice.tokens_after,
        summary: notice.summary.clone(),
    }
}

// From a plugin to the host.

pub(super) fn reduction(reduction: reducer::Reduction) -> Reduction {
    match reduction {
        reducer::Reduction::Keep => Reduction::Keep,
        reducer::Reduction::Replace(text) => Reduction::Replace(text),
    }
}

pub(super) fn tool(tool: toolbox::Tool) -> Tool {
    Tool { name: tool.name, description: tool.description, parameters: tool.parameters }
}

pub(super) fn description(description: plugin::Description) -> Description {
    Description {
        id: description.id,
        version: description.version,
        summary: description.summary,
        config_schema: description.config_schema,
        needs: description
            .needs
            .into_iter()
            .map(|service| match service {
                plugin::Service::Model => Service::Model,
                plugin::Service::Recall => Service::Recall,
                plugin::Service::Files => Service::Files,
            })
            .collect(),
        extras: description.extras,
    }
}

pub(super) fn decision(decision: compressor::Decision) -> Decision {
    Decision {
        verdict: match decision.verdict {
            compressor::Verdict::Wait => Verdict::Wait,
            compressor::Verdict::Compress(abi::Urgency::Soft) => Verdict::Compress(Urgency::Soft),
            compressor::Verdict::Compress(abi::Urgency::Hard) => Verdict::Compress(Urgency::Hard),
        },
        reason: decision.reason,
    }
}

pub(super) fn outcome(outcome: compressor::Outcome) -> Outcome {
    match outcome {
        compressor::Outcome::Unchanged(reason) => Outcome::Unchanged(reason),
        compressor::Outcome::Compressed(plan) => Outcome::Compressed(self::plan(plan)),
    }
}

pub(super) fn plan(plan: abi::Plan) -> Plan {
    Plan { segments: plan.segments.into_iter().map(segment).collect() }
}

fn span(span: abi::Span) -> Span {
    Span::new(span.start, span.end)
}

pub(super) fn summary(summary: abi::Summary) -> Summary {
    Summary { covers: summary.covers.into_iter().map(span).collect(), text: summary.text, details: summary.details }
}

fn segment(segment: abi::Segment) -> Segment {
    match segment {
        abi::Segment::Keep(range) => Segment::Keep(span(range)),
        abi::Segment::Rewrite(rewrite) => {
            Segment::Rewrite(Rewrite { at: rewrite.at, text: rewrite.text, reason: rewrite.reason })
        }
        abi::Segment::Summary(summary) => Segment::Summary(self::summary(summary)),
        abi::Segment::Note(note) => Segment::Note(Note {
            role: match note.role {
                abi::NoteRole::System => Role::System,
                abi::NoteRole::User => Role::User,
                abi::NoteRole::Assistant => Role::Assistant,
            },
            text: note.text,
            source: note.source,
        }),
        abi::Segment::Drop(dropped) => Segment::Drop(Dropped { range: span(dropped.range), reason: dropped.reason }),
    }
}

pub(super) fn failure(failure: abi::Failure) -> Failure {
    match failure {
        abi::Failure::Declined(reason) => Failure::Declined(reason),
        abi::Failure::Unavailable(unavailable) => Failure::Unavailable {
            reason: unavailable.reason,
            retry_after: unavailable.retry_after_ms.map(|millis| Duration::from_millis(u64::from(millis))),
        },
        abi::Failure::Failed(reason) => Failure::Failed(reason),
    }
}
