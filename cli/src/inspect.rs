//! `ctxe inspect`: what fills the window.

use std::collections::BTreeMap;

use contextengine::tokens::{EntryCounter, TiktokenCounter};
use contextengine::transcript::EntryKind;
use contextengine::view::{View, ViewOptions};

use crate::args::InspectArgs;
use crate::count::count;
use crate::failure::Failure;
use crate::harmless;
use crate::input;
use crate::output::{self, To};
use crate::report::{ContextReport, Fill, InspectReport, Largest, REPORT_VERSION, ToolUse, json};

/// Bytes of an entry's beginning that are shown.
const BEGINNING: u32 = 60;

pub(crate) fn run(args: &InspectArgs) -> Result<(), Failure> {
    let (session, progress) = input::read(&args.file.file, args.file.from)?;
    let document = &session.document;
    let counter = EntryCounter::new(TiktokenCounter::new(args.tokenizer.tokenizer));
    count(document.context(), &counter, &progress.bar());
    let view = View::new(document.context().to_vec(), &counter, ViewOptions::default());
    let report = InspectReport {
        report_version: REPORT_VERSION,
        read: session.report(args.tokenizer.tokenizer),
        file_bytes: session.bytes.len(),
        records: document.record_count(),
        hidden_messages: document.earlier(),
        context: context(&view, args.window, args.largest),
    };
    drop(progress);
    let text = if args.tokenizer.json { json(&report)? } else { harmless::text(&report.for_people()) };
    output::print(&text, To::Output)
}

/// What fills a context, with so many of the largest entries.
pub(crate) fn context(view: &View, window: Option<u32>, most: usize) -> ContextReport {
    ContextReport {
        window_tokens: window,
        turns: turns(view),
        groups: view.infos().iter().map(|info| info.group + 1).max().unwrap_or(0),
        in_flight_entries: in_flight(view),
        context: Fill::of(view),
        largest: largest(view, most),
        tools: tools(view),
    }
}

fn turns(view: &View) -> u32 {
    u32::try_from(view.infos().iter().filter(|info| info.kind == EntryKind::User).count()).unwrap_or(u32::MAX)
}

fn in_flight(view: &View) -> u32 {
    let waiting = view.infos().iter().filter(|info| info.marks.in_flight && info.kind == EntryKind::Assistant);
    u32::try_from(waiting.count()).unwrap_or(u32::MAX)
}

fn largest(view: &View, most: usize) -> Vec<Largest> {
    let mut positions: Vec<u32> = (0..view.len()).collect();
    positions.sort_by_key(|&at| (std::cmp::Reverse(view.tokens_of(at)), at));
    positions.truncate(most);
    positions.into_iter().filter_map(|at| describe(view, at)).collect()
}

fn describe(view: &View, at: u32) -> Option<Largest> {
    let entry = view.entry(at)?;
    let info = view.infos().get(usize::try_from(at).ok()?)?;
    Some(Largest {
        position: at,
        id: entry.id.to_string(),
        kind: entry.kind.into(),
        tool: info.tool.and_then(|tool| view.tools().get(usize::try_from(tool).ok()?)).cloned(),
        tokens: info.tokens,
        begins: harmless::line(&view.text(at, Some(BEGINNING))),
    })
}

fn tools(view: &View) -> Vec<ToolUse> {
    let mut tools: BTreeMap<&str, ToolUse> = BTreeMap::new();
    let usage = |tool: &str| ToolUse { tool: tool.to_owned(), calls: 0, results: 0, failed: 0, result_tokens: 0 };
    for (entry, info) in view.entries().iter().zip(view.infos()) {
        for call in entry.tool_calls() {
            tools.entry(call.name.as_str()).or_insert_with(|| usage(&call.name)).calls += 1;
        }
        if entry.kind == EntryKind::ToolResult {
            let name = info.tool.and_then(|tool| view.tools().get(usize::try_from(tool).ok()?));
            let name = name.map_or("(unknown)", String::as_str);
            let tool = tools.entry(name).or_insert_with(|| usage(name));
            tool.results += 1;
            tool.failed += u32::from(info.marks.failed);
            tool.result_tokens = tool.result_tokens.saturating_add(info.tokens);
        }
    }
    let mut tools: Vec<ToolUse> = tools.into_values().collect();
    tools.sort_by_key(|tool| std::cmp::Reverse(tool.result_tokens));
    tools
}
