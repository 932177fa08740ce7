//! Which results go, in which words, and when a decision waits.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{Forgetful, plugin, pruned, request, select, sent, session, tokens, turn, warm};
use contextengine_sdk::memory::{MemoryView, TestHost};
use contextengine_sdk::{Level, Marks, Scope, View};

const CLEAR: &str = r#"{"trim": false, "start_share": 0, "clear_start_share": 0, "clear_stop_share": 0,
    "keep_tokens": 0, "min_gain_tokens": 0, "cache": "ignore"}"#;

fn with(base: &str, more: &str) -> String {
    let mut config: serde_json::Value = serde_json::from_str(base).unwrap();
    let more: serde_json::Value = serde_json::from_str(more).unwrap();
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    config.to_string()
}

#[test]
fn an_old_result_is_replaced_by_a_pointer_to_the_original() {
    let view = session(4, 2_000);
    let plan = select(&plugin(CLEAR), &TestHost::new(), &view, &request(&view, 10_000));
    assert_eq!(pruned(&view, plan.as_ref()), [3, 7], "the last two turns stay");
    let bytes = view.all()[3].bytes;
    let words = format!("[Old result of read cleared, {bytes} bytes. Original: recall id r0]");
    assert_eq!(sent(&view, plan.as_ref())[3], words);
}

#[test]
fn a_long_result_keeps_head_and_tail_at_ends_of_lines() {
    let view = session(4, 9_000);
    let config = r#"{"clear": false, "start_share": 0, "keep_tokens": 0, "min_gain_tokens": 0, "trim_over_bytes": 4000,
        "trim_head_bytes": 1500, "trim_tail_bytes": 500}"#;
    let plan = select(&plugin(config), &TestHost::new(), &view, &request(&view, 10_000));
    let text = &sent(&view, plan.as_ref())[3];
    let lines: Vec<&str> = text.lines().collect();
    let (head, tail) = (1_500 / 19, 500 / 19); // whole lines of 19 bytes
    assert_eq!(lines.len(), head + 1 + tail);
    assert!(lines.iter().enumerate().all(|(at, line)| at == head || *line == "line 0 of a result"), "{text}");
    let bytes = view.all()[3].bytes;
    let left_out = bytes as usize - 19 * (head + tail);
    assert_eq!(lines[head], format!("[... {left_out} of {bytes} bytes left out. Original: recall id r0 ...]"));
}

#[test]
fn trimming_comes_first_and_clearing_only_beyond_its_share_until_there_is_room() {
    // Ten old results of 2,250 tokens: 22,500 and a little; trimmed they take some 1,000 each.
    let view = session(12, 9_000);
    let config = |start: f64, stop: f64| {
        format!(
            r#"{{"keep_tokens": 0, "min_gain_tokens": 0, "start_share": 0.3, "clear_start_share": {start},
                "clear_stop_share": {stop}}}"#
        )
    };
    let cleared = |start, stop| {
        let plan = select(&plugin(&config(start, stop)), &TestHost::new(), &view, &request(&view, 40_000));
        let texts = sent(&view, plan.as_ref());
        (0..view.len()).filter(|&at| texts[at as usize].starts_with("[Old result")).count()
    };
    assert_eq!(cleared(0.9, 0.0), 0, "trimming was enough");
    assert_eq!(cleared(0.3, 0.0), 10, "all that may go");
    let some = cleared(0.3, 0.25);
    assert!((1..10).contains(&some), "{some}");
}

#[test]
fn nothing_happens_before_the_share_of_the_window_is_reached() {
    let view = session(12, 9_000);
    let config = r#"{"keep_tokens": 0, "min_gain_tokens": 0, "start_share": 0.3}"#;
    assert!(select(&plugin(config), &TestHost::new(), &view, &request(&view, 1_000_000)).is_none());
}

