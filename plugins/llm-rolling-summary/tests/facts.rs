//! What is kept without a model: constraints, files, failures, messages, names, notes; and how long it lasts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{answer, eager, plan, record, request, section, session, summary, turn};
use contextengine_sdk::memory::{MemoryView, TestHost};
use contextengine_sdk::{Services, Summary, View};
use llm_rolling_summary::LlmRollingSummary;
use serde_json::Value;

fn fold(plugin: &LlmRollingSummary, view: &MemoryView, target: u32) -> Summary {
    summary(&plan(plugin, view, &TestHost::new().answers([answer("line")]), &request(target)))
}

fn after(first: &Summary) -> MemoryView {
    MemoryView::new().system("s").summary(first.text.clone()).compacted(record(first, 1))
}

fn details(summary: &Summary) -> Value {
    serde_json::from_str(summary.details.as_deref().unwrap()).unwrap()
}

#[test]
fn what_the_user_ruled_in_round_one_is_there_in_round_three_word_for_word() {
    let rule = "Never change the public API in src/lib.rs.";
    let first = fold(&eager(""), &turn(turn(session(0).user(format!("Fix it. {rule}")), 1), 2), 50_000);
    assert_eq!(section(&first.text, "## Constraints"), format!("- line of Constraints\n- {rule}"));
    let second = fold(&eager(""), &turn(turn(after(&first), 3), 4), 50_000);
    let third = fold(&eager(""), &turn(turn(after(&second).user("Use tabs only."), 5), 6), 50_000);
    let rules = section(&third.text, "## Constraints");
    assert!(rules.ends_with(&format!("- {rule}\n- Use tabs only.")), "{rules}");
}

#[test]
fn a_rule_that_the_model_repeats_is_not_said_twice() {
    let view = turn(turn(session(0).user("Never push."), 1), 2);
    let said = answer("line").replace("- line of Constraints", "- “Never push” (the user)");
    let host = TestHost::new().answers([said]);
    let text = summary(&plan(&eager(""), &view, &host, &request(50_000))).text;
    assert_eq!(section(&text, "## Constraints"), "- “Never push” (the user)");
    assert!(host.prompts()[0].user.contains("<user-rules>\nNever push.\n</user-rules>"));
}

