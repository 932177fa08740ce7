//! The model service against a server on this machine that behaves as providers do, well and badly.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that meets something unexpected stops there")]

mod answers;
mod failures;
#[cfg(feature = "genai")]
mod genai;
mod script;
mod server;
mod spans;

use std::sync::Arc;
use std::time::{Duration, Instant};

use contextengine::services::model::{
    Allowance, Completion, Model, ModelConfig, ModelError, ModelOptions, ModelService, Prompt, Provider, Retries,
    Secret,
};
use contextengine::tokens::TokenCounter;

/// A key that is nobody's, and that no pattern knows.
const KEY: &str = "plain-words-as-a-key";

/// One token for each word.
#[derive(Debug)]
struct Words;

impl TokenCounter for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.split_whitespace().count()).unwrap()
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A model at this address. The environment of the test may name a proxy, which has no place here.
fn config(provider: Provider, base_url: &str) -> ModelConfig {
    ModelConfig::new(provider, "small-model")
        .base_url(base_url)
        .api_key(Secret::new(KEY).unwrap())
        .proxy_from_environment(false)
}

fn openai(base_url: &str) -> Arc<dyn Model> {
    config(Provider::OpenAi, base_url).build().unwrap()
}

/// Repeats without waiting long.
fn options() -> ModelOptions {
    let retries = Retries { base: Duration::from_millis(2), cap: Duration::from_millis(4), ..Retries::default() };
    ModelOptions::default().counter(Arc::new(Words)).retries(retries).request_timeout(Duration::from_secs(5))
}

fn service(model: Arc<dyn Model>) -> ModelService {
    ModelService::with_options(model, options())
}

fn prompt() -> Prompt {
    Prompt::new("You summarise.", "Summarise this.", 100)
}

async fn ask(service: &ModelService) -> Result<Completion, ModelError> {
    let deadline = Instant::now() + Duration::from_secs(20);
    service.complete(&prompt(), &Allowance::new(100, 1_000_000), deadline).await
}
