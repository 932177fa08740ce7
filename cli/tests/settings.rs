//! `ctxe compact` by its settings: who is asked, who stands in, and what of a model.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use common::{Folder, Run, pi, steps};

/// A model that declines everything.
const REFUSES: &str = "{\"script\": 1, \"after_last\": \"repeat\"}\n{\"answer\": \"\", \"finish\": \"refused\"}\n";

/// A session, a small window, and an owner with a successor.
fn configured() -> Folder {
    let folder = Folder::new();
    folder.write("session.jsonl", pi(&steps()));
    folder.write("refuses.jsonl", REFUSES);
    folder.write(
        "settings.toml",
        "[window]\ntokens = 4_000\n\n[trigger]\ntarget = 1_200\nkeep_recent = 300\n\n\
         [slots]\ncompress = [\"llm-rolling-summary\", \"regex-anchors\"]\n\n\
         [plugins.llm-rolling-summary]\ngrant = [\"model\"]\nconfig = { min_fold_tokens = 1 }\n\n\
         [plugins.regex-anchors.config]\nmax_summary_tokens = 700\n\n\
         [model]\nprovider = \"script\"\npath = \"refuses.jsonl\"\n",
    );
    folder
}

fn compact(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(["compact", "session.jsonl", "--config-file", "settings.toml"].iter().chain(arguments))
}

#[test]
fn a_successor_stands_in_and_the_report_says_for_whom_and_why() {
    let folder = configured();
    let run = compact(&folder, &[]).ends(0);
    assert!(run.out.contains("strategy regex-anchors"), "{}", run.out);
    let line = "instead of llm-rolling-summary, which failed: declined: the model gave no usable summary";
    assert!(run.out.contains(line), "{}", run.out);
    assert!(run.out.contains("The model was asked 4 times."), "also in vain: {}", run.out);
    let report = compact(&folder, &["--json"]).ends(0).json();
    assert_eq!(report["strategy"]["id"], "regex-anchors");
    assert_eq!(report["passed_over"][0]["id"], "llm-rolling-summary");
    assert_eq!(report["window"]["target_tokens"], 1_200);
}

#[test]
fn with_strict_nobody_stands_in() {
    let folder = configured();
    compact(&folder, &["--set", "slots.strict=true"])
        .fails(1, &["strategy `llm-rolling-summary`", "no usable summary"]);
}

#[test]
fn what_happens_meanwhile_is_shown_on_request() {
    let folder = configured();
    let run = compact(&folder, &["--verbose"]).ends(0);
    for words in [
        "event: compress: `llm-rolling-summary` compress: declined in ",
        "model: 4 calls",
        "`llm-rolling-summary` failed, `regex-anchors` is asked: declined",
        "`regex-anchors` compress: answered in ",
    ] {
        assert!(run.err.contains(words), "{words} in {}", run.err);
    }
    assert!(!compact(&folder, &[]).ends(0).err.contains("event:"));
}

#[test]
fn a_stored_session_records_who_was_passed_over() {
    let folder = configured();
    folder.run(["session", "import", "session.jsonl", "--name", "a"]).ends(0);
    let run = folder.run(["compact", "--session", "a", "--config-file", "settings.toml", "-v"]).ends(0);
    assert!(run.err.contains("event: committed compaction-1 of `regex-anchors`"), "{}", run.err);
    let log = folder.run(["session", "log", "a"]).ends(0);
    assert!(log.out.contains("by regex-anchors"), "{}", log.out);
    assert!(log.out.contains("instead of llm-rolling-summary, which failed: declined"), "{}", log.out);
    assert!(log.out.contains("the model was asked 4 times"), "{}", log.out);
}

#[test]
fn the_command_line_goes_before_the_files() {
    let folder = configured();
    let run = compact(&folder, &["-s", "fresh-window", "--window", "5k"]).ends(0);
    assert!(run.out.contains("strategy fresh-window") && run.out.contains("window 5,000 tokens"), "{}", run.out);
    assert!(!run.out.contains("instead of"), "{}", run.out);
    compact(&folder, &["--config", "{}"]).fails(2, &["settings.toml:9", "`llm-rolling-summary`", "--strategy"]);
    compact(&folder, &["-s", "tool-prune"]).fails(1, &["`tool-prune`", "cannot own slot `compress`", "`select`"]);
}

#[test]
fn a_model_on_the_command_line_is_granted_to_the_strategy_there() {
    let folder = configured();
    let headings = ["Goal", "Constraints", "Progress", "Decisions", "Next steps", "Critical context"];
    let body = "The importer loses rows with quotes, and part 6 is being worked on; the tests stay green. ".repeat(3);
    let answer: String = headings.iter().map(|heading| format!("## {heading}\n- {heading}: {body}\n\n")).collect();
    let script = serde_json::json!({ "answer": answer });
    folder.write("answers.jsonl", format!("{{\"script\": 1, \"after_last\": \"repeat\"}}\n{script}\n"));
    let alone = |arguments: &[&str]| {
        folder.run(["compact", "session.jsonl", "-w", "4k", "-s", "llm-rolling-summary"].iter().chain(arguments))
    };
    let config = r#"{"split_turns":false,"keep_recent_tokens":300,"min_fold_tokens":1}"#;
    let run = alone(&["--model", "script:answers.jsonl", "--show-summary", "--config", config]).ends(0);
    assert!(run.out.contains("The model was asked 2 times."), "{}", run.out);
    assert!(run.out.contains("Decisions: The importer loses rows"), "{}", run.out);
    alone(&[]).fails(1, &["cannot work without `model`", "grant = [\"model\"]"]);
    alone(&["--model", "script:missing.jsonl"]).fails(2, &["missing.jsonl", "the configuration has 1 error"]);
    alone(&["--model", "script:"]).fails(2, &["script:NAME"]);
}

#[test]
fn wrong_settings_are_shown_with_their_line_before_any_work() {
    let folder = configured();
    folder.write("settings.toml", "[window]\ntokns = 4_000\n");
    compact(&folder, &[]).fails(2, &["settings.toml:2", "did you mean `tokens`?", "the configuration has 1 error"]);
    compact(&folder, &["--set", "trigger.at=high"]).fails(2, &["--> --set trigger.at", "2 errors"]);
}
