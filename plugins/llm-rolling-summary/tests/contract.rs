//! What the plugin says of itself and how it is configured.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use contextengine_sdk::{Plugin, Service};
use llm_rolling_summary::{Config, LlmRollingSummary, PRESETS, preset};
use serde_json::{Map, Value};

fn properties() -> Map<String, Value> {
    let schema: Value = serde_json::from_str(&LlmRollingSummary::describe().config_schema).unwrap();
    schema["properties"].as_object().unwrap().clone()
}

/// The keys of the struct, in serde's own words: it lists them when it meets an unknown one.
fn keys_of_the_struct() -> Vec<String> {
    let error = LlmRollingSummary::configure(r#"{"no_such_key": 1}"#).unwrap_err();
    let (_, list) = error.split_once("expected one of ").unwrap();
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn it_needs_a_model_and_says_so() {
    let description = LlmRollingSummary::describe();
    assert_eq!((description.id.as_str(), description.needs), ("llm-rolling-summary", vec![Service::Model]));
}

#[test]
fn schema_and_struct_have_the_same_keys_and_defaults() {
    let properties = properties();
    let mut keys = keys_of_the_struct();
    keys.sort();
    let mut named: Vec<String> = properties.keys().cloned().collect();
    named.sort();
    assert_eq!(named, keys);
    let defaults: Map<String, Value> =
        properties.iter().map(|(key, property)| (key.clone(), property["default"].clone())).collect();
    assert_eq!(Config::from_json(&Value::Object(defaults).to_string()).unwrap(), Config::default());
    for (key, property) in &properties {
        assert!(property["description"].as_str().is_some_and(|words| words.len() > 10), "{key}");
        assert!(property.get("default").is_some(), "{key}");
    }
}

#[test]
fn a_default_that_is_no_list_differs_from_another_value() {
    // Else the comparison above could not fail: every scalar default is read, and another value is another configuration.
    for (key, property) in properties() {
        let other = match &property["default"] {
            Value::Bool(it) => Value::Bool(!it),
            Value::Number(it) if it.is_u64() && it.as_u64() != Some(u64::from(u32::MAX)) => {
                let value = it.as_u64().unwrap();
                Value::from(if value == 0 { 1 } else { value - 1 })
            }
            _ => continue,
        };
        let json = format!("{{\"{key}\": {other}}}");
        assert_ne!(Config::from_json(&json).unwrap(), Config::default(), "{json}");
    }
}

#[test]
fn a_preset_sets_every_key_and_no_other() {
    let mut expected: Vec<String> = properties().keys().filter(|key| *key != "preset").cloned().collect();
    expected.sort();
    for (name, _) in PRESETS {
        let mut keys: Vec<String> = preset(name).unwrap().keys().cloned().collect();
        keys.sort();
        assert_eq!(keys, expected, "{name}");
        let config = Config::from_json(&format!(r#"{{"preset": "{name}"}}"#)).unwrap();
        assert_ne!(Config { preset: None, ..config }, Config::default(), "{name}");
    }
}

#[test]
fn keys_beside_a_preset_override_it() {
    let config = Config::from_json(r#"{"preset": "maka", "keep_recent_turns": 3}"#).unwrap();
    assert_eq!((config.keep_recent_turns, config.max_summary_tokens), (3, 8_000));
}

#[test]
fn a_wrong_configuration_is_refused_with_the_key() {
    for (config, words) in [
        (r#"{"keep": 1}"#, "unknown field `keep`"),
        (r#"{"preset": "open-code"}"#, "did you mean `opencode`?"),
        (r#"{"preset": "gpt"}"#, "there are pi, codex, claude-code"),
        (r#"{"preset": "pi", "keep": 1}"#, "unknown field `keep`"),
        (r#"{"chunk_ratio": 40}"#, "chunk_ratio: 40 is not a share"),
        (r#"{"at_percent": 140}"#, "at_percent: write a number of percent"),
        (r#"{"safety_margin": 0.5}"#, "safety_margin: 0.5 is out of range"),
        (r#"{"max_summary_tokens": 10}"#, "max_summary_tokens: 10 is too small; write at least 200"),
        (r#"{"repair_attempts": 9}"#, "repair_attempts: 9 is too many"),
        (r#"{"sections": [{"heading": "Goal"}]}"#, "sections[0].heading: \"Goal\" is no heading"),
        (
            r###"{"sections": [{"heading": "## A"}, {"heading": "## A"}]}"###,
            "sections[1].heading: \"## A\" is there twice",
        ),
        (r###"{"sections": [{"heading": "## A", "data": "all"}]}"###, "unknown variant `all`"),
        (r#"{"keep_recent_min": 9, "keep_recent_max": 1}"#, "larger than keep_recent_max"),
        (r#"{"staging": "both"}"#, "unknown variant `both`, expected `parallel` or `sequence`"),
    ] {
        let error = LlmRollingSummary::configure(config).unwrap_err();
        assert!(error.contains(words), "{config}: {error}");
    }
}
