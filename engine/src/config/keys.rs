//! The keys that there are: the one table that checks files, gives the defaults, and makes the schema for editors.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::model::ModelProvider;
use super::units::{size_text, time_text};
use crate::hooks::Service;
use crate::plan::{GatePolicy, SummaryGate};
use crate::plugin::Limits;
use crate::services::model::Retries;
use crate::setup::Threshold;
use crate::tokens::Vocabulary;

/// A key of a table.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// One or two sentences, for people.
    pub(super) about: &'static str,
    pub(super) preset: Preset,
    pub(super) consent: Consent,
}

/// What holds where a key is not there.
#[derive(Debug)]
pub(super) enum Preset {
    /// Nothing.
    None,
    /// This.
    Is(fn() -> Json),
    /// Something that depends on other keys, in words.
    Depends(&'static str),
}

/// Whether the file of a project may say it without the user's consent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Consent {
    /// It may.
    Free,
    /// It may not, and why.
    Asked(&'static str),
    /// It may go down, not up: what is in force without it is the most.
    Downwards(&'static str),
    /// Never, not even a trusted one.
    UserOnly,
}

/// What a key takes.
#[derive(Debug)]
pub(super) enum Kind {
    Table(&'static [Key]),
    /// Tables by names that the operator chooses.
    Map {
        of: &'static str,
        keys: &'static [Key],
    },
    Bool,
    Integer {
        least: u64,
        most: u64,
    },
    /// A text that is not empty.
    Text,
    Choice {
        what: &'static str,
        names: fn() -> Vec<&'static str>,
    },
    Choices {
        what: &'static str,
        names: fn() -> Vec<&'static str>,
    },
    Threshold,
    Size {
        least: u64,
        most: u64,
    },
    Time {
        least: Duration,
        most: Duration,
    },
    /// The name of a plugin, or a list of names; `one` where only one can own it.
    Plugins {
        one: bool,
    },
    Texts,
    Path,
    Paths,
    /// 64 hexadecimal digits.
    Sha256,
    /// The name of an environment variable.
    Variable,
    Url,
    /// Header names and their values.
    Headers,
    /// Whatever the plugin takes.
    Plugin,
}

const fn key(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, about, preset: Preset::None, consent: Consent::Free }
}

impl Key {
    const fn is(self, preset: fn() -> Json) -> Self {
        Self { preset: Preset::Is(preset), ..self }
    }

    const fn depends(self, on: &'static str) -> Self {
        Self { preset: Preset::Depends(on), ..self }
    }

    const fn asks(self, why: &'static str) -> Self {
        Self { consent: Consent::Asked(why), ..self }
    }

    const fn downwards(self) -> Self {
        const WHY: &str = "it would give a plugin more than it has without the project";
        Self { consent: Consent::Downwards(WHY), ..self }
    }

    const fn user_only(self) -> Self {
        Self { consent: Consent::UserOnly, ..self }
    }
}

/// Tokens: up to what a `u32` holds, as everywhere in the host.
const MOST_TOKENS: u64 = u32::MAX as u64;
const fn tokens(least: u64) -> Kind {
    Kind::Integer { least, most: MOST_TOKENS }
}

const SECOND: Duration = Duration::from_secs(1);
const fn time(most: Duration) -> Kind {
    Kind::Time { least: Duration::from_millis(1), most }
}
const fn size(least: u64, most: u64) -> Kind {
    Kind::Size { least, most }
}

const LONG: Duration = Duration::from_secs(24 * 3_600);
const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;

/// A window that is assumed where nothing says which one it is: that of GPT-4o, and the default of `ctxe`.
pub(super) const WINDOW: u32 = 128_000;

fn limits<T>(of: fn(&Limits) -> T) -> T {
    of(&Limits::default())
}

/// The file.
pub(super) static ROOT: [Key; 8] = [
    key("window", Kind::Table(&WINDOW_KEYS), "How much room the agent's model has."),
    key("trigger", Kind::Table(&TRIGGER), "When the host compacts by itself, and how far."),
    key("slots", Kind::Table(&SLOTS), "Who owns what. Nobody owns a slot that is not named."),
    key(
        "plugins",
        Kind::Map { of: "plugin", keys: &PLUGIN },
        "A table for each plugin that is not taken as it ships, by its id.",
    ),
    key("model", Kind::Table(&MODEL), "The model that plugins are lent, where they are granted `model`."),
    key("gate", Kind::Table(&GATE), "What is asked of summaries."),
    key(
        "models",
        Kind::Map { of: "model", keys: &MODELS },
        "Windows of models by name, beside those that the host knows.",
    ),
    key("trust", Kind::Table(&TRUST), "Which projects may say more in their files. In your own file only."),
];

static WINDOW_KEYS: [Key; 5] = [
    key("tokens", tokens(1), "The model's window, in tokens. Or name the model.").is(|| json!(WINDOW)),
    key("model", Kind::Text, "The model whose window it is, instead of `tokens`. See [models]."),
    key("reserve", tokens(0), "Tokens held back for the reply.")
        .depends("16384, at most a quarter of the window; or that of the model in [models]"),
    key("overhead", tokens(0), "Tokens of the system prompt and tool schemas that are not in the session.")
        .is(|| json!(0)),
    key("tokenizer", Kind::Choice { what: "tokenizer", names: tokenizers }, "What tokens are counted with.")
        .is(|| json!(Vocabulary::default().name())),
];

static TRIGGER: [Key; 3] = [
    key(
        "at",
        Kind::Threshold,
        "From how many tokens on a session is compacted: \"window - reserve\", a share of the window like \"75%\", or \
         tokens. Never more than the window less the reserve.",
    )
    .is(|| json!(Threshold::default().to_string())),
    key("keep_recent", tokens(0), "Tokens of recent entries that strategies are asked to leave alone.")
        .depends("up to the strategy"),
    key("target", tokens(1), "Tokens that a compaction should leave.")
        .depends("half of what the window leaves for entries"),
];

static SLOTS: [Key; 7] = [
    key("ingest", Kind::Plugins { one: true }, "Shortens tool results before they enter the view."),
    key("select", Kind::Plugins { one: false }, "Shapes each request, in this order. Nothing of it is stored."),
    key(
        "compress",
        Kind::Plugins { one: false },
        "Compacts the context. The first one owns it, the others succeed it in their order when it fails.",
    ),
    key("branch", Kind::Plugins { one: true }, "Summarises a branch that is being left."),
    key("observers", Kind::Plugins { one: false }, "Are told what happens."),
    key("tools", Kind::Plugins { one: false }, "Offer tools to the agent's model. Names of tools must differ."),
    key("strict", Kind::Bool, "Makes every substitution an error: no successor, no skipped link.").is(|| json!(false)),
];

static PLUGIN: [Key; 7] = [
    key("path", Kind::Path, "The component, a `.wasm` file; relative to the file that says so.")
        .asks("it would run a plugin that you did not choose"),
    key(
        "builtin",
        Kind::Bool,
        "Whether it is the one that ships with the host. So where neither this nor `path` is there.",
    ),
    key("sha256", Kind::Sha256, "The component must have this digest.")
        .asks("it would change which component you pinned"),
    key("grant", Kind::Choices { what: "service", names: services }, "Services that it may use.")
        .is(|| json!([]))
        .asks("it would let a plugin use what you did not grant"),
    key(
        "folders",
        Kind::Paths,
        "Folders that it may read, where it is granted `files`; relative to the file that says so.",
    )
    .is(|| json!([]))
    .asks("it would let a plugin read files that you did not name"),
    key("limits", Kind::Table(&LIMITS), "What an instance of it may use."),
    key("config", Kind::Plugin, "Its own configuration; its schema says what it takes.").is(|| json!({})),
];

static LIMITS: [Key; 10] = [
    key("memory", size(64 * KIB, 4 * GIB), "All its memories together.")
        .is(|| json!(size_text(limits(|l| l.memory_bytes))))
        .downwards(),
    key("time", time(LONG), "One call of a hook, waiting for the host included.")
        .is(|| json!(time_text(limits(|l| l.time))))
        .downwards(),
    key("decision_time", time(LONG), "One `should-compress`.")
        .is(|| json!(time_text(limits(|l| l.decision_time))))
        .downwards(),
    key("observer_time", time(LONG), "One call of an observer.")
        .is(|| json!(time_text(limits(|l| l.observer_time))))
        .downwards(),
    key("setup_time", time(LONG), "Starting an instance, and describing and configuring it.")
        .is(|| json!(time_text(limits(|l| l.setup_time))))
        .downwards(),
    key("output", size(KIB, GIB), "What may cross to the host in one answer, or in one call of a service.")
        .is(|| json!(size_text(limits(|l| l.output_bytes))))
        .downwards(),
    key("log", size(0, GIB), "What one call may log.").is(|| json!(size_text(limits(|l| l.log_bytes)))).downwards(),
    key("model_calls", Kind::Integer { least: 0, most: MOST_TOKENS }, "Calls of the model in one attempt of a hook.")
        .is(|| json!(limits(|l| l.model_calls)))
        .downwards(),
    key(
        "model_tokens",
        Kind::Integer { least: 0, most: i64::MAX as u64 },
        "Tokens of prompts and answers in one attempt of a hook.",
    )
    .is(|| json!(limits(|l| l.model_tokens)))
    .downwards(),
    key("state", size(0, GIB), "What it may keep, in each session and shared over all.")
        .is(|| json!(size_text(limits(|l| l.state_bytes))))
        .downwards(),
];

const SPEAKS: &str = "it decides who reads your sessions, with which key, and what that costs";

static MODEL: [Key; 10] = [
    key("provider", Kind::Choice { what: "provider", names: ModelProvider::names }, "Whose protocol it speaks.")
        .asks(SPEAKS),
    key("name", Kind::Text, "The name that the provider knows it by.").asks(SPEAKS),
    key("base_url", Kind::Url, "Where the service is, for another one of the same protocol.")
        .depends("the provider's own")
        .asks(SPEAKS),
    key(
        "api_key_env",
        Kind::Variable,
        "The environment variable that holds the key. The key itself never stands in a file.",
    )
    .asks(SPEAKS),
    key("window", tokens(1_000), "Its window, in tokens.").depends("what [models] or the host knows").asks(SPEAKS),
    key("timeout", Kind::Time { least: SECOND, most: LONG }, "How long one request may take.")
        .is(|| json!("2 min"))
        .asks(SPEAKS),
    key("retries", Kind::Integer { least: 0, most: 10 }, "How often a failed request is sent again.")
        .is(|| json!(Retries::default().limit))
        .asks(SPEAKS),
    key("concurrency", Kind::Integer { least: 1, most: 64 }, "Requests that run side by side.")
        .is(|| json!(4))
        .asks(SPEAKS),
    key("headers", Kind::Headers, "Further headers of each request. None that holds a key.")
        .is(|| json!({}))
        .asks(SPEAKS),
    key("path", Kind::Path, "For `script`: the file with the answers.").asks(SPEAKS),
];

static GATE: [Key; 2] = [
    key("policy", Kind::Choice { what: "policy", names: policies }, "Off, exact names, or exact names and shape.")
        .is(|| json!(SummaryGate::default().policy.name())),
    key("sections", Kind::Texts, "Headings that a summary must have, in their order. Asked for by `strict` only.")
        .is(|| json!([])),
];

static MODELS: [Key; 2] = [
    key("window", tokens(1_000), "Its window, in tokens."),
    key("reserve", tokens(0), "Tokens held back for its reply.").depends("16384, at most a quarter of the window"),
];

static TRUST: [Key; 1] = [key(
    "projects",
    Kind::Paths,
    "Folders whose projects, there and below, may load plugins, grant services and set [model]. Absolute, or from `~`.",
)
.is(|| json!([]))
.user_only()];

fn tokenizers() -> Vec<&'static str> {
    Vocabulary::ALL.iter().map(|vocabulary| vocabulary.name()).collect()
}

fn services() -> Vec<&'static str> {
    Service::ALL.iter().map(|service| service.name()).collect()
}

