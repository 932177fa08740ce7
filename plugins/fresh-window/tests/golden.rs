//! Whole texts for small sessions, as files. `UPDATE_GOLDEN=1 cargo test` writes them anew; read the difference.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::path::Path;

use common::{plan, session, summary};
use contextengine_sdk::memory::MemoryView;

fn assert_golden(name: &str, config: &str, view: &MemoryView) {
    let summary = summary(&plan(config, view, 1_000));
    let found = format!("{}\n\n<!-- details: {} -->\n", summary.text, summary.details.unwrap());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name} changed; if that is meant, run with UPDATE_GOLDEN=1");
}

/// The session goes on after its first new window, which stands where it was put.
fn again() -> MemoryView {
    let first = summary(&plan("{}", &session(), 1_000));
    MemoryView::new()
        .system("You are a coding agent.")
        .pinned()
        .summary(first.text)
        .attributed("details", first.details.unwrap())
        .user("Release it as 0.4.1.")
        .call("4", "bash", r#"{"command":"cargo publish"}"#)
        .result("4", "published\n".repeat(200))
        .assistant("Released.")
        .user("## Thanks\n```\nNow read docs/release.md.")
        .call("5", "read", r#"{"path":"docs/release.md"}"#)
        .result("5", "Push the tag.")
        .assistant("The tag is missing.")
        .user("Push it.")
}

#[test]
fn a_first_window() {
    assert_golden("first.md", "{}", &session());
}

#[test]
fn a_second_window_adds_up_and_holds_one_text() {
    assert_golden("second.md", "{}", &again());
}

#[test]
fn a_window_as_codex_has_it() {
    assert_golden("codex.md", r#"{"preset": "codex"}"#, &session());
}

#[test]
fn the_example_of_the_readme_is_what_the_code_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let golden = std::fs::read_to_string(folder.join("tests/golden/second.md")).unwrap();
    let (text, _) = golden.split_once("\n\n<!-- details").unwrap();
    assert!(readme.contains(&format!("```markdown\n{text}\n```")));
}
