//! The report of `ctxe compact`.

use std::fmt::Write as _;
use std::time::Duration;

use contextengine::plan::Tally;
use contextengine::store::PassedOver;
use serde::Serialize;

use super::{Fill, REPORT_VERSION, Read, counted, percent, remark_lines, thousands};
use crate::harmless;
use crate::output;

#[derive(Debug, Default, Serialize)]
pub(crate) struct StrategyReport {
    pub(crate) id: String,
    pub(crate) version: String,
    /// `built-in`, or the path of the plugin.
    pub(crate) origin: String,
    /// SHA-256 of the component.
    pub(crate) component_sha256: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct WindowReport {
    pub(crate) window_tokens: u32,
    pub(crate) reserve_tokens: u32,
    pub(crate) overhead_tokens: u32,
    pub(crate) budget_tokens: u32,
    pub(crate) target_tokens: u32,
}

/// A strategy that was asked before the one that wrote.
#[derive(Debug, Serialize)]
pub(crate) struct PassedOverReport {
    pub(crate) id: String,
    pub(crate) reason: String,
}

impl PassedOverReport {
    pub(crate) fn all(passed_over: &[PassedOver]) -> Vec<Self> {
        passed_over.iter().map(|passed| Self { id: passed.owner.clone(), reason: passed.reason.clone() }).collect()
    }
}

/// What each step took.
#[derive(Debug, Serialize)]
pub(crate) struct Times {
    pub(crate) reading_ms: f64,
    pub(crate) counting_ms: f64,
    pub(crate) loading_ms: f64,
    pub(crate) proposing_ms: f64,
    pub(crate) verifying_ms: f64,
    pub(crate) writing_ms: f64,
}

/// A duration in milliseconds, to the hundredth.
pub(crate) fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100_000.0).round() / 100.0
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Compacted,
    Unchanged,
}

/// Where the session was written.
#[derive(Debug, Serialize)]
pub(crate) struct Written {
    /// `None`: standard output.
    pub(crate) file: Option<String>,
    pub(crate) format: &'static str,
    pub(crate) bytes: usize,
    /// Where the old session is, if this replaced it.
    pub(crate) backup: Option<String>,
}

/// What the store recorded.
#[derive(Debug, Serialize)]
pub(crate) struct Recorded {
    pub(crate) compaction_id: String,
}

/// Entries and tokens that met one fate.
#[derive(Debug, Serialize)]
struct Count {
    entries: u32,
    tokens: u32,
}

#[derive(Debug, Serialize)]
struct Fates {
    kept: Count,
    rewritten: Count,
    summarised: Count,
    dropped: Count,
    summaries_written: Count,
    notes_written: Count,
}

