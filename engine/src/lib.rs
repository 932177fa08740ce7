//! Host runtime for context compaction: a strategy proposes, the host verifies, records and applies.
//!
//! Language-model agents outgrow their context window. This crate decides what an agent still sees when that happens:
//! it reads a session, shows a *strategy* a read-only [`view::View`] of it, gets a [`plan::Plan`] back, verifies the
//! plan with deterministic code, and applies it. A strategy is a WebAssembly component ([`plugin::Plugin`]); it never
//! touches a message, so at worst it does nothing.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use contextengine::format::Document;
//! use contextengine::hooks::Trigger;
//! use contextengine::plugin::LoadOptions;
//! use contextengine::transcript::Timestamp;
//! use contextengine::view::ViewOptions;
//! use contextengine::{CompactOptions, Compacted, Engine, Window};
//!
//! let engine = Engine::builder().build()?;
//! let strategy = engine.load(&std::fs::read("regex-anchors.wasm")?, LoadOptions::default()).await?;
//!
//! let session = Document::read(&std::fs::read_to_string("session.jsonl")?, None)?;
//! let window = Window::new(128_000);
//! let view = engine.view(session.context().to_vec(), ViewOptions::default().with_loop_limit(window.target()));
//!
//! let pressure = window.pressure(&view, Trigger::Manual, Timestamp(0));
//! let options = CompactOptions::new(pressure, window.target());
//! match engine.compact(&strategy, &view, &options, engine.services()).await? {
//!     Compacted::Done(compaction) => println!("{} tokens are left", compaction.view().tokens()),
//!     Compacted::Unchanged { reason } => println!("nothing to do: {reason}"),
//! }
//! # Ok(()) }
//! ```
//!
//! The rooms, in the order in which data flows: [`transcript`] (entries), [`mod@format`] (sessions as agents write them),
//! [`tokens`] and [`view`] (what a model would see), [`hooks`] (what a strategy is asked), [`plan`] (what it answers,
//! and whether that is right), [`plugin`] (running it), [`store`] (keeping it). A room does not know the rooms after it. [`redact`] masks secrets in what
//! leaves, for all of them.
#![deny(missing_docs)]

mod alike;
mod compaction;
pub mod config;
mod engine;
pub mod events;
pub mod format;
pub mod hooks;
pub mod plan;
pub mod plugin;
pub mod redact;
mod selection;
pub mod services;
pub mod session;
mod setup;
pub mod slots;
pub mod store;
mod succession;
pub mod tokens;
pub mod transcript;
pub mod view;

pub use compaction::{CompactError, CompactOptions, Compacted, Compaction, CompactionRecord, Window};
pub use engine::{Engine, EngineBuilder};
pub use selection::{Selection, SelectionStep};
pub use setup::{Setup, Threshold};
pub use succession::Succession;
