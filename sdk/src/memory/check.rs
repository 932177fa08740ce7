//! Whether a host would take a plan.

use crate::cut::Layout;
use crate::types::{Plan, Position, Segment, Span};
use crate::view::View;

/// Holds a plan against the rules of hosts that figures can decide: every position once, what stays in its order,
/// groups whole, what must stay not gone, no summary without words or of nothing.
///
/// For tests of strategies. What needs a host's counting or a provider's grammar is not looked at.
///
/// ```
/// use contextengine_sdk::memory::{MemoryView, check_plan};
/// use contextengine_sdk::{Plan, Segment, Span};
///
/// let view = MemoryView::new().user("first").assistant("done").user("second");
/// let keeps_all = Plan { segments: vec![Segment::Keep(Span::new(0, 3))] };
/// assert_eq!(check_plan(&view, &keeps_all), Ok(()));
/// let forgets_one = Plan { segments: vec![Segment::Keep(Span::new(0, 2))] };
/// assert_eq!(check_plan(&view, &forgets_one), Err("position 2 is accounted for 0 times".to_owned()));
/// ```
///
/// # Errors
///
/// What the first thing is that a host would refuse.
pub fn check_plan(view: &dyn View, plan: &Plan) -> Result<(), String> {
    let layout = Layout::read(view);
    let infos = layout.entries();
    let mut times = vec![0_u32; infos.len()];
    let mut gone = vec![false; infos.len()];
    let mut last_staying: Option<Position> = None;
    for (number, segment) in plan.segments.iter().enumerate() {
        let (spans, stays) = match segment {
            Segment::Keep(span) => (vec![*span], true),
            Segment::Rewrite(rewrite) => (vec![Span::one(rewrite.at)], true),
            Segment::Summary(summary) if summary.text.trim().is_empty() => {
                return Err(format!("the summary in segment {number} is empty"));
            }
            Segment::Summary(summary) if summary.covers.iter().all(|span| span.is_empty()) => {
                return Err(format!("the summary in segment {number} covers nothing"));
            }
            Segment::Summary(summary) => (summary.covers.clone(), false),
            Segment::Drop(dropped) => (vec![dropped.range], false),
            Segment::Note(_) => continue,
        };
        for at in spans.into_iter().flat_map(Span::positions) {
            let Some(count) = times.get_mut(at as usize) else {
                return Err(format!("segment {number} speaks of position {at}, and there are {}", infos.len()));
            };
            *count += 1;
            gone[at as usize] = !stays;
            if stays && last_staying.replace(at).is_some_and(|last| last >= at) {
                return Err(format!("position {at} stays out of its order"));
            }
        }
    }
    for (at, info) in (0..).zip(infos) {
        let (times, is_gone) = (times[at as usize], gone[at as usize]);
        if times != 1 {
            return Err(format!("position {at} is accounted for {times} times"));
        }
        if infos.iter().zip(&gone).any(|(other, other_gone)| other.group == info.group && *other_gone != is_gone) {
            return Err(format!("the group of position {at} is split"));
        }
        if is_gone && layout.is_required(at) {
            return Err(format!("position {at} has to stay"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryView;
    use crate::types::Summary;

    fn summary(covers: Vec<Span>, text: &str) -> Segment {
        Segment::Summary(Summary { covers, text: text.to_owned(), details: None })
    }

    #[test]
    fn each_rule_that_is_broken_is_named() {
        let view = MemoryView::new()
            .user("first")
            .assistant("I look.")
            .call("1", "read", "{}")
            .result("1", "text")
            .user("second");
        let keep = |start, end| Segment::Keep(Span::new(start, end));
        for (segments, words) in [
            (vec![keep(0, 4), keep(0, 1)], "out of its order"),
            (vec![keep(0, 9)], "position 4, and there are 4"),
            (vec![keep(2, 4)], "accounted for 0 times"),
            (vec![summary(vec![Span::new(0, 2)], "words"), keep(2, 4)], "the group of position 1 is split"),
            (vec![keep(0, 3), summary(vec![Span::one(3)], "words")], "position 3 has to stay"),
            (vec![summary(vec![Span::one(0)], " \n"), keep(1, 4)], "is empty"),
            (vec![summary(Vec::new(), "words"), keep(0, 4)], "covers nothing"),
        ] {
            let plan = Plan { segments };
            let error = check_plan(&view, &plan).err().unwrap_or_default();
            assert!(error.contains(words), "{words}: {error}");
        }
        let good = Plan { segments: vec![summary(vec![Span::new(0, 3)], "words"), keep(3, 4)] };
        assert_eq!(check_plan(&view, &good), Ok(()));
    }
}
