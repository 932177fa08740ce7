#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::hooks::Urgency;
use crate::tokens::EntryCounter;
use crate::tokens::testing::Bytes;
use crate::transcript::{Block, Entry, EntryKind, Reasoning, Role, ToolCall, ToolResult};
use crate::view::{View, ViewOptions};

fn counter() -> EntryCounter {
    EntryCounter::new(Bytes)
}

fn words(kind: EntryKind, text: &str) -> Entry {
    Entry::text(text, kind, text)
}

fn call(ids: &[&str]) -> Entry {
    let block = |id: &&str| Block::ToolCall(ToolCall { id: (*id).into(), name: "read".into(), arguments: "{}".into() });
    Entry::new("call", EntryKind::Assistant, ids.iter().map(block).collect())
}

fn result(id: &str, text: &str) -> Entry {
    let result = ToolResult { call_id: id.into(), name: "read".into(), text: text.into(), failed: false };
    Entry::new("result", EntryKind::ToolResult, vec![Block::ToolResult(result)])
}

fn view(entries: Vec<Entry>) -> View {
    View::new(entries.into_iter().map(Arc::new).collect(), &counter(), ViewOptions::default())
}

/// `0 user, 1 call, 2 result (1,000 bytes), 3 words of the model, 4 user, 5 call, 6 result (100 bytes)`
fn session() -> View {
    view(vec![
        words(EntryKind::User, "first request"),
        call(&["1"]),
        result("1", &"x".repeat(1_000)),
        words(EntryKind::Assistant, "done with it"),
        words(EntryKind::User, "second request"),
        call(&["2"]),
        result("2", &"y".repeat(100)),
    ])
}

fn keep(start: u32, end: u32) -> Segment {
    Segment::Keep(Span::new(start, end))
}

fn covers(spans: &[(u32, u32)]) -> Segment {
    let covers = spans.iter().map(|&(start, end)| Span::new(start, end)).collect();
    Segment::Summary(Summary { covers, text: "what was done".into(), details: Some("{}".into()) })
}

fn drop(start: u32, end: u32) -> Segment {
    Segment::Drop(Dropped { range: Span::new(start, end), reason: "not needed".into() })
}

fn rewrite(at: u32, text: &str) -> Segment {
    Segment::Rewrite(Rewrite { at, text: text.into(), reason: "old".into() })
}

fn note(role: Role) -> Segment {
    Segment::Note(Note { role, text: "mind the gap".into(), source: "memory".into() })
}

fn verified(view: &View, segments: Vec<Segment>) -> Result<VerifiedPlan, PlanRefused> {
    verify(Plan { segments }, "tests", view, &Rules::new(10_000), &counter())
}

/// The names of what is wrong with a plan, with positions.
fn defects(view: &View, segments: Vec<Segment>) -> Vec<(&'static str, Option<u32>)> {
    match verified(view, segments) {
        Ok(_) => Vec::new(),
        Err(refused) => refused.defects().iter().map(|defect| (defect.kind.name(), defect.position)).collect(),
    }
}

#[test]
fn a_good_plan_is_applied_and_everything_is_accounted_for() {
    let view = session();
    let verified = verified(&view, vec![covers(&[(0, 4)]), keep(4, 7)]).unwrap();
    let applied = verified.apply();
    let after = applied.view();
    assert_eq!(after.len(), 4);
    assert_eq!(after.text(0, None), "what was done");
    let compaction = after.last_compaction().unwrap().compaction;
    assert_eq!((compaction.plugin.as_str(), compaction.details.as_deref()), ("tests", Some("{}")));
    assert_eq!((compaction.tokens_before, compaction.tokens_after), (view.tokens(), after.tokens()));
    // Kept entries are the very same, and what was covered stays reachable.
    assert!(Arc::ptr_eq(&after.entries()[1], &view.entries()[4]));
    assert!(after.original(0, None).unwrap().starts_with("first request\nread({})\nxxx"));
    let tally = applied.tally();
    assert_eq!((tally.kept, tally.covered, tally.dropped, tally.summaries), (3, 4, 0, 1));
    assert_eq!(tally.kept_tokens + tally.covered_tokens, view.tokens());
    assert_eq!(tally.kept_tokens + tally.summary_tokens, after.tokens());
}

