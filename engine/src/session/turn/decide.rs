//! Should the session be compacted now?

use super::Turn;
use crate::events::EventKind;
use crate::hooks::{Pressure, Trigger, Urgency, Verdict};
use crate::session::SessionError;
use crate::slots::Slot;

/// Whether to compact now, who says so, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnDecision {
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence for people.
    pub reason: String,
    /// Id of the plugin that decided; none where the host did by itself.
    pub by: Option<String>,
    /// Tokens of the request that would go out: the provider's own count if there is one, else those of the entries and
    /// the overhead.
    pub used: u32,
    /// Tokens from which on the host decides by itself.
    pub threshold: u32,
}

impl Turn {
    /// Should the session be compacted now? Takes the figures of [`Turn::pressure`].
    ///
    /// The host decides by itself where a person asked for it, where the provider refused the request as too long, and
    /// where the request takes more than the threshold of the setup; urgently if it does not fit. Else the owner of
    /// `compress` is asked. Where that fails, its successors are; where they fail too, or nobody owns the slot, there
    /// is nothing to do yet.
    ///
    /// # Errors
    ///
    /// [`SessionError::Strict`] if the owner failed and the setup wants no substitutions.
    pub async fn decide(&self, pressure: &Pressure) -> Result<TurnDecision, SessionError> {
        let used = pressure.measured.unwrap_or_else(|| pressure.entries.saturating_add(pressure.overhead));
        let figures = Figures {
            used,
            threshold: self.setup().threshold.tokens(self.window()),
            most: pressure.window.saturating_sub(pressure.reserve),
        };
        let decision = match figures.host_decides(pressure.trigger) {
            Some((urgency, reason)) => figures.decision(Verdict::Compress(urgency), reason, None),
            None => self.owner_decides(pressure, figures).await?,
        };
        self.tell(EventKind::Decided {
            verdict: decision.verdict,
            by: decision.by.clone(),
            reason: decision.reason.clone(),
            used,
            threshold: decision.threshold,
        });
        Ok(decision)
    }

    async fn owner_decides(&self, pressure: &Pressure, figures: Figures) -> Result<TurnDecision, SessionError> {
        let bindings = self.bindings(Slot::Compress);
        let view = self.session.view();
        for (at, binding) in bindings.iter().enumerate() {
            let question =
                async |instance: &mut crate::plugin::Instance| instance.should_compress(&view, pressure).await;
            match self.ask(Slot::Compress, binding, "should-compress", question).await {
                Ok(answer) => {
                    return Ok(figures.decision(answer.verdict, answer.reason, Some(binding.id().to_owned())));
                }
                Err(error) => self.substitute(Slot::Compress, binding.id(), bindings.get(at + 1), error)?,
            }
        }
        let reason = if bindings.is_empty() { "nobody owns `compress`" } else { "no owner of `compress` answered" };
        let Figures { used, threshold, .. } = figures;
        let reason = format!("{reason}, and {used} tokens are below the threshold of {threshold}");
        Ok(figures.decision(Verdict::Wait, reason, None))
    }
}

#[derive(Debug, Clone, Copy)]
struct Figures {
    used: u32,
    threshold: u32,
    /// Tokens that a request may hold.
    most: u32,
}

impl Figures {
    fn host_decides(self, trigger: Trigger) -> Option<(Urgency, String)> {
        let Self { used, threshold, most } = self;
        if trigger == Trigger::Overflow {
            return Some((Urgency::Hard, format!("the provider refused a request of {used} tokens as too long")));
        }
        if used > most {
            return Some((Urgency::Hard, format!("{used} tokens, and a request may hold {most}")));
        }
        if used > threshold {
            return Some((Urgency::Soft, format!("{used} tokens are above the threshold of {threshold}")));
        }
        (trigger == Trigger::Manual).then(|| (Urgency::Soft, "it was asked for".to_owned()))
    }

    fn decision(self, verdict: Verdict, reason: String, by: Option<String>) -> TurnDecision {
        TurnDecision { verdict, reason, by, used: self.used, threshold: self.threshold }
    }
}
