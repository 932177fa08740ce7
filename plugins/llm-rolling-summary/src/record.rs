//! What is known of the folded entries without a model.

use contextengine_sdk::budget::ends_bytes;
use contextengine_sdk::cut::Layout;
use contextengine_sdk::{Block, CompressRequest, EntryKind, Marks, Position, Span, View, files};

use crate::carried::{Carried, Previous};
use crate::config::Config;
use crate::constraints;
use crate::escape::{masked, one_line};
use crate::names;
use crate::select::Fold;

/// Bytes of the goal and of the newest request where they are quoted.
const REQUEST_BYTES: usize = 600;
/// Bytes of one entry that are searched for names, as the host's gate does.
const NAMES_READ: u32 = 16 * 1024;

/// Names that the host's gate asks for by default.
const GATE_NAMES: u32 = 12;
/// Newest covered entries that it takes them from.
const GATE_ENTRIES: u32 = 10;

/// The facts.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// What goes on to the next round. Its `body` and `user_messages` are settled when the text is put together.
    pub(crate) carried: Carried,
    /// The user's newest folded request.
    pub(crate) request: Option<String>,
    /// The newest folded turns: who spoke, and what.
    pub(crate) recent: Vec<(&'static str, String)>,
    /// Names that the summary has to hold.
    pub(crate) names: Vec<String>,
    /// The host refuses a plan without them.
    pub(crate) names_asked: bool,
    /// An index of all names.
    pub(crate) anchors: Vec<String>,
    /// What observers saved.
    pub(crate) notes: Vec<String>,
}

/// Gathers the facts; `lost` are names that the host misses.
pub(crate) fn gather(
    view: &dyn View,
    layout: &Layout,
    fold: &Fold,
    previous: Option<&Previous>,
    request: &CompressRequest,
    lost: &[String],
    config: &Config,
) -> Record {
    let mut carried = previous.map(|previous| previous.carried.clone()).unwrap_or_default();
    let new: Vec<Position> = fold.positions.iter().copied().filter(|at| Some(*at) != fold.previous).collect();
    carried.rounds = carried.rounds.saturating_add(1);
    carried.entries += new.len() as u64;
    let of_kind = |kind| move |at: &Position| layout.entry(*at).is_some_and(|entry| entry.kind == kind);
    let words: Vec<String> =
        new.iter().copied().filter(of_kind(EntryKind::User)).map(|at| masked(&view.text(at, None))).collect();
    let words: Vec<String> = words.into_iter().filter(|text| !text.trim().is_empty()).collect();
    if config.constraints_tokens > 0 {
        let found = words.iter().flat_map(|text| constraints::find(text, &config.constraint_words)).collect();
        constraints::extend(&mut carried.constraints, found);
    }
    let first = words.first().map(|text| ends_bytes(text.trim(), REQUEST_BYTES, 70).into_owned());
    carried.goal = carried.goal.take().or(first);
    let newest = words.last().map(|text| ends_bytes(text.trim(), REQUEST_BYTES, 70).into_owned());
    carried.user_messages.extend(words);
    touch_files(view, &new, &mut carried);
    add_failures(view, layout, &new, config, &mut carried);
    Record {
        request: newest,
        recent: recent(view, layout, &new, config),
        names: wanted_names(view, layout, fold, lost, config),
        names_asked: !lost.is_empty(),
        anchors: anchors(view, fold, config),
        notes: request.memory.iter().map(|note| masked(note.trim())).filter(|note| !note.is_empty()).collect(),
        carried,
    }
}

fn touch_files(view: &dyn View, new: &[Position], carried: &mut Carried) {
    let rules = files::Rules::default();
    let mut operations = files::Operations {
        read: std::mem::take(&mut carried.read_files),
        modified: std::mem::take(&mut carried.modified_files),
        commands: Vec::new(),
    };
    for span in Span::over(new.iter().copied()) {
        operations.extend(files::track(view, span, &rules));
    }
    let is_path = |path: &String| path.len() <= 400 && !path.contains(['\n', '\r']) && names::is_public(path);
    operations.read.retain(is_path);
    operations.modified.retain(is_path);
    carried.read_files = operations.only_read().map(str::to_owned).collect();
    carried.modified_files = operations.modified;
}

