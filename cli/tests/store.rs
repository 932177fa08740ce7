//! Where the store is, what is wrong with it, and what others wrote into it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use contextengine::hooks::Trigger;
use contextengine::store::{
    CompactionCommit, ContextItem, Covered, DroppedEntries, LogBody, NewRecord, NewSession, SqliteOptions, SqliteStore,
    Store, StoredEntry,
};
use contextengine::transcript::{Block, Entry, EntryId, EntryKind, Timestamp};
use serde_json::{Value, json};

use common::{Folder, Step, pi, sessions, steps, with_session};

/// Does something with the store of a folder, as another program may.
fn with_store<T>(folder: &Folder, work: impl AsyncFnOnce(&dyn Store) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(folder.store(), SqliteOptions::default()).await.unwrap();
        work(&store).await
    })
}

fn imported() -> Folder {
    let folder = with_session();
    folder.run(["session", "import", "session.jsonl", "--name", "parser"]).ends(0);
    folder
}

/// Sequences that clear the screen, set the title, ring, go back, and turn the text around.
const EVIL: &str = "\u{1b}[2J\u{1b}]0;title\u{7}\u{8}\r\u{7f}\u{9b}31m\u{202e}\u{2066}\u{e0041}evil\nctxe: all is well";

#[track_caller]
fn is_harmless(text: &str) {
    let hidden = |c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}');
    assert!(text.chars().all(|c: char| matches!(c, '\n' | '\t') || !(c.is_control() || hidden(c))), "{text:?}");
    assert!(text.lines().all(|line| !line.starts_with("ctxe: all is well")), "{text}");
}

#[test]
fn the_store_is_named_by_option_then_environment_then_the_users_own() {
    let folder = with_session();
    let list = |store: &[&str], variable: Option<&str>| {
        let mut command = folder.command(["session", "list", "--json"].iter().chain(store));
        if let Some(file) = variable {
            command.env("CTXE_STORE", file);
        }
        let output = command.output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["sessions"].as_array().unwrap().iter().map(|one| one["session"].clone()).collect::<Vec<Value>>()
    };
    let import = |name: &str, store: &[&str], variable: Option<&str>| {
        let mut command = folder.command(["session", "import", "session.jsonl", "--name", name].iter().chain(store));
        if let Some(file) = variable {
            command.env("CTXE_STORE", file);
        }
        assert!(command.output().unwrap().status.success());
    };
    import("own", &[], None);
    import("by-variable", &[], Some("variable.db"));
    import("by-option", &["--store", "option.db"], Some("variable.db"));
    assert_eq!(list(&[], None), ["own"]);
    assert_eq!(list(&[], Some("variable.db")), ["by-variable"]);
    assert_eq!(list(&[], Some("")), ["own"], "an empty variable names nothing");
    assert_eq!(list(&["--store", "option.db"], Some("variable.db")), ["by-option"]);
    let compact = folder.compact(&["--session", "by-option", "--store", "option.db"]).ends(0);
    assert!(compact.out.contains("Recorded as compaction-1"), "{}", compact.out);
}

#[cfg(unix)]
#[test]
fn the_users_own_store_is_for_the_user_alone_and_so_is_what_is_exported() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = imported();
    folder.run(["session", "export", "parser", "--out", "out"]).ends(0);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.store().parent().unwrap()), 0o700);
    assert_eq!(mode(&folder.store()), 0o600);
    assert_eq!(mode(&folder.path("out")), 0o600);
}

#[test]
fn only_an_import_makes_a_store() {
    let folder = with_session();
    for arguments in [
        &["session", "list"][..],
        &["session", "show", "x"],
        &["session", "log", "x"],
        &["session", "search", "x"],
        &["session", "undo", "x"],
        &["session", "export", "x"],
        &["compact", "--session", "x"],
    ] {
        folder.run(arguments).fails(3, &["there is no store", "sessions.db", "`ctxe session import FILE`"]);
    }
    assert_eq!(folder.names(), ["session.jsonl"]);
    let import = ["session", "import", "session.jsonl", "--store", "no/such/folder/x.db"];
    folder.run(import).fails(3, &["there is no folder no/such/folder"]);
}

#[test]
fn a_file_that_is_no_store_or_a_newer_one_is_left_alone() {
    let folder = imported();
    folder.write("prose.db", "Dear diary, today I wrote no database. ".repeat(100));
    folder.run(["session", "list", "--store", "prose.db"]).fails(3, &["prose.db"]);
    assert!(folder.read("prose.db").starts_with("Dear diary"));

    let mut bytes = std::fs::read(folder.store()).unwrap();
    // `user_version`, in the header of a SQLite file.
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    folder.write("newer.db", &bytes);
    folder.run(["session", "list", "--store", "newer.db"]).fails(3, &["schema 99", "newer program"]);
    folder.run(["compact", "--session", "parser", "--store", "newer.db"]).fails(3, &["schema 99"]);
}