impl From<Tally> for Fates {
    fn from(tally: Tally) -> Self {
        let count = |entries, tokens| Count { entries, tokens };
        Self {
            kept: count(tally.kept, tally.kept_tokens),
            rewritten: count(tally.rewritten, tally.rewritten_tokens),
            summarised: count(tally.covered, tally.covered_tokens),
            dropped: count(tally.dropped, tally.dropped_tokens),
            summaries_written: count(tally.summaries, tally.summary_tokens),
            notes_written: count(tally.notes, tally.note_tokens),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct CompactReport {
    pub(crate) report_version: u32,
    #[serde(flatten)]
    pub(crate) read: Read,
    pub(crate) strategy: StrategyReport,
    pub(crate) window: WindowReport,
    pub(crate) outcome: Outcome,
    /// Why there was nothing to do.
    pub(crate) reason: Option<String>,
    pub(crate) before: Fill,
    pub(crate) after: Fill,
    fates: Option<Fates>,
    /// Text of the summary that was written.
    pub(crate) summary: Option<String>,
    /// What was wrong with a first plan of the strategy.
    pub(crate) corrections: Vec<String>,
    /// Strategies that were asked first, and why they have no part in it.
    pub(crate) passed_over: Vec<PassedOverReport>,
    /// Calls of a model that it took, those of strategies that failed included.
    pub(crate) model_calls: u32,
    /// The record in the store, if the session is there.
    pub(crate) recorded: Option<Recorded>,
    pub(crate) written: Option<Written>,
    /// What the format could not say in its own way.
    pub(crate) remarks: Vec<String>,
    pub(crate) time: Times,
}

impl CompactReport {
    /// A report of a session before anything was done to it.
    pub(crate) fn unchanged(
        read: Read,
        strategy: StrategyReport,
        window: WindowReport,
        before: Fill,
        time: Times,
    ) -> Self {
        Self {
            report_version: REPORT_VERSION,
            read,
            strategy,
            window,
            outcome: Outcome::Unchanged,
            reason: None,
            after: before.clone(),
            before,
            fates: None,
            summary: None,
            corrections: Vec::new(),
            passed_over: Vec::new(),
            model_calls: 0,
            recorded: None,
            written: None,
            remarks: Vec::new(),
            time,
        }
    }

    /// Adds what a compaction did.
    pub(crate) fn set_compacted(&mut self, after: Fill, tally: Tally, corrections: Vec<String>) {
        self.outcome = Outcome::Compacted;
        self.after = after;
        self.fates = Some(tally.into());
        self.corrections = corrections;
    }

    pub(crate) fn for_people(&self, show_summary: bool) -> String {
        let mut text = self.read.headline(self.before.entries, self.before.tokens);
        self.say_window(&mut text);
        let StrategyReport { id, version, origin, .. } = &self.strategy;
        let line = |text: &str| harmless::short_line(text, REASON);
        let target = counted(self.window.target_tokens, "token");
        let _ = writeln!(text, "strategy {} {} ({}), aiming at {target}", line(id), line(version), line(origin));
        for PassedOverReport { id, reason } in &self.passed_over {
            let _ = writeln!(text, "instead of {}, which failed: {}", line(id), line(reason));
        }
        text.push_str(&self.read.problem_lines());
        match self.outcome {
            Outcome::Unchanged => {
                let reason = self.reason.as_deref().unwrap_or("the strategy gave no reason");
                let _ = writeln!(text, "\nNothing to do: {}", line(reason));
            }
            Outcome::Compacted => self.say_what_happened(&mut text),
        }
        if let Some(summary) = self.summary.as_deref().filter(|_| show_summary) {
            let _ = writeln!(text, "\n--- summary ---\n{}\n--- end of summary ---\n", summary.trim_end());
        }
        self.say_where(&mut text);
        text
    }

    fn say_window(&self, text: &mut String) {
        let window = &self.window;
        let _ = write!(
            text,
            "window {} tokens: {} for the reply, ",
            thousands(window.window_tokens),
            thousands(window.reserve_tokens)
        );
        let budget = thousands(window.budget_tokens);
        // The longer line would not fit 80 columns.
        let _ = match window.overhead_tokens {
            0 => writeln!(text, "{budget} for the session"),
            overhead => writeln!(text, "{} overhead, {budget} left", thousands(overhead)),
        };
    }

    fn say_what_happened(&self, text: &mut String) {
        for correction in &self.corrections {
            let correction = harmless::short_line(correction, REASON);
            let _ = writeln!(text, "a first plan was refused and corrected: {correction}");
        }
        let header = ["kind", "messages", "", "", "tokens", "", "", "█ now  ░ gone"];
        let rows = self.before.rows_to(&self.after);
        let _ = writeln!(text, "\n{}\n", output::table(&header, &[1, 3, 4, 6], rows));
        if let Some(fates) = &self.fates {
            text.push_str(&output::table(&["", "messages", "tokens", ""], &[1, 2], fate_rows(fates)));
            text.push('\n');
        }
        let (before, after) = (self.before.tokens, self.after.tokens);
        let _ = writeln!(
            text,
            "\n{} → {} tokens, {} less.",
            thousands(before),
            thousands(after),
            percent(before.saturating_sub(after), before)
        );
        self.say_what_is_missed(text);
        let time = &self.time;
        let _ = writeln!(
            text,
            "Compacted in {:.1} ms: {:.1} proposing, {:.1} verifying.\n\
             Before that: {:.0} ms reading, {:.0} counting, {:.0} loading the strategy.",
            time.proposing_ms + time.verifying_ms,
            time.proposing_ms,
            time.verifying_ms,
            time.reading_ms,
            time.counting_ms,
            time.loading_ms,
        );
        if self.model_calls > 0 {
            let _ = writeln!(text, "The model was asked {}.", counted(self.model_calls, "time"));
        }
    }

    /// A result that is too large is no failure, unless asked for; but nobody should have to find out.
    fn say_what_is_missed(&self, text: &mut String) {
        let WindowReport { budget_tokens, target_tokens, .. } = self.window;
        let after = self.after.tokens;
        if after > budget_tokens {
            let over = counted(after - budget_tokens, "token");
            let _ = writeln!(text, "It still does not fit: {over} too many for the window.");
        } else if after > target_tokens {
            let over = counted(after - target_tokens, "token");
            let _ = writeln!(text, "It fits, and misses the target by {over}.");
        }
    }

    fn say_where(&self, text: &mut String) {
        let unchanged = matches!(self.outcome, Outcome::Unchanged);
        if let Some(session) = &self.read.session {
            let session = argument(session);
            let _ = match &self.recorded {
                Some(Recorded { compaction_id }) => {
                    let id = harmless::line(compaction_id);
                    writeln!(text, "Recorded as {id}; `ctxe session undo {session}` takes it back.")
                }
                None => writeln!(text, "Nothing was recorded."),
            };
        } else if self.written.is_none() {
            let hint = if unchanged { "" } else { "; name a file with --out to write the session" };
            let _ = writeln!(text, "Nothing was written{hint}.");
        }
        if let Some(written) = &self.written {
            text.push_str(&written.line());
        }
        text.push_str(&remark_lines(&self.remarks));
    }
}

impl Written {
    /// Where it is, in words.
    pub(crate) fn line(&self) -> String {
        let Self { file, format, bytes, backup } = self;
        let file = file.as_deref().unwrap_or("standard output");
        let mut text = format!("Written to {file} ({format}, {} bytes).\n", thousands(*bytes as u64));
        if let Some(backup) = backup {
            let _ = writeln!(text, "The session as it was is in {backup}.");
        }
        text
    }
}

/// A name as a shell takes it.
fn argument(name: &str) -> String {
    let name = harmless::line(name);
    if name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-')) {
        return name;
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

/// Characters of a plugin's reason that are shown.
const REASON: usize = 1_000;

fn fate_rows(fates: &Fates) -> Vec<Vec<String>> {
    let row = |name: &str, count: &Count, what: String| {
        vec![name.to_owned(), thousands(count.entries), thousands(count.tokens), what]
    };
    let mut rows = vec![row("kept", &fates.kept, "byte for byte".to_owned())];
    if fates.rewritten.entries > 0 {
        rows.push(row("rewritten", &fates.rewritten, "tool results with a shorter text".to_owned()));
    }
    let written = &fates.summaries_written;
    let summary = match written.entries {
        0 => String::new(),
        1 => format!("by a summary of {} tokens", thousands(written.tokens)),
        n => format!("by {n} summaries of {} tokens", thousands(written.tokens)),
    };
    rows.push(row("summarised", &fates.summarised, summary));
    rows.push(row("dropped", &fates.dropped, String::new()));
    if fates.notes_written.entries > 0 {
        rows.push(row("added", &fates.notes_written, "notes of the strategy".to_owned()));
    }
    rows
}
