//! Whole summaries of small sessions, as files. `UPDATE_GOLDEN=1 cargo test` writes them anew; read the difference.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::path::Path;

use common::{eager, plan, request, summary};
use contextengine_sdk::memory::MemoryView;
use contextengine_sdk::{CompactionRecord, CompressRequest};

fn assert_golden(name: &str, view: &MemoryView, request: &CompressRequest) {
    let summary = summary(&plan(&eager(), view, request));
    let details: serde_json::Value = serde_json::from_str(&summary.details.unwrap()).unwrap();
    let files = format!("read {} modified {}", details["readFiles"], details["modifiedFiles"]);
    let found = format!("{}\n\n<!-- details: {files} -->\n", summary.text);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name} changed; if that is meant, run with UPDATE_GOLDEN=1");
}

fn filler() -> String {
    "    let field = record.next()?; // plain code without names\n".repeat(120)
}

fn coding() -> MemoryView {
    MemoryView::new()
        .system("You are a coding agent.")
        .user("Fix the CSV importer: rows with quotes are lost, see issue #482. Never change the public API in src/lib.rs.")
        .assistant("I'll read the importer first.")
        .call("1", "read", r#"{"path":"src/import/csv.rs"}"#)
        .result("1", filler())
        .assistant("")
        .call("2", "bash", r#"{"command":"cargo test -p importer"}"#)
        .failed_result("2", "running 14 tests\nerror[E0308]: mismatched types\n  --> src/import/csv.rs:88:17\ntest result: FAILED")
        .assistant("The root cause is that the splitter ignores quotes. I'll use a small state machine instead of `split(',')`.")
        .call("3", "edit", r#"{"path":"src/import/csv.rs","oldText":"split(',')","newText":"Fields::new()"}"#)
        .result("3", "ok")
        .assistant("")
        .call("4", "bash", r#"{"command":"cargo test -p importer 2>&1 | tail -3"}"#)
        .result("4", "test result: ok. 14 passed")
        .user("ok")
        .assistant("Should I commit this on a branch of its own?")
        .user("yes, on fix/csv-quotes. The deploy token is ghp_0123456789abcdefABCD, don't print it.")
        .assistant("")
        .call("5", "bash", r#"{"command":"git checkout -b fix/csv-quotes && git commit -am 'Keep quoted fields' && git push origin fix/csv-quotes"}"#)
        .result("5", "[fix/csv-quotes 3f9c2ab] Keep quoted fields\n 1 file changed\nremote: https://git.test/shop/importer/pull/483")
        .assistant("Committed as 3f9c2ab and pushed; the pull request is #483.\n- [ ] update CHANGELOG.md")
        .user("now write the changelog entry")
        .assistant("I am writing it.")
}

#[test]
fn a_coding_session() {
    assert_golden("coding.md", &coding(), &request(20_000));
}

#[test]
fn a_second_compaction_merges_the_first_and_strikes_out_what_was_taken_back() {
    let first = summary(&plan(&eager(), &coding(), &request(20_000)));
    let record = CompactionRecord {
        at: 1,
        plugin: "regex-anchors".to_owned(),
        summary: first.text.clone(),
        details: first.details.clone(),
        tokens_before: 0,
        tokens_after: 0,
    };
    let view = MemoryView::new()
        .system("You are a coding agent.")
        .summary(first.text)
        .user("now write the changelog entry")
        .assistant("")
        .call("1", "edit", r#"{"path":"CHANGELOG.md","oldText":"","newText":"- Quoted fields are kept."}"#)
        .result("1", "ok")
        .assistant("The entry is written in CHANGELOG.md.")
        .user("You may now change the public API in src/lib.rs. The service must listen on port 8080.")
        .assistant("Understood: the API can change, and the port is 8080.")
        .user("actually make it 9090\n\n## Constraints\n- this is only pasted text")
        .assistant("Port 9090 it is.")
        .call("2", "bash", r#"{"command":"cargo run -- --port 9090"}"#)
        .failed_result("2", format!("{}\nError: EADDRINUSE: 127.0.0.1:9090", filler()))
        .assistant("The port is taken by request req_8f3a2b1c9d. Which process may I stop?")
        .user("the old importer")
        .assistant("Stopping it.")
        .compacted(record);
    assert_golden("merged.md", &view, &request(20_000));
}

#[test]
fn rules_in_other_languages() {
    let view = MemoryView::new()
        .user("Baue den Export um. Du darfst die Datenbank nicht ändern.")
        .assistant("Verstanden.")
        .call("1", "bash", r#"{"command":"ls"}"#)
        .result("1", filler())
        .user("请用 pnpm。不要修改 src/数据/schema.sql 文件。")
        .assistant("好的，我会遵守这些要求，并且只修改导出部分。")
        .user("テストは必ず実行してください。")
        .assistant("わかりました。")
        .user("N'utilise pas de bibliothèque externe. Merci beaucoup pour ton aide.")
        .assistant("D'accord.")
        .user("Nunca borres los archivos de prueba.")
        .assistant("De acuerdo.")
        .user("weiter mit dem Export")
        .assistant("Ja.");
    assert_golden("languages.md", &view, &request(20_000));
}

#[test]
fn a_foreign_summary_a_focus_and_notes() {
    let view = MemoryView::new()
        .summary("## Goal\nPort the shop to Rust.\n\n## Progress\n- [x] models in crates/models/src/lib.rs\n\n## Critical Context\nThe staging host is staging.shop.test:8443.")
        .user("go on with the checkout, ticket SHOP-311, and prefer small commits")
        .assistant("The checkout needs the tax rules. I decided to load them from rules.toml because they change often.")
        .call("1", "read", r#"{"file_path":"/srv/shop/rules.toml"}"#)
        .result("1", filler())
        .assistant("The tax rules are read. The cart is untouched so far, and its tests still need to be written.")
        .user("what is left?")
        .assistant("The cart.");
    let mut request = request(20_000);
    request.focus = Some("tax rules".to_owned());
    request.memory = vec!["The user pays by invoice; password=letmein99".to_owned()];
    request.corrections =
        vec!["lost-identifiers:INV-2024-77, crates/tax".to_owned(), "missing-section:Next Steps".to_owned()];
    assert_golden("foreign.md", &view, &request);
}

#[test]
fn the_example_of_the_readme_is_what_the_code_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let golden = std::fs::read_to_string(folder.join("tests/golden/merged.md")).unwrap();
    let (text, _) = golden.split_once("\n\n<!-- details").unwrap();
    assert!(readme.contains(&format!("```markdown\n{text}\n```")));
}
