//! Which entries are folded: where the cut is, what stays at the front, and whether a turn is cut.

use contextengine_sdk::cut::Layout;
use contextengine_sdk::{CompressRequest, EntryKind, Position, Span};

use crate::config::{Config, KeepOf, KeepRule};
use crate::corrections::Corrections;

/// Tokens that the host adds to a text to make an entry of it, generously.
pub(crate) const FRAMING: u64 = 16;
/// The least room in which a summary can say something, in tokens.
const LEAST_ROOM: u64 = 64;

/// What is folded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fold {
    /// Everything that the summary covers, ascending; the previous summary among it.
    pub(crate) positions: Vec<Position>,
    /// What is new in whole turns.
    pub(crate) history: Vec<Position>,
    /// The folded beginning of the turn that the cut falls in.
    pub(crate) prefix: Vec<Position>,
    /// The request of that turn.
    pub(crate) request: Option<Position>,
    /// The previous summary is folded too.
    pub(crate) previous: Option<Position>,
    /// Tokens of what is folded.
    pub(crate) covered: u64,
    /// Tokens that the summary may take.
    pub(crate) room: u32,
}

/// Chooses. The error is the reason why there is nothing to do, with the figures.
pub(crate) fn select(
    layout: &Layout,
    previous: Option<Position>,
    config: &Config,
    request: &CompressRequest,
    corrections: &Corrections,
) -> Result<Fold, String> {
    let head = head(layout, config, previous.is_some());
    let can = foldable(layout, head);
    let target = u64::from(corrections.tighten(request.target));
    let cut = cut(layout, &can, head, config, request, corrections, target);
    let positions: Vec<Position> = (head..cut).filter(|&at| can[at as usize]).collect();
    let previous = previous.filter(|at| positions.contains(at));
    let covered: u64 = positions.iter().filter_map(|&at| layout.entry(at)).map(|entry| u64::from(entry.tokens)).sum();
    let total = layout.tokens(layout.span());
    if positions.iter().all(|at| Some(*at) == previous) {
        return Err(format!("nothing new is older than what is kept: {total} tokens, {} entries", layout.len()));
    }
    if covered < u64::from(config.min_fold_tokens) {
        let least = config.min_fold_tokens;
        return Err(format!("only {covered} of {total} tokens could be folded; `min_fold_tokens` is {least}"));
    }
    let share = positions.len() as f64 / f64::from(layout.len().max(1));
    if share < config.min_progress_entries {
        let least = config.min_progress_entries;
        return Err(format!("only {share:.2} of the entries could be folded; `min_progress_entries` is {least}"));
    }
    let room = room(total, covered, target, config)?;
    let (history, prefix, request) = turns(layout, &positions, previous, cut);
    Ok(Fold { positions, history, prefix, request, previous, covered, room })
}

/// Tokens that the summary may take: below what it stands for by what has to be saved, and within the target where the
/// target leaves any room.
fn room(total: u64, covered: u64, target: u64, config: &Config) -> Result<u32, String> {
    let saving = (total as f64 * config.min_saving).ceil() as u64 + 1;
    let shrinking = covered.saturating_sub(saving + FRAMING);
    if shrinking < LEAST_ROOM {
        return Err(format!("folding {covered} of {total} tokens leaves no room for a summary that saves enough"));
    }
    // A target that even the kept entries exceed is missed by little rather than met by silence.
    let least = u64::from(config.max_summary_tokens / 4).min(target / 3).max(LEAST_ROOM);
    let aimed = target.saturating_sub(total - covered).saturating_sub(FRAMING).max(least);
    Ok(u32::try_from(shrinking.min(aimed)).unwrap_or(u32::MAX))
}

/// The first position behind what stays at the front.
fn head(layout: &Layout, config: &Config, compacted: bool) -> Position {
    if config.keep_first_entries == 0 || (config.keep_first_once && compacted) {
        return 0;
    }
    let mut left = config.keep_first_entries;
    for (at, entry) in (0..).zip(layout.entries()) {
        let counts = entry.kind != EntryKind::System || config.keep_first_counts_system;
        if counts && left == 0 || entry.kind == EntryKind::Summary {
            return layout.snap_back(at);
        }
        left -= u32::from(counts);
    }
    layout.len()
}

/// Per position, whether it can be folded behind the head: system entries stay, like everything that the host requires.
fn foldable(layout: &Layout, head: Position) -> Vec<bool> {
    let mut can = vec![false; layout.len() as usize];
    for at in layout.foldable(Span::new(head, layout.len())) {
        can[at as usize] = true;
    }
    for (at, entry) in (0..).zip(layout.entries()) {
        if entry.kind == EntryKind::System {
            for &member in layout.group(at) {
                can[member as usize] = false;
            }
        }
    }
    can
}

