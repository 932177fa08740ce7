//! All the strategies together, as an agent runs them: every component from one configuration file, a small window, and
//! whole sessions played turn by turn.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at the first surprise")]
#![allow(clippy::print_stdout, reason = "says what was skipped, and what was found in real sessions")]

mod branches;
mod check;
mod failures;
mod fixture;
mod play;
mod presets;
mod script;
mod sessions;
mod views;
