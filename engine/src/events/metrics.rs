//! Counters and sums over the life of an engine.

use std::collections::BTreeMap;
use std::time::Duration;

use super::event::{EventKind, HookOutcome};

/// What happened since the engine was made, in figures. Counters only grow, but for `instances_live`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// By plugin and function.
    pub hooks: BTreeMap<(String, &'static str), HookMetrics>,
    /// Compactions that were recorded.
    pub compactions: u64,
    /// Tokens by which they made the context smaller, together.
    pub tokens_saved: u64,
    /// Times that a compaction was wanted and none came about.
    pub compactions_failed: u64,
    /// Times that a successor or the host stood in for a plugin that failed.
    pub substitutions: u64,
    /// Tool results that entered shortened.
    pub results_shortened: u64,
    /// Tokens by which they were shorter, together.
    pub tokens_shortened: u64,
    /// Branches that were left with a summary.
    pub branches_left: u64,
    /// Links of `select` that were skipped.
    pub links_skipped: u64,
    /// Plans that were refused.
    pub plans_refused: u64,
    /// Plugins that were quarantined, each once per session and setup.
    pub quarantines: u64,
    /// Writes of former owners that were refused.
    pub superseded: u64,
    /// Compactions that gave way to one of somebody else.
    pub busy: u64,
    /// Turns that began.
    pub turns: u64,
    /// Setups that were installed.
    pub installations: u64,
    /// Instances of plugins that turns started.
    pub instances_started: u64,
    /// Those of them that live now. At most one for each turn in progress and plugin.
    pub instances_live: u64,
}

/// Figures of one function of one plugin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HookMetrics {
    /// How often it was called, by how it ended.
    pub outcomes: BTreeMap<HookOutcome, u64>,
    /// Time of all its calls together.
    pub duration: Duration,
    /// Calls of a model that it made.
    pub model_calls: u64,
    /// Tokens of its prompts.
    pub model_input_tokens: u64,
    /// Tokens of the answers to them.
    pub model_output_tokens: u64,
}

impl HookMetrics {
    /// How often it was called.
    pub fn calls(&self) -> u64 {
        self.outcomes.values().sum()
    }

    /// How often it gave no answer. A caller that stopped waiting does not count.
    pub fn failures(&self) -> u64 {
        let failed = |outcome: &HookOutcome| !matches!(outcome, HookOutcome::Answered | HookOutcome::Cancelled);
        self.outcomes.iter().filter(|(outcome, _)| failed(outcome)).map(|(_, count)| count).sum()
    }

    /// How often it broke off or reached a limit.
    pub fn faults(&self) -> u64 {
        self.outcomes.iter().filter(|(outcome, _)| outcome.is_fault()).map(|(_, count)| count).sum()
    }
}

/// Whether a figure only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// One figure as monitoring systems take it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Sample {
    /// Its name, after the conventions of Prometheus.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Whether it only grows.
    pub kind: MetricKind,
    /// Labels, as name and value.
    pub labels: Vec<(&'static str, String)>,
    /// The figure.
    pub value: f64,
}

