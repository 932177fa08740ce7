//! What fills a window, by kind of entry.

use contextengine::transcript::EntryKind;
use contextengine::view::View;
use serde::{Serialize, Serializer};

use super::{percent, thousands};

/// Kinds of entries in the order in which tables show them.
const KINDS: [EntryKind; 7] = [
    EntryKind::System,
    EntryKind::Summary,
    EntryKind::BranchSummary,
    EntryKind::User,
    EntryKind::Note,
    EntryKind::Assistant,
    EntryKind::ToolResult,
];

/// A kind of entry as reports spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KindName(EntryKind);

impl From<EntryKind> for KindName {
    fn from(kind: EntryKind) -> Self {
        Self(kind)
    }
}

impl KindName {
    /// For people.
    pub(crate) fn words(self) -> &'static str {
        match self.0 {
            EntryKind::System => "system",
            EntryKind::User => "user",
            EntryKind::Assistant => "assistant",
            EntryKind::ToolResult => "tool result",
            EntryKind::Summary => "summary",
            EntryKind::BranchSummary => "branch summary",
            EntryKind::Note => "note",
        }
    }
}

/// For programs: in snake_case.
impl Serialize for KindName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.words().replace(' ', "_"))
    }
}

/// Entries and tokens of one kind.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct OfKind {
    kind: KindName,
    entries: u32,
    tokens: u32,
}

/// What a context holds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Fill {
    pub(crate) entries: u32,
    pub(crate) tokens: u32,
    by_kind: Vec<OfKind>,
}

impl Fill {
    pub(crate) fn of(view: &View) -> Self {
        let by_kind = KINDS
            .into_iter()
            .map(|kind| {
                let of_kind = view.infos().iter().filter(|info| info.kind == kind);
                let (entries, tokens) =
                    of_kind.fold((0, 0u32), |(n, sum), info| (n + 1, sum.saturating_add(info.tokens)));
                OfKind { kind: kind.into(), entries, tokens }
            })
            .filter(|of_kind| of_kind.entries > 0)
            .collect();
        Self { entries: view.len(), tokens: view.tokens(), by_kind }
    }

    fn of_kind(&self, kind: KindName) -> (u32, u32) {
        self.by_kind.iter().find(|of_kind| of_kind.kind == kind).map_or((0, 0), |found| (found.entries, found.tokens))
    }

    /// Rows of kind, entries, tokens, share and a bar.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let mut rows: Vec<Vec<String>> = self
            .by_kind
            .iter()
            .map(|of_kind| {
                vec![
                    of_kind.kind.words().to_owned(),
                    thousands(of_kind.entries),
                    thousands(of_kind.tokens),
                    percent(of_kind.tokens, self.tokens),
                    bar(of_kind.tokens, self.tokens),
                ]
            })
            .collect();
        rows.push(vec!["total".to_owned(), thousands(self.entries), thousands(self.tokens)]);
        rows
    }

    /// Rows of kind, entries before and after, tokens before and after, and bars of both on one scale.
    pub(crate) fn rows_to(&self, after: &Fill) -> Vec<Vec<String>> {
        let row = |name: &str, entries: (u32, u32), tokens: (u32, u32), bars: String| {
            let arrow = || "→".to_owned();
            let (entries_before, entries_after) = (thousands(entries.0), thousands(entries.1));
            let (tokens_before, tokens_after) = (thousands(tokens.0), thousands(tokens.1));
            vec![name.to_owned(), entries_before, arrow(), entries_after, tokens_before, arrow(), tokens_after, bars]
        };
        let mut rows = Vec::new();
        for kind in KINDS.into_iter().map(KindName::from) {
            let ((entries, tokens), (entries_after, tokens_after)) = (self.of_kind(kind), after.of_kind(kind));
            if entries > 0 || entries_after > 0 {
                let bars = bars(tokens, tokens_after, self.tokens);
                rows.push(row(kind.words(), (entries, entries_after), (tokens, tokens_after), bars));
            }
        }
        rows.push(row("total", (self.entries, after.entries), (self.tokens, after.tokens), String::new()));
        rows
    }
}

/// Cells of a bar of 100 %.
const BAR: u32 = 24;

fn cells(part: u32, whole: u32) -> usize {
    if part == 0 || whole == 0 {
        return 0;
    }
    let cells = (u64::from(part) * u64::from(BAR)).div_ceil(u64::from(whole)).min(u64::from(BAR));
    usize::try_from(cells).unwrap_or_default()
}

fn bar(part: u32, whole: u32) -> String {
    "█".repeat(cells(part, whole))
}

/// What is left is full, what went is light.
fn bars(before: u32, after: u32, whole: u32) -> String {
    let (before, after) = (cells(before, whole), cells(after, whole));
    format!("{}{}", "█".repeat(after), "░".repeat(before.saturating_sub(after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_there_has_a_cell_and_nothing_has_more_than_all() {
        assert_eq!(cells(0, 10), 0);
        assert_eq!(cells(1, 1_000_000), 1);
        assert_eq!(cells(10, 10), 24);
        assert_eq!(cells(20, 10), 24);
        assert_eq!(cells(1, 0), 0);
    }

    #[test]
    fn a_bar_shows_what_is_left_and_what_went() {
        assert_eq!(bars(10, 5, 24), "█████░░░░░");
        assert_eq!(bars(0, 5, 24), "█████");
        assert_eq!(bars(5, 0, 24), "░░░░░");
    }
}