#[test]
fn what_a_plan_leaves_out_or_names_twice_is_named() {
    let view = session();
    assert_eq!(defects(&view, vec![covers(&[(0, 3)]), keep(4, 7)]), [("unaccounted", Some(3))]);
    assert_eq!(defects(&view, vec![covers(&[(0, 5)]), keep(4, 7)]), [("accounted-twice", Some(4))]);
    assert_eq!(defects(&view, vec![]), [("unaccounted", Some(0))]);
}

#[test]
fn ranges_that_the_view_does_not_have_are_named_and_cost_nothing() {
    let view = session();
    assert_eq!(defects(&view, vec![covers(&[(0, 4)]), keep(4, 8)]), [("out-of-range", None)]);
    assert_eq!(defects(&view, vec![covers(&[(0, 4)]), keep(4, u32::MAX)])[0].0, "out-of-range");
    assert_eq!(defects(&view, vec![covers(&[(0, 4), (3, 3)]), keep(4, 7)]), [("out-of-range", None)]);
    assert_eq!(defects(&view, vec![covers(&[(0, 4), (6, 2)]), keep(4, 7)]), [("out-of-range", None)]);
}

#[test]
fn kept_entries_stay_in_order() {
    let view = session();
    assert_eq!(defects(&view, vec![drop(1, 4), keep(4, 7), keep(0, 1)]), [("out-of-order", Some(0))]);
}

#[test]
fn a_summary_stands_at_or_after_what_it_covers() {
    let view = session();
    assert_eq!(defects(&view, vec![covers(&[(1, 4)]), keep(0, 1), keep(4, 7)]), [("out-of-order", None)]);
    assert_eq!(defects(&view, vec![keep(0, 1), covers(&[(1, 4)]), keep(4, 7)]), []);
    assert_eq!(defects(&view, vec![keep(0, 1), keep(4, 7), covers(&[(1, 4)])]), []);
}

#[test]
fn a_group_is_never_split() {
    let view = session();
    assert_eq!(defects(&view, vec![covers(&[(0, 2)]), keep(2, 7)]), [("split-group", Some(2))]);
    assert_eq!(defects(&view, vec![keep(0, 1), drop(1, 2), covers(&[(2, 4)]), keep(4, 7)]), [("split-group", Some(2))]);
    // Two summaries are two fates.
    let two = vec![covers(&[(0, 2)]), covers(&[(2, 4)]), keep(4, 7)];
    assert_eq!(defects(&view, two), [("split-group", Some(2))]);
    // A rewritten result is still with its call.
    assert_eq!(defects(&view, vec![keep(0, 2), rewrite(2, "cleared"), keep(3, 7)]), []);
}

#[test]
fn pinned_entries_stay() {
    let mut system = words(EntryKind::System, "be good");
    system.pinned = true;
    let view = view(vec![system, words(EntryKind::Assistant, &"x".repeat(500)), words(EntryKind::User, "go")]);
    assert_eq!(defects(&view, vec![covers(&[(0, 2)]), keep(2, 3)]), [("lost-pinned", Some(0))]);
    assert_eq!(defects(&view, vec![keep(0, 1), covers(&[(1, 2)]), keep(2, 3)]), []);
}

