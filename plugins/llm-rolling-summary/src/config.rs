//! What an operator can set. The reasons for the defaults stand at the fields; the presets are files of their own.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::presets;

/// The configuration. Every field has a default; an unknown field is an error.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Name of a preset, which sets every other key; keys beside it override.
    pub preset: Option<String>,

    /// Compact when less than this is left of the window; at most a quarter of it counts. 16,384, as Pi.
    pub reserve_tokens: Option<u32>,
    /// Compact from this share of the window on, in percent.
    pub at_percent: Option<f64>,
    /// Compact when there are more entries.
    pub max_entries: Option<u32>,

    /// Tokens at the end that stay. Not set: what the host wishes, or [`Config::KEEP_RECENT`].
    pub keep_recent_tokens: Option<u32>,
    /// Instead of it: a share, in percent, of [`Config::keep_recent_of`].
    pub keep_recent_percent: Option<f64>,
    /// What the share is of.
    pub keep_recent_of: KeepOf,
    /// With the share: at least so many tokens.
    pub keep_recent_min: u32,
    /// With the share: at most so many tokens.
    pub keep_recent_max: u32,
    /// How the tokens are turned into a place to cut.
    pub keep_recent_rule: KeepRule,
    /// Turns at the end that stay whole.
    pub keep_recent_turns: u32,
    /// Entries at the end that stay at least.
    pub keep_recent_entries: u32,
    /// Keep half of the entries, as OpenHands.
    pub halve_entries: bool,
    /// Entries at the beginning that stay.
    pub keep_first_entries: u32,
    /// Whether system entries count as such.
    pub keep_first_counts_system: bool,
    /// The beginning is given up after the first compaction, as in Hermes.
    pub keep_first_once: bool,
    /// The cut may fall inside a turn.
    pub split_turns: bool,
    /// Least share of the tokens to save. 0.1: the host refuses less by default.
    pub min_saving: f64,
    /// Least share of the entries to fold.
    pub min_progress_entries: f64,
    /// Fewer tokens are not worth a model call. 1,000: a summary takes about as much.
    pub min_fold_tokens: u32,

    /// Bytes of one result that the model reads. 2,000, as Pi, OpenCode and OpenClaw.
    pub result_bytes: u32,
    /// Bytes of the arguments of one call that the model reads.
    pub call_bytes: u32,
    /// Bytes of one block of words that the model reads; all if not set.
    pub words_bytes: Option<u32>,
    /// Whether the model reads reasoning.
    pub reasoning: bool,
    /// The window where the host does not know it. 128,000, as Pi and Cline assume.
    pub fallback_window: u32,
    /// Share of the window for one part. This and the next four: OpenClaw.
    pub chunk_ratio: f64,
    /// The least share, for large entries.
    pub min_chunk_ratio: f64,
    /// Factor on counts of input tokens.
    pub safety_margin: f64,
    /// Tokens for instructions.
    pub overhead_tokens: u32,
    /// An entry above this share of the window is set aside.
    pub oversized_share: f64,
    /// How parts are summarised.
    pub staging: Staging,
    /// Tries with half the window after a prompt was too long.
    pub too_long_retries: u32,
    /// Every so many compactions the summary is written from the originals; 0 is never.
    pub rebuild_every: u32,
    /// Bytes of originals that a rebuild reads at most. 2 MB are some ten parts of a window of 128,000 tokens.
    pub rebuild_bytes: u32,

    /// The headings of the summary.
    pub sections: Vec<Section>,
    /// The headings of the part about a turn that was cut.
    pub prefix_sections: Vec<Section>,
    /// The heading above it.
    pub prefix_heading: String,
    /// The longest text of the model. 4,096, as Cline and OpenCode's newer core.
    pub max_summary_tokens: u32,
    /// The longest text about a cut turn.
    pub max_prefix_tokens: u32,
    /// The model may write so many times as much. A fixed limit was eaten up by reasoning (a report at Pi).
    pub output_factor: f64,
    /// A shorter answer does not stand for a large fold. 200, as Maka.
    pub least_summary_tokens: u32,
    /// What a large fold is. 10,000, as Maka.
    pub large_fold_tokens: u32,
    /// Randomness of the model.
    pub temperature: Option<f32>,
    /// Further instructions of the operator.
    pub instructions: String,
    /// Newest requests that are the focus where nobody named one.
    pub auto_focus_turns: u32,
    /// Bytes of each. 260, as Hermes.
    pub auto_focus_bytes: u32,
    /// How often a bad answer is asked for again. 1, as OpenClaw and Maka.
    pub repair_attempts: u32,
    /// Whether the newest folded request has to be reflected.
    pub audit_latest_ask: bool,

    /// Tokens for the user's messages, verbatim.
    pub user_messages_tokens: u32,
    /// Tokens of one of them. 1,000, near Hermes' 4,000 characters.
    pub user_message_tokens: u32,
    /// They stand before the model's text.
    pub user_messages_first: bool,
    /// Tokens for constraints that the model did not repeat.
    pub constraints_tokens: u32,
    /// Words that make a sentence a constraint, beside the built-in ones.
    pub constraint_words: Vec<String>,
    /// Tokens for file lists.
    pub files_tokens: u32,
    /// Their form.
    pub files_style: FilesStyle,
    /// Failed results that are listed. 8 of 240 bytes, as OpenClaw.
    pub failures: u32,
    /// Bytes of each.
    pub failure_bytes: u32,
    /// Newest folded turns that are quoted.
    pub recent_turns: u32,
    /// Bytes of each text in them. 600, as OpenClaw.
    pub recent_turn_bytes: u32,
    /// Tokens for notes of observers. 1,500, as Hermes' 6,000 characters.
    pub notes_tokens: u32,
    /// Exact names that the summary has to hold. 12 of the newest 10 entries, as OpenClaw and the host's gate.
    pub identifiers: u32,
    /// Newest entries that they are taken from.
    pub identifier_entries: u32,
    /// Tokens for an index of all exact names.
    pub anchors_tokens: u32,
}

