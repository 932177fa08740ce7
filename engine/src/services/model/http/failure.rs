//! What a failure of a provider means.

use std::error::Error as _;

use jiff::Timestamp;
use reqwest::header::{self, HeaderMap};
use serde_json::Value;

use super::super::{ModelError, is_overflow};
use super::hints;
use crate::redact::redact_known;

/// How much of a provider's words is quoted, in bytes.
const EXCERPT: usize = 400;

/// Why a body is no answer.
#[derive(Debug, PartialEq)]
pub(super) enum Shape {
    /// A part is not there.
    Missing(&'static str),
    /// The model called a tool, and none was offered.
    Tool,
    /// The server reports an error within the answer.
    Failed(Value),
}

impl Shape {
    pub(super) fn missing(part: &'static str) -> Self {
        Self::Missing(part)
    }

    pub(super) fn failed(error: &Value) -> Self {
        Self::Failed(error.clone())
    }
}

/// Makes errors that say where they come from and hold no secret.
#[derive(Debug)]
pub(super) struct Failure<'a> {
    pub(super) origin: String,
    pub(super) window: Option<u32>,
    /// What the request was made with.
    pub(super) secrets: Vec<&'a str>,
}

impl Failure<'_> {
    /// No answer, or only the beginning of one.
    pub(super) fn transport(&self, error: &reqwest::Error) -> ModelError {
        let words = self.excerpt(&words(error));
        if error.is_connect() {
            return ModelError::Unreachable(format!("{}{words}", self.origin));
        }
        if error.is_timeout() {
            return ModelError::Timeout;
        }
        if error.is_builder() {
            return ModelError::Provider(format!("the request to {} cannot be made{words}", self.origin));
        }
        ModelError::Unavailable { reason: format!("the connection to {} broke{words}", self.origin), after: None }
    }

    /// An answer that is no success.
    pub(super) fn status(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ModelError {
        let text = String::from_utf8_lossy(body);
        let json: Option<Value> = serde_json::from_str(&text).ok();
        let error = json.as_ref().map(|json| json.get("error").unwrap_or(json));
        let said = match error.and_then(message) {
            Some(message) => self.excerpt(message),
            None => self.page(headers, &text),
        };
        // The code may say more than the message: all of it is looked at, within what was read.
        let overflow = matches!(status, 400 | 413 | 422 | 500) && is_overflow(&text);
        if overflow {
            return ModelError::TooLong { window: self.window };
        }
        let after = hints::wait(headers, Timestamp::now());
        let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
        let hint = match status {
            300..=399 => format!(
                "; it redirects to {}: write that as `base_url`",
                self.excerpt(location.unwrap_or("an unnamed place")).trim_start_matches(": ")
            ),
            401 | 403 => "; check the key that `api_key_env` names".to_owned(),
            404 => "; check `base_url` and `name`".to_owned(),
            _ => String::new(),
        };
        let reason = format!("{} answered {status}{said}{hint}", self.origin);
        match status {
            429 if is_bill(&text) => ModelError::Provider(reason),
            429 => ModelError::RateLimited { after },
            408 | 425 | 500..=599 => ModelError::Unavailable { reason, after },
            _ => ModelError::Provider(reason),
        }
    }

    /// An error that came with status 200.
    pub(super) fn reported(&self, error: &Value, headers: &HeaderMap, body: &[u8]) -> ModelError {
        let code = error.get("code").and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
        let kind = error.get("type").and_then(Value::as_str).unwrap_or_default();
        let status = match code.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code)) {
            Some(code) => code,
            None if kind.contains("overloaded") => 529,
            None if kind.contains("rate_limit") => 429,
            None => 400,
        };
        self.status(status, headers, body)
    }

    /// An answer that is not JSON.
    pub(super) fn not_json(&self, headers: &HeaderMap, body: &[u8]) -> ModelError {
        let said = match body.is_empty() {
            true => " nothing".to_owned(),
            false => format!(" what is not JSON{}", self.page(headers, &String::from_utf8_lossy(body))),
        };
        ModelError::Provider(format!("{} answered{said}; is `base_url` the address of its API?", self.origin))
    }

    /// An answer that is JSON, and none that the protocol has.
    pub(super) fn shape(&self, wrong: Shape, body: &[u8]) -> ModelError {
        match wrong {
            Shape::Missing(part) => ModelError::Provider(format!(
                "{} answered without {part}{}",
                self.origin,
                self.excerpt(&String::from_utf8_lossy(&body[..body.len().min(4 * EXCERPT)]))
            )),
            Shape::Tool => ModelError::Provider("the model called a tool, although none was offered".to_owned()),
            Shape::Failed(error) => self.reported(&error, &HeaderMap::new(), error.to_string().as_bytes()),
        }
    }

    /// What a body that is no error of an API says: a page of a proxy by its title, anything else by its beginning.
    fn page(&self, headers: &HeaderMap, text: &str) -> String {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let text = text.trim();
        if text.is_empty() {
            return String::new();
        }
        let start = text.get(..15).unwrap_or(text).to_ascii_lowercase();
        if kind.contains("html") || start.starts_with("<!doctype html") || start.starts_with("<html") {
            let title = text.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
            return match title {
                Some((title, _)) => format!(" with an HTML page{}", self.excerpt(title)),
                None => " with an HTML page".to_owned(),
            };
        }
        self.excerpt(text)
    }

    /// `: ` and the beginning of a text, on one line, without secrets. They are taken out before the text is cut, as the
    /// beginning of a key is not known for one.
    fn excerpt(&self, text: &str) -> String {
        let text = redact_known(text, &self.secrets);
        let mut line = String::new();
        for word in text.split_whitespace() {
            if line.len() > EXCERPT {
                break;
            }
            line.push_str(if line.is_empty() { ": " } else { " " });
            line.extend(word.chars().filter(|c| !c.is_control()).take(EXCERPT));
        }
        if line.len() > EXCERPT {
            line.truncate(line.floor_char_boundary(EXCERPT));
            line.push('…');
        }
        line
    }
}

/// The message of an error as APIs write it.
fn message(error: &Value) -> Option<&str> {
    let nested = || error.get("message").or_else(|| error.get("detail")).and_then(Value::as_str);
    error.as_str().or_else(nested)
}

/// Is a limit one of money, which waiting does not lift?
fn is_bill(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["insufficient_quota", "billing", "credit balance", "payment required"].iter().any(|words| text.contains(words))
}

/// An error of the client with its causes, without the URL.
pub(super) fn words(error: &reqwest::Error) -> String {
    let mut words = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if words.last() != Some(&said) {
            words.push(said);
        }
        cause = error.source();
    }
    if words.is_empty() {
        words.push(if error.is_timeout() { "it took too long".to_owned() } else { "no cause is given".to_owned() });
    }
    words.join(": ")
}
