//! Sessions as agents write them: read into entries, written back exactly.
//!
//! Reading is tolerant. A record that is not understood is kept, reported with its line, and written back where it
//! stood. Writing is exact: a message that was kept goes out byte for byte as it came in.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::transcript::{Entry, Timestamp};

/// A format of session files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A list of OpenAI chat messages, or a request body with `messages`.
    OpenAiChat,
    /// A session of Pi: JSON lines, version 1, 2 or 3.
    Pi,
    /// A transcript of Claude Code: JSON lines.
    ClaudeCode,
}

impl Format {
    /// Every format, in the order in which they are tried.
    pub const ALL: [Format; 3] = [Format::Pi, Format::ClaudeCode, Format::OpenAiChat];

    /// The name that `--from` and `--to` take.
    pub fn name(self) -> &'static str {
        match self {
            Format::OpenAiChat => "openai-chat",
            Format::Pi => "pi",
            Format::ClaudeCode => "claude-code",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Self, FormatError> {
        Format::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| FormatError::UnknownFormat { name: name.to_owned() })
    }
}

/// A session that was read.
#[derive(Debug, Clone)]
pub struct Document {
    format: Format,
    /// The context that the model would see now: summaries included, what they replaced left out.
    context: Vec<Arc<Entry>>,
    /// What could not be read.
    problems: Vec<Problem>,
}

/// Something in a session that could not be read. The record is kept as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, from 1.
    pub line: u32,
    /// What is wrong, and what was done with it.
    pub reason: String,
}

/// What a writer needs to know of a compaction, beyond the new context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteFacts {
    /// When it was done.
    pub now: Timestamp,
    /// Tokens of the context before.
    pub tokens_before: u32,
    /// Tokens of the context after.
    pub tokens_after: u32,
}

/// A session that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub text: String,
    /// What the format could not say in its own way, and how it was said instead.
    pub remarks: Vec<String>,
}

/// Why a session could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// No such format.
    #[error("`{name}` is not a known format; known are openai-chat, pi and claude-code")]
    UnknownFormat {
        /// What was asked for.
        name: String,
    },
    /// The content is none of the formats.
    #[error("the file is not a session of a known format ({reason}); name its format with --from if it is one")]
    Unrecognised {
        /// What was seen.
        reason: String,
    },
    /// The file as a whole is not of the format.
    #[error("line {line}: not a {format} session: {reason}")]
    Malformed {
        /// The format that was expected.
        format: Format,
        /// Line of the file, from 1.
        line: u32,
        /// What is wrong.
        reason: String,
    },
    /// The new context cannot be said in this format.
    #[error("{format} cannot express this context at entry {entry}: {reason}")]
    Inexpressible {
        /// The format to write.
        format: Format,
        /// Id of the entry.
        entry: String,
        /// Why.
        reason: String,
    },
}