#[test]
fn calls_in_flight_stay_with_the_results_that_have_come() {
    let view = view(vec![
        words(EntryKind::User, "go"),
        words(EntryKind::Assistant, &"x".repeat(500)),
        call(&["1", "2"]),
        result("1", &"y".repeat(500)),
    ]);
    let lost: Vec<_> = vec![("lost-in-flight", Some(2)), ("lost-in-flight", Some(3))];
    assert_eq!(defects(&view, vec![keep(0, 1), covers(&[(1, 4)])]), lost);
    let shortened = vec![keep(0, 1), covers(&[(1, 2)]), keep(2, 3), rewrite(3, "cleared")];
    assert_eq!(defects(&view, shortened), [("lost-in-flight", Some(3))]);
    assert_eq!(defects(&view, vec![keep(0, 1), covers(&[(1, 2)]), keep(2, 4)]), []);
}

#[test]
fn the_latest_request_stays_verbatim() {
    let view = session();
    assert_eq!(defects(&view, vec![covers(&[(0, 5)]), keep(5, 7)]), [("lost-request", Some(4))]);
    assert_eq!(defects(&view, vec![covers(&[(0, 4)]), rewrite(4, "2nd"), keep(5, 7)]), [("lost-request", Some(4))]);
}

#[test]
fn a_request_beyond_the_target_may_be_cut_to_its_ends() {
    let request = format!("Fix this:{}as I said", "z".repeat(5_000));
    let view = view(vec![words(EntryKind::User, &request)]);
    let rules = Rules::new(2_000);
    let check = |text: &str| verify(Plan { segments: vec![rewrite(0, text)] }, "tests", &view, &rules, &counter());
    let cut = format!("{} [4,000 bytes left out] {}", &request[..256], &request[request.len() - 256..]);
    assert!(check(&cut).is_ok());
    assert_eq!(check("Fix this").unwrap_err().defects()[0].kind, DefectKind::LostRequest);
    // The same cut where the request would have fitted.
    let roomy = verify(Plan { segments: vec![rewrite(0, &cut)] }, "tests", &view, &Rules::new(9_000), &counter());
    assert_eq!(roomy.unwrap_err().defects()[0].kind, DefectKind::LostRequest);
}

#[test]
fn an_image_alone_is_not_the_latest_request() {
    let image = crate::transcript::Image { media_type: String::new(), source: crate::transcript::ImageSource::Unknown };
    let view = view(vec![
        words(EntryKind::User, "look at this"),
        words(EntryKind::Assistant, &"x".repeat(5_000)),
        Entry::new("image", EntryKind::User, vec![Block::Image(image)]),
    ]);
    assert_eq!(defects(&view, vec![covers(&[(0, 2)]), keep(2, 3)]), [("lost-request", Some(0))]);
    assert_eq!(defects(&view, vec![keep(0, 1), covers(&[(1, 3)])]), []);
}

#[test]
fn only_results_are_rewritten() {
    let view = session();
    let calls = vec![covers(&[(0, 1)]), rewrite(1, "read"), keep(2, 7)];
    assert_eq!(defects(&view, calls), [("rewrote-arguments", Some(1))]);
    let words = vec![keep(0, 2), rewrite(2, ""), rewrite(3, "did it"), keep(4, 7)];
    assert_eq!(defects(&view, words), [("rewrote-words", Some(3))]);
}

#[test]
fn a_second_rewrite_still_has_the_original_behind_it() {
    let once = verified(&session(), vec![keep(0, 2), rewrite(2, &"x".repeat(500)), keep(3, 7)]).unwrap().apply();
    assert!(once.view().infos()[2].marks.reduced);
    let twice = verified(once.view(), vec![keep(0, 2), rewrite(2, "gone"), keep(3, 7)]).unwrap().apply();
    assert_eq!(twice.view().text(2, None), "gone");
    assert_eq!(twice.view().original(2, None).unwrap(), "x".repeat(1_000));
}

#[test]
fn nothing_is_put_between_a_call_and_its_result() {
    let view = session();
    let between = vec![covers(&[(0, 4)]), keep(4, 6), note(Role::User), keep(6, 7)];
    assert_eq!(defects(&view, between), [("bad-alternation", Some(6))]);
    let summary = vec![keep(0, 1), drop(1, 3), keep(4, 6), covers(&[(3, 4)]), keep(6, 7)];
    assert_eq!(defects(&view, summary), [("bad-alternation", Some(6))]);
    assert_eq!(defects(&view, vec![covers(&[(0, 4)]), note(Role::User), keep(4, 7)]), []);
}

