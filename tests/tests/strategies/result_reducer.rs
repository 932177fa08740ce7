//! The strategy `result-reducer` on results as the engine holds them, counted by its tokenizer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
#![allow(clippy::print_stdout, reason = "what a test skipped, and what it found in real sessions")]

use std::path::PathBuf;
use std::sync::Arc;

use contextengine::Engine;
use contextengine::format::Document;
use contextengine::hooks::Hook;
use contextengine::plugin::LoadOptions;
use contextengine::tokens::{TiktokenCounter, TokenCounter, Vocabulary};
use contextengine::transcript::{Block, Entry, ToolResult};
use contextengine::view::ViewOptions;
use contextengine_sdk::memory::TestHost;
use contextengine_sdk::{self as sdk, Plugin as _, Reducer as _, Reduction};
use contextengine_tests::{cases, component, generate};
use proptest::prelude::*;
use result_reducer::{PRESETS, ResultReducer};

const WINDOW: u32 = 200_000;

fn counter() -> TiktokenCounter {
    TiktokenCounter::new(Vocabulary::O200kBase)
}

fn host() -> TestHost {
    let counter = counter();
    TestHost::new().count_with(move |text| counter.count(text))
}

fn reduce(plugin: &ResultReducer, host: &TestHost, result: &ToolResult) -> Option<String> {
    let tool_result = sdk::ToolResult {
        call_id: result.call_id.clone(),
        name: result.name.clone(),
        text: result.text.clone(),
        failed: result.failed,
    };
    let request = sdk::ReduceRequest { tool_result, tokens: counter().count(&result.text), window: WINDOW };
    match plugin.reduce(host, &request).unwrap() {
        Reduction::Keep => None,
        Reduction::Replace(text) => Some(text),
    }
}

/// Every result of a session reduced; checks each on the way. How many were, and the bytes before and after.
fn reduce_all(config: &str, most: u32, entries: &mut [Entry]) -> (usize, usize, usize) {
    let (plugin, host) = (ResultReducer::configure(config).unwrap(), host());
    let (mut count, mut before, mut after) = (0, 0, 0);
    for entry in entries {
        for block in &mut entry.blocks {
            let Block::ToolResult(result) = block else { continue };
            let Some(text) = reduce(&plugin, &host, result) else {
                assert!(counter().count(&result.text) <= most, "too long, and kept");
                continue;
            };
            assert!(!text.trim().is_empty() && text.len() < result.text.len());
            assert!(counter().count(&text) <= most, "{} tokens", counter().count(&text));
            count += 1;
            before += result.text.len();
            after += text.len();
            result.text = text;
            assert_eq!(reduce(&plugin, &host, result), None, "again: {}", result.text);
        }
    }
    (count, before, after)
}

#[test]
fn reduced_results_make_a_view_that_takes_no_more_than_the_limit_for_each() {
    let engine = Engine::builder().build().unwrap();
    let mut entries = generate::session(200, 600_000);
    let whole = engine.view(entries.iter().cloned().map(Arc::new).collect(), ViewOptions::default());
    let (count, before, after) = reduce_all(r#"{"max_tokens": 700}"#, 700, &mut entries);
    assert!(count > 40 && after * 2 < before, "{count} results, {before} to {after} bytes");
    let view = engine.view(entries.into_iter().map(Arc::new).collect(), ViewOptions::default());
    assert_eq!(view.len(), whole.len());
    assert!(view.tokens() < whole.tokens());
}

#[test]
fn every_preset_keeps_its_limit_in_bytes() {
    let text: String = (0..9_000).map(|n| format!("line {n} of what a command printed\n")).collect();
    for ((name, _), most) in PRESETS.iter().zip([51_200, 51_200, 10_240, 64_000]) {
        let plugin = ResultReducer::configure(&format!(r#"{{"preset": "{name}"}}"#)).unwrap();
        let result = ToolResult { call_id: "1".into(), name: "bash".into(), text: text.clone(), failed: false };
        let short = reduce(&plugin, &host(), &result).unwrap();
        assert!(short.len() <= most && short.len() > most / 2, "{name}: {} bytes", short.len());
    }
}

#[test]
fn the_component_owns_the_hook_for_results_and_no_other() {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let engine = Engine::builder().build().unwrap();
    let plugin = tokio.block_on(engine.load(&component("result-reducer"), LoadOptions::default())).unwrap();
    assert_eq!(plugin.hooks(), [Hook::Reducer]);
    assert_eq!(plugin.description().id, "result-reducer");
}

#[test]
fn results_of_real_sessions_are_reduced_within_the_limits() {
    let Some(folder) = std::env::var_os("CONTEXTENGINE_CORPUS").map(PathBuf::from) else {
        println!("skipped: CONTEXTENGINE_CORPUS does not name a folder with real sessions");
        return;
    };
    for name in ["pi-v1-large.jsonl", "claude-code-small.jsonl"] {
        let document = Document::read_bytes(&std::fs::read(folder.join(name)).unwrap(), None).unwrap();
        for (config, most) in [("{}", 8_000), (r#"{"max_tokens": 1000}"#, 1_000)] {
            let mut entries: Vec<Entry> = document.context().iter().map(|entry| Entry::clone(entry)).collect();
            let (count, before, after) = reduce_all(config, most, &mut entries);
            println!("{name} {config}: {count} results, {before} to {after} bytes");
        }
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        ".{0,80}",
        (0..60_u32).prop_map(|n| format!("2026-03-01T12:00:{n:02}Z INFO served request {n}")),
        Just("error: no rule to make target".to_owned()),
        Just("{\"a\": [1, 2, 3]}".to_owned()),
        "[A-Za-z0-9+/]{200,600}",
        (1..30_usize).prop_map(|n| "长行😀".repeat(n)),
    ];
    prop::collection::vec((line, 1..30_usize), 0..60)
        .prop_map(|lines| lines.into_iter().flat_map(|(line, times)| vec![line; times]).collect::<Vec<_>>().join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn by_the_engines_tokenizer_any_text_stays_within_its_limit_and_then_as_it_is(
        text in any_text(), failed in any::<bool>(),
    ) {
        let (plugin, host) = (ResultReducer::configure(r#"{"max_tokens": 400}"#).unwrap(), host());
        let mut result = ToolResult { call_id: "1".into(), name: "bash".into(), text, failed };
        match reduce(&plugin, &host, &result) {
            None => prop_assert!(counter().count(&result.text) <= 400),
            Some(short) => {
                prop_assert!(short.len() < result.text.len() && counter().count(&short) <= 400 - 64);
                result.text = short;
                prop_assert_eq!(reduce(&plugin, &host, &result), None, "again");
            }
        }
    }
}
