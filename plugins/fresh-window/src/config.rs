//! What an operator can set, with the reason for each default.

use contextengine_sdk::config::parse_with_presets;
use serde::Deserialize;

/// The presets: a name and the keys that it sets.
pub const PRESETS: [(&str, &str); 1] = [("codex", include_str!("../presets/codex.json"))];

/// The least `text_tokens`: the counts and how to find the rest.
const LEAST_TEXT: u32 = 150;

/// The configuration. Every field has a default; an unknown field is an error.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Turns before the current request that stay as they are. 0, as in Codex.
    pub keep_turns: u32,
    /// Tokens before the current request that stay as they are, at most. 0, as in Codex. What either key keeps, stays,
    /// as far as the target allows.
    pub keep_tokens: u32,
    /// Share of the model's window from which a compaction is worth doing, everything in the window counted. 0.9, as
    /// in Codex.
    pub compress_at: f64,
    /// The same as a number of tokens; the smaller of both counts. Not set by default.
    pub compress_at_tokens: Option<u32>,
    /// The least share of the view's tokens that a compaction must save. 0.1: the host refuses less by default.
    pub min_saving: f64,
    /// The longest text that says where the rest is, in tokens. 2,000: a hundredth of a window of 200,000.
    pub text_tokens: u32,
    /// Tokens of the list of folded requests, one line each. 600: some twenty lines; 0 leaves the list out.
    pub requests_tokens: u32,
    /// Bytes of one line: a request, a note. 160: the first sentence.
    pub line_bytes: usize,
    /// Tokens of the list of files. 300: some forty paths; 0 leaves it out. The details hold all of them.
    pub files_tokens: u32,
    /// Tokens of summaries by others that are folded; they are carried on, as nobody sees what they stand for. 800: most
    /// of what a model writes; 0 leaves them out.
    pub earlier_tokens: u32,
    /// Tokens of the notes that observers saved. 400; 0 leaves them out.
    pub notes_tokens: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            keep_turns: 0,
            keep_tokens: 0,
            compress_at: 0.9,
            compress_at_tokens: None,
            min_saving: 0.1,
            text_tokens: 2_000,
            requests_tokens: 600,
            line_bytes: 160,
            files_tokens: 300,
            earlier_tokens: 800,
            notes_tokens: 400,
        }
    }
}

impl Config {
    /// Reads and checks a configuration. The error names the key and says what would be right.
    ///
    /// # Errors
    ///
    /// The text is not a JSON object of this form, names a preset that is not there, or a value is out of range.
    pub fn from_json(json: &str) -> Result<Self, String> {
        let config: Self = parse_with_presets(json, &PRESETS)?;
        for (key, share) in [("compress_at", config.compress_at), ("min_saving", config.min_saving)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{key}: {share} is not a share; write a number from 0 to 1"));
            }
        }
        if config.text_tokens < LEAST_TEXT {
            return Err(format!("text_tokens: {} is too small; write at least {LEAST_TEXT}", config.text_tokens));
        }
        if config.compress_at_tokens == Some(0) {
            return Err("compress_at_tokens: 0 would compact without end; leave the key out for no limit".to_owned());
        }
        Ok(config)
    }

    /// The JSON Schema of the configuration.
    pub fn schema() -> String {
        include_str!("config.schema.json").to_owned()
    }
}