fn policies() -> Vec<&'static str> {
    GatePolicy::ALL.iter().map(|policy| policy.name()).collect()
}

/// Names that exclude each other in the table of this key.
pub(super) fn apart(table: &str) -> &'static [&'static str] {
    match table {
        "window" => &["tokens", "model"],
        _ if table.strip_prefix("plugins.").is_some_and(is_one_name) => &["path", "builtin"],
        _ => &[],
    }
}

/// Whether what follows `plugins.` is a name and nothing in it.
fn is_one_name(rest: &str) -> bool {
    if rest.starts_with('"') { rest.ends_with('"') && !rest.contains("\".") } else { !rest.contains('.') }
}

/// The key at a path, as in `plugins.x.limits.time`.
pub(super) fn find<'a>(path: impl IntoIterator<Item = &'a str>) -> Option<&'static Key> {
    let mut keys: &'static [Key] = &ROOT;
    let mut found = None;
    let mut path = path.into_iter();
    while let Some(name) = path.next() {
        let key = keys.iter().find(|key| key.name == name)?;
        found = Some(key);
        keys = match &key.kind {
            Kind::Table(keys) => keys,
            Kind::Map { keys, .. } => {
                if path.next().is_none() {
                    break;
                }
                keys
            }
            _ => &[],
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_through_tables_and_maps() {
        for path in ["window.tokens", "plugins.x.limits.time", "models.gpt-5.window", "trust.projects"] {
            assert_eq!(find(path.split('.')).map(|key| key.name), path.rsplit('.').next(), "{path}");
        }
        for path in ["x", "window.x", "window.tokens.x", "plugins.x.y"] {
            assert!(find(path.split('.')).is_none(), "{path}");
        }
    }

    #[test]
    fn only_the_table_of_a_plugin_has_a_path_or_a_built_in_one() {
        assert_eq!(apart("plugins.x").len(), 2);
        assert_eq!(apart("plugins.\"a.b\"").len(), 2);
        assert!(apart("plugins.x.config").is_empty() && apart("plugins").is_empty());
        assert!(apart("plugins.\"x\".config").is_empty());
    }
}