/// What a share of tokens is taken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepOf {
    /// The model's window.
    Window,
    /// What is left for entries.
    Budget,
}

/// How tokens are turned into a place to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepRule {
    /// No less than asked stays.
    AtLeast,
    /// No more than asked stays.
    AtMost,
    /// The first possible cut after the entry with which enough stays, as Pi cuts.
    NearestAfter,
}

/// How parts are summarised that do not fit one prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Staging {
    /// Side by side, then merged.
    Parallel,
    /// One after the other, each updating what was written before. Servers with one slot need it.
    Sequence,
}

/// How files are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilesStyle {
    /// A section with a heading.
    Section,
    /// `<read-files>` and `<modified-files>`, as Pi.
    Tags,
}

/// A heading of the summary.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// As in `## Goal`.
    pub heading: String,
    /// What the model is asked to write there.
    #[serde(default)]
    pub about: String,
    /// A summary without it is incomplete.
    #[serde(default = "yes")]
    pub required: bool,
    /// What stands there where the model says nothing.
    #[serde(default)]
    pub data: Data,
}

/// What is known without a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Nothing.
    #[default]
    None,
    /// The user's first request.
    Goal,
    /// The user's newest folded request.
    Request,
    /// The user's constraints.
    Constraints,
    /// The user's messages.
    UserMessages,
    /// Files that were touched.
    Files,
    /// Failed tools.
    Failures,
    /// Exact names.
    Identifiers,
}

fn yes() -> bool {
    true
}

/// The schema is where the defaults are written down once.
const SCHEMA: &str = include_str!("config.schema.json");

impl Default for Config {
    fn default() -> Self {
        Self {
            preset: None,
            reserve_tokens: Some(16_384),
            at_percent: None,
            max_entries: None,
            keep_recent_tokens: None,
            keep_recent_percent: None,
            keep_recent_of: KeepOf::Window,
            keep_recent_min: 0,
            keep_recent_max: u32::MAX,
            keep_recent_rule: KeepRule::NearestAfter,
            keep_recent_turns: 0,
            keep_recent_entries: 0,
            halve_entries: false,
            keep_first_entries: 0,
            keep_first_counts_system: false,
            keep_first_once: false,
            split_turns: true,
            min_saving: 0.1,
            min_progress_entries: 0.0,
            min_fold_tokens: 1_000,
            result_bytes: 2_000,
            call_bytes: 2_000,
            words_bytes: None,
            reasoning: false,
            fallback_window: 128_000,
            chunk_ratio: 0.4,
            min_chunk_ratio: 0.15,
            safety_margin: 1.2,
            overhead_tokens: 4_096,
            oversized_share: 0.5,
            staging: Staging::Parallel,
            too_long_retries: 2,
            rebuild_every: 0,
            rebuild_bytes: 2_000_000,
            sections: default_list("sections"),
            prefix_sections: default_list("prefix_sections"),
            prefix_heading: "## Turn in progress".to_owned(),
            max_summary_tokens: 4_096,
            max_prefix_tokens: 2_048,
            output_factor: 2.0,
            least_summary_tokens: 200,
            large_fold_tokens: 10_000,
            temperature: None,
            instructions: String::new(),
            auto_focus_turns: 0,
            auto_focus_bytes: 260,
            repair_attempts: 1,
            audit_latest_ask: false,
            user_messages_tokens: 2_000,
            user_message_tokens: 1_000,
            user_messages_first: false,
            constraints_tokens: 1_500,
            constraint_words: Vec::new(),
            files_tokens: 1_200,
            files_style: FilesStyle::Section,
            failures: 8,
            failure_bytes: 240,
            recent_turns: 0,
            recent_turn_bytes: 600,
            notes_tokens: 1_500,
            identifiers: 12,
            identifier_entries: 10,
            anchors_tokens: 0,
        }
    }
}

