//! A model that plays a script, for tests and for runs without a provider.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::script::{self, AfterLast, ScriptError, Settings, Step};
use super::{Completion, Model, ModelError, ModelFuture, Prompt};

/// A model that answers what a script says, and remembers what it was asked.
///
/// A script is a file of JSON lines. Blank lines are left out. The first line may hold settings:
///
/// ```json
/// {"script": 1, "name": "fast-model", "window": 32000, "after_last": "repeat"}
/// ```
///
/// `name` is `scripted` by default, `window` is not known by default, and `after_last` says what follows the last answer:
/// `absent` (the default; there is no model any more), `repeat` (the last one again) or `restart`. Each further line is
/// one answer or one error:
///
/// ```json
/// {"answer": "## Goal\n…", "finish": "complete", "input_tokens": 900, "output_tokens": 210, "delay_ms": 20}
/// {"error": "rate-limited", "after_ms": 50}
/// {"answer": "A merge.", "when": {"system_contains": "merge", "user_contains": "part 2"}, "times": 3}
/// ```
///
/// `finish` is `complete`, `truncated` or `refused`; tokens that are not given are counted by the host. `error` is
/// `absent`, `too-long` (with `window`), `over-budget`, `rate-limited` (`after_ms`), `timeout`, `unavailable` (`reason`,
/// `after_ms`), `unreachable` (`reason`) or `provider` (`reason`).
///
/// A line with `when` is for the prompts that have these texts in them, any number of times or as often as `times` says.
/// The first such line that holds is taken. All other prompts get the other lines in their order, each once or as often
/// as `times` says. A prompt gets its answer when it is asked, so [`complete_all`](super::ModelService::complete_all)
/// hands them out in the order of its prompts, however long each takes; with errors that are repeated, `when` is what
/// keeps a script apart from the order of things.
#[derive(Debug)]
pub struct ScriptedModel {
    settings: Settings,
    script: Vec<Step>,
    played: Mutex<Played>,
}

#[derive(Debug, Default)]
struct Played {
    /// How often each line was used, since the last restart.
    used: Vec<u32>,
    prompts: Vec<Prompt>,
}

impl ScriptedModel {
    /// A model that gives these answers in their order, and then is absent.
    pub fn new(answers: impl IntoIterator<Item = Result<Completion, ModelError>>) -> Self {
        let step = |answer| Step { when: None, times: Some(1), delay: Duration::ZERO, answer };
        Self::of(Settings::default(), answers.into_iter().map(step).collect())
    }

    /// Plays a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a line of it is wrong; the error names file and line.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let text =
            std::fs::read_to_string(path).map_err(|source| ScriptError::Read { path: path.to_owned(), source })?;
        Self::parse(&text, path)
    }

    /// Plays a text; `path` is what its errors call it.
    ///
    /// # Errors
    ///
    /// A line is wrong; the error names it.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let (settings, script) = script::parse(text, path.as_ref())?;
        Ok(Self::of(settings, script))
    }

    /// Its input window in tokens. Default: what the script says, or not known.
    #[must_use]
    pub fn with_window(mut self, tokens: u32) -> Self {
        self.settings.window = Some(tokens);
        self
    }

    /// What was asked so far, in the order asked.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.lock().prompts.clone()
    }

    fn of(settings: Settings, script: Vec<Step>) -> Self {
        let used = vec![0; script.len()];
        Self { settings, script, played: Mutex::new(Played { used, prompts: Vec::new() }) }
    }

    fn lock(&self) -> MutexGuard<'_, Played> {
        // Counters and copies: a panic elsewhere leaves nothing half done.
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to this prompt, taken from the script now.
    fn next(&self, prompt: &Prompt) -> (Duration, Result<Completion, ModelError>) {
        let mut played = self.lock();
        played.prompts.push(prompt.clone());
        let fresh = |index: &usize, used: &[u32]| self.script[*index].times.is_none_or(|times| used[*index] < times);
        let lines = || 0..self.script.len();
        let matched = |index: &usize| self.script[*index].when.as_ref().is_some_and(|when| when.holds(prompt));
        let in_turn = |index: &usize| self.script[*index].when.is_none();

        let found = lines().filter(matched).find(|index| fresh(index, &played.used));
        let found = found.or_else(|| lines().filter(in_turn).find(|index| fresh(index, &played.used)));
        let found = found.or_else(|| match self.settings.after_last {
            AfterLast::Absent => None,
            AfterLast::Repeat => lines().rfind(in_turn),
            AfterLast::Restart => {
                lines().filter(in_turn).for_each(|index| played.used[index] = 0);
                lines().find(in_turn)
            }
        });
        let Some(index) = found else {
            return (Duration::ZERO, Err(ModelError::Absent));
        };
        played.used[index] = played.used[index].saturating_add(1);
        (self.script[index].delay, self.script[index].answer.clone())
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn window(&self) -> Option<u32> {
        self.settings.window
    }

    fn complete<'a>(&'a self, prompt: &'a Prompt) -> ModelFuture<'a> {
        let (delay, answer) = self.next(prompt);
        Box::pin(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            answer
        })
    }
}
