//! Who owns a hook, and what follows when they fail: each rule by itself, then all of them at random.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may stop at the first surprise"
)]

mod branch;
mod compact;
mod decide;
mod fixture;
mod ingest;
mod late;
mod model;
mod others;
mod quarantine;
mod soak;
mod turn;
mod watch;
