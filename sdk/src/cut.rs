//! Where a session can be cut.
//!
//! A [`Layout`] is read from the view once and then answers without calling the host: which positions split no group,
//! how far back a number of tokens reaches, what must be kept, where turns begin. Groups may be non-contiguous (a
//! result can be displaced), so a boundary is a place that no group reaches over, not one where the group changes.

use std::collections::BTreeMap;

use crate::types::{Block, EntryInfo, EntryKind, Marks, Position, Span};
use crate::view::View;

/// The entries of a view without their texts, and what follows from them.
///
/// ```
/// use contextengine_sdk::{cut::Layout, memory::MemoryView};
///
/// let view = MemoryView::new()
///     .user("fix the test").tokens(10)
///     .call("1", "bash", "{}").tokens(20)
///     .result("1", "FAILED").tokens(500)
///     .user("and now?").tokens(10);
/// let layout = Layout::read(&view);
/// assert_eq!(layout.boundaries(), [0, 1, 3, 4]);
/// // 2 would keep the result without its call.
/// assert_eq!(layout.keep_at_least(100), 1);
/// assert_eq!(layout.keep_at_most(100), 3);
/// assert_eq!(layout.latest_request(), Some(3));
/// ```
#[derive(Debug, Clone)]
pub struct Layout {
    entries: Vec<EntryInfo>,
    /// Members of each group, ascending. Not a hash map: that would import randomness under WASI.
    groups: BTreeMap<u32, Vec<Position>>,
    /// Tokens of the entries from a position to the end; one longer than `entries`.
    suffix: Vec<u64>,
    /// Whether a cut before a position splits no group; one longer than `entries`.
    boundary: Vec<bool>,
    /// Whether an entry's group must be kept.
    required: Vec<bool>,
    latest_request: Option<Position>,
}

impl Layout {
    /// Reads a view: one call, and the words of the latest request.
    pub fn read(view: &dyn View) -> Self {
        let entries = view.all();
        // The host's own rule: an image or a blank alone asks for nothing.
        let says = |block: &Block| matches!(block, Block::Text(text) if !text.trim().is_empty());
        let asks = |&(at, entry): &(Position, &EntryInfo)| may_ask(entry) && view.blocks(at).iter().any(says);
        let mut newest_first = (0..).zip(&entries).collect::<Vec<_>>().into_iter().rev();
        let latest = newest_first.find(asks).map(|(at, _)| at);
        Self::with_request(entries, latest)
    }

    /// From entries that were read already: all of a view, from position 0. Without their words a blank text of the
    /// user counts as a request; where such a text may be, use [`read`](Self::read), which decides as the host does.
    pub fn of(entries: Vec<EntryInfo>) -> Self {
        let latest = (0..).zip(&entries).filter(|(_, entry)| may_ask(entry)).last().map(|(at, _)| at);
        Self::with_request(entries, latest)
    }

    fn with_request(entries: Vec<EntryInfo>, latest_request: Option<Position>) -> Self {
        let mut groups: BTreeMap<u32, Vec<Position>> = BTreeMap::new();
        for (at, entry) in (0..).zip(&entries) {
            groups.entry(entry.group).or_default().push(at);
        }
        let mut layout = Self {
            suffix: suffix_sums(&entries),
            latest_request,
            boundary: Vec::new(),
            required: Vec::new(),
            entries,
            groups,
        };
        layout.boundary = layout.gaps_outside_groups(|_| true);
        layout.required = layout.mark_required();
        layout
    }

    /// For each place before a position, and the end: whether no group of those that `counts` reaches over it.
    pub(crate) fn gaps_outside_groups(&self, counts: impl Fn(Position) -> bool) -> Vec<bool> {
        let mut gaps = vec![true];
        let mut reach = 0;
        for at in 0..self.len() {
            if counts(at) {
                reach = reach.max(self.group(at).last().map_or(at, |&last| last));
            }
            gaps.push(reach <= at);
        }
        gaps
    }

    fn mark_required(&self) -> Vec<bool> {
        let mut required = vec![false; self.entries.len()];
        for (at, entry) in (0..).zip(&self.entries) {
            let must = entry.marks.intersects(Marks::PINNED | Marks::IN_FLIGHT) || self.latest_request == Some(at);
            if must {
                for &member in self.group(at) {
                    required[member as usize] = true;
                }
            }
        }
        required
    }

    /// Number of entries.
    pub fn len(&self) -> Position {
        // Positions are 32 bits wide in the ABI; a view cannot be longer.
        Position::try_from(self.entries.len()).unwrap_or(Position::MAX)
    }

    /// There is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All positions.
    pub fn span(&self) -> Span {
        Span::new(0, self.len())
    }

    /// What is known of the entries, in order.
    pub fn entries(&self) -> &[EntryInfo] {
        &self.entries
    }

