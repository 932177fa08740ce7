use proptest::prelude::*;

use super::*;
use crate::memory::MemoryView;

fn tracked(name: &str, arguments: &str) -> Operations {
    let view = MemoryView::new().call("1", name, arguments).result("1", "ok");
    track(&view, Span::new(0, view.len()), &Rules::default())
}

#[test]
fn tools_of_many_agents_read_and_modify() {
    for (name, key) in
        [("read", "path"), ("Read", "file_path"), ("read_file", "filePath"), ("mcp__fs__read_file", "path")]
    {
        let found = tracked(name, &format!(r#"{{"{key}":"a.rs"}}"#));
        assert_eq!((found.read, found.modified.len()), (vec!["a.rs".to_owned()], 0), "{name}");
    }
    for name in ["write", "Write", "write_file", "create_file", "Edit", "MultiEdit", "str_replace", "functions.edit"] {
        let found = tracked(name, r#"{"path":"a.rs"}"#);
        assert_eq!((found.modified, found.read.len()), (vec!["a.rs".to_owned()], 0), "{name}");
    }
    assert_eq!(tracked("web_fetch", r#"{"path":"a.rs"}"#), Operations::default());
}

#[test]
fn an_editor_reads_only_when_told_to_view() {
    let name = "str_replace_based_edit_tool";
    assert_eq!(tracked(name, r#"{"command":"view","path":"a.rs"}"#).read, ["a.rs"]);
    assert_eq!(tracked(name, r#"{"command":"insert","path":"a.rs"}"#).modified, ["a.rs"]);
}

#[test]
fn lists_of_paths_and_of_objects_are_read() {
    assert_eq!(tracked("read_many_files", r#"{"paths":["a","b"]}"#).read, ["a", "b"]);
    assert_eq!(tracked("read_file", r#"{"files":[{"path":"a"},{"path":"b"},3]}"#).read, ["a", "b"]);
}

#[test]
fn a_patch_is_read_from_json_from_plain_text_and_from_a_shell_command() {
    let patch = "*** Begin Patch\n*** Add File: new.rs\n+x\n*** Delete File: old.rs\n*** End Patch";
    let json = serde_json::json!({ "input": patch }).to_string();
    let shell = serde_json::json!({ "command": ["apply_patch", patch] }).to_string();
    for (name, arguments) in [("apply_patch", json.as_str()), ("apply_patch", patch), ("shell", shell.as_str())] {
        assert_eq!(tracked(name, arguments).modified, ["new.rs", "old.rs"], "{name}");
    }
}

#[test]
fn lines_that_only_look_like_a_diff_name_no_file() {
    assert!(patched_paths("+++ counter;\n--- counter;\n other\n+++ x").is_empty());
    assert_eq!(patched_paths("--- /dev/null\n+++ b/new.rs\t2024-01-01\n"), ["new.rs"]);
}

#[test]
fn a_failed_edit_modified_nothing() {
    let view = MemoryView::new().call("1", "edit", r#"{"path":"a.rs"}"#).failed_result("1", "no match");
    assert!(track(&view, Span::new(0, 2), &Rules::default()).modified.is_empty());
}

#[test]
fn outcomes_are_paired_within_the_group_as_ids_repeat() {
    let view = MemoryView::new()
        .call("1", "bash", r#"{"command":"first"}"#)
        .failed_result("1", "no")
        .call("1", "bash", r#"{"cmd":["sh","-c","second"]}"#)
        .result("1", "yes")
        .call("1", "exec", r#"{"command":"third"}"#);
    let commands = track(&view, Span::new(0, view.len()), &Rules::default()).commands;
    let seen: Vec<_> = commands.iter().map(|run| (run.command.as_str(), run.outcome, run.at)).collect();
    let expected =
        [("first", Outcome::Failed, 0), ("sh -c second", Outcome::Succeeded, 2), ("third", Outcome::Unknown, 4)];
    assert_eq!(seen, expected);
}

#[test]
fn operations_of_two_ranges_are_joined_without_repeats() {
    let mut found = tracked("read", r#"{"path":"a"}"#);
    found.extend(tracked("read", r#"{"path":"a"}"#));
    found.extend(tracked("edit", r#"{"path":"a"}"#));
    found.extend(tracked("read", r#"{"path":"b"}"#));
    assert_eq!(found.read, ["a", "b"]);
    assert_eq!(found.only_read().collect::<Vec<_>>(), ["b"]);
}

proptest! {
    #[test]
    fn any_arguments_are_read_without_a_panic(name in "(bash|read|edit|apply_patch|x)", arguments in ".{0,200}") {
        let found = tracked(&name, &arguments);
        prop_assert!(found.read.iter().chain(&found.modified).all(|path| !path.is_empty()));
    }
}
