//! What goes out of a small session, as a file. `UPDATE_GOLDEN=1 cargo test` writes it anew; read the difference.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::{plugin, select, sent, warm};
use contextengine_sdk::View;
use contextengine_sdk::memory::{MemoryView, TestHost};

const CONFIG: &str = r#"{"keep_turns": 1, "keep_tokens": 900, "start_share": 0.2, "trim_over_bytes": 600,
    "trim_head_bytes": 250, "trim_tail_bytes": 150, "clear_start_share": 0.35, "clear_stop_share": 0.3,
    "min_gain_tokens": 500}"#;

fn result(view: MemoryView, id: &str, tool: &str, arguments: &str, line: &str, lines: u32) -> MemoryView {
    let text: String = (1..=lines).map(|n| format!("{n}: {line}\n")).collect();
    view.assistant("").call(id, tool, arguments).result(id, text).attributed("id", format!("entry-{id}"))
}

fn session() -> MemoryView {
    let view = MemoryView::new().system("You are a coding agent.").pinned().user("Why are quoted fields lost?");
    let view = result(view, "1", "read", r#"{"path":"src/csv.rs"}"#, "let field = record.next()?;", 120);
    let view = result(view, "2", "skill", r#"{"name":"rust"}"#, "Prefer iterators to indices.", 40);
    let view = result(view, "3", "bash", r#"{"command":"cargo test"}"#, "test csv::case ... ok", 90);
    let view = view.assistant("The splitter ignores quotes.").user("Fix it.");
    let view = result(view, "4", "read", r#"{"path":"src/split.rs"}"#, "fn split(line: &str)", 60);
    let view = view.assistant("Fixed.").user("Now the changelog.");
    result(view, "5", "read", r#"{"path":"CHANGELOG.md"}"#, "- an entry", 30).assistant("I write it.")
}

/// Positions, and the ends of long texts.
fn shown(texts: &[String], host: &TestHost) -> String {
    let mut page = String::new();
    for (at, text) in texts.iter().enumerate() {
        let lines: Vec<&str> = text.lines().collect();
        let _ = match lines[..] {
            [first, second, .., last] if lines.len() > 24 => {
                writeln!(page, "{at:2} {first}\n   {second}\n   (… {} lines)\n   {last}", lines.len() - 3)
            }
            _ => writeln!(page, "{at:2} {}", lines.join("\n   ")),
        };
    }
    for (_, words) in host.logged() {
        let _ = writeln!(page, "\nlog: {words}");
    }
    page
}

#[test]
fn a_small_session() {
    let (view, host) = (session(), TestHost::new());
    let plan = select(&plugin(CONFIG), &host, &view, &warm(&view, 8_000, 2_000));
    let found = shown(&sent(&view, plan.as_ref()), &host);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/session.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "the golden file changed; if that is meant, run with UPDATE_GOLDEN=1");
    assert_eq!(view.len(), 17);
}

#[test]
fn the_example_of_the_readme_is_what_the_code_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let golden = std::fs::read_to_string(folder.join("tests/golden/session.txt")).unwrap();
    assert!(readme.contains(&format!("```text\n{golden}```")));
}

#[test]
fn the_readme_has_a_line_for_every_key() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let keys = serde_json::to_value(tool_prune::Config::default()).unwrap();
    for key in keys.as_object().unwrap().keys() {
        assert!(readme.contains(&format!("`{key}`")), "{key} is not in README.md");
    }
}