#[test]
fn a_damaged_store_is_named_as_such_and_never_brings_ctxe_down() {
    let folder = imported();
    let sound = std::fs::read(folder.store()).unwrap();
    let mut told = 0;
    for page in 1..sound.len() / 4096 {
        let mut bytes = sound.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
        folder.write("damaged.db", &bytes);
        let run = folder.run(["session", "show", "parser", "--store", "damaged.db"]);
        assert!(matches!(run.code, 0 | 3), "page {page}: {run:#?}");
        if run.code == 3 {
            told += 1;
            assert!(run.out.is_empty() && run.err.contains("damaged.db"), "page {page}: {run:#?}");
        }
    }
    assert!(told > 0);
}

#[test]
fn a_session_that_somebody_compacts_is_busy() {
    let folder = imported();
    let lease = with_store(&folder, async |store| {
        let key = store.open("parser").await.unwrap().key;
        store.acquire(key, &format!("agent {EVIL}"), Duration::from_secs(600)).await.unwrap()
    });
    let run = folder.compact(&["--session", "parser"]).ends(3);
    is_harmless(&run.err);
    for words in ["agent", "is compacting this session, until 2", " UTC at the latest"] {
        assert!(run.err.contains(words), "`{words}` is not in: {}", run.err);
    }
    // Everything else works meanwhile.
    folder.run(["session", "show", "parser"]).ends(0);
    folder.run(["session", "export", "parser"]).ends(0);
    with_store(&folder, async |store| store.release(&lease).await.unwrap());
    folder.compact(&["--session", "parser"]).ends(0);
}

/// Commits a compaction that drops the second entry and everything behind the 14th but the last, and shortens the third.
fn commit_by_hand(folder: &Folder, words: &str) {
    with_store(folder, async |store| {
        let info = store.open("parser").await.unwrap();
        let leaf = info.head.leaf.clone().unwrap();
        let mut branch = store.branch(info.key, &leaf, 1_000).await.unwrap().intact().unwrap();
        branch.reverse();
        let result = branch
            .iter()
            .position(|record| record.entry(|_| None).is_some_and(|entry| entry.kind == EntryKind::ToolResult));
        let result = result.unwrap();
        let mut shorter = branch[result].entry(|_| None).unwrap();
        shorter.replaces = vec![Arc::new(shorter.clone())];
        for block in &mut shorter.blocks {
            if let Block::ToolResult(result) = block {
                result.text = "shortened".to_owned();
            }
        }
        let ids: Vec<EntryId> = branch.iter().map(|record| record.id.clone()).collect();
        let written = ContextItem::Written {
            id: shorter.id.clone(),
            entry: StoredEntry::from(&shorter),
            reason: Some(words.to_owned()),
        };
        let last = ids.len() - 1;
        let context = vec![
            ContextItem::Kept(ids[..result].to_vec()),
            written,
            ContextItem::Kept(ids[result + 1..last - 1].to_vec()),
            ContextItem::Kept(vec![ids[last].clone()]),
        ];
        let lease = store.acquire(info.key, "a test", Duration::from_secs(60)).await.unwrap();
        let commit = CompactionCommit {
            owner: words.to_owned(),
            owner_version: words.to_owned(),
            component_hash: words.to_owned(),
            passed_over: Vec::new(),
            trigger: Trigger::PreTurn,
            covered: Covered { through: leaf, digest: info.head.digest, entries: info.head.depth },
            previous: None,
            context,
            dropped: vec![DroppedEntries { ids: vec![ids[last - 1].clone()], reason: words.to_owned() }],
            tokens_before: 5_000,
            tokens_after: 4_000,
            details: None,
            duration_ms: 7,
            model_calls: 0,
            corrections: vec![words.to_owned()],
            fencing_token: lease.token,
        };
        let id = EntryId::new(format!("compaction-{}", lease.token));
        store.commit(info.key, id, Timestamp(1_783_632_479_733), commit).await.unwrap();
        store.release(&lease).await.unwrap();
    });
}

#[test]
fn what_was_rewritten_and_dropped_is_logged_with_reasons_and_exported() {
    let folder = imported();
    commit_by_hand(&folder, "it was too long");
    let log = folder.run(["session", "log", "parser", "--json"]).ends(0).json();
    let one = &log["compactions"][0];
    let entries = log["logged_entries"].as_u64().unwrap();
    assert_eq!(one["kept_entries"].as_u64(), Some(entries - 2));
    assert_eq!((&one["rewritten_entries"], &one["dropped_entries"]), (&json!(1), &json!(1)));
    assert_eq!(one["trigger"], "pre_turn");
    assert_eq!(one["reasons"], json!(["dropped: it was too long", "rewritten: it was too long"]));
    assert_eq!(one["at_ms"], 1_783_632_479_733i64);
    let text = folder.run(["session", "log", "parser"]).ends(0).out;
    assert!(text.contains("compaction-1  2026-07-09 21:27 UTC  in force\n"), "{text}");
    assert!(text.contains("1 rewritten, 0 summarised, 1 dropped; written: nothing\n"), "{text}");
    assert!(text.contains("  a first plan was refused and corrected: it was too long\n"), "{text}");

    let report = folder.run(["session", "export", "parser", "--out", "out", "--json"]).ends(0).json();
    assert_eq!(report["remarks"], json!([]));
    let written = folder.read("out");
    let added = written.strip_prefix(&folder.read("session.jsonl")).unwrap();
    assert_eq!(added.lines().count(), 2, "{added}");
    let shown = folder.run(["session", "show", "parser", "--json"]).ends(0).json();
    assert_eq!(folder.run(["inspect", "out", "--json"]).ends(0).json()["context"], shown["context"]);
}

