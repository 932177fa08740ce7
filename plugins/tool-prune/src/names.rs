//! By what a result is known over requests: the host's id of its entry, or its call's id where the host has none.
//!
//! Asking for thousands of ids costs more than all else that the plugin does, and within a turn the answers are the
//! same. So an instance remembers them, as a cache and nothing more: each is used only while what the host says of the
//! entry is the same, and only if the host still gives the first and the last of them to the same positions.

use std::cell::RefCell;
use std::sync::Arc;

use contextengine_sdk::{Block, EntryInfo, Position, View};

use crate::facts::Facts;

/// What the host says of an entry, as far as it tells entries apart.
type Print = (u32, u32, u32, u32, Option<u32>, Option<u64>);

/// An entry that was asked for, and its id.
type Named = Option<(Print, Arc<str>)>;

/// Ids that were asked, by position.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: RefCell<Vec<Named>>,
}

impl Names {
    /// Forgets everything if this view is not the one that was asked before, or one that it has grown to.
    pub(crate) fn check(&self, view: &dyn View) {
        let mut known = self.known.borrow_mut();
        let named = |(at, name): (usize, &Named)| {
            name.as_ref().map(|(_, name)| (Position::try_from(at).unwrap_or(Position::MAX), Arc::clone(name)))
        };
        let first = known.iter().enumerate().find_map(named);
        let last = known.iter().enumerate().rev().find_map(named);
        if first.into_iter().chain(last).any(|(at, name)| *ask(view, at) != *name) {
            known.clear();
        }
    }

    /// The name of a result.
    pub(crate) fn of(&self, view: &dyn View, facts: &Facts, at: Position) -> Arc<str> {
        let print = print(facts.entry(at));
        let mut known = self.known.borrow_mut();
        let index = at as usize;
        if let Some(Some((same, name))) = known.get(index) {
            if *same == print {
                return Arc::clone(name);
            }
        }
        let name: Arc<str> = ask(view, at).into();
        if known.len() <= index {
            known.resize(facts.entries.len().max(index + 1), None);
        }
        known[index] = Some((print, Arc::clone(&name)));
        name
    }
}

fn print(entry: &EntryInfo) -> Print {
    (entry.group, entry.turn, entry.tokens, entry.bytes, entry.tool, entry.at.map(f64::to_bits))
}

fn ask(view: &dyn View, at: Position) -> String {
    view.attribute(at, "id").or_else(|| call_id(view, at)).unwrap_or_default()
}

fn call_id(view: &dyn View, at: Position) -> Option<String> {
    view.blocks(at).into_iter().find_map(|block| match block {
        Block::ToolResult(result) => Some(result.call_id),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use contextengine_sdk::memory::MemoryView;

    use super::*;
    use crate::Config;

    fn view(names: &[&str]) -> MemoryView {
        names.iter().fold(MemoryView::new().user("a"), |view, name| {
            view.assistant("").call("1", "read", "{}").result("1", "text").attributed("id", *name)
        })
    }

    fn ask_all(names: &Names, view: &MemoryView) -> Vec<String> {
        let facts = Facts::read(view, &Config::default(), 1_000);
        names.check(view);
        (2..view.len()).step_by(2).map(|at| names.of(view, &facts, at).to_string()).collect()
    }

    #[test]
    fn a_view_that_has_grown_is_the_same_and_one_with_other_entries_is_not() {
        let names = Names::default();
        for ids in [&["x", "y"][..], &["x", "y", "z"], &["w", "x", "y"], &["v", "x"], &["v"], &["v", "q", "r"]] {
            assert_eq!(ask_all(&names, &view(ids)), ids);
        }
    }
}
