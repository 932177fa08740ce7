//! No cut splits a group, on every well-formed session of up to seven entries.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail by panicking")]

use std::sync::Arc;

use contextengine::plan::{DefectKind, Plan, Rules, Segment, Span, Summary, verify};
use contextengine::tokens::EntryCounter;
use contextengine::view::{View, ViewOptions};
use contextengine_sdk::cut::Layout as SdkLayout;
use contextengine_tests::Bytes;
use contextengine_tests::layouts::{self, Layout};
use contextengine_tests::native::entry_info;

fn counter() -> EntryCounter {
    EntryCounter::new(Bytes)
}

fn view(layout: &Layout) -> View {
    View::new(layouts::entries(layout).into_iter().map(Arc::new).collect(), &counter(), ViewOptions::default())
}

/// Positions at which no group is split, read off the letters alone.
fn boundaries(layout: &Layout) -> Vec<u32> {
    let groups = layouts::groups(layout);
    (0..=layout.len())
        .filter(|&at| at == 0 || at == layout.len() || groups[at - 1] != groups[at])
        .map(|at| u32::try_from(at).unwrap())
        .collect()
}

#[test]
fn the_layouts_are_the_ones_that_they_should_be() {
    let spelled = |longest| layouts::all(longest).into_iter().map(String::from_iter).collect::<Vec<String>>();
    assert_eq!(spelled(1), ["", "u", "a", "1", "2", "3"]);
    assert!(spelled(4).contains(&"3zxy".to_owned()));
    assert!(spelled(7).contains(&"u2yxa1x".to_owned()));
    assert!(!spelled(3).contains(&"2xu".to_owned()), "words between a call and its results are not well-formed");
    assert_eq!(layouts::all(7).len(), how_many(7));
}

/// The number of layouts of up to `longest` entries, without making them. Complete ones of n entries end with words (two
/// kinds) or with k calls and their results in k! orders; any of them can be followed by k calls of which r < k have
/// results so far, in k!/(k-r)! orders.
fn how_many(longest: usize) -> usize {
    let orders = |of: usize, taken: usize| (of - taken + 1..=of).product::<usize>();
    let mut complete = vec![1];
    for n in 1..=longest {
        let with_calls = (1..=3).filter(|k| *k < n).map(|k| complete[n - k - 1] * orders(k, k)).sum::<usize>();
        complete.push(2 * complete[n - 1] + with_calls);
    }
    let in_flight = (0..longest).map(|before| {
        let results = (1..=3).flat_map(|k| (0..k).map(move |r| (k, r))).filter(|(_, r)| before + r < longest);
        complete[before] * results.map(|(k, r)| orders(k, r)).sum::<usize>()
    });
    complete.iter().sum::<usize>() + in_flight.sum::<usize>()
}

#[test]
fn the_host_groups_a_call_with_its_results() {
    for layout in layouts::all(7) {
        let groups: Vec<u32> = view(&layout).infos().iter().map(|info| info.group).collect();
        assert_eq!(groups, layouts::groups(&layout), "{layout:?}");
        let in_flight = view(&layout).infos().iter().any(|info| info.marks.in_flight);
        assert_eq!(in_flight, layouts::is_in_flight(&layout), "{layout:?}");
    }
}

#[test]
fn the_sdk_offers_exactly_the_cuts_between_groups() {
    for layout in layouts::all(7) {
        let sdk = SdkLayout::of(view(&layout).infos().iter().map(entry_info).collect());
        assert_eq!(sdk.boundaries(), boundaries(&layout), "{layout:?}");
        for tokens in [0, 1, 50, 100, 200, 400, u32::MAX] {
            assert!(boundaries(&layout).contains(&sdk.keep_at_least(tokens)), "{layout:?} keeping {tokens}");
            assert!(boundaries(&layout).contains(&sdk.keep_at_most(tokens)), "{layout:?} keeping {tokens}");
        }
    }
}

#[test]
fn the_verifier_refuses_exactly_the_cuts_through_a_group() {
    for layout in layouts::all(7) {
        let view = view(&layout);
        let between = boundaries(&layout);
        for cut in 1..=view.len() {
            let covers = vec![Span::new(0, cut)];
            let mut segments = vec![Segment::Summary(Summary { covers, text: "s".into(), details: None })];
            if cut < view.len() {
                segments.push(Segment::Keep(Span::new(cut, view.len())));
            }
            let verdict = verify(Plan { segments }, "tests", &view, &Rules::new(10_000), &counter());
            let split = verdict
                .as_ref()
                .err()
                .is_some_and(|refused| refused.defects().iter().any(|defect| defect.kind == DefectKind::SplitGroup));
            assert_eq!(split, !between.contains(&cut), "{layout:?} cut at {cut}");
            if let Ok(verified) = verdict {
                assert!(is_paired(verified.apply().view()), "{layout:?} cut at {cut}");
            }
        }
    }
}

/// Each result stands after its call with nothing but sibling results between, as a provider wants it.
fn is_paired(view: &View) -> bool {
    let entries = view.entries();
    entries.iter().enumerate().all(|(at, entry)| {
        entry.tool_result().is_none_or(|result| {
            let calls = entries[..at].iter().rposition(|before| before.tool_result().is_none());
            calls.is_some_and(|calls| entries[calls].tool_calls().any(|call| call.id == result.call_id))
        })
    })
}
