//! The report of `ctxe compact`.

use std::fmt::Write as _;
use std::time::Duration;

use contextengine::plan::Tally;
use serde::Serialize;

use super::{Fill, ProblemReport, percent, problems, session_line, thousands};
use crate::output;

#[derive(Debug, Serialize)]
pub(crate) struct StrategyReport {
    pub(crate) id: String,
    pub(crate) version: String,
    /// `built-in`, or the path of the plugin.
    pub(crate) origin: String,
    /// SHA-256 of the component.
    pub(crate) component: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct WindowReport {
    pub(crate) tokens: u32,
    pub(crate) reserve: u32,
    pub(crate) overhead: u32,
    pub(crate) budget: u32,
    pub(crate) target: u32,
}

/// Milliseconds that each step took.
#[derive(Debug, Serialize)]
pub(crate) struct Times {
    pub(crate) reading: f64,
    pub(crate) counting: f64,
    pub(crate) loading: f64,
    pub(crate) proposing: f64,
    pub(crate) verifying: f64,
    pub(crate) writing: f64,
}

/// A duration in milliseconds, to the hundredth.
pub(crate) fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100_000.0).round() / 100.0
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
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
    pub(crate) file: String,
    pub(crate) format: &'static str,
    pub(crate) tokenizer: &'static str,
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
    pub(crate) written: Option<Written>,
    /// What the format could not say in its own way.
    pub(crate) remarks: Vec<String>,
    pub(crate) problems: Vec<ProblemReport>,
    pub(crate) milliseconds: Times,
}

impl CompactReport {
    /// A report of a session before anything was done to it.
    pub(crate) fn unchanged(
        session: (String, &'static str, &'static str),
        strategy: StrategyReport,
        window: WindowReport,
        before: Fill,
        milliseconds: Times,
    ) -> Self {
        let (file, format, tokenizer) = session;
        Self {
            file,
            format,
            tokenizer,
            strategy,
            window,
            outcome: Outcome::Unchanged,
            reason: None,
            after: before.clone(),
            before,
            fates: None,
            summary: None,
            corrections: Vec::new(),
            written: None,
            remarks: Vec::new(),
            problems: Vec::new(),
            milliseconds,
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
        let mut text = session_line(&self.file, self.format, self.before.entries, self.before.tokens, self.tokenizer);
        text.push('\n');
        let window = &self.window;
        let _ = writeln!(
            text,
            "window {}: {} for the reply, {} for entries; aiming at {}",
            thousands(window.tokens),
            thousands(window.reserve),
            thousands(window.budget),
            thousands(window.target)
        );
        let strategy = &self.strategy;
        let _ = writeln!(text, "strategy {} {} ({})", strategy.id, strategy.version, strategy.origin);
        text.push_str(&problems(&self.file, &self.problems));
        match self.outcome {
            Outcome::Unchanged => {
                let _ = writeln!(text, "\nNothing to do: {}", self.reason.as_deref().unwrap_or("no reason given"));
            }
            Outcome::Compacted => self.say_what_happened(&mut text),
        }
        if let Some(summary) = self.summary.as_deref().filter(|_| show_summary) {
            let _ = writeln!(text, "\n--- summary ---\n{}\n--- end of summary ---", summary.trim_end());
        }
        self.say_where(&mut text);
        text
    }

    fn say_what_happened(&self, text: &mut String) {
        for correction in &self.corrections {
            let _ = writeln!(text, "a first plan was refused and corrected: {correction}");
        }
        let header = ["what fills it", "before", "tokens", "after", "tokens", ""];
        let rows = self.before.rows_to(&self.after);
        let _ = writeln!(text, "\n{}\n", output::table(&header, &[1, 2, 3, 4], rows));
        if let Some(fates) = &self.fates {
            text.push_str(&output::table(&["", "entries", "tokens", ""], &[1, 2], fate_rows(fates)));
            text.push('\n');
        }
        let (before, after) = (self.before.tokens, self.after.tokens);
        let times = &self.milliseconds;
        let _ = writeln!(
            text,
            "\n{} → {} tokens, {} less. The compaction took {:.1} ms: {:.1} proposing, {:.1} verifying.\n\
             Around it: {:.0} ms reading, {:.0} counting, {:.0} loading the strategy, {:.0} writing.",
            thousands(before),
            thousands(after),
            percent(before.saturating_sub(after), before),
            times.proposing + times.verifying,
            times.proposing,
            times.verifying,
            times.reading,
            times.counting,
            times.loading,
            times.writing,
        );
    }

    fn say_where(&self, text: &mut String) {
        match &self.written {
            None => text.push_str("Nothing was written; name a file with --out to write the session.\n"),
            Some(Written { file, format, bytes, backup }) => {
                let file = file.as_deref().unwrap_or("standard output");
                let _ = writeln!(text, "Written to {file} ({format}, {} bytes).", thousands(*bytes as u64));
                if let Some(backup) = backup {
                    let _ = writeln!(text, "The session as it was is in {backup}.");
                }
            }
        }
        for remark in &self.remarks {
            let _ = writeln!(text, "Note: {remark}");
        }
    }
}

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
