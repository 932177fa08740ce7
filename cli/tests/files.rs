//! Files that are missing, broken or huge, and where the result goes.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Folder, Step, openai_chat, pi, sessions, steps, with_session};

#[test]
fn a_file_that_cannot_be_read_ends_with_3_and_its_name() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.write("empty", "");
    folder.write("binary", b"\x7fELF\x02\x01\x01\0\xff\xfe\0\0");
    folder.write("prose", "Dear diary,\ntoday I wrote no JSON.\n");
    folder.write("other.jsonl", "{\"kind\":\"something\"}\n");
    folder.write("other.json", "[1, 2, 3]");
    for (file, words) in [
        ("missing", "No such file"),
        ("folder", "directory"),
        ("empty", "it is empty"),
        ("binary", "not JSON"),
        ("prose", "not JSON"),
        ("other.jsonl", "none that a known format begins with"),
        ("other.json", "no `role`"),
    ] {
        folder.run(["inspect", file]).fails(3, &[file, words]);
        folder.run(["compact", file]).fails(3, &[file, words]);
    }
}

#[test]
fn the_format_can_be_named_where_it_is_not_recognised() {
    let folder = with_session();
    folder
        .run(["inspect", "session.jsonl", "--from", "claude-code", "--json"])
        .ends(0)
        .json()
        .get("problems")
        .and_then(|problems| problems.as_array())
        .filter(|problems| !problems.is_empty())
        .unwrap();
    folder.run(["inspect", "session.jsonl", "--from", "openai-chat"]).fails(3, &["session.jsonl", "openai-chat"]);
    // Its first record belongs to another program, so that the guess is wrong.
    let claude = &sessions()[1].2;
    folder.write("mixed", format!("{{\"type\":\"session\",\"id\":\"x\"}}\n{claude}"));
    assert_eq!(folder.run(["inspect", "mixed", "--json"]).ends(0).json()["format"], "pi");
    let named = folder.run(["inspect", "mixed", "--from", "claude-code", "--json"]).ends(0).json();
    assert_eq!(named["format"], "claude-code");
    assert_eq!(named["turns"], 8);
}

#[test]
fn a_broken_line_is_reported_with_its_place_and_kept() {
    let folder = Folder::new();
    let session = pi(&steps());
    let broken = "{\"type\":\"message\",\"id\":\"half a rec";
    let mut lines: Vec<&str> = session.lines().collect();
    lines.insert(3, broken);
    folder.write("session.jsonl", lines.join("\n") + "\n");
    let report = folder.compact(&["session.jsonl", "--out", "out"]).ends(0);
    assert!(report.out.contains("\nsession.jsonl:4: is not JSON"), "{}", report.out);
    assert!(folder.read("out").lines().any(|line| line == broken));
    let report = folder.run(["inspect", "session.jsonl", "--json"]).ends(0).json();
    assert_eq!(report["problems"][0]["line"], 4);
    assert_eq!(report["file"], "session.jsonl");
}

#[test]
fn a_file_that_is_broken_all_over_is_not_listed_line_by_line() {
    let folder = Folder::new();
    folder.write("session.jsonl", pi(&steps()) + &"{broken\n".repeat(200));
    let report = folder.run(["inspect", "session.jsonl"]).ends(0);
    assert_eq!(report.out.matches("is not JSON").count(), 10);
    assert!(report.out.contains("190 more lines that could not be read"), "{}", report.out);
}

