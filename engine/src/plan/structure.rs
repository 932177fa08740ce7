//! What a plan may not do to the entries of a view, whatever its texts say.

use super::defect::{Defect, DefectKind, Defects};
use super::fate::Fate;
use super::proposal::{Plan, Rewrite, Segment};
use super::verify::Rules;
use crate::tokens::EntryCounter;
use crate::transcript::{Block, Entry, EntryKind, Role};
use crate::view::View;

/// Bytes of the head and of the tail that a shortened request has to keep. A request that had to be cut is longer
/// than a compaction's whole target, so this is little of it, and enough to know it by.
const REQUEST_ENDS: usize = 256;

/// Everything that can be judged once each position has exactly one fate.
pub(super) fn check(
    plan: &Plan,
    fates: &[Fate],
    view: &View,
    rules: &Rules,
    counter: &EntryCounter,
    defects: &mut Defects,
) {
    let order = Order::of(plan, fates);
    check_texts(plan, defects);
    check_order(plan, &order, defects);
    check_groups(fates, view, defects);
    check_insertions(plan, fates, view, &order, defects);
    let request = latest_request(view);
    check_verbatim(fates, view, request, defects);
    check_request_kept(plan, fates, view, request, rules, counter, defects);
    check_rewrites(plan, view, request, defects);
}

/// The latest words of the user, if there are any. An image alone asks for nothing.
pub(super) fn latest_request(view: &View) -> Option<usize> {
    view.entries().iter().rposition(|entry| entry.kind == EntryKind::User && has_words(entry))
}

fn has_words(entry: &Entry) -> bool {
    entry.blocks.iter().any(|block| matches!(block, Block::Text(text) if !text.trim().is_empty()))
}

/// The staying positions in the order of the plan, and where each segment stands among them.
struct Order {
    staying: Vec<u32>,
    /// For each segment the number of staying positions before it.
    before: Vec<usize>,
}

impl Order {
    fn of(plan: &Plan, fates: &[Fate]) -> Self {
        let mut staying = Vec::with_capacity(fates.len());
        let mut before = Vec::with_capacity(plan.segments.len());
        for segment in &plan.segments {
            before.push(staying.len());
            match segment {
                Segment::Keep(span) => staying.extend(span.start..span.end),
                Segment::Rewrite(rewrite) => staying.push(rewrite.at),
                Segment::Summary(_) | Segment::Note(_) | Segment::Drop(_) => {}
            }
        }
        Self { staying, before }
    }
}

fn check_texts(plan: &Plan, defects: &mut Defects) {
    for (index, segment) in plan.segments.iter().enumerate() {
        match segment {
            Segment::Summary(summary) if summary.text.trim().is_empty() => {
                let explanation =
                    "a summary has to say something; drop the entries, with a reason, if nothing is worth it";
                defects.push(Defect::in_segment(DefectKind::EmptySummary, index, explanation));
            }
            Segment::Summary(summary) if summary.covers.is_empty() => {
                let explanation = "a summary has to cover entries; text that stands for nothing is a note";
                defects.push(Defect::in_segment(DefectKind::CoversNothing, index, explanation));
            }
            Segment::Note(note) if note.role == Role::Tool => {
                let explanation = "a note cannot speak as a tool; use system, user or assistant";
                defects.push(Defect::in_segment(DefectKind::BadAlternation, index, explanation));
            }
            _ => {}
        }
    }
}

fn check_order(plan: &Plan, order: &Order, defects: &mut Defects) {
    if let Some(pair) = order.staying.windows(2).find(|pair| pair[0] > pair[1]) {
        let explanation = format!("it stands after position {}; kept entries stay in their order", pair[0]);
        defects.push(Defect::at(DefectKind::OutOfOrder, pair[1], explanation));
        return;
    }
    for (index, segment) in plan.segments.iter().enumerate() {
        let Segment::Summary(summary) = segment else { continue };
        let Some(first) = summary.covers.iter().map(|span| span.start).min() else {
            continue;
        };
        if let Some(&next) = order.staying.get(order.before[index]).filter(|&&next| next < first) {
            let explanation = format!(
                "the summary of what begins at position {first} stands before the older position {next}; \
                 it has to stand at or after the first entry that it covers"
            );
            defects.push(Defect::in_segment(DefectKind::OutOfOrder, index, explanation));
        }
    }
}

