//! What can be told of.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::hooks::{Failure, Trigger, Urgency, Verdict};
use crate::plugin::{CallError, ModelUse};
use crate::slots::{Generation, Slot, SlotChange};
use crate::store::PassedOver;
use crate::transcript::{EntryId, Timestamp};

/// Something that happened in an engine.
///
/// As JSON it is one flat object: the scope, then `event` with the name of the kind, then the fields of the kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// When, in milliseconds since 1970.
    pub at: Timestamp,
    /// Name of the session; none for what concerns the whole engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The setup under which it happened.
    pub generation: Generation,
    /// Number of the turn in its session, if it was in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened. Reasons and errors are in the words of plugins and may quote the session; everything else does not.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EventKind {
    /// Another setup is in force. Turns that began before keep the one they began with.
    Installed {
        /// Slots whose owners changed.
        changes: Vec<SlotChange>,
    },
    /// A turn began, and its owners are fixed.
    TurnBegan,
    /// A turn ended.
    TurnEnded {
        /// It was completed, with or without an interruption; else it was given up.
        completed: bool,
        /// The person stopped it.
        interrupted: bool,
    },
    /// A function of a plugin was called.
    HookCalled {
        /// For which slot.
        slot: Slot,
        /// The function, as in `should-compress`.
        hook: &'static str,
        /// Id of the plugin.
        plugin: String,
        /// How it ended.
        outcome: HookOutcome,
        /// How long it took, the start of the plugin included where this was its first call of the turn.
        #[serde(rename = "duration_ms", serialize_with = "as_millis")]
        duration: Duration,
        /// What it used of the model.
        model: ModelUse,
    },
    /// It was decided whether to compact.
    Decided {
        /// The verdict.
        #[serde(serialize_with = "as_verdict")]
        verdict: Verdict,
        /// Who decided: a plugin's id, or none where the host did by itself.
        by: Option<String>,
        /// Why, for people.
        reason: String,
        /// Tokens of the request that would go out: the provider's own count where it is known.
        used: u32,
        /// Tokens from which on the host decides by itself.
        threshold: u32,
    },
    /// A plan was refused.
    PlanRefused {
        /// The slot.
        slot: Slot,
        /// Id of the plugin.
        plugin: String,
        /// Names of the defects, as in `split-group`.
        defects: Vec<&'static str>,
    },
    /// Another one was asked, or the host went on by itself, because a plugin failed.
    Substituted {
        /// The slot.
        slot: Slot,
        /// Id of the plugin that failed.
        from: String,
        /// Id of the next in order; none where the host itself stood in.
        to: Option<String>,
        /// How it failed.
        reason: String,
    },
    /// A tool result enters the view shortened.
    ResultShortened {
        /// Id of the plugin.
        plugin: String,
        /// The entry; the log keeps its whole text.
        entry: EntryId,
        /// Tokens of the whole text.
        tokens_before: u32,
        /// Tokens of what the model sees.
        tokens_after: u32,
    },
    /// Another branch is in use, and says what was done on the one that was left.
    BranchLeft {
        /// Who wrote it: the id of a plugin, or of the host.
        owner: String,
        /// The entry that says it.
        entry: EntryId,
    },
    /// A link of the chain of `select` was skipped.
    LinkSkipped {
        /// Id of the plugin.
        plugin: String,
        /// How it failed.
        reason: String,
    },
    /// An observer failed. Nothing depends on it.
    ObserverFailed {
        /// Id of the plugin.
        plugin: String,
        /// The function.
        hook: &'static str,
        /// How it failed.
        reason: String,
    },
    /// A tool of a plugin failed, or a model called one that is not there. The model was told.
    ToolFailed {
        /// Name of the tool.
        tool: String,
        /// Id of the plugin, if there is such a tool.
        plugin: Option<String>,
        /// How it failed.
        reason: String,
    },
    /// A plugin broke off, and is asked no more in this session.
    Quarantined {
        /// Id of the plugin.
        plugin: String,
        /// The slot that it was asked for.
        slot: Slot,
        /// The function that was called.
        hook: &'static str,
        /// How it ended.
        error: String,
    },
    /// The owner of `compress` found nothing to do.
    Unchanged {
        /// Id of the plugin.
        owner: String,
        /// Why, in its words.
        reason: String,
    },
    /// A compaction is recorded and in force.
    Committed {
        /// Id of its record.
        record: EntryId,
        /// Id of the plugin that wrote it.
        owner: String,
        /// Why it ran.
        trigger: Trigger,
        /// Tokens of the entries before.
        tokens_before: u32,
        /// Tokens of the entries after.
        tokens_after: u32,
        /// Who was asked first, and why they have no part in it.
        passed_over: Vec<PassedOver>,
        /// Calls of a model that it took.
        model_calls: u32,
        /// How long it took, from the freeze to the commit.
        #[serde(rename = "duration_ms", serialize_with = "as_millis")]
        duration: Duration,
    },
    /// No compaction came about, and the history is as it was.
    CompactionFailed {
        /// Why, with every owner that was asked.
        reason: String,
    },
    /// An answer came after the session had begun a turn under another setup.
    LateAnswer {
        /// The slot.
        slot: Slot,
        /// Id of the plugin.
        plugin: String,
        /// The setup of the session's newest turn.
        newest: Generation,
        /// Whether it counts all the same, as the newest setup would have come to the same owner.
        accepted: bool,
    },
    /// What a former owner wrote was refused.
    Superseded {
        /// The slot.
        slot: Slot,
        /// Id of the plugin.
        owner: String,
        /// Id of the owner now; none where there is none.
        by: Option<String>,
    },
    /// Somebody else is compacting the session.
    Busy {
        /// Who, in their own words.
        holder: String,
    },
}