#[test]
fn a_pipe_works_on_both_ends_and_the_report_goes_aside() {
    let folder = Folder::new();
    let session = pi(&steps());
    let arguments = ["compact", "-", "--out", "-"].iter().chain(&common::SMALL);
    let run = folder.run_with_input(arguments, session.as_bytes()).ends(0);
    assert!(run.err.starts_with("standard input: pi, "), "{}", run.err);
    assert!(run.err.contains("Written to standard output (pi, "), "{}", run.err);
    let read = folder.run_with_input(["inspect", "-", "--json"], &run.bytes).ends(0).json();
    assert_eq!(read["format"], "pi");
    assert_eq!(read["file"], serde_json::Value::Null);
    assert_eq!(read["file_bytes"], run.bytes.len());
    assert!(folder.names().is_empty(), "{:?}", folder.names());

    let arguments = ["compact", "-", "--out", "-", "--json"].iter().chain(&common::SMALL);
    let run = folder.run_with_input(arguments, session.as_bytes()).ends(0);
    let report: serde_json::Value = serde_json::from_str(&run.err).unwrap();
    assert_eq!(report["written"]["file"], serde_json::Value::Null);
    assert_eq!(report["written"]["bytes"], run.bytes.len());
}

#[test]
fn in_place_keeps_every_old_session() {
    let folder = with_session();
    let first = folder.read("session.jsonl");
    let report = folder.compact(&["session.jsonl", "--in-place"]).ends(0);
    assert!(report.out.contains("is in session.jsonl.before-compaction."), "{}", report.out);
    assert_eq!(folder.read("session.jsonl.before-compaction"), first);
    let second = folder.read("session.jsonl");
    assert_ne!(first, second);

    // The agent goes on, and it is full again.
    let last = serde_json::from_str::<serde_json::Value>(second.lines().last().unwrap()).unwrap();
    let text = "Another long request. ".repeat(600);
    let message = serde_json::json!({"type": "message", "id": "more", "parentId": last["id"],
        "timestamp": "2026-01-05T11:00:00.000Z", "message": {"role": "user", "content": text, "timestamp": 2}});
    let reply = serde_json::json!({"type": "message", "id": "reply", "parentId": "more",
        "timestamp": "2026-01-05T11:00:00.000Z", "message": {"role": "user", "content": "short", "timestamp": 2}});
    let second = format!("{second}{message}\n{reply}\n");
    folder.write("session.jsonl", &second);
    let report = folder.compact(&["session.jsonl", "--in-place", "--json"]).ends(0).json();
    assert_eq!(report["written"]["backup"], "session.jsonl.before-compaction.2");
    assert_eq!(folder.read("session.jsonl.before-compaction"), first);
    assert_eq!(folder.read("session.jsonl.before-compaction.2"), second);
    assert_eq!(
        folder.names(),
        ["session.jsonl", "session.jsonl.before-compaction", "session.jsonl.before-compaction.2"],
        "nothing half-written is left"
    );
}

#[test]
fn the_session_itself_is_no_place_to_write_to() {
    let folder = with_session();
    let before = folder.read("session.jsonl");
    folder.compact(&["session.jsonl", "--out", "session.jsonl"]).fails(2, &["--in-place"]);
    folder.compact(&["session.jsonl", "--out", "./session.jsonl"]).fails(2, &["--in-place"]);
    assert_eq!(folder.read("session.jsonl"), before);
}

#[test]
fn a_place_that_cannot_be_written_to_ends_with_3() {
    let folder = with_session();
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.compact(&["session.jsonl", "--out", "no/such/out"]).fails(3, &["no/such/out", "there is no folder no/such"]);
    folder.compact(&["session.jsonl", "--out", "folder"]).fails(3, &["it is a folder"]);
    assert_eq!(folder.names(), ["folder", "session.jsonl"]);
}

#[test]
fn an_older_result_is_replaced() {
    let folder = with_session();
    folder.write("out", "old");
    folder.compact(&["session.jsonl", "--out", "out"]).ends(0);
    assert!(folder.read("out").starts_with("{\"type\":\"session\""));
    assert_eq!(folder.names(), ["out", "session.jsonl"]);
}

