//! The gate: no plan is applied that has not passed it.

use super::apply::{self, Applied};
use super::defect::{Defect, DefectKind, Defects, PlanRefused};
use super::fate::{self, Fate};
use super::gate::SummaryGate;
use super::proposal::Plan;
use super::structure;
use crate::hooks::Urgency;
use crate::tokens::EntryCounter;
use crate::view::View;

/// Under which rules a plan is verified.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Rules {
    /// Tokens that the entries should take afterwards.
    pub target: u32,
    /// [`Urgency::Hard`] makes the target a condition.
    pub urgency: Urgency,
    /// The result has to be smaller than what was there. Not so for one request, which a selector may add to.
    pub must_shrink: bool,
    /// Least share of the tokens that has to go, from 0 to 1.
    pub least_saving: f32,
    /// What is asked of summaries; off by default.
    pub gate: SummaryGate,
}

impl Rules {
    /// Least share of the tokens that has to go: 10 %. What saves less costs more in lost prompt cache than it
    /// gains, and invites a loop of compactions.
    pub const LEAST_SAVING: f32 = 0.1;

    /// The default rules for a target, not urgent.
    pub fn new(target: u32) -> Self {
        Self {
            target,
            urgency: Urgency::Soft,
            must_shrink: true,
            least_saving: Self::LEAST_SAVING,
            gate: SummaryGate::default(),
        }
    }

    /// The rules for shaping one request, of which nothing is stored: it may grow, but not beyond the budget.
    pub fn for_request(budget: u32) -> Self {
        Self { urgency: Urgency::Hard, must_shrink: false, ..Self::new(budget) }
    }

    /// Makes the target a condition, or not.
    pub fn with_urgency(mut self, urgency: Urgency) -> Self {
        self.urgency = urgency;
        self
    }

    /// Asks more of summaries.
    pub fn with_gate(mut self, gate: SummaryGate) -> Self {
        self.gate = gate;
        self
    }

    /// Another least saving, from 0 (anything smaller will do) to 1.
    pub fn with_least_saving(mut self, share: f32) -> Self {
        self.least_saving = share;
        self
    }
}

/// A plan that keeps every rule, together with its result. Only [`verify`] makes one.
#[derive(Debug, Clone)]
pub struct VerifiedPlan {
    plan: Plan,
    fates: Vec<Fate>,
    applied: Applied,
}

impl VerifiedPlan {
    /// The plan as it was proposed.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What becomes of each position of the view.
    pub fn fates(&self) -> &[Fate] {
        &self.fates
    }

    /// Tokens of the entries afterwards, by the host's count.
    pub fn tokens_after(&self) -> u32 {
        self.applied.view().tokens()
    }

    /// What the plan makes of the view.
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// The context that the plan makes. It was made to verify the plan, so this costs nothing.
    pub fn apply(self) -> Applied {
        self.applied
    }
}

/// Checks a plan against the view that it was made for. `author` is the id of the plugin that proposes it, recorded
/// with the summaries.
///
/// Structure comes first: where the accounting is wrong nothing else can be judged, so that is reported alone.
///
/// # Errors
///
/// Every defect that was found, with its position.
pub fn verify(
    plan: Plan,
    author: &str,
    view: &View,
    rules: &Rules,
    counter: &EntryCounter,
) -> Result<VerifiedPlan, PlanRefused> {
    let mut defects = Defects::default();
    let fates = fate::fates(&plan, view.len(), &mut defects);
    defects.check()?;
    let fates: Vec<Fate> = fates.into_iter().flatten().collect();
    structure::check(&plan, &fates, view, rules, counter, &mut defects);
    rules.gate.check(&plan, view, counter, &mut defects);
    defects.check()?;
    let applied = apply::apply(&plan, author, &fates, view, counter);
    structure::check_request(view, applied.view(), &mut defects);
    check_size(view, applied.view(), rules, &mut defects);
    defects.check()?;
    Ok(VerifiedPlan { plan, fates, applied })
}

fn check_size(before: &View, after: &View, rules: &Rules, defects: &mut Defects) {
    let (before, after) = (before.tokens(), after.tokens());
    if !rules.must_shrink {
        // What was too large before may stay so: shaping a request is not compacting it.
        if after > rules.target.max(before) {
            let explanation = format!("{after} tokens would be sent and at most {} fit", rules.target);
            defects.push(Defect::of_whole(DefectKind::OverTarget, explanation));
        }
        return;
    }
    if after >= before {
        let explanation = format!("{before} tokens would become {after}; a compaction has to shrink the context");
        defects.push(Defect::of_whole(DefectKind::NotSmaller, explanation));
    } else if f64::from(before - after) < f64::from(rules.least_saving) * f64::from(before) {
        let least = f64::from(rules.least_saving) * 100.0;
        let explanation = format!("{before} tokens would become {after}; at least {least:.0} % has to go");
        defects.push(Defect::of_whole(DefectKind::NoProgress, explanation));
    }
    if rules.urgency == Urgency::Hard && after > rules.target {
        let explanation = format!("{after} tokens would be left and at most {} fit", rules.target);
        defects.push(Defect::of_whole(DefectKind::OverTarget, explanation));
    }
}
