//! Sessions in a store: their whole life through the program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

mod common;

use serde_json::{Value, json};

use common::{Folder, Step, openai_chat, pi, sessions, steps, with_session};

/// A folder with a session of Pi in the store.
fn imported() -> Folder {
    let folder = with_session();
    folder.run(["session", "import", "session.jsonl", "--name", "parser"]).ends(0);
    folder
}

fn compact(folder: &Folder, name: &str) -> Value {
    let report = folder.compact(&["--session", name, "--json"]).ends(0).json();
    assert_eq!(report["outcome"], "compacted");
    report
}

fn show(folder: &Folder, name: &str) -> Value {
    folder.run(["session", "show", name, "--json"]).ends(0).json()
}

fn log(folder: &Folder, name: &str) -> Value {
    folder.run(["session", "log", name, "--json"]).ends(0).json()
}

fn search(folder: &Folder, text: &str) -> Vec<Value> {
    let report = folder.run(["session", "search", text, "--limit", "50", "--json"]).ends(0).json();
    assert_eq!(report["unindexed_records"], 0);
    report["hits"].as_array().unwrap().clone()
}

#[test]
fn a_session_lives_in_the_store_and_comes_back_byte_for_byte() {
    for (format, file, session) in sessions() {
        let folder = Folder::new();
        folder.write(file, &session);
        let inspected = folder.run(["inspect", file, "--json"]).ends(0).json();
        let imported = folder.run(["session", "import", file, "--json"]).ends(0).json();
        assert_eq!(imported["session"], format, "the file's name without its ending");
        assert_eq!(imported["context"], inspected["context"]);
        let listed = folder.run(["session", "list", "--json"]).ends(0).json();
        assert_eq!(listed["sessions"][0]["session"], format);
        assert_eq!(listed["sessions"][0]["format"], format);
        assert_eq!(listed["sessions"][0]["logged_entries"], inspected["context"]["entries"]);
        assert_eq!(listed["sessions"][0]["compaction_id"], Value::Null);
        let before = show(&folder, format);
        for part in ["context", "largest", "tools", "turns", "groups"] {
            assert_eq!(before[part], inspected[part], "{format}: {part}");
        }

        let report = compact(&folder, format);
        assert_eq!(report["before"], before["context"]);
        assert_eq!(report["written"], Value::Null);
        let after = show(&folder, format);
        assert_eq!(after["context"], report["after"]);
        assert_eq!(after["compactions"], json!([report["recorded"]["compaction_id"]]));
        assert_eq!(after["logged_entries"], inspected["context"]["entries"]);

        folder.run(["session", "export", format, "--out", "compacted"]).ends(0);
        let read = folder.run(["inspect", "compacted", "--json"]).ends(0).json();
        assert_eq!((&read["context"], &read["format"]), (&after["context"], &json!(format)));
        assert_eq!(read["problems"], json!([]));

        folder.run(["session", "undo", format]).ends(0);
        assert_eq!(show(&folder, format)["context"], before["context"]);
        folder.run(["session", "export", format, "--out", "same"]).ends(0);
        assert_eq!(folder.read("same"), session, "{format}");
        assert_eq!(folder.read(file), session, "the imported file was never touched");
    }
}

#[test]
fn a_session_of_pi_is_exported_as_its_lines_and_one_compaction_however_often_it_was_compacted() {
    let folder = imported();
    let session = folder.read("session.jsonl");
    compact(&folder, "parser");
    folder.run(["session", "export", "parser", "--out", "once"]).ends(0);
    let report = folder.run(
        ["compact", "--session", "parser", "--json", "--window", "4000", "--target", "300"].into_iter().chain([
            "--config",
            r#"{"keep_recent_tokens":1,"max_summary_tokens":300}"#,
            "--out",
            "twice",
        ]),
    );
    let report = report.ends(0).json();
    assert_eq!(report["outcome"], "compacted", "{report:#}");
    assert_eq!(report["written"]["file"], "twice");
    for file in ["once", "twice"] {
        let written = folder.read(file);
        let added = written.strip_prefix(&session).unwrap();
        assert_eq!(added.lines().count(), 1, "{added}");
        let record: Value = serde_json::from_str(added).unwrap();
        assert_eq!(record["type"], "compaction");
    }
    let read = folder.run(["inspect", "twice", "--json"]).ends(0).json();
    assert_eq!(read["context"], report["after"]);
    // The same session gives the same file.
    folder.run(["session", "export", "parser", "--out", "again"]).ends(0);
    assert_eq!(folder.read("again"), folder.read("twice"));
}

