use super::MemoryView;
use crate::types::{Marks, Span};
use crate::view::View;

fn session() -> MemoryView {
    MemoryView::new()
        .system("Be brief.")
        .user("one")
        .call("a", "read", "{}")
        .call("b", "bash", "{}")
        .result("a", "text")
        .failed_result("b", "no")
        .user("two")
        .call("a", "read", "{}")
}

#[test]
fn parallel_calls_and_their_results_are_one_group() {
    let groups: Vec<u32> = session().all().iter().map(|entry| entry.group).collect();
    assert_eq!(groups[2], groups[3]);
    assert_eq!(groups[2], groups[4]);
    assert_ne!(groups[2], groups[6], "the id is used again in a later turn");
}

#[test]
fn turns_are_counted_from_the_first_user_entry() {
    let turns: Vec<u32> = session().all().iter().map(|entry| entry.turn).collect();
    assert_eq!(turns, [0, 0, 0, 0, 0, 1, 1]);
}

#[test]
fn a_call_is_in_flight_until_its_result_arrives() {
    let entries = session().all();
    assert!(!entries[2].marks.contains(Marks::IN_FLIGHT));
    assert!(entries[6].marks.contains(Marks::IN_FLIGHT));
    assert!(entries[4].marks.contains(Marks::FAILED));
}

#[test]
fn a_tool_is_named_for_results_and_single_calls_only() {
    let view = session();
    let tools: Vec<Option<u32>> = view.all().iter().map(|entry| entry.tool).collect();
    assert_eq!(view.tools(), ["read", "bash"]);
    assert_eq!(tools, [None, None, None, Some(0), Some(1), None, Some(0)]);
}

#[test]
fn what_lies_beyond_the_end_reads_as_empty() {
    let view = session();
    assert!(view.entries(Span::new(7, 99)).is_empty());
    assert_eq!(view.entries(Span::new(5, 99)).len(), 2);
    assert!(view.entries(Span::new(5, 2)).is_empty());
    assert_eq!(view.text(99, None), "");
    assert!(view.blocks(99).is_empty());
    assert!(view.texts(Span::new(50, 60), None).is_empty());
}

#[test]
fn ranges_of_text_are_snapped_inwards_to_characters() {
    let view = MemoryView::new().user("aäöz");
    assert_eq!(view.text(0, Some(2)), "a");
    assert_eq!(view.text_range(0, 2, 5), "ö");
    assert_eq!(view.text_range(0, 2, 3), "");
    assert_eq!(view.text_range(0, 4, 1), "");
    assert_eq!(view.text_range(0, 90, 99), "");
}

#[test]
fn texts_are_split_where_they_end() {
    let view = MemoryView::new().user("one").assistant("").user("three");
    let texts = view.texts(Span::new(0, 3), Some(4));
    assert_eq!(texts.iter().collect::<Vec<_>>(), ["one", "", "thre"]);
    assert_eq!(texts.get(3), "");
}

#[test]
fn reasoning_and_images_count_but_do_not_read() {
    let view = MemoryView::new().assistant("abcd").reasoning("abcdefgh").image("image/png", 100);
    let entry = view.all()[0];
    assert_eq!((entry.bytes, entry.tokens), (4, 103));
    assert_eq!(view.text(0, None), "abcd");
}
