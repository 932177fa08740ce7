//! The report of `ctxe session log`.

use std::fmt::Write as _;

use contextengine::transcript::Timestamp;
use serde::Serialize;

use super::{PassedOverReport, counted, percent, thousands};
use crate::harmless;
use crate::time;

/// Characters of a plugin's words that are shown.
const WORDS: usize = 200;
/// Digits of a component's hash that are shown: enough to tell two apart.
const HASH: usize = 12;

/// What became of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// It decides what the model sees.
    InForce,
    /// A later one was built on it.
    BuiltOn,
    /// It was taken back.
    Undone,
    /// It speaks of a branch that is not in use.
    OtherBranch,
}

impl State {
    fn words(self) -> &'static str {
        match self {
            State::InForce => "in force",
            State::BuiltOn => "built on since",
            State::Undone => "undone",
            State::OtherBranch => "on another branch",
        }
    }
}

/// One compaction.
#[derive(Debug, Serialize)]
pub(crate) struct CompactionReport {
    pub(crate) compaction_id: String,
    /// Number of the record in the log.
    pub(crate) seq: u64,
    /// Milliseconds since 1970.
    pub(crate) at_ms: i64,
    pub(crate) state: State,
    /// When it was taken back, in milliseconds since 1970.
    pub(crate) undone_at_ms: Option<i64>,
    pub(crate) owner: String,
    pub(crate) owner_version: String,
    /// SHA-256 of the component.
    pub(crate) component_sha256: String,
    pub(crate) trigger: String,
    pub(crate) tokens_before: u32,
    pub(crate) tokens_after: u32,
    pub(crate) kept_entries: u64,
    pub(crate) rewritten_entries: u64,
    pub(crate) summarised_entries: u64,
    pub(crate) dropped_entries: u64,
    pub(crate) written_summaries: u64,
    pub(crate) written_notes: u64,
    /// Why entries were dropped or rewritten, in the owner's words.
    pub(crate) reasons: Vec<String>,
    /// What was wrong with a first plan.
    pub(crate) corrections: Vec<String>,
    /// Strategies that were asked first, and why they have no part in it.
    pub(crate) passed_over: Vec<PassedOverReport>,
    pub(crate) model_calls: u32,
    pub(crate) duration_ms: u64,
    /// The compaction that it was built on.
    pub(crate) previous_compaction_id: Option<String>,
}

/// A record that cannot be read.
#[derive(Debug, Serialize)]
pub(crate) struct Damage {
    pub(crate) reason: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct LogReport {
    pub(crate) report_version: u32,
    pub(crate) session: String,
    pub(crate) store: String,
    pub(crate) logged_entries: u64,
    /// Newest first.
    pub(crate) compactions: Vec<CompactionReport>,
    pub(crate) damage: Vec<Damage>,
}

impl LogReport {
    pub(crate) fn for_people(&self) -> String {
        let session = harmless::line(&self.session);
        let entries = counted(self.logged_entries, "message");
        let all = counted(self.compactions.len() as u64, "compaction");
        let mut text = format!("session {session}: {entries} in the log, {all}\n");
        for compaction in &self.compactions {
            text.push('\n');
            text.push_str(&compaction.for_people());
        }
        for Damage { reason } in &self.damage {
            let _ = writeln!(text, "\nA record cannot be read: {}", harmless::line(reason));
        }
        text
    }
}

impl CompactionReport {
    fn for_people(&self) -> String {
        let line = |text: &str| harmless::short_line(text, WORDS);
        let hash: String = self.component_sha256.chars().take(HASH).collect();
        let undone = self.undone_at_ms.map(|at| format!(" at {}", time::minute(Timestamp(at)))).unwrap_or_default();
        let mut text = format!(
            "{}  {}  {}{undone}\n  by {} {} ({}), trigger: {}\n",
            line(&self.compaction_id),
            time::minute(Timestamp(self.at_ms)),
            self.state.words(),
            line(&self.owner),
            line(&self.owner_version),
            line(&hash),
            line(&self.trigger),
        );
        let (before, after) = (self.tokens_before, self.tokens_after);
        let less = percent(before.saturating_sub(after), before);
        let _ = writeln!(text, "  {} → {} tokens, {less} less", thousands(before), thousands(after));
        let _ = writeln!(text, "  messages: {}", self.fates());
        for reason in &self.reasons {
            let _ = writeln!(text, "  {}", line(reason));
        }
        for PassedOverReport { id, reason } in &self.passed_over {
            let _ = writeln!(text, "  instead of {}, which failed: {}", line(id), line(reason));
        }
        if self.model_calls > 0 {
            let _ = writeln!(text, "  the model was asked {}", counted(self.model_calls, "time"));
        }
        for correction in &self.corrections {
            let _ = writeln!(text, "  a first plan was refused and corrected: {}", line(correction));
        }
        text
    }

    fn fates(&self) -> String {
        let mut fates = vec![format!("{} kept", thousands(self.kept_entries))];
        if self.rewritten_entries > 0 {
            fates.push(format!("{} rewritten", thousands(self.rewritten_entries)));
        }
        fates.push(format!("{} summarised", thousands(self.summarised_entries)));
        fates.push(format!("{} dropped", thousands(self.dropped_entries)));
        let mut written = Vec::new();
        match self.written_summaries {
            0 => {}
            1 => written.push("1 summary".to_owned()),
            n => written.push(format!("{} summaries", thousands(n))),
        }
        if self.written_notes > 0 {
            written.push(counted(self.written_notes, "note"));
        }
        let written = if written.is_empty() { "nothing".to_owned() } else { written.join(" and ") };
        format!("{}; written: {written}", fates.join(", "))
    }
}
