#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use proptest::prelude::*;

use super::*;
use crate::tokens::testing::Bytes;
use crate::transcript::{Reasoning, ToolCall, ToolResult};

fn user(text: &str) -> Entry {
    Entry::text(text, EntryKind::User, text)
}

fn calls(ids: &[&str]) -> Entry {
    let call = |id: &&str| Block::ToolCall(ToolCall { id: (*id).into(), name: "read".into(), arguments: "{}".into() });
    Entry::new("calls", EntryKind::Assistant, ids.iter().map(call).collect())
}

fn thinking(ids: &[&str]) -> Entry {
    let mut entry = calls(ids);
    entry.blocks.insert(0, Block::Reasoning(Reasoning { text: "hm".into(), signed: true }));
    entry
}

fn result(id: &str) -> Entry {
    let result = ToolResult { call_id: id.into(), name: String::new(), text: "ok".into(), failed: false };
    Entry::new("result", EntryKind::ToolResult, vec![Block::ToolResult(result)])
}

fn view(entries: Vec<Entry>, options: ViewOptions) -> View {
    View::new(entries.into_iter().map(Arc::new).collect(), &EntryCounter::new(Bytes), options)
}

fn groups(entries: Vec<Entry>) -> Vec<u32> {
    view(entries, ViewOptions::default()).infos().iter().map(|info| info.group).collect()
}

#[test]
fn an_assistant_entry_its_calls_and_their_results_are_one_group() {
    assert_eq!(groups(vec![user("u"), calls(&["a", "b"]), result("b"), result("a"), calls(&[])]), [0, 1, 1, 1, 2]);
}

#[test]
fn a_result_belongs_to_the_latest_call_with_its_id() {
    assert_eq!(
        groups(vec![calls(&["1"]), result("1"), user("u"), calls(&["1"]), result("1"), result("1")]),
        [0, 0, 1, 2, 2, 2]
    );
}

#[test]
fn a_displaced_result_stays_with_its_call_and_an_orphan_is_alone() {
    assert_eq!(groups(vec![calls(&["1"]), user("steer"), result("1"), result("never called")]), [0, 1, 0, 2]);
}

#[test]
fn a_signed_tool_loop_is_one_group_until_it_is_too_long() {
    let session = || vec![user("u"), thinking(&["1"]), result("1"), calls(&["2"]), result("2"), calls(&[]), user("v")];
    assert_eq!(groups(session()), [0, 1, 1, 1, 1, 1, 2]);
    let split = view(session(), ViewOptions::default().with_loop_limit(10));
    let groups: Vec<u32> = split.infos().iter().map(|info| info.group).collect();
    assert_eq!(groups, [0, 1, 1, 2, 2, 3, 4]);
}

#[test]
fn calls_are_in_flight_until_all_are_answered_or_the_model_spoke_again() {
    let in_flight = |entries| -> Vec<bool> {
        view(entries, ViewOptions::default()).infos().iter().map(|info| info.marks.in_flight).collect()
    };
    assert_eq!(in_flight(vec![user("u"), calls(&["1", "2"]), result("1")]), [false, true, true]);
    assert_eq!(in_flight(vec![calls(&["1", "2"]), result("1"), user("steer")]), [true, true, false]);
    assert_eq!(in_flight(vec![calls(&["1"]), result("1")]), [false, false]);
    assert_eq!(in_flight(vec![calls(&["1"]), user("u"), calls(&[])]), [false, false, false]);
}

#[test]
fn turns_count_users_and_the_last_is_current() {
    let view = view(vec![calls(&[]), user("a"), calls(&[]), user("b"), calls(&[])], ViewOptions::default());
    let turns: Vec<(u32, bool)> = view.infos().iter().map(|info| (info.turn, info.marks.current_turn)).collect();
    assert_eq!(turns, [(0, false), (0, false), (0, false), (1, true), (1, true)]);
}

#[test]
fn tools_are_named_once_in_order_of_first_use() {
    let view = view(vec![calls(&["1"]), result("1"), calls(&["2", "3"])], ViewOptions::default());
    assert_eq!(view.tools(), ["read"]);
    let tools: Vec<Option<u32>> = view.infos().iter().map(|info| info.tool).collect();
    assert_eq!(tools, [Some(0), Some(0), None]);
}

