//! Completions, from the model that the operator granted.

use std::time::{Duration, Instant};

use super::{Activity, HostState};
use crate::hooks::Service;
use crate::plugin::bindings::contextengine::plugin::model as abi;
use crate::services::model::{Completion, Finish, ModelError, ModelService, Prompt};

/// How long before the end of a call the model has to answer, at most: time for the plugin to do without it.
const SPARE: Duration = Duration::from_secs(2);

impl HostState {
    /// The model, where the plugin may ask it now.
    fn model(&mut self) -> Option<ModelService> {
        if matches!(self.activity, Activity::Setup | Activity::Decision) || !self.granted(Service::Model) {
            return None;
        }
        self.model.clone()
    }

    /// When the model has to have answered: a tenth of what is left before the call is ended, but not much.
    fn model_deadline(&self) -> Instant {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.deadline.checked_sub((left / 10).min(SPARE)).unwrap_or(self.deadline)
    }
}

impl abi::Host for HostState {
    async fn window(&mut self) -> wasmtime::Result<Option<u32>> {
        // Also for decisions: it is a figure, and always the same one.
        let granted = self.activity != Activity::Setup && self.access.grants.contains(&Service::Model);
        Ok(self.model.as_ref().filter(|_| granted).and_then(ModelService::window))
    }

    async fn complete(&mut self, prompt: abi::Prompt) -> wasmtime::Result<Result<abi::Completion, abi::ModelError>> {
        let Some(model) = self.model() else { return Ok(Err(abi::ModelError::Absent)) };
        let answer = model.complete(&into_prompt(prompt), &self.model_allowance, self.model_deadline()).await;
        Ok(into_answer(answer))
    }

    async fn complete_all(
        &mut self,
        prompts: Vec<abi::Prompt>,
    ) -> wasmtime::Result<Vec<Result<abi::Completion, abi::ModelError>>> {
        let Some(model) = self.model() else {
            return Ok(prompts.iter().map(|_| Err(abi::ModelError::Absent)).collect());
        };
        let prompts: Vec<Prompt> = prompts.into_iter().map(into_prompt).collect();
        let answers = model.complete_all(&prompts, &self.model_allowance, self.model_deadline()).await;
        Ok(answers.into_iter().map(into_answer).collect())
    }
}

fn into_prompt(prompt: abi::Prompt) -> Prompt {
    Prompt {
        system: prompt.system,
        user: prompt.user,
        max_output_tokens: prompt.max_output_tokens,
        temperature: prompt.temperature,
        stop: prompt.stop,
    }
}

fn into_answer(answer: Result<Completion, ModelError>) -> Result<abi::Completion, abi::ModelError> {
    match answer {
        Ok(completion) => Ok(abi::Completion {
            text: completion.text,
            finish: match completion.finish {
                Finish::Complete => abi::Finish::Complete,
                Finish::Truncated => abi::Finish::Truncated,
                Finish::Refused => abi::Finish::Refused,
            },
            input_tokens: completion.input_tokens,
            output_tokens: completion.output_tokens,
        }),
        Err(error) => Err(match error {
            ModelError::Absent => abi::ModelError::Absent,
            ModelError::TooLong { window } => abi::ModelError::TooLong(window),
            ModelError::OverBudget => abi::ModelError::OverBudget,
            ModelError::RateLimited { after } => {
                abi::ModelError::RateLimited(after.map(|after| u32::try_from(after.as_millis()).unwrap_or(u32::MAX)))
            }
            ModelError::Timeout => abi::ModelError::Timeout,
            ModelError::Provider(reason) | ModelError::Unavailable { reason, .. } | ModelError::Unreachable(reason) => {
                abi::ModelError::Provider(reason)
            }
        }),
    }
}