#[test]
fn the_log_says_when_who_why_and_what() {
    let folder = imported();
    let report = compact(&folder, "parser");
    let log_now = log(&folder, "parser");
    let one = &log_now["compactions"][0];
    assert_eq!(one["state"], "in_force");
    assert_eq!(one["owner"], "regex-anchors");
    assert_eq!(one["owner_version"], report["strategy"]["version"]);
    assert_eq!(one["component_sha256"], report["strategy"]["component_sha256"]);
    assert_eq!(one["trigger"], "manual");
    assert_eq!(one["tokens_before"], report["before"]["tokens"]);
    assert_eq!(one["tokens_after"], report["after"]["tokens"]);
    for (logged, reported) in [
        ("kept_entries", "kept"),
        ("summarised_entries", "summarised"),
        ("dropped_entries", "dropped"),
        ("written_summaries", "summaries_written"),
    ] {
        assert_eq!(one[logged], report["fates"][reported]["entries"], "{logged}");
    }
    folder.run(["session", "undo", "parser"]).ends(0);
    compact(&folder, "parser");
    let log_now = log(&folder, "parser");
    let states: Vec<&Value> =
        log_now["compactions"].as_array().unwrap().iter().map(|compaction| &compaction["state"]).collect();
    assert_eq!(states, ["in_force", "undone"], "newest first");
    assert!(log_now["compactions"][1]["undone_at_ms"].as_i64().unwrap() > 0);

    let text = folder.run(["session", "log", "parser"]).ends(0).out;
    let hash = &report["strategy"]["component_sha256"].as_str().unwrap()[..12];
    for words in ["UTC  in force\n", "UTC  undone at 2", hash, "trigger: manual", "; written: 1 summary"] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
}

#[test]
fn what_was_compacted_away_is_found_and_so_is_chinese_japanese_and_korean() {
    let folder = imported();
    assert!(!search(&folder, "field_17").is_empty());
    compact(&folder, "parser");
    folder.run(["session", "export", "parser", "--to", "openai-chat", "--out", "seen"]).ends(0);
    assert!(!folder.read("seen").contains("field_17"), "the model does not see it any more");
    let hits = search(&folder, "field_17");
    assert_eq!(hits.len(), 6);
    assert_eq!(hits[0]["session"], "parser");
    assert_eq!(hits[0]["kind"], "tool_result");
    assert!(hits[0]["entry_id"].as_str().is_some_and(|id| id.starts_with('m')), "{}", hits[0]);
    assert!(hits[0]["snippet"].as_str().is_some_and(|snippet| snippet.contains("field_17")), "{}", hits[0]);

    let text = "データベースの移行を確認してください。数据库迁移失败。한국어문장도찾습니다";
    folder.write("cjk.json", openai_chat(&[Step::User(text.to_owned()), Step::Says("はい".to_owned())]));
    folder.run(["session", "import", "cjk.json"]).ends(0);
    for part in ["ベース", "移行を確認", "迁移", "문장", "库"] {
        let hits = search(&folder, part);
        assert_eq!(hits.len(), 1, "{part}");
        assert_eq!(hits[0]["session"], "cjk");
    }
    let hits = |arguments: &[&str]| folder.run(arguments).ends(0).json()["hits"].as_array().unwrap().len();
    assert_eq!(hits(&["session", "search", "field_17", "--session", "cjk", "--json"]), 0);
    assert_eq!(hits(&["session", "search", "field_17", "--limit", "2", "--json"]), 2);
    assert_eq!(folder.run(["session", "search", "neverwritten"]).ends(0).out, "Nothing was found.\n");
}

#[test]
fn a_name_is_taken_once_and_another_can_be_given() {
    let folder = imported();
    let again = ["session", "import", "session.jsonl", "--name", "parser"];
    folder.run(again).fails(3, &["session `parser` exists already", "--name"]);
    folder.run(["session", "import", "session.jsonl", "--name", "parser-2"]).ends(0);
    compact(&folder, "parser-2");
    folder.run(["session", "import", "session.jsonl", "--name", "Ana's parser"]).ends(0);
    let report = folder.compact(&["--session", "Ana's parser"]).ends(0).out;
    assert!(report.contains(r"`ctxe session undo 'Ana'\''s parser'` takes it back."), "{report}");
    let listed = folder.run(["session", "list"]).ends(0).out;
    assert!(listed.starts_with("3 sessions in "), "{listed}");
    assert_eq!(show(&folder, "parser")["compactions"], json!([]), "each has its own compactions");
    folder.run_with_input(["session", "import", "-"], pi(&steps()).as_bytes()).fails(2, &["--name"]);
    folder.run_with_input(["session", "import", "-", "--name", "piped"], pi(&steps()).as_bytes()).ends(0);
    for name in ["", "two\nlines", "--option", "a\u{1b}[2J", &"x".repeat(201)] {
        folder
            .run(["session", "import", "session.jsonl", &format!("--name={name}")])
            .fails(2, &["is no name for a session"]);
    }
    folder.run(["session", "import", "missing.jsonl"]).fails(3, &["missing.jsonl"]);
    folder.write("prose", "Dear diary");
    folder.run(["session", "import", "prose"]).fails(3, &["prose", "not JSON"]);
}

