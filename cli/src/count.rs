//! Counting a session, with a progress bar when it takes long.

use std::time::{Duration, Instant};

use contextengine::format::Document;
use contextengine::tokens::EntryCounter;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that takes longer than this shows a bar.
const QUIET: Duration = Duration::from_secs(1);

/// Counts every entry of the context, so that views of it cost nothing.
pub(crate) fn count(document: &Document, counter: &EntryCounter) -> Duration {
    let started = Instant::now();
    let entries = document.context();
    let progress = Progress::new(entries.len() as u64, "counting tokens");
    for entry in entries {
        counter.entry(entry);
        progress.step(1);
    }
    progress.finish();
    started.elapsed()
}

/// A bar on standard error that appears once the work has taken a second, and only on a terminal.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
}

impl Progress {
    pub(crate) fn new(steps: u64, what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden()).with_message(what);
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} ({eta} left)") {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now() }
    }

    pub(crate) fn step(&self, steps: u64) {
        self.bar.inc(steps);
        self.show_if_slow();
    }

    /// Sets where the work is, of how much, and at what.
    pub(crate) fn set(&self, done: u64, total: u64, what: &str) {
        self.bar.set_length(total);
        self.bar.set_position(done);
        self.bar.set_message(what.to_owned());
        self.show_if_slow();
    }

    fn show_if_slow(&self) {
        if self.bar.is_hidden() && self.started.elapsed() > QUIET {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
