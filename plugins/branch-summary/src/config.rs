//! What an operator can set, with the reason for each default.

use serde::Deserialize;

use contextengine_sdk::config::parse_with_presets;

/// The presets: a name and the keys that it sets.
pub const PRESETS: [(&str, &str); 1] = [("pi", include_str!("../presets/pi.json"))];

/// The least that `least_tokens` may be: the head of a summary and one line.
const LEAST_TOKENS: u32 = 60;

/// The configuration. Every field has a default; an unknown field is an error.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whether a model is asked where one is granted. Without one the summary is written by rules.
    pub use_model: bool,
    /// The model's window in tokens where the host does not know it. 128,000, as Pi assumes.
    pub default_window: u32,
    /// Tokens of the model's window that the prompt leaves free for instructions and answer. 16,384, as in Pi.
    pub reserve_tokens: u32,
    /// Bytes of one tool result in the prompt. 1,000: enough for an error and its place; 0 leaves results out, as Pi
    /// does for branches.
    pub result_bytes: usize,
    /// Bytes of the arguments of one call in the prompt. 1,000: a command or a path whole, a written file not.
    pub call_bytes: usize,
    /// An earlier summary that does not fit the prompt any more is still shown, cut, while less than this share of the
    /// room is taken. 0.9, as in Pi.
    pub summary_until: f64,
    /// Longest answer of the model, in tokens, where the host's budget allows more. 4,000: longer ones repeat the
    /// branch instead of summarising it.
    pub max_model_tokens: u32,
    /// Room for an answer below which no model is asked, in tokens. 200: five headings with a line each take that.
    pub min_model_tokens: u32,
    /// How often the model is asked, if an answer is not fit to be a summary. 2: the second time it is told what was
    /// wrong.
    pub attempts: u32,
    /// Headings that the model's answer must have, in this order, without `##`.
    pub sections: Vec<String>,
    /// Share of the budget up to which earlier summaries inside the branch are carried on word for word. 0.4: beyond
    /// that they would crowd out the branch itself, and the model has to merge them.
    pub carry_share: f64,
    /// Share of the exact names of an earlier summary that a model's merge must hold. 0.6: fewer, and it did not merge
    /// but forget; the names that are missing are then listed.
    pub merge_share: f64,
    /// The least budget, in tokens, for which anything is written. 60: the head and one line.
    pub least_tokens: u32,
    /// Most failures that are told of. 8: the newest; older ones were mostly overcome.
    pub max_failures: usize,
    /// Most commands that are listed by a summary without a model. 12.
    pub max_commands: usize,
    /// Bytes of one quoted line: a command, a failure. 240: a command with its arguments.
    pub line_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            use_model: true,
            default_window: 128_000,
            reserve_tokens: 16_384,
            result_bytes: 1_000,
            call_bytes: 1_000,
            summary_until: 0.9,
            max_model_tokens: 4_000,
            min_model_tokens: 200,
            attempts: 2,
            sections: ["Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps"]
                .map(str::to_owned)
                .to_vec(),
            carry_share: 0.4,
            merge_share: 0.6,
            least_tokens: 60,
            max_failures: 8,
            max_commands: 12,
            line_bytes: 240,
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
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        let shares = [
            ("summary_until", self.summary_until),
            ("carry_share", self.carry_share),
            ("merge_share", self.merge_share),
        ];
        for (key, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{key}: {share} is not a share; write a number from 0 to 1"));
            }
        }
        if self.attempts == 0 || self.attempts > 5 {
            return Err(format!(
                "attempts: {} is not possible; write 1 to 5, or `use_model = false` to ask no model",
                self.attempts
            ));
        }
        if self.least_tokens < LEAST_TOKENS {
            return Err(format!("least_tokens: {} is too small; write at least {LEAST_TOKENS}", self.least_tokens));
        }
        if self.sections.is_empty() {
            return Err("sections: there has to be one heading at least, as in `[\"Goal\"]`".to_owned());
        }
        let wrong = |heading: &&String| heading.trim().is_empty() || heading.contains(['\n', '#']);
        if let Some(heading) = self.sections.iter().find(wrong) {
            return Err(format!("sections: {heading:?} is not a heading; write words without `#`, as in `Next Steps`"));
        }
        Ok(())
    }

    /// The JSON Schema of the configuration.
    pub fn schema() -> String {
        include_str!("config.schema.json").to_owned()
    }
}
