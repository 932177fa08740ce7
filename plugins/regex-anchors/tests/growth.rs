//! Compacting again and again while the session grows: one summary, nothing in force lost, no growth without bound.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{assert_accounted, plan, plugin, request, section, summary};
use contextengine_sdk::Services;
use contextengine_sdk::memory::{MemoryView, TestHost};

const ROUNDS: u32 = 20;

fn work(mut view: MemoryView, round: u32) -> MemoryView {
    for step in 0..12 {
        let id = format!("{round}-{step}");
        let file = format!("src/module_{}.rs", (round * 12 + step) % 40);
        view = view
            .user(format!(
                "Step {step} of round {round}: change the parser in {file} and tell me what broke. {}",
                "It is for the long report. ".repeat(10)
            ))
            .assistant(format!("I decided to rewrite the loop of round {round} step {step} because it was quadratic."))
            .call(format!("r{id}"), "read", format!(r#"{{"path":"{file}"}}"#))
            .result(format!("r{id}"), format!("// {file}\n{}", "fn parse() { body(); }\n".repeat(40)))
            .assistant("")
            .call(format!("e{id}"), "edit", format!(r#"{{"path":"{file}","oldText":"a","newText":"b"}}"#))
            .result(format!("e{id}"), "ok")
            .assistant("")
            .call(format!("t{id}"), "bash", r#"{"command":"cargo test"}"#)
            .failed_result(format!("t{id}"), format!("error[E0308]: mismatched types in {file}\nexit 1"))
            .assistant(format!("Round {round}, step {step}: the parser in {file} is changed; one test still fails."));
    }
    view
}

#[test]
fn twenty_rounds_keep_rules_and_names_and_do_not_grow() {
    let plugin = plugin(r#"{"keep_recent_tokens": 0}"#);
    let host = TestHost::new();
    let rule = "Never change the public API of the parser.";
    let mut view = MemoryView::new()
        .user("Make the parser in src/core/parser.rs linear, see https://tracker.test/issues/4711 and ticket PARSE-77.")
        .assistant("I will read it first.")
        .user(format!("{rule} The service listens on localhost:7070."))
        .assistant("Understood.");
    let mut sizes = Vec::new();
    for round in 0..ROUNDS {
        view = work(view, round);
        let plan = plan(&plugin, &view, &request(12_000));
        assert_accounted(&view, &plan);
        let summary = summary(&plan);
        let text = &summary.text;
        assert_eq!(text.matches("# Earlier conversation, condensed").count(), 1, "round {round}");
        assert_eq!(text.matches("\n## Goal\n").count(), 1, "round {round}");
        assert!(section(text, "Goal").contains("Make the parser in src/core/parser.rs linear"), "round {round}");
        assert!(section(text, "Constraints").contains(rule), "round {round}:\n{text}");
        assert!(section(text, "Earlier summary").is_empty(), "round {round}");
        for name in ["src/core/parser.rs", "https://tracker.test/issues/4711", "PARSE-77", "localhost:7070", "E0308"] {
            assert!(text.contains(name), "round {round}: {name} is lost\n{text}");
        }
        assert!(text.contains(&format!("in {} compactions", round + 1)), "round {round}:\n{text}");
        sizes.push(host.count(text));
        let details: serde_json::Value = serde_json::from_str(&summary.details.unwrap()).unwrap();
        let modified = details["modifiedFiles"].as_array().unwrap();
        assert!(modified.len() >= 11.min(12 * (round as usize + 1)), "files are cumulative");
        assert!(modified.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()), "sorted");
        // The next round goes on from the summary.
        view = MemoryView::new().summary(summary.text);
    }
    let (middle, last) = (sizes[9], sizes[19]);
    assert!(last <= middle + middle / 10, "{sizes:?}");
    assert!(sizes.iter().all(|size| *size <= 12_000), "{sizes:?}");
}

#[test]
fn folding_only_its_own_summary_changes_nothing() {
    let view = work(MemoryView::new(), 1);
    let plugin = common::eager();
    let text = summary(&plan(&plugin, &view, &request(20_000))).text;
    let again = MemoryView::new().summary(text).user("go on with the rest please");
    let outcome = contextengine_sdk::Compressor::compress(&plugin, &again, &TestHost::new(), &request(20_000)).unwrap();
    assert!(matches!(outcome, contextengine_sdk::Outcome::Unchanged(_)), "{outcome:?}");
}
