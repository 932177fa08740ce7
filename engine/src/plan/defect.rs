//! What can be wrong with a plan.

use std::fmt;

/// Kind of a defect. Its name is part of the plugin ABI: it arrives in `request.corrections`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DefectKind {
    /// A position, or a range, that the view does not have.
    OutOfRange,
    /// A position that no segment speaks of.
    Unaccounted,
    /// A position that two segments speak of.
    AccountedTwice,
    /// Kept entries change places, or a summary stands before what it covers.
    OutOfOrder,
    /// A group is neither kept, nor covered by one summary, nor dropped as a whole.
    SplitGroup,
    /// A pinned entry does not stay as it is.
    LostPinned,
    /// A call that awaits its result, or a sibling of one, does not stay as it is.
    LostInFlight,
    /// The latest request of the user does not stay as it is.
    LostRequest,
    /// Nothing is left that the model could answer to.
    NoUserTurn,
    /// A provider would refuse the order of messages.
    BadAlternation,
    /// A rewrite of an entry that holds calls.
    RewroteArguments,
    /// A rewrite of words of the user, the model or the host.
    RewroteWords,
    /// The context would not shrink.
    NotSmaller,
    /// The context would shrink by too little.
    NoProgress,
    /// The context would not fit although it must.
    OverTarget,
    /// A summary without words.
    EmptySummary,
    /// A summary that covers nothing.
    CoversNothing,
    /// A summary without a section that the gate asks for. The explanation is the heading.
    MissingSection,
    /// A summary that ends within a code block or a sentence.
    Truncated,
    /// A summary that holds a line of the template that it was to fill in.
    TemplateEcho,
    /// A summary of few words for a large fold.
    TooSmallForFold,
    /// A summary with the markup of a tool call.
    ToolMarkup,
    /// A summary without names that the gate asks for. The explanation lists them.
    LostIdentifiers,
}

impl DefectKind {
    /// The name that plugins and logs know, as in `split-group`.
    pub fn name(self) -> &'static str {
        match self {
            DefectKind::OutOfRange => "out-of-range",
            DefectKind::Unaccounted => "unaccounted",
            DefectKind::AccountedTwice => "accounted-twice",
            DefectKind::OutOfOrder => "out-of-order",
            DefectKind::SplitGroup => "split-group",
            DefectKind::LostPinned => "lost-pinned",
            DefectKind::LostInFlight => "lost-in-flight",
            DefectKind::LostRequest => "lost-request",
            DefectKind::NoUserTurn => "no-user-turn",
            DefectKind::BadAlternation => "bad-alternation",
            DefectKind::RewroteArguments => "rewrote-arguments",
            DefectKind::RewroteWords => "rewrote-words",
            DefectKind::NotSmaller => "not-smaller",
            DefectKind::NoProgress => "no-progress",
            DefectKind::OverTarget => "over-target",
            DefectKind::EmptySummary => "empty-summary",
            DefectKind::CoversNothing => "covers-nothing",
            DefectKind::MissingSection => "missing-section",
            DefectKind::Truncated => "truncated",
            DefectKind::TemplateEcho => "template-echo",
            DefectKind::TooSmallForFold => "too-small-for-fold",
            DefectKind::ToolMarkup => "tool-markup",
            DefectKind::LostIdentifiers => "lost-identifiers",
        }
    }
}

impl fmt::Display for DefectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing that is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Defect {
    /// What kind of thing.
    pub kind: DefectKind,
    /// The first position concerned, if it is about entries.
    pub position: Option<u32>,
    /// Index of the segment concerned, if it is about one.
    pub segment: Option<u32>,
    /// What is wrong and what would be right.
    pub explanation: String,
}

impl Defect {
    pub(super) fn at(kind: DefectKind, position: u32, explanation: impl Into<String>) -> Self {
        Self { kind, position: Some(position), segment: None, explanation: explanation.into() }
    }

    pub(super) fn in_segment(kind: DefectKind, segment: usize, explanation: impl Into<String>) -> Self {
        let segment = u32::try_from(segment).ok();
        Self { kind, position: None, segment, explanation: explanation.into() }
    }

    pub(super) fn of_whole(kind: DefectKind, explanation: impl Into<String>) -> Self {
        Self { kind, position: None, segment: None, explanation: explanation.into() }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(position) = self.position {
            write!(f, " at position {position}")?;
        }
        if let Some(segment) = self.segment {
            write!(f, " in segment {segment}")?;
        }
        write!(f, ": {}", self.explanation)
    }
}

/// Why the host does not apply a plan. Holds at least one defect; at most [`PlanRefused::MOST`] are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRefused {
    pub(super) defects: Vec<Defect>,
    pub(super) left_out: usize,
}

impl PlanRefused {
    /// Defects that are listed at most; a plan that is wrong all over is not worth more words.
    pub const MOST: usize = 16;

    /// What is wrong, in the order in which it was found.
    pub fn defects(&self) -> &[Defect] {
        &self.defects
    }

    /// The defects as the plugin ABI carries them back to the strategy.
    pub fn corrections(&self) -> Vec<String> {
        self.defects.iter().map(ToString::to_string).collect()
    }
}

impl fmt::Display for PlanRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the plan is refused: ")?;
        for (index, defect) in self.defects.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{defect}")?;
        }
        if self.left_out > 0 {
            write!(f, "; and {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanRefused {}

/// Collects defects up to the limit.
#[derive(Debug, Default)]
pub(super) struct Defects {
    defects: Vec<Defect>,
    left_out: usize,
}

impl Defects {
    pub(super) fn push(&mut self, defect: Defect) {
        if self.defects.len() < PlanRefused::MOST {
            self.defects.push(defect);
        } else {
            self.left_out += 1;
        }
    }

    /// An error if there is any defect.
    pub(super) fn check(&mut self) -> Result<(), PlanRefused> {
        if self.defects.is_empty() {
            return Ok(());
        }
        Err(PlanRefused { defects: std::mem::take(&mut self.defects), left_out: self.left_out })
    }
}
