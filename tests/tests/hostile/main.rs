//! Plugins that are broken, badly behaved or hostile: each ends in an error that says what happened and what to do, and
//! the host goes on as if nothing had been.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets something unexpected stops there"
)]

mod abi;
mod cache;
mod calls;
mod files;
mod fixture;
mod lifetime;
mod wasi;
