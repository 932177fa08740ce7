//! For any session and any model: a plan that accounts for everything and shrinks the context, or a reason.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{assert_accounted, plugin, request, summary};
use contextengine_sdk::memory::{MemoryView, TestHost};
use contextengine_sdk::{Completion, Compressor, Failure, Finish, ModelError, Outcome, Prompt, Services, View};
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
        ".{0,200}",
        "(must|never|## Goal|```|<tool_call>|</conversation>|\\[User\\]: |src/[a-z]{3}\\.rs|#[0-9]{3}|password=|- |\n| ){0,60}",
        "[a-z /.:\n]{0,2000}",
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

/// Obeys, or answers with any text and any end.
fn answers(text: String, obeys: bool) -> impl Fn(&Prompt) -> Result<Completion, ModelError> {
    move |prompt| {
        let form = prompt.user.rsplit("Begin with the first heading:\n").next().unwrap_or_default();
        let headings = form.lines().filter(|line| line.starts_with('#'));
        let in_form: String = headings.map(|heading| format!("{heading}\n- words\n")).collect();
        let text = if obeys { format!("{in_form}{text}\nThat is all.") } else { text.clone() };
        let finish = if text.len() % 7 == 3 { Finish::Truncated } else { Finish::Complete };
        Ok(Completion { text, finish, input_tokens: 0, output_tokens: 0 })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_position_is_accounted_for_and_the_context_shrinks_or_there_is_a_reason(
        steps in prop::collection::vec(step(), 0..40),
        target in 0_u32..6_000,
        keep in 0_u32..2_000,
        window in 2_000_u32..40_000,
        focus in prop::option::of("[a-z ]{0,12}"),
        corrections in prop::collection::vec("(over-target|no-progress|lost-identifiers: a/b.rs|missing-section: ## X|.{0,20})", 0..3),
        said in text(),
        obeys in any::<bool>(),
        preset in 0usize..9,
    ) {
        let view = build(steps);
        let name = llm_rolling_summary::PRESETS.get(preset).map_or("null".to_owned(), |(name, _)| format!("\"{name}\""));
        let config = format!(r#"{{"preset": {name}, "keep_recent_tokens": {keep}, "min_fold_tokens": 0}}"#);
        let host = TestHost::new().window(window).model(answers(said, obeys));
        let mut request = request(target);
        request.focus = focus;
        request.corrections = corrections;
        request.memory = vec!["A note to remember.".to_owned()];
        match plugin(&config).compress(&view, &host, &request) {
            Ok(Outcome::Unchanged(reason)) => prop_assert!(reason.contains(|c: char| c.is_ascii_digit()), "{}", reason),
            Err(Failure::Failed(reason)) => prop_assert!(false, "a defect: {}", reason),
            Err(Failure::Declined(reason)) => prop_assert!(!reason.is_empty()),
            Err(Failure::Unavailable(unavailable)) => prop_assert!(!unavailable.reason.is_empty()),
            Ok(Outcome::Compressed(plan)) => {
                assert_accounted(&view, &plan);
                let summary = summary(&plan);
                let covered: u32 =
                    summary.covers.iter().flat_map(|span| view.entries(*span)).map(|info| info.tokens).sum();
                let total: u32 = view.all().iter().map(|info| info.tokens).sum();
                let saved = covered.saturating_sub(host.count(&summary.text) + 3);
                prop_assert!(f64::from(saved) >= f64::from(total) * 0.1, "{} of {} saved", saved, total);
                prop_assert!(!summary.text.contains("<tool_call>"));
                let details: serde_json::Value = serde_json::from_str(&summary.details.unwrap()).unwrap();
                prop_assert!(details["rounds"].as_u64() >= Some(1));
            }
        }
        // No prompt is larger than the window, however the input is divided.
        for prompt in host.prompts() {
            let read = host.count(&prompt.system) + host.count(&prompt.user);
            prop_assert!(read <= window * 2, "{} tokens in a window of {}", read, window);
        }
    }
}