fn cut(
    layout: &Layout,
    can: &[bool],
    head: Position,
    config: &Config,
    request: &CompressRequest,
    corrections: &Corrections,
    target: u64,
) -> Position {
    let keep = corrections.keep_less(keep_tokens(config, request));
    let mut cut = by_tokens(layout, keep, config.keep_recent_rule);
    let keeps_some = keep > 0 || config.keep_recent_entries > 0 || config.keep_recent_turns > 0 || config.halve_entries;
    if config.halve_entries {
        cut = cut.min(halved(layout, config));
    }
    if config.keep_recent_entries > 0 && corrections.too_long + corrections.too_little == 0 {
        cut = cut.min(layout.snap_back(layout.len().saturating_sub(config.keep_recent_entries)));
    }
    if config.keep_recent_turns > 0 {
        cut = cut.min(layout.last_turns(config.keep_recent_turns as usize));
    }
    // What the model has not read yet, the newest group, stays wherever anything does.
    let newest = (0..layout.len()).rev().find(|&at| layout.is_boundary(at)).unwrap_or(0);
    let last = if keeps_some { newest } else { layout.len() };
    cut = cut.min(last);
    if !config.split_turns {
        cut = turn_start(layout, cut);
    }
    if config.keep_recent_turns == 0 {
        cut = within_target(layout, can, cut, last, target, config);
    }
    cut.max(head)
}

fn keep_tokens(config: &Config, request: &CompressRequest) -> u32 {
    let Some(percent) = config.keep_recent_percent else {
        return config.keep_recent_tokens.or(request.keep_recent()).unwrap_or(Config::KEEP_RECENT);
    };
    let of = match config.keep_recent_of {
        KeepOf::Window => request.pressure.window,
        KeepOf::Budget => request.pressure.budget,
    };
    let share = (f64::from(of) * percent / 100.0) as u32;
    share.max(config.keep_recent_min).min(config.keep_recent_max)
}

fn by_tokens(layout: &Layout, keep: u32, rule: KeepRule) -> Position {
    match rule {
        KeepRule::AtLeast => layout.keep_at_least(keep),
        KeepRule::AtMost => layout.keep_at_most(keep),
        KeepRule::NearestAfter => {
            let enough = |at: &Position| layout.tokens(Span::new(*at, layout.len())) >= u64::from(keep);
            let at = (0..=layout.len()).rev().find(enough).unwrap_or(0);
            layout.snap_forward(at)
        }
    }
}

/// OpenHands: half of the most entries (or of what there is) less the beginning and one for the summary.
fn halved(layout: &Layout, config: &Config) -> Position {
    let most = config.max_entries.map_or(layout.len(), |most| most.min(layout.len()));
    let suffix = (most / 2).saturating_sub(config.keep_first_entries).saturating_sub(1);
    layout.snap_forward(layout.len() - suffix.min(layout.len()))
}

/// Moves the cut forward while what is kept leaves no room for a summary below the target.
fn within_target(
    layout: &Layout,
    can: &[bool],
    cut: Position,
    last: Position,
    target: u64,
    config: &Config,
) -> Position {
    let wish = u64::from(config.max_summary_tokens).min(target / 3);
    let tokens = |at: Position| layout.entry(at).map_or(0, |entry| u64::from(entry.tokens));
    let folded: u64 = (0..cut).filter(|&at| can[at as usize]).map(tokens).sum();
    let mut kept = layout.tokens(layout.span()) - folded;
    let starts: Vec<Position> = layout.turns().into_iter().map(|turn| turn.start).collect();
    let may_cut = |at: Position| layout.is_boundary(at) && (config.split_turns || starts.binary_search(&at).is_ok());
    let mut best = cut;
    for at in cut..last {
        if may_cut(at) {
            best = at;
            if kept + wish <= target {
                return best;
            }
        }
        if can[at as usize] {
            kept -= tokens(at);
        }
    }
    if may_cut(last) || last == layout.len() { last } else { best }
}

/// Where the turn begins that a cut falls in.
fn turn_start(layout: &Layout, cut: Position) -> Position {
    let turn = layout.turns().into_iter().find(|turn| turn.contains(cut));
    turn.map_or(cut, |turn| layout.snap_back(turn.start))
}

