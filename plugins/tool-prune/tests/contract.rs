//! What the plugin says of itself, how it is configured, and what its presets set.

#![allow(clippy::unwrap_used, reason = "tests")]

use contextengine_sdk::Plugin;
use serde_json::{Map, Value};
use tool_prune::{CacheMode, Config, PRESETS, ToolPrune};

#[test]
fn the_schema_names_every_key_with_its_default_and_no_other() {
    let schema: Value = serde_json::from_str(&ToolPrune::describe().config_schema).unwrap();
    let mut properties = schema["properties"].as_object().unwrap().clone();
    let presets: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
    let preset = properties.remove("preset").unwrap();
    assert_eq!(preset["enum"], serde_json::json!(presets));
    assert!(preset["description"].is_string());
    let defaults: Map<String, Value> = properties
        .iter()
        .map(|(key, property)| {
            assert!(property["description"].is_string(), "{key}");
            (key.clone(), property["default"].clone())
        })
        .collect();
    assert_eq!(Value::Object(defaults), serde_json::to_value(Config::default()).unwrap());
}

#[test]
fn a_wrong_configuration_is_refused_with_the_key() {
    for (config, words) in [
        (r#"{"keep": 1}"#, "unknown field `keep`"),
        (r#"{"start_share": 30}"#, "start_share: 30 is not a share"),
        (r#"{"trim_over_bytes": 100}"#, "trim_over_bytes: 100 is less than head and tail, 3000"),
        (r#"{"clear_start_share": 0.3}"#, "clear_stop_share: 0.4 is more than clear_start_share, 0.3"),
        (r#"{"tools": []}"#, "tools: without a pattern"),
        (r#"{"cache": "warm"}"#, "cache: unknown variant `warm`, expected one of `pay-back`, `expired`, `ignore`"),
        (r#"{"clear_text": "{size}"}"#, "unknown place `{size}`"),
        (
            r#"{"preset": "claude"}"#,
            "there is no preset `claude`; there is `opencode`, `openclaw-cache-ttl`, `observation-masking`",
        ),
        (r#"{"preset": "opencode", "keep": 1}"#, "unknown field `keep`"),
    ] {
        let error = ToolPrune::configure(config).unwrap_err();
        assert!(error.contains(words), "{config}: {error}");
    }
}

#[test]
fn nothing_configured_is_the_default() {
    assert_eq!(Config::from_json("{}"), Ok(Config::default()));
}

fn preset(name: &str) -> Config {
    Config::from_json(&format!(r#"{{"preset": "{name}"}}"#)).unwrap()
}

/// A preset decides everything but the words and the prices, which are ours.
#[test]
fn every_preset_sets_every_key_that_the_other_system_has() {
    let ours = ["trim_text", "clear_text", "cache_ttl_seconds", "payback_requests"];
    let trims = ["trim_over_bytes", "trim_head_bytes", "trim_tail_bytes"];
    let keys = serde_json::to_value(Config::default()).unwrap();
    for (name, text) in PRESETS {
        let given: Map<String, Value> = serde_json::from_str(text).unwrap();
        let trimming = given["trim"] == Value::Bool(true);
        for key in keys.as_object().unwrap().keys() {
            let optional = ours.contains(&key.as_str()) || (!trimming && trims.contains(&key.as_str()));
            assert!(optional || given.contains_key(key), "{name} says nothing of {key}");
        }
        preset(name);
    }
}

#[test]
fn a_key_beside_a_preset_overrides_it() {
    let config = Config::from_json(r#"{"preset": "opencode", "keep_tokens": 7}"#).unwrap();
    assert_eq!((config.keep_tokens, config.keep_turns, config.cache), (7, 2, CacheMode::Ignore));
}

/// OpenCode 1.18.34, facts 2.3: the last two user turns are untouched, `skill` is protected, the first 40,000 tokens
/// (newest first) stay, more than 20,000 must be won, parts with errors are never pruned.
#[test]
fn opencode_has_the_numbers_of_its_prune() {
    let config = preset("opencode");
    assert_eq!((config.keep_turns, config.keep_tokens, config.min_gain_tokens), (2, 40_000, 20_000));
    assert_eq!(config.exempt_tools, ["skill"]);
    assert!(config.exempt_failed && config.clear && !config.trim && !config.prune_current_turn);
    assert_eq!((config.keep_share, config.min_gain_share), (1.0, 1.0), "absolute numbers only");
}

/// OpenClaw, facts 2.14: ttl 5 min, keepLastAssistants 3, softTrimRatio 0.3, hardClearRatio 0.5,
/// minPrunableToolChars 50,000; results over 4,000 keep 1,500 and 1,500; nothing before the first user message.
#[test]
fn openclaw_has_the_numbers_of_its_cache_ttl_pruning() {
    let config = preset("openclaw-cache-ttl");
    assert_eq!((config.cache, config.cache_ttl_seconds), (CacheMode::Expired, 300));
    assert_eq!((config.keep_assistants, config.start_share, config.clear_start_share), (3, 0.3, 0.5));
    assert_eq!((config.trim_over_bytes, config.trim_head_bytes, config.trim_tail_bytes), (4_000, 1_500, 1_500));
    assert_eq!(config.clear_min_bytes, 50_000);
    assert!(config.keep_before_first_user && config.trim && config.clear);
}

/// OpenHands V0 of 2025-11, facts 2.2: `observation_masking` has a window of 100 events; older observations are masked.
#[test]
fn observation_masking_has_its_attention_window() {
    let config = preset("observation-masking");
    assert_eq!((config.keep_entries, config.keep_turns, config.keep_tokens), (100, 0, 0));
    assert!(config.clear && !config.trim && config.clear_start_share == 0.0 && config.min_gain_tokens == 0);
}

/// Anthropic `clear_tool_uses_20250919`, facts 5.1: trigger 100,000 input tokens, keep 3 tool uses, no least gain unless
/// `clear_at_least` is set, no tool excluded.
#[test]
fn anthropic_has_the_defaults_of_its_context_editing() {
    let config = preset("anthropic-clear-tool-uses");
    assert_eq!((config.start_tokens, config.keep_results, config.min_gain_tokens), (100_000, 3, 0));
    assert!(config.exempt_tools.is_empty() && config.clear && !config.trim && config.prune_current_turn);
}
