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
        f.write_str(&in_full(error))
    }
}

/// The error and its causes, but for those that it quotes already: some say their cause, some leave it to the reader.
fn in_full(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        #[derive(Debug)]
        struct Quoting(anyhow::Error);
        impl fmt::Display for Quoting {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "no plan: {}", self.0)
            }
        }
        impl std::error::Error for Quoting {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(self.0.as_ref())
            }
        }
        let error = anyhow::Error::new(Quoting(anyhow!("it broke off"))).context("cannot compact");
        assert_eq!(Failure::Strategy(error).to_string(), "cannot compact: no plan: it broke off");
    }
}
