//! Prompts and plans of small sessions, as files. `UPDATE_GOLDEN=1 cargo test` writes them anew; read the difference.
//!
//! One file a preset. The model is a function that writes one line below each heading. Sessions are small, so the
//! sizes of what stays are overridden; each file begins with the configuration.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use common::{plan, plugin, record, request, summary};
use contextengine_sdk::memory::{MemoryView, TestHost};
use contextengine_sdk::{Completion, CompressRequest, Finish, ModelError, Plan, Prompt, Segment};
use llm_rolling_summary::{PRESETS, preset};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn assert_golden(name: &str, found: &str) {
    let path = folder().join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} changed; if that is meant, run with UPDATE_GOLDEN=1 and read the difference");
}

/// One line below each heading that the prompt asks for.
fn model(prompt: &Prompt) -> Result<Completion, ModelError> {
    let form = prompt.user.rsplit("Begin with the first heading:\n").next().unwrap_or_default();
    let headings = form.lines().filter(|line| line.starts_with('#'));
    let text: String = headings.map(|heading| format!("{heading}\n- the model's words\n\n")).collect();
    let text = if text.is_empty() { "The model's words, without headings.".to_owned() } else { text };
    Ok(Completion { text, finish: Finish::Complete, input_tokens: 0, output_tokens: 0 })
}

fn host() -> TestHost {
    TestHost::new().window(128_000).model(model)
}

