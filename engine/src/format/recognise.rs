//! Which format a file is of.

use super::json::{Object, array};
use super::{Format, FormatError};

/// Records that are looked at before a file counts as unknown: more than the junk that a crash leaves behind.
const LOOK: usize = 64;

pub(super) fn recognise(text: &str) -> Result<Format, FormatError> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let trimmed = text.trim_start();
    if trimmed.is_empty() {
        return Err(unrecognised("it is empty"));
    }
    if trimmed.starts_with('[') {
        return list(trimmed);
    }
    let mut objects = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()).take(LOOK) {
        let Some(object) = Object::parse(line) else { continue };
        objects += 1;
        if let Some(format) = of_record(&object) {
            return Ok(format);
        }
    }
    // A body over several lines, some of which may be objects by themselves.
    if trimmed.starts_with('{') && Object::parse(trimmed).is_some_and(|body| is_request(&body)) {
        return Ok(Format::OpenAiChat);
    }
    Err(unrecognised(if objects > 0 {
        "it has JSON objects, but none that a known format begins with"
    } else if trimmed.starts_with('{') {
        "it begins like JSON, but is broken or has no `messages`"
    } else {
        "its first records are not JSON"
    }))
}

fn of_record(object: &Object<'_>) -> Option<Format> {
    let kind = object.str("type").unwrap_or_default();
    let has = |name| object.get(name).is_some();
    match kind.as_ref() {
        "session" if object.str("id").is_some() => Some(Format::Pi),
        "user" | "assistant" | "system" | "progress" | "attachment" if has("uuid") && has("sessionId") => {
            Some(Format::ClaudeCode)
        }
        "summary" if has("leafUuid") => Some(Format::ClaudeCode),
        "file-history-snapshot" if has("snapshot") => Some(Format::ClaudeCode),
        "queue-operation" if has("operation") => Some(Format::ClaudeCode),
        _ if is_request(object) => Some(Format::OpenAiChat),
        _ => None,
    }
}

fn is_request(object: &Object<'_>) -> bool {
    object.get("messages").is_some_and(|messages| messages.get().starts_with('['))
}

fn list(text: &str) -> Result<Format, FormatError> {
    let elements = serde_json::from_str(text).ok().and_then(array);
    let Some(elements) = elements else {
        return Err(unrecognised("it begins with `[`, but is not one JSON list"));
    };
    let is_message = |raw| Object::of(raw).is_some_and(|object| object.str("role").is_some());
    if elements.is_empty() || elements.iter().take(LOOK).any(|element| is_message(element)) {
        Ok(Format::OpenAiChat)
    } else {
        Err(unrecognised("it is a JSON list, but its elements have no `role`"))
    }
}

fn unrecognised(reason: &str) -> FormatError {
    FormatError::Unrecognised { reason: reason.to_owned() }
}