    /// What is known of one entry.
    pub fn entry(&self, at: Position) -> Option<&EntryInfo> {
        self.entries.get(at as usize)
    }

    /// Positions of the group that an entry belongs to, ascending, itself among them; none beyond the end.
    pub fn group(&self, at: Position) -> &[Position] {
        self.entry(at).and_then(|entry| self.groups.get(&entry.group)).map_or(&[], Vec::as_slice)
    }

    /// Tokens of a range of entries.
    pub fn tokens(&self, range: Span) -> u64 {
        let from = |at: Position| self.suffix.get(at as usize).copied().unwrap_or(0);
        from(range.start).saturating_sub(from(range.end))
    }

    /// A cut before this position splits no group. The start and the end of a view are boundaries.
    pub fn is_boundary(&self, at: Position) -> bool {
        self.boundary.get(at as usize).copied().unwrap_or(false)
    }

    /// Every place where a cut splits no group, ascending, from 0 to the end.
    pub fn boundaries(&self) -> Vec<Position> {
        (0..=self.len()).filter(|&at| self.is_boundary(at)).collect()
    }

    /// The last boundary at or before a position.
    pub fn snap_back(&self, at: Position) -> Position {
        (0..=at.min(self.len())).rev().find(|&at| self.is_boundary(at)).unwrap_or(0)
    }

    /// The first boundary at or after a position.
    pub fn snap_forward(&self, at: Position) -> Position {
        (at..=self.len()).find(|&at| self.is_boundary(at)).unwrap_or(self.len())
    }

    /// The last boundary from which the entries take at least so many tokens; 0 if all of them take less.
    pub fn keep_at_least(&self, tokens: u32) -> Position {
        let enough = (0..=self.len()).rev().find(|&at| self.suffix[at as usize] >= u64::from(tokens));
        self.snap_back(enough.unwrap_or(0))
    }

    /// The first boundary from which the entries take at most so many tokens; the end if even the last group takes
    /// more.
    pub fn keep_at_most(&self, tokens: u32) -> Position {
        let fits = self.suffix.partition_point(|&sum| sum > u64::from(tokens));
        self.snap_forward(Position::try_from(fits).unwrap_or(Position::MAX))
    }

    /// The newest words of the user. A plan that loses them is refused.
    ///
    /// Told by figures alone, so an entry of nothing but white space counts as words here and not to the host. Where such
    /// entries can be, look at the text, and keep the newest that has words, too.
    pub fn latest_request(&self) -> Option<Position> {
        self.latest_request
    }

    /// The entry must stay: its group holds a pinned entry, a call without its result, or the latest request.
    pub fn is_required(&self, at: Position) -> bool {
        self.required.get(at as usize).copied().unwrap_or(false)
    }

    /// Every entry that must stay, ascending.
    pub fn required(&self) -> Vec<Position> {
        (0..self.len()).filter(|&at| self.is_required(at)).collect()
    }

    /// What can be folded or dropped within a range: the entries whose group lies wholly in it and need not stay.
    pub fn foldable(&self, range: Span) -> Vec<Position> {
        let inside = |at: &Position| self.group(*at).iter().all(|&member| range.contains(member));
        let positions = range.start..range.end.min(self.len());
        positions.filter(|&at| !self.is_required(at)).filter(inside).collect()
    }

    /// The turns, in order. A turn is a run of entries with one turn number.
    pub fn turns(&self) -> Vec<Span> {
        let mut turns: Vec<Span> = Vec::new();
        for at in 0..self.len() {
            let before = at.checked_sub(1).and_then(|before| self.entry(before)).map(|entry| entry.turn);
            match turns.last_mut() {
                Some(turn) if before == self.entry(at).map(|entry| entry.turn) => turn.end = at + 1,
                _ => turns.push(Span::one(at)),
            }
        }
        turns
    }

    /// Where the last `count` turns begin, moved back to a boundary; the end for 0, the start if there are fewer.
    pub fn last_turns(&self, count: usize) -> Position {
        let turns = self.turns();
        match count.checked_sub(1) {
            None => self.len(),
            Some(back) => self.snap_back(turns.len().checked_sub(back + 1).map_or(0, |index| turns[index].start)),
        }
    }
}

fn suffix_sums(entries: &[EntryInfo]) -> Vec<u64> {
    let mut sums = vec![0; entries.len() + 1];
    for at in (0..entries.len()).rev() {
        sums[at] = sums[at + 1] + u64::from(entries[at].tokens);
    }
    sums
}

