//! What an operator can set, with the reason for each default.

use serde::{Deserialize, Serialize};

use crate::words::Template;

/// The presets: name and configuration. Sources of their numbers: docs/strategies.md.
pub const PRESETS: &[(&str, &str)] = &[
    ("opencode", include_str!("../presets/opencode.json")),
    ("openclaw-cache-ttl", include_str!("../presets/openclaw-cache-ttl.json")),
    ("observation-masking", include_str!("../presets/observation-masking.json")),
    ("anthropic-clear-tool-uses", include_str!("../presets/anthropic-clear-tool-uses.json")),
];

/// When a warm prompt cache holds a decision back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMode {
    /// Act when the cache has expired, or when the gain pays for the prefix that has to be written anew.
    PayBack,
    /// Act only when the cache has expired.
    Expired,
    /// Do not look at the cache.
    Ignore,
}

/// The configuration. Every field has a default; an unknown field is an error.
///
/// What any of the `keep_…` fields protects stays; together they protect the union.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// User turns at the end that stay, the current one among them. 2, as OpenCode.
    pub keep_turns: u32,
    /// Of the results before those turns, the newest so many tokens stay. 40,000, as OpenCode.
    pub keep_tokens: u32,
    /// The same as a share of the window; the smaller of the two counts. 0.2: in a window of 32,000 tokens an absolute
    /// 40,000 would protect everything.
    pub keep_share: f64,
    /// Results at the end that stay, of any tool.
    pub keep_results: u32,
    /// Entries of the assistant at the end from the first of which on everything stays.
    pub keep_assistants: u32,
    /// Entries at the end that stay.
    pub keep_entries: u32,
    /// Results before the user's first words stay.
    pub keep_before_first_user: bool,
    /// Results of the turn that is being worked on may go, too. Those that the model has not answered yet never do.
    pub prune_current_turn: bool,
    /// Patterns of tools whose results may go.
    pub tools: Vec<String>,
    /// Patterns of tools whose results stay; stronger than `tools`. `skill`: it holds instructions, not data.
    pub exempt_tools: Vec<String>,
    /// Results that report an error stay. They are short and say what not to try again.
    pub exempt_failed: bool,
    /// Tokens of the request from which anything is done.
    pub start_tokens: u32,
    /// The same as a share of the window; both have to be reached. 0.3, as OpenClaw.
    pub start_share: f64,
    /// Long results are cut to head and tail.
    pub trim: bool,
    /// Only results of more bytes are cut. 4,000, as OpenClaw.
    pub trim_over_bytes: u32,
    /// Bytes of the head. 1,500, as OpenClaw.
    pub trim_head_bytes: u32,
    /// Bytes of the tail. 1,500, as OpenClaw.
    pub trim_tail_bytes: u32,
    /// What stands between head and tail. Knows `{tool}`, `{outcome}`, `{bytes}`, `{left_out}`, `{id}`.
    pub trim_text: Template,
    /// Results are replaced by a pointer where trimming is not enough.
    pub clear: bool,
    /// Only results of more bytes are replaced. 200, as Hermes: shorter ones gain nothing.
    pub clear_over_bytes: u32,
    /// Share of the window beyond which the request, trimmed, is cleared. 0.5, as OpenClaw.
    pub clear_start_share: f64,
    /// Clearing goes on, oldest first, until the request takes no more than this share; 0 clears all that may go.
    /// 0.4: some room before the next step.
    pub clear_stop_share: f64,
    /// Nothing is cleared where the results that may go have fewer bytes in all.
    pub clear_min_bytes: u32,
    /// What stands for a result. Knows `{tool}`, `{outcome}`, `{bytes}`, `{id}`.
    pub clear_text: Template,
    /// Tokens that a decision has to take out at least. 20,000, as OpenCode.
    pub min_gain_tokens: u32,
    /// The same as a share of the window; the smaller of the two counts.
    pub min_gain_share: f64,
    /// A request that does not fit is pruned whatever the gain and the cache say.
    pub force_over_budget: bool,
    /// When a warm prompt cache holds a decision back.
    pub cache: CacheMode,
    /// How long the provider keeps a prefix, where the host does not know. 300, as Anthropic and OpenClaw.
    pub cache_ttl_seconds: u32,
    /// Requests over which the gain is counted against the cost of writing the prefix anew. 10: a few turns of an
    /// agent.
    pub payback_requests: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            keep_turns: 2,
            keep_tokens: 40_000,
            keep_share: 0.2,
            keep_results: 0,
            keep_assistants: 0,
            keep_entries: 0,
            keep_before_first_user: false,
            prune_current_turn: false,
            tools: vec!["*".to_owned()],
            exempt_tools: vec!["skill".to_owned()],
            exempt_failed: true,
            start_tokens: 0,
            start_share: 0.3,
            trim: true,
            trim_over_bytes: 4_000,
            trim_head_bytes: 1_500,
            trim_tail_bytes: 1_500,
            trim_text: Template::of("[... {left_out} of {bytes} bytes left out. Original: recall id {id} ...]"),
            clear: true,
            clear_over_bytes: 200,
            clear_start_share: 0.5,
            clear_stop_share: 0.4,
            clear_min_bytes: 0,
            clear_text: Template::of(
                "[Old result of {tool}{outcome} cleared, {bytes} bytes. Original: recall id {id}]",
            ),
            min_gain_tokens: 20_000,
            min_gain_share: 0.1,
            force_over_budget: true,
            cache: CacheMode::PayBack,
            cache_ttl_seconds: 300,
            payback_requests: 10,
        }
    }
}

impl Config {
    /// Reads and checks a configuration. The error names the key and says what would be right.
    ///
    /// # Errors
    ///
    /// The text is not a JSON object of this form, the preset is not known, or a value is out of range.
    pub fn from_json(json: &str) -> Result<Self, String> {
        let config: Self = contextengine_sdk::config::parse_with_presets(json, PRESETS)?;
        for (key, share) in [
            ("keep_share", config.keep_share),
            ("start_share", config.start_share),
            ("clear_start_share", config.clear_start_share),
            ("clear_stop_share", config.clear_stop_share),
            ("min_gain_share", config.min_gain_share),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{key}: {share} is not a share; write a number from 0 to 1"));
            }
        }
        let kept = config.trim_head_bytes.saturating_add(config.trim_tail_bytes);
        if config.trim && kept > config.trim_over_bytes {
            return Err(format!(
                "trim_over_bytes: {} is less than head and tail, {kept}; write at least {kept}, or `trim = false`",
                config.trim_over_bytes
            ));
        }
        if config.clear_stop_share > config.clear_start_share {
            return Err(format!(
                "clear_stop_share: {} is more than clear_start_share, {}; clearing would stop before it begins",
                config.clear_stop_share, config.clear_start_share
            ));
        }
        if config.tools.is_empty() {
            return Err("tools: without a pattern nothing is ever pruned; write [\"*\"] for all tools".to_owned());
        }
        Ok(config)
    }

    /// The JSON Schema of the configuration.
    pub fn schema() -> String {
        include_str!("config.schema.json").to_owned()
    }
}

/// So many tokens, but no more than a share of the window.
pub(crate) fn capped(tokens: u32, share: f64, window: u32) -> u64 {
    u64::from(tokens).min(part(share, window))
}

/// A share of the window in tokens.
pub(crate) fn part(share: f64, window: u32) -> u64 {
    // A share is checked to lie in 0..=1, so the product is not negative and fits.
    (share * f64::from(window)) as u64
}
