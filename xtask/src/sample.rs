//! The sample session of the demo: a coding agent that hunts a double booking in a small web service.
//!
//! Written by a program, so that its parts fit together: a file that the agent edits reads differently afterwards,
//! ids and times go up, usage counts what came before. The service's source is in `xtask/sample`, what is said is in
//! `story.rs`, logs and test reports come from `logs.rs`. The same program gives the same bytes.

mod logs;
mod session;
mod story;

use std::fs;

use anyhow::{Context as _, Result};

use crate::workspace::Workspace;

/// Where the session is, below the root. A Pi session, version 3: one JSON object a line.
pub(crate) const FILE: &str = "examples/coding-session.jsonl";

/// Writes it.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    let file = workspace.root.join(FILE);
    let text = story::tell()?;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&file, &text).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{FILE}: {} entries, {} KiB", text.lines().count(), text.len().div_ceil(1024));
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
    use super::*;
    use serde_json::Value;
    use std::collections::{HashMap, HashSet};
    use std::path::Path;

    fn entries(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn the_committed_session_is_what_the_program_writes() {
        let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FILE);
        let committed = fs::read_to_string(committed).unwrap();
        assert!(committed == story::tell().unwrap(), "write it anew: cargo xtask sample");
        assert!(committed.len() < 300 * 1024);
    }

    #[test]
    fn every_entry_hangs_on_the_one_before_it_and_time_goes_on() {
        let entries = entries(&story::tell().unwrap());
        assert_eq!(entries[0]["type"], "session");
        let mut seen = HashSet::new();
        for pair in entries[1..].windows(2) {
            assert_eq!(pair[1]["parentId"], pair[0]["id"]);
            assert!(pair[1]["timestamp"].as_str() >= pair[0]["timestamp"].as_str(), "{}", pair[1]);
            assert!(seen.insert(pair[0]["id"].as_str().unwrap().to_owned()), "{}", pair[0]);
        }
    }

    #[test]
    fn every_call_has_one_result_and_the_last_word_is_an_open_request() {
        let entries = entries(&story::tell().unwrap());
        let mut open: HashMap<&str, &str> = HashMap::new();
        for message in entries.iter().filter_map(|entry| entry.get("message")) {
            if message["role"] == "toolResult" {
                let name = open.remove(message["toolCallId"].as_str().unwrap());
                assert_eq!(name, message["toolName"].as_str());
                continue;
            }
            assert!(open.is_empty(), "{open:?} unanswered before {message}");
            let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            for call in blocks.iter().filter(|block| block["type"] == "toolCall") {
                open.insert(call["id"].as_str().unwrap(), call["name"].as_str().unwrap());
            }
        }
        assert_eq!(entries.last().unwrap()["message"]["role"], "user");
    }
}
