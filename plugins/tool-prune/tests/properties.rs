//! For any session: a plan that keeps the rules; a prefix that was sent stays as it is unless a decision pays for it.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{plugin, request, select, sent, tokens};
use contextengine_sdk::memory::{MemoryView, TestHost};
use contextengine_sdk::{EntryKind, Level, Scope, Services, View};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    User,
    Assistant,
    Result { tool: usize, bytes: usize, failed: bool },
    Open,
    Pin,
}

const TOOLS: [&str; 4] = ["read", "bash", "skill", "mcp__x"];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::User),
        2 => Just(Step::Assistant),
        8 => (0..4_usize, 0..9_000_usize, prop::bool::weighted(0.1))
            .prop_map(|(tool, bytes, failed)| Step::Result { tool, bytes, failed }),
        1 => Just(Step::Pin),
    ]
}

fn build(steps: &[Step]) -> MemoryView {
    let mut view = MemoryView::new();
    for (at, step) in steps.iter().enumerate() {
        let id = format!("c{at}");
        view = match step {
            Step::User => view.user(format!("request {at}")),
            Step::Assistant => view.assistant(format!("answer {at}")),
            Step::Result { tool, bytes, failed } => {
                let text = format!("{at}: ä line of words\n").repeat(bytes / 20);
                let view = view.assistant("").call(&id, TOOLS[*tool], "{}");
                if *failed { view.failed_result(&id, text) } else { view.result(&id, text) }
            }
            Step::Open => view.assistant("").call(&id, "bash", "{}"),
            Step::Pin => view.pinned(),
        };
        view = view.attributed("id", format!("e{at}"));
    }
    view
}

/// A host whose state cannot be written.
fn decisions(host: &TestHost) -> usize {
    host.logged().iter().filter(|(level, _)| *level == Level::Info).count()
}

prop_compose! {
    fn any_config()(
        keep_turns in 0..4_u32, keep_tokens in 0..4_000_u32, trim in any::<bool>(), clear in any::<bool>(),
        min_gain in 0..4_000_u32, start in 0.0..0.6, clear_start in 0.0..0.8, stop in 0.0..1.0,
        current in any::<bool>(), failed in any::<bool>(),
    ) -> String {
        serde_json::json!({
            "keep_turns": keep_turns, "keep_tokens": keep_tokens, "trim": trim, "clear": clear,
            "min_gain_tokens": min_gain, "min_gain_share": 1.0, "start_share": start, "clear_start_share": clear_start,
            "clear_stop_share": stop * clear_start, "prune_current_turn": current, "exempt_failed": failed,
            "exempt_tools": ["skill", "mcp__*"], "force_over_budget": false,
        }).to_string()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_view_gives_a_plan_that_keeps_the_rules(
        steps in prop::collection::vec(step(), 0..40), open in any::<bool>(), config in any_config(), window in 0..60_000_u32,
    ) {
        let mut steps = steps;
        steps.extend(open.then_some(Step::Open));
        let view = build(&steps).working();
        let (host, plugin) = (TestHost::new(), plugin(&config));
        let plan = select(&plugin, &host, &view, &request(&view, window));
        // `sent` checks accounting, kinds and marks.
        let texts = sent(&view, plan.as_ref());
        let (entries, tools) = (view.all(), view.tools());
        for (at, entry) in entries.iter().enumerate() {
            let tool = entry.tool.map(|tool| tools[tool as usize].as_str());
            let exempt = tool.is_some_and(|tool| tool == "skill" || tool.starts_with("mcp__"));
            if exempt || entry.kind != EntryKind::ToolResult {
                prop_assert_eq!(&texts[at], &view.text(u32::try_from(at).unwrap(), None));
            }
        }
        let again = select(&plugin, &host, &view, &request(&view, window));
        prop_assert_eq!(texts, sent(&view, again.as_ref()), "the same again");
    }

    #[test]
    fn a_prefix_that_was_sent_changes_only_by_a_decision_of_the_least_gain(
        steps in prop::collection::vec(step(), 1..60), config in any_config(),
    ) {
        let (host, plugin) = (TestHost::new(), plugin(&config));
        let least: serde_json::Value = serde_json::from_str(&config).unwrap();
        let least = least["min_gain_tokens"].as_u64().unwrap();
        let mut last: Vec<String> = Vec::new();
        for end in 1..=steps.len() {
            let view = build(&steps[..end]).working();
            let before = decisions(&host);
            let texts = sent(&view, select(&plugin, &host, &view, &request(&view, 20_000)).as_ref());
            let pinned_now = matches!(steps[end - 1], Step::Pin);
            if decisions(&host) == before && !pinned_now {
                prop_assert_eq!(&texts[..last.len().min(texts.len())], &last[..last.len().min(texts.len())]);
            }
            if decisions(&host) > before {
                let mut without = last.clone();
                without.extend((last.len()..texts.len()).map(|at| view.text(u32::try_from(at).unwrap(), None)));
                prop_assert!(u64::from(tokens(&without)) >= u64::from(tokens(&texts)) + least);
            }
            last = texts;
        }
    }

    #[test]
    fn any_bytes_in_the_state_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..60), config in any_config()) {
        let (host, plugin) = (TestHost::new(), plugin(&config));
        prop_assert_eq!(host.state_set(Scope::Session, "pruned", &bytes), Ok(()));
        let view = common::session(5, 3_000);
        sent(&view, select(&plugin, &host, &view, &request(&view, 5_000)).as_ref());
    }
}
