//! The configuration file: every error with its place, layers, trust, and setups of real components.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at the first surprise")]

mod arbitrary;
mod assemble;
mod errors;
mod layers;
mod schema;
mod trust;

use std::path::{Path, PathBuf};

use contextengine::config::{Config, ConfigError, Layers};

/// A folder that is gone after the test, with files.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// A message without the name of the folder.
    #[allow(clippy::needless_pass_by_value, reason = "errors and texts alike, without a borrow at every call")]
    pub(crate) fn shown(&self, message: impl ToString) -> String {
        let folder = format!("{}/", self.0.path().display());
        let real = format!("{}/", self.0.path().canonicalize().unwrap().display());
        message.to_string().replace(&folder, "").replace(&real, "")
    }
}

/// Loads one file that may say everything.
pub(crate) fn load(file: &Path) -> Result<Config, ConfigError> {
    Layers::new().named(file).load()
}

/// What is wrong with a file that says this, one problem a line.
pub(crate) fn problems(text: &str) -> String {
    let folder = Folder::new();
    let file = folder.write("c.toml", text);
    load(&file).map_or_else(|error| folder.shown(error), |_| String::new())
}
