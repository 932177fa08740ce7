//! The `[model]` table: the model that plugins are lent.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::services::model::ModelService;

/// Whose protocol a model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI's chat completions, which many other servers speak too.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Answers from a file, for tests.
    Script,
}

impl Provider {
    /// Every provider.
    pub const ALL: [Provider; 3] = [Provider::OpenAi, Provider::Anthropic, Provider::Script];

    /// The name that configuration uses.
    pub fn name(self) -> &'static str {
        match self {
            Provider::OpenAi => "openai",
            Provider::Anthropic => "anthropic",
            Provider::Script => "script",
        }
    }

    pub(super) fn names() -> Vec<&'static str> {
        Provider::ALL.iter().map(|provider| provider.name()).collect()
    }
}

/// The model that plugins are lent, as configured. Holds no key, only the name of the variable that does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelConfig {
    /// Whose protocol it speaks.
    pub provider: Provider,
    /// The name that the provider knows it by.
    pub name: String,
    /// Where the service is, if not at the provider's own place.
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// Input window, in tokens, if known.
    pub window: Option<u32>,
    /// How long one request may take.
    pub timeout: Duration,
    /// The longest answer that is asked for, in tokens.
    pub max_output: Option<u32>,
    /// How often a failed request is sent again.
    pub retries: u32,
    /// Requests that run side by side.
    pub concurrency: u32,
    /// Further headers of each request.
    pub headers: BTreeMap<String, String>,
    /// The file with the answers, for [`Provider::Script`].
    pub path: Option<PathBuf>,
}

/// Why there is no model: the key of `[model]` that has to be changed, and in words.
#[derive(Debug)]
pub(super) struct NoModel {
    pub(super) key: &'static str,
    pub(super) reason: String,
}

/// Makes the model. The only place that knows how.
pub(super) fn build(config: &ModelConfig) -> Result<ModelService, NoModel> {
    let reason = format!("this build of the host has no provider `{}`", config.provider.name());
    Err(NoModel { key: "provider", reason })
}