/// Whether it can be a request, as far as that is known without its words.
fn may_ask(entry: &EntryInfo) -> bool {
    entry.kind == EntryKind::User && entry.bytes > 0
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        /// Any layout: groups of any shape, any kinds and marks.
        pub(crate) fn any_layout()(
            rows in prop::collection::vec((0u32..8, 0u32..50, 0u8..24, 0u8..3), 0..24),
        ) -> Layout {
            let entries = rows.iter().map(|&(group, tokens, mark, kind)| EntryInfo {
                kind: [EntryKind::User, EntryKind::Assistant, EntryKind::ToolResult][kind as usize],
                group: if kind == 0 { 100 + tokens } else { group },
                turn: 0,
                tokens,
                bytes: tokens * 4,
                marks: match mark { 0 => Marks::PINNED, 1 => Marks::IN_FLIGHT, _ => Marks::empty() },
                tool: None,
                at: None,
            });
            Layout::of(entries.collect())
        }
    }

    fn splits(layout: &Layout, at: Position) -> bool {
        (0..layout.len()).any(|entry| {
            let group = layout.group(entry);
            group.iter().any(|&member| member < at) && group.iter().any(|&member| member >= at)
        })
    }

    proptest! {
        #[test]
        fn a_boundary_is_exactly_where_no_group_is_split(layout in any_layout()) {
            for at in 0..=layout.len() {
                prop_assert_eq!(layout.is_boundary(at), !splits(&layout, at), "at {}", at);
            }
            prop_assert!(!layout.is_boundary(layout.len() + 1));
        }

        #[test]
        fn cuts_keep_what_they_promise(layout in any_layout(), tokens in 0u32..600) {
            let recent = |at| layout.tokens(Span::new(at, layout.len()));
            let least = layout.keep_at_least(tokens);
            prop_assert!(layout.is_boundary(least));
            prop_assert!(least == 0 || recent(least) >= u64::from(tokens));
            prop_assert!(layout.boundaries().iter().all(|&at| at <= least || recent(at) < u64::from(tokens)));
            let most = layout.keep_at_most(tokens);
            prop_assert!(layout.is_boundary(most));
            prop_assert!(recent(most) <= u64::from(tokens));
            prop_assert!(layout.boundaries().iter().all(|&at| at >= most || recent(at) > u64::from(tokens)));
        }

        #[test]
        fn what_can_be_folded_is_whole_groups_that_need_not_stay(layout in any_layout(), start in 0u32..30, end in 0u32..30) {
            let range = Span::new(start, end);
            let foldable = layout.foldable(range);
            for &at in &foldable {
                prop_assert!(range.contains(at));
                prop_assert!(layout.group(at).iter().all(|member| foldable.contains(member)));
                prop_assert!(!layout.required().contains(&at));
            }
        }
    }

    use crate::memory::MemoryView;

    #[test]
    fn a_displaced_result_keeps_the_gap_between_closed() {
        let view = MemoryView::new().call("1", "bash", "{}").user("wait").result("1", "done").user("go on");
        let layout = Layout::read(&view);
        assert_eq!(layout.group(0), [0, 2]);
        assert_eq!(layout.boundaries(), [0, 3, 4]);
        assert_eq!((layout.snap_back(2), layout.snap_forward(1)), (0, 3));
    }

    #[test]
    fn pinned_entries_calls_in_flight_and_the_latest_request_must_stay() {
        let view = MemoryView::new()
            .system("rules")
            .pinned()
            .user("first")
            .assistant("ok")
            .user("second")
            .call("1", "bash", "{}")
            .call("2", "bash", "{}")
            .result("1", "done");
        let layout = Layout::read(&view);
        assert_eq!(layout.required(), [0, 3, 4, 5]);
        assert_eq!(layout.foldable(layout.span()), [1, 2]);
    }

    #[test]
    fn an_image_alone_is_no_request() {
        let view = MemoryView::new().user("look at this").assistant("at what?").user("").image("image/png", 900);
        assert_eq!(Layout::read(&view).latest_request(), Some(0));
    }

    #[test]
    fn a_blank_text_is_no_request() {
        let view = MemoryView::new().user("look at this").assistant("at what?").user(" \n");
        assert_eq!(Layout::read(&view).latest_request(), Some(0));
        assert_eq!(Layout::read(&MemoryView::new().user(" ")).latest_request(), None);
    }

    #[test]
    fn turns_begin_at_user_entries() {
        let view = MemoryView::new().system("s").user("a").assistant("b").user("c").assistant("d");
        let layout = Layout::read(&view);
        assert_eq!(layout.turns(), [Span::new(0, 3), Span::new(3, 5)]);
        assert_eq!([0, 1, 2, 9].map(|count| layout.last_turns(count)), [5, 3, 0, 0]);
    }

    #[test]
    fn an_empty_view_has_one_boundary() {
        let layout = Layout::read(&MemoryView::new());
        assert_eq!(layout.boundaries(), [0]);
        assert_eq!((layout.keep_at_least(5), layout.keep_at_most(5), layout.latest_request()), (0, 0, None));
    }
}
