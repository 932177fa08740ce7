//! With a model: its answer is taken if it is fit, and never otherwise.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{ANSWER, branch, details, plugin, summarize};
use contextengine_sdk::memory::{MemoryView, TestHost};
use contextengine_sdk::{BranchRequest, BranchSummarizer, Finish, Level, ModelError, Services};

const BY_RULES: &str = "no model wrote it";

#[test]
fn a_fit_answer_is_the_summary_with_the_files_below() {
    let host = TestHost::new().answers([format!("Here it is.\n\n{ANSWER}")]);
    let summary = summarize("{}", &branch(), &host, 2_000).unwrap();
    assert!(summary.text.contains(ANSWER) && !summary.text.contains("Here it is"), "{}", summary.text);
    assert!(!summary.text.contains(BY_RULES));
    assert!(summary.text.contains("## Files\n- modified: src/import/machine.rs\n- read: src/import/csv.rs"));
    assert_eq!(details(&summary)["writtenBy"], "model");
    assert_eq!(details(&summary)["modifiedFiles"], serde_json::json!(["src/import/machine.rs"]));
    let prompt = &host.prompts()[0];
    assert!(prompt.user.contains("[Tool result: bash, failed]: running 14 tests"));
    assert!(prompt.user.trim_end().ends_with("do not repeat them."), "instructions come last: {}", prompt.user);
    assert!(prompt.max_output_tokens < 2_000);
}

#[test]
fn without_a_fit_answer_rules_write_it_and_the_log_says_why() {
    let cut = || TestHost::new().answer(ANSWER, Finish::Truncated);
    for (host, level, why) in [
        (TestHost::new(), Level::Info, "no model is granted"),
        (cut().answer(ANSWER, Finish::Truncated), Level::Warn, "none of 2 answers"),
        (TestHost::new().answer("I cannot.", Finish::Refused), Level::Warn, "the model refused"),
        (TestHost::new().answers(["", "\n"]), Level::Warn, "it was empty"),
        (
            TestHost::new().answers(["## Goal\nx", "## Goal\nx"]),
            Level::Warn,
            "`## Constraints & Preferences` is missing",
        ),
        (TestHost::new().answers(vec![format!("{ANSWER}\n<tool_call>"); 2]), Level::Warn, "<tool_call>"),
        (TestHost::new().fails(ModelError::Timeout), Level::Warn, "did not answer in time"),
        (TestHost::new().fails(ModelError::OverBudget), Level::Warn, "allowance"),
        (TestHost::new().fails(ModelError::Provider("503".to_owned())), Level::Warn, "503"),
        (TestHost::new().answers(vec![format!("{ANSWER}{}", " more".repeat(9_000)); 2]), Level::Warn, "write less"),
    ] {
        let summary = summarize("{}", &branch(), &host, 2_000).unwrap();
        assert!(summary.text.contains(BY_RULES), "{why}: {}", summary.text);
        let logged = host.logged();
        let (last, words) = logged.last().unwrap();
        assert_eq!(*last, level, "{words}");
        assert!(words.contains("written by rules") && words.contains(why), "{why}: {words}");
        assert_eq!(details(&summary)["writtenBy"], "rules");
        assert!(details(&summary)["why"].as_str().unwrap().contains(why));
    }
}

