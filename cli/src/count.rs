//! Counting a context.

use std::sync::Arc;
use std::time::{Duration, Instant};

use contextengine::tokens::EntryCounter;
use contextengine::transcript::Entry;

use crate::progress::Bar;

/// Counts every entry of the context, so that views of it cost nothing.
pub(crate) fn count(entries: &[Arc<Entry>], counter: &EntryCounter, bar: &Bar) -> Duration {
    let started = Instant::now();
    bar.stage("counting tokens", Some(entries.len() as u64));
    for entry in entries {
        counter.entry(entry);
        bar.step();
    }
    started.elapsed()
}
