//! Models over HTTP: one request, one answer, nothing streamed.
//!
//! A provider's protocol is two functions ([`openai`], [`anthropic`]): the body of a request, and the answer in a body.
//! Everything else is the same for all: where to send, how much to read, what an error means. Redirects are not
//! followed, as they would take the prompt and the key elsewhere.

mod anthropic;
mod failure;
mod hints;
mod openai;

use std::fmt;
use std::sync::Arc;

use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use serde_json::Value;

use self::failure::Failure;
use super::config::{ModelConfig, ModelConfigError, OutputLimit, Provider};
use super::{Completion, Model, ModelError, ModelFuture, Prompt, Secret};

/// The largest answer that is read. The longest that models write is below a megabyte.
const MAX_ANSWER: usize = 16 << 20;

/// How much of an error is read.
const MAX_ERROR: usize = 64 << 10;

/// Version of Anthropic's protocol, which each request names.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    url: Url,
}

impl Endpoint {
    /// The address of the requests below a base URL. A path that is there already is not added again; a query stays.
    pub(super) fn new(provider: Provider, base_url: &str) -> Result<Self, ModelConfigError> {
        let wrong = |reason: &str| ModelConfigError::BaseUrl { reason: reason.to_owned() };
        let mut url = Url::parse(base_url.trim()).map_err(|error| ModelConfigError::BaseUrl {
            reason: format!("is not one ({error}); write it as http://host:port/v1"),
        })?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("has to begin with http:// or https://, and name a host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("has a user or a password in it; give the key as `api_key_env`"));
        }
        let (path, without) = match provider {
            Provider::Anthropic => ("/v1/messages", "/messages"),
            _ => ("/chat/completions", ""),
        };
        let base = url.path().trim_end_matches('/').to_owned();
        let full = match without {
            _ if base.ends_with(path) => base,
            "/messages" if base.ends_with("/v1") => format!("{base}/messages"),
            _ => format!("{base}{path}"),
        };
        url.set_path(&full);
        url.set_fragment(None);
        Ok(Self { url })
    }

    /// Scheme, host and port: what an error may say.
    fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    fn is_openai_itself(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        host == "api.openai.com" || host.ends_with(".openai.azure.com")
    }
}

/// A model of a provider, over HTTP.
pub(super) struct HttpModel {
    config: ModelConfig,
    endpoint: Endpoint,
    headers: HeaderMap,
    client: Client,
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel")
            .field("config", &self.config)
            .field("origin", &self.endpoint.origin())
            .finish_non_exhaustive()
    }
}

impl HttpModel {
    pub(super) fn new(config: ModelConfig, endpoint: Endpoint) -> Result<Self, ModelConfigError> {
        let headers = headers(&config)?;
        let client = client(&config, endpoint.url.scheme() == "https")?;
        Ok(Self { config, endpoint, headers, client })
    }

    async fn ask(&self, prompt: &Prompt) -> Result<Completion, ModelError> {
        let body = match self.config.provider {
            Provider::Anthropic => anthropic::request(&self.config.name, prompt),
            _ => openai::request(&self.config.name, prompt, self.output_limit()),
        };
        let request = self.client.post(self.endpoint.url.clone()).headers(self.headers.clone()).body(body.to_string());
        let response = request.send().await.map_err(|error| self.failure().transport(&error))?;
        let status = response.status();
        if !status.is_success() {
            let (status, headers) = (status.as_u16(), response.headers().clone());
            let body = self.read(response, MAX_ERROR, true).await.unwrap_or_default();
            return Err(self.failure().status(status, &headers, &body));
        }
        let headers = response.headers().clone();
        let body = self.read(response, MAX_ANSWER, false).await?;
        self.answer(&headers, &body)
    }