/// Divides what is folded into whole turns and the beginning of the turn that the cut falls in.
fn turns(
    layout: &Layout,
    positions: &[Position],
    previous: Option<Position>,
    cut: Position,
) -> (Vec<Position>, Vec<Position>, Option<Position>) {
    let new: Vec<Position> = positions.iter().copied().filter(|at| Some(*at) != previous).collect();
    let begins = |at: Position| layout.entry(at).is_some_and(|entry| entry.kind == EntryKind::User);
    let goes_on = cut < layout.len() && !begins(cut);
    let request = (0..cut.min(layout.len())).rev().find(|&at| begins(at)).filter(|_| goes_on);
    let Some(request) = request else { return (new, Vec::new(), None) };
    let (history, prefix): (Vec<Position>, Vec<Position>) = new.into_iter().partition(|&at| at < request);
    // A first turn has nothing before it: then there is but one thing to summarise.
    if prefix.is_empty() || (history.is_empty() && previous.is_none()) {
        return ([history, prefix].concat(), Vec::new(), None);
    }
    (history, prefix, Some(request))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use contextengine_sdk::memory::{MemoryView, request};

    use super::*;

    fn chosen(view: &MemoryView, config: &str, target: u32) -> Result<Fold, String> {
        let config = Config::from_json(config).unwrap();
        select(&Layout::read(view), None, &config, &request(view, target), &Corrections::default())
    }

    fn turns_of(count: usize) -> MemoryView {
        (0..count).fold(MemoryView::new().system("s").tokens(10), |view, at| {
            view.user(format!("ask {at}"))
                .tokens(100)
                .call(format!("{at}"), "read", "{}")
                .tokens(100)
                .result(format!("{at}"), "text")
                .tokens(800)
                .assistant("done")
                .tokens(100)
        })
    }

    #[test]
    fn a_cut_inside_a_turn_folds_its_beginning_apart() {
        let fold = chosen(&turns_of(5), r#"{"keep_recent_tokens": 150}"#, 50_000).unwrap();
        assert_eq!(fold.request, Some(17));
        assert_eq!(fold.prefix, [18, 19], "the request itself is the latest one and stays");
        assert_eq!(fold.history.first(), Some(&1), "system entries stay");
        let whole = chosen(&turns_of(5), r#"{"keep_recent_tokens": 150, "split_turns": false}"#, 50_000).unwrap();
        assert_eq!((whole.prefix.len(), whole.positions.last()), (0, Some(&16)));
    }

    #[test]
    fn the_three_rules_differ_as_they_say() {
        let last = |rule: &str| {
            let config = format!(r#"{{"keep_recent_tokens": 850, "keep_recent_rule": "{rule}"}}"#);
            *chosen(&turns_of(5), &config, 50_000).unwrap().positions.last().unwrap()
        };
        // 850 reaches into the last result, at 19; its call is at 18.
        assert_eq!((last("at-least"), last("nearest-after"), last("at-most")), (16, 19, 19));
    }

    #[test]
    fn a_small_target_keeps_less() {
        let roomy = chosen(&turns_of(20), r#"{"keep_recent_tokens": 8000}"#, 50_000).unwrap();
        let tight = chosen(&turns_of(20), r#"{"keep_recent_tokens": 8000}"#, 6_000).unwrap();
        assert!(tight.positions.len() > roomy.positions.len());
        assert!(u64::from(tight.room) + layout_tokens(&turns_of(20)) - tight.covered <= 6_000);
    }

    fn layout_tokens(view: &MemoryView) -> u64 {
        let layout = Layout::read(view);
        layout.tokens(layout.span())
    }

    #[test]
    fn half_of_the_entries_stay_and_the_first_ones() {
        let config = r#"{"halve_entries": true, "keep_recent_tokens": 0, "max_entries": 20, "keep_first_entries": 2, "keep_first_counts_system": true}"#;
        let fold = chosen(&turns_of(10), config, 50_000).unwrap();
        // 20 / 2 - 2 - 1 = 7 of 41 entries stay at the end, moved forward to a boundary.
        assert_eq!((fold.positions[0], *fold.positions.last().unwrap()), (2, 33));
    }

    #[test]
    fn the_hosts_wish_counts_less_than_the_configuration_and_more_than_the_default() {
        let view = turns_of(30);
        let kept = |json: &str, wish: Option<&str>| {
            let mut request = request(&view, 60_000);
            request.extras.extend(wish.map(|wish| ("keep_recent".to_owned(), wish.to_owned())));
            let config = Config::from_json(json).unwrap();
            let layout = Layout::read(&view);
            let fold = select(&layout, None, &config, &request, &Corrections::default()).unwrap();
            layout.tokens(Span::new(fold.positions.last().unwrap() + 1, layout.len()))
        };
        assert!((19_000..20_000).contains(&kept("{}", None)));
        assert!((4_000..5_000).contains(&kept("{}", Some("5000"))));
        assert!((900..2_100).contains(&kept(r#"{"keep_recent_tokens": 2000}"#, Some("5000"))));
    }

    #[test]
    fn too_little_is_a_reason_with_figures() {
        let reason = chosen(&turns_of(1), "{}", 50_000).unwrap_err();
        assert!(reason.contains("1110 tokens"), "{reason}");
        let few =
            chosen(&turns_of(5), r#"{"keep_recent_tokens": 3900, "min_progress_entries": 0.9}"#, 50_000).unwrap_err();
        assert!(few.contains("min_progress_entries"), "{few}");
    }
}
