//! What a plan does with each position of the view.

use super::defect::{Defect, DefectKind, Defects};
use super::proposal::{Plan, Segment, Span};

/// What becomes of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It stays, byte for byte.
    Kept,
    /// It stays with another text.
    Rewritten,
    /// The summary in the segment with this index stands for it.
    Covered {
        /// Index of the segment.
        segment: u32,
    },
    /// It goes, and nothing stands for it.
    Dropped,
}

impl Fate {
    /// It is still in the context, changed or not.
    pub fn stays(self) -> bool {
        matches!(self, Fate::Kept | Fate::Rewritten)
    }
}

/// The fate of every position, or what is wrong with the accounting. Costs the length of the view and of the plan,
/// whatever the spans say.
pub(super) fn fates(plan: &Plan, len: u32, defects: &mut Defects) -> Vec<Option<Fate>> {
    let mut ledger = Ledger { fates: vec![None; usize::try_from(len).unwrap_or(usize::MAX)], len, defects };
    for (index, segment) in plan.segments.iter().enumerate() {
        match segment {
            Segment::Keep(span) => ledger.enter(index, *span, Fate::Kept),
            Segment::Rewrite(rewrite) => {
                ledger.enter(index, Span::new(rewrite.at, rewrite.at.saturating_add(1)), Fate::Rewritten);
            }
            Segment::Summary(summary) => {
                let fate = Fate::Covered { segment: u32::try_from(index).unwrap_or(u32::MAX) };
                for span in &summary.covers {
                    ledger.enter(index, *span, fate);
                }
            }
            Segment::Drop(dropped) => ledger.enter(index, dropped.range, Fate::Dropped),
            Segment::Note(_) => {}
        }
    }
    ledger.report_unaccounted();
    ledger.fates
}

struct Ledger<'a> {
    fates: Vec<Option<Fate>>,
    len: u32,
    defects: &'a mut Defects,
}

impl Ledger<'_> {
    fn enter(&mut self, segment: usize, span: Span, fate: Fate) {
        if span.is_empty() || span.end > self.len {
            let explanation =
                format!("{}..{} is not a range of the view, which has {} entries", span.start, span.end, self.len);
            self.defects.push(Defect::in_segment(DefectKind::OutOfRange, segment, explanation));
        }
        let mut reported = false;
        for at in span.start.min(self.len)..span.end.min(self.len) {
            let Some(slot) = usize::try_from(at).ok().and_then(|at| self.fates.get_mut(at)) else {
                return;
            };
            // One report a span: the rest of it is most likely the same mistake.
            if slot.replace(fate).is_some() && !reported {
                let explanation = "each position belongs to one segment only";
                self.defects.push(Defect::at(DefectKind::AccountedTwice, at, explanation));
                reported = true;
            }
        }
    }

    fn report_unaccounted(&mut self) {
        let mut at = 0;
        while let Some(start) = self.fates[at..].iter().position(Option::is_none).map(|found| at + found) {
            let end = self.fates[start..].iter().position(Option::is_some).map_or(self.fates.len(), |n| start + n);
            let explanation = format!("positions {start}..{end} are in no segment; keep, cover or drop them");
            let start = u32::try_from(start).unwrap_or(u32::MAX);
            self.defects.push(Defect::at(DefectKind::Unaccounted, start, explanation));
            at = end;
        }
    }
}
