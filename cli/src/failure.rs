//! Why a command ended without doing its work, and with which exit code.

use std::fmt;

/// What went wrong.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The strategy gave no plan, or its plan was refused. The session is as it was.
    Strategy(anyhow::Error),
    /// A combination of arguments that makes no sense; clap ends with the same code.
    Usage(anyhow::Error),
    /// A file could not be read, understood or written.
    File(anyhow::Error),
}

impl Failure {
    /// The documented exit code; see `ctxe --help`.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Strategy(_) => 1,
            Failure::Usage(_) => 2,
            Failure::File(_) => 3,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Strategy(error) | Failure::Usage(error) | Failure::File(error)) = self;
        write!(f, "{error:#}")
    }
}
