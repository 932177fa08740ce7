//! Completions. No model is granted yet, so there is none.

use super::HostState;
use crate::plugin::bindings::contextengine::plugin::model::{Completion, Host, ModelError, Prompt};

impl Host for HostState {
    async fn window(&mut self) -> wasmtime::Result<Option<u32>> {
        Ok(None)
    }

    async fn complete(&mut self, _prompt: Prompt) -> wasmtime::Result<Result<Completion, ModelError>> {
        Ok(Err(ModelError::Absent))
    }

    async fn complete_all(&mut self, prompts: Vec<Prompt>) -> wasmtime::Result<Vec<Result<Completion, ModelError>>> {
        Ok(prompts.iter().map(|_| Err(ModelError::Absent)).collect())
    }
}
