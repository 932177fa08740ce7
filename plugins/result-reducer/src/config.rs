//! What an operator can set, with the reason for each default.

use serde::{Deserialize, Serialize};

/// The presets: name and configuration. Sources of their numbers: docs/strategies.md.
pub const PRESETS: &[(&str, &str)] = &[
    ("pi", include_str!("../presets/pi.json")),
    ("opencode", include_str!("../presets/opencode.json")),
    ("codex", include_str!("../presets/codex.json")),
    ("openclaw", include_str!("../presets/openclaw.json")),
];

/// Which part of a text that is too long stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Head, and the tail too where it says how it ended.
    Auto,
    /// The head.
    Head,
    /// The tail.
    Tail,
    /// Head and tail.
    Ends,
}

/// A limit in bytes for windows of some size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// Tokens of the window from which on it counts.
    pub from_window: u32,
    /// The most bytes of a result.
    pub max_bytes: u32,
}

/// How far JSON is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonStep {
    /// Items of an array that stay.
    pub items: u32,
    /// Members of an object that stay.
    pub keys: u32,
    /// Bytes of a string that stay.
    pub string: u32,
    /// How deep objects and arrays may lie; what lies deeper becomes a note.
    pub depth: u32,
}

impl JsonStep {
    /// Nothing is shortened.
    pub(crate) const WHOLE: Self = Self { items: u32::MAX, keys: u32::MAX, string: u32::MAX, depth: u32::MAX };
}

/// The configuration. Every field has a default; an unknown field is an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Patterns of tools whose results are shortened.
    pub tools: Vec<String>,
    /// Patterns of tools whose results enter whole; stronger than `tools`.
    pub exempt_tools: Vec<String>,
    /// The most tokens of a result; 0 is no limit. 8,000: a twenty-fifth of a window of 200,000.
    pub max_tokens: u32,
    /// The same as a share of the window; 0 is no limit. 0.1: ten results do not fill it.
    pub max_share: f64,
    /// The most bytes; 0 is no limit. 51,200, as Pi and OpenCode.
    pub max_bytes: u32,
    /// Further limits in bytes, by the size of the window.
    pub byte_tiers: Vec<Tier>,
    /// The most lines; 0 is no limit. 2,000, as Pi and OpenCode.
    pub max_lines: u32,
    /// Tokens left free for the host's line, which says how to get the original back.
    pub reserve_tokens: u32,
    /// Bytes left free for it.
    pub reserve_bytes: u32,
    /// Lines left free for it.
    pub reserve_lines: u32,
    /// Which part of a text that is too long stays.
    pub keep: Keep,
    /// Of what stays, so much is the head where a tail stays too. 60: a command says first what it does.
    pub head_percent: u32,
    /// The same for results that report an error. 30: the reason stands last.
    pub failed_head_percent: u32,
    /// Bytes at the end that are looked at for how it ended. 2,000, as OpenClaw.
    pub tail_scan_bytes: u32,
    /// Of what stays, so much goes to lines in the middle that say what went wrong, where there are any.
    pub middle_percent: u32,
    /// Lines that stay behind such a line: a place, a cause.
    pub context_lines: u32,
    /// The longest line, in bytes, where lines have to be cut. Fewer lines may be longer.
    pub max_line_bytes: u32,
    /// Results below the limits with fewer tokens are left as they are.
    pub clean_over_tokens: u32,
    /// Results below the limits are changed only if that saves this share of their bytes.
    pub min_saving: f64,
    /// Escape sequences go, and lines that were written over.
    pub terminal: bool,
    /// Data that no model reads becomes a note.
    pub blobs: bool,
    /// Data of fewer bytes stays. 1,024: keys, hashes and tokens are shorter.
    pub blob_over_bytes: u32,
    /// Repeated lines and blocks are counted instead.
    pub repeats: bool,
    /// A repetition is one from so many copies on.
    pub repeat_from: u32,
    /// JSON is shortened to JSON.
    pub json: bool,
    /// How far, step by step, until it fits.
    pub json_steps: Vec<JsonStep>,
    /// Of a longer text only the ends are looked at. 1 MiB: nothing of its middle would stay anyway.
    pub scan_max_bytes: u32,
}