/// How a call of a plugin ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HookOutcome {
    /// With an answer.
    Answered,
    /// It cannot do it with this input.
    Declined,
    /// A service that it needs failed.
    Unavailable,
    /// It has a defect, and says so itself.
    Failed,
    /// It broke off.
    Trapped,
    /// It took too long.
    TimeLimit,
    /// It wanted too much memory.
    MemoryLimit,
    /// It passed too much data.
    OutputLimit,
    /// The caller stopped waiting.
    Cancelled,
    /// It does not accept its configuration any more.
    Misconfigured,
    /// The host is to blame.
    HostFailed,
}

impl HookOutcome {
    /// Of an answer.
    pub(crate) fn of<R>(answer: &Result<R, CallError>) -> Self {
        match answer {
            Ok(_) => HookOutcome::Answered,
            Err(error) => Self::of_error(error),
        }
    }

    fn of_error(error: &CallError) -> Self {
        match error {
            CallError::Failed(Failure::Declined(_)) => HookOutcome::Declined,
            CallError::Failed(Failure::Unavailable { .. }) => HookOutcome::Unavailable,
            CallError::Failed(Failure::Failed(_)) => HookOutcome::Failed,
            CallError::Trap { .. } => HookOutcome::Trapped,
            CallError::TimeLimit { .. } => HookOutcome::TimeLimit,
            CallError::MemoryLimit { .. } => HookOutcome::MemoryLimit,
            CallError::OutputLimit { .. } => HookOutcome::OutputLimit,
            CallError::Cancelled { .. } => HookOutcome::Cancelled,
            CallError::Config { .. } => HookOutcome::Misconfigured,
            CallError::NoSuchHook { .. } | CallError::Internal { .. } => HookOutcome::HostFailed,
            CallError::Retired { cause } => Self::of_error(cause),
        }
    }

    /// Its name, as in JSON and in metrics.
    pub fn name(self) -> &'static str {
        match self {
            HookOutcome::Answered => "answered",
            HookOutcome::Declined => "declined",
            HookOutcome::Unavailable => "unavailable",
            HookOutcome::Failed => "failed",
            HookOutcome::Trapped => "trapped",
            HookOutcome::TimeLimit => "time-limit",
            HookOutcome::MemoryLimit => "memory-limit",
            HookOutcome::OutputLimit => "output-limit",
            HookOutcome::Cancelled => "cancelled",
            HookOutcome::Misconfigured => "misconfigured",
            HookOutcome::HostFailed => "host-failed",
        }
    }

    /// Whether the plugin broke off or reached a limit: what quarantines it.
    pub fn is_fault(self) -> bool {
        matches!(
            self,
            HookOutcome::Trapped | HookOutcome::TimeLimit | HookOutcome::MemoryLimit | HookOutcome::OutputLimit
        )
    }
}

fn as_millis<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64() * 1_000.0)
}

fn as_verdict<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict_name(*verdict))
}

pub(super) fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Wait => "wait",
        Verdict::Compress(Urgency::Soft) => "compress-soft",
        Verdict::Compress(Urgency::Hard) => "compress-hard",
    }
}
