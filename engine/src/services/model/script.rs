//! Scripts: what a [`ScriptedModel`](super::ScriptedModel) answers, as a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::{Completion, Finish, ModelError, Prompt};

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("the script {} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is not what a script has.
    #[error("{}:{line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// There is nothing to answer.
    #[error("the script {} has no answer; write a line such as {{\"answer\": \"…\"}}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// What follows the last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AfterLast {
    /// There is no model any more.
    #[default]
    Absent,
    /// The last one, again and again.
    Repeat,
    /// The first one, and so on.
    Restart,
}

/// The first line of a script, if it has settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Version of the form; 1.
    script: u32,
    #[serde(default = "default_name")]
    pub(super) name: String,
    #[serde(default)]
    pub(super) window: Option<u32>,
    #[serde(default)]
    pub(super) after_last: AfterLast,
}

impl Default for Settings {
    fn default() -> Self {
        Self { script: 1, name: default_name(), window: None, after_last: AfterLast::default() }
    }
}

fn default_name() -> String {
    "scripted".to_owned()
}

/// Which prompts an answer is for; all that is given must hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    #[serde(default)]
    system_contains: Option<String>,
    #[serde(default)]
    user_contains: Option<String>,
}

impl When {
    pub(super) fn holds(&self, prompt: &Prompt) -> bool {
        let has = |part: &Option<String>, text: &str| part.as_ref().is_none_or(|part| text.contains(part.as_str()));
        has(&self.system_contains, &prompt.system) && has(&self.user_contains, &prompt.user)
    }
}

/// A line of a script.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    answer: Option<String>,
    error: Option<ErrorKind>,
    when: Option<When>,
    times: Option<u32>,
    finish: Option<FinishName>,
    input_tokens: Option<u32>,
    output_tokens: Option<u32>,
    delay_ms: Option<u64>,
    reason: Option<String>,
    after_ms: Option<u64>,
    window: Option<u32>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FinishName {
    Complete,
    Truncated,
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ErrorKind {
    Absent,
    TooLong,
    OverBudget,
    RateLimited,
    Timeout,
    Unavailable,
    Unreachable,
    Provider,
}

/// An answer, and for what.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) when: Option<When>,
    /// How often it is given; `None` is always.
    pub(super) times: Option<u32>,
    pub(super) delay: Duration,
    pub(super) answer: Result<Completion, ModelError>,
}

/// Reads a script. `path` is for its errors.
pub(super) fn parse(text: &str, path: &Path) -> Result<(Settings, Vec<Step>), ScriptError> {
    let wrong = |line: usize, reason: String| ScriptError::Line { path: path.to_owned(), line, reason };
    let mut settings = Settings::default();
    let mut steps = Vec::new();
    let written = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    for (position, (number, line)) in written.filter(|(_, line)| !line.is_empty()).enumerate() {
        let value: serde_json::Value =
            serde_json::from_str(line).map_err(|error| wrong(number, format!("not JSON: {error}")))?;
        if value.get("script").is_some() {
            if position > 0 {
                return Err(wrong(number, "settings (`script`) belong into the first line".to_owned()));
            }
            settings = serde_json::from_value(value).map_err(|error| wrong(number, error.to_string()))?;
            if settings.script != 1 {
                let reason = format!("version {} of the form is not known; write \"script\": 1", settings.script);
                return Err(wrong(number, reason));
            }
            continue;
        }
        let line: Line = serde_json::from_value(value).map_err(|error| wrong(number, error.to_string()))?;
        steps.push(step(line).map_err(|reason| wrong(number, reason))?);
    }
    if steps.is_empty() {
        return Err(ScriptError::Empty { path: path.to_owned() });
    }
    Ok((settings, steps))
}

fn step(line: Line) -> Result<Step, String> {
    let answer = match (&line.answer, line.error) {
        (Some(text), None) => Ok(completion(text.clone(), &line)?),
        (None, Some(kind)) => Err(error(kind, &line)?),
        (Some(_), Some(_)) => return Err("`answer` and `error` in one line; an answer is one or the other".to_owned()),
        (None, None) => return Err("neither `answer` nor `error`; one of them has to be there".to_owned()),
    };
    if line.times == Some(0) {
        return Err("`times` is 0, so the line would never be used; leave the line out".to_owned());
    }
    // In a sequence each line is one answer; for a match it stands as long as it is not limited.
    let times = if line.when.is_some() { line.times } else { Some(line.times.unwrap_or(1)) };
    Ok(Step { when: line.when, times, delay: Duration::from_millis(line.delay_ms.unwrap_or(0)), answer })
}

fn completion(text: String, line: &Line) -> Result<Completion, String> {
    for (key, given) in
        [("reason", line.reason.is_some()), ("after_ms", line.after_ms.is_some()), ("window", line.window.is_some())]
    {
        if given {
            return Err(format!("`{key}` is for errors, and this line is an answer"));
        }
    }
    let finish = match line.finish {
        None | Some(FinishName::Complete) => Finish::Complete,
        Some(FinishName::Truncated) => Finish::Truncated,
        Some(FinishName::Refused) => Finish::Refused,
    };
    let (input_tokens, output_tokens) = (line.input_tokens.unwrap_or(0), line.output_tokens.unwrap_or(0));
    Ok(Completion { text, finish, input_tokens, output_tokens })
}

fn error(kind: ErrorKind, line: &Line) -> Result<ModelError, String> {
    let after = line.after_ms.map(Duration::from_millis);
    let reason = || line.reason.clone().unwrap_or_else(|| "scripted".to_owned());
    let waits = matches!(kind, ErrorKind::RateLimited | ErrorKind::Unavailable);
    let explains = matches!(kind, ErrorKind::Unavailable | ErrorKind::Unreachable | ErrorKind::Provider);
    for (key, given, fits) in [
        ("after_ms", line.after_ms.is_some(), waits),
        ("reason", line.reason.is_some(), explains),
        ("window", line.window.is_some(), kind == ErrorKind::TooLong),
        ("finish", line.finish.is_some(), false),
        ("input_tokens", line.input_tokens.is_some(), false),
        ("output_tokens", line.output_tokens.is_some(), false),
    ] {
        if given && !fits {
            return Err(format!("`{key}` means nothing for this error; leave it out"));
        }
    }
    Ok(match kind {
        ErrorKind::Absent => ModelError::Absent,
        ErrorKind::TooLong => ModelError::TooLong { window: line.window },
        ErrorKind::OverBudget => ModelError::OverBudget,
        ErrorKind::RateLimited => ModelError::RateLimited { after },
        ErrorKind::Timeout => ModelError::Timeout,
        ErrorKind::Unavailable => ModelError::Unavailable { reason: reason(), after },
        ErrorKind::Unreachable => ModelError::Unreachable(reason()),
        ErrorKind::Provider => ModelError::Provider(reason()),
    })
}
