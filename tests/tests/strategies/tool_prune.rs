//! The strategy `tool-prune` on the engine's own views.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
#![allow(clippy::print_stdout, reason = "what a test skipped, and what it found in real sessions")]

use std::path::PathBuf;
use std::sync::Arc;

use contextengine::format::Document;
use contextengine::hooks::Trigger;
use contextengine::plan::{self, Rules};
use contextengine::plugin::{LoadOptions, Plugin as Loaded};
use contextengine::transcript::{Block, Entry, EntryKind, Timestamp, ToolCall, ToolResult};
use contextengine::view::{View, ViewOptions};
use contextengine::{Engine, SelectionStep, Window};
use contextengine_sdk::memory::TestHost;
use contextengine_sdk::{self as sdk, Plugin as _, Selector as _};
use contextengine_tests::native::NativeView;
use contextengine_tests::{Bytes, cases, component, generate, layouts};
use proptest::prelude::*;
use tool_prune::{PRESETS, ToolPrune};

const AUTHOR: &str = "tool-prune";

/// Prunes whatever it may.
const EAGER: &str = r#"{"keep_turns": 0, "keep_tokens": 0, "exempt_tools": [], "exempt_failed": false,
    "prune_current_turn": true, "start_share": 0, "trim": false, "clear_over_bytes": 0, "clear_start_share": 0,
    "clear_stop_share": 0, "min_gain_tokens": 0, "cache": "ignore", "clear_text": "[{bytes}]"}"#;

fn engine() -> Engine {
    Engine::builder().counter(Bytes).build().unwrap()
}

fn view(engine: &Engine, entries: &[Entry]) -> View {
    engine.view(entries.iter().cloned().map(Arc::new).collect(), ViewOptions::default())
}

/// What the plugin proposes, natively.
fn propose(plugin: &ToolPrune, host: &TestHost, view: &View, window: u32) -> Option<plan::Plan> {
    let pressure = Window::new(window).pressure(view, Trigger::PreTurn, Timestamp(0));
    let pressure = contextengine_tests::native::compress_request(&pressure, 0).pressure;
    let request = sdk::SelectRequest { pressure, incoming: None };
    plugin.select_context(&NativeView(view.clone()), host, &request).unwrap().map(translated)
}

fn translated(plan: sdk::Plan) -> plan::Plan {
    let segment = |segment| match segment {
        sdk::Segment::Keep(span) => plan::Segment::Keep(plan::Span::new(span.start, span.end)),
        sdk::Segment::Rewrite(rewrite) => {
            plan::Segment::Rewrite(plan::Rewrite { at: rewrite.at, text: rewrite.text, reason: rewrite.reason })
        }
        other => panic!("{other:?} is not a step of this strategy"),
    };
    plan::Plan { segments: plan.segments.into_iter().map(segment).collect() }
}

/// The view that goes out, by the engine's own verifier.
fn sent(engine: &Engine, view: &View, plan: Option<plan::Plan>, window: u32) -> View {
    let Some(plan) = plan else { return view.clone() };
    let rules = Rules::for_request(Window::new(window).budget());
    let verified = plan::verify(plan, AUTHOR, view, &rules, engine.counter());
    verified.unwrap_or_else(|refused| panic!("{refused}")).apply().view().clone()
}

fn texts(view: &View) -> Vec<String> {
    (0..view.len()).map(|at| view.text(at, None).into_owned()).collect()
}

#[test]
fn the_engine_accepts_the_plan_for_every_layout_of_a_session() {
    let engine = engine();
    let plugin = ToolPrune::configure(EAGER).unwrap();
    let (mut plans, mut nothing) = (0, 0);
    for layout in layouts::all(6) {
        let view = view(&engine, &layouts::entries(&layout));
        let plan = propose(&plugin, &TestHost::new(), &view, 10_000);
        if plan.is_some() {
            plans += 1;
        } else {
            nothing += 1;
        }
        let after = sent(&engine, &view, plan, 10_000);
        assert_eq!(after.len(), view.len());
        assert!(after.tokens() <= view.tokens(), "{layout:?}");
    }
    assert!(plans > 100 && nothing > 100, "{plans} plans, {nothing} times nothing");
}

