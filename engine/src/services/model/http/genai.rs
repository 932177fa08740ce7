//! More providers, by the crate `genai`: Gemini, Bedrock, Cohere and others in their own protocols.
//!
//! It makes the requests and reads the answers; the client, with its TLS, its proxy and its timeouts, and the meaning of
//! errors are ours. Two things are its own: an answer is read whole, however long it is, and where no key is given it
//! takes the one of the variable that is usual for the provider.

use std::fmt;

use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatResponse, StopReason};
use genai::resolver::{AuthData, Endpoint};
use genai::{Headers, ServiceTarget, webc};
use reqwest::header::HeaderMap;

use super::super::config::{ModelConfig, ModelConfigError};
use super::super::{Completion, Finish, Model, ModelError, ModelFuture, Prompt, Secret};
use super::failure::Failure;

/// A model that `genai` asks.
pub(in super::super) struct GenaiModel {
    config: ModelConfig,
    client: genai::Client,
}

impl fmt::Debug for GenaiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenaiModel").field("config", &self.config).finish_non_exhaustive()
    }
}

impl GenaiModel {
    pub(in super::super) fn new(config: ModelConfig) -> Result<Self, ModelConfigError> {
        // It joins paths by replacing the last part, so that the base has to end with a slash.
        let base_url = match &config.base_url {
            Some(url) => {
                super::Endpoint::new(config.provider, url)?;
                Some(format!("{}/", url.trim().trim_end_matches('/')))
            }
            None => None,
        };
        let key = config.api_key.clone();
        let target = move |mut target: ServiceTarget| {
            if let Some(url) = &base_url {
                target.endpoint = Endpoint::from_owned(url.as_str());
            }
            if let Some(key) = &key {
                target.auth = AuthData::from_single(key.reveal());
            }
            Ok(target)
        };
        let client = genai::Client::builder()
            .with_reqwest(super::client(&config, true)?)
            .with_service_target_resolver_fn(target)
            .build()
            .map_err(|_| ModelConfigError::Client("genai has no client for this model".to_owned()))?;
        Ok(Self { config, client })
    }

    async fn ask(&self, prompt: &Prompt) -> Result<Completion, ModelError> {
        let request = ChatRequest::new(vec![ChatMessage::user(prompt.user.as_str())]);
        let request = if prompt.system.is_empty() { request } else { request.with_system(prompt.system.as_str()) };
        let mut options = ChatOptions::default()
            .with_max_tokens(prompt.max_output_tokens)
            .with_stop_sequences(prompt.stop.clone())
            .with_normalize_reasoning_content(true);
        if let Some(temperature) = prompt.temperature {
            options = options.with_temperature(f64::from(temperature));
        }
        if !self.config.headers.is_empty() {
            let headers = self.config.headers.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned()));
            options = options.with_extra_headers(Headers::from(headers.collect::<Vec<_>>()));
        }
        let answer = self.client.exec_chat(self.config.name.as_str(), request, Some(&options)).await;
        answer.map(completion).map_err(|error| self.error(error))
    }

    /// What an error means. Its own words are not handed on: some have the whole request in them.
    fn error(&self, error: genai::Error) -> ModelError {
        let mut secrets: Vec<&str> = self.config.headers.iter().map(|(_, value)| value.reveal()).collect();
        secrets.extend(self.config.api_key.as_ref().map(Secret::reveal));
        let failure =
            Failure { origin: format!("the provider of {}", self.config.name), window: self.config.window, secrets };
        match error {
            genai::Error::WebModelCall { webc_error, .. } | genai::Error::WebAdapterCall { webc_error, .. } => {
                match webc_error {
                    webc::Error::ResponseFailedStatus { status, body, headers } => {
                        failure.status(status.as_u16(), &headers, body.as_bytes())
                    }
                    webc::Error::Reqwest(error) => failure.transport(&error),
                    webc::Error::ResponseFailedNotJson { body, .. }
                    | webc::Error::ResponseFailedInvalidJson { body, .. } => {
                        failure.not_json(&HeaderMap::new(), body.as_bytes())
                    }
                    webc::Error::JsonValueExt(_) => {
                        ModelError::Provider(format!("{} answered in another shape", failure.origin))
                    }
                }
            }
            genai::Error::HttpError { status, body, headers, .. } => {
                failure.status(status.as_u16(), &headers, body.as_bytes())
            }
            genai::Error::ChatResponse { body, .. } => {
                failure.reported(&body, &HeaderMap::new(), body.to_string().as_bytes())
            }
            genai::Error::RequiresApiKey { .. } | genai::Error::NoAuthData { .. } | genai::Error::Resolver { .. } => {
                ModelError::Provider(format!("{} wants a key; name its variable as `api_key_env`", failure.origin))
            }
            genai::Error::NoChatResponse { .. } | genai::Error::ChatResponseGeneration { .. } => {
                ModelError::Provider(format!("{} answered in another shape", failure.origin))
            }
            _ => ModelError::Provider(format!("{} cannot be asked for a completion by genai", failure.origin)),
        }
    }
}

fn completion(answer: ChatResponse) -> Completion {
    let tokens = |tokens: Option<i32>| tokens.and_then(|tokens| u32::try_from(tokens).ok()).unwrap_or(0);
    let finish = match &answer.stop_reason {
        Some(StopReason::MaxTokens(_)) => Finish::Truncated,
        Some(StopReason::ContentFilter(_)) => Finish::Refused,
        Some(reason) if reason.raw().eq_ignore_ascii_case("refusal") => Finish::Refused,
        _ => Finish::Complete,
    };
    Completion {
        finish,
        input_tokens: tokens(answer.usage.prompt_tokens),
        output_tokens: tokens(answer.usage.completion_tokens),
        text: answer.into_texts().concat(),
    }
}

impl Model for GenaiModel {
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