#[test]
fn text_shows_words_and_calls_and_leaves_reasoning_out() {
    let mut entry = thinking(&["1"]);
    entry.blocks.insert(1, Block::Text("é now".into()));
    let view = view(vec![entry], ViewOptions::default());
    assert_eq!(view.text(0, None), "é now\nread({})");
    assert_eq!(view.infos()[0].bytes, 15);
    assert_eq!(view.text(0, Some(1)), "");
    assert_eq!(view.text_range(0, 1, 4), " n");
    assert_eq!(view.text(7, None), "");
    assert_eq!(view.text_range(7, u32::MAX, 0), "");
}

#[test]
fn the_original_of_a_summary_is_everything_that_it_covers_at_any_depth() {
    let mut summary = Entry::text("s", EntryKind::Summary, "short");
    summary.replaces = vec![Arc::new(user("one")), Arc::new(user("two"))];
    for level in 0..1_000 {
        let mut next = Entry::text(format!("s{level}"), EntryKind::Summary, "short");
        next.replaces = vec![Arc::new(summary), Arc::new(user("more"))];
        summary = next;
    }
    let view = view(vec![summary, user("three")], ViewOptions::default());
    assert_eq!(view.original(1, None), None);
    assert_eq!(view.original(0, Some(12)).unwrap(), "one\ntwo\nmore");
    assert_eq!(view.last_compaction().unwrap().at, 0);
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let ids = prop::sample::subsequence(vec!["1", "2", "3"], 0..=3);
    prop_oneof![
        Just(user("u")),
        Just(Entry::text("n", EntryKind::Note, "n")),
        ids.clone().prop_map(|ids| calls(&ids)),
        ids.prop_map(|ids| thinking(&ids)),
        prop::sample::select(vec!["1", "2", "3", "4"]).prop_map(result),
    ]
}

proptest! {
    #[test]
    fn whatever_the_log_holds_groups_are_numbered_by_first_member_and_results_stay_with_a_call(
        entries in prop::collection::vec(any_entry(), 0..24), limit in prop::option::of(0u32..60)
    ) {
        let view = view(entries, ViewOptions { loop_limit: limit });
        let mut next = 0;
        for (at, info) in view.infos().iter().enumerate() {
            prop_assert!(info.group <= next);
            next = next.max(info.group + 1);
            if let Some(result) = view.entries()[at].tool_result() {
                let call = view.entries()[..at].iter().rposition(|e| e.tool_calls().any(|c| c.id == result.call_id));
                if let Some(call) = call {
                    prop_assert_eq!(view.infos()[call].group, info.group);
                }
            }
        }
    }

    #[test]
    fn a_range_of_text_never_cuts_a_character(start in 0u32..12, end in 0u32..12) {
        let view = view(vec![user("aé漢🦀z")], ViewOptions::default());
        let whole = view.text(0, None).into_owned();
        prop_assert!(whole.contains(&*view.text_range(0, start, end)));
    }
}

#[test]
fn details_of_any_summary_are_an_attribute_and_other_entries_have_none() {
    let mut summary = Entry::text("b", EntryKind::BranchSummary, "tried it");
    let details = Some(r#"{"readFiles":[]}"#.to_owned());
    summary.compaction =
        Some(Box::new(crate::transcript::Compaction { details: details.clone(), ..Default::default() }));
    let view = view(vec![summary, user("u")], ViewOptions::default());
    assert_eq!(view.attribute(0, "details"), details);
    assert_eq!(view.attribute(1, "details"), None);
    assert_eq!(view.attribute(1, "id").as_deref(), Some("u"));
    assert_eq!(view.attribute(9, "id"), None);
}

#[test]
fn a_view_that_grew_is_the_same_as_one_that_is_made_anew() {
    let counter = EntryCounter::new(Bytes);
    let mut entries: Vec<Arc<Entry>> = (0..6).map(|at| Arc::new(user(&format!("request {at}")))).collect();
    let before = View::new(entries[..3].to_vec(), &counter, ViewOptions::default());
    // Not what the view holds at this place: it has to be counted.
    entries[1] = Arc::new(user("another request, which is longer"));
    let grown = before.renewed(entries.clone(), &counter);
    let anew = View::new(entries, &counter, ViewOptions::default());
    assert_eq!((grown.infos(), grown.tokens()), (anew.infos(), anew.tokens()));
}
