//! Writing a plan that the host accepts.
//!
//! The host refuses a plan that does not account for every position exactly once, that splits a group, that loses what
//! must stay, or that puts a text between a call and its result. A [`PlanBuilder`] starts with everything kept and
//! refuses each step that would lead there, so that [`build`](PlanBuilder::build) cannot fail.

mod error;

use std::collections::BTreeSet;

pub use error::PlanError;

use crate::cut::Layout;
use crate::types::{Dropped, EntryKind, Marks, Note, NoteRole, Plan, Position, Rewrite, Segment, Span, Summary};
use crate::view::View;

/// What becomes of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Keep,
    /// Index into `rewrites`.
    Rewrite(usize),
    Fold,
    /// Index into `reasons`.
    Drop(usize),
}

/// A text that enters the plan before a position.
#[derive(Debug, Clone)]
struct Insert {
    before: Position,
    segment: Segment,
}

/// Builds a plan over a view.
///
/// ```
/// use contextengine_sdk::{memory::MemoryView, plan::PlanBuilder, Segment, Span};
///
/// let view = MemoryView::new()
///     .system("rules").pinned()
///     .user("fix it").call("1", "bash", "{}").result("1", "done").assistant("fixed")
///     .user("thanks");
/// let mut plan = PlanBuilder::new(&view);
/// let old = plan.layout().foldable(Span::new(0, 5));
/// plan.fold(old, "The user asked for a fix; it was made.")?;
/// let plan = plan.build();
/// assert!(matches!(&plan.segments[..], [
///     Segment::Keep(Span { start: 0, end: 1 }),
///     Segment::Summary(_),
///     Segment::Keep(Span { start: 5, end: 6 }),
/// ]));
/// # Ok::<(), contextengine_sdk::plan::PlanError>(())
/// ```
#[derive(Debug, Clone)]
pub struct PlanBuilder {
    layout: Layout,
    fates: Vec<Fate>,
    released: BTreeSet<Position>,
    inserts: Vec<Insert>,
    rewrites: Vec<Rewrite>,
    reasons: Vec<String>,
}

impl PlanBuilder {
    /// Everything is kept.
    pub fn new(view: &dyn View) -> Self {
        Self::over(Layout::read(view))
    }

    /// Everything is kept, over a view whose layout was read already.
    pub fn over(layout: Layout) -> Self {
        Self {
            fates: vec![Fate::Keep; layout.entries().len()],
            layout,
            released: BTreeSet::new(),
            inserts: Vec::new(),
            rewrites: Vec::new(),
            reasons: Vec::new(),
        }
    }

    /// What the plan is built over.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Allows the group of this entry to be folded or dropped although it must stay by the host's default rules.
    ///
    /// The host checks nonetheless: use it only where its policy is known to allow it, as for an entry that the
    /// plugin itself had pinned.
    pub fn release(&mut self, at: Position) -> &mut Self {
        self.released.extend(self.layout.group(at));
        self
    }

    /// Replaces whole groups by a summary.
    ///
    /// It stands where the first of them stood, or after it where that place lies between a kept call and its result.
    pub fn fold(
        &mut self,
        positions: impl IntoIterator<Item = Position>,
        text: impl Into<String>,
    ) -> Result<&mut Self, PlanError> {
        self.fold_with(positions, text, None)
    }

    /// Like [`fold`](Self::fold), with JSON for programs that is stored with the compaction.
    pub fn fold_with(
        &mut self,
        positions: impl IntoIterator<Item = Position>,
        text: impl Into<String>,
        details: Option<String>,
    ) -> Result<&mut Self, PlanError> {
        let text = words(text)?;
        let positions = self.whole_groups(positions)?;
        let first = positions.first().copied().ok_or(PlanError::Nothing)?;
        self.set(&positions, Fate::Fold);
        let covers = Span::over(positions);
        let segment = Segment::Summary(Summary { covers, text, details });
        self.inserts.push(Insert { before: first, segment });
        Ok(self)
    }

