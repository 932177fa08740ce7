//! The strategy `fresh-window` on the engine's own views.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::sync::Arc;

use contextengine::hooks::{self, Trigger, Urgency};
use contextengine::plan::{DefectKind, GatePolicy, PlanRefused, Rules, SummaryGate, VerifiedPlan, verify};
use contextengine::plugin::LoadOptions;
use contextengine::tokens::{EntryCounter, TiktokenCounter, Vocabulary};
use contextengine::transcript::{Block, Entry, EntryId, EntryKind, Reasoning, Timestamp, ToolCall, ToolResult};
use contextengine::view::{View, ViewOptions};
use contextengine::{CompactOptions, Compacted, Engine, Window, plan};
use contextengine_sdk::memory::TestHost;
use contextengine_sdk::{self as sdk, Compressor, Outcome, Plugin as _, Services};
use contextengine_tests::native::{NativeView, compress_request};
use contextengine_tests::{cases, component, generate, layouts};
use fresh_window::FreshWindow;
use proptest::prelude::*;

const WINDOW: u32 = 16_000;

fn counter() -> EntryCounter {
    EntryCounter::new(TiktokenCounter::new(Vocabulary::O200kBase))
}

fn host() -> TestHost {
    let counter = counter();
    TestHost::new().count_with(move |text| counter.text(text))
}

fn view(entries: Vec<Arc<Entry>>) -> View {
    View::new(entries, &counter(), ViewOptions::default())
}

fn pressure(view: &View) -> hooks::Pressure {
    Window::new(WINDOW).pressure(view, Trigger::Manual, Timestamp(0))
}

/// What the host does: asks, verifies, and asks once more with the defects. `Ok(Err(…))` is a reasoned "nothing to do".
fn attempt(
    plugin: &FreshWindow,
    view: &View,
    target: u32,
    rules: &Rules,
) -> Result<Result<VerifiedPlan, String>, PlanRefused> {
    let mut request = compress_request(&pressure(view), target);
    let mut last = None;
    for _ in 0..2 {
        let plan = match plugin.compress(&NativeView(view.clone()), &host(), &request).unwrap() {
            Outcome::Compressed(plan) => engine_plan(plan),
            Outcome::Unchanged(reason) => return Ok(Err(reason)),
        };
        match verify(plan, FreshWindow::ID, view, rules, &counter()) {
            Ok(verified) => return Ok(Ok(verified)),
            Err(refused) => {
                request.corrections = refused.corrections();
                last = Some(refused);
            }
        }
    }
    Err(last.unwrap())
}

fn engine_plan(plan: sdk::Plan) -> plan::Plan {
    let span = |span: sdk::Span| plan::Span::new(span.start, span.end);
    let segments = plan.segments.into_iter().map(|segment| match segment {
        sdk::Segment::Keep(kept) => plan::Segment::Keep(span(kept)),
        sdk::Segment::Summary(summary) => plan::Segment::Summary(plan::Summary {
            covers: summary.covers.into_iter().map(span).collect(),
            text: summary.text,
            details: summary.details,
        }),
        other => panic!("{other:?} is no step of this strategy"),
    });
    plan::Plan { segments: segments.collect() }
}

fn any_entry() -> impl Strategy<Value = Vec<Entry>> {
    let long = |text: String| format!("{text} {}", "and more words about it ".repeat(40));
    let text = || {
        prop_oneof![Just(" ".to_owned()), ".{0,60}", "(- \\(3|## Files|```|<tool_call>|src/[a-z]{3}\\.rs|\n| ){0,20}"]
    };
    let kinds = vec![
        EntryKind::System,
        EntryKind::User,
        EntryKind::Assistant,
        EntryKind::Summary,
        EntryKind::BranchSummary,
        EntryKind::Note,
    ];
    let ids = prop::sample::subsequence(vec!["1", "2", "3"], 0..=3);
    prop_oneof![
        5 => (prop::sample::select(kinds), text(), any::<bool>(), 0u8..12).prop_map(move |(kind, text, is_long, pin)| {
            let mut entry = Entry::text("", kind, if is_long { long(text) } else { text });
            entry.pinned = pin == 0;
            vec![entry]
        }),
        3 => (ids, any::<bool>()).prop_map(|(ids, signed)| vec![calls(&ids, signed)]),
        4 => (prop::sample::select(vec!["1", "2", "3", "4"]), 0usize..60).prop_map(|(id, size)| vec![result(id, size)]),
        1 => prop::sample::select(layouts::all(5)).prop_map(|layout| layouts::entries(&layout)),
    ]
}

