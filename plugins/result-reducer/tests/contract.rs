//! What the plugin says of itself, how it is configured, and what its presets set.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{plugin, reduce};
use contextengine_sdk::Plugin;
use result_reducer::{Config, Keep, PRESETS, ResultReducer, Tier};
use serde_json::{Map, Value};

#[test]
fn the_schema_names_every_key_with_its_default_and_no_other() {
    let schema: Value = serde_json::from_str(&ResultReducer::describe().config_schema).unwrap();
    let mut properties = schema["properties"].as_object().unwrap().clone();
    let presets: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(properties.remove("preset").unwrap()["enum"], serde_json::json!(presets));
    let defaults: Map<String, Value> = properties
        .iter()
        .map(|(key, property)| {
            assert!(property["description"].is_string(), "{key}");
            (key.clone(), property["default"].clone())
        })
        .collect();
    assert_eq!(Value::Object(defaults), serde_json::to_value(Config::default()).unwrap());
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let default = serde_json::to_value(Config::default()).unwrap();
    let step = &schema["properties"]["json_steps"]["items"]["properties"];
    assert_eq!(keys(step), keys(&default["json_steps"][0]));
    let tier = serde_json::to_value(Tier { from_window: 0, max_bytes: 0 }).unwrap();
    assert_eq!(keys(&schema["properties"]["byte_tiers"]["items"]["properties"]), keys(&tier));
}

#[test]
fn a_wrong_configuration_is_refused_with_the_key() {
    for (config, words) in [
        (r#"{"max_token": 1}"#, "unknown field `max_token`"),
        (r#"{"max_tokens": 5}"#, "max_tokens: 5 is too small for anything; write at least 256"),
        (r#"{"max_share": 30}"#, "max_share: 30 is not a share"),
        (r#"{"head_percent": 101}"#, "head_percent: 101 is more than all"),
        (r#"{"middle_percent": 95}"#, "middle_percent: 95 leaves nothing"),
        (r#"{"repeat_from": 1}"#, "repeat_from: 1 is too small"),
        (r#"{"reserve_tokens": 500}"#, "reserve_tokens: 500 leaves too little; write at most 128"),
        (r#"{"byte_tiers": [{"from_window": 0, "max_bytes": 3}]}"#, "byte_tiers[0].max_bytes: 3 is too small"),
        (r#"{"byte_tiers": [{"from": 0}]}"#, "byte_tiers[0].from: unknown field `from`"),
        (r#"{"keep": "middle"}"#, "keep: unknown variant `middle`, expected one of `auto`, `head`, `tail`, `ends`"),
        (r#"{"preset": "cody"}"#, "preset: there is no preset `cody`; there is `pi`, `opencode`, `codex`, `openclaw`"),
    ] {
        let error = ResultReducer::configure(config).unwrap_err();
        assert!(error.contains(words), "{config}: {error}");
    }
}

#[test]
fn exempt_tools_and_those_not_named_enter_whole() {
    let text = "a line that fills the window\n".repeat(9_000);
    for (config, enters_whole) in [
        ("{}", false),
        (r#"{"exempt_tools": ["ba*"]}"#, true),
        (r#"{"tools": ["read"]}"#, true),
        (r#"{"tools": ["read", "b?sh"]}"#, false),
    ] {
        assert_eq!(reduce(&plugin(config), &text, false).is_none(), enters_whole, "{config}");
    }
}

fn preset(name: &str) -> Config {
    Config::from_json(&format!(r#"{{"preset": "{name}"}}"#)).unwrap()
}

#[test]
fn every_preset_turns_off_what_the_other_system_does_not_do() {
    for (name, _) in PRESETS {
        let config = preset(name);
        assert!(!(config.terminal || config.blobs || config.repeats || config.json), "{name}");
        assert_eq!((config.max_tokens, config.middle_percent), (0, 0), "{name}");
    }
    assert_eq!(Config::from_json(r#"{"preset": "pi", "max_lines": 99}"#).unwrap().max_lines, 99);
}

/// Pi, packages/coding-agent/src/core/tools/truncate.ts: DEFAULT_MAX_LINES 2000, DEFAULT_MAX_BYTES 50 × 1024; reading a
/// file keeps the head.
#[test]
fn pi_has_the_limits_of_its_tools() {
    let config = preset("pi");
    assert_eq!((config.max_lines, config.max_bytes, config.keep), (2_000, 50 * 1_024, Keep::Head));
}

/// OpenCode, packages/opencode/src/tool/truncate.ts at 0a3427d: MAX_LINES 2000, MAX_BYTES 50 × 1024, direction head.
#[test]
fn opencode_has_the_limits_of_its_tools() {
    let config = preset("opencode");
    assert_eq!((config.max_lines, config.max_bytes, config.keep), (2_000, 50 * 1_024, Keep::Head));
}

/// Codex, codex-rs/core/src/truncate.rs at 0208094: MODEL_FORMAT_MAX_BYTES 10 × 1024, MODEL_FORMAT_MAX_LINES 256, half
/// of it head and half tail.
#[test]
fn codex_has_the_limits_of_its_tools() {
    let config = preset("codex");
    assert_eq!((config.max_lines, config.max_bytes, config.keep), (256, 10 * 1_024, Keep::Ends));
    assert_eq!((config.head_percent, config.failed_head_percent), (50, 50));
}

/// OpenClaw, facts 2.12: at most 30 % of the window, and 16,000, 32,000 (from 100K) or 64,000 (from 200K) characters; the
/// end stays too where its last 2,000 characters matter, with at most 30 %.
#[test]
fn openclaw_has_the_limits_of_its_guard() {
    let config = preset("openclaw");
    assert_eq!(config.max_share, 0.3);
    let tiers: Vec<(u32, u32)> = config.byte_tiers.iter().map(|tier| (tier.from_window, tier.max_bytes)).collect();
    assert_eq!(tiers, [(0, 16_000), (100_000, 32_000), (200_000, 64_000)]);
    assert_eq!((config.tail_scan_bytes, config.head_percent, config.keep), (2_000, 70, Keep::Auto));
}
