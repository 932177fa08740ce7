//! Reading the session that a command is about.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use contextengine::format::Document;

use crate::args::SessionArgs;
use crate::failure::Failure;
use crate::harmless;
use crate::output;
use crate::progress::Progress;

/// A session that was read.
pub(crate) struct Session {
    pub(crate) document: Document,
    /// What the user calls it; `None` for standard input.
    pub(crate) file: Option<String>,
    /// Bytes of the file.
    pub(crate) bytes: usize,
    pub(crate) reading: Duration,
}

/// Reads the session, and begins to show progress: not before, as a person may be typing it.
pub(crate) fn read(args: &SessionArgs) -> Result<(Session, Progress), Failure> {
    let started = Instant::now();
    let standard = is_standard(&args.file);
    let name = if standard { "standard input".to_owned() } else { args.file.display().to_string() };
    let bytes = if standard { standard_input() } else { std::fs::read(&args.file) };
    let bytes = bytes.with_context(|| format!("cannot read {name}")).map_err(Failure::File)?;
    let progress = Progress::start("reading the session");
    let document = Document::read_bytes(&bytes, args.from).with_context(|| name.clone()).map_err(Failure::File)?;
    let file = (!standard).then(|| harmless::line(&name));
    Ok((Session { document, file, bytes: bytes.len(), reading: started.elapsed() }, progress))
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
