//! Why a command ended without doing its work, and with which exit code.

use std::fmt;

use crate::harmless;

/// Characters of an error that are shown: a plugin may say more than anybody reads.
const SHOWN: usize = 4_000;

/// What went wrong.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The strategy gave no plan, or its plan was refused. The session is as it was.
    Strategy(anyhow::Error),
    /// Arguments that make no sense, alone or together; clap ends with the same code.
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

/// The error and its causes. A cause that the text has said already is not said again. Lines after the first are set
/// in, so that no plugin can speak as `ctxe`.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Strategy(error) | Failure::Usage(error) | Failure::File(error)) = self;
        let mut said = String::new();
        for cause in error.chain().map(ToString::to_string) {
            if said.is_empty() {
                said = cause;
            } else if !said.contains(&cause) {
                said.push_str(": ");
                said.push_str(&cause);
            }
        }
        let shown = said.char_indices().nth(SHOWN).map_or(said.as_str(), |(end, _)| &said[..end]);
        let more = if shown.len() < said.len() { "…" } else { "" };
        write!(f, "{}{more}", harmless::text(shown).trim_end().replace('\n', "\n  "))
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let error = Err::<(), _>(anyhow!("no plan: a defect"));
        let error = error.context("strategy `s` gave no plan: a defect").context("cannot compact");
        let failure = error.map_err(Failure::Strategy);
        assert_eq!(
            failure.map_err(|failure| failure.to_string()),
            Err("cannot compact: strategy `s` gave no plan: a defect".to_owned())
        );
    }

    #[test]
    fn words_of_others_neither_steer_the_terminal_nor_look_like_ours() {
        let failure = Failure::Strategy(anyhow!("bad \u{1b}[2J\nctxe: all is well\n"));
        assert_eq!(failure.to_string(), "bad \u{fffd}[2J\n  ctxe: all is well");
        assert!(Failure::Strategy(anyhow!("x".repeat(100_000))).to_string().len() < 5_000);
    }
}