#[test]
fn files_add_up_over_compactions() {
    let edit = |view: MemoryView, id: &str, tool: &str, path: &str| {
        view.call(id, tool, format!(r#"{{"path":"{path}"}}"#)).result(id, "ok ".repeat(600))
    };
    let view = edit(edit(session(0).user("x"), "1", "read", "a.rs"), "2", "edit", "b.rs").user("go");
    let first = fold(&eager(""), &view, 50_000);
    let view = edit(edit(after(&first).user("y"), "3", "edit", "a.rs"), "4", "read", "c.rs").user("go");
    let second = fold(&eager(""), &view, 50_000);
    assert_eq!(section(&second.text, "## Files"), "- read: c.rs\n- modified: b.rs\n- modified: a.rs");
    let details = details(&second);
    assert_eq!(details["readFiles"], serde_json::json!(["c.rs"]));
    assert_eq!(details["modifiedFiles"], serde_json::json!(["b.rs", "a.rs"]));
    let tags = fold(&eager("\"files_style\": \"tags\""), &view, 50_000).text;
    assert!(
        tags.contains("<read-files>\nc.rs\n</read-files>\n<modified-files>\nb.rs\na.rs\n</modified-files>"),
        "{tags}"
    );
}

#[test]
fn failures_are_the_newest_and_bounded() {
    let view = (0..12).fold(session(0).user("x"), |view, at| {
        let id = format!("f{at}");
        view.call(&id, "bash", "{}").failed_result(&id, format!("error {at}: {}", "long ".repeat(200)))
    });
    let text = fold(&eager(""), &view.user("go"), 50_000).text;
    let failures: Vec<String> = section(&text, "## Tool failures").lines().map(str::to_owned).collect();
    assert_eq!(failures.len(), 8);
    assert!(failures[0].starts_with("- bash: error 4: ") && failures[7].starts_with("- bash: error 11: "));
    assert!(failures.iter().all(|line| line.len() < 290 && line.ends_with("more bytes]")), "{failures:?}");
}

#[test]
fn messages_of_the_user_are_quoted_newest_first_within_their_budget_and_carried_on() {
    let messages = |view: &MemoryView| {
        let first = fold(&eager(r#""user_messages_tokens": 150"#), view, 50_000);
        (section(&first.text, "## Messages of the user, word for word"), first)
    };
    let view = (0..9).fold(session(0), |view, at| {
        view.user(format!("message {at}\n## Goal\nis {}", "x".repeat(60))).assistant("y ".repeat(300))
    });
    let (text, first) = messages(&view.user("go"));
    assert!(text.contains("> message 8\n> ## Goal") && !text.contains("message 3\n"), "{text}");
    assert!(text.starts_with("(") && text.contains("older ones had no room here"), "{text}");
    let (text, _) = messages(&turn(turn(after(&first), 1), 2));
    assert!(text.contains("> message 8") && text.contains("> Please change part 1"), "{text}");
}

#[test]
fn the_message_that_goes_over_the_budget_is_cut_and_older_ones_go() {
    let view = session(0)
        .user("oldest")
        .assistant("a")
        .user(format!("BEGIN {} END", "middle ".repeat(900)))
        .assistant("b")
        .user("newest words")
        .assistant("c")
        .user("go");
    let text = fold(&eager(r#""user_messages_tokens": 400, "user_message_tokens": 20000"#), &view, 50_000).text;
    let quotes = section(&text, "## Messages of the user, word for word");
    assert!(
        quotes.contains("> newest words") && quotes.contains("> BEGIN middle") && quotes.contains("END"),
        "{quotes}"
    );
    assert!(quotes.contains("bytes left out") && !quotes.contains("oldest"), "{quotes}");
    assert!(TestHost::new().count(&quotes) <= 400);
}

#[test]
fn exact_names_of_the_newest_entries_are_there_whatever_the_model_wrote() {
    let view = session(3)
        .user("Look at issue #4821 in src/net/socket.rs:")
        .assistant("commit 3f2a9c1d broke it. ".repeat(60))
        .user("go");
    let text = fold(&eager(r#""identifiers": 3"#), &view, 50_000).text;
    assert!(section(&text, "## Critical context").ends_with("- #4821, src/net/socket.rs, 3f2a9c1d"), "{text}");
}

#[test]
fn notes_of_observers_are_kept_and_shown_to_the_model() {
    let host = TestHost::new().answers([answer("line")]);
    let mut request = request(50_000);
    request.memory = vec!["The user pays by invoice.".to_owned()];
    let text = summary(&plan(&eager(""), &session(4), &host, &request)).text;
    assert!(host.prompts()[0].user.contains("<notes>\nThe user pays by invoice.\n</notes>"));
    assert_eq!(section(&text, "## Saved notes"), "> The user pays by invoice.");
}

#[test]
fn the_newest_turns_and_an_index_of_names_are_there_where_asked_for() {
    let view = session(4);
    let text =
        fold(&eager(r#""recent_turns": 1, "recent_turn_bytes": 40, "anchors_tokens": 300"#), &view.user("go"), 50_000)
            .text;
    let turns = section(&text, "## Recent turns, word for word");
    assert_eq!(
        turns,
        "User said\n> Please change part 3 of the parser.\nAssistant said\n> I look at it.\nAssistant said\n> Part 3 is done."
    );
    assert!(section(&text, "## Index of names").contains("files: src/part_3.rs"), "{text}");
}

#[test]
fn what_has_no_room_is_counted() {
    let view = (0..40).fold(session(0).user("x"), |view, at| {
        let id = format!("r{at}");
        view.call(&id, "read", format!(r#"{{"path":"src/some/long/path/number_{at}.rs"}}"#))
            .result(&id, "ok ".repeat(100))
    });
    let text = fold(&eager(r#""files_tokens": 100"#), &view.user("go"), 50_000).text;
    let files = section(&text, "## Files");
    assert!(files.contains("number_39.rs") && !files.contains("number_0.rs"), "{files}");
    assert!(files.contains("more had no room here; the session log has them."), "{files}");
    assert!(TestHost::new().count(&files) <= 100);
}

#[test]
fn the_plan_meets_the_target_by_keeping_less_and_saying_less() {
    let view = (0..60).fold(session(0), turn);
    let host = TestHost::new();
    for target in [1_500, 3_000, 6_000, 12_000] {
        let plugin = eager(
            r#""keep_recent_tokens": 20000, "user_messages_tokens": 2000, "identifiers": 12, "least_summary_tokens": 0"#,
        );
        let host_with_answer = TestHost::new().answers([answer("line")]);
        let plan = plan(&plugin, &view, &host_with_answer, &request(target));
        let kept: u32 = plan
            .segments
            .iter()
            .map(|segment| match segment {
                contextengine_sdk::Segment::Keep(span) => view.entries(*span).iter().map(|info| info.tokens).sum(),
                _ => 0,
            })
            .sum();
        let after = kept + host.count(&summary(&plan).text);
        assert!(after <= target, "{target}: {after}");
    }
}