fn check_groups(fates: &[Fate], view: &View, defects: &mut Defects) {
    let mut of_group: Vec<Option<(usize, Fate)>> = vec![None; fates.len()];
    for (at, (fate, info)) in fates.iter().zip(view.infos()).enumerate() {
        let Some(slot) = usize::try_from(info.group).ok().and_then(|group| of_group.get_mut(group)) else {
            continue;
        };
        match slot {
            None => *slot = Some((at, *fate)),
            Some((first, of_first)) if !same(*of_first, *fate) => {
                let explanation = format!(
                    "it belongs with position {first}, which is {}, while this one is {}; \
                     a call and its results are kept, covered or dropped together",
                    in_words(*of_first),
                    in_words(*fate)
                );
                defects.push(Defect::at(DefectKind::SplitGroup, position(at), explanation));
            }
            Some(_) => {}
        }
    }
}

fn same(a: Fate, b: Fate) -> bool {
    a == b || (a.stays() && b.stays())
}

fn in_words(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "kept",
        Fate::Rewritten => "rewritten",
        Fate::Covered { .. } => "covered",
        Fate::Dropped => "dropped",
    }
}

/// Nothing may be put between the members of a group that stays: a provider refuses words between a call and its result.
fn check_insertions(plan: &Plan, fates: &[Fate], view: &View, order: &Order, defects: &mut Defects) {
    let mut last_member = vec![0usize; fates.len()];
    for (at, info) in view.infos().iter().enumerate().filter(|(at, _)| fates[*at].stays()) {
        if let Some(last) = usize::try_from(info.group).ok().and_then(|group| last_member.get_mut(group)) {
            *last = at;
        }
    }
    // For each staying position in order: the last member of any group that has begun by then.
    let mut reach = 0;
    let reaches: Vec<usize> = order
        .staying
        .iter()
        .map(|&at| {
            let last = view.infos().get(index(at)).and_then(|info| last_member.get(index(info.group)));
            reach = last.copied().unwrap_or(0).max(reach);
            reach
        })
        .collect();
    for (segment, before) in plan.segments.iter().zip(&order.before) {
        if !matches!(segment, Segment::Summary(_) | Segment::Note(_)) {
            continue;
        }
        let (Some(&last), Some(&next)) =
            (before.checked_sub(1).and_then(|b| reaches.get(b)), order.staying.get(*before))
        else {
            continue;
        };
        if last >= index(next) {
            let explanation = "a summary or note stands between a call and its results; put it before or after them";
            defects.push(Defect::at(DefectKind::BadAlternation, next, explanation));
        }
    }
}

fn check_verbatim(fates: &[Fate], view: &View, request: Option<usize>, defects: &mut Defects) {
    for (at, (fate, info)) in fates.iter().zip(view.infos()).enumerate() {
        if *fate == Fate::Kept {
            continue;
        }
        if info.marks.pinned && Some(at) != request {
            let explanation = format!("it is pinned and would be {}; keep it", in_words(*fate));
            defects.push(Defect::at(DefectKind::LostPinned, position(at), explanation));
        }
        if info.marks.in_flight {
            let explanation = format!("its call awaits a result and it would be {}; keep it", in_words(*fate));
            defects.push(Defect::at(DefectKind::LostInFlight, position(at), explanation));
        }
    }
}

