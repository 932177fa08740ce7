//! What the tests share: a plugin, a result, what becomes of it.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "tests")]

use contextengine_sdk::memory::{TestHost, quarter_of_bytes};
use contextengine_sdk::{Plugin, ReduceRequest, Reducer, Reduction, ToolResult};
use result_reducer::ResultReducer;

/// An instance.
pub fn plugin(config: &str) -> ResultReducer {
    ResultReducer::configure(config).unwrap()
}

/// A result in a window of so many tokens.
pub fn request(text: &str, failed: bool, window: u32) -> ReduceRequest {
    let tool_result = ToolResult { call_id: "1".to_owned(), name: "bash".to_owned(), text: text.to_owned(), failed };
    ReduceRequest { tool_result, tokens: quarter_of_bytes(text), window }
}

/// What the model would see, or `None` for all of it.
pub fn reduce(plugin: &ResultReducer, text: &str, failed: bool) -> Option<String> {
    match plugin.reduce(&TestHost::new(), &request(text, failed, 200_000)).unwrap() {
        Reduction::Keep => None,
        Reduction::Replace(text) => Some(text),
    }
}

/// The same, where something has to become of it.
pub fn reduced(config: &str, text: &str) -> String {
    reduce(&plugin(config), text, false).unwrap()
}
