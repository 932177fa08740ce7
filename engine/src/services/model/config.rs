//! Models of providers, from plain values.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::http::{Endpoint, HttpModel};
use super::{Model, Secret};

/// How long connecting may take, by default.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What speaks to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// Chat completions as OpenAI has them: also llama.cpp, vLLM, Ollama, LM Studio, OpenRouter, Groq, Mistral,
    /// DeepSeek and others, by base URL.
    OpenAi,
    /// Messages of Anthropic.
    Anthropic,
    /// The crate `genai`, which finds the provider by the name of the model.
    #[cfg(feature = "genai")]
    Genai,
}

/// A name that is no provider of this build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a provider{}", advice(name))]
pub struct UnknownProvider {
    /// The name that was asked for.
    pub name: String,
}

/// What to write instead.
fn advice(name: &str) -> String {
    let known: Vec<&str> = Provider::ALL.iter().map(|provider| provider.name()).collect();
    let lower = name.to_ascii_lowercase();
    let near = match lower.as_str() {
        "genai" => return " of this build: it was compiled without the feature `genai`".to_owned(),
        "claude" => Some("write `anthropic`".to_owned()),
        "ollama" | "vllm" | "llama.cpp" | "llamacpp" | "lmstudio" | "openrouter" | "groq" | "mistral" | "deepseek"
        | "together" | "fireworks" | "xai" | "gemini" | "azure" => {
            Some(format!("for {lower} write `openai`, and its address as `base_url`"))
        }
        _ if lower.contains("openai") => Some("write `openai`".to_owned()),
        _ if lower.starts_with("anth") => Some("write `anthropic`".to_owned()),
        _ => None,
    };
    let near = near.map_or_else(String::new, |near| format!("; {near}"));
    format!(
        "{near} (known are {}; a server that speaks as OpenAI's do is `openai` with a `base_url`)",
        known.join(", ")
    )
}

impl Provider {
    /// Every provider of this build.
    pub const ALL: &[Provider] = &[
        Provider::OpenAi,
        Provider::Anthropic,
        #[cfg(feature = "genai")]
        Provider::Genai,
    ];

    /// Its name in configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            #[cfg(feature = "genai")]
            Self::Genai => "genai",
        }
    }

    /// Where it is, unless a base URL says otherwise.
    fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            #[cfg(feature = "genai")]
            Self::Genai => "",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, UnknownProvider> {
        let known = Self::ALL.iter().find(|provider| provider.name() == name);
        known.copied().ok_or_else(|| UnknownProvider { name: name.to_owned() })
    }
}

/// The field in which a server of the kind [`Provider::OpenAi`] takes the longest answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OutputLimit {
    /// `max_completion_tokens` for OpenAI itself, whose models that reason refuse the other; `max_tokens` elsewhere,
    /// which is what other servers know.
    #[default]
    Auto,
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

impl FromStr for OutputLimit {
    type Err = String;

    /// By the field's name, or `auto`.
    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Self::Auto),
            "max_tokens" => Ok(Self::MaxTokens),
            "max_completion_tokens" => Ok(Self::MaxCompletionTokens),
            _ => Err(format!("`{name}` is not such a field; known are auto, max_tokens and max_completion_tokens")),
        }
    }
}

/// Why there is no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelConfigError {
    /// No model is named.
    #[error("the model has no name; write the name that the provider knows it by as `name`")]
    NoName,
    /// The base URL is none, or has parts that it cannot have.
    #[error("the base URL of the model {reason}")]
    BaseUrl {
        /// What is wrong and what would be right. It does not show the URL, which may have a password in it.
        reason: String,
    },
    /// A header is none.
    #[error("the header `{name}` cannot be sent: {reason}")]
    Header {
        /// Its name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A figure is 0.
    #[error("`{key}` of the model is 0; leave it out where it is not known")]
    Zero {
        /// Its name in configuration.
        key: &'static str,
    },
    /// The client cannot be made: the system's certificates or the proxy of the environment.
    #[error("the HTTP client cannot be made: {0}")]
    Client(String),
}

