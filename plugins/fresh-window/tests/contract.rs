//! What the plugin says of itself, how it is configured, when it asks for a compaction, and what it keeps.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{details, kept, plan, plan_for, plugin, session, summary};
use contextengine_sdk::memory::{MemoryView, TestHost, pressure, request};
use contextengine_sdk::{Compressor, Outcome, Plugin, Services, Urgency, Verdict, View};
use fresh_window::{Config, FreshWindow, PRESETS};
use serde_json::{Map, Value, json};

#[test]
fn the_schema_and_the_configuration_have_the_same_keys_and_defaults() {
    let schema: Value = serde_json::from_str(&FreshWindow::describe().config_schema).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["additionalProperties"], false);
    let mut properties = schema["properties"].as_object().unwrap().clone();
    assert!(properties.values().all(|property| property["description"].as_str().is_some_and(|it| !it.is_empty())));
    let presets = properties.remove("preset").unwrap();
    assert_eq!(presets["enum"], Value::from(PRESETS.map(|(name, _)| name).to_vec()));
    let defaults: Map<String, Value> =
        properties.iter().map(|(key, property)| (key.clone(), property["default"].clone())).collect();
    assert_eq!(Config::from_json(&Value::Object(defaults.clone()).to_string()).unwrap(), Config::default());
    // The error of an unknown key lists all keys of the configuration.
    let error = FreshWindow::configure(r#"{"no_such_key": 1}"#).unwrap_err();
    let known: Vec<&str> = error.split('`').skip(1).step_by(2).filter(|key| *key != "no_such_key").collect();
    assert_eq!(known.len(), defaults.len(), "{error}");
    assert!(known.iter().all(|key| defaults.contains_key(*key)), "{error}");
}