#[test]
fn exempt_failed_pinned_current_and_unanswered_results_stay() {
    let view = turn(MemoryView::new(), 0, "skill", 2_000);
    let view = turn(view, 1, "mcp__files__read", 2_000).user("more").call("x", "bash", "{}");
    let view = view.failed_result("x", "failure ".repeat(300)).call("y", "bash", "{}").result("y", "pin ".repeat(600));
    let view = view.pinned().assistant("so far").user("now").call("z", "bash", "{}").result("z", "z".repeat(3_000));
    let view = view.assistant("and").call("w", "bash", "{}").result("w", "w".repeat(3_000)).working();
    let run = |more: &str| {
        let plan = select(&plugin(&with(CLEAR, more)), &TestHost::new(), &view, &request(&view, 10_000));
        pruned(&view, plan.as_ref())
    };
    let at = |call: &str| {
        let named = |at: &u32| {
            view.text(*at, None).starts_with(call)
                && view.all()[*at as usize].kind == contextengine_sdk::EntryKind::ToolResult
        };
        (0..view.len()).find(named).unwrap()
    };
    let (files, failed, z) = (6, at("failure"), at("z"));
    assert_eq!(run(r#"{"keep_turns": 0}"#), [files]);
    assert_eq!(run(r#"{"keep_turns": 0, "exempt_tools": ["skill", "mcp__*"]}"#), [] as [u32; 0]);
    assert_eq!(run(r#"{"keep_turns": 0, "exempt_failed": false}"#), [files, failed]);
    assert_eq!(run(r#"{"keep_turns": 0, "exempt_tools": []}"#), [2, files]);
    assert_eq!(run(r#"{"keep_turns": 0, "prune_current_turn": true}"#), [files, z], "w is not answered yet");
    assert_eq!(run(r#"{"keep_turns": 0, "tools": ["bash"]}"#), [] as [u32; 0]);
    assert_eq!(run(r#"{"keep_turns": 2}"#), [files]);
    assert_eq!(run(r#"{"keep_turns": 3}"#), [] as [u32; 0]);
    assert_eq!(run(r#"{"keep_turns": 0, "keep_entries": 9}"#), [files]);
    assert_eq!(run(r#"{"keep_turns": 0, "keep_entries": 99}"#), [] as [u32; 0]);
    assert_eq!(run(r#"{"keep_turns": 0, "keep_results": 5}"#), [] as [u32; 0]);
    assert_eq!(run(r#"{"keep_turns": 0, "keep_results": 4}"#), [files]);
    assert_eq!(run(r#"{"keep_turns": 0, "keep_assistants": 5}"#), [files]);
    assert_eq!(run(r#"{"keep_turns": 0, "keep_assistants": 60}"#), [] as [u32; 0]);
}

#[test]
fn the_newest_tokens_of_results_stay() {
    let view = session(8, 3_978);
    let kept = |tokens: u32| {
        let config = with(CLEAR, &format!(r#"{{"keep_tokens": {tokens}, "keep_share": 1.0}}"#));
        let plan = select(&plugin(&config), &TestHost::new(), &view, &request(&view, 10_000));
        6 - pruned(&view, plan.as_ref()).len()
    };
    let each = view.all()[3].tokens;
    assert_eq!((kept(each - 1), kept(each), kept(2 * each), kept(100 * each)), (0, 1, 2, 6));
}

#[test]
fn a_failed_result_that_goes_is_still_called_failed() {
    let view = MemoryView::new().user("a").call("1", "bash", "{}").failed_result("1", "no ".repeat(999)).assistant("b");
    let view = view.user("c").assistant("d").user("e");
    let config = with(CLEAR, r#"{"exempt_failed": false, "keep_turns": 1}"#);
    let plan = select(&plugin(&config), &TestHost::new(), &view, &request(&view, 10_000));
    assert!(sent(&view, plan.as_ref())[2].starts_with("[Old result of bash (failed) cleared, 2997 bytes"));
    assert!(sent(&view, plan.as_ref())[2].ends_with("recall id 1]"), "the call's id, where the host has none");
}

#[test]
fn images_are_not_counted_as_gain_for_a_rewrite_leaves_them() {
    let config = with(CLEAR, r#"{"min_gain_tokens": 500, "min_gain_share": 1.0}"#);
    let with_image = |bytes: usize| {
        let view = turn(MemoryView::new(), 0, "read", bytes);
        // The newest entry is the assistant's closing words; put the image on a result of its own.
        let view =
            view.user("look").call("i", "screenshot", "{}").result("i", "x".repeat(bytes)).image("image/png", 5_000);
        let view = view.assistant("seen").user("b").assistant("c").user("d");
        select(&plugin(&config), &TestHost::new(), &view, &request(&view, 100_000)).is_some()
    };
    assert!(!with_image(400), "1,200 tokens of an image are no gain");
    assert!(with_image(4_000));
}

#[test]
fn a_decision_waits_for_its_least_gain() {
    let host = TestHost::new();
    let plugin = plugin(&with(CLEAR, r#"{"min_gain_tokens": 2000, "min_gain_share": 1.0}"#));
    let mut counts = Vec::new();
    for turns in 3..10 {
        let view = session(turns, 3_000);
        counts.push(pruned(&view, select(&plugin, &host, &view, &request(&view, 100_000)).as_ref()).len());
    }
    // 750 tokens a turn: the third old result makes 2,000.
    assert_eq!(counts, [0, 0, 3, 3, 3, 6, 6]);
    let (level, words) = &host.logged()[0];
    assert_eq!(*level, Level::Debug);
    assert!(words.contains("tokens could go, and a decision takes out at least 2000"), "{words}");
}

#[test]
fn a_warm_cache_holds_a_decision_back_until_it_expires_or_the_gain_pays() {
    let config = with(CLEAR, r#"{"cache": "pay-back", "force_over_budget": false}"#);
    let view = session(6, 3_000);
    let all = tokens(&sent(&view, None));
    let run = |now: f64, cached: u32, requests: u32| {
        let host = TestHost::new();
        let mut request = warm(&view, 100_000, cached);
        request.pressure.now = now;
        let plugin = plugin(&with(&config, &format!(r#"{{"payback_requests": {requests}}}"#)));
        let plan = select(&plugin, &host, &view, &request);
        (pruned(&view, plan.as_ref()).len(), host.logged().pop().unwrap().1)
    };
    // Two thirds of the request go: written anew is the other third.
    assert_eq!(run(0.0, all, 10).0, 4);
    let (count, words) = run(0.0, all, 0);
    assert!(count < 4, "{words}");
    assert!(words.contains("written anew at 1.25 instead of read at 0.1"), "{words}");
    let (count, words) = run(300_000.0, all, 0);
    assert_eq!(count, 4);
    assert!(words.contains("4 cleared") && words.contains("the cache has expired"), "{words}");
    assert_eq!(run(0.0, 0, 0).0, 4, "an empty cache holds nothing back");
}

#[test]
fn without_a_known_cache_expired_goes_by_the_age_of_the_last_answer() {
    let config = with(CLEAR, r#"{"cache": "expired", "cache_ttl_seconds": 300, "force_over_budget": false}"#);
    let run = |answered: Option<f64>, now: f64| {
        let mut view = session(4, 3_000);
        if let Some(at) = answered {
            view = view.written(at);
        }
        let view = view.user("now").written(now);
        let mut request = request(&view, 100_000);
        request.pressure.now = now;
        pruned(&view, select(&plugin(&config), &TestHost::new(), &view, &request).as_ref()).len()
    };
    assert_eq!(run(Some(1_000.0), 300_999.0), 0);
    assert_eq!(run(Some(1_000.0), 301_000.0), 3);
    assert_eq!(run(None, 9_000_000.0), 0, "nothing tells, so it waits");
}

#[test]
fn a_request_that_does_not_fit_is_pruned_whatever_it_costs() {
    let config = with(CLEAR, r#"{"cache": "expired", "min_gain_tokens": 100000, "min_gain_share": 1.0}"#);
    let view = session(6, 3_000);
    let run =
        |window| pruned(&view, select(&plugin(&config), &TestHost::new(), &view, &warm(&view, window, 4_000)).as_ref());
    assert!(run(3_000).len() == 4 && run(300_000).is_empty());
}

#[test]
fn what_was_pruned_stays_pruned_in_the_same_words_though_the_configuration_changes() {
    let host = TestHost::new();
    let view = session(4, 3_000);
    let first = sent(&view, select(&plugin(CLEAR), &host, &view, &request(&view, 10_000)).as_ref());
    // Nothing would go by itself any more, and new words would be others.
    let later = plugin(&with(CLEAR, r#"{"clear_text": "[gone]", "start_share": 1.0, "keep_turns": 9}"#));
    let longer = session(5, 3_000);
    let second = sent(&longer, select(&later, &host, &longer, &request(&longer, 100_000)).as_ref());
    assert_eq!(first[..], second[..first.len()]);
}

#[test]
fn what_was_pruned_is_known_again_at_another_position() {
    let host = TestHost::new();
    let view = session(5, 3_000);
    let before = sent(&view, select(&plugin(CLEAR), &host, &view, &request(&view, 10_000)).as_ref());
    // The first turn was folded into a summary: everything moved up.
    let mut shifted = MemoryView::new().system("rules").pinned().summary("the first turn");
    for number in 1..5 {
        shifted = turn(shifted, number, "read", 3_000);
    }
    let waiting = plugin(&with(CLEAR, r#"{"start_share": 1.0}"#));
    let after = sent(&shifted, select(&waiting, &host, &shifted, &request(&shifted, 100_000)).as_ref());
    assert_eq!(before[5..], after[2..]);
}

#[test]
fn a_pinned_result_gets_its_text_back() {
    let host = TestHost::new();
    let view = session(4, 3_000);
    assert_eq!(pruned(&view, select(&plugin(CLEAR), &host, &view, &request(&view, 10_000)).as_ref()), [3, 7]);
    let build = |pin: bool| {
        let view = MemoryView::new().system("rules").pinned().user("request 0").assistant("I look.");
        let line = "line 0 of a result\n";
        let view =
            view.call("c0", "read", "{}").result("c0", line.repeat(3_000 / line.len() + 1)).attributed("id", "r0");
        let view = if pin { view.marked(Marks::PINNED) } else { view };
        view.assistant("Done.").user("more").assistant("x").user("y")
    };
    assert_eq!(
        pruned(&build(false), select(&plugin(CLEAR), &host, &build(false), &request(&build(false), 10_000)).as_ref()),
        [3]
    );
    assert!(select(&plugin(CLEAR), &host, &build(true), &request(&build(true), 10_000)).is_none());
}

#[test]
fn the_state_is_one_small_value() {
    let host = TestHost::new();
    let view = session(1_000, 500);
    select(&plugin(CLEAR), &host, &view, &request(&view, 10_000)).unwrap();
    let value = contextengine_sdk::Services::state_get(&host, Scope::Session, "pruned").unwrap();
    assert!(value.len() < 10_500, "{} bytes for 998 results", value.len());
}

#[test]
fn where_the_state_is_full_nothing_new_goes_and_what_went_stays() {
    // One write to find out that there is a state, and one for the first decision.
    let (host, plugin) = (Forgetful::after(2), plugin(CLEAR));
    let view = session(4, 3_000);
    let first = pruned(&view, select(&plugin, &host, &view, &request(&view, 10_000)).as_ref());
    assert_eq!(first, [3, 7]);
    let longer = session(6, 3_000);
    assert_eq!(pruned(&longer, select(&plugin, &host, &longer, &request(&longer, 10_000)).as_ref()), first);
    let (level, words) = host.logged().pop().unwrap();
    assert_eq!(level, Level::Warn);
    assert!(words.contains("the store is full") && words.contains("nothing new is pruned"), "{words}");
}

#[test]
fn without_state_results_go_in_whole_steps_and_stay() {
    let (host, plugin) =
        (Forgetful::after(0), plugin(&with(CLEAR, r#"{"min_gain_tokens": 2000, "min_gain_share": 1.0}"#)));
    let counts = (3..12).map(|turns| {
        let view = session(turns, 3_000);
        // A warm cache is not looked at: without memory nobody knows what it holds.
        pruned(&view, select(&plugin, &host, &view, &warm(&view, 100_000, 9_000)).as_ref()).len()
    });
    // 710 tokens a turn: two steps of 2,000 take three results each.
    assert_eq!(counts.collect::<Vec<_>>(), [0, 0, 3, 3, 3, 6, 6, 6, 9]);
}

#[test]
fn a_window_that_is_not_known_is_never_full() {
    let view = session(20, 9_000);
    assert!(select(&plugin("{}"), &TestHost::new(), &view, &request(&view, 0)).is_none());
}

#[test]
fn a_new_decision_says_why_and_one_that_stands_says_nothing() {
    let (host, view) = (TestHost::new(), session(4, 3_000));
    let reasons = || -> Vec<String> {
        let plan = select(&plugin(CLEAR), &host, &view, &request(&view, 10_000)).unwrap();
        let reason = |segment| match segment {
            contextengine_sdk::Segment::Rewrite(rewrite) => Some(rewrite.reason),
            _ => None,
        };
        plan.segments.into_iter().filter_map(reason).collect()
    };
    assert_eq!(reasons(), ["old result cleared", "old result cleared"]);
    assert_eq!(reasons(), ["", ""]);
}
