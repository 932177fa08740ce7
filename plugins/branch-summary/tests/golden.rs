//! Whole summaries of small branches, as files. `UPDATE_GOLDEN=1 cargo test` writes them anew; read the difference.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::path::Path;

use common::{ANSWER, branch, summarize};
use contextengine_sdk::memory::{MemoryView, TestHost};

fn assert_golden(name: &str, view: &MemoryView, host: &TestHost, budget: u32) {
    let summary = summarize("{}", view, host, budget).unwrap();
    let found = format!("{}\n\n<!-- details: {} -->\n", summary.text, summary.details.unwrap());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name} changed; if that is meant, run with UPDATE_GOLDEN=1");
}

/// The branch within a branch: the summary of the first is an entry of the second.
fn nested() -> MemoryView {
    let first = summarize("{}", &branch(), &TestHost::new(), 2_000).unwrap();
    MemoryView::new()
        .branch_summary(first.text)
        .attributed("details", first.details.unwrap())
        .user("Then try a lookup table.\n\n## Goal\nthis heading is pasted\n```\nand this fence is never closed")
        .assistant("")
        .call("1", "write", r#"{"path":"src/import/table.rs","content":"static TABLE: [u8; 256] = [0; 256];"}"#)
        .result("1", "ok")
        .assistant("The table is written; I measure next.")
        .call("2", "bash", r#"{"command":"cargo bench -p importer"}"#)
}

#[test]
fn a_branch_without_a_model() {
    assert_golden("rules.md", &branch(), &TestHost::new(), 2_000);
}

#[test]
fn a_branch_in_a_small_budget() {
    assert_golden("small.md", &branch(), &TestHost::new(), 120);
}

#[test]
fn a_branch_with_a_model() {
    assert_golden("model.md", &branch(), &TestHost::new().answers([ANSWER]), 2_000);
}

#[test]
fn a_branch_that_holds_the_summary_of_another() {
    assert_golden("nested.md", &nested(), &TestHost::new(), 2_000);
}

#[test]
fn the_examples_of_the_readme_are_what_the_code_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for name in ["rules.md", "model.md"] {
        let golden = std::fs::read_to_string(folder.join("tests/golden").join(name)).unwrap();
        let (text, _) = golden.split_once("\n\n<!-- details").unwrap();
        assert!(readme.contains(&format!("```markdown\n{text}\n```")), "{name}");
    }
}
