//! A session and a host in memory, so that a strategy is tested natively, without a component and without a model.
//!
//! [`MemoryView`] assumes well-formed sessions: a result follows its call. Groups, turns and marks are computed by the
//! simple rules that hold there; what a real host does with displaced or repeated ids is not modelled.
//!
//! ```
//! use contextengine_sdk::memory::{MemoryView, TestHost};
//! use contextengine_sdk::{Prompt, Span, View};
//!
//! let view = MemoryView::new()
//!     .system("Be brief.").pinned()
//!     .user("What does main.rs do?")
//!     .assistant("I look.").call("1", "read", r#"{"path":"src/main.rs"}"#)
//!     .result("1", "fn main() {}")
//!     .assistant("Nothing.");
//! let entries = view.entries(Span::new(2, 4));
//! assert_eq!(entries[0].group, entries[1].group, "a call and its result stand or fall together");
//!
//! let host = TestHost::new().answers(["## Goal\nUnderstand main.rs."]);
//! let completion = host.complete(&Prompt::new("Summarise.", "…", 500))?;
//! assert!(completion.text.starts_with("## Goal"));
//! assert_eq!(host.prompts()[0].system, "Summarise.");
//! # use contextengine_sdk::Services;
//! # Ok::<(), contextengine_sdk::ModelError>(())
//! ```

mod check;
mod host;
mod view;

use crate::types::{CompressRequest, Pressure, Trigger};
use crate::view::View;

pub use check::check_plan;
pub use host::TestHost;
pub use view::MemoryView;

/// The pressure of a view in a window of so many tokens, with nothing held back, as a person who asks for a compaction
/// would cause it. Change the fields that a test is about.
pub fn pressure(view: &dyn View, window: u32) -> Pressure {
    let tokens = view.all().iter().fold(0, |sum: u32, entry| sum.saturating_add(entry.tokens));
    Pressure {
        trigger: Trigger::Manual,
        window,
        reserve: 0,
        overhead: 0,
        budget: window,
        entries: tokens,
        measured: None,
        cache: None,
        now: 0.0,
        extras: Vec::new(),
    }
}

/// A request to compress a view to `target` tokens, in a window of so many. Change the fields that a test is about.
pub fn request(view: &dyn View, target: u32) -> CompressRequest {
    CompressRequest {
        pressure: pressure(view, target),
        target,
        focus: None,
        memory: Vec::new(),
        corrections: Vec::new(),
        extras: Vec::new(),
    }
}

/// Tokens of a text by the rule of thumb that four bytes are a token, rounded up.
pub fn quarter_of_bytes(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
}

/// The longest prefix of at most `limit` bytes that ends at a character boundary.
fn limited(text: &str, limit: Option<u32>) -> &str {
    limit.map_or(text, |limit| crate::budget::head_bytes(text, limit as usize))
}

#[cfg(test)]
mod tests;
