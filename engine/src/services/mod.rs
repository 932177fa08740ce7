//! What plugins may ask of the host beyond the view: a model, durable state, recall, files.
//!
//! Each service is a small object-safe trait or a plain value, so that an embedder can bring its own. Nothing here
//! knows who asks, or whether it may: grants and limits are checked where a plugin's call arrives
//! ([`crate::plugin`]).

mod files;
pub mod model;
mod recall;
mod state;

use std::future::Future;
use std::pin::Pin;

pub use files::Folders;
pub use recall::{Passage, Recall};
pub use state::{PluginState, Reach};

/// The answer of a service, to be awaited.
pub type ServiceFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
