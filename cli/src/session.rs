//! Reading the session that a command is about.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use contextengine::format::Document;

use crate::args::SessionArgs;
use crate::failure::Failure;

/// A session that was read.
pub(crate) struct Session {
    pub(crate) document: Document,
    /// What the user calls it.
    pub(crate) name: String,
    /// Bytes of the file.
    pub(crate) bytes: usize,
    pub(crate) reading: Duration,
}

pub(crate) fn read(args: &SessionArgs) -> Result<Session, Failure> {
    let started = Instant::now();
    let name = name(&args.file);
    let bytes = bytes(&args.file).with_context(|| format!("cannot read {name}")).map_err(Failure::File)?;
    let document = Document::read_bytes(&bytes, args.from).with_context(|| name.clone()).map_err(Failure::File)?;
    Ok(Session { document, name, bytes: bytes.len(), reading: started.elapsed() })
}

fn bytes(file: &Path) -> std::io::Result<Vec<u8>> {
    if !is_standard(file) {
        return std::fs::read(file);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn name(file: &Path) -> String {
    if is_standard(file) { "standard input".to_owned() } else { file.display().to_string() }
}

/// `-` names standard input or output.
pub(crate) fn is_standard(file: &Path) -> bool {
    file.as_os_str() == "-"
}