fn calls(ids: &[&str], signed: bool) -> Entry {
    let mut blocks: Vec<Block> = Vec::new();
    if signed {
        blocks.push(Block::Reasoning(Reasoning { text: "hm".into(), signed: true }));
    }
    let call = |id: &&str| ToolCall { id: (*id).into(), name: "read".into(), arguments: r#"{"path":"a.rs"}"#.into() };
    blocks.extend(ids.iter().map(call).map(Block::ToolCall));
    Entry::new("", EntryKind::Assistant, blocks)
}

fn result(id: &str, size: usize) -> Entry {
    let text = "what the tool printed, line by line\n".repeat(size);
    let result = ToolResult { call_id: id.into(), name: "read".into(), text: text.as_str().into(), failed: size == 3 };
    Entry::new("", EntryKind::ToolResult, vec![Block::ToolResult(result)])
}

fn any_view() -> impl Strategy<Value = View> {
    prop::collection::vec(any_entry(), 0..24).prop_map(|parts| view(numbered(parts.into_iter().flatten(), "e")))
}

fn numbered(entries: impl IntoIterator<Item = Entry>, prefix: &str) -> Vec<Arc<Entry>> {
    let entries = entries.into_iter().enumerate().map(|(at, mut entry)| {
        entry.id = EntryId::new(format!("{prefix}{at}"));
        Arc::new(entry)
    });
    entries.collect()
}

fn any_config() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{}",
        r#"{"preset": "codex"}"#,
        r#"{"keep_turns": 2}"#,
        r#"{"keep_tokens": 400, "text_tokens": 300}"#,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(100)))]

    #[test]
    fn every_plan_is_accepted_at_once_or_there_is_a_reason(
        view in any_view(), config in any_config(), target in 0u32..4_000,
    ) {
        let plugin = FreshWindow::configure(config).unwrap();
        let request = compress_request(&pressure(&view), target);
        match plugin.compress(&NativeView(view.clone()), &host(), &request).unwrap() {
            Outcome::Unchanged(reason) => prop_assert!(reason.contains(|c: char| c.is_ascii_digit()), "{}", reason),
            Outcome::Compressed(plan) => {
                let verified = verify(engine_plan(plan), FreshWindow::ID, &view, &Rules::new(target), &counter());
                prop_assert!(verified.is_ok(), "{}", verified.unwrap_err());
            }
        }
    }

    /// Under hard urgency the second plan may still be over a target that what must stay alone exceeds. Where little is
    /// folded, a text with all names would save nothing: then names can displace each other.
    #[test]
    fn corrections_mend_everything_but_a_target_that_cannot_be_met(
        view in any_view(), config in any_config(), target in 300u32..4_000, strict in any::<bool>(),
    ) {
        let plugin = FreshWindow::configure(config).unwrap();
        let rules = Rules::new(target);
        let rules = match strict {
            true => rules.with_gate(SummaryGate::new(GatePolicy::Strict)),
            false => rules.with_urgency(Urgency::Hard),
        };
        if let Err(refused) = attempt(&plugin, &view, target, &rules) {
            let excused = if strict { DefectKind::LostIdentifiers } else { DefectKind::OverTarget };
            let left = refused.defects().iter().filter(|defect| defect.kind != excused);
            prop_assert_eq!(left.map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
        }
    }
}

#[test]
fn twenty_new_windows_keep_the_pinned_rule_and_sum_up_what_was_taken_out() {
    let plugin = FreshWindow::configure("{}").unwrap();
    let target = Window::new(WINDOW).target();
    let rule = "Never write to the production database at db.internal:5432.";
    let mut pinned = Entry::text("rule", EntryKind::User, rule);
    pinned.pinned = true;
    let mut entries = vec![Arc::new(pinned)];
    let (mut appended, mut users, mut paths) = (0u64, 0u64, 0);
    let mut largest = 0;
    for round in 1..=20u64 {
        let new = numbered(generate::session(40, 60_000), &format!("r{round}-"));
        users += new.iter().filter(|entry| entry.kind == EntryKind::User).count() as u64;
        appended += new.len() as u64;
        entries.extend(new);
        let before = view(entries.clone());
        let verified = attempt(&plugin, &before, target, &Rules::new(target)).unwrap().unwrap();
        let after = verified.applied().view();
        assert!(after.tokens() <= target, "round {round}: {}", after.tokens());
        assert_eq!(after.text(0, None), rule, "round {round}");
        let last = after.last_compaction().unwrap();
        let details: serde_json::Value = serde_json::from_str(last.compaction.details.as_deref().unwrap()).unwrap();
        let kept: Vec<_> = after.entries().iter().filter(|entry| entry.kind != EntryKind::Summary).skip(1).collect();
        let kept_users = kept.iter().filter(|entry| entry.kind == EntryKind::User).count() as u64;
        assert_eq!(details["entries"], appended - kept.len() as u64, "round {round}");
        assert_eq!(details["turns"], users - kept_users, "round {round}");
        assert_eq!(details["compactions"], round);
        let known = details["modifiedFiles"].as_array().unwrap().len() + details["readFiles"].as_array().unwrap().len();
        assert!(known >= paths, "round {round}: no file is forgotten");
        paths = known;
        let summaries = after.entries().iter().filter(|entry| entry.kind == EntryKind::Summary).count();
        assert_eq!(summaries, 1, "round {round}");
        assert!(last.summary.contains("- [r1-0] "), "the first request is named: {}", last.summary);
        largest = largest.max(host().count(&last.summary));
        assert!(host().count(&last.summary) <= 2_000);
        entries = after.entries().to_vec();
    }
    assert!(paths > 5 && largest < 1_300, "{paths} files, {largest} tokens");
}

#[test]
fn the_component_proposes_what_the_same_source_does_natively() {
    let entries = numbered(generate::session(300, 300_000), "e");
    let before = view(entries);
    let target = Window::new(WINDOW).target();
    let native = FreshWindow::configure("{}").unwrap();
    let expected = attempt(&native, &before, target, &Rules::new(target)).unwrap().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let done = runtime.block_on(async {
        let engine = Engine::builder().build().unwrap();
        let plugin = engine.load(&component("fresh-window"), LoadOptions::default()).await.unwrap();
        let options = CompactOptions::new(pressure(&before), target);
        engine.compact(&plugin, &before, &options, engine.services()).await.unwrap()
    });
    let Compacted::Done(compaction) = done else { panic!("nothing was done") };
    let text = |view: &View| view.last_compaction().unwrap().summary;
    assert_eq!(text(compaction.view()), text(expected.applied().view()));
    assert_eq!(compaction.view().tokens(), expected.tokens_after());
}