impl Metrics {
    pub(super) fn count(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Installed { .. } => self.installations += 1,
            EventKind::TurnBegan => self.turns += 1,
            EventKind::HookCalled { hook, plugin, outcome, duration, model, .. } => {
                let hook = self.hooks.entry((plugin.clone(), hook)).or_default();
                *hook.outcomes.entry(*outcome).or_default() += 1;
                hook.duration = hook.duration.saturating_add(*duration);
                hook.model_calls += u64::from(model.calls);
                hook.model_input_tokens += model.input_tokens;
                hook.model_output_tokens += model.output_tokens;
            }
            EventKind::PlanRefused { .. } => self.plans_refused += 1,
            EventKind::Substituted { .. } => self.substitutions += 1,
            EventKind::ResultShortened { tokens_before, tokens_after, .. } => {
                self.results_shortened += 1;
                self.tokens_shortened += u64::from(tokens_before.saturating_sub(*tokens_after));
            }
            EventKind::BranchLeft { .. } => self.branches_left += 1,
            EventKind::LinkSkipped { .. } => self.links_skipped += 1,
            EventKind::Quarantined { .. } => self.quarantines += 1,
            EventKind::Committed { tokens_before, tokens_after, .. } => {
                self.compactions += 1;
                self.tokens_saved += u64::from(tokens_before.saturating_sub(*tokens_after));
            }
            EventKind::CompactionFailed { .. } => self.compactions_failed += 1,
            EventKind::Superseded { .. } => self.superseded += 1,
            EventKind::Busy { .. } => self.busy += 1,
            EventKind::TurnEnded { .. }
            | EventKind::Decided { .. }
            | EventKind::ObserverFailed { .. }
            | EventKind::ToolFailed { .. }
            | EventKind::Unchanged { .. }
            | EventKind::LateAnswer { .. } => {}
        }
    }

    /// Every figure by name, for export.
    pub fn samples(&self) -> Vec<Sample> {
        let whole = |name, help, kind, value| Sample { name, help, kind, labels: Vec::new(), value: float(value) };
        let counter = |name, help, value| whole(name, help, MetricKind::Counter, value);
        let mut samples = vec![
            counter("contextengine_compactions_total", "Compactions that were recorded.", self.compactions),
            counter("contextengine_tokens_saved_total", "Tokens by which compactions shrank.", self.tokens_saved),
            counter(
                "contextengine_compactions_failed_total",
                "Compactions that were wanted and did not come about.",
                self.compactions_failed,
            ),
            counter("contextengine_substitutions_total", "Times that another one stood in.", self.substitutions),
            counter("contextengine_results_shortened_total", "Results that entered shortened.", self.results_shortened),
            counter("contextengine_tokens_shortened_total", "Tokens that they were shorter.", self.tokens_shortened),
            counter("contextengine_branches_left_total", "Branches left with a summary.", self.branches_left),
            counter("contextengine_links_skipped_total", "Links of `select` that were skipped.", self.links_skipped),
            counter("contextengine_plans_refused_total", "Plans that were refused.", self.plans_refused),
            counter("contextengine_quarantines_total", "Plugins that were quarantined.", self.quarantines),
            counter("contextengine_superseded_total", "Writes of former owners that were refused.", self.superseded),
            counter("contextengine_busy_total", "Compactions that gave way to another one.", self.busy),
            counter("contextengine_turns_total", "Turns that began.", self.turns),
            counter("contextengine_installations_total", "Setups that were installed.", self.installations),
            counter("contextengine_instances_started_total", "Instances that were started.", self.instances_started),
            whole(
                "contextengine_instances_live",
                "Instances of plugins that live now.",
                MetricKind::Gauge,
                self.instances_live,
            ),
        ];
        for ((plugin, hook), metrics) in &self.hooks {
            metrics.sample(plugin, hook, &mut samples);
        }
        samples
    }
}

impl HookMetrics {
    fn sample(&self, plugin: &str, hook: &str, samples: &mut Vec<Sample>) {
        let labels = || vec![("plugin", plugin.to_owned()), ("hook", hook.to_owned())];
        let kind = MetricKind::Counter;
        for (outcome, count) in &self.outcomes {
            let mut labels = labels();
            labels.push(("outcome", outcome.name().to_owned()));
            let help = "Calls of plugins, by how they ended.";
            samples.push(Sample { name: "contextengine_hook_calls_total", help, kind, labels, value: float(*count) });
        }
        let mut add = |name, help, value| samples.push(Sample { name, help, kind, labels: labels(), value });
        add("contextengine_hook_seconds_total", "Time that plugins took.", self.duration.as_secs_f64());
        add("contextengine_model_calls_total", "Model calls of plugins.", float(self.model_calls));
        add("contextengine_model_input_tokens_total", "Tokens of their prompts.", float(self.model_input_tokens));
        add("contextengine_model_output_tokens_total", "Tokens of the answers.", float(self.model_output_tokens));
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53, and monitoring systems count in floats")]
fn float(value: u64) -> f64 {
    value as f64
}
