//! For any branch: a summary within its budget that covers everything, or a reason; the same bytes each time.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::summarize;
use contextengine_sdk::memory::{MemoryView, TestHost};
use contextengine_sdk::{Failure, Services, Span, View};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    System(String),
    User(String),
    Assistant(String),
    Call(String, String, bool),
    OpenCall(String),
    Summary(String, Option<String>),
    Note(String),
    Image,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,80}",
        "(## Files|## Goal|<read-files>|</read-files>|- read: |src/[a-z]{3}\\.rs|, |```|<tool_call>|\n| ){0,40}",
        "[a-zä /.:\n]{0,400}",
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => text().prop_map(Step::System),
        6 => text().prop_map(Step::User),
        6 => text().prop_map(Step::Assistant),
        6 => (text(), text(), any::<bool>()).prop_map(|(a, r, f)| Step::Call(a, r, f)),
        1 => text().prop_map(Step::OpenCall),
        2 => (text(), prop::option::of(text())).prop_map(|(text, details)| Step::Summary(text, details)),
        1 => text().prop_map(Step::Note),
        1 => Just(Step::Image),
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
                let view = view.assistant("").call(&id, "bash", arguments);
                if failed { view.failed_result(&id, result) } else { view.result(&id, result) }
            }
            // Not all models write JSON.
            Step::OpenCall(arguments) => view.assistant("").call(&id, "read", arguments),
            Step::Summary(text, None) => view.summary(text),
            Step::Summary(text, Some(details)) => view.branch_summary(text).attributed("details", details),
            Step::Note(text) => view.note(text),
            Step::Image => view.user("").image("image/png", 900),
        };
    }
    view
}

/// A tokenizer whose parts can count less than their whole.
fn words(text: &str) -> u32 {
    u32::try_from(text.split_whitespace().count() + text.matches('\n').count()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_summary_fits_or_there_is_a_reason(steps in prop::collection::vec(step(), 0..30), budget in 0_u32..1_500) {
        let view = build(steps);
        for host in [TestHost::new(), TestHost::new().count_with(words)] {
            match summarize("{}", &view, &host, budget) {
                Ok(summary) => {
                    prop_assert!(host.count(&summary.text) <= budget);
                    prop_assert_eq!(&summary.covers, &[Span::new(0, view.len())]);
                    prop_assert!(!summary.text.contains("```") && !summary.text.contains("<tool_call>"));
                    prop_assert_eq!(summarize("{}", &view, &host, budget), Ok(summary), "the same bytes");
                }
                Err(Failure::Declined(reason)) => prop_assert!(!reason.is_empty()),
                Err(other) => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
