//! For any session: a plan that accounts for everything, or a reason; the same bytes each time; one text of bounded
//! size over many rounds.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{details, plugin, summary};
use contextengine_sdk::memory::{MemoryView, TestHost, check_plan, request};
use contextengine_sdk::{Compressor, EntryKind, Outcome, Plan, Segment, Services, View};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    System(String),
    User(String),
    Assistant(String),
    Call(String, usize, bool),
    OpenCall,
    Summary(String),
    Note(String),
    Pin,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,80}",
        "(## Files|- \\(3 others are not shown\\)|```|<tool_call>|\n| ){0,20}",
        "[a-zä /.:\n]{0,400}"
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => text().prop_map(Step::System),
        5 => text().prop_map(Step::User),
        5 => text().prop_map(Step::Assistant),
        6 => (text(), 0usize..90, any::<bool>()).prop_map(|(a, r, f)| Step::Call(a, r, f)),
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
            Step::Call(path, lines, failed) => {
                let arguments = serde_json::json!({ "path": path }).to_string();
                let view = view.assistant("").call(&id, "read", arguments);
                let result = "a line of it\n".repeat(lines);
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

/// A host would take the plan, which folds and keeps, and instructions stay.
fn assert_accounted(view: &MemoryView, plan: &Plan) {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_position_is_accounted_for_or_there_is_a_reason(
        steps in prop::collection::vec(step(), 0..40), target in 0_u32..3_000, turns in 0_u32..3, tokens in 0_u32..900,
    ) {
        let view = build(steps);
        let plugin = plugin(&format!(r#"{{"keep_turns": {turns}, "keep_tokens": {tokens}}}"#));
        let host = TestHost::new();
        let request = request(&view, target);
        match plugin.compress(&view, &host, &request).unwrap() {
            Outcome::Unchanged(reason) => prop_assert!(reason.contains(|c: char| c.is_ascii_digit()), "{}", reason),
            Outcome::Compressed(plan) => {
                assert_accounted(&view, &plan);
                let covered: u32 = summary(&plan).covers.iter().flat_map(|span| view.entries(*span)).map(|e| e.tokens).sum();
                prop_assert!(host.count(&summary(&plan).text) < covered);
                prop_assert_eq!(plugin.compress(&view, &host, &request).unwrap(), Outcome::Compressed(plan));
            }
        }
    }
}

#[test]
fn the_text_does_not_grow_over_a_hundred_rounds_with_or_without_details() {
    for with_details in [true, false] {
        let mut last: Option<contextengine_sdk::Summary> = None;
        let mut sizes = Vec::new();
        for round in 0..100_u32 {
            let mut view = MemoryView::new().system("rules").pinned();
            if let Some(before) = last.take() {
                view = view.summary(before.text);
                if with_details {
                    view = view.attributed("details", before.details.unwrap());
                }
            }
            for n in 0..5 {
                view = view
                    .user(format!("Request {n} of round {round}, with enough words to fill a line of the list."))
                    .assistant("")
                    .call("1", "edit", format!(r#"{{"path":"src/module_{round}/part_{n}.rs"}}"#))
                    .result("1", "done\n".repeat(60));
            }
            let made = summary(&common::plan("{}", &view, 1_500));
            // The last request of each round stays, and the view of the next round does not hold it.
            assert_eq!(details(&made)["turns"], 4 * (round + 1));
            assert_eq!(details(&made)["compactions"], round + 1);
            let files = details(&made)["modifiedFiles"].as_array().unwrap().len();
            if with_details {
                assert_eq!(files as u32, 4 * (round + 1), "no file is forgotten");
            }
            sizes.push(TestHost::new().count(&made.text));
            assert!(made.text.contains("- Request 0 of round 0,"), "{}", made.text);
            last = Some(made);
        }
        let settled = &sizes[20..];
        let (least, most) = (settled.iter().min().unwrap(), settled.iter().max().unwrap());
        assert!(most - least < 40 && *most < 1_200, "{sizes:?}");
    }
}