#[cfg(unix)]
mod unix {
    use std::fs::{metadata, set_permissions, symlink_metadata};
    use std::os::unix::ffi::OsStringExt as _;
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt, symlink};

    use super::*;

    fn mode(folder: &Folder, name: &str) -> u32 {
        metadata(folder.path(name)).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn nobody_else_can_read_what_is_made_from_a_private_session() {
        let folder = with_session();
        set_permissions(folder.path("session.jsonl"), PermissionsExt::from_mode(0o600)).unwrap();
        folder.compact(&["session.jsonl", "--out", "out"]).ends(0);
        folder.compact(&["session.jsonl", "--in-place"]).ends(0);
        for name in ["out", "session.jsonl", "session.jsonl.before-compaction"] {
            assert_eq!(mode(&folder, name), 0o600, "{name}");
        }
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = with_session();
        symlink("session.jsonl", folder.path("link")).unwrap();
        let before = folder.read("session.jsonl");
        folder.compact(&["link", "--in-place"]).ends(0);
        assert!(symlink_metadata(folder.path("link")).unwrap().is_symlink());
        assert_ne!(folder.read("session.jsonl"), before);
        assert_eq!(folder.read("link.before-compaction"), before);
    }

    #[test]
    fn a_pipe_with_a_name_is_written_into_and_not_replaced() {
        let folder = with_session();
        let pipe = folder.path("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        folder.compact(&["session.jsonl", "--out", "pipe"]).ends(0);
        // Asked before the reader is waited for: had the pipe been replaced, the reader would wait for ever.
        assert!(symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        assert!(reader.join().unwrap().starts_with("{\"type\":\"session\""));
        assert_eq!(folder.names(), ["pipe", "session.jsonl"]);
    }

    #[test]
    fn a_file_name_need_not_be_text() {
        let folder = Folder::new();
        let name = std::ffi::OsString::from_vec(b"a\xff\x1b[31m.jsonl".to_vec());
        std::fs::write(folder.path("").join(&name), pi(&steps())).unwrap();
        let report = folder.run([std::ffi::OsStr::new("inspect"), &name]).ends(0);
        assert!(report.out.starts_with("a\u{fffd}\u{fffd}[31m.jsonl: pi, "), "{}", report.out);
    }
}

/// Standard output is closed after the first line, as by `head -1`.
fn first_line(folder: &Folder, arguments: &[&str]) -> (String, Option<i32>, String) {
    let mut command = folder.command(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 16];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&first), output.status.code(), text(&output.stderr))
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let folder = with_session();
    // More than a pipe holds.
    let largest = ["inspect", "session.jsonl", "--largest", "100000"];
    let mut many = steps();
    many.extend((0..2_000).map(|n| Step::User(format!("message {n}, which is rather long for its kind"))));
    folder.write("many.jsonl", pi(&many));
    for arguments in [&largest[..], &["inspect", "many.jsonl", "--largest", "100000"], &["--help"]] {
        let (_, code, err) = first_line(&folder, arguments);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{arguments:?}");
    }
    // A session of which half is gone is a failure, and said.
    let (first, code, err) = first_line(&folder, &["compact", "many.jsonl", "--out", "-", "-w", "1M"]);
    assert!(first.starts_with("{\"type\":\"session"), "{first}");
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("cannot write the session to standard output"), "{err}");
}

/// Generous: a build without optimisation on a busy machine. Anything worse than linear takes minutes.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn twenty_megabytes_take_seconds() {
    let folder = Folder::new();
    let text = "The quick brown fox jumps over the lazy dog, and returns 17 results. ".repeat(150);
    let mut many = Vec::new();
    for n in 0..1_000 {
        many.push(Step::User(format!("Request {n}")));
        many.push(Step::Tool("read", serde_json::json!({ "path": format!("src/f{n}.rs") }), format!("{n} {text}")));
        many.push(Step::Says(format!("{n} {text}")));
    }
    let session = openai_chat(&many);
    assert!(session.len() > 20 << 20, "{}", session.len());
    folder.write("huge.json", session);
    let started = Instant::now();
    folder.run(["inspect", "huge.json"]).ends(0);
    let report = folder.run(["compact", "huge.json", "--out", "out", "--json"]).ends(0).json();
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    assert_eq!(report["outcome"], "compacted");
}
