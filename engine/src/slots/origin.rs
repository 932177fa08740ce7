//! Where a setting comes from, for messages.

use std::fmt;
use std::panic::Location;
use std::path::PathBuf;

/// Where something was configured.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The defaults of the host.
    Default,
    /// A call of the embedding program.
    Code(&'static Location<'static>),
    /// A line of a configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u32,
        /// The key, with those it lies in: `slots.compress`.
        key: String,
    },
    /// An argument of the command line, as in `--window`.
    Argument(String),
}

impl Origin {
    /// The place of this very call.
    #[track_caller]
    pub fn here() -> Self {
        Origin::Code(Location::caller())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::Code(at) => write!(f, "{}:{}", at.file(), at.line()),
            Origin::File { path, line, key } => write!(f, "{}:{line}, key `{key}`", path.display()),
            Origin::Argument(argument) => write!(f, "{argument} on the command line"),
        }
    }
}