/// A session of four turns, the last of which is long and goes on.
fn coding() -> MemoryView {
    let code = "    let field = record.next()?; // a line of the file\n".repeat(36);
    let log = "test result: ok. 14 passed in the suite of the importer\n".repeat(30);
    MemoryView::new()
        .system("You are a coding agent.")
        .user("Fix the CSV importer: rows with quotes are lost, see issue #482. Never change the public API in src/lib.rs.")
        .assistant("I read the importer first.")
        .call("1", "read", r#"{"path":"src/import/csv.rs"}"#)
        .result("1", &code)
        .assistant("Now the tests.")
        .call("2", "bash", r#"{"command":"cargo test -p importer"}"#)
        .failed_result("2", "error[E0308]: mismatched types\n  --> src/import/csv.rs:88:17\ntest result: FAILED")
        .assistant("The splitter ignores quotes. I write a small state machine.")
        .call("3", "edit", r#"{"path":"src/import/csv.rs","oldText":"split(',')","newText":"Fields::new()"}"#)
        .result("3", "ok")
        .assistant("Fixed; the tests pass.")
        .user("Commit it on fix/csv-quotes. Only squash merges, please.")
        .assistant("I commit.")
        .call("4", "bash", r#"{"command":"git commit -am 'Keep quoted fields'"}"#)
        .result("4", "[fix/csv-quotes 3f9c2ab1] Keep quoted fields\n 1 file changed")
        .assistant("Committed as 3f9c2ab1.")
        .user("Now port the exporter to the same machine.")
        .assistant("I read the exporter.")
        .call("5", "read", r#"{"path":"src/export/csv.rs"}"#)
        .result("5", &code)
        .assistant("I port it.")
        .call("6", "write", r#"{"path":"src/export/csv.rs","content":"…"}"#)
        .result("6", "ok")
        .assistant("I run its tests.")
        .call("7", "bash", r#"{"command":"cargo test -p exporter"}"#)
        .result("7", &log)
        .assistant("And all tests.")
        .call("8", "bash", r#"{"command":"cargo test"}"#)
        .result("8", &log)
}

fn written(config: &str, host: &TestHost, plan: &Plan) -> String {
    let mut out = format!("# Configuration\n\n{config}\n");
    for (at, prompt) in host.prompts().iter().enumerate() {
        let number = at + 1;
        let most = prompt.max_output_tokens;
        if at == 0 {
            let _ = write!(out, "\n# System\n\n{}\n", prompt.system);
        }
        let _ = write!(out, "\n# Prompt {number}, at most {most} tokens of output\n\n{}\n", prompt.user);
    }
    out.push_str("\n# Plan\n\n");
    for segment in &plan.segments {
        let _ = match segment {
            Segment::Keep(span) => writeln!(out, "keep {}..{}", span.start, span.end),
            Segment::Summary(summary) => {
                let covers: Vec<String> =
                    summary.covers.iter().map(|span| format!("{}..{}", span.start, span.end)).collect();
                let details = summary.details.as_deref().unwrap_or_default();
                writeln!(out, "summary of {}\n\n{}\n\ndetails {details}\n", covers.join(", "), summary.text)
            }
            other => panic!("{other:?}"),
        };
    }
    out
}

fn golden(name: &str, config: &str, view: &MemoryView, request: &CompressRequest) {
    let host = host();
    let plan = plan(&plugin(config), view, &host, request);
    assert_golden(name, &written(config, &host, &plan));
}

#[test]
fn each_preset_asks_and_plans_as_its_file_shows() {
    for (name, _) in PRESETS {
        let small = match name {
            "pi" | "openclaw" => r#", "keep_recent_tokens": 600"#,
            "opencode" => r#", "keep_recent_min": 600, "keep_recent_max": 600"#,
            "hermes" => r#", "keep_recent_min": 600, "keep_recent_max": 600, "keep_recent_entries": 2"#,
            "openhands" => r#", "max_entries": 16"#,
            "codex" | "claude-code" | "maka" => "",
            other => panic!("{other} has no golden file"),
        };
        assert!(preset(name).is_ok());
        let config = format!(r#"{{"preset": "{name}", "min_fold_tokens": 0{small}}}"#);
        golden(&format!("{name}.md"), &config, &coding(), &request(100_000));
    }
}

#[test]
fn the_default_with_a_focus_notes_and_defects() {
    let mut request = request(100_000);
    request.focus = Some("the state machine".to_owned());
    request.memory = vec!["The user reviews on Fridays.".to_owned()];
    request.corrections = vec!["lost-identifiers: src/import/csv.rs:88:17".to_owned()];
    golden("default.md", r#"{"keep_recent_tokens": 600, "min_fold_tokens": 0}"#, &coding(), &request);
}

#[test]
fn a_second_compaction_updates_the_first() {
    let config = r#"{"keep_recent_tokens": 1, "min_fold_tokens": 0, "split_turns": false}"#;
    let told = TestHost::new().answers([FIRST]);
    let first = summary(&plan(&plugin(config), &coding(), &told, &request(100_000)));
    let view = MemoryView::new()
        .system("You are a coding agent.")
        .summary(first.text.clone())
        .compacted(record(&first, 1))
        .user("Now port the exporter to the same machine.")
        .call("8", "bash", r#"{"command":"cargo test"}"#)
        .result("8", "test result: ok. 20 passed in the suite of the exporter\n".repeat(12))
        .assistant("All tests pass.")
        .user("Write the changelog entry; you must not mention the old splitter.")
        .call("9", "edit", r#"{"path":"CHANGELOG.md","oldText":"","newText":"- Quoted fields are kept."}"#)
        .result("9", "ok, the entry stands below the heading of the next version ".repeat(12))
        .assistant("Written.")
        .user("And the version?");
    let told = TestHost::new().answers([SECOND]);
    let plan = plan(&plugin(config), &view, &told, &request(100_000));
    assert_golden("second.md", &written(config, &told, &plan));
}

/// What a model might write about the first three turns.
const FIRST: &str = "\
## Goal
- Fix the CSV importer, which loses rows with quotes (#482)

## Constraints
- Never change the public API in src/lib.rs.

## Progress
### Done
- src/import/csv.rs reads quoted fields with a small state machine; its tests pass
- Committed as 3f9c2ab1 on fix/csv-quotes
### In progress
- none
### Blocked
- none

## Decisions
- A state machine instead of `split(',')`, which cannot see quotes

## Next steps
- Port the exporter to the same machine

## Critical context
- Before the fix: E0308 at src/import/csv.rs:88:17";

/// The same, updated; the model forgets a rule and the commit.
const SECOND: &str = "\
## Goal
- Fix the CSV importer (#482) and port the exporter to the same state machine

## Constraints
- Only squash merges, please.

## Progress
### Done
- src/import/csv.rs and src/export/csv.rs use the state machine; all 20 tests pass
- CHANGELOG.md has the entry
### In progress
- none
### Blocked
- none

## Decisions
- A state machine instead of `split(',')`, which cannot see quotes

## Next steps
- Answer which version the entry belongs to

## Critical context
- none";

#[test]
fn the_example_of_the_readme_is_what_the_code_writes() {
    let readme = std::fs::read_to_string(folder().join("../../README.md")).unwrap();
    let golden = std::fs::read_to_string(folder().join("second.md")).unwrap();
    let (_, plan) = golden.split_once("\n\n[Summary of").unwrap();
    let (text, _) = plan.split_once("\n\ndetails {").unwrap();
    assert!(readme.contains(&format!("```markdown\n[Summary of{text}\n```")), "copy the summary of second.md");
}
