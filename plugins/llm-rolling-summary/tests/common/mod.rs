//! What the tests share: instances, answers of a model, the parts of a plan.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic, reason = "tests")]

use contextengine_sdk::memory::{MemoryView, TestHost, check_plan};
use contextengine_sdk::{
    CompactionRecord, CompressRequest, Compressor, EntryKind, Failure, Outcome, Plan, Plugin, Position, Segment,
    Summary, Trigger, View,
};
use llm_rolling_summary::{Config, LlmRollingSummary, Section};

/// A request with a target, in a window of 200,000 tokens.
pub fn request(target: u32) -> CompressRequest {
    let view = MemoryView::new();
    let mut request = contextengine_sdk::memory::request(&view, target);
    request.pressure.trigger = Trigger::PreTurn;
    request.pressure.window = 200_000;
    request.pressure.reserve = 16_384;
    request.pressure.overhead = 4_000;
    request.pressure.budget = 179_616;
    request
}

/// An instance.
pub fn plugin(config: &str) -> LlmRollingSummary {
    LlmRollingSummary::configure(config).unwrap()
}

/// An instance that folds small sessions; further keys as in `"a": 1, "b": 2`.
pub fn eager(keys: &str) -> LlmRollingSummary {
    plugin(&eager_config(keys))
}

pub fn eager_config(keys: &str) -> String {
    let defaults = [
        ("keep_recent_tokens", "1"),
        ("min_fold_tokens", "0"),
        ("user_messages_tokens", "0"),
        ("identifiers", "0"),
        ("split_turns", "false"),
    ];
    let mut all: Vec<String> = defaults
        .iter()
        .filter(|(key, _)| !keys.contains(&format!("\"{key}\"")))
        .map(|(key, value)| format!("\"{key}\": {value}"))
        .collect();
    if !keys.is_empty() {
        all.push(keys.to_owned());
    }
    format!("{{{}}}", all.join(", "))
}

/// An answer with a line below each heading.
pub fn in_form(sections: &[Section], word: &str) -> String {
    let parts: Vec<String> = sections
        .iter()
        .map(|section| format!("{}\n- {word} of {}", section.heading, section.heading.trim_start_matches(['#', ' '])))
        .collect();
    if parts.is_empty() { format!("The {word} is told in plain words.") } else { parts.join("\n\n") }
}

/// Such an answer for the default headings.
pub fn answer(word: &str) -> String {
    in_form(&Config::default().sections, word)
}

/// A session of turns that are worth folding.
pub fn session(turns: usize) -> MemoryView {
    (0..turns).fold(MemoryView::new().system("You are a coding agent.").pinned(), turn)
}

/// One more turn.
pub fn turn(view: MemoryView, at: usize) -> MemoryView {
    let id = format!("c{at}");
    view.user(format!("Please change part {at} of the parser."))
        .assistant("I look at it.")
        .call(&id, "read", format!(r#"{{"path":"src/part_{at}.rs"}}"#))
        .result(&id, "a line of code that means nothing\n".repeat(40))
        .assistant(format!("Part {at} is done."))
}

/// The outcome.
pub fn run(
    plugin: &LlmRollingSummary,
    view: &MemoryView,
    host: &TestHost,
    request: &CompressRequest,
) -> Result<Outcome, Failure> {
    plugin.compress(view, host, request)
}

/// The plan, which must be one.
pub fn plan(plugin: &LlmRollingSummary, view: &MemoryView, host: &TestHost, request: &CompressRequest) -> Plan {
    match run(plugin, view, host, request) {
        Ok(Outcome::Compressed(plan)) => {
            assert_accounted(view, &plan);
            plan
        }
        other => panic!("no plan: {other:?}"),
    }
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

/// What the host would record of a summary that stands at a position.
pub fn record(summary: &Summary, at: Position) -> CompactionRecord {
    CompactionRecord {
        at,
        plugin: LlmRollingSummary::ID.to_owned(),
        summary: summary.text.clone(),
        details: summary.details.clone(),
        tokens_before: 0,
        tokens_after: 0,
    }
}

/// The text below a heading, up to the next one of its level.
pub fn section(text: &str, heading: &str) -> String {
    let level = heading.chars().take_while(|c| *c == '#').count();
    let mut lines = text.lines().skip_while(|line| *line != heading);
    if lines.next().is_none() {
        return String::new();
    }
    let body = lines.take_while(|line| {
        let own = line.chars().take_while(|c| *c == '#').count();
        own == 0 || own > level
    });
    body.collect::<Vec<&str>>().join("\n").trim().to_owned()
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
