//! Events as `tracing` events: names and figures only.

use super::event::{Event, EventKind, verdict_name};

const TARGET: &str = "contextengine::events";

/// Writes an event with a level that says whether somebody should look at it.
pub(super) fn write(event: &Event) {
    let Event { session, generation, turn, kind, .. } = event;
    let (session, generation) = (session.as_deref(), generation.number());
    macro_rules! tell {
        ($level:ident, $message:literal $(, $field:ident = $value:expr)* $(,)?) => {
            tracing::$level!(target: TARGET, session, generation, turn, $($field = $value,)* $message)
        };
    }
    match kind {
        EventKind::Installed { changes } => tell!(info, "setup installed", changes = changes.len()),
        EventKind::TurnBegan => tell!(debug, "turn began"),
        EventKind::TurnEnded { completed, interrupted } => {
            tell!(debug, "turn ended", completed = completed, interrupted = interrupted);
        }
        EventKind::HookCalled { slot, hook, plugin, outcome, duration, model } => tell!(
            debug,
            "hook called",
            slot = slot.name(),
            hook = hook,
            plugin = plugin,
            outcome = outcome.name(),
            duration = tracing::field::debug(duration),
            model_calls = model.calls,
            model_input_tokens = model.input_tokens,
            model_output_tokens = model.output_tokens,
        ),
        EventKind::Decided { verdict, by, used, threshold, .. } => tell!(
            debug,
            "decided",
            verdict = verdict_name(*verdict),
            by = by.as_deref().unwrap_or("the host"),
            used = used,
            threshold = threshold,
        ),
        EventKind::PlanRefused { slot, plugin, defects } => {
            tell!(warn, "plan refused", slot = slot.name(), plugin = plugin, defects = tracing::field::debug(defects));
        }
        EventKind::Substituted { slot, from, to, .. } => {
            tell!(warn, "substituted", slot = slot.name(), from = from, to = to.as_deref().unwrap_or("the host"),);
        }
        EventKind::ResultShortened { plugin, tokens_before, tokens_after, .. } => tell!(
            debug,
            "result shortened",
            plugin = plugin,
            tokens_before = tokens_before,
            tokens_after = tokens_after,
        ),
        EventKind::BranchLeft { owner, entry } => {
            tell!(info, "branch left", owner = owner, entry = tracing::field::display(entry));
        }
        EventKind::LinkSkipped { plugin, .. } => tell!(warn, "link skipped", plugin = plugin),
        EventKind::ObserverFailed { plugin, hook, .. } => {
            tell!(warn, "observer failed", plugin = plugin, hook = hook);
        }
        EventKind::ToolFailed { plugin, .. } => tell!(warn, "tool failed", plugin = plugin.as_deref()),
        EventKind::Quarantined { plugin, slot, hook, .. } => {
            tell!(error, "plugin quarantined", plugin = plugin, slot = slot.name(), hook = hook);
        }
        EventKind::Unchanged { owner, .. } => tell!(info, "nothing to compact", owner = owner),
        EventKind::Committed {
            record, owner, tokens_before, tokens_after, passed_over, model_calls, duration, ..
        } => {
            tell!(
                info,
                "compacted",
                record = tracing::field::display(record),
                owner = owner,
                tokens_before = tokens_before,
                tokens_after = tokens_after,
                passed_over = passed_over.len(),
                model_calls = model_calls,
                duration = tracing::field::debug(duration),
            );
        }
        EventKind::CompactionFailed { .. } => tell!(warn, "compaction failed"),
        EventKind::LateAnswer { slot, plugin, newest, accepted } => tell!(
            info,
            "late answer",
            slot = slot.name(),
            plugin = plugin,
            newest = newest.number(),
            accepted = accepted,
        ),
        EventKind::Superseded { slot, owner, by } => {
            tell!(warn, "superseded", slot = slot.name(), owner = owner, by = by.as_deref());
        }
        EventKind::Busy { .. } => tell!(info, "busy"),
    }
}