impl Default for Config {
    fn default() -> Self {
        let step = |items, keys, string, depth| JsonStep { items, keys, string, depth };
        Self {
            tools: vec!["*".to_owned()],
            exempt_tools: Vec::new(),
            max_tokens: 8_000,
            max_share: 0.1,
            max_bytes: 51_200,
            byte_tiers: Vec::new(),
            max_lines: 2_000,
            reserve_tokens: 64,
            reserve_bytes: 256,
            reserve_lines: 2,
            keep: Keep::Auto,
            head_percent: 60,
            failed_head_percent: 30,
            tail_scan_bytes: 2_000,
            middle_percent: 20,
            context_lines: 2,
            max_line_bytes: 2_000,
            clean_over_tokens: 200,
            min_saving: 0.1,
            terminal: true,
            blobs: true,
            blob_over_bytes: 1_024,
            repeats: true,
            repeat_from: 4,
            json: true,
            json_steps: vec![
                step(50, 100, 2_000, 32),
                step(20, 60, 500, 16),
                step(10, 40, 200, 10),
                step(5, 30, 100, 8),
                step(2, 20, 60, 5),
            ],
            scan_max_bytes: 1 << 20,
        }
    }
}

impl Config {
    /// The fewest tokens that a limit may allow: a note and a few lines.
    pub(crate) const LEAST_TOKENS: u32 = 256;

    /// Reads and checks a configuration. The error names the key and says what would be right.
    ///
    /// # Errors
    ///
    /// The text is not a JSON object of this form, the preset is not known, or a value is out of range.
    pub fn from_json(json: &str) -> Result<Self, String> {
        let config: Self = contextengine_sdk::config::parse_with_presets(json, PRESETS)?;
        config.check_shares()?;
        config.check_limits()?;
        Ok(config)
    }

    fn check_shares(&self) -> Result<(), String> {
        for (key, share) in [("max_share", self.max_share), ("min_saving", self.min_saving)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{key}: {share} is not a share; write a number from 0 to 1"));
            }
        }
        for (key, percent) in [("head_percent", self.head_percent), ("failed_head_percent", self.failed_head_percent)] {
            if percent > 100 {
                return Err(format!("{key}: {percent} is more than all; write a number from 0 to 100"));
            }
        }
        if self.middle_percent > 90 {
            return Err(format!(
                "middle_percent: {} leaves nothing for the ends; write at most 90",
                self.middle_percent
            ));
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), String> {
        let limits = [
            ("max_tokens", self.max_tokens, "reserve_tokens", self.reserve_tokens, Self::LEAST_TOKENS),
            ("max_bytes", self.max_bytes, "reserve_bytes", self.reserve_bytes, 1_024),
            ("max_lines", self.max_lines, "reserve_lines", self.reserve_lines, 16),
        ];
        for (key, most, reserve_key, reserve, least) in limits {
            if most > 0 && most < least {
                return Err(format!(
                    "{key}: {most} is too small for anything; write at least {least}, or 0 for no limit"
                ));
            }
            if reserve > least / 2 {
                return Err(format!("{reserve_key}: {reserve} leaves too little; write at most {}", least / 2));
            }
        }
        for (index, tier) in self.byte_tiers.iter().enumerate() {
            if tier.max_bytes < 1_024 {
                return Err(format!(
                    "byte_tiers[{index}].max_bytes: {} is too small; write at least 1024",
                    tier.max_bytes
                ));
            }
        }
        for (key, value, least) in [
            ("repeat_from", self.repeat_from, 2),
            ("blob_over_bytes", self.blob_over_bytes, 128),
            ("max_line_bytes", self.max_line_bytes, 128),
            ("scan_max_bytes", self.scan_max_bytes, 65_536),
        ] {
            if value < least {
                return Err(format!("{key}: {value} is too small; write at least {least}"));
            }
        }
        Ok(())
    }

    /// The JSON Schema of the configuration.
    pub fn schema() -> String {
        include_str!("config.schema.json").to_owned()
    }
}