    fn answer(&self, headers: &HeaderMap, body: &[u8]) -> Result<Completion, ModelError> {
        let answer: Value = serde_json::from_slice(body).map_err(|_| self.failure().not_json(headers, body))?;
        // Gateways report errors of the provider behind them with status 200.
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            return Err(self.failure().reported(error, headers, body));
        }
        let completion = match self.config.provider {
            Provider::Anthropic => anthropic::answer(&answer),
            _ => openai::answer(&answer),
        };
        completion.map_err(|wrong| self.failure().shape(wrong, body))
    }

    /// The body, up to a limit: behind it, an error's is cut and an answer's is refused.
    async fn read(&self, mut response: Response, limit: usize, cut: bool) -> Result<Vec<u8>, ModelError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failure().transport(&error))? {
            let room = limit - body.len();
            if chunk.len() > room {
                if !cut {
                    return Err(ModelError::Provider(format!("the answer is longer than {} MiB", limit >> 20)));
                }
                body.extend_from_slice(&chunk[..room]);
                break;
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn output_limit(&self) -> &'static str {
        match self.config.output_limit {
            OutputLimit::MaxTokens => "max_tokens",
            OutputLimit::MaxCompletionTokens => "max_completion_tokens",
            OutputLimit::Auto if self.endpoint.is_openai_itself() => "max_completion_tokens",
            OutputLimit::Auto => "max_tokens",
        }
    }

    fn failure(&self) -> Failure<'_> {
        let mut secrets: Vec<&str> = self.config.headers.iter().map(|(_, value)| value.reveal()).collect();
        secrets.extend(self.config.api_key.as_ref().map(Secret::reveal));
        Failure { origin: self.endpoint.origin(), window: self.config.window, secrets }
    }
}

impl Model for HttpModel {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn window(&self) -> Option<u32> {
        self.config.window
    }

    fn complete<'a>(&'a self, prompt: &'a Prompt) -> ModelFuture<'a> {
        Box::pin(self.ask(prompt))
    }
}

/// A value that can be a header under this name.
pub(super) fn header_value(name: &str, value: &str) -> Result<Secret, ModelConfigError> {
    let wrong = |reason: &str| ModelConfigError::Header { name: name.to_owned(), reason: reason.to_owned() };
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("a name is of letters, digits and `-`"))?;
    HeaderValue::from_str(value).map_err(|_| wrong("its value has a character that a header cannot have"))?;
    Ok(Secret::header(value))
}

fn headers(config: &ModelConfig) -> Result<HeaderMap, ModelConfigError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    let mut secret = |name: HeaderName, value: &str| {
        let reason = "its value has a character that a header cannot have".to_owned();
        let mut value =
            HeaderValue::from_str(value).map_err(|_| ModelConfigError::Header { name: name.to_string(), reason })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    };
    let key = config.api_key.as_ref().map(Secret::reveal);
    match (config.provider, key) {
        (Provider::Anthropic, Some(key)) => secret(HeaderName::from_static("x-api-key"), key)?,
        (_, Some(key)) => secret(header::AUTHORIZATION, &format!("Bearer {key}"))?,
        (_, None) => {}
    }
    if config.provider == Provider::Anthropic {
        secret(HeaderName::from_static("anthropic-version"), ANTHROPIC_VERSION)?;
    }
    // What the operator writes stands over what the protocol says.
    for (name, value) in &config.headers {
        let reason = "a name is of letters, digits and `-`".to_owned();
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| ModelConfigError::Header { name: name.clone(), reason })?;
        secret(header, value.reveal())?;
    }
    Ok(headers)
}

fn client(config: &ModelConfig, encrypted: bool) -> Result<Client, ModelConfigError> {
    let client = Client::builder()
        .user_agent(concat!("contextengine/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(config.connect_timeout)
        // The service repeats; a layer that does so too would hide requests from the allowance.
        .retry(reqwest::retry::never())
        .tls_backend_preconfigured(tls(encrypted)?);
    let client = if config.proxy { client } else { client.no_proxy() };
    client.build().map_err(|error| ModelConfigError::Client(failure::words(&error)))
}

/// TLS with ring, and with what the system trusts. Without `https` nothing is trusted and nothing of the system is
/// needed, so that a server on the same machine can be asked where no certificates are installed.
fn tls(encrypted: bool) -> Result<rustls::ClientConfig, ModelConfigError> {
    use rustls_platform_verifier::BuilderVerifierExt as _;

    let wrong = |error: rustls::Error| ModelConfigError::Client(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(wrong)?;
    let builder = if encrypted {
        builder.with_platform_verifier().map_err(wrong)?
    } else {
        builder.with_root_certificates(rustls::RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}
