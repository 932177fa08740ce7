//! The summary gate: is the text of a summary fit to stand for what it covers?
//!
//! Only what deterministic code can see: shape, size, and exact names. Whether a summary is *true* it cannot say. The
//! gate is off unless the embedder or the operator turns it on: what a summary should look like is a matter of the
//! strategy, and a gate that is too strict for it keeps sessions from ever being compacted.

mod identifiers;
mod shape;

use std::fmt;
use std::str::FromStr;

use super::defect::{Defect, DefectKind, Defects};
use super::proposal::{Plan, Segment, Summary};
use crate::tokens::EntryCounter;
use crate::transcript::EntryKind;
use crate::view::View;

pub use identifiers::identifiers;

/// What is asked of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum GatePolicy {
    /// That it is not empty.
    #[default]
    Off,
    /// That it holds the newest exact names of what it covers.
    Identifiers,
    /// That too, and its shape: sections, no cut end, no echoed template, no markup of tools, not too small.
    Strict,
}

impl GatePolicy {
    /// Every policy, from the least to the most.
    pub const ALL: [GatePolicy; 3] = [GatePolicy::Off, GatePolicy::Identifiers, GatePolicy::Strict];

    /// The name that configuration uses.
    pub fn name(self) -> &'static str {
        match self {
            GatePolicy::Off => "off",
            GatePolicy::Identifiers => "identifiers",
            GatePolicy::Strict => "strict",
        }
    }
}

impl fmt::Display for GatePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a policy of the gate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a policy of the summary gate; there are off, identifiers and strict")]
pub struct UnknownPolicy {
    /// The name that was asked for.
    pub name: String,
}

impl FromStr for GatePolicy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        GatePolicy::ALL
            .into_iter()
            .find(|policy| policy.name() == name)
            .ok_or_else(|| UnknownPolicy { name: name.to_owned() })
    }
}

/// The gate and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummaryGate {
    /// What is asked.
    pub policy: GatePolicy,
    /// Headings that a summary must have, in this order, each with content; as in `## Goal`.
    pub sections: Vec<String>,
    /// Lines of the prompt's template. They are no content of a section: a model that echoes its template says nothing.
    pub template: Vec<String>,
    /// Least tokens of a summary that stands for more than [`SummaryGate::large_fold`].
    pub least_tokens: u32,
    /// Tokens from which a fold is a large one.
    pub large_fold: u32,
    /// Most names that are asked for.
    pub most_identifiers: usize,
    /// Covered entries, newest first, whose names are asked for.
    pub newest_entries: usize,
}

impl Default for SummaryGate {
    fn default() -> Self {
        Self {
            policy: GatePolicy::Off,
            sections: Vec::new(),
            template: Vec::new(),
            least_tokens: Self::LEAST_TOKENS,
            large_fold: Self::LARGE_FOLD,
            most_identifiers: Self::MOST_IDENTIFIERS,
            newest_entries: Self::NEWEST_ENTRIES,
        }
    }
}

impl SummaryGate {
    /// 200, as Maka asks: its users saw summaries of 138 tokens for 235,000.
    pub const LEAST_TOKENS: u32 = 200;
    /// 10,000, as in Maka.
    pub const LARGE_FOLD: u32 = 10_000;
    /// 12, as OpenClaw asks for: more than that in the newest messages is mostly noise.
    pub const MOST_IDENTIFIERS: usize = 12;
    /// 10, as OpenClaw looks at.
    pub const NEWEST_ENTRIES: usize = 10;

    /// A gate with this policy and the default settings.
    pub fn new(policy: GatePolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// The same with these headings.
    pub fn with_sections(mut self, headings: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.sections = headings.into_iter().map(Into::into).collect();
        self
    }

    /// The same with these lines of a template.
    pub fn with_template(mut self, lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.template = lines.into_iter().map(Into::into).collect();
        self
    }

    pub(super) fn check(&self, plan: &Plan, view: &View, counter: &EntryCounter, defects: &mut Defects) {
        if self.policy == GatePolicy::Off {
            return;
        }
        for segment in &plan.segments {
            let Segment::Summary(summary) = segment else { continue };
            if self.policy == GatePolicy::Strict {
                self.check_shape(summary, view, counter, defects);
            }
            self.check_identifiers(summary, view, defects);
        }
    }

    fn check_shape(&self, summary: &Summary, view: &View, counter: &EntryCounter, defects: &mut Defects) {
        let text = shape::Text::read(&summary.text, &self.template);
        for heading in text.missing(&self.sections) {
            // The heading first: plugins read it from there.
            defects.push(Defect::of_whole(DefectKind::MissingSection, heading));
        }
        if let Some(why) = text.cut_off() {
            defects.push(Defect::of_whole(DefectKind::Truncated, why));
        }
        if let Some(line) = text.echo() {
            let explanation = format!("`{line}` is a line of the template; fill it in or leave it out");
            defects.push(Defect::of_whole(DefectKind::TemplateEcho, explanation));
        }
        if let Some(markup) = shape::tool_markup(&summary.text) {
            let explanation = format!("`{markup}` is how models call tools; a summary must not look like a call");
            defects.push(Defect::of_whole(DefectKind::ToolMarkup, explanation));
        }
        let folded = covered(summary, view).map(|at| view.tokens_of(at)).fold(0, u32::saturating_add);
        let tokens = counter.text(&summary.text);
        if folded > self.large_fold && tokens < self.least_tokens {
            let least = self.least_tokens;
            let explanation = format!("{tokens} tokens would stand for {folded}; at least {least} are asked for");
            defects.push(Defect::of_whole(DefectKind::TooSmallForFold, explanation));
        }
    }

    fn check_identifiers(&self, summary: &Summary, view: &View, defects: &mut Defects) {
        let lost: Vec<String> =
            self.asked_for(summary, view).into_iter().filter(|name| !identifiers::holds(&summary.text, name)).collect();
        if !lost.is_empty() {
            defects.push(Defect::of_whole(DefectKind::LostIdentifiers, lost.join(", ")));
        }
    }

    /// The newest names of what is covered: the user's first, as those are asked about again.
    fn asked_for(&self, summary: &Summary, view: &View) -> Vec<String> {
        let newest = covered(summary, view).collect::<Vec<u32>>().into_iter().rev().take(self.newest_entries);
        let (users, others): (Vec<u32>, Vec<u32>) =
            newest.partition(|&at| view.entry(at).is_some_and(|entry| entry.kind == EntryKind::User));
        let mut names: Vec<String> = Vec::new();
        for at in users.into_iter().chain(others) {
            for name in identifiers(&view.text(at, Some(READ))) {
                if names.len() == self.most_identifiers {
                    return names;
                }
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }
}

/// Bytes of one entry that are searched for names: what is further down in a long result was rarely what mattered.
const READ: u32 = 16 * 1024;

fn covered<'a>(summary: &'a Summary, view: &'a View) -> impl Iterator<Item = u32> + 'a {
    summary.covers.iter().flat_map(|span| span.start..span.end.min(view.len()))
}
