//! Values and types in words.

use serde_json::Value as Json;

/// What a value is, with its article.
pub(super) fn what(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(true) => "true",
        Json::Bool(false) => "false",
        Json::Number(number) if number.is_f64() => "a number with a point",
        Json::Number(_) => "a whole number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "a table",
    }
}

/// A type of JSON Schema, with its article.
pub(super) fn type_words(name: &str) -> &str {
    match name {
        "null" => "null",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a text",
        "array" => "a list",
        "object" => "a table",
        other => other,
    }
}

/// `a, b or c`.
pub(super) fn either(words: &[String]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => "nothing".to_owned(),
    }
}

/// A value as a message shows it: short.
pub(super) fn short(value: &Json) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
