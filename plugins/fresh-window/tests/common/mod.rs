//! What the tests share.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic, reason = "tests")]

use contextengine_sdk::memory::{MemoryView, TestHost, request};
use contextengine_sdk::{CompressRequest, Compressor, Outcome, Plan, Plugin, Segment, Span, Summary};
use fresh_window::FreshWindow;

pub fn plugin(config: &str) -> FreshWindow {
    FreshWindow::configure(config).unwrap()
}

pub fn plan_for(config: &str, view: &MemoryView, request: &CompressRequest) -> Plan {
    match plugin(config).compress(view, &TestHost::new(), request).unwrap() {
        Outcome::Compressed(plan) => plan,
        Outcome::Unchanged(reason) => panic!("unchanged: {reason}"),
    }
}

pub fn plan(config: &str, view: &MemoryView, target: u32) -> Plan {
    plan_for(config, view, &request(view, target))
}

/// The one summary of a plan.
pub fn summary(plan: &Plan) -> Summary {
    let mut summaries = plan.segments.iter().filter_map(|segment| match segment {
        Segment::Summary(summary) => Some(summary.clone()),
        _ => None,
    });
    let summary = summaries.next().unwrap();
    assert!(summaries.next().is_none(), "one summary");
    summary
}

/// Positions that stay.
pub fn kept(plan: &Plan) -> Vec<u32> {
    let spans = plan.segments.iter().filter_map(|segment| match segment {
        Segment::Keep(span) => Some(*span),
        _ => None,
    });
    spans.flat_map(Span::positions).collect()
}

pub fn details(summary: &Summary) -> serde_json::Value {
    serde_json::from_str(summary.details.as_deref().unwrap()).unwrap()
}

/// A session of two turns and one that is being worked on.
pub fn session() -> MemoryView {
    MemoryView::new()
        .system("You are a coding agent.")
        .pinned()
        .user("Fix the CSV importer: rows with quotes are lost, see issue #482.")
        .attributed("id", "e1")
        .assistant("I'll read the importer first.")
        .call("1", "read", r#"{"path":"src/import/csv.rs"}"#)
        .result("1", "    let field = record.next()?;\n".repeat(120))
        .assistant("")
        .call("2", "edit", r#"{"path":"src/import/csv.rs","oldText":"a","newText":"b"}"#)
        .result("2", "ok")
        .assistant("The splitter ignored quotes; it is a state machine now.")
        .user("Now write the changelog entry.\nKeep it short.")
        .attributed("id", "e7")
        .assistant("")
        .call("3", "write", r#"{"path":"CHANGELOG.md","content":"- Quoted fields are kept."}"#)
        .result("3", "ok")
        .assistant("Written.")
        .user("Release it as 0.4.1.")
        .assistant("")
        .call("4", "bash", r#"{"command":"cargo publish"}"#)
        .result("4", "published")
        .assistant("")
        .call("5", "bash", r#"{"command":"git tag v0.4.1"}"#)
}