fn add_failures(view: &dyn View, layout: &Layout, new: &[Position], config: &Config, carried: &mut Carried) {
    let most = config.failures as usize;
    let failed = |at: &Position| layout.entry(*at).is_some_and(|entry| entry.marks.contains(Marks::FAILED));
    let mut found: Vec<String> = Vec::new();
    for at in new.iter().rev().copied().filter(failed) {
        if found.len() == most {
            break;
        }
        for block in view.blocks(at) {
            if let Block::ToolResult(result) = block {
                let name = if result.name.is_empty() { "a tool" } else { result.name.as_str() };
                let text = one_line(&masked(&result.text), config.failure_bytes as usize);
                found.push(format!("{}: {}", one_line(name, 60), if text.is_empty() { "no output" } else { &text }));
            }
        }
    }
    carried.failures.extend(found.into_iter().rev());
    carried.failures.drain(..carried.failures.len().saturating_sub(most));
}

fn recent(view: &dyn View, layout: &Layout, new: &[Position], config: &Config) -> Vec<(&'static str, String)> {
    let mut begins: Vec<Position> = new
        .iter()
        .copied()
        .filter(|&at| layout.entry(at).is_some_and(|entry| entry.kind == EntryKind::User))
        .rev()
        .take(config.recent_turns as usize)
        .collect();
    let Some(from) = begins.pop() else { return Vec::new() };
    let spoken = |at: Position| {
        let speaker = match layout.entry(at)?.kind {
            EntryKind::User => "User",
            EntryKind::Assistant => "Assistant",
            _ => return None,
        };
        let words: Vec<String> = view
            .blocks(at)
            .into_iter()
            .filter_map(|block| match block {
                Block::Text(text) => Some(text),
                _ => None,
            })
            .collect();
        let text = masked(words.join("\n").trim());
        let short = ends_bytes(&text, config.recent_turn_bytes as usize, 70).into_owned();
        (!short.is_empty()).then_some((speaker, short))
    };
    new.iter().copied().filter(|&at| at >= from).filter_map(spoken).collect()
}

/// The newest names of what is covered, the user's first, as the host's gate asks for them.
fn wanted_names(view: &dyn View, layout: &Layout, fold: &Fold, lost: &[String], config: &Config) -> Vec<String> {
    let mut wanted: Vec<String> = lost.iter().filter(|name| names::is_public(name)).cloned().collect();
    // What the host asked for once it asks for again, also for what stood elsewhere in the refused text.
    let (names, entries) = match lost {
        [] => (config.identifiers, config.identifier_entries),
        _ => (config.identifiers.max(GATE_NAMES), config.identifier_entries.max(GATE_ENTRIES)),
    };
    let most = wanted.len() + names as usize;
    let newest = fold.positions.iter().rev().copied().take(entries as usize);
    let (users, others): (Vec<Position>, Vec<Position>) =
        newest.partition(|&at| layout.entry(at).is_some_and(|entry| entry.kind == EntryKind::User));
    for at in users.into_iter().chain(others) {
        for name in names::identifiers(&view.text(at, Some(NAMES_READ))) {
            if wanted.len() < most && names::is_public(name) && !wanted.iter().any(|known| known == name) {
                wanted.push(name.to_owned());
            }
        }
    }
    wanted
}

fn anchors(view: &dyn View, fold: &Fold, config: &Config) -> Vec<String> {
    if config.anchors_tokens == 0 {
        return Vec::new();
    }
    let texts: Vec<String> = fold.positions.iter().map(|&at| view.text(at, Some(NAMES_READ))).collect();
    names::index(texts.iter().map(String::as_str))
}