#[test]
fn the_result_is_a_request_that_a_provider_accepts() {
    let view = session();
    let model_last = vec![covers(&[(0, 4)]), keep(4, 7), note(Role::Assistant)];
    assert_eq!(defects(&view, model_last), [("bad-alternation", None)]);
    let as_tool = vec![covers(&[(0, 4)]), keep(4, 7), note(Role::Tool)];
    assert_eq!(defects(&view, as_tool), [("bad-alternation", None)]);
    let model_first = vec![drop(0, 3), keep(3, 7)];
    assert_eq!(defects(&view, model_first), [("bad-alternation", None)]);
    let image = crate::transcript::Image { media_type: String::new(), source: crate::transcript::ImageSource::Unknown };
    let only_note = self::view(vec![
        words(EntryKind::Note, "a note for the model"),
        words(EntryKind::Assistant, &"fine".repeat(200)),
        Entry::new("image", EntryKind::User, vec![Block::Image(image)]),
    ]);
    assert_eq!(defects(&only_note, vec![drop(0, 2), keep(2, 3)]), [("no-user-turn", None)]);
}

#[test]
fn a_compaction_has_to_shrink_the_context_and_by_enough() {
    let view = session();
    let long = Segment::Summary(Summary { covers: vec![Span::new(0, 1)], text: "x".repeat(100), details: None });
    assert_eq!(defects(&view, vec![long, keep(1, 7)]), [("not-smaller", None)]);
    let little = vec![drop(0, 1), note(Role::User), keep(1, 7)];
    assert_eq!(defects(&view, little), [("no-progress", None)]);
    assert_eq!(defects(&view, vec![keep(0, 7)]), [("not-smaller", None)]);
}

#[test]
fn the_target_is_a_condition_only_when_it_is_urgent() {
    let view = session();
    let plan = Plan { segments: vec![covers(&[(0, 4)]), keep(4, 7)] };
    let rules = Rules::new(50);
    assert!(verify(plan.clone(), "tests", &view, &rules, &counter()).is_ok());
    let hard = rules.with_urgency(Urgency::Hard);
    assert_eq!(verify(plan, "tests", &view, &hard, &counter()).unwrap_err().defects()[0].kind, DefectKind::OverTarget);
}

#[test]
fn a_summary_says_something_and_covers_something() {
    let view = session();
    let empty = Segment::Summary(Summary { covers: vec![Span::new(0, 4)], text: " \n".into(), details: None });
    assert_eq!(defects(&view, vec![empty, keep(4, 7)]), [("empty-summary", None)]);
    assert_eq!(defects(&view, vec![covers(&[]), drop(0, 4), keep(4, 7)]), [("covers-nothing", None)]);
}

/// The names of what a gate has against a summary of the first four entries.
fn gated(view: &View, gate: SummaryGate, text: &str) -> Vec<String> {
    let summary = Segment::Summary(Summary { covers: vec![Span::new(0, 4)], text: text.into(), details: None });
    let plan = Plan { segments: vec![summary, keep(4, view.len())] };
    match verify(plan, "tests", view, &Rules::new(100_000).with_gate(gate), &counter()) {
        Ok(_) => Vec::new(),
        Err(refused) => refused.corrections(),
    }
}

