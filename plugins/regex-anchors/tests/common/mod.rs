//! What the tests share: a request, and the ends of a plan.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic, reason = "tests")]

use contextengine_sdk::memory::{MemoryView, TestHost, check_plan};
use contextengine_sdk::{
    CompressRequest, Compressor, EntryKind, Outcome, Plan, Plugin, Pressure, Segment, Summary, Trigger, View,
};
use regex_anchors::RegexAnchors;

/// A request with a target, and pressure that fits it.
pub fn request(target: u32) -> CompressRequest {
    let pressure = Pressure {
        trigger: Trigger::PreTurn,
        window: 200_000,
        reserve: 16_384,
        overhead: 4_000,
        budget: 179_616,
        entries: 0,
        measured: None,
        cache: None,
        now: 0.0,
        extras: Vec::new(),
    };
    CompressRequest { pressure, target, focus: None, memory: Vec::new(), corrections: Vec::new(), extras: Vec::new() }
}

/// An instance.
pub fn plugin(config: &str) -> RegexAnchors {
    RegexAnchors::configure(config).unwrap()
}

/// A plugin that keeps nothing but the last group: small sessions fold.
pub fn eager() -> RegexAnchors {
    plugin(r#"{"keep_recent_tokens": 0, "min_saving": 0}"#)
}

/// The plan, which must be one.
pub fn plan(plugin: &RegexAnchors, view: &MemoryView, request: &CompressRequest) -> Plan {
    match plugin.compress(view, &TestHost::new(), request).unwrap() {
        Outcome::Compressed(plan) => plan,
        Outcome::Unchanged(reason) => panic!("unchanged: {reason}"),
    }
}

/// A result that is worth folding and says nothing.
pub fn pad(view: MemoryView) -> MemoryView {
    view.assistant("")
        .call("pad", "bash", r#"{"command":"ls"}"#)
        .result("pad", "a line that fills the window\n".repeat(400))
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

/// The text of the summary of a view, with a roomy target.
pub fn summary_of(view: &MemoryView) -> String {
    summary(&plan(&eager(), view, &request(20_000))).text
}

/// The items under a heading.
pub fn section(text: &str, heading: &str) -> String {
    let start = format!("\n## {heading}\n");
    let Some((_, rest)) = text.split_once(&start) else {
        return String::new();
    };
    rest.split("\n## ").next().unwrap().to_owned()
}

/// A host would take the plan, which folds and keeps, and instructions stay.
pub fn assert_accounted(view: &MemoryView, plan: &Plan) {
    assert_eq!(check_plan(view, plan), Ok(()));
    let summaries = plan.segments.iter().filter_map(|segment| match segment {
        Segment::Keep(_) => None,
        Segment::Summary(summary) => Some(summary),
        other => panic!("{other:?} is not a step of this strategy"),
    });
    for at in summaries.flat_map(|summary| &summary.covers).flat_map(|span| span.positions()) {
        assert_ne!(view.all()[at as usize].kind, EntryKind::System, "{at} is an instruction");
    }
}
