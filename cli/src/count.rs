//! Counting a session.

use std::time::{Duration, Instant};

use contextengine::format::Document;
use contextengine::tokens::EntryCounter;

use crate::progress::Bar;

/// Counts every entry of the context, so that views of it cost nothing.
pub(crate) fn count(document: &Document, counter: &EntryCounter, bar: &Bar) -> Duration {
    let started = Instant::now();
    let entries = document.context();
    bar.stage("counting tokens", Some(entries.len() as u64));
    for entry in entries {
        counter.entry(entry);
        bar.step();
    }
    started.elapsed()
}