/// The latest request stays verbatim; one that alone exceeds the target may be cut to its head and its tail.
fn check_request_kept(
    plan: &Plan,
    fates: &[Fate],
    view: &View,
    request: Option<usize>,
    rules: &Rules,
    counter: &EntryCounter,
    defects: &mut Defects,
) {
    let Some(at) = request else { return };
    if fates[at] == Fate::Kept {
        return;
    }
    let rewrite = plan.segments.iter().find_map(|segment| match segment {
        Segment::Rewrite(rewrite) if index(rewrite.at) == at => Some(rewrite),
        _ => None,
    });
    let tokens = view.infos()[at].tokens;
    let explanation = match rewrite {
        None => format!("it is the latest request of the user and would be {}; keep it", in_words(fates[at])),
        Some(_) if tokens <= rules.target => {
            format!("it is the latest request of the user; its {tokens} tokens fit the target, so keep it")
        }
        Some(rewrite) if !keeps_ends(&view.text(position(at), None), &rewrite.text) => format!(
            "the shortened request has to begin with the first and end with the last {REQUEST_ENDS} bytes of the \
             original"
        ),
        Some(rewrite) if counter.text(&rewrite.text) >= tokens => "the shortened request is no shorter".to_owned(),
        Some(_) => return,
    };
    defects.push(Defect::at(DefectKind::LostRequest, position(at), explanation));
}

fn keeps_ends(original: &str, shortened: &str) -> bool {
    let head = original.floor_char_boundary(REQUEST_ENDS);
    let tail = original.ceil_char_boundary(original.len().saturating_sub(REQUEST_ENDS));
    shortened.starts_with(&original[..head]) && shortened.ends_with(&original[tail..])
}

fn check_rewrites(plan: &Plan, view: &View, request: Option<usize>, defects: &mut Defects) {
    for rewrite in plan.segments.iter().filter_map(as_rewrite) {
        let Some(entry) = view.entry(rewrite.at) else { continue };
        if entry.kind == EntryKind::ToolResult || Some(index(rewrite.at)) == request {
            continue;
        }
        let (kind, what) = if entry.tool_calls().next().is_some() {
            (DefectKind::RewroteArguments, "it holds calls, and what a model called is never changed")
        } else {
            (DefectKind::RewroteWords, "it is not a tool result, and what was said is never changed")
        };
        defects.push(Defect::at(kind, rewrite.at, format!("{what}; keep it, or cover it with a summary")));
    }
}

fn as_rewrite(segment: &Segment) -> Option<&Rewrite> {
    match segment {
        Segment::Rewrite(rewrite) => Some(rewrite),
        _ => None,
    }
}

/// The result has to be a request that a provider accepts, as far as the context before was one.
pub(super) fn check_request(before: &View, after: &View, defects: &mut Defects) {
    if speaks_to_model(before) && !speaks_to_model(after) {
        let explanation = "no words for the model to answer are left; keep a user entry or write a summary";
        defects.push(Defect::of_whole(DefectKind::NoUserTurn, explanation));
        return;
    }
    if first_role(before) == Some(Role::User) && first_role(after) != Some(Role::User) {
        let explanation = "the conversation would begin with the model's words; providers want the user's first";
        defects.push(Defect::of_whole(DefectKind::BadAlternation, explanation));
    }
    if last_role(before) != Some(Role::Assistant) && last_role(after) == Some(Role::Assistant) {
        let explanation = "the conversation would end with the model's words, so that it has nothing to answer";
        defects.push(Defect::of_whole(DefectKind::BadAlternation, explanation));
    }
}

fn speaks_to_model(view: &View) -> bool {
    view.entries().iter().any(|entry| entry.role == Role::User && has_words(entry))
}

fn first_role(view: &View) -> Option<Role> {
    view.entries().iter().map(|entry| entry.role).find(|role| *role != Role::System)
}

fn last_role(view: &View) -> Option<Role> {
    view.entries().iter().rev().map(|entry| entry.role).find(|role| *role != Role::System)
}

fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn index(at: u32) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}
