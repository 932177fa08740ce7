//! `ctxe compact` as a user meets it: exit codes, strategies, windows, formats.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use serde_json::Value;

use common::{Folder, hostile_guest, sessions, with_session};

#[test]
fn without_arguments_it_says_how_to_use_it() {
    Folder::new().run::<&str>([]).fails(2, &["Usage: ctxe <COMMAND>", "compact", "inspect", "Exit codes:"]);
}

#[test]
fn wrong_arguments_end_with_2() {
    let folder = with_session();
    let compact = |arguments: &[&str]| folder.run(["compact", "session.jsonl"].iter().chain(arguments));
    compact(&["--window", "many"]).fails(2, &["`many` is not a count of tokens", "128k"]);
    compact(&["--windw", "1"]).fails(2, &["--window"]);
    compact(&["--to", "pii"]).fails(2, &["openai-chat, pi and claude-code"]);
    compact(&["--tokenizer", "p50k"]).fails(2, &["o200k_base"]);
    compact(&["--window", "1000", "--reserve", "1000"]).fails(2, &["leaves nothing for the session"]);
    compact(&["--window", "1000", "--overhead", "750"]).fails(2, &["overhead of 750"]);
    compact(&["--window", "0"]).fails(2, &["leaves nothing"]);
    compact(&["--out", "x", "--in-place"]).fails(2, &["--in-place"]);
    compact(&["--in-place", "--to", "claude-code"]).fails(2, &["--to", "--out"]);
    folder.run(["compact", "-", "--in-place"]).fails(2, &["standard input", "--out"]);
    assert_eq!(folder.names(), ["session.jsonl"]);
}

#[test]
fn an_unknown_strategy_is_a_wrong_argument_and_the_known_ones_are_named() {
    let folder = with_session();
    folder
        .run(["compact", "session.jsonl", "-s", "regex_anchor"])
        .fails(2, &["`regex_anchor`", "did you mean `regex-anchors`?", "./regex_anchor.wasm"]);
    folder.run(["compact", "session.jsonl", "-s", "zzz"]).fails(2, &["Built in: ", "regex-anchors"]);
    // Said before anything else is looked at.
    folder.run(["compact", "missing.jsonl", "-s", "zzz"]).fails(2, &["`zzz`"]);
}

#[test]
fn a_strategy_is_found_by_its_path() {
    let folder = with_session();
    let report = folder.run(["compact", "session.jsonl", "--json", "-s", &hostile_guest()]).ends(0).json();
    assert_eq!(report["strategy"]["id"], "hostile-guest");
    assert_eq!(report["strategy"]["origin"], hostile_guest());
    assert_eq!(report["outcome"], "unchanged");
    assert_eq!(report["reason"], "nothing to do");
    folder.run(["compact", "session.jsonl", "-s", "./missing.wasm"]).fails(3, &["./missing.wasm"]);
    folder.run(["compact", "session.jsonl", "-s", "./"]).fails(3, &["./"]);
}

#[test]
fn what_is_no_plugin_is_refused_with_what_it_is() {
    let folder = with_session();
    folder.write("garbage.wasm", "no plugin at all");
    folder.write("core.wasm", b"\0asm\x01\0\0\0");
    folder.write("broken.wasm", b"\0asm\x0d\0\x01\0\xff\xff\xff\xff");
    folder.write("empty.wasm", b"");
    for (file, words) in [
        ("garbage.wasm", "not WebAssembly"),
        ("core.wasm", "a core WebAssembly module, not a component"),
        ("broken.wasm", "damaged at byte"),
        ("empty.wasm", "empty"),
    ] {
        folder.run(["compact", "session.jsonl", "-s", file]).fails(1, &[file, words]);
    }
}

