//! What goes out to a provider, and whether a provider would take it.

use std::collections::HashSet;

use contextengine::format::{self, Format};
use contextengine::view::View;
use serde_json::Value;

/// The messages of a request as OpenAI's chat has them.
///
/// # Panics
///
/// If the view cannot be rendered: every view can.
#[allow(clippy::expect_used, reason = "a test helper")]
pub fn messages(view: &View) -> Vec<Value> {
    let written = format::convert(view.entries(), Format::OpenAiChat).expect("every view can be rendered");
    serde_json::from_slice(&written.bytes).expect("a list of messages")
}

/// The rule of OpenAI's chat: after a message with calls come the results of exactly these calls, and nothing else
/// does; no result stands anywhere else.
///
/// # Errors
///
/// What breaks it first.
pub fn check_pairing(messages: &[Value]) -> Result<(), String> {
    let mut open: HashSet<&str> = HashSet::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().ok_or("a result without an id")?;
            if !open.remove(id) {
                return Err(format!("result `{id}` answers no open call"));
            }
            continue;
        }
        if !open.is_empty() {
            return Err(format!("{open:?} are not answered before {message}"));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            if !open.insert(call["id"].as_str().ok_or("a call without an id")?) {
                return Err(format!("one id for two calls: {message}"));
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} are not answered at the end")) }
}
