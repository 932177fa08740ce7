//! Observers: told side by side, each within its time, and never in the way.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use super::Turn;
use crate::compaction::Compaction;
use crate::events::EventKind;
use crate::hooks::{CompactionNotice, Trigger, TurnEnd};
use crate::plan::Segment;
use crate::plugin::{CallError, Instance};
use crate::slots::{Binding, Slot};
use crate::view::View;

impl Turn {
    /// What observers want to be remembered of a view that is about to be compacted, in their order.
    pub(super) async fn memory(&self, view: &View, trigger: Trigger) -> Vec<String> {
        let asked = self.bindings(Slot::Observers).iter().map(|observer| {
            self.tell_one(observer, "before-compress", async move |instance: &mut Instance| {
                instance.before_compress(view, trigger).await
            })
        });
        let answers = side_by_side(asked).await;
        answers.into_iter().flatten().flatten().filter(|memory| !memory.trim().is_empty()).collect()
    }

    /// Tells observers of a compaction that is recorded.
    pub(super) async fn tell_compacted(&self, compaction: &Compaction) {
        let record = compaction.record();
        let summary = compaction.plan().plan().segments.iter().find_map(|segment| match segment {
            Segment::Summary(summary) => Some(summary.text.clone()),
            _ => None,
        });
        let notice = CompactionNotice {
            owner: record.owner.clone(),
            trigger: record.trigger,
            tokens_before: record.tokens_before,
            tokens_after: record.tokens_after,
            summary,
        };
        let notice = &notice;
        let told = self.bindings(Slot::Observers).iter().map(|observer| {
            self.tell_one(observer, "after-compress", async move |instance: &mut Instance| {
                instance.after_compress(notice).await
            })
        });
        side_by_side(told).await;
    }

    /// Tells observers that the turn ended.
    pub(super) async fn tell_turn_complete(&self, end: TurnEnd) {
        let observers = self.bindings(Slot::Observers);
        if observers.is_empty() {
            return;
        }
        let view = self.session.view();
        let view = &view;
        let told = observers.iter().map(|observer| {
            self.tell_one(observer, "on-turn-complete", async move |instance: &mut Instance| {
                instance.on_turn_complete(view, end).await
            })
        });
        side_by_side(told).await;
    }

    async fn tell_one<R>(
        &self,
        observer: &Binding,
        hook: &'static str,
        question: impl AsyncFnOnce(&mut Instance) -> Result<R, CallError>,
    ) -> Option<R> {
        match self.ask(Slot::Observers, observer, hook, question).await {
            Ok(answer) => Some(answer),
            Err(error) => {
                let (plugin, reason) = (observer.id().to_owned(), error.to_string());
                self.tell(EventKind::ObserverFailed { plugin, hook, reason });
                None
            }
        }
    }
}

/// Waits for all of them, in turns. The answers are in the order of the questions.
async fn side_by_side<F: Future + Send>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output>
where
    F::Output: Send,
{
    let mut waiting: Vec<Result<F::Output, Pin<Box<F>>>> =
        futures.into_iter().map(|future| Err(Box::pin(future))).collect();
    poll_fn(|context| {
        let mut ready = true;
        for slot in &mut waiting {
            if let Err(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(answer) => *slot = Ok(answer),
                    Poll::Pending => ready = false,
                }
            }
        }
        if ready { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    waiting.into_iter().filter_map(Result::ok).collect()
}
