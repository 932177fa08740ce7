//! What happens while a strategy works, for `--verbose`.

use std::sync::Arc;

use contextengine::events::{Event, EventKind};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::harmless;
use crate::output;
use crate::progress::Bar;
use crate::report::thousands;

/// Characters of an event that are shown.
const SHOWN: usize = 1_000;

/// Shows events until the work is done; the rest of them then.
pub(crate) async fn shown<R>(mut events: Receiver<Arc<Event>>, bar: &Bar, work: impl Future<Output = R>) -> R {
    let show = |event: &Event| bar.aside(|| output::warn(&line(event)));
    let mut work = std::pin::pin!(work);
    let done = loop {
        tokio::select! {
            biased;
            event = events.recv() => match event {
                Ok(event) => show(&event),
                Err(RecvError::Lagged(missed)) => bar.aside(|| output::warn(&format!("{missed} events were missed"))),
                // Not while the engine lives, which the work holds.
                Err(RecvError::Closed) => break work.await,
            },
            done = &mut work => break done,
        }
    };
    while let Ok(event) = events.try_recv() {
        show(&event);
    }
    done
}

/// An event in words.
fn line(event: &Event) -> String {
    let words = match &event.kind {
        EventKind::HookCalled { slot, hook, plugin, outcome, duration, model, .. } => {
            let mut words =
                format!("{slot}: `{plugin}` {hook}: {} in {:.1} ms", outcome.name(), duration.as_secs_f64() * 1_000.0);
            if model.calls > 0 {
                words += &format!(
                    ", model: {} calls, {} tokens in, {} out",
                    model.calls,
                    thousands(model.input_tokens),
                    thousands(model.output_tokens)
                );
            }
            words
        }
        EventKind::PlanRefused { slot, plugin, defects } => {
            format!("{slot}: a plan of `{plugin}` was refused: {}", defects.join(", "))
        }
        EventKind::Substituted { slot, from, to, reason } => {
            let next = to.as_ref().map_or("the host goes on by itself".to_owned(), |to| format!("`{to}` is asked"));
            format!("{slot}: `{from}` failed, {next}: {reason}")
        }
        EventKind::Quarantined { plugin, hook, error, .. } => {
            format!("`{plugin}` broke off in {hook} and is asked no more: {error}")
        }
        EventKind::ObserverFailed { plugin, hook, reason } => format!("observer `{plugin}` failed in {hook}: {reason}"),
        EventKind::Unchanged { owner, reason } => format!("`{owner}` found nothing to do: {reason}"),
        EventKind::Committed { record, owner, tokens_before, tokens_after, .. } => format!(
            "committed {record} of `{owner}`: {} to {} tokens",
            thousands(*tokens_before),
            thousands(*tokens_after)
        ),
        EventKind::CompactionFailed { reason } => format!("the compaction failed: {reason}"),
        EventKind::Busy { holder } => format!("somebody else compacts the session: {holder}"),
        other => serde_json::to_string(other).unwrap_or_default(),
    };
    format!("event: {}", harmless::short_line(&words, SHOWN))
}