#[test]
fn a_wrong_configuration_is_refused_with_the_key() {
    for (config, words) in [
        (r#"{"keep": 1}"#, "unknown field `keep`"),
        (r#"{"compress_at": 90}"#, "compress_at: 90 is not a share"),
        (r#"{"text_tokens": 20}"#, "text_tokens: 20 is too small; write at least 150"),
        (r#"{"compress_at_tokens": 0}"#, "compress_at_tokens: 0 would compact without end"),
        (r#"{"preset": "pi"}"#, "preset: there is no preset `pi`; there is `codex`"),
    ] {
        let error = FreshWindow::configure(config).unwrap_err();
        assert!(error.contains(words), "{config}: {error}");
    }
}

/// Codex upstream main of 2026-08-12, 3.2 and 3.4 of the facts: limit = min(model.auto_compact_token_limit, 0.9 *
/// window), reached at >=; token-budget compaction writes no summary at all and keeps nothing but the initial context.
#[test]
fn preset_codex_has_the_numbers_of_codex() {
    let codex = Config::from_json(r#"{"preset": "codex"}"#).unwrap();
    assert_eq!((codex.keep_turns, codex.keep_tokens), (0, 0));
    assert_eq!((codex.compress_at, codex.compress_at_tokens), (0.9, None));
    assert_eq!((codex.requests_tokens, codex.files_tokens, codex.earlier_tokens, codex.notes_tokens), (0, 0, 0, 0));
    let own = Config::from_json(r#"{"preset": "codex", "compress_at_tokens": 5000}"#).unwrap();
    assert_eq!(own.compress_at_tokens, Some(5_000));
    let text = summary(&plan(r#"{"preset": "codex"}"#, &session(), 1_000)).text;
    assert!(!text.contains("## ") && text.contains("10 entries, 2 turns,"), "{text}");
}

#[test]
fn it_waits_then_advises_then_insists_from_figures_alone() {
    let decide = |config: &str, entries: u32, measured: Option<u32>| {
        let view = MemoryView::new();
        let mut pressure = pressure(&view, 10_000);
        (pressure.reserve, pressure.overhead, pressure.budget) = (500, 1_000, 8_500);
        (pressure.entries, pressure.measured) = (entries, measured);
        plugin(config).should_compress(&view, &TestHost::new(), &pressure)
    };
    assert_eq!(decide("{}", 7_999, None).verdict, Verdict::Wait);
    assert_eq!(decide("{}", 8_000, None).verdict, Verdict::Compress(Urgency::Soft), "at the limit, as in Codex");
    assert_eq!(decide("{}", 8_500, None).verdict, Verdict::Compress(Urgency::Soft));
    assert_eq!(decide("{}", 8_501, None).verdict, Verdict::Compress(Urgency::Hard));
    assert_eq!(decide("{}", 10, Some(9_600)).verdict, Verdict::Compress(Urgency::Hard), "the measured count is larger");
    assert_eq!(decide("{}", 10, Some(940_499)).verdict, Verdict::Wait, "no request was larger than the window");
    assert_eq!(decide(r#"{"compress_at_tokens": 3000}"#, 2_000, None).verdict, Verdict::Compress(Urgency::Soft));
    assert!(decide("{}", 8_000, None).reason.contains("9000 of 10000 tokens are used, 8000 of them"));
    let mut unknown = pressure(&MemoryView::new(), 0);
    unknown.entries = 5;
    let verdict = plugin("{}").should_compress(&MemoryView::new(), &TestHost::new(), &unknown).verdict;
    assert_eq!(verdict, Verdict::Wait);
}

#[test]
fn the_window_holds_what_is_pinned_the_request_and_the_turn_in_progress() {
    let view = session();
    let plan = plan("{}", &view, 1_000);
    assert_eq!(kept(&plan), [0, 11, 12, 13, 14]);
    let summary = summary(&plan);
    assert_eq!(details(&summary)["entries"], 10);
    assert_eq!(details(&summary)["turns"], 2);
    let folded: u32 = view.entries((1..11).into()).iter().map(|entry| entry.tokens).sum();
    assert_eq!(details(&summary)["tokens"], folded);
    assert_eq!(details(&summary)["modifiedFiles"], json!(["src/import/csv.rs", "CHANGELOG.md"]));
    for words in [
        "- [e1] Fix the CSV importer: rows with quotes are lost, see issue #482.\n",
        "- [e7] Now write the changelog entry. Keep it short.\n",
        "- modified: CHANGELOG.md, src/import/csv.rs\n",
        &format!("10 entries, 2 turns, {folded} tokens, in 1 compaction."),
    ] {
        assert!(summary.text.contains(words), "{words} is not in {}", summary.text);
    }
}

#[test]
fn turns_and_tokens_before_the_request_stay_if_they_are_asked_for() {
    let view = session();
    assert_eq!(kept(&plan(r#"{"keep_turns": 1}"#, &view, 1_000))[1], 7);
    let tokens: u32 = view.entries((8..11).into()).iter().map(|entry| entry.tokens).sum();
    assert_eq!(kept(&plan(&format!(r#"{{"keep_tokens": {tokens}}}"#), &view, 1_000))[1], 8);
    assert_eq!(kept(&plan(&format!(r#"{{"keep_tokens": {}}}"#, tokens - 1), &view, 1_000))[1], 10);
    // Not all that is asked for fits the target.
    assert_eq!(kept(&plan(r#"{"keep_turns": 9}"#, &view, 1_000))[1], 4);
}

#[test]
fn a_turn_that_is_longer_than_the_target_keeps_its_newest_steps() {
    let mut view = MemoryView::new().user("Read everything.");
    for n in 0..20 {
        view = view
            .assistant("")
            .call("1", "read", format!(r#"{{"path":"src/{n}.rs"}}"#))
            .result("1", "line\n".repeat(80));
    }
    let plan = plan("{}", &view, 800);
    let kept = kept(&plan);
    assert_eq!((kept[0], *kept.last().unwrap()), (0, 40));
    let summary = summary(&plan);
    assert!(summary.text.contains("Entries of the turn in progress among them: "), "{}", summary.text);
    let tokens: u32 =
        kept.iter().flat_map(|&at| view.entries(contextengine_sdk::Span::one(at))).map(|e| e.tokens).sum();
    assert!(tokens + TestHost::new().count(&summary.text) <= 800, "{tokens}");
}

#[test]
fn focus_notes_and_summaries_by_others_are_in_the_text() {
    let view = MemoryView::new()
        .summary("## Goal\nPort the shop, ticket SHOP-311.\n\n## Files\n- read: crates/tax/rules.toml")
        .user("go on with the cart")
        .assistant("It is done. ".repeat(200))
        .user("and now the tax");
    let mut request = request(&view, 800);
    request.focus = Some("the tax".to_owned());
    request.memory = vec!["The customer pays\nby invoice.".to_owned()];
    let summary = summary(&plan_for("{}", &view, &request));
    for words in [
        "Port the shop, ticket SHOP-311.",
        "in focus: the tax",
        "- The customer pays by invoice.",
        "- read: crates/tax/rules.toml",
    ] {
        assert!(summary.text.contains(words), "{words} is not in {}", summary.text);
    }
}

#[test]
fn corrections_change_the_next_proposal() {
    let text = |config: &str, corrections: &[&str]| {
        let view = session();
        let mut request = request(&view, 1_000);
        request.corrections = corrections.iter().map(|&it| it.to_owned()).collect();
        summary(&plan_for(config, &view, &request)).text
    };
    let codex = r#"{"preset": "codex"}"#;
    let first = text(codex, &[]);
    assert!(text(codex, &["lost-identifiers: #482, src/lost.rs"]).contains("## Exact names\n- #482, src/lost.rs"));
    assert!(text(codex, &["missing-section: ## Next Steps"]).contains("\n## Next Steps\nNothing was summarised"));
    let more = text(codex, &["too-small-for-fold: 90 tokens would stand for 20000"]);
    assert!(more.contains("[e7]") && more.contains("## Last words of the model\nWritten.") && more.len() > first.len());
    assert!(text("{}", &["over-target: 9 tokens"]).len() <= text("{}", &[]).len());
    let view = session();
    let mut request = request(&view, 1_000);
    request.corrections = vec![format!(
        "lost-identifiers: {}",
        (0..200).map(|n| format!("src/a_long_name_{n}.rs, ")).collect::<String>()
    )];
    let outcome = plugin(codex).compress(&view, &TestHost::new(), &request).unwrap();
    assert!(matches!(outcome, Outcome::Unchanged(_)), "what is asked for does not fit: {outcome:?}");
    request.corrections = vec!["lost-request at position 1: it is the latest request".to_owned()];
    assert!(kept(&plan_for("{}", &view, &request)).contains(&1));
}

#[test]
fn where_nothing_is_gained_nothing_is_done() {
    let short = MemoryView::new().user("hello").assistant("hi").user("what is this?").assistant("a test");
    let alone = MemoryView::new().user("only a request");
    let told = MemoryView::new().summary(summary(&plan("{}", &session(), 1_000)).text).user("go on");
    for (view, words) in
        [(short, "less than"), (alone, "have to stay"), (told, "nothing new"), (MemoryView::new(), "all 0 tokens")]
    {
        let outcome = plugin("{}").compress(&view, &TestHost::new(), &request(&view, 100)).unwrap();
        let Outcome::Unchanged(reason) = outcome else { panic!("{outcome:?}") };
        assert!(reason.contains(words), "{reason}");
    }
}

#[test]
fn rules_that_folded_summaries_stored_are_passed_on() {
    let stored = r#"{"constraints": ["Never push.", "Use tabs."]}"#;
    let long = "It went well. ".repeat(200);
    let view = MemoryView::new().summary(long.as_str()).attributed("details", stored).user("go on");
    let first = summary(&plan("{}", &view, 600));
    assert_eq!(details(&first)["constraints"], json!(["Never push.", "Use tabs."]));
    let view = MemoryView::new()
        .summary(first.text)
        .attributed("details", first.details.unwrap())
        .user(long.as_str())
        .assistant(long.as_str())
        .user("go on");
    assert_eq!(details(&summary(&plan("{}", &view, 600)))["constraints"], json!(["Never push.", "Use tabs."]));
}