#[test]
fn nothing_that_a_store_holds_can_steer_the_terminal() {
    let folder = Folder::new();
    let tool: &'static str = Box::leak(format!("tool\n{EVIL}").into_boxed_str());
    let mut evil = vec![Step::User(format!("{EVIL} needle"))];
    evil.push(Step::Tool(tool, json!({ "path": EVIL }), EVIL.to_owned()));
    evil.extend(steps());
    folder.write("evil.jsonl", pi(&evil).replace("m0001", &json!(EVIL).to_string().replace('"', "")));
    folder.run(["session", "import", "evil.jsonl", "--name", "parser"]).ends(0);
    commit_by_hand(&folder, EVIL);
    with_store(&folder, async |store| {
        // Another program takes other names.
        let info = store.create(NewSession::named(EVIL).with_title(EVIL)).await.unwrap();
        let entry = Entry::text(EVIL, EntryKind::User, format!("{EVIL} needle"));
        store.append(info.key, vec![NewRecord::entry(&entry, Timestamp(0))]).await.unwrap();
    });
    for arguments in [
        &["session", "list"][..],
        &["session", "show", "parser", "--largest", "100"],
        &["session", "log", "parser"],
        &["session", "search", "needle"],
        &["session", "show", EVIL],
        &["session", "log", EVIL],
        &["session", "undo", EVIL],
    ] {
        for json in [&[][..], &["--json"]] {
            let run = folder.run(arguments.iter().chain(json)).ends(0);
            is_harmless(&run.out);
            is_harmless(&run.err);
        }
    }
    assert_eq!(folder.run(["session", "search", "needle", "--json"]).ends(0).json()["hits"][0]["session"], EVIL);
    is_harmless(&folder.run(["session", "show", &format!("{EVIL}x")]).ends(3).err);
    is_harmless(&folder.run(["session", "export", EVIL]).ends(2).err);
    is_harmless(&folder.run(["session", "undo", "parser"]).ends(0).out);
}

#[test]
fn a_session_that_went_on_in_the_store_is_exported_as_a_fresh_one() {
    for (format, file, session) in sessions() {
        let folder = Folder::new();
        folder.write(file, session);
        folder.run(["session", "import", file, "--name", "parser"]).ends(0);
        with_store(&folder, async |store| {
            let info = store.open("parser").await.unwrap();
            let mut entry = Entry::text("later", EntryKind::User, "What came since");
            entry.parent.clone_from(&info.head.leaf);
            store.append(info.key, vec![NewRecord::entry(&entry, Timestamp(0))]).await.unwrap();
        });
        folder.compact(&["--session", "parser"]).ends(0);
        let report = folder.run(["session", "export", "parser", "--out", "out", "--json"]).ends(0).json();
        let remark = report["remarks"][0].as_str().unwrap();
        assert!(remark.contains("a fresh session") && remark.contains("later"), "{remark}");
        assert!(folder.read("out").contains("What came since"));
        let read = folder.run(["inspect", "out", "--json"]).ends(0).json();
        assert_eq!((&read["format"], &read["problems"]), (&json!(format), &json!([])));
    }
}

#[test]
fn a_session_without_a_file_needs_a_format_to_be_exported() {
    let folder = imported();
    with_store(&folder, async |store| {
        let info = store.create(NewSession::named("agent")).await.unwrap();
        let entry = Entry::text("u1", EntryKind::User, "hello");
        store
            .append(info.key, vec![NewRecord::new("label", Timestamp(0), LogBody::Settings(json!({})))])
            .await
            .unwrap();
        store.append(info.key, vec![NewRecord::entry(&entry, Timestamp(0))]).await.unwrap();
    });
    folder.run(["session", "export", "agent"]).fails(2, &["--to"]);
    let run = folder.run(["session", "export", "agent", "--to", "openai-chat"]).ends(0);
    assert_eq!(run.json(), json!([{"role": "user", "content": "hello"}]));
    let shown = folder.run(["session", "show", "agent"]).ends(0).out;
    assert!(shown.starts_with("session agent: 1 message, "), "{shown}");
}
