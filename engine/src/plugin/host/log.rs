//! Messages and progress of a plugin, as much of them as an operator can want.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{HostState, LogLevel, LogSink, ProgressSink};
use crate::plugin::bindings::contextengine::plugin::log::{Host, Level};

/// Error messages that are kept for the case that the plugin breaks off.
const KEPT_ERRORS: usize = 3;
/// Bytes of each of them.
const KEPT_BYTES: usize = 2 << 10;
/// Bytes of a label of progress: a line.
const LABEL_BYTES: usize = 200;
/// A progress bar that moves faster is only flicker.
const PROGRESS_PAUSE: Duration = Duration::from_millis(50);
/// What an empty message takes of the allowance.
const MESSAGE_COST: u64 = 16;

/// What becomes of the messages of one instance.
pub(super) struct Log {
    plugin: Arc<str>,
    sink: Option<LogSink>,
    progress: Option<ProgressSink>,
    limit: u64,
    left: u64,
    said_so: bool,
    errors: VecDeque<String>,
    shown: Option<Instant>,
}

impl Log {
    pub(super) fn new(plugin: Arc<str>, sink: Option<LogSink>, progress: Option<ProgressSink>, limit: u64) -> Self {
        let errors = VecDeque::new();
        Self { plugin, sink, progress, limit, left: limit, said_so: false, errors, shown: None }
    }

    pub(super) fn begin(&mut self) {
        self.left = self.limit;
        self.said_so = false;
        self.errors.clear();
    }

    pub(super) fn last_errors(&self) -> Option<String> {
        let lines: Vec<&str> = self.errors.iter().map(String::as_str).collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }

    fn message(&mut self, level: LogLevel, message: &str) {
        if level == LogLevel::Error {
            // Kept beyond the allowance too: the last words matter most.
            if self.errors.len() == KEPT_ERRORS {
                self.errors.pop_front();
            }
            self.errors.push_back(cut(message, KEPT_BYTES).to_owned());
        }
        if self.left < MESSAGE_COST {
            if !std::mem::replace(&mut self.said_so, true) {
                let limit = self.limit;
                self.emit(
                    LogLevel::Warn,
                    &format!("further messages of this call are dropped, as they exceed {limit} bytes (`limits.log`)"),
                );
            }
            return;
        }
        self.left -= MESSAGE_COST;
        let shown = cut(message, usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= shown.len() as u64;
        self.emit(level, shown);
    }

    /// A word of the host about the plugin, beyond what the plugin may say.
    pub(super) fn warn(&self, message: &str) {
        self.emit(LogLevel::Warn, message);
    }

    fn emit(&self, level: LogLevel, message: &str) {
        if let Some(sink) = &self.sink {
            return sink(level, message);
        }
        let plugin = &*self.plugin;
        match level {
            LogLevel::Debug => tracing::debug!(target: "contextengine::plugin", plugin, "{message}"),
            LogLevel::Info => tracing::info!(target: "contextengine::plugin", plugin, "{message}"),
            LogLevel::Warn => tracing::warn!(target: "contextengine::plugin", plugin, "{message}"),
            LogLevel::Error => tracing::error!(target: "contextengine::plugin", plugin, "{message}"),
        }
    }

    fn progress(&mut self, done: u32, total: u32, label: &str) {
        let Some(sink) = &self.progress else { return };
        let now = Instant::now();
        if self.shown.is_none_or(|shown| now.duration_since(shown) >= PROGRESS_PAUSE) {
            self.shown = Some(now);
            sink(done, total, cut(label, LABEL_BYTES));
        }
    }
}

/// The longest beginning of so many bytes.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

impl Host for HostState {
    fn log(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            Level::Debug => LogLevel::Debug,
            Level::Info => LogLevel::Info,
            Level::Warn => LogLevel::Warn,
            Level::Error => LogLevel::Error,
        };
        self.log.message(level, &message);
        Ok(())
    }

    fn progress(&mut self, done: u32, total: u32, label: String) -> wasmtime::Result<()> {
        self.log.progress(done, total, &label);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::sync::Mutex;

    use super::*;

    #[test]
    fn messages_beyond_the_allowance_are_dropped_with_one_line_that_says_so() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink: LogSink = Arc::new({
            let seen = Arc::clone(&seen);
            move |_, message: &str| seen.lock().unwrap().push(message.to_owned())
        });
        let mut log = Log::new("p".into(), Some(sink), None, 100);
        for _ in 0..50 {
            log.message(LogLevel::Info, "0123456789012345");
        }
        let lines = std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[3].contains("limits.log"), "{lines:?}");
        log.begin();
        log.message(LogLevel::Info, "again");
        assert_eq!(*seen.lock().unwrap(), ["again"]);
    }

    #[test]
    fn the_last_errors_are_kept_and_cut_at_a_character() {
        let mut log = Log::new("p".into(), Some(Arc::new(|_, _| {})), None, 0);
        for text in ["one", "two", "three", &"ä".repeat(5_000)] {
            log.message(LogLevel::Error, text);
        }
        let kept = log.last_errors().unwrap();
        assert!(kept.starts_with("two; three; ä"), "{kept}");
        assert!(kept.len() < KEPT_BYTES + 20);
    }
}