#[test]
fn a_strict_gate_names_what_a_summary_lacks_and_lets_a_good_one_through() {
    let view = session();
    let strict = || SummaryGate::new(GatePolicy::Strict).with_sections(["## Goal"]).with_template(["- [the goal]"]);
    assert_eq!(gated(&view, strict(), "## Goal\n- fix it"), [""; 0]);
    assert_eq!(gated(&view, strict(), "it was done"), ["missing-section: ## Goal"]);
    let echoed = gated(&view, strict(), "## Goal\n- [the goal]\n- fix it");
    assert_eq!(echoed, ["template-echo: `- [the goal]` is a line of the template; fill it in or leave it out"]);
    assert!(gated(&view, strict(), "## Goal\n- fix it, and then:")[0].starts_with("truncated: "));
    assert!(gated(&view, strict(), "## Goal\n<tool_call>fix")[0].starts_with("tool-markup: "));
    // The other policies do not look at shape.
    for policy in [GatePolicy::Off, GatePolicy::Identifiers] {
        assert_eq!(gated(&view, SummaryGate::new(policy).with_sections(["## Goal"]), "it was done:"), [""; 0]);
    }
}

#[test]
fn a_few_words_do_not_stand_for_a_large_fold() {
    let mut gate = SummaryGate::new(GatePolicy::Strict);
    gate.large_fold = 1_000;
    let view = session();
    assert!(gated(&view, gate.clone(), "short.")[0].starts_with("too-small-for-fold: 6 tokens would stand for"));
    gate.least_tokens = 6;
    assert_eq!(gated(&view, gate, "short."), [""; 0]);
}

#[test]
fn exact_names_of_the_newest_covered_entries_are_asked_for() {
    let filler = "x".repeat(500);
    let view = view(vec![
        words(EntryKind::User, &format!("fix src/old.rs {filler}")),
        words(EntryKind::Assistant, "commit 3f2a9c1d broke it"),
        words(EntryKind::User, "then look at #482"),
        words(EntryKind::Assistant, "done"),
        words(EntryKind::User, "go on"),
    ]);
    let gate = || SummaryGate::new(GatePolicy::Identifiers);
    // The user's names first, newest first.
    assert_eq!(gated(&view, gate(), "it was done"), ["lost-identifiers: #482, src/old.rs, 3f2a9c1d"]);
    assert_eq!(gated(&view, gate(), "#482, src/old.rs, 3F2A9C1D"), [""; 0]);
    let mut two = gate();
    two.most_identifiers = 2;
    assert_eq!(gated(&view, two, "it was done"), ["lost-identifiers: #482, src/old.rs"]);
    let mut newest = gate();
    newest.newest_entries = 2;
    assert_eq!(gated(&view, newest, "it was done"), ["lost-identifiers: #482"]);
}

#[test]
fn a_plan_that_is_wrong_all_over_is_refused_in_few_words() {
    let entries = (0..200).map(|n| words(EntryKind::User, &format!("request {n}"))).collect();
    let view = view(entries);
    let every_second = (0..100).map(|n| keep(2 * n, 2 * n + 1)).collect();
    let refused = verified(&view, every_second).unwrap_err();
    assert_eq!(refused.defects().len(), PlanRefused::MOST);
    assert!(refused.to_string().ends_with("and 84 more"));
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let ids = prop::sample::subsequence(vec!["1", "2", "3"], 0..=3);
    prop_oneof![
        3 => "[a-z]{0,40}".prop_map(|text| words(EntryKind::User, &text)),
        1 => Just(words(EntryKind::Note, "note")),
        4 => ids.clone().prop_map(|ids| call(&ids)),
        1 => ids.prop_map(|ids| {
            let mut entry = call(&ids);
            entry.blocks.push(Block::Reasoning(Reasoning { text: "hm".into(), signed: true }));
            entry
        }),
        6 => (prop::sample::select(vec!["1", "2", "3", "4"]), "[a-z]{0,80}").prop_map(|(id, text)| result(id, &text)),
    ]
}

fn any_span(len: u32) -> impl Strategy<Value = Span> {
    prop_oneof![
        9 => (0..=len, 0..=len).prop_map(|(a, b)| Span::new(a.min(b), a.max(b))),
        1 => (any::<u32>(), any::<u32>()).prop_map(|(start, end)| Span::new(start, end)),
    ]
}

