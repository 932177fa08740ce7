//! The `[model]` table: the model that plugins are lent.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::services::model::{Model, ModelOptions, ModelService, Retries, ScriptedModel};
use crate::tokens::TokenCounter;

/// What speaks to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelProvider {
    /// OpenAI's chat completions, which many other servers speak too.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// The crate `genai`, which finds the provider by the name of the model.
    #[cfg(feature = "genai")]
    Genai,
    /// Answers from a file, for tests.
    Script,
}

impl ModelProvider {
    /// Every provider of this build.
    pub const ALL: &[ModelProvider] = &[
        ModelProvider::OpenAi,
        ModelProvider::Anthropic,
        #[cfg(feature = "genai")]
        ModelProvider::Genai,
        ModelProvider::Script,
    ];

    /// The name that configuration uses.
    pub fn name(self) -> &'static str {
        match self {
            ModelProvider::OpenAi => "openai",
            ModelProvider::Anthropic => "anthropic",
            #[cfg(feature = "genai")]
            ModelProvider::Genai => "genai",
            ModelProvider::Script => "script",
        }
    }

    pub(super) fn names() -> Vec<&'static str> {
        ModelProvider::ALL.iter().map(|provider| provider.name()).collect()
    }
}

/// The model that plugins are lent, as configured. Holds no key, only the name of the variable that does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelSettings {
    /// What speaks to it.
    pub provider: ModelProvider,
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
    /// How often a failed request is sent again.
    pub retries: u32,
    /// Requests that run side by side.
    pub concurrency: u32,
    /// Further headers of each request.
    pub headers: BTreeMap<String, String>,
    /// The file with the answers, for [`ModelProvider::Script`].
    pub path: Option<PathBuf>,
}

/// Why there is no model: the key of `[model]` that has to be changed, and in words.
#[derive(Debug)]
pub(super) struct NoModel {
    pub(super) key: &'static str,
    pub(super) reason: String,
}

/// Makes the model, with its key from the environment. The only place that knows how.
pub(super) fn build(settings: &ModelSettings, counter: Arc<dyn TokenCounter>) -> Result<ModelService, NoModel> {
    let model = match (settings.provider, &settings.path) {
        (ModelProvider::Script, path) => {
            let script = ScriptedModel::from_file(path.clone().unwrap_or_default());
            let script = script.map_err(|error| NoModel { key: "path", reason: error.to_string() })?;
            let script = settings.window.into_iter().fold(script, ScriptedModel::with_window);
            Arc::new(script) as Arc<dyn Model>
        }
        (provider, _) => remote(settings, provider)?,
    };
    let retries = Retries { limit: settings.retries, ..Retries::default() };
    let options = ModelOptions::default()
        .counter(counter)
        .request_timeout(settings.timeout)
        .retries(retries)
        .concurrency(usize::try_from(settings.concurrency).unwrap_or(usize::MAX));
    Ok(ModelService::with_options(model, options))
}

#[cfg(feature = "providers")]
fn remote(settings: &ModelSettings, provider: ModelProvider) -> Result<Arc<dyn Model>, NoModel> {
    use crate::services::model::{ModelConfig, ModelConfigError, Provider, Secret};

    let provider = match provider {
        ModelProvider::Anthropic => Provider::Anthropic,
        #[cfg(feature = "genai")]
        ModelProvider::Genai => Provider::Genai,
        _ => Provider::OpenAi,
    };
    let mut model = ModelConfig::new(provider, settings.name.as_str());
    if let Some(name) = &settings.api_key_env {
        let key = Secret::from_env(name);
        let key = key.map_err(|error| NoModel { key: "api_key_env", reason: error.to_string() })?;
        model = model.api_key(key);
    }
    if let Some(url) = &settings.base_url {
        model = model.base_url(url.as_str());
    }
    if let Some(window) = settings.window {
        model = model.window(window);
    }
    for (name, value) in &settings.headers {
        model = model.header(name.as_str(), value);
    }
    model.build().map_err(|error| {
        let key = match &error {
            ModelConfigError::NoName => "name",
            ModelConfigError::BaseUrl { .. } => "base_url",
            ModelConfigError::Header { .. } => "headers",
            ModelConfigError::Zero { key } => key,
            _ => "provider",
        };
        NoModel { key, reason: error.to_string() }
    })
}

#[cfg(not(feature = "providers"))]
fn remote(_settings: &ModelSettings, provider: ModelProvider) -> Result<Arc<dyn Model>, NoModel> {
    let reason = format!(
        "this program was built without models over HTTP, and `{}` is one; build it with the feature `providers`",
        provider.name()
    );
    Err(NoModel { key: "provider", reason })
}
