//! Messages of Anthropic.

use serde_json::{Map, Value, json};

use super::super::{Completion, Finish, Prompt};
use super::failure::Shape;
use super::openai::{number, usage};

/// The body of a request.
pub(super) fn request(model: &str, prompt: &Prompt) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    body.insert("max_tokens".into(), prompt.max_output_tokens.into());
    if !prompt.system.is_empty() {
        body.insert("system".into(), prompt.system.as_str().into());
    }
    body.insert("messages".into(), json!([{ "role": "user", "content": prompt.user }]));
    if let Some(temperature) = prompt.temperature.and_then(number) {
        body.insert("temperature".into(), temperature);
    }
    if !prompt.stop.is_empty() {
        body.insert("stop_sequences".into(), prompt.stop.clone().into());
    }
    body.into()
}

/// The answer in a body. Its text may be empty.
pub(super) fn answer(body: &Value) -> Result<Completion, Shape> {
    let blocks = body.get("content").and_then(Value::as_array).ok_or(Shape::missing("content as a list"))?;
    let is_text = |block: &&Value| block.get("type").and_then(Value::as_str) == Some("text");
    let text: String =
        blocks.iter().filter(is_text).filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    let finish = match body.get("stop_reason").and_then(Value::as_str) {
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Truncated,
        Some("refusal") => Finish::Refused,
        Some("tool_use") if text.trim().is_empty() => return Err(Shape::Tool),
        // `end_turn`, `stop_sequence`.
        _ => Finish::Complete,
    };
    let (fresh, output_tokens) = usage(body, "input_tokens", "output_tokens");
    // What went into and came out of the cache is counted apart.
    let (written, read) = usage(body, "cache_creation_input_tokens", "cache_read_input_tokens");
    let input_tokens = fresh.saturating_add(written).saturating_add(read);
    Ok(Completion { text, finish, input_tokens, output_tokens })
}