fn any_segment(len: u32) -> impl Strategy<Value = Segment> {
    let text = prop_oneof![Just(String::new()), "[a-z]{1,30}"];
    prop_oneof![
        any_span(len).prop_map(Segment::Keep),
        (0..len.max(1), text.clone()).prop_map(|(at, text)| rewrite(at, &text)),
        (prop::collection::vec(any_span(len), 0..3), text).prop_map(|(covers, text)| Segment::Summary(Summary {
            covers,
            text,
            details: None
        })),
        prop::sample::select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]).prop_map(note),
        any_span(len).prop_map(|range| Segment::Drop(Dropped { range, reason: String::new() })),
    ]
}

/// A plan that accounts for everything: each position gets a fate, runs of the same become segments.
fn any_accounting(len: usize) -> impl Strategy<Value = Vec<Segment>> {
    prop::collection::vec(prop::sample::select(vec!['k', 'k', 'k', 's', 's', 'd', 'r']), len).prop_map(|fates| {
        let mut segments = Vec::new();
        let mut at = 0u32;
        for run in fates.chunk_by(|a, b| a == b && *a != 'r') {
            let end = at + u32::try_from(run.len()).unwrap();
            segments.push(match run[0] {
                'k' => keep(at, end),
                's' => covers(&[(at, end)]),
                'd' => drop(at, end),
                _ => rewrite(at, "r"),
            });
            at = end;
        }
        segments
    })
}

fn any_session() -> impl Strategy<Value = (Vec<Entry>, Vec<Segment>)> {
    prop::collection::vec(any_entry(), 0..14).prop_flat_map(|entries| {
        let len = entries.len();
        let arbitrary = prop::collection::vec(any_segment(u32::try_from(len).unwrap()), 0..8);
        (Just(entries), prop_oneof![1 => arbitrary.boxed(), 5 => any_accounting(len).boxed()])
    })
}

/// Every result has a call before it, and every call its own result: one that comes before the id is called again, as a
/// result belongs to the latest call with its id.
fn is_paired(view: &View) -> bool {
    let entries = view.entries();
    let calls = |entry: &Entry, id: &str| entry.tool_calls().any(|call| call.id == id);
    entries.iter().enumerate().all(|(at, entry)| {
        entry.tool_result().is_none_or(|result| entries[..at].iter().any(|before| calls(before, &result.call_id)))
            && entry.tool_calls().all(|call| {
                let mut until_called_again = entries[at + 1..].iter().take_while(|after| !calls(after, &call.id));
                until_called_again.any(|after| after.tool_result().is_some_and(|result| result.call_id == call.id))
            })
    })
}

/// 2,000 cases, 100,000 with `CONTEXTENGINE_NIGHTLY=1`.
fn cases() -> u32 {
    let nightly = std::env::var_os("CONTEXTENGINE_NIGHTLY").is_some_and(|value| value != "0");
    if nightly { 100_000 } else { 2_000 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn no_plan_panics_and_an_accepted_one_shrinks_keeps_pairs_and_accounts_for_everything(
        (entries, segments) in any_session()
    ) {
        let before = view(entries);
        let Ok(verified) = verify(Plan { segments }, "tests", &before, &Rules::new(1_000), &counter()) else {
            return Ok(());
        };
        prop_assert_eq!(verified.fates().len(), before.entries().len());
        let applied = verified.apply();
        let after = applied.view();
        prop_assert!(after.tokens() < before.tokens());
        if is_paired(&before) {
            prop_assert!(is_paired(after));
        }
        let tally = applied.tally();
        prop_assert_eq!(tally.kept + tally.rewritten + tally.covered + tally.dropped, before.len());
        // The figures that were carried over are what a fresh count gives.
        let recounted = View::new(after.entries().to_vec(), &counter(), after.options());
        prop_assert_eq!(recounted.infos(), after.infos());
    }
}
