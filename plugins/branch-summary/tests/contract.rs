//! What the plugin says of itself, and how it is configured.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use branch_summary::{BranchSummary, Config, PRESETS};
use common::{branch, summarize};
use contextengine_sdk::memory::{MemoryView, TestHost};
use contextengine_sdk::{Failure, Plugin, Span};
use serde_json::{Map, Value};

fn properties() -> Map<String, Value> {
    let schema: Value = serde_json::from_str(&BranchSummary::describe().config_schema).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["additionalProperties"], false);
    schema["properties"].as_object().unwrap().clone()
}

#[test]
fn the_schema_and_the_configuration_have_the_same_keys_and_defaults() {
    let mut properties = properties();
    assert!(properties.values().all(|property| property["description"].as_str().is_some_and(|it| !it.is_empty())));
    let presets = properties.remove("preset").unwrap();
    assert_eq!(presets["enum"], Value::from(PRESETS.map(|(name, _)| name).to_vec()));
    // Every key of the schema is one of the configuration, with its default …
    let defaults: Map<String, Value> =
        properties.iter().map(|(key, property)| (key.clone(), property["default"].clone())).collect();
    assert_eq!(Config::from_json(&Value::Object(defaults.clone()).to_string()).unwrap(), Config::default());
    // … and the other way round: the error of an unknown key lists those of the configuration.
    let error = BranchSummary::configure(r#"{"no_such_key": 1}"#).unwrap_err();
    let known: Vec<&str> = error.split('`').skip(1).step_by(2).filter(|key| *key != "no_such_key").collect();
    assert_eq!(known.len(), defaults.len(), "{error}");
    assert!(known.iter().all(|key| defaults.contains_key(*key)), "{error}");
}

#[test]
fn a_wrong_configuration_is_refused_with_the_key() {
    for (config, words) in [
        (r#"{"budget": 1}"#, "unknown field `budget`"),
        (r#"{"carry_share": 40}"#, "carry_share: 40 is not a share"),
        (r#"{"attempts": 0}"#, "attempts: 0 is not possible"),
        (r#"{"least_tokens": 1}"#, "least_tokens: 1 is too small; write at least 60"),
        (r#"{"sections": []}"#, "sections: there has to be one heading"),
        (r###"{"sections": ["## Goal"]}"###, "sections: \"## Goal\" is not a heading"),
        (r#"{"preset": "codex"}"#, "preset: there is no preset `codex`; there is `pi`"),
    ] {
        let error = BranchSummary::configure(config).unwrap_err();
        assert!(error.contains(words), "{config}: {error}");
    }
}

/// Pi 1.6.0, branch-summarization.js: budget = (contextWindow || 128000) - reserveTokens (16384); tool results are
/// skipped; a summary is still added below 0.9 of the budget; the sections of a compaction but for Critical Context
/// (Goal, Constraints & Preferences, Progress, Key Decisions, Next Steps). One attempt: a failed call is a failure.
#[test]
fn preset_pi_has_the_numbers_of_pi() {
    let pi = Config::from_json(r#"{"preset": "pi"}"#).unwrap();
    assert_eq!((pi.default_window, pi.reserve_tokens, pi.result_bytes), (128_000, 16_384, 0));
    assert_eq!((pi.summary_until, pi.attempts), (0.9, 1));
    assert_eq!(pi.sections, ["Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps"]);
    let own = Config::from_json(r#"{"preset": "pi", "result_bytes": 7}"#).unwrap();
    assert_eq!((own.result_bytes, own.attempts), (7, 1));
}

#[test]
fn the_summary_covers_the_whole_branch() {
    let summary = summarize("{}", &branch(), &TestHost::new(), 2_000).unwrap();
    assert_eq!(summary.covers, [Span::new(0, 11)]);
}

#[test]
fn what_cannot_be_summarised_is_declined_with_the_reason() {
    for (view, budget, words) in [
        (MemoryView::new(), 1_000, "no entries"),
        (MemoryView::new().user(" ").assistant(""), 1_000, "none of the 2 entries"),
        (branch(), 59, "59 tokens"),
        (branch(), 0, "0 tokens"),
    ] {
        let failure = summarize("{}", &view, &TestHost::new(), budget).unwrap_err();
        assert!(matches!(&failure, Failure::Declined(reason) if reason.contains(words)), "{failure:?}");
    }
}
