//! What becomes an exact name, and what is noise.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{pad, section, summary_of};
use contextengine_sdk::memory::MemoryView;

fn names_in_words(text: &str) -> String {
    let view = pad(MemoryView::new().user("Begin.").assistant("I begin now, as you said."))
        .user(text)
        .assistant("noted")
        .user("go on with it")
        .assistant("ok");
    section(&summary_of(&view), "Exact names")
}

fn names_in_output(command: &str, output: &str) -> String {
    let arguments = serde_json::json!({ "command": command }).to_string();
    let view = pad(MemoryView::new().user("Begin.").assistant("I begin now, as you said."))
        .assistant("")
        .call("1", "bash", arguments)
        .result("1", output)
        .user("go on with it")
        .assistant("ok");
    section(&summary_of(&view), "Exact names")
}

#[test]
fn names_are_found_with_their_exact_spelling() {
    for (text, listed) in [
        ("see src/Import/csv_reader.rs:88:17 please", "- files: src/Import/csv_reader.rs"),
        ("the file Cargo.toml is wrong", "- files: Cargo.toml"),
        ("look at ~/.pi/agent/themes and /etc/hosts.d/x", "~/.pi/agent/themes"),
        (r"open C:\Users\me\notes.txt now", r"C:\Users\me\notes.txt"),
        ("请看src/main.rs文件", "src/main.rs"),
        ("read https://docs.test/a/b?x=1#frag.", "- urls: https://docs.test/a/b?x=1#frag"),
        ("commit 3f9c2ab broke it", "- commits: 3f9c2ab"),
        ("it is 0123456789abcdef0123456789abcdef01234567", "0123456789abcdef0123456789abcdef01234567"),
        ("fixes #1234 and owner/repo#77", "owner/repo#77"),
        ("ticket ABC-123 and CVE-2024-12345", "ABC-123"),
        ("on feature/new-parser please", "- branches: feature/new-parser"),
        ("use @scope/pkg-name@1.2.3 here", "- packages: @scope/pkg-name@1.2.3"),
        ("request id: a1b2c3d4e5", "- ids: a1b2c3d4e5"),
        ("id 6f1e8b52-4c7e-4f0e-9d5a-0123456789ab failed", "6f1e8b52-4c7e-4f0e-9d5a-0123456789ab"),
        ("db at db.internal.test:5432", "- hosts: db.internal.test:5432"),
        ("on port 8081 it hangs", "port 8081"),
        ("set $DATABASE_URL first", "- env: DATABASE_URL"),
        ("we run v2.14.3-beta.1 today", "- versions: v2.14.3-beta.1"),
        ("a ValidationError with ENOENT and TS2322", "ValidationError"),
        ("ask @carol-d about it", "- handles: @carol-d"),
    ] {
        let names = names_in_words(text);
        assert!(names.contains(listed), "{text:?} gave\n{names}");
    }
}

#[test]
fn noise_is_not_listed() {
    for text in [
        "read and/or write, client/server, 24/7, he/she",
        "on 2024.11.02 at 01.48.00, or 12/05/2024",
        "the type application/json and text/html",
        "the colours #b5bd68 and #333 with bg 343541",
        "UTF-8, SHA-256, ISO-8601 and GPT-4",
        "Node.js and console.log are fine, e.g. this",
        "type /mode or press /",
        "src/数据/schema.sql and notes/ärger",
        "https://${host}/x and http://{}:{} and https://example.com/a",
        "the hash deadbeef1 of nothing",
        "it takes 3.5 seconds, 99.9 percent, 10x",
        "$HOME and ${PATH}",
    ] {
        let names = names_in_words(text);
        assert!(names.trim().is_empty(), "{text:?} gave\n{names}");
    }
}

#[test]
fn output_of_tools_needs_more_evidence_than_words() {
    let code = "import x from './lib/x.js';\nimport y from '../y.js';\n@Override\ncolor: #333;\nconst hash = deadbeef12;\n\
                at node_modules/foo/bar.js:1\n<div>text</div>\nMAX_SIZE = 3";
    assert_eq!(names_in_output("make all", code).trim(), "");
    let log = "3f9c2ab Fix the parser (#482)\ndiff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs";
    let names = names_in_output("git log -p", log);
    assert!(names.contains("commits: 3f9c2ab") && names.contains("issues: #482"), "{names}");
    assert!(names.contains("src/a.rs") && !names.contains("a/src/a.rs"), "{names}");
}

#[test]
fn a_name_counts_once_per_entry() {
    let view = pad(MemoryView::new().user("Begin.").assistant("I begin now, as you said."))
        .user("src/often.rs src/often.rs src/often.rs src/often.rs")
        .assistant("src/rare.rs it is, and nothing else than that")
        .user("src/rare.rs again")
        .assistant("ok")
        .user("go on")
        .assistant("ok");
    assert!(section(&summary_of(&view), "Exact names").contains("- files: src/rare.rs ×2, src/often.rs\n"));
}
