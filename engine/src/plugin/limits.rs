//! What a plugin may use. Every limit has a default, and a reason for it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use wasmtime::ResourceLimiter;

use crate::hooks::Service;

/// What one instance of a plugin may use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of all its memories together; key `memory`. Default 64 MiB: a Python component starts with 13 MiB and
    /// one in C by zig with 16 MiB, and a view of 5 MB of text, held twice, fits beside that.
    pub memory_bytes: u64,
    /// Time of one call of a hook, waiting for the host included; key `time`. Default 2 min, as `compress` may ask a
    /// model several times.
    pub time: Duration,
    /// Time of one `should-compress`; key `decision_time`. Default 1 s: it is asked several times a turn, needs no
    /// text and no model, and takes microseconds where it is written well.
    pub decision_time: Duration,
    /// Time of one call of an observer; key `observer_time`. Default 5 s: the agent waits for it, and gets nothing.
    pub observer_time: Duration,
    /// Time to start an instance, and time of `describe` and of `configure`; key `setup_time`. Default 10 s: an
    /// interpreter starts in milliseconds, but a configuration may hold many patterns to compile.
    pub setup_time: Duration,
    /// Bytes that may cross to the host in one answer, or in the arguments of one call of a service; key `output`.
    /// Default 16 MiB: a plan with a rewritten text for every result of a long session is smaller.
    pub output_bytes: u64,
    /// Bytes of log messages and labels of one call that reach the operator; key `log`. The rest is dropped, with
    /// one line that says so. Default 64 KiB: a thousand lines.
    pub log_bytes: u64,
    /// Calls of the model in one attempt of a hook, its round of corrections included; key `model_calls`. Default 16: a
    /// summary of a long session in parts takes about ten.
    pub model_calls: u32,
    /// Tokens of prompts and answers in one attempt of a hook; key `model_tokens`. Default 2,000,000: a session of a
    /// million tokens, read once and merged.
    pub model_tokens: u64,
    /// Bytes of keys and values that it may keep, in each session and shared over all; key `state`. Default 1 MiB. The
    /// store has a limit of its own.
    pub state_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            time: Duration::from_secs(120),
            decision_time: Duration::from_secs(1),
            observer_time: Duration::from_secs(5),
            setup_time: Duration::from_secs(10),
            output_bytes: 16 << 20,
            log_bytes: 64 << 10,
            model_calls: 16,
            model_tokens: 2_000_000,
            state_bytes: 1 << 20,
        }
    }
}

/// How a plugin is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadOptions {
    /// A JSON object that the plugin is configured with. Default `{}`.
    pub config: String,
    /// What its instances may use.
    pub limits: Limits,
    /// The services that it may use. Default none.
    pub grants: BTreeSet<Service>,
    /// The folders that [`Service::Files`] lets it read. Default none.
    pub folders: Vec<PathBuf>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { config: "{}".to_owned(), limits: Limits::default(), grants: BTreeSet::new(), folders: Vec::new() }
    }
}

impl LoadOptions {
    /// The defaults with this configuration.
    pub fn with_config(config: impl Into<String>) -> Self {
        Self { config: config.into(), ..Self::default() }
    }

    /// The same with other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same with a further service granted.
    #[must_use]
    pub fn grant(mut self, service: Service) -> Self {
        self.grants.insert(service);
        self
    }

    /// The same with the files below a further folder granted.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folders.push(folder.into());
        self.grant(Service::Files)
    }
}

/// Core instances, tables and memories of one component. Python's have about twenty of the first.
const MAX_PARTS: usize = 1_000;
/// Elements of all tables together, 16 bytes each. A function table of a large program has some ten thousand.
const MAX_TABLE_ELEMENTS: usize = 1_000_000;

/// Sums what all memories and tables of a store hold, as wasmtime's own limits are per memory, and remembers what it
/// denied: a guest that runs out of memory aborts without a word.
#[derive(Debug)]
pub(super) struct Allowance {
    limit: usize,
    memory: usize,
    /// Of the last growth that was allowed, to take it back if it fails after all.
    last_memory: usize,
    table_elements: usize,
    denied: Option<u64>,
}

impl Allowance {
    pub(super) fn new(memory_bytes: u64) -> Self {
        Self {
            limit: usize::try_from(memory_bytes).unwrap_or(usize::MAX),
            memory: 0,
            last_memory: 0,
            table_elements: 0,
            denied: None,
        }
    }

    /// Bytes that the memories may hold together.
    pub(super) fn limit(&self) -> u64 {
        self.limit as u64
    }

    /// Forgets what was denied, before a new call.
    pub(super) fn forget(&mut self) {
        self.denied = None;
    }

    /// Remembers a request for so many bytes that was not granted.
    pub(super) fn deny(&mut self, requested: u64) {
        self.denied = Some(requested);
    }

    /// The last request since [`forget`](Self::forget) that was denied, in bytes.
    pub(super) fn denied(&self) -> Option<u64> {
        self.denied
    }
}

impl ResourceLimiter for Allowance {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let growth = desired.saturating_sub(current);
        let total = self.memory.saturating_add(growth);
        if total > self.limit {
            self.deny(total as u64);
            self.last_memory = 0;
            return Ok(false);
        }
        self.memory = total;
        self.last_memory = growth;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.memory = self.memory.saturating_sub(std::mem::take(&mut self.last_memory));
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.table_elements.saturating_add(desired.saturating_sub(current));
        if total > MAX_TABLE_ELEMENTS {
            return Ok(false);
        }
        self.table_elements = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        MAX_PARTS
    }

    fn tables(&self) -> usize {
        MAX_PARTS
    }

    fn memories(&self) -> usize {
        MAX_PARTS
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn memories_are_counted_together() {
        let mut allowance = Allowance::new(10);
        assert!(allowance.memory_growing(0, 6, None).unwrap());
        assert!(!allowance.memory_growing(0, 6, None).unwrap());
        assert_eq!(allowance.denied(), Some(12));
        assert!(allowance.memory_growing(6, 10, None).unwrap());
    }

    #[test]
    fn a_growth_that_failed_is_given_back() {
        let mut allowance = Allowance::new(10);
        assert!(allowance.memory_growing(0, 10, None).unwrap());
        allowance.memory_grow_failed(wasmtime::format_err!("no pages")).unwrap();
        assert!(allowance.memory_growing(0, 10, None).unwrap());
    }
}
