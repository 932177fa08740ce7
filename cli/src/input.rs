//! Reading the file that a command is about.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use contextengine::format::{Document, Format};
use contextengine::tokens::Vocabulary;

use crate::failure::Failure;
use crate::harmless;
use crate::output;
use crate::progress::Progress;
use crate::report::Read;

/// A session that was read.
pub(crate) struct Input {
    pub(crate) document: Document,
    /// What the user calls it; `None` for standard input.
    pub(crate) file: Option<String>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) reading: Duration,
}

impl Input {
    /// What a report says of it.
    pub(crate) fn report(&self, tokenizer: Vocabulary) -> Read {
        Read {
            file: self.file.clone(),
            session: None,
            format: Some(self.document.format().name()),
            tokenizer: tokenizer.name(),
            problems: self.document.problems().iter().map(Into::into).collect(),
        }
    }
}

/// Reads the session, and begins to show progress: not before, as a person may be typing it.
pub(crate) fn read(file: &Path, from: Option<Format>) -> Result<(Input, Progress), Failure> {
    let started = Instant::now();
    let standard = is_standard(file);
    let name = if standard { "standard input".to_owned() } else { file.display().to_string() };
    let bytes = if standard { standard_input() } else { std::fs::read(file) };
    let bytes = bytes.with_context(|| format!("cannot read {name}")).map_err(Failure::File)?;
    let progress = Progress::start("reading the session");
    let document = Document::read_bytes(&bytes, from).with_context(|| name.clone()).map_err(Failure::File)?;
    let file = (!standard).then(|| harmless::line(&name));
    Ok((Input { document, file, bytes, reading: started.elapsed() }, progress))
}

fn standard_input() -> std::io::Result<Vec<u8>> {
    let mut input = std::io::stdin().lock();
    if input.is_terminal() {
        output::warn("reading the session from the terminal; end it with Ctrl-D");
    }
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `-` names standard input or output.
pub(crate) fn is_standard(file: &Path) -> bool {
    file.as_os_str() == "-"
}
