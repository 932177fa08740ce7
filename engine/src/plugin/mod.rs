//! Plugins: WebAssembly components that implement the plugin ABI.
//!
//! ```no_run
//! # async fn example(view: contextengine::view::View, pressure: contextengine::hooks::Pressure,
//! #     counter: std::sync::Arc<dyn contextengine::tokens::TokenCounter>) -> Result<(), Box<dyn std::error::Error>> {
//! use contextengine::plugin::{LoadOptions, Plugin, Runtime, Services};
//!
//! let runtime = Runtime::builder().build()?;
//! let bytes = std::fs::read("keep-recent.wasm")?;
//! let plugin = Plugin::load(&runtime, &bytes, LoadOptions::default()).await?;
//! let mut instance = plugin.instance(Services::new(counter)).await?;
//! let decision = instance.should_compress(&view, &pressure).await?;
//! # Ok(()) }
//! ```
//!
//! **Assumed**: nothing about the component. It may be broken, hostile, or written for another version.
//!
//! **Promised**: whatever it does, a load or a call ends, in time and within memory, with an answer or with an error
//! that says what happened and what to do; and the runtime and all other plugins go on. A component sees its
//! configuration, the view of the call and the services that were granted, and nothing else: no files, no network, no
//! environment, no clock, no randomness.
//!
//! How: `inspect` reads the file, `load` compiles, links and tries it out, `instance` runs it, `call` holds each call
//! to its limits, `host` answers its imports, `convert` translates between the ABI's types and the host's own.

mod bindings;
mod cache;
mod call;
mod convert;
mod error;
mod guests;
mod host;
mod inspect;
mod instance;
mod limits;
mod load;
mod runtime;
mod schema;
mod shape;
mod version;

pub use cache::default_cache_dir;
pub use error::{CallError, LoadError, RuntimeError};
pub use host::{LogLevel, LogSink, ProgressSink, Services};
pub use inspect::API_VERSION;
pub use instance::{Instance, ModelUse};
pub use limits::{Limits, LoadOptions};
pub use load::{Plugin, RESERVED_PREFIX};
pub use runtime::{CacheUse, Runtime, RuntimeBuilder};
pub use schema::{Step, Violation, check as check_config};