#[test]
fn a_configuration_that_is_not_accepted_names_its_key() {
    let folder = with_session();
    let with = |config: &str| folder.run(["compact", "session.jsonl", "--config", config]);
    with(r#"{"keep_recent":1}"#).fails(2, &["`keep_recent`", "`keep_recent_tokens`"]);
    with(r#"{"soft_at":"high"}"#).fails(2, &["soft_at"]);
    with("[1]").fails(2, &["not an object"]);
    with("{bad").fails(2, &["not JSON"]);
}

#[test]
fn a_plugin_that_fails_ends_with_1_and_the_session_is_as_it_was() {
    let folder = with_session();
    let before = folder.read("session.jsonl");
    let guest = hostile_guest();
    for (behaviour, words) in [
        ("panic", "the words of the guest"),
        ("endless-recursion", "`compress` broke off"),
        ("memory-bomb", "64 MiB"),
        ("failed", "a defect"),
        ("declined", "this is not for me"),
        ("unavailable", "no model"),
        ("overlapping-spans", "unaccounted at position"),
        ("huge-span", "in segment 1"),
    ] {
        let config = format!(r#"{{"behaviour":"{behaviour}"}}"#);
        let run = folder.run(["compact", "session.jsonl", "-s", &guest, "--config", &config, "--in-place"]).ends(1);
        let last = run.err.lines().rfind(|line| line.starts_with("ctxe: ")).unwrap_or_default();
        assert!(last.contains("hostile-guest"), "{behaviour}: {}", run.err);
        assert!(run.err.contains(words), "{behaviour}: {}", run.err);
        assert_eq!(run.out, "");
        let said = run.err.split("ctxe: strategy `hostile-guest`").nth(1).unwrap_or_default();
        assert_eq!(said.matches(words).count(), 1, "{behaviour}: a cause is said once: {}", run.err);
    }
    let config = r#"{"behaviour":"panic","in":"configure"}"#;
    folder.run(["compact", "session.jsonl", "-s", &guest, "--config", config]).fails(1, &["being configured"]);
    assert_eq!(folder.read("session.jsonl"), before);
    assert_eq!(folder.names(), ["session.jsonl"]);
}

#[test]
fn a_target_that_cannot_be_met_is_refused_when_it_is_hard_and_said_when_it_is_not() {
    let folder = with_session();
    let hard = ["compact", "session.jsonl", "--window", "4k", "--target", "10", "--hard", "--out", "out"];
    folder.run(hard).fails(1, &["over-target", "at most 10"]);
    let soft = folder.run(["compact", "session.jsonl", "--window", "4k", "--target", "10"]).ends(0);
    assert!(soft.out.contains("It fits, and misses the target by "), "{}", soft.out);
    let tight = folder.run(["compact", "session.jsonl", "--window", "40"]).ends(0);
    assert!(tight.out.contains("It still does not fit: "), "{}", tight.out);
    assert_eq!(folder.names(), ["session.jsonl"]);
}

#[test]
fn a_summary_without_what_the_gate_asks_for_is_refused_by_name() {
    let folder = with_session();
    let compact = |arguments: &[&str]| folder.run(["compact", "session.jsonl", "-w", "4k"].iter().chain(arguments));
    compact(&["--gate", "strict", "--section", "## Constraints"]).ends(0);
    compact(&["--gate", "lenient"]).fails(2, &["off, identifiers and strict"]);
    let guest = hostile_guest();
    let wordless = ["-s", &guest, "--config", r#"{"behaviour":"every-segment"}"#, "--gate", "strict"];
    compact(&wordless).fails(1, &["the plan is refused"]);
}

#[test]
fn a_session_with_nothing_to_fold_is_written_as_it_was() {
    let folder = with_session();
    let report = folder.run(["compact", "session.jsonl", "--out", "out"]).ends(0);
    assert!(report.out.contains("Nothing to do: "), "{}", report.out);
    assert_eq!(folder.read("out"), folder.read("session.jsonl"));
    let report = folder.run(["compact", "session.jsonl", "--in-place", "--json"]).ends(0).json();
    assert_eq!(report["written"], Value::Null);
    assert_eq!(folder.names(), ["out", "session.jsonl"], "nothing was replaced, so nothing is kept beside it");
}

#[test]
fn every_format_is_written_as_every_other_and_recognised_again() {
    for (from, file, session) in sessions() {
        let folder = Folder::new();
        folder.write(file, session);
        for (to, _, _) in sessions() {
            let report = folder.compact(&[file, "--to", to, "--out", to, "--json"]).ends(0).json();
            assert_eq!(report["format"], from);
            assert_eq!(report["written"]["format"], to);
            let read = folder.run(["inspect", to, "--json"]).ends(0).json();
            assert_eq!(read["format"], to, "from {from}");
            assert_eq!(read["problems"], Value::Array(Vec::new()), "from {from} to {to}");
            let summaries: Vec<&Value> = kinds(&read).filter(|kind| kind["kind"] == "summary").collect();
            assert_eq!(summaries.len(), 1, "from {from} to {to}: {}", read["context"]);
            assert_eq!(read["context"]["entries"], report["after"]["entries"], "from {from} to {to}");
        }
    }
}

fn kinds(report: &Value) -> impl Iterator<Item = &Value> {
    report["context"]["by_kind"].as_array().into_iter().flatten()
}

#[test]
fn the_report_adds_up() {
    let folder = with_session();
    let report = folder.compact(&["session.jsonl", "--json"]).ends(0).json();
    assert_eq!(report["outcome"], "compacted");
    let number = |path: &str| report.pointer(path).and_then(Value::as_u64).unwrap();
    let fate = |name: &str, what: &str| number(&format!("/fates/{name}/{what}"));
    for what in ["entries", "tokens"] {
        let sum: u64 = ["kept", "rewritten", "summarised", "dropped"].iter().map(|name| fate(name, what)).sum();
        assert_eq!(sum, number(&format!("/before/{what}")));
    }
    // Nothing was rewritten here, so that this adds up too.
    assert_eq!(fate("rewritten", "entries"), 0);
    let after: u64 = ["kept", "summaries_written", "notes_written"].iter().map(|name| fate(name, "tokens")).sum();
    assert_eq!(after, number("/after/tokens"));
    assert!(number("/after/tokens") <= number("/window/target_tokens"));
    let budget = number("/window/window_tokens") - number("/window/reserve_tokens") - number("/window/overhead_tokens");
    assert_eq!(budget, number("/window/budget_tokens"));
}

#[test]
fn a_secret_does_not_enter_the_summary() {
    let folder = Folder::new();
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let mut steps = common::steps();
    steps.insert(1, common::Step::User(format!("Always push with the token {secret}, never with mine.")));
    folder.write("session.jsonl", common::pi(&steps));
    let report = folder.compact(&["session.jsonl", "--show-summary", "--out", "out"]).ends(0);
    assert!(report.out.contains("[redacted]"), "{}", report.out);
    assert!(!report.out.contains(secret), "{}", report.out);
    let context = folder.run(["inspect", "out", "--largest", "1", "--json"]).ends(0);
    assert!(!context.out.contains(secret));
}
