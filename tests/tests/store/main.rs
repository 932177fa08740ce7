//! What a store promises, shown of those that come with the engine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at the first surprise")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures for whoever runs the tests with --nocapture")]

mod conformance;
