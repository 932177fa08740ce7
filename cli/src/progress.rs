//! What the command is at, for those who wait: one line on standard error, on a terminal only, and only when the
//! command takes longer than a second.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Commands that take no longer show nothing.
const QUIET: Duration = Duration::from_secs(1);
/// Between two pictures of something that cannot say how far it is.
const TICK: Duration = Duration::from_millis(120);

const MEASURED: &str = "{msg} {wide_bar} {percent:>3} % ({eta} left)";
const UNMEASURED: &str = "{spinner} {msg} ({elapsed})";

/// The line, for as long as the command works. It is gone when this is.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Bar,
    end: Sender<()>,
    /// Shows the line in time: work does not have to report for it.
    timer: Option<JoinHandle<()>>,
}

impl Progress {
    pub(crate) fn start(what: &'static str) -> Self {
        let bar = Bar(ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()));
        bar.stage(what, None);
        let (end, ended) = mpsc::channel();
        let shown = bar.0.clone();
        let timer = thread::Builder::new().name("progress".to_owned()).spawn(move || {
            if ended.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        });
        // A system without a thread to spare gets no progress.
        Self { bar, end, timer: timer.ok() }
    }

    /// A handle, for whoever does the work.
    pub(crate) fn bar(&self) -> Bar {
        self.bar.clone()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // The timer has ended by itself where the command took long.
        let _ = self.end.send(());
        if let Some(timer) = self.timer.take() {
            // It cannot have panicked, and nothing depends on it.
            let _ = timer.join();
        }
        self.bar.0.finish_and_clear();
    }
}

/// Says where the work is.
#[derive(Debug, Clone)]
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// Another piece of work begins, with or without a known number of steps.
    pub(crate) fn stage(&self, what: &str, steps: Option<u64>) {
        let template = if steps.is_some() { MEASURED } else { UNMEASURED };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style);
        }
        self.0.reset();
        match steps {
            Some(steps) => self.0.set_length(steps),
            None => self.0.unset_length(),
        }
        self.0.set_message(what.to_owned());
    }

    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    /// Sets where the work is, of how much, and at what.
    pub(crate) fn set(&self, done: u64, total: u64, what: &str) {
        if self.0.length() != Some(total) {
            self.stage(what, Some(total));
        }
        self.0.set_message(what.to_owned());
        self.0.set_position(done);
    }

    /// Prints something else without the line in between.
    pub(crate) fn aside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
}