/// The default headings, from the schema: a list of texts is better read there than twice.
fn default_list(key: &str) -> Vec<Section> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    serde_json::from_value(schema["properties"][key]["default"].clone()).unwrap_or_default()
}

impl Config {
    /// Tokens at the end that stay where nobody says anything: 20,000, as in Pi and OpenClaw.
    pub const KEEP_RECENT: u32 = 20_000;

    /// Reads and checks a configuration; keys beside `preset` override it. The error names the key and says what would
    /// be right.
    ///
    /// # Errors
    ///
    /// The text is not a JSON object of this form, there is no such preset, or a value is out of range.
    pub fn from_json(json: &str) -> Result<Self, String> {
        let own: Self = contextengine_sdk::config::parse(json)?;
        let config = match own.preset.as_deref() {
            None => own,
            Some(name) => {
                let mut keys = presets::preset(name)?;
                let overrides: Map<String, Value> = contextengine_sdk::config::parse(json)?;
                keys.extend(overrides);
                contextengine_sdk::config::parse(&Value::Object(keys).to_string())?
            }
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        let shares = [
            ("min_saving", self.min_saving, 0.0),
            ("min_progress_entries", self.min_progress_entries, 0.0),
            ("chunk_ratio", self.chunk_ratio, f64::MIN_POSITIVE),
            ("min_chunk_ratio", self.min_chunk_ratio, f64::MIN_POSITIVE),
            ("oversized_share", self.oversized_share, f64::MIN_POSITIVE),
        ];
        for (key, share, least) in shares {
            if !(least..=1.0).contains(&share) {
                return Err(format!("{key}: {share} is not a share; write a number from 0 to 1, as in 0.4"));
            }
        }
        for (key, percent) in [("at_percent", self.at_percent), ("keep_recent_percent", self.keep_recent_percent)] {
            if percent.is_some_and(|percent| !(0.0..=100.0).contains(&percent)) {
                return Err(format!("{key}: write a number of percent from 0 to 100, as in 75"));
            }
        }
        let factors = [("safety_margin", self.safety_margin, 4.0), ("output_factor", self.output_factor, 16.0)];
        for (key, factor, most) in factors {
            if !(1.0..=most).contains(&factor) {
                return Err(format!("{key}: {factor} is out of range; write a factor from 1 to {most}"));
            }
        }
        let least = [
            ("max_summary_tokens", self.max_summary_tokens, 200),
            ("max_prefix_tokens", self.max_prefix_tokens, 100),
            ("fallback_window", self.fallback_window, 1_000),
        ];
        for (key, value, least) in least {
            if value < least {
                return Err(format!("{key}: {value} is too small; write at least {least}"));
            }
        }
        if self.repair_attempts > 3 {
            return Err(format!("repair_attempts: {} is too many; write at most 3", self.repair_attempts));
        }
        if self.keep_recent_min > self.keep_recent_max {
            return Err("keep_recent_min: it is larger than keep_recent_max; exchange them".to_owned());
        }
        self.check_headings()
    }

    fn check_headings(&self) -> Result<(), String> {
        for (key, sections) in [("sections", &self.sections), ("prefix_sections", &self.prefix_sections)] {
            for (at, section) in sections.iter().enumerate() {
                let heading = &section.heading;
                if !is_heading(heading) {
                    return Err(format!("{key}[{at}].heading: {heading:?} is no heading; write it as in `## Goal`"));
                }
                if sections[..at].iter().any(|other| other.heading == *heading) {
                    return Err(format!("{key}[{at}].heading: {heading:?} is there twice; leave one out"));
                }
            }
        }
        if !is_heading(&self.prefix_heading) {
            return Err(format!("prefix_heading: {:?} is no heading; write it as in `## Turn`", self.prefix_heading));
        }
        Ok(())
    }

    /// The JSON Schema of the configuration.
    pub fn schema() -> String {
        SCHEMA.to_owned()
    }
}

fn is_heading(text: &str) -> bool {
    let level = text.chars().take_while(|c| *c == '#').count();
    (1..=6).contains(&level)
        && text[level..].starts_with(' ')
        && !text[level..].trim().is_empty()
        && !text.contains('\n')
}
