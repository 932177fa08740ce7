//! Sessions as agents write them: read into entries, written back exactly.
//!
//! Reading is tolerant. A record that is not understood is kept, reported with its line, and written back where it
//! stood. Writing is exact: a message that was kept goes out byte for byte as it came in, and a context that nothing
//! changed in gives the very file that was read. Nothing here panics, whatever the file holds.
//!
//! Bytes that are not UTF-8 are read as U+FFFD. What is kept is written with its own bytes; only a message whose text
//! is replaced loses them, and then only in the part that is replaced.
//!
//! Each format has a folder: `mod.rs` says what its records are and reads them, `write.rs` writes the session after a
//! compaction. `convert` makes a fresh session of any format from any context.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

mod changes;
mod claude;
mod content;
mod convert;
mod ids;
mod json;
mod marker;
mod openai;
mod pi;
mod recognise;
mod source;

pub use convert::convert;
use source::Source;

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

    /// Finds the format from the content alone: from the first records that can be read. A byte order mark, blank
    /// lines and broken lines ahead of them do not matter.
    ///
    /// # Errors
    ///
    /// [`FormatError::Unrecognised`], with what was seen instead.
    pub fn recognise(text: &str) -> Result<Self, FormatError> {
        recognise::recognise(text)
    }

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
    source: Arc<Source>,
    context: Vec<Arc<Entry>>,
    problems: Vec<Problem>,
    records: u32,
    earlier: u32,
    session: Arc<Session>,
}

/// What a writer needs to know of the session that was read.
#[derive(Debug)]
enum Session {
    OpenAi(openai::Session),
    Pi(pi::Session),
    Claude(claude::Session),
}

/// What a reader found.
#[derive(Debug)]
struct Reading {
    context: Vec<Arc<Entry>>,
    problems: Vec<Problem>,
    records: u32,
    earlier: u32,
    session: Session,
}

impl Document {
    /// Reads a session. Without a format, the one that [`Format::recognise`] finds.
    ///
    /// # Errors
    ///
    /// The content is of no known format, or not of the one that is named. Single records that cannot be read are no
    /// error: see [`Document::problems`].
    pub fn read(text: &str, format: Option<Format>) -> Result<Self, FormatError> {
        Self::read_bytes(text.as_bytes(), format)
    }

    /// Reads a session that may hold bytes that are not UTF-8.
    ///
    /// Such bytes are read as U+FFFD, and their lines are reported as problems. Nothing of them is lost: what is kept
    /// is written back with the bytes that it was read from.
    ///
    /// # Errors
    ///
    /// As for [`Document::read`].
    pub fn read_bytes(bytes: &[u8], format: Option<Format>) -> Result<Self, FormatError> {
        let source = Source::new(bytes);
        let format = match format {
            Some(format) => format,
            None => Format::recognise(source.text())?,
        };
        let reading = match format {
            Format::OpenAiChat => openai::read(&source)?,
            Format::Pi => pi::read(&source)?,
            Format::ClaudeCode => claude::read(&source)?,
        };
        let mut problems = source.problems();
        problems.extend(reading.problems);
        problems.sort_by_key(|problem| problem.line);
        Ok(Self {
            format,
            source: Arc::new(source),
            context: reading.context,
            problems,
            records: reading.records,
            earlier: reading.earlier,
            session: Arc::new(reading.session),
        })
    }

    /// The format that it was read from.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What the model would see now, in its order: system entries and the newest summary included, what that summary
    /// replaced left out. Each entry's parent is the entry before it here.
    pub fn context(&self) -> &[Arc<Entry>] {
        &self.context
    }

    /// What could not be read, in order of lines.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Records of the file: its lines that are not blank, or the elements of its list of messages.
    pub fn record_count(&self) -> u32 {
        self.records
    }

    /// Messages of the file that the model does not see because of earlier compactions, or because they are on
    /// another branch.
    pub fn earlier(&self) -> u32 {
        self.earlier
    }

    /// The session with a new context, in its own format.
    ///
    /// The new context holds entries of [`Document::context`] in their order, as they were or with the text of a tool
    /// result replaced; new summaries, with what they cover in `replaces`; and new notes. With the context as it was
    /// read, the file comes back byte for byte. What the format cannot say in its own way is named in the remarks.
    ///
    /// # Errors
    ///
    /// [`FormatError::Inexpressible`] where the format has no way to say it, or where an entry is not of this session.
    pub fn write(&self, new_context: &[Arc<Entry>], facts: &WriteFacts) -> Result<Written, FormatError> {
        let changes = changes::Changes::find(self.format, &self.context, new_context)?;
        if changes.none {
            return Ok(Written { bytes: self.source.bytes(), remarks: Vec::new() });
        }
        match &*self.session {
            Session::OpenAi(session) => Ok(openai::write(&self.source, session, &self.context, &changes)),
            Session::Pi(session) => pi::write(&self.source, session, &self.context, &changes, facts),
            Session::Claude(session) => claude::write(&self.source, session, &self.context, &changes, facts),
        }
    }
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
    /// The file. UTF-8, except for bytes that were not in the session that was read.
    pub bytes: Vec<u8>,
    /// What the format could not say in its own way, and how it was said instead.
    pub remarks: Vec<String>,
}

impl Written {
    /// The file as text.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
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
    #[error("line {line}: not a session of format {format}: {reason}")]
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
