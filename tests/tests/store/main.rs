//! What a store promises, shown of those that come with the engine.
//!
//! With `CONTEXTENGINE_NIGHTLY=1` the tests that try things at random try 100,000 cases, and kill for ten minutes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at the first surprise")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures for whoever runs the tests with --nocapture")]

mod conformance;
mod contention;
mod corrupt;
mod crash;
mod digest;
mod figures;
mod fixture;
mod full;
mod large;
mod migration;
mod model;
mod third;

fn nightly() -> bool {
    std::env::var_os("CONTEXTENGINE_NIGHTLY").is_some_and(|value| value != "0")
}

/// How many cases to try.
fn cases(quick: u32) -> u32 {
    if nightly() { 100_000 } else { quick }
}