    /// Takes whole groups out, with nothing in their place.
    pub fn drop(
        &mut self,
        positions: impl IntoIterator<Item = Position>,
        reason: impl Into<String>,
    ) -> Result<&mut Self, PlanError> {
        let positions = self.whole_groups(positions)?;
        if positions.is_empty() {
            return Err(PlanError::Nothing);
        }
        self.set(&positions, Fate::Drop(self.reasons.len()));
        self.reasons.push(reason.into());
        Ok(self)
    }

    /// Takes the whole group of an entry out.
    pub fn drop_group(&mut self, at: Position, reason: impl Into<String>) -> Result<&mut Self, PlanError> {
        let group = self.layout.group(at).to_vec();
        if group.is_empty() {
            return Err(PlanError::BeyondEnd(vec![at]));
        }
        self.drop(group, reason)
    }

    /// Replaces the text of one tool result; the call that it answers stays as it is.
    pub fn rewrite(
        &mut self,
        at: Position,
        text: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<&mut Self, PlanError> {
        let text = words(text)?;
        let entry = self.layout.entry(at).ok_or_else(|| PlanError::BeyondEnd(vec![at]))?;
        if entry.kind != EntryKind::ToolResult {
            return Err(PlanError::NotAToolResult(at));
        }
        if entry.marks.contains(Marks::PINNED) && !self.released.contains(&at) {
            return Err(PlanError::Required(vec![at]));
        }
        if self.fates[at as usize] != Fate::Keep {
            return Err(PlanError::Taken(vec![at]));
        }
        self.fates[at as usize] = Fate::Rewrite(self.rewrites.len());
        self.rewrites.push(Rewrite { at, text, reason: reason.into() });
        Ok(self)
    }

    /// Adds a text before a position, or at the end for the length of the view.
    ///
    /// It stands after that place where it lies between a kept call and its result.
    pub fn note(
        &mut self,
        before: Position,
        role: NoteRole,
        text: impl Into<String>,
        source: impl Into<String>,
    ) -> Result<&mut Self, PlanError> {
        if before > self.layout.len() {
            return Err(PlanError::BeyondEnd(vec![before]));
        }
        let segment = Segment::Note(Note { role, text: words(text)?, source: source.into() });
        self.inserts.push(Insert { before, segment });
        Ok(self)
    }

    /// No step was taken.
    pub fn is_unchanged(&self) -> bool {
        self.inserts.is_empty() && self.fates.iter().all(|&fate| fate == Fate::Keep)
    }

    /// Tokens of the entries that stay, before rewriting; summaries and notes are not in it.
    pub fn kept_tokens(&self) -> u64 {
        let kept = self.layout.entries().iter().zip(&self.fates).filter(|(_, fate)| stays(**fate));
        kept.map(|(entry, _)| u64::from(entry.tokens)).sum()
    }

    /// The plan: every position exactly once, in order.
    ///
    /// A summary that stands for entries behind the last kept one goes to the end where the request would otherwise end
    /// with the model's words: hosts refuse that, as the model would have nothing to answer.
    pub fn build(mut self) -> Plan {
        self.answer_the_model();
        let open = self.layout.gaps_outside_groups(|at| stays(self.fates[at as usize]));
        let inserts = placed(self.inserts, &open);
        let mut rewrites: Vec<Option<Rewrite>> = self.rewrites.into_iter().map(Some).collect();
        let mut segments = Vec::new();
        let mut waiting = inserts.into_iter().peekable();
        for at in 0..=self.layout.len() {
            while let Some(insert) = waiting.next_if(|insert| insert.before == at) {
                segments.push(insert.segment);
            }
            match self.fates.get(at as usize) {
                Some(Fate::Keep) => keep(&mut segments, at),
                Some(&Fate::Drop(reason)) => leave_out(&mut segments, at, &self.reasons[reason]),
                Some(&Fate::Rewrite(index)) => segments.extend(rewrites[index].take().map(Segment::Rewrite)),
                Some(Fate::Fold) | None => {}
            }
        }
        Plan { segments }
    }

    /// Moves the newest summary behind the model's last words, if nothing else would stand there.
    fn answer_the_model(&mut self) {
        let kind = |at: Position| self.layout.entry(at).map(|entry| entry.kind);
        let spoken = |at: &Position| kind(*at) != Some(EntryKind::System);
        let staying = || (0..self.layout.len()).filter(|&at| stays(self.fates[at as usize])).filter(spoken);
        let (Some(first), Some(last)) = (staying().next(), staying().next_back()) else { return };
        // A request that began with the user's words has to begin so.
        let begins = (0..self.layout.len()).find(spoken).and_then(kind) == Some(EntryKind::Assistant);
        let is_models = |at: Position| kind(at) == Some(EntryKind::Assistant);
        let end = self.layout.len();
        let covers_newer = |insert: &&mut Insert| match &insert.segment {
            Segment::Summary(summary) => summary.covers.last().is_some_and(|span| span.end > last + 1),
            _ => false,
        };
        if !is_models(last) || is_models(first) && !begins {
            return;
        }
        if let Some(newest) = self.inserts.iter_mut().rfind(covers_newer) {
            newest.before = end;
        }
    }

    fn set(&mut self, positions: &[Position], fate: Fate) {
        for &at in positions {
            self.fates[at as usize] = fate;
        }
    }

    /// The positions ascending and once each, if they can be taken out.
    fn whole_groups(&self, positions: impl IntoIterator<Item = Position>) -> Result<Vec<Position>, PlanError> {
        let wanted: BTreeSet<Position> = positions.into_iter().collect();
        let those = |test: &dyn Fn(Position) -> bool| -> Vec<Position> {
            wanted.iter().copied().filter(|&at| test(at)).collect()
        };
        refuse(those(&|at| at >= self.layout.len()), PlanError::BeyondEnd)?;
        refuse(those(&|at| self.layout.is_required(at) && !self.released.contains(&at)), PlanError::Required)?;
        refuse(those(&|at| self.fates[at as usize] != Fate::Keep), PlanError::Taken)?;
        let members = wanted.iter().flat_map(|&at| self.layout.group(at)).copied();
        let missing: BTreeSet<Position> = members.filter(|member| !wanted.contains(member)).collect();
        refuse(missing.into_iter().collect(), PlanError::SplitsGroup)?;
        Ok(wanted.into_iter().collect())
    }
}

fn refuse(positions: Vec<Position>, error: impl FnOnce(Vec<Position>) -> PlanError) -> Result<(), PlanError> {
    if positions.is_empty() { Ok(()) } else { Err(error(positions)) }
}

fn words(text: impl Into<String>) -> Result<String, PlanError> {
    let text = text.into();
    if text.trim().is_empty() { Err(PlanError::EmptyText) } else { Ok(text) }
}

fn stays(fate: Fate) -> bool {
    matches!(fate, Fate::Keep | Fate::Rewrite(_))
}

/// Moves each text forward to the next place that no kept group reaches over, and sorts by place; texts of one place
/// stay in the order in which they were added.
fn placed(mut inserts: Vec<Insert>, open: &[bool]) -> Vec<Insert> {
    inserts.sort_by_key(|insert| insert.before);
    for insert in &mut inserts {
        while !open.get(insert.before as usize).copied().unwrap_or(true) {
            insert.before += 1;
        }
    }
    inserts
}

fn keep(segments: &mut Vec<Segment>, at: Position) {
    match segments.last_mut() {
        Some(Segment::Keep(span)) if span.end == at => span.end = at + 1,
        _ => segments.push(Segment::Keep(Span::one(at))),
    }
}

fn leave_out(segments: &mut Vec<Segment>, at: Position, reason: &str) {
    match segments.last_mut() {
        Some(Segment::Drop(dropped)) if dropped.range.end == at && dropped.reason == reason => {
            dropped.range.end = at + 1;
        }
        _ => segments.push(Segment::Drop(Dropped { range: Span::one(at), reason: reason.to_owned() })),
    }
}

#[cfg(test)]
mod tests;