#[test]
fn every_preset_gives_accepted_plans_on_a_long_session() {
    let engine = engine();
    let view = view(&engine, &generate::session(800, 400_000));
    for (name, _) in PRESETS {
        let plugin = ToolPrune::configure(&format!(r#"{{"preset": "{name}", "cache": "ignore"}}"#)).unwrap();
        let plan = propose(&plugin, &TestHost::new(), &view, 200_000);
        let after = sent(&engine, &view, plan, 200_000);
        assert!(after.tokens() < view.tokens(), "{name}");
    }
}

/// One turn of an agent.
#[derive(Debug, Clone)]
struct Turn {
    results: Vec<(usize, usize)>,
    pinned: bool,
}

const TOOLS: [&str; 3] = ["read", "bash", "skill"];

fn any_turn() -> impl Strategy<Value = Turn> {
    (prop::collection::vec((0..3_usize, 0..3_000_usize), 0..4), prop::bool::weighted(0.1))
        .prop_map(|(results, pinned)| Turn { results, pinned })
}

/// The entries of a turn; several results answer calls of one entry.
fn append(entries: &mut Vec<Entry>, turn: &Turn) {
    let id = |entries: &Vec<Entry>| format!("e{}", entries.len());
    entries.push(Entry::text(id(entries), EntryKind::User, "please go on"));
    let call = |(at, (tool, _)): (usize, &(usize, usize))| {
        Block::ToolCall(ToolCall { id: format!("c{at}"), name: TOOLS[*tool].into(), arguments: "{}".into() })
    };
    if !turn.results.is_empty() {
        let calls = turn.results.iter().enumerate().map(call).collect();
        entries.push(Entry::new(id(entries), EntryKind::Assistant, calls));
    }
    for (at, (tool, bytes)) in turn.results.iter().enumerate() {
        let text = format!("line of {}\n", entries.len()).repeat(bytes / 10);
        let result = ToolResult { call_id: format!("c{at}"), name: TOOLS[*tool].into(), text, failed: at == 3 };
        let mut entry = Entry::new(id(entries), EntryKind::ToolResult, vec![Block::ToolResult(result)]);
        entry.pinned = turn.pinned;
        entries.push(entry);
    }
    entries.push(Entry::text(id(entries), EntryKind::Assistant, "done"));
}

prop_compose! {
    fn any_config()(
        keep_turns in 0..4_u32, keep_tokens in 0..9_000_u32, trim in any::<bool>(), min_gain in 500..9_000_u32,
        start in 0.0..0.4, clear_start in 0.0..0.5, stop in 0.0..1.0,
    ) -> (String, u32) {
        let config = serde_json::json!({
            "keep_turns": keep_turns, "keep_tokens": keep_tokens, "keep_share": 1.0, "trim": trim,
            "trim_over_bytes": 900, "trim_head_bytes": 300, "trim_tail_bytes": 200, "min_gain_tokens": min_gain,
            "min_gain_share": 1.0, "start_share": start, "clear_start_share": clear_start, "clear_stop_share": stop * clear_start,
            "force_over_budget": false,
        });
        (config.to_string(), min_gain)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    /// Twenty rounds of append, select and send: what the provider has cached stays, unless a decision takes out its
    /// least gain; what is pinned or exempt is never touched.
    #[test]
    fn over_twenty_rounds_a_sent_prefix_stays_unless_a_decision_of_the_least_gain_changes_it(
        turns in prop::collection::vec(any_turn(), 20), (config, least) in any_config(),
    ) {
        let (engine, host) = (engine(), TestHost::new().count_with(|text| u32::try_from(text.len()).unwrap()));
        let plugin = ToolPrune::configure(&config).unwrap();
        let mut entries = Vec::new();
        let mut last: Option<View> = None;
        let mut decided = 0;
        for turn in &turns {
            let old = entries.len();
            append(&mut entries, turn);
            let before = view(&engine, &entries);
            let after = sent(&engine, &before, propose(&plugin, &host, &before, 40_000), 40_000);
            let decisions = host.logged().iter().filter(|(level, _)| *level == sdk::Level::Info).count();
            if let Some(last) = &last {
                let fresh: u32 = (old..entries.len()).map(|at| before.tokens_of(u32::try_from(at).unwrap())).sum();
                let kept = texts(last) == texts(&after)[..old];
                if decisions == decided {
                    prop_assert!(kept, "changed without a decision");
                } else {
                    prop_assert!(!kept && last.tokens() + fresh >= after.tokens() + least);
                }
            }
            for (at, entry) in entries.iter().enumerate() {
                let at = u32::try_from(at).unwrap();
                let is_exempt = entry.tool_result().is_none_or(|result| result.name == "skill" || result.failed);
                if entry.pinned || is_exempt {
                    prop_assert_eq!(after.text(at, None), before.text(at, None));
                }
            }
            (last, decided) = (Some(after), decisions);
        }
    }
}

/// A host that keeps no state: the same properties from the view alone, through the engine's own chain.
#[test]
fn as_a_component_without_state_a_prefix_changes_only_in_full_steps() {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let engine = engine();
    let config = r#"{"keep_turns": 1, "keep_tokens": 0, "start_share": 0, "trim": false, "clear_start_share": 0,
        "clear_stop_share": 0, "min_gain_tokens": 6000, "min_gain_share": 1.0}"#;
    let plugin = tokio.block_on(engine.load(&component(AUTHOR), LoadOptions::with_config(config))).unwrap();
    let session = generate::session(400, 300_000);
    let mut last: Vec<String> = Vec::new();
    let (mut changed, mut rounds, mut saved) = (0, 0, 0);
    let ends = (2..=session.len()).filter(|&end| session.get(end).is_none_or(|next| next.kind == EntryKind::User));
    for end in ends {
        let before = view(&engine, &session[..end]);
        let after = run(&tokio, &engine, &plugin, &before);
        let texts = texts(&after);
        rounds += 1;
        if texts[..last.len()] != last[..] {
            changed += 1;
            let now = before.tokens() - after.tokens();
            assert!(now >= saved + 5_000, "a step of 6,000 tokens, less what its pointers take: {saved} to {now}");
            saved = now;
        }
        last = texts;
    }
    assert!(rounds > 30 && changed > 5 && changed < rounds, "{changed} of {rounds}");
}

fn run(tokio: &tokio::runtime::Runtime, engine: &Engine, plugin: &Loaded, view: &View) -> View {
    let pressure = Window::new(2_000_000).pressure(view, Trigger::PreTurn, Timestamp(0));
    let chain = std::slice::from_ref(plugin);
    let selection = tokio.block_on(engine.select(chain, view, &pressure, None, &engine.services()));
    match &selection.steps()[0].1 {
        SelectionStep::Unchanged | SelectionStep::Shaped { .. } => selection.view().clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_component_does_what_the_same_source_does_natively() {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let engine = engine();
    let view = view(&engine, &generate::session(300, 200_000));
    let config = r#"{"start_share": 0, "keep_tokens": 9000, "min_gain_tokens": 0, "clear_start_share": 0.05,
        "clear_stop_share": 0}"#;
    let plugin = tokio.block_on(engine.load(&component(AUTHOR), LoadOptions::with_config(config))).unwrap();
    let through_wasm = run(&tokio, &engine, &plugin, &view);
    let native = ToolPrune::configure(config).unwrap();
    let natively = sent(&engine, &view, propose(&native, &TestHost::new(), &view, 2_000_000), 2_000_000);
    assert!(natively.tokens() < view.tokens());
    assert_eq!(texts(&through_wasm), texts(&natively));
}

/// What a rewrite does with the images of a result: they stay. So the plugin counts none of their tokens as gain.
#[test]
fn a_rewritten_result_keeps_its_images() {
    use contextengine::transcript::{Image, ImageSource};
    let engine = engine();
    let mut entries = Vec::new();
    append(&mut entries, &Turn { results: vec![(0, 2_000)], pinned: false });
    entries[2].blocks.push(Block::Image(Image { media_type: "image/png".into(), source: ImageSource::Unknown }));
    append(&mut entries, &Turn { results: Vec::new(), pinned: false });
    let before = view(&engine, &entries);
    let plugin = ToolPrune::configure(EAGER).unwrap();
    let after = sent(&engine, &before, propose(&plugin, &TestHost::new(), &before, 9_000), 9_000);
    assert_ne!(after.text(2, None), before.text(2, None));
    assert!(after.infos()[2].marks.has_image);
    let fewer = before.text(2, None).len() - after.text(2, None).len();
    assert_eq!((before.tokens_of(2) - after.tokens_of(2)) as usize, fewer, "a token a byte, and the image as before");
    let dear = EAGER.replace(r#""min_gain_tokens": 0"#, r#""min_gain_tokens": 2500, "min_gain_share": 1.0"#);
    let plan = propose(&ToolPrune::configure(&dear).unwrap(), &TestHost::new(), &before, 9_000);
    assert!(plan.is_none(), "2,000 tokens of text are less than 2,500, whatever the image takes");
}

#[test]
fn real_sessions_replayed_turn_by_turn_keep_their_prefix_between_decisions() {
    let Some(folder) = std::env::var_os("CONTEXTENGINE_CORPUS").map(PathBuf::from) else {
        println!("skipped: CONTEXTENGINE_CORPUS does not name a folder with real sessions");
        return;
    };
    let engine = Engine::builder().build().unwrap();
    for name in ["pi-v1-large.jsonl", "claude-code-small.jsonl"] {
        let document = Document::read_bytes(&std::fs::read(folder.join(name)).unwrap(), None).unwrap();
        let entries: Vec<Entry> = document.context().iter().map(|entry| Entry::clone(entry)).collect();
        let configs = PRESETS.iter().map(|(name, _)| format!(r#"{{"preset": "{name}", "cache": "ignore"}}"#));
        for config in configs.chain(["{}".to_owned()]) {
            let (host, plugin) = (TestHost::new(), ToolPrune::configure(&config).unwrap());
            let (mut last, mut requests, mut decided): (Vec<String>, usize, usize) = (Vec::new(), 0, 0);
            let mut saved = 0;
            let ends = (1..=entries.len()).filter(|&end| entries[end - 1].kind != EntryKind::Assistant).step_by(3);
            for end in ends {
                let before = view(&engine, &entries[..end]);
                let after = sent(&engine, &before, propose(&plugin, &host, &before, 128_000), 128_000);
                let texts = texts(&after);
                let decisions = host.logged().iter().filter(|(level, _)| *level == sdk::Level::Info).count();
                assert!(decisions > decided || texts[..last.len()] == last[..], "{name} {config} at {end}");
                (last, decided, requests) = (texts, decisions, requests + 1);
                saved = before.tokens() - after.tokens();
            }
            println!("{name} {config}: {requests} requests, {decided} decisions, {saved} tokens fewer at the end");
        }
    }
}
