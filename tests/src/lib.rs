//! What the tests and benchmarks that cross crates share.

pub mod generate;
pub mod layouts;
pub mod native;
pub mod request;

use std::path::PathBuf;

/// A component that `cargo xtask components` built, by the name of its crate.
///
/// Looked for in `$CTXE_COMPONENTS`, or else in the folder `components` of the target folder.
///
/// # Panics
///
/// If it is not there: a test without its guest would test nothing.
#[allow(clippy::panic, reason = "a test helper")]
pub fn component(name: &str) -> Vec<u8> {
    let path = component_path(name);
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask components` first", path.display()))
}

/// The same where the component may be missing, as its toolchain is not installed everywhere.
pub fn component_if_built(name: &str) -> Option<Vec<u8>> {
    std::fs::read(component_path(name)).ok()
}

fn component_path(name: &str) -> PathBuf {
    let folder = std::env::var_os("CTXE_COMPONENTS").map_or_else(|| target_folder().join("components"), PathBuf::from);
    folder.join(format!("{name}.wasm"))
}

/// The folder that this program was built in: it lies in `<target>/<profile>/deps`.
fn target_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.ancestors().nth(3).map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// The Rust snippets of the documentation, compiled and run.
#[cfg(doctest)]
mod documentation {
    #[doc = include_str!("../../README.md")]
    mod readme {}
    #[doc = include_str!("../../docs/plugin-authors.md")]
    mod plugin_authors {}
    #[doc = include_str!("../../docs/embedding.md")]
    mod embedding {}
    #[doc = include_str!("../../docs/configuration.md")]
    mod configuration {}
}

/// Counts a token a byte, where counting is not what is tested.
#[derive(Debug)]
pub struct Bytes;

impl contextengine::tokens::TokenCounter for Bytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len()).unwrap_or(u32::MAX)
    }
}

/// How many cases a property is tried with: so many, or 100,000 with `CONTEXTENGINE_NIGHTLY=1`.
pub fn cases(quick: u32) -> u32 {
    let nightly = std::env::var_os("CONTEXTENGINE_NIGHTLY").is_some_and(|value| value != "0");
    if nightly { 100_000 } else { quick }
}
