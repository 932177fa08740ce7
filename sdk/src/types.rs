//! The values of the ABI, by their plain names, and the few constructors that make them pleasant to write.
//!
//! The types are the generated ones, so nothing is converted at the boundary. Their documentation is that of the WIT
//! package; where it and this page differ, the WIT is right.

use crate::bindings::{self, imports::contextengine::plugin as host};

pub use bindings::branch_summarizer::exports::contextengine::plugin::branch_summarizer::Request as BranchRequest;
pub use bindings::compressor::exports::contextengine::plugin::compressor::{
    Decision, Outcome, Request as CompressRequest, Verdict,
};
pub use bindings::observer::exports::contextengine::plugin::observer::{Compaction, Turn, Usage};
pub use bindings::plugin::exports::contextengine::plugin::plugin::{Description, Service};
pub use bindings::reducer::exports::contextengine::plugin::reducer::{Reduction, Request as ReduceRequest};
pub use bindings::selector::exports::contextengine::plugin::selector::Request as SelectRequest;
pub use bindings::toolbox::exports::contextengine::plugin::toolbox::Tool;
pub use host::log::Level;
pub use host::model::{Completion, Finish, ModelError, Prompt};
pub use host::recall::Hit;
pub use host::state::Scope;
pub use host::types::{
    Block, CacheState, CompactionRecord, Dropped, EntryInfo, EntryKind, Failure, Image, Marks, Note, NoteRole, Plan,
    Position, Pressure, Rewrite, Segment, Span, Summary, Texts, Timestamp, ToolCall, ToolResult, Trigger, Unavailable,
    Urgency,
};

impl CompressRequest {
    /// Tokens of recent entries that the operator wants left alone, from the wish `keep_recent` in `extras`; `None`
    /// where there is no such wish. What the plugin's own configuration says counts more.
    pub fn keep_recent(&self) -> Option<u32> {
        let wish = self.extras.iter().find(|(name, _)| name == "keep_recent")?;
        wish.1.parse().ok()
    }
}

impl Span {
    /// The positions from `start` up to, not including, `end`.
    pub fn new(start: Position, end: Position) -> Self {
        Self { start, end }
    }

    /// One position.
    pub fn one(at: Position) -> Self {
        Self::new(at, at.saturating_add(1))
    }

    /// How many positions; 0 if the span is reversed.
    pub fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Holds no position.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Holds this position.
    pub fn contains(self, at: Position) -> bool {
        self.start <= at && at < self.end
    }

    /// The positions in it, in order.
    pub fn positions(self) -> std::ops::Range<Position> {
        self.start..self.end.max(self.start)
    }

    /// Ascending positions as the fewest spans that hold exactly them; repeated positions count once.
    ///
    /// ```
    /// use contextengine_sdk::Span;
    /// assert_eq!(Span::over([1, 2, 3, 7]), [Span::new(1, 4), Span::new(7, 8)]);
    /// ```
    pub fn over(positions: impl IntoIterator<Item = Position>) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for at in positions {
            match spans.last_mut() {
                Some(last) if last.contains(at) => {}
                Some(last) if last.end == at => last.end = at.saturating_add(1),
                _ => spans.push(Span::one(at)),
            }
        }
        spans
    }
}

impl From<std::ops::Range<Position>> for Span {
    fn from(range: std::ops::Range<Position>) -> Self {
        Self::new(range.start, range.end)
    }
}

