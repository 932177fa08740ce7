#![allow(clippy::unwrap_used, reason = "tests may")]

use proptest::prelude::*;

use super::*;
use crate::cut::tests::any_layout;
use crate::memory::MemoryView;

/// Positions a segment accounts for.
fn accounted(segment: &Segment) -> Vec<Position> {
    match segment {
        Segment::Keep(span) => span.positions().collect(),
        Segment::Rewrite(rewrite) => vec![rewrite.at],
        Segment::Summary(summary) => summary.covers.iter().flat_map(|span| span.positions()).collect(),
        Segment::Drop(dropped) => dropped.range.positions().collect(),
        Segment::Note(_) => Vec::new(),
    }
}

/// Positions whose entries the model still sees after each segment, with the texts that were added.
fn shown(segment: &Segment) -> Vec<Position> {
    match segment {
        Segment::Keep(_) | Segment::Rewrite(_) => accounted(segment),
        _ => Vec::new(),
    }
}

fn check(layout: &Layout, plan: &Plan) -> Result<(), TestCaseError> {
    let mut all: Vec<Position> = plan.segments.iter().flat_map(accounted).collect();
    all.sort_unstable();
    prop_assert_eq!(all, (0..layout.len()).collect::<Vec<_>>(), "every position exactly once");
    let kept: Vec<Position> = plan.segments.iter().flat_map(shown).collect();
    prop_assert!(kept.is_sorted(), "kept entries stay in order");
    for &at in &kept {
        prop_assert!(layout.group(at).iter().all(|member| kept.contains(member)), "groups stand or fall whole");
    }
    prop_assert!(layout.required().iter().all(|at| kept.contains(at)), "what must stay stays");
    let mut before: Vec<Position> = Vec::new();
    for segment in &plan.segments {
        before.extend(shown(segment));
        if matches!(segment, Segment::Summary(_) | Segment::Note(_)) {
            let split = before.iter().any(|&at| layout.group(at).iter().any(|member| !before.contains(member)));
            prop_assert!(!split, "a text stands inside a kept group: {:?}", plan);
        }
        if let Segment::Summary(summary) = segment {
            let first = summary.covers[0].start;
            let passed = kept.iter().filter(|&&at| at < first);
            prop_assert!(passed.clone().all(|at| before.contains(at)), "a summary stands at or after its first entry");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn whatever_steps_are_taken_the_plan_keeps_the_rules(
        layout in any_layout(),
        steps in prop::collection::vec((0u8..5, 0u32..26, 0u32..26), 0..8),
    ) {
        let mut plan = PlanBuilder::over(layout.clone());
        for (step, a, b) in steps {
            // Refused steps are part of the test: they must leave the builder as it was.
            let _ = match step {
                0 => { let all = plan.layout().foldable(Span::new(a, b)); plan.fold(all, "summary").map(drop) }
                1 => plan.fold(a..b, "summary").map(drop),
                2 => plan.drop_group(a, "old").map(drop),
                3 => plan.rewrite(a, "short", "long").map(drop),
                _ => plan.note(a, NoteRole::User, "note", "test").map(drop),
            };
        }
        check(&layout, &plan.build())?;
    }
}

fn view() -> MemoryView {
    MemoryView::new()
        .system("rules")
        .pinned()
        .user("first")
        .call("1", "bash", "{}")
        .user("aside")
        .result("1", "done")
        .assistant("ok")
        .user("second")
}

#[test]
fn an_untouched_plan_keeps_everything_in_one_piece() {
    let plan = PlanBuilder::new(&view());
    assert!(plan.is_unchanged());
    assert_eq!(plan.build().segments, [Segment::Keep(Span::new(0, 7))]);
}

#[test]
fn a_summary_waits_until_the_kept_group_around_it_is_complete() {
    let mut plan = PlanBuilder::new(&view());
    plan.fold([3], "An aside.").unwrap();
    let segments = plan.build().segments;
    assert_eq!(segments[0], Segment::Keep(Span::new(0, 3)));
    assert_eq!(segments[1], Segment::Keep(Span::new(4, 5)), "the result follows its call");
    assert!(matches!(&segments[2], Segment::Summary(summary) if summary.covers == [Span::new(3, 4)]));
}

#[test]
fn steps_that_the_host_would_refuse_name_the_positions() {
    let mut plan = PlanBuilder::new(&view());
    assert_eq!(plan.fold([0, 1], "x").unwrap_err(), PlanError::Required(vec![0]));
    assert_eq!(plan.fold([6], "x").unwrap_err(), PlanError::Required(vec![6]));
    assert_eq!(plan.fold([1, 2], "x").unwrap_err(), PlanError::SplitsGroup(vec![4]));
    assert_eq!(plan.fold([1, 9], "x").unwrap_err(), PlanError::BeyondEnd(vec![9]));
    assert_eq!(plan.fold([], "x").unwrap_err(), PlanError::Nothing);
    assert_eq!(plan.fold([1], " \n").unwrap_err(), PlanError::EmptyText);
    assert_eq!(plan.rewrite(2, "x", "y").unwrap_err(), PlanError::NotAToolResult(2));
    assert_eq!(plan.rewrite(9, "x", "y").unwrap_err(), PlanError::BeyondEnd(vec![9]));
    assert_eq!(plan.drop_group(9, "y").unwrap_err(), PlanError::BeyondEnd(vec![9]));
    assert_eq!(plan.note(8, NoteRole::User, "x", "y").unwrap_err(), PlanError::BeyondEnd(vec![8]));
    plan.drop_group(2, "old").unwrap();
    assert_eq!(plan.rewrite(4, "x", "y").unwrap_err(), PlanError::Taken(vec![4]));
    assert_eq!(plan.fold([1, 2, 4], "x").unwrap_err(), PlanError::Taken(vec![2, 4]));
}

#[test]
fn a_released_group_can_be_folded() {
    let mut plan = PlanBuilder::new(&view());
    plan.release(0);
    assert!(plan.fold([0, 1], "Rules, and a request.").is_ok());
}

#[test]
fn a_pinned_result_is_not_rewritten() {
    let view = MemoryView::new().user("go").call("1", "read", "{}").result("1", "long text").pinned();
    let mut plan = PlanBuilder::new(&view);
    assert_eq!(plan.rewrite(2, "short", "long").unwrap_err(), PlanError::Required(vec![2]));
}

#[test]
fn rewrites_notes_and_drops_stand_in_order() {
    let mut plan = PlanBuilder::new(&view());
    plan.rewrite(4, "d", "long").unwrap().note(7, NoteRole::System, "remember", "memory").unwrap();
    plan.drop([1], "old").unwrap().drop([3], "old").unwrap();
    assert_eq!(plan.kept_tokens(), plan.layout().tokens(plan.layout().span()) - 2 - 2);
    let kinds: Vec<&str> = plan
        .build()
        .segments
        .iter()
        .map(|segment| match segment {
            Segment::Keep(_) => "keep",
            Segment::Rewrite(_) => "rewrite",
            Segment::Summary(_) => "summary",
            Segment::Note(_) => "note",
            Segment::Drop(_) => "drop",
        })
        .collect();
    assert_eq!(kinds, ["keep", "drop", "keep", "drop", "rewrite", "keep", "note"]);
}

#[test]
fn a_summary_stands_at_the_end_where_the_model_would_have_nothing_to_answer() {
    let view = MemoryView::new().assistant("old").assistant("kept").pinned().summary("what was");
    let mut plan = PlanBuilder::new(&view);
    plan.fold([0, 2], "all of it").unwrap();
    let segments = plan.build().segments;
    assert!(matches!(segments[..], [Segment::Keep(_), Segment::Summary(_)]), "{segments:?}");
    // A request that begins with the user's words does so afterwards, too.
    let view = MemoryView::new().user(" ").assistant("kept").pinned().summary("what was");
    let mut plan = PlanBuilder::new(&view);
    plan.fold([0, 2], "all of it").unwrap();
    let segments = plan.build().segments;
    assert!(matches!(segments[..], [Segment::Summary(_), Segment::Keep(_)]), "{segments:?}");
}
