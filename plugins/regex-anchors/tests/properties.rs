//! For any session: a plan that accounts for everything, or a reason; the same bytes each time; within the target.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{assert_accounted, plugin, request, summary};
use contextengine_sdk::memory::{MemoryView, TestHost};
use contextengine_sdk::{Compressor, Outcome, Services, View};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    System(String),
    User(String),
    Assistant(String),
    Call(String, String, bool),
    OpenCall,
    Summary(String),
    Note(String),
    Pin,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,80}",
        "(must|never|use|actually|instead of|src/[a-z]{3}\\.rs|#[0-9]{3}|## Goal|- |```|~~|\n| ){0,40}",
        "[a-z /.:\n]{0,400}",
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => text().prop_map(Step::System),
        6 => text().prop_map(Step::User),
        6 => text().prop_map(Step::Assistant),
        6 => (text(), text(), any::<bool>()).prop_map(|(a, r, f)| Step::Call(a, r, f)),
        1 => Just(Step::OpenCall),
        1 => text().prop_map(Step::Summary),
        1 => text().prop_map(Step::Note),
        1 => Just(Step::Pin),
    ]
}

fn build(steps: Vec<Step>) -> MemoryView {
    let mut view = MemoryView::new();
    for (at, step) in steps.into_iter().enumerate() {
        let id = format!("c{at}");
        view = match step {
            Step::System(text) => view.system(text),
            Step::User(text) => view.user(text),
            Step::Assistant(text) => view.assistant(text),
            Step::Call(command, result, failed) => {
                let arguments = serde_json::json!({ "command": command }).to_string();
                let view = view.assistant("I run it.").call(&id, "bash", arguments);
                if failed { view.failed_result(&id, result) } else { view.result(&id, result) }
            }
            Step::OpenCall => view.assistant("").call(&id, "read", "{}"),
            Step::Summary(text) => view.summary(text),
            Step::Note(text) => view.note(text),
            Step::Pin => view.pinned(),
        };
    }
    view
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_position_is_accounted_for_or_there_is_a_reason(
        steps in prop::collection::vec(step(), 0..40),
        target in 0_u32..6_000,
        keep in 0_u32..2_000,
        focus in prop::option::of("[a-z ]{0,12}"),
    ) {
        let view = build(steps);
        let plugin = plugin(&format!(r#"{{"keep_recent_tokens": {keep}}}"#));
        let host = TestHost::new();
        let mut request = request(target);
        request.focus = focus;
        request.memory = vec!["A note to remember.".to_owned()];
        match plugin.compress(&view, &host, &request).unwrap() {
            Outcome::Unchanged(reason) => prop_assert!(reason.contains(|c: char| c.is_ascii_digit()), "{}", reason),
            Outcome::Compressed(plan) => {
                assert_accounted(&view, &plan);
                let text = summary(&plan).text;
                let covered: u32 = summary(&plan).covers.iter()
                    .flat_map(|span| view.entries(*span)).map(|info| info.tokens).sum();
                prop_assert!(host.count(&text) < covered, "the summary is shorter than what it stands for");
                let again = plugin.compress(&view, &host, &request).unwrap();
                prop_assert_eq!(again, Outcome::Compressed(plan), "the same input gives the same bytes");
            }
        }
    }
}

#[test]
fn a_target_is_honoured_by_keeping_less_and_saying_less() {
    let mut view =
        MemoryView::new().user("Never break the build. Write the importer.").assistant("ok, I begin with it");
    for at in 0..300 {
        view = view
            .user(format!("Please change src/part_{at}.rs so that item {at} must be valid."))
            .assistant(format!("I decided to do item {at} with a table because it is simpler than the alternative."));
    }
    let host = TestHost::new();
    for target in [2_000, 4_000, 8_000, 12_000] {
        let plan = common::plan(&plugin("{}"), &view, &request(target));
        let kept: u32 = plan
            .segments
            .iter()
            .map(|segment| match segment {
                contextengine_sdk::Segment::Keep(span) => view.entries(*span).iter().map(|info| info.tokens).sum(),
                _ => 0,
            })
            .sum();
        let text = summary(&plan).text;
        assert!(kept + host.count(&text) <= target, "{target}: {kept} kept, {} of summary", host.count(&text));
        assert!(text.contains("Never break the build."), "{target}: {text}");
    }
}
