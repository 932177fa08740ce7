use std::ops::Range;

use crate::transcript::Role;

/// Half-open range of positions in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// First position.
    pub start: u32,
    /// One past the last position.
    pub end: u32,
}

impl Span {
    /// The positions from `start` up to, not including, `end`.
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// How many positions; 0 if the span is reversed.
    pub fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Holds no position.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl From<Range<u32>> for Span {
    fn from(range: Range<u32>) -> Self {
        Self::new(range.start, range.end)
    }
}

/// Covered entries are replaced by a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What it stands for.
    pub covers: Vec<Span>,
    /// What the model will read.
    pub text: String,
    /// JSON for programs.
    pub details: Option<String>,
}

/// The text of one tool result is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// Position of the tool result.
    pub at: u32,
    /// The new text.
    pub text: String,
    /// Why, for people.
    pub reason: String,
}

/// Text that a plugin adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The role under which the model reads it; never [`Role::Tool`].
    pub role: Role,
    /// The text.
    pub text: String,
    /// Where it comes from, for people.
    pub source: String,
}

/// Entries that leave the context with nothing in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Which.
    pub range: Span,
    /// Why, for people.
    pub reason: String,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// These entries stay, byte for byte.
    Keep(Span),
    /// This tool result stays with another text.
    Rewrite(Rewrite),
    /// These entries are replaced by a text.
    Summary(Summary),
    /// This text is added.
    Note(Note),
    /// These entries go.
    Drop(Dropped),
}

/// What a strategy proposes: the new context, in the order in which the model will read it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The steps.
    pub segments: Vec<Segment>,
}
