//! What a tool call did: which file it read or modified, which command it ran, which tasks it listed.
//!
//! Tools have other names and keys in every agent; the rules here go by the words that all of them use. What is not
//! recognised is simply not listed; the call stays in the session.

use serde_json::Value;

use crate::summary::clean_source;

/// The longest command that is listed, in bytes; the rest of a script is in the session.
const MAX_COMMAND: usize = 200;

/// What a call did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Deed {
    /// Files that it read.
    pub(crate) read: Vec<String>,
    /// Files that it wrote, edited, moved or removed.
    pub(crate) modified: Vec<String>,
    /// The command that it ran, on one line.
    pub(crate) command: Option<String>,
    /// The command only looks (`ls`, `grep`, …): not worth a line.
    pub(crate) looks_only: bool,
    /// The command concerns version control or a forge, whose output is full of hashes and numbers.
    pub(crate) git: bool,
    /// Tasks that are not done, if the call is a task list; it replaces earlier lists.
    pub(crate) tasks: Option<Vec<String>>,
    /// All words of the arguments, for the index.
    pub(crate) words: String,
}

/// Reads a call.
pub(crate) fn deed(tool: &str, arguments: &str) -> Deed {
    let mut deed = Deed::default();
    let Ok(arguments) = serde_json::from_str::<Value>(arguments) else {
        deed.words = arguments.to_owned();
        return deed;
    };
    collect_words(&arguments, &mut deed.words, 0);
    let tool = tool.to_ascii_lowercase();
    deed.tasks = tasks(&arguments);
    let sub = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
    if let Some(path) = path(&arguments) {
        match access(&tool, sub) {
            Some(true) => deed.modified.push(path),
            Some(false) => deed.read.push(path),
            None => {}
        }
        return deed;
    }
    for patch in ["input", "patch", "patchText", "command", "cmd"] {
        if let Some(text) = arguments.get(patch).and_then(text_of).filter(|text| text.contains("*** Begin Patch")) {
            deed.modified.extend(patched(&text));
            return deed;
        }
    }
    if let Some(command) = command(&arguments, &tool) {
        deed.looks_only = looks_only(&command);
        deed.git = is_git(&command);
        deed.read = read_by(&command);
        deed.command = Some(shorten(&command));
    }
    deed
}

/// Every string in the arguments, one a line.
fn collect_words(value: &Value, out: &mut String, depth: u8) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Array(items) if depth < 8 => items.iter().for_each(|item| collect_words(item, out, depth + 1)),
        Value::Object(fields) if depth < 8 => fields.values().for_each(|item| collect_words(item, out, depth + 1)),
        _ => {}
    }
}

fn path(arguments: &Value) -> Option<String> {
    ["path", "file_path", "filePath", "filepath", "filename", "file", "notebook_path", "target_file", "absolute_path"]
        .iter()
        .find_map(|key| arguments.get(key)?.as_str())
        .map(|path| path.trim().to_owned())
        .filter(|path| !path.is_empty() && path.len() <= 400 && !path.contains('\n'))
}

