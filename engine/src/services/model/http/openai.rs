//! Chat completions, as OpenAI has them and many servers speak them.

use serde_json::{Map, Value, json};

use super::super::{Completion, Finish, Prompt};
use super::failure::Shape;

/// The body of a request; `limit` is the field for the longest answer.
pub(super) fn request(model: &str, prompt: &Prompt, limit: &str) -> Value {
    let mut messages = Vec::new();
    if !prompt.system.is_empty() {
        messages.push(json!({ "role": "system", "content": prompt.system }));
    }
    messages.push(json!({ "role": "user", "content": prompt.user }));
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    body.insert("messages".into(), messages.into());
    body.insert(limit.into(), prompt.max_output_tokens.into());
    if let Some(temperature) = prompt.temperature.and_then(number) {
        body.insert("temperature".into(), temperature);
    }
    if !prompt.stop.is_empty() {
        body.insert("stop".into(), prompt.stop.clone().into());
    }
    body.insert("stream".into(), false.into());
    body.into()
}

/// The answer in a body. Its text may be empty.
pub(super) fn answer(body: &Value) -> Result<Completion, Shape> {
    let choices = body.get("choices").and_then(Value::as_array).ok_or(Shape::missing("choices"))?;
    let choice = choices.first().ok_or(Shape::missing("choices[0]"))?;
    if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
        return Err(Shape::failed(error));
    }
    let message = choice.get("message").ok_or(Shape::missing("choices[0].message"))?;
    let text = text(message.get("content"))?;
    let refusal = message.get("refusal").and_then(Value::as_str).filter(|refusal| !refusal.is_empty());
    let reason = choice.get("finish_reason").and_then(Value::as_str);
    let finish = match reason {
        _ if refusal.is_some() => Finish::Refused,
        Some("length" | "max_tokens" | "model_length") => Finish::Truncated,
        Some("content_filter" | "refusal" | "safety") => Finish::Refused,
        Some("error") => return Err(Shape::failed(choice)),
        Some("tool_calls" | "function_call") if text.trim().is_empty() => return Err(Shape::Tool),
        // `stop`, and what other servers call it; some say nothing.
        _ => Finish::Complete,
    };
    let text = if text.is_empty() { refusal.unwrap_or_default().to_owned() } else { text };
    let (input_tokens, output_tokens) = usage(body, "prompt_tokens", "completion_tokens");
    Ok(Completion { text, finish, input_tokens, output_tokens })
}

/// A text, or parts of which some are text; reasoning is a part of another type, or a field of its own.
fn text(content: Option<&Value>) -> Result<String, Shape> {
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => Ok(parts
            .iter()
            .filter(|part| {
                part.get("type").and_then(Value::as_str).is_none_or(|kind| matches!(kind, "text" | "output_text"))
            })
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect()),
        Some(_) => Err(Shape::missing("choices[0].message.content as text")),
    }
}

/// Tokens of prompt and answer; 0 where the server does not say.
pub(super) fn usage(body: &Value, input: &str, output: &str) -> (u32, u32) {
    let usage = body.get("usage");
    let tokens = |key: &str| usage.and_then(|usage| usage.get(key)).and_then(Value::as_u64).unwrap_or(0);
    let small = |tokens: u64| u32::try_from(tokens).unwrap_or(u32::MAX);
    (small(tokens(input)), small(tokens(output)))
}

/// As written, not as the nearest double: 0.2 and not 0.20000000298.
pub(super) fn number(value: f32) -> Option<Value> {
    let value: f64 = value.to_string().parse().ok()?;
    serde_json::Number::from_f64(value).map(Value::Number)
}
