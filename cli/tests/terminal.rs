//! Nothing that a session or a plugin says can steer the terminal or speak as `ctxe`.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use serde_json::json;

use common::{Folder, Run, Step, claude_code, hostile_guest, openai_chat, pi, steps, with_session};

/// Sequences that clear the screen, set the title, ring, go back, end a line early, and turn the text around.
const EVIL: &str = "\u{1b}[2J\u{1b}]0;title\u{7}\u{8}\r\u{7f}\u{9b}31m\u{202e}\u{2066}\u{e0041}\0evil";
/// The same within a JSON string.
fn evil_json() -> String {
    serde_json::to_string(EVIL).unwrap().trim_matches('"').to_owned()
}

fn is_harmless(text: &str) -> bool {
    text.chars().all(|c| {
        let hidden = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}');
        matches!(c, '\n' | '\t') || !(c.is_control() || hidden)
    })
}

#[track_caller]
fn check(run: &Run) {
    assert!(is_harmless(&run.out), "{:?}", run.out);
    assert!(is_harmless(&run.err), "{:?}", run.err);
}

/// Evil wherever a session has words.
fn evil() -> Vec<Step> {
    let mut evil = vec![Step::User(format!("{EVIL} Always use {EVIL} tabs\n\tand never spaces."))];
    let tool: &'static str = Box::leak(format!("tool\n{EVIL}").into_boxed_str());
    for _ in 0..3 {
        evil.push(Step::Tool(tool, json!({ "path": EVIL }), format!("error: {EVIL}\n").repeat(40)));
        evil.push(Step::Says(format!("{EVIL} I decided to use {EVIL}.")));
    }
    evil.extend(steps());
    evil.push(Step::Tool(tool, json!({ "path": EVIL }), EVIL.to_owned()));
    evil
}

#[test]
fn a_session_cannot_steer_the_terminal() {
    let folder = Folder::new();
    folder.write("pi", pi(&evil()));
    folder.write("claude-code", claude_code(&evil()));
    folder.write("openai-chat", openai_chat(&evil()));
    for file in ["pi", "claude-code", "openai-chat"] {
        for arguments in [&["inspect", file, "--largest", "100"][..], &["inspect", file, "--json"]] {
            let run = folder.run(arguments).ends(0);
            check(&run);
            assert!(run.out.contains("evil"), "{}", run.out);
        }
        for arguments in [&[file, "--verbose"][..], &[file, "--json"]] {
            let run = folder.compact(arguments).ends(0);
            check(&run);
            assert!(run.out.contains("evil") && run.out.contains("spaces"), "{}", run.out);
        }
    }
}

#[test]
fn json_says_exactly_what_the_session_says() {
    let folder = Folder::new();
    let tool = format!("tool\n{EVIL}");
    folder.write("session", pi(&evil()));
    let report = folder.run(["inspect", "session", "--json"]).ends(0).json();
    let tools: Vec<&str> =
        report["tools"].as_array().unwrap().iter().filter_map(|tool| tool["tool"].as_str()).collect();
    assert!(tools.contains(&tool.as_str()), "{tools:?}");
}

#[test]
fn a_table_has_one_line_for_each_row_whatever_a_tool_is_called() {
    let folder = Folder::new();
    folder.write("session", pi(&evil()));
    let run = folder.run(["inspect", "session", "--largest", "0"]).ends(0);
    let table = run.out.split("Tokens by tool\n").nth(1).unwrap();
    assert_eq!(table.lines().count(), 1 + 3, "{table}");
}

#[test]
fn ids_types_and_broken_lines_are_shown_harmlessly() {
    let folder = Folder::new();
    let json = evil_json();
    let odd = format!(r#"{{"type":"{json}","id":"{json}","parentId":null}}"#);
    folder.write("session", format!("{}{odd}\n{EVIL}\n{odd}\n", pi(&steps())));
    let run = folder.run(["inspect", "session"]).ends(0);
    check(&run);
    assert!(run.out.contains("unknown type"), "{}", run.out);
    check(&folder.run(["inspect", "session", "--json"]).ends(0));

    folder.write("unknown", EVIL);
    check(&folder.run(["inspect", "unknown"]).ends(3));
    check(&folder.run(["compact", "session", "--strategy", &EVIL.replace('\0', "")]).ends(2));
}

#[test]
fn a_plugin_cannot_steer_the_terminal_nor_speak_as_ctxe() {
    let folder = with_session();
    let guest = hostile_guest();
    // The plugin repeats its configuration in an error.
    let json = evil_json();
    let config = format!(r#"{{"refuse":"{json}"}}"#);
    let run = folder.run(["compact", "session.jsonl", "-s", &guest, "--config", &config]).ends(2);
    check(&run);
    assert!(run.err.contains("evil"), "{}", run.err);

    // It gives the whole session as its reason.
    folder.write("evil", pi(&evil()));
    let config = r#"{"behaviour":"read"}"#;
    let run = folder.run(["compact", "evil", "-s", &guest, "--config", config]).ends(0);
    check(&run);
    let reason = run.out.lines().find(|line| line.starts_with("Nothing to do: ")).unwrap();
    assert!(reason.contains("evil") && reason.ends_with('…'), "{reason}");
    check(&folder.run(["compact", "evil", "-s", &guest, "--config", config, "--json"]).ends(0));

    // Its last words take two lines.
    let run = folder.run(["compact", "evil", "-s", &guest, "--config", r#"{"behaviour":"panic"}"#]).ends(1);
    check(&run);
    assert!(run.err.lines().all(|line| line.starts_with("ctxe: ") || line.starts_with("  ")), "{}", run.err);
}

#[test]
fn nothing_is_coloured_and_no_progress_is_drawn_where_nobody_watches() {
    let folder = with_session();
    for arguments in [&["inspect", "session.jsonl"][..], &["compact", "session.jsonl", "--no-cache"], &["--help"]] {
        let run = folder.run(arguments).ends(0);
        check(&run);
        assert_eq!(run.err, "");
    }
    check(&folder.run(["inspect", "session.jsonl", "--from", "x"]).ends(2));
}