/// A model of a provider, to be.
///
/// ```no_run
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use contextengine::services::model::{ModelConfig, ModelService, Provider, Secret};
///
/// let model = ModelConfig::new("openai".parse()?, "qwen3-30b")
///     .base_url("http://localhost:8080/v1")
///     .window(32_768)
///     .build()?;
/// let cheap = ModelConfig::new(Provider::Anthropic, "claude-haiku-4-5")
///     .api_key(Secret::from_env("ANTHROPIC_API_KEY")?)
///     .window(200_000)
///     .build()?;
/// let service = ModelService::new(cheap);
/// # let _ = (model, service);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ModelConfig {
    pub(super) provider: Provider,
    pub(super) name: String,
    pub(super) base_url: Option<String>,
    pub(super) api_key: Option<Secret>,
    pub(super) window: Option<u32>,
    pub(super) headers: Vec<(String, Secret)>,
    pub(super) connect_timeout: Duration,
    pub(super) output_limit: OutputLimit,
    pub(super) proxy: bool,
    invalid: Option<ModelConfigError>,
}

impl ModelConfig {
    /// A model by the name that the provider knows it by. It may be a cheaper one than the agent's own: summaries seldom
    /// need the best.
    pub fn new(provider: Provider, name: impl Into<String>) -> Self {
        Self {
            provider,
            name: name.into(),
            base_url: None,
            api_key: None,
            window: None,
            headers: Vec::new(),
            connect_timeout: CONNECT_TIMEOUT,
            output_limit: OutputLimit::Auto,
            proxy: true,
            invalid: None,
        }
    }

    /// Where the provider is, without the path of the request: `http://localhost:11434/v1`. Default: the provider's own
    /// address.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The key that is sent with each request. Default: none, as servers of one's own want none.
    pub fn api_key(mut self, key: Secret) -> Self {
        self.api_key = Some(key);
        self
    }

    /// Input window in tokens. Default: not known, so that only the provider says what is too long.
    pub fn window(mut self, tokens: u32) -> Self {
        self.window = Some(tokens);
        self
    }

    /// A further header of each request; its value is kept secret, as it may be a key.
    pub fn header(mut self, name: impl Into<String>, value: &str) -> Self {
        let name = name.into();
        match super::http::header_value(&name, value) {
            Ok(value) => self.headers.push((name, value)),
            Err(error) => self.invalid = self.invalid.or(Some(error)),
        }
        self
    }

    /// The longest wait for a connection. Default: 10 seconds. The wait for an answer is
    /// [`ModelOptions::request_timeout`](super::ModelOptions::request_timeout).
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// The field for the longest answer. Default: what the server is likely to know.
    pub fn output_limit(mut self, field: OutputLimit) -> Self {
        self.output_limit = field;
        self
    }

    /// Whether requests take the proxy that the environment names (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`).
    /// Default: yes.
    pub fn proxy_from_environment(mut self, yes: bool) -> Self {
        self.proxy = yes;
        self
    }

    /// Makes the model. Nothing is sent by that.
    ///
    /// # Errors
    ///
    /// A value is wrong. No error shows a key.
    pub fn build(self) -> Result<Arc<dyn Model>, ModelConfigError> {
        if let Some(invalid) = self.invalid {
            return Err(invalid);
        }
        if self.name.trim().is_empty() {
            return Err(ModelConfigError::NoName);
        }
        for (key, zero) in [("window", self.window == Some(0)), ("connect_timeout", self.connect_timeout.is_zero())] {
            if zero {
                return Err(ModelConfigError::Zero { key });
            }
        }
        #[cfg(feature = "genai")]
        if self.provider == Provider::Genai {
            return Ok(Arc::new(super::genai::GenaiModel::new(self)?));
        }
        let base_url = self.base_url.as_deref().unwrap_or(self.provider.base_url());
        let endpoint = Endpoint::new(self.provider, base_url)?;
        Ok(Arc::new(HttpModel::new(self, endpoint)?))
    }
}