#[test]
fn the_second_attempt_is_told_what_was_wrong() {
    let host = TestHost::new().answers(["## Goal\nx", ANSWER]);
    let summary = summarize("{}", &branch(), &host, 2_000).unwrap();
    assert!(summary.text.contains(ANSWER));
    assert!(host.prompts()[1].user.contains("the heading `## Constraints & Preferences` is missing"));
    let once = TestHost::new().answers(["## Goal\nx", ANSWER]);
    let summary = summarize(r#"{"attempts": 1}"#, &branch(), &once, 2_000).unwrap();
    assert!(summary.text.contains(BY_RULES) && once.prompts().len() == 1);
}

#[test]
fn no_model_is_asked_where_none_is_wanted_or_there_is_no_room_for_its_answer() {
    for (config, budget) in [(r#"{"use_model": false}"#, 2_000), ("{}", 200)] {
        let host = TestHost::new().answers([ANSWER]);
        let summary = summarize(config, &branch(), &host, budget).unwrap();
        assert!(host.prompts().is_empty() && summary.text.contains(BY_RULES), "{}", summary.text);
    }
}

#[test]
fn the_prompt_holds_the_newest_entries_that_fit_the_window() {
    let mut view = MemoryView::new().user("the very first request");
    for n in 0..400 {
        view = view.user(format!("request {n} {}", "with words ".repeat(20))).assistant(format!("answer {n}."));
    }
    let host = TestHost::new().window(8_000).answers([ANSWER]);
    summarize("{}", &view, &host, 2_000).unwrap();
    let prompt = &host.prompts()[0];
    let tokens = host.count(&prompt.system) + host.count(&prompt.user);
    assert!(tokens + prompt.max_output_tokens <= 8_000, "{tokens} and {}", prompt.max_output_tokens);
    assert!(tokens > 3_000, "the window is used: {tokens}");
    assert!(prompt.user.contains("older entries of the branch are not shown"));
    assert!(prompt.user.contains("answer 399.") && !prompt.user.contains("the very first request"));
}

#[test]
fn a_prompt_that_is_too_long_is_made_shorter_once() {
    let view = branch().user("words ".repeat(9_000)).assistant("ok");
    let host = TestHost::new().fails(ModelError::TooLong(Some(6_000))).answers([ANSWER]);
    let summary = summarize("{}", &view, &host, 2_000).unwrap();
    assert!(summary.text.contains(ANSWER));
    let prompts = host.prompts();
    assert!(host.count(&prompts[1].user) < 6_000 && host.count(&prompts[0].user) > 6_000);
    let host = TestHost::new().fails(ModelError::TooLong(None)).fails(ModelError::TooLong(None)).answers([ANSWER]);
    assert!(summarize("{}", &view, &host, 2_000).unwrap().text.contains(BY_RULES));
}

#[test]
fn preset_pi_shows_no_tool_results() {
    let host = TestHost::new().answers([ANSWER]);
    summarize(r#"{"preset": "pi"}"#, &branch(), &host, 2_000).unwrap();
    let prompt = &host.prompts()[0].user;
    assert!(prompt.contains("[Tool call]: bash") && !prompt.contains("running 14 tests"), "{prompt}");
}

#[test]
fn the_focus_reaches_the_model_and_the_rules() {
    let request = BranchRequest { budget: 2_000, focus: Some("the benchmark, 11.8 ms".to_owned()) };
    let host = TestHost::new().answers([ANSWER]);
    plugin("{}").summarize_branch(&branch(), &host, &request).unwrap();
    assert!(host.prompts()[0].user.ends_with("Pay most attention to: the benchmark, 11.8 ms"));
    let summary = plugin("{}").summarize_branch(&branch(), &TestHost::new(), &request).unwrap();
    assert!(summary.text.contains("## Focus\n- asked to keep in focus: the benchmark, 11.8 ms"), "{}", summary.text);
}

fn nested() -> MemoryView {
    MemoryView::new()
        .summary("## Goal\nPort the shop in crates/shop/src/lib.rs, ticket SHOP-311, host staging.shop.test:8443.\n\n## Files\n- modified: crates/shop/src/old.rs")
        .attributed("details", r#"{"readFiles":["crates/tax/rules.toml"],"modifiedFiles":["crates/shop/src/new.rs"]}"#)
        .user("Go on with the cart.")
        .branch_summary("Tried sqlx_macros; dropped.\n\n<read-files>\nCargo.lock\n</read-files>")
        .assistant("The cart is done.")
        .call("1", "write", r#"{"path":"crates/cart/src/lib.rs","content":"x"}"#)
        .result("1", "ok")
}

#[test]
fn short_earlier_summaries_are_carried_on_word_for_word_and_their_files_are_merged() {
    for host in [TestHost::new(), TestHost::new().answers([ANSWER])] {
        let summary = summarize("{}", &nested(), &host, 2_000).unwrap();
        for words in [
            "Port the shop in crates/shop/src/lib.rs, ticket SHOP-311, host staging.shop.test:8443.",
            "Tried sqlx_macros; dropped.",
        ] {
            assert!(summary.text.contains(words), "{}", summary.text);
        }
        let details = details(&summary);
        assert_eq!(details["readFiles"], serde_json::json!(["crates/tax/rules.toml", "Cargo.lock"]));
        let modified = ["crates/shop/src/new.rs", "crates/shop/src/old.rs", "crates/cart/src/lib.rs"];
        assert_eq!(details["modifiedFiles"], serde_json::json!(modified));
        assert_eq!(details["earlierSummaries"], 2);
        assert_eq!(summary.text.matches("## Files").count(), 1, "{}", summary.text);
    }
}

#[test]
fn long_earlier_summaries_are_merged_by_the_model_and_missing_names_are_listed() {
    let config = r#"{"carry_share": 0.0}"#;
    let merged = ANSWER.replace("none", "Port crates/shop/src/lib.rs, SHOP-311, with sqlx_macros dropped");
    let host = TestHost::new().answers([merged]);
    let summary = summarize(config, &nested(), &host, 2_000).unwrap();
    assert!(summary.text.contains("## Names in earlier summaries\n- staging.shop.test:8443"), "{}", summary.text);
    assert!(host.prompts()[0].user.contains("carry on everything in them"));
    assert_eq!(details(&summary)["writtenBy"], "model");
}

#[test]
fn a_model_that_forgets_earlier_summaries_is_not_believed() {
    let host = TestHost::new().answers([ANSWER, ANSWER]);
    let summary = summarize(r#"{"carry_share": 0.0}"#, &nested(), &host, 2_000).unwrap();
    assert!(
        summary.text.contains(BY_RULES) && summary.text.contains("SHOP-311") && summary.text.contains("sqlx_macros")
    );
    assert!(host.logged().last().unwrap().1.contains("exact names of an earlier summary"));
}
