//! What both commands print, letter for letter. `UPDATE_GOLDEN=1 cargo test --test golden` takes what is printed now.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use serde_json::Value;

use common::{Folder, golden, sessions};

/// The lines about times, with the times taken out.
fn mask_lines(report: &str) -> String {
    let mask = |line: &str| {
        if line.starts_with("Compacted in ") || line.starts_with("Before that: ") {
            let masked: String =
                line.chars().filter(|c| *c != '.').map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
            let words: Vec<&str> = masked.split(' ').map(|word| if word.contains('#') { "#" } else { word }).collect();
            return words.join(" ");
        }
        line.to_owned()
    };
    report.lines().map(|line| mask(line) + "\n").collect()
}

/// The report without what differs from run to run, and from build to build.
fn mask_json(mut report: Value) -> String {
    if let Some(time) = report.get_mut("time").and_then(Value::as_object_mut) {
        for (name, value) in time {
            assert!(name.ends_with("_ms") && value.as_f64().is_some_and(|ms| ms >= 0.0), "{name}: {value}");
            *value = Value::from("#");
        }
    }
    if let Some(hash) = report.pointer_mut("/strategy/component_sha256") {
        assert_eq!(hash.as_str().map(str::len), Some(64));
        *hash = Value::from("#");
    }
    // Ids that the writer made up.
    for entry in report.get_mut("largest").and_then(Value::as_array_mut).into_iter().flatten() {
        if entry["kind"] == "summary" {
            entry["id"] = Value::from("#");
        }
    }
    format!("{report:#}\n")
}

#[test]
fn inspect_prints_what_fills_the_window() {
    for (format, file, session) in sessions() {
        let folder = Folder::new();
        folder.write(file, session);
        let report = folder.run(["inspect", file, "--window", "8k", "--largest", "4"]).ends(0);
        assert_eq!(report.err, "");
        golden(&format!("inspect-{format}.txt"), &report.out);
        let report = folder.run(["inspect", file, "--largest", "2", "--json"]).ends(0);
        golden(&format!("inspect-{format}.json"), &mask_json(report.json()));
    }
}

#[test]
fn compact_prints_what_became_of_the_session_and_inspect_reads_it_back() {
    for (format, file, session) in sessions() {
        let folder = Folder::new();
        folder.write(file, session);
        let report = folder.compact(&[file, "--out", "out", "--show-summary"]).ends(0);
        assert_eq!(report.err, "");
        golden(&format!("compact-{format}.txt"), &mask_lines(&report.out));
        let report = folder.compact(&[file, "--out", "again", "--json"]).ends(0).json();
        let after = report["after"].clone();
        golden(&format!("compact-{format}.json"), &mask_json(report));

        let written = folder.run(["inspect", "out", "--largest", "3", "--json"]).ends(0).json();
        assert_eq!(written["context"], after, "what was reported is what is read back");
        assert_eq!(written["problems"], Value::Array(Vec::new()));
        let mut written = written;
        // Times in the file may take one digit more.
        written["file_bytes"] = Value::from("#");
        golden(&format!("written-{format}.json"), &mask_json(written));
    }
}

#[test]
fn the_reports_about_a_session_of_the_store() {
    let folder = Folder::new();
    folder.write("pi.jsonl", &sessions()[0].2);
    let mut life = String::new();
    for arguments in [
        &["session", "import", "pi.jsonl", "--name", "parser", "--store", "s.db"][..],
        &["session", "list", "--store", "s.db"],
        &["session", "search", "field_17", "--limit", "2", "--store", "s.db"],
        &["session", "log", "parser", "--store", "s.db"],
        &["session", "show", "parser", "--largest", "2", "--store", "s.db"],
        &["session", "export", "parser", "--out", "out.jsonl", "--store", "s.db"],
        &["session", "undo", "parser", "--store", "s.db"],
        &["session", "undo", "parser", "--store", "s.db"],
        &["session", "log", "parser", "--store", "s.db"],
    ] {
        let run = folder.run(arguments).ends(0);
        assert_eq!(run.err, "");
        life.push_str(&format!("$ ctxe {}\n{}\n", arguments.join(" "), run.out));
        if arguments[1] == "list" {
            let run = folder.compact(&["--session", "parser", "--store", "s.db"]).ends(0);
            golden("compact-stored.txt", &mask_lines(&run.out));
        }
    }
    golden("session.txt", &mask_session(&life));
}

/// Times, and the hash of the built component.
fn mask_session(life: &str) -> String {
    let mask = |line: &str| {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        for word in &mut words {
            let digits = word.chars().filter(char::is_ascii_digit).count();
            let is_day = word.len() == 10 && digits == 8 && word.matches('-').count() == 2;
            let is_time = word.len() == 5 && digits == 4 && word.contains(':');
            let is_hash = word.len() == 15 && word.starts_with('(') && word.ends_with("),");
            if is_day || is_time || is_hash {
                *word = word.chars().map(|c| if c.is_ascii_alphanumeric() { '#' } else { c }).collect();
            }
        }
        words.join(" ") + "\n"
    };
    life.lines().map(mask).collect()
}

#[test]
fn nothing_to_do_is_said_with_its_reason() {
    let folder = Folder::new();
    folder.write("pi.jsonl", &sessions()[0].2);
    let report = folder.run(["compact", "pi.jsonl"]).ends(0);
    golden("nothing-to-do.txt", &mask_lines(&report.out));
}

#[test]
fn help_fits_eighty_columns_and_ends_with_examples_formats_and_codes() {
    let folder = Folder::new();
    for (name, arguments) in [
        ("help.txt", &["--help"][..]),
        ("help-compact.txt", &["compact", "--help"]),
        ("help-inspect.txt", &["inspect", "--help"]),
        ("help-session.txt", &["session", "--help"]),
        ("help-session-import.txt", &["session", "import", "--help"]),
        ("help-session-export.txt", &["session", "export", "--help"]),
        ("help-config.txt", &["config", "--help"]),
        ("help-config-check.txt", &["config", "check", "--help"]),
    ] {
        let help = folder.command(arguments).env("COLUMNS", "80").output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        golden(name, &help);
    }
}