impl Texts {
    /// How many texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// There is no text.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Text `index`; empty beyond the last, or where the ends are not ascending character boundaries.
    pub fn get(&self, index: usize) -> &str {
        let end = self.ends.get(index).map_or(0, |&end| end as usize);
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |&end| end as usize);
        self.joined.get(start..end).unwrap_or("")
    }

    /// The texts, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl Description {
    /// A plugin without configuration that needs nothing granted.
    ///
    /// ```
    /// use contextengine_sdk::{Description, Service};
    /// let description = Description::new("llm-summary", "1.0.0", "Summarises with a model.")
    ///     .needs([Service::Model]);
    /// assert_eq!(description.needs, [Service::Model]);
    /// ```
    pub fn new(id: impl Into<String>, version: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            version: version.into(),
            summary: summary.into(),
            config_schema: r#"{"type":"object","additionalProperties":false}"#.to_owned(),
            needs: Vec::new(),
            extras: Vec::new(),
        }
    }

    /// The JSON Schema of the configuration. Default: an object without keys.
    #[must_use]
    pub fn config_schema(mut self, schema: impl Into<String>) -> Self {
        self.config_schema = schema.into();
        self
    }

    /// What the plugin cannot work without. Default: nothing.
    #[must_use]
    pub fn needs(mut self, services: impl IntoIterator<Item = Service>) -> Self {
        self.needs = services.into_iter().collect();
        self
    }
}

impl Decision {
    /// Not now.
    pub fn wait(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Wait, reason: reason.into() }
    }

    /// Now.
    pub fn compress(urgency: Urgency, reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Compress(urgency), reason: reason.into() }
    }
}

impl Failure {
    /// It cannot be done with this input; the host goes on to the next owner.
    pub fn declined(reason: impl Into<String>) -> Self {
        Self::Declined(reason.into())
    }

    /// A defect of the plugin.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::Failed(reason.into())
    }

    /// A service that the plugin needs did not answer.
    pub fn unavailable(reason: impl Into<String>, retry_after_ms: Option<u32>) -> Self {
        Self::Unavailable(Unavailable { reason: reason.into(), retry_after_ms })
    }
}

/// So that `host.complete(&prompt)?` says the right thing to the host: what may pass with time is `unavailable`, a
/// prompt that is too long is `declined`.
impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Absent => Self::unavailable("no model is granted to this plugin", None),
            ModelError::TooLong(Some(window)) => {
                Self::declined(format!("the prompt does not fit the model's window of {window} tokens"))
            }
            ModelError::TooLong(None) => Self::declined("the prompt does not fit the model's window"),
            ModelError::OverBudget => Self::unavailable("the allowance of model calls or tokens is spent", None),
            ModelError::RateLimited(wait) => Self::unavailable("the model's provider asks to wait", wait),
            ModelError::Timeout => Self::unavailable("the model did not answer in time", None),
            ModelError::Provider(words) => Self::unavailable(format!("the model's provider said: {words}"), None),
        }
    }
}

impl Prompt {
    /// A prompt with the provider's default randomness and no stop texts.
    pub fn new(system: impl Into<String>, user: impl Into<String>, max_output_tokens: u32) -> Self {
        Self { system: system.into(), user: user.into(), max_output_tokens, temperature: None, stop: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn spans_hold_exactly_the_positions_they_were_made_of(positions in prop::collection::btree_set(0u32..60, 0..40)) {
            let spans = Span::over(positions.iter().copied());
            prop_assert!(spans.iter().flat_map(|span| span.positions()).eq(positions));
            prop_assert!(spans.windows(2).all(|pair| pair[0].end < pair[1].start), "the fewest spans");
        }

        #[test]
        fn texts_with_any_ends_are_read_without_a_panic(joined in ".{0,20}", ends in prop::collection::vec(0u32..30, 0..6)) {
            let texts = Texts { joined, ends };
            prop_assert_eq!(texts.iter().count(), texts.len());
            prop_assert_eq!(texts.get(texts.len()), "");
        }
    }

    #[test]
    fn a_reversed_span_is_empty() {
        let span = Span::new(5, 2);
        assert!(span.is_empty() && !span.contains(3));
        assert_eq!(span.positions().count(), 0);
    }

    #[test]
    fn a_model_that_may_answer_later_is_unavailable_and_a_long_prompt_is_declined() {
        let wait = Failure::from(ModelError::RateLimited(Some(500)));
        assert!(matches!(wait, Failure::Unavailable(Unavailable { retry_after_ms: Some(500), .. })));
        assert!(matches!(Failure::from(ModelError::TooLong(Some(9))), Failure::Declined(words) if words.contains('9')));
    }
}
