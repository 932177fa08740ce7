//! What an operator can set, with the reason for each default.

use serde::Deserialize;

use crate::anchors::Kind;
use crate::pattern::Pattern;

/// 20,000 is what Pi keeps: enough for the work in hand, and the summary then stands far from the words that are being
/// worked on.
pub(crate) const KEEP_RECENT: u32 = 20_000;

/// The configuration. Every field has a default; an unknown field is an error.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Tokens at the end of the session that stay as they are. Where the operator says nothing, what the host wishes,
    /// and else 20,000.
    pub keep_recent_tokens: Option<u32>,
    /// Share of the budget from which a compaction is worth doing though it is not needed yet. 0.9 leaves one or two
    /// long tool results of room in a window of 200,000 tokens.
    pub soft_at: f64,
    /// The least share of the view's tokens that a compaction must save. 0.1: the host refuses less by default.
    pub min_saving: f64,
    /// The longest summary, in tokens. 12,000: all sections of a long session fit, and it is a sixteenth of a window
    /// of 200,000. Small targets shrink it further.
    pub max_summary_tokens: u32,
    /// The longest text of one user message, in tokens. 1,000 (4,000 characters) is what Hermes keeps; longer ones are
    /// mostly pasted output, whose head and tail tell what it was.
    pub max_message_tokens: u32,
    /// Bytes read from the start of a tool result. 64 KiB: names that matter come early, and reading a dump of
    /// megabytes to its end would find little else than noise.
    pub scan_head_bytes: u32,
    /// Bytes read from the end of a tool result that is longer than its head. 16 KiB: errors stand last.
    pub scan_tail_bytes: u32,
    /// Tokens per section.
    pub budgets: Budgets,
    /// Names to look for beside the built-in kinds.
    pub anchors: Vec<AnchorPattern>,
    /// Words that make a sentence of the user a constraint, beside the built-in ones; matched without regard to case.
    pub constraint_words: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            keep_recent_tokens: None,
            soft_at: 0.9,
            min_saving: 0.1,
            max_summary_tokens: 12_000,
            max_message_tokens: 1_000,
            scan_head_bytes: 64 * 1024,
            scan_tail_bytes: 16 * 1024,
            budgets: Budgets::default(),
            anchors: Vec::new(),
            constraint_words: Vec::new(),
        }
    }
}

/// Tokens per section; 0 leaves the section out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budgets {
    /// The first request. 500: a long brief is cut to its head and tail.
    pub goal: u32,
    /// What was said about the focus of a manual compaction. 1,000: it was asked for.
    pub focus: u32,
    /// Constraints in force. 1,500: some sixty sentences; they are the last to be shortened.
    pub constraints: u32,
    /// Statements taken back. 400: only recent ones can still mislead.
    pub replaced: u32,
    /// User messages. 5,000: nearly the 24,000 characters that Hermes keeps.
    pub messages: u32,
    /// Open requests, questions and tasks. 700: more than thirty are a backlog, not a state.
    pub open: u32,
    /// The assistant's last words. 600: usually one report of what was done.
    pub state: u32,
    /// Decisions and findings. 1,000: some thirty sentences.
    pub decisions: u32,
    /// Files read and modified. 1,200: some hundred paths.
    pub files: u32,
    /// Commands and how they ended. 800: some forty.
    pub commands: u32,
    /// Errors. 800: some twenty lines.
    pub errors: u32,
    /// Notes that observers saved. 1,000: they were meant to survive.
    pub notes: u32,
    /// Summaries of other programs. 2,000: longer than most models write.
    pub earlier: u32,
    /// Exact names. 2,000: some two hundred, near the 7,000 characters that Hermes spends on its index.
    pub anchors: u32,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            goal: 500,
            focus: 1_000,
            constraints: 1_500,
            replaced: 400,
            messages: 5_000,
            open: 700,
            state: 600,
            decisions: 1_000,
            files: 1_200,
            commands: 800,
            errors: 800,
            notes: 1_000,
            earlier: 2_000,
            anchors: 2_000,
        }
    }
}

/// A kind of name that the operator adds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnchorPattern {
    /// How the summary calls it, `[a-z][a-z0-9-]*`; not the name of a built-in kind.
    pub name: String,
    /// A regular expression over ASCII classes (`\w` is `[0-9A-Za-z_]`); the whole match is the name.
    pub pattern: String,
    /// How many are listed. 20, as for the built-in kinds of opaque ids.
    #[serde(default = "default_cap")]
    pub cap: usize,
}

fn default_cap() -> usize {
    20
}

impl Config {
    /// Reads and checks a configuration. The error names the key and says what would be right.
    ///
    /// # Errors
    ///
    /// The text is not a JSON object of this form, or a value is out of range.
    pub fn from_json(json: &str) -> Result<Self, String> {
        let config: Self = contextengine_sdk::config::parse(json)?;
        for (key, share) in [("soft_at", config.soft_at), ("min_saving", config.min_saving)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{key}: {share} is not a share; write a number from 0 to 1"));
            }
        }
        if config.max_summary_tokens < 300 {
            return Err(format!(
                "max_summary_tokens: {} is too small for a summary; write at least 300",
                config.max_summary_tokens
            ));
        }
        for (index, anchor) in config.anchors.iter().enumerate() {
            anchor.check().map_err(|error| format!("anchors[{index}].{error}"))?;
        }
        Ok(config)
    }

    /// The JSON Schema of the configuration.
    pub fn schema() -> String {
        include_str!("config.schema.json").to_owned()
    }
}

impl AnchorPattern {
    fn check(&self) -> Result<(), String> {
        let mut bytes = self.name.bytes();
        let well_formed = bytes.next().is_some_and(|b| b.is_ascii_lowercase())
            && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !well_formed {
            return Err(format!(
                "name: {:?} must be lower-case letters, digits and dashes, as in `job-ids`",
                self.name
            ));
        }
        if self.name == crate::anchors::ALSO || Kind::ALL.iter().any(|kind| kind.name() == self.name) {
            return Err(format!("name: {:?} is a built-in kind; choose another name", self.name));
        }
        self.compile().map(drop).map_err(|error| format!("pattern: {error}"))
    }

    pub(crate) fn compile(&self) -> Result<Pattern, String> {
        Pattern::new(&self.pattern)
    }
}