#[test]
fn a_session_that_is_not_there_is_told_with_the_nearest_names() {
    let folder = imported();
    for arguments in [
        &["session", "show", "parsr"][..],
        &["session", "log", "parsr"],
        &["session", "undo", "parsr"],
        &["session", "export", "parsr"],
        &["session", "search", "x", "--session", "parsr"],
        &["compact", "--session", "parsr"],
    ] {
        folder.run(arguments).fails(3, &["there is no session `parsr`", "did you mean `parser`?"]);
    }
    folder.run(["session", "show", "weather"]).fails(3, &["`ctxe session list`"]);
}

#[test]
fn nothing_to_do_is_no_failure() {
    let folder = imported();
    assert!(folder.run(["session", "undo", "parser"]).ends(0).out.starts_with("Nothing to undo"));
    let undone = folder.run(["session", "undo", "parser", "--json"]).ends(0).json();
    assert_eq!(undone["undone_compaction_id"], Value::Null);
    let report = folder.run(["compact", "--session", "parser"]).ends(0).out;
    assert!(report.contains("Nothing to do: ") && report.contains("Nothing was recorded."), "{report}");
    assert_eq!(log(&folder, "parser")["compactions"], json!([]));
}

#[test]
fn arguments_that_do_not_go_together_end_with_2() {
    let folder = imported();
    folder.run(["compact"]).fails(2, &["--session NAME"]);
    for arguments in [
        &["session.jsonl", "--session", "parser"][..],
        &["session.jsonl", "--store", "x.db"],
        &["--session", "parser", "--in-place"],
        &["--session", "parser", "--from", "pi"],
    ] {
        folder.run(["compact"].iter().chain(arguments)).fails(2, &["cannot be used with"]);
    }
    folder.run(["compact", "--session", "parser", "--to", "pi"]).fails(2, &["--out"]);
    folder.run(["session", "export", "parser", "--out", "no/such/file"]).fails(3, &["there is no folder no/such"]);
    folder.run(["compact", "--session", "parser", "--out", "no/such/file"]).fails(3, &["there is no folder no/such"]);
}

#[test]
fn a_strategy_that_fails_leaves_the_session_as_it_was() {
    let folder = imported();
    let before = show(&folder, "parser");
    let config = r#"{"behaviour":"panic"}"#;
    let guest = common::hostile_guest();
    folder.run(["compact", "--session", "parser", "-s", &guest, "--config", config]).fails(1, &["words of the guest"]);
    assert_eq!(show(&folder, "parser"), before);
    // The lease was given back.
    compact(&folder, "parser");
}

#[test]
fn an_export_to_standard_output_is_the_session_alone() {
    let folder = imported();
    let run = folder.run(["session", "export", "parser"]).ends(0);
    assert_eq!(run.out, folder.read("session.jsonl"));
    assert!(run.err.contains("Written to standard output (pi, "), "{}", run.err);
    let run = folder.compact(&["--session", "parser", "--out", "-", "--to", "claude-code", "--json"]).ends(0);
    let report: Value = serde_json::from_str(&run.err).unwrap();
    assert_eq!(report["written"]["format"], "claude-code");
    assert_eq!(report["written"]["bytes"], run.bytes.len());
}

#[test]
fn what_an_earlier_compaction_of_the_file_hides_stays_in_the_file() {
    let folder = with_session();
    folder.compact(&["session.jsonl", "--out", "compacted.jsonl"]).ends(0);
    let report = folder.run(["session", "import", "compacted.jsonl", "--json"]).ends(0).json();
    assert!(report["hidden_messages"].as_u64().unwrap() > 10, "{report:#}");
    let seen = folder.run(["inspect", "compacted.jsonl", "--json"]).ends(0).json();
    assert_eq!(show(&folder, "compacted")["context"], seen["context"]);
    folder.run(["session", "export", "compacted", "--out", "same"]).ends(0);
    assert_eq!(folder.read("same"), folder.read("compacted.jsonl"));
}
