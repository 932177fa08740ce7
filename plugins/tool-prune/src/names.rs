//! By what a result is known over requests: the host's id of its entry, or its call's id where the host has none.
//!
//! Asking for thousands of ids, and writing as many texts, costs more than all else that the plugin does, and within a
//! turn they are the same. So an instance remembers them, as a cache and nothing more: each is used only while what the
//! host says of the entry is the same, and only if the host still gives the first and the last of the ids to the same
//! positions.

use std::cell::RefCell;
use std::sync::Arc;

use contextengine_sdk::{Block, EntryInfo, Position, View};

use crate::facts::Facts;

/// What the host says of an entry, as far as it tells entries apart.
type Print = (u32, u32, u32, u32, Option<u32>, Option<u64>);

/// An entry that was asked for.
#[derive(Debug, Clone)]
struct Known {
    print: Print,
    id: Arc<str>,
    /// What stands for it under the rule with this print; `None` where that would not be shorter.
    text: Option<(u64, Option<String>)>,
}

/// What was asked and written, by position.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: RefCell<Vec<Option<Known>>>,
}

impl Names {
    /// Forgets everything if this view is not the one that was asked before, or one that it has grown to.
    pub(crate) fn check(&self, view: &dyn View) {
        let mut known = self.known.borrow_mut();
        let named = |(at, known): (usize, &Option<Known>)| {
            known.as_ref().map(|known| (Position::try_from(at).unwrap_or(Position::MAX), Arc::clone(&known.id)))
        };
        let first = known.iter().enumerate().find_map(named);
        let last = known.iter().enumerate().rev().find_map(named);
        if first.into_iter().chain(last).any(|(at, id)| *ask(view, at) != *id) {
            known.clear();
        }
    }

    /// The id of a result.
    pub(crate) fn of(&self, view: &dyn View, facts: &Facts, at: Position) -> Arc<str> {
        let print = print(facts.entry(at));
        let mut all = self.known.borrow_mut();
        let index = at as usize;
        if let Some(Some(known)) = all.get(index) {
            if known.print == print {
                return Arc::clone(&known.id);
            }
        }
        let id: Arc<str> = ask(view, at).into();
        if all.len() <= index {
            all.resize(facts.entries.len().max(index + 1), None);
        }
        all[index] = Some(Known { print, id: Arc::clone(&id), text: None });
        id
    }

    /// What stands for a result whose id was asked, under the rule with this print; written by `write` if it is new.
    pub(crate) fn text(&self, at: Position, rule: u64, write: impl FnOnce() -> Option<String>) -> Option<String> {
        let mut all = self.known.borrow_mut();
        let Some(Some(known)) = all.get_mut(at as usize) else { return write() };
        match &known.text {
            Some((of, text)) if *of == rule => text.clone(),
            _ => {
                let text = write();
                known.text = Some((rule, text.clone()));
                text
            }
        }
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