/// Does the tool modify the file it is given (`true`), read it (`false`), or neither?
fn access(tool: &str, command: &str) -> Option<bool> {
    const READS: [&str; 5] = ["read", "view", "cat", "open_file", "get_file"];
    const WRITES: [&str; 11] =
        ["edit", "write", "create", "patch", "replace", "insert", "delete", "remove", "move", "rename", "update"];
    // Editors of several functions name the one in `command`.
    let word = if ["view", "create", "str_replace", "insert", "undo_edit"].contains(&command) { command } else { tool };
    if READS.iter().any(|read| word.contains(read)) {
        Some(false)
    } else if WRITES.iter().any(|write| word.contains(write)) {
        Some(true)
    } else {
        None
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            // `["bash", "-lc", "…"]`: the script is the command.
            match words.as_slice() {
                [shell, flag, script] if shell.ends_with("sh") && flag.starts_with('-') => Some((*script).to_owned()),
                [] => None,
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}

fn command(arguments: &Value, tool: &str) -> Option<String> {
    let keys: &[&str] = &["command", "cmd", "script"];
    let shell =
        ["bash", "shell", "exec", "terminal", "run", "command", "process"].iter().any(|word| tool.contains(word));
    keys.iter()
        .find_map(|key| arguments.get(key).and_then(text_of))
        .filter(|command| shell || command.contains(' '))
        .filter(|command| !command.trim().is_empty())
}

/// Files named in a patch in the form of Codex.
fn patched(patch: &str) -> Vec<String> {
    const MARKS: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
    patch
        .lines()
        .filter_map(|line| MARKS.iter().find_map(|mark| line.strip_prefix(mark)))
        .map(|path| path.trim().to_owned())
        .filter(|path| !path.is_empty())
        .collect()
}

/// Pending tasks in the lists of Claude Code (`todos`), Codex (`plan`) and their likes.
fn tasks(arguments: &Value) -> Option<Vec<String>> {
    let list = ["todos", "plan", "tasks", "items"].iter().find_map(|key| arguments.get(key)?.as_array())?;
    let mut pending = Vec::new();
    for task in list {
        let status = task.get("status").and_then(Value::as_str)?;
        let text =
            ["content", "step", "text", "title", "description"].iter().find_map(|key| task.get(key)?.as_str())?;
        if !matches!(status, "completed" | "done" | "cancelled" | "canceled") {
            let mark = if status == "in_progress" { "in progress: " } else { "" };
            pending.push(format!("{mark}{text}"));
        }
    }
    Some(pending)
}

/// The part of a command that says what it does: without a change of folder before it and a filter behind it.
pub(crate) fn core(command: &str) -> &str {
    let mut core = command.trim();
    while core.starts_with("cd ") || core.starts_with("export ") {
        let Some((_, rest)) = core.split_once("&&").or_else(|| core.split_once(';')) else {
            break;
        };
        core = rest.trim_start();
    }
    let end = core.find(" | ").unwrap_or(core.len());
    core[..end].trim_end().trim_end_matches("2>&1").trim_end()
}

fn program(command: &str) -> &str {
    let word = core(command).split_whitespace().find(|word| !word.contains('=') && *word != "sudo" && *word != "time");
    word.unwrap_or_default().rsplit('/').next().unwrap_or_default()
}

fn looks_only(command: &str) -> bool {
    const LOOKERS: [&str; 26] = [
        "ls", "cat", "grep", "rg", "find", "head", "tail", "wc", "echo", "pwd", "cd", "which", "tree", "stat", "file",
        "less", "du", "sort", "sleep", "printf", "env", "date", "nl", "awk", "jq", "true",
    ];
    let code = core(command);
    if program(command) == "sleep" {
        return true;
    }
    // A redirection writes; a chain may do anything.
    let writes = code.contains(" > ") || code.contains(" >> ") || code.contains("<<");
    let chained = code.contains("&&") || code.contains(';');
    let git = ["git status", "git log", "git diff", "git show", "git branch"].iter().any(|look| code.starts_with(look));
    let sed = code.starts_with("sed -n");
    !writes && !chained && (LOOKERS.contains(&program(command)) || git || sed)
}

fn is_git(command: &str) -> bool {
    ["git ", "gh ", "glab ", "jj ", "hg "].iter().any(|program| {
        command
            .match_indices(program)
            .any(|(at, _)| at == 0 || command[..at].ends_with([' ', ';', '&', '|', '\n', '(']))
    })
}

/// Files that a command prints: for agents whose only tool is a shell.
fn read_by(command: &str) -> Vec<String> {
    let code = core(command);
    if !(["cat", "head", "tail", "nl", "less"].contains(&program(command)) || code.starts_with("sed -n")) {
        return Vec::new();
    }
    if code.contains(['>', '<', '&', ';', '$', '*', '`']) {
        return Vec::new();
    }
    code.split_whitespace()
        .skip(1)
        .map(|word| word.trim_matches(['"', '\'']))
        .filter(|word| !word.starts_with('-') && (word.contains('/') || word.contains('.')))
        .filter(|word| !word.contains(',') && word.bytes().any(|b| b.is_ascii_alphabetic()) && word.len() <= 400)
        .map(str::to_owned)
        .collect()
}

/// One line of a command: without the filters behind it and the text of a here-document, which say how it was looked
/// at and not what was done.
fn shorten(command: &str) -> String {
    let (script, here) = match command.split_once("<<") {
        Some((before, _)) => (before, " <<"),
        None => (command, ""),
    };
    let line = clean_source(script);
    let filters = [" | head", " | tail", " | grep", " | rg ", " | wc", " | less", " | cat", " | sort"];
    let end = filters.iter().filter_map(|filter| line.find(filter)).min().unwrap_or(line.len());
    let line = line[..end].trim_end().trim_end_matches("2>&1").trim_end();
    format!("{}{here}", cut(line, MAX_COMMAND))
}

/// At most `limit` bytes of a line, with a mark where it was cut.
pub(crate) fn cut(line: &str, limit: usize) -> String {
    const MARK: &str = " […]";
    if line.len() <= limit {
        return line.to_owned();
    }
    let mut end = limit.saturating_sub(MARK.len());
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MARK}", line[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_the_calls_of_every_agent() {
        let read = |tool: &str, arguments: &str| deed(tool, arguments).read;
        let modified = |tool: &str, arguments: &str| deed(tool, arguments).modified;
        assert_eq!(read("read", r#"{"path":"a.rs"}"#), ["a.rs"]);
        assert_eq!(read("Read", r#"{"file_path":"/x/a.rs"}"#), ["/x/a.rs"]);
        assert_eq!(modified("MultiEdit", r#"{"file_path":"a.rs"}"#), ["a.rs"]);
        assert_eq!(modified("write", r#"{"filePath":"b.rs","content":""}"#), ["b.rs"]);
        assert_eq!(read("str_replace_based_edit_tool", r#"{"command":"view","path":"c.rs"}"#), ["c.rs"]);
        assert_eq!(modified("str_replace_based_edit_tool", r#"{"command":"create","path":"c.rs"}"#), ["c.rs"]);
        let patch = r#"{"command":["apply_patch","*** Begin Patch\n*** Update File: d.rs\n*** Add File: e.rs\n*** End Patch"]}"#;
        assert_eq!(modified("shell", patch), ["d.rs", "e.rs"]);
        assert_eq!(read("shell", r#"{"command":["bash","-lc","sed -n 1,20p src/f.rs"]}"#), ["src/f.rs"]);
        assert!(modified("grep", r#"{"path":"src"}"#).is_empty());
    }

    #[test]
    fn commands_that_only_look_are_told_from_those_that_act() {
        for command in ["ls -la", "cd x && grep -n foo src | head", "git status", "cat a.txt", "sed -n 1,5p a"] {
            assert!(looks_only(command), "{command}");
        }
        for command in ["npm test", "cat > a.txt << EOF", "git commit -m x", "cargo build | tail -3", "sed -i s/a/b/ x"]
        {
            assert!(!looks_only(command), "{command}");
        }
    }

    #[test]
    fn the_pending_tasks_of_a_list_are_read() {
        let todos = r#"{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"}]}"#;
        assert_eq!(deed("TodoWrite", todos).tasks, Some(vec!["in progress: b".to_owned()]));
        let plan = r#"{"plan":[{"step":"c","status":"pending"}]}"#;
        assert_eq!(deed("update_plan", plan).tasks, Some(vec!["c".to_owned()]));
    }
}
