//! The configuration file: from TOML to a [`Setup`](crate::Setup).
//!
//! ```no_run
//! # async fn example(engine: contextengine::Engine) -> Result<(), contextengine::config::ConfigError> {
//! use contextengine::config::{Layers, NoneEmbedded};
//!
//! let config = Layers::usual(".").load()?;
//! let setup = config.assemble(&engine, &NoneEmbedded).await?;
//! # Ok(()) }
//! ```
//!
//! [`Layers`] say where settings are read from: the user's own file, that of the project, the command line. A
//! [`Config`] is what holds in the end, with the place of each value. [`Config::assemble`] loads the plugins, holds
//! their configurations against the schemas that they publish, grants what is granted, and binds the slots.
//!
//! **Assumed**: nothing about the files. They may be broken, or come with a repository that somebody cloned.
//!
//! **Promised**: nothing is guessed. An unknown key, a wrong type, a value out of range is an error that names file,
//! line, column and key; all errors are reported at once; and no error shows what looks like a secret. What is not
//! said is the documented default. The file of a project gives no plugin anything that the user did not.
//!
//! How: `source` and `node` hold texts and values with their places, `keys` is the one table of keys, `check` holds a
//! file against it, `trust` a project, `layers` puts one before the other, `read` makes typed values, `assemble` a
//! setup, `schema` a JSON Schema for editors.

mod assemble;
mod check;
mod error;
mod files;
mod keys;
mod layers;
mod model;
mod models;
mod node;
mod read;
mod schema;
mod secrets;
mod settings;
mod source;
mod syntax;
mod trust;
mod units;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

pub use assemble::{Embedded, Given, NoneEmbedded, prepare};
pub use error::{ConfigError, Problem, ProblemKind};
pub use files::{PROJECT_FILE, project_file, user_file};
pub use layers::{ConfigFile, Layers};
pub use model::{ModelProvider, ModelSettings};
pub use schema::schema;
pub use settings::{Overridden, Setting, as_json, as_toml};
pub use source::{Layer, Place};

use crate::compaction::Window;
use crate::hooks::Service;
use crate::plan::SummaryGate;
use crate::plugin::Limits;
use crate::setup::Threshold;
use crate::slots::{Origin, Slot};
use crate::tokens::Vocabulary;
use node::Node;

/// What is configured, checked and typed. Made by [`Layers::load`].
#[derive(Debug, Clone)]
pub struct Config {
    root: Node,
    files: Vec<ConfigFile>,
    fingerprint: [u8; 32],
    window: Window,
    threshold: Threshold,
    target: Option<u32>,
    keep_recent: Option<u32>,
    tokenizer: Vocabulary,
    gate: SummaryGate,
    claims: Vec<Claim>,
    strict: bool,
    plugins: BTreeMap<String, PluginConfig>,
    model: Option<ModelSettings>,
}

/// A plugin that is to be bound to a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// The slot.
    pub slot: Slot,
    /// The name as it is written: an id, or `builtin:` and the id of one that ships with the host.
    pub plugin: String,
    /// Where it is written.
    pub origin: Origin,
    /// The same with column.
    place: Place,
}

/// How a plugin is loaded, as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginConfig {
    /// The file; `None` where it ships with the host.
    pub path: Option<PathBuf>,
    /// The digest that the component must have, in small hexadecimal digits.
    pub sha256: Option<String>,
    /// The services that it may use.
    pub grants: BTreeSet<Service>,
    /// The folders that it may read.
    pub folders: Vec<PathBuf>,
    /// What an instance of it may use.
    pub limits: Limits,
    /// Its configuration, a JSON object.
    pub config: serde_json::Value,
}

impl Default for PluginConfig {
    fn default() -> Self {
        Self {
            path: None,
            sha256: None,
            grants: BTreeSet::new(),
            folders: Vec::new(),
            limits: Limits::default(),
            config: serde_json::Value::Object(serde_json::Map::new()),
        }
    }
}

impl Config {
    /// How much room the agent's model has.
    pub fn window(&self) -> Window {
        self.window
    }

    /// From how many tokens on the host compacts by itself.
    pub fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// Tokens that a compaction should leave, if that is said; else [`Window::target`].
    pub fn target(&self) -> Option<u32> {
        self.target
    }

    /// Tokens of recent entries that strategies are asked to leave alone, if that is said.
    pub fn keep_recent(&self) -> Option<u32> {
        self.keep_recent
    }

    /// What tokens are counted with. An engine counts with what it was built with, so build it with this.
    pub fn tokenizer(&self) -> Vocabulary {
        self.tokenizer
    }

    /// What is asked of summaries.
    pub fn gate(&self) -> &SummaryGate {
        &self.gate
    }

    /// Who is to be bound to what, in the order in which they are asked.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Whether every substitution is an error.
    pub fn strict(&self) -> bool {
        self.strict
    }

    /// The plugins that have a table, by id.
    pub fn plugins(&self) -> &BTreeMap<String, PluginConfig> {
        &self.plugins
    }

    /// The model that plugins are lent, if one is configured.
    pub fn model(&self) -> Option<&ModelSettings> {
        self.model.as_ref()
    }

    /// The files that were looked for, in the order in which they were read.
    pub fn files(&self) -> &[ConfigFile] {
        &self.files
    }

    /// What holds, key by key, with where each value comes from and what it goes before.
    pub fn settings(&self) -> Vec<Setting> {
        settings::all(&self.root)
    }

    fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }
}
