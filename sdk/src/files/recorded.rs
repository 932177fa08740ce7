//! What an earlier summary says of files, so that a new one does not forget them.
//!
//! A summary covers the calls that [`track`](super::track) would read. What it recorded stands in its details, or in
//! its text where a format had no place for details.

use serde_json::Value;

use super::{Operations, add};
use crate::types::Position;
use crate::view::View;

/// Keys of details under which well-known agents store lists of paths; the first are Pi's.
const READ_KEYS: [&str; 2] = ["readFiles", "read_files"];
const MODIFIED_KEYS: [&str; 2] = ["modifiedFiles", "modified_files"];

/// Longer than any path of a common system (`PATH_MAX` of Linux is 4,096): it is no path.
const LONGEST_PATH: usize = 4_096;

/// What the summary at a position recorded: from its [details](View::details) and its text.
///
/// ```
/// use contextengine_sdk::{files, memory::MemoryView};
/// let view = MemoryView::new()
///     .branch_summary("Tried it.\n\n<read-files>\nsrc/a.rs\n</read-files>")
///     .attributed("details", r#"{"readFiles": [], "modifiedFiles": ["src/b.rs"]}"#);
/// let found = files::recorded(&view, 0);
/// assert_eq!((found.read, found.modified), (vec!["src/a.rs".to_owned()], vec!["src/b.rs".to_owned()]));
/// ```
pub fn recorded(view: &dyn View, at: Position) -> Operations {
    let mut found = view.details(at).map(|details| from_details(&details)).unwrap_or_default();
    found.extend(from_text(&view.text(at, None)));
    found
}

/// The lists `readFiles` and `modifiedFiles` of a summary's details; nothing where they are not such JSON.
pub fn from_details(details: &str) -> Operations {
    let details: Value = serde_json::from_str(details).unwrap_or_default();
    let mut found = Operations::default();
    listed(&details, &READ_KEYS).for_each(|path| note(&mut found.read, path));
    listed(&details, &MODIFIED_KEYS).for_each(|path| note(&mut found.modified, path));
    found
}

fn listed<'a>(details: &'a Value, keys: &'a [&str]) -> impl Iterator<Item = &'a str> {
    keys.iter().filter_map(|key| details.get(key)?.as_array()).flatten().filter_map(Value::as_str)
}

/// Paths that the text of a summary lists: between `<read-files>` and `<modified-files>` tags, one a line, or below a
/// heading `## Files` as `- read: a, b` and `- modified: c ×2`.
///
/// ```
/// use contextengine_sdk::files::from_text;
/// let found = from_text("## Files\n- modified: src/a.rs ×3, b.rs and 2 more\n- read: c.rs\n\n## Failures\n- read: no");
/// assert_eq!((found.modified.len(), found.read), (2, vec!["c.rs".to_owned()]));
/// ```
pub fn from_text(text: &str) -> Operations {
    let mut found = Operations::default();
    let mut place = Place::Elsewhere;
    for line in text.lines() {
        let line = line.trim();
        place = match line {
            "<read-files>" => Place::ReadTag,
            "<modified-files>" => Place::ModifiedTag,
            "</read-files>" | "</modified-files>" => Place::Elsewhere,
            _ if line.starts_with("## ") => {
                if line == "## Files" {
                    Place::Section
                } else {
                    Place::Elsewhere
                }
            }
            _ => {
                read_line(&mut found, place, line);
                place
            }
        };
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Elsewhere,
    ReadTag,
    ModifiedTag,
    Section,
}

fn read_line(found: &mut Operations, place: Place, line: &str) {
    match place {
        Place::Elsewhere => {}
        Place::ReadTag => note(&mut found.read, line),
        Place::ModifiedTag => note(&mut found.modified, line),
        Place::Section => {
            if let Some(list) = line.strip_prefix("- read: ") {
                names(list).for_each(|path| note(&mut found.read, path));
            } else if let Some(list) = line.strip_prefix("- modified: ") {
                names(list).for_each(|path| note(&mut found.modified, path));
            }
        }
    }
}

/// Names of a list as [`budget::list`](crate::budget::list) writes it, also with counts like `×3`.
fn names(list: &str) -> impl Iterator<Item = &str> {
    let list = match list.rsplit_once(" and ") {
        Some((names, rest)) if rest.strip_suffix(" more").is_some_and(|n| n.parse::<u64>().is_ok()) => names,
        _ => list,
    };
    list.split(", ").map(|name| match name.rsplit_once(" ×") {
        Some((path, count)) if count.parse::<u64>().is_ok() => path,
        _ => name,
    })
}

fn note(list: &mut Vec<String>, path: &str) {
    if path.len() <= LONGEST_PATH {
        add(list, path.trim().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{MemoryView, TestHost};
    use crate::types::CompactionRecord;

    #[test]
    fn details_of_the_last_compaction_are_read_where_the_host_has_no_attribute() {
        let record = CompactionRecord {
            at: 0,
            plugin: "x".to_owned(),
            summary: "s".to_owned(),
            details: Some(r#"{"modifiedFiles":["a.rs", 7, "a.rs"],"read_files":["b.rs"]}"#.to_owned()),
            tokens_before: 0,
            tokens_after: 0,
        };
        let view = MemoryView::new().summary("s").summary("t").compacted(record);
        let found = recorded(&view, 0);
        assert_eq!((found.modified, found.read), (vec!["a.rs".to_owned()], vec!["b.rs".to_owned()]));
        assert_eq!(recorded(&view, 1), Operations::default());
    }

    #[test]
    fn what_is_no_list_of_paths_is_nothing() {
        for details in ["", "[]", "{", r#"{"readFiles": 3}"#, r#"{"readFiles": {"a": "b"}}"#] {
            assert_eq!(from_details(details), Operations::default(), "{details}");
        }
        assert_eq!(from_text("- read: a.rs\n<read-files>\n</read-files>\nb.rs"), Operations::default());
    }

    #[test]
    fn a_list_that_was_written_is_read_back() {
        let paths: Vec<String> = (0..30).map(|n| format!("src/module_{n}.rs")).collect();
        let line = crate::budget::list(&TestHost::new(), "- read: ", &paths, 60);
        let found = from_text(&format!("## Files\n{line}\n"));
        assert!(line.ends_with(" more") && !found.read.is_empty(), "{line}");
        assert_eq!(found.read, paths[..found.read.len()]);
    }
}
