//! Writing: reports to standard output, remarks to standard error, sessions to files.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use crate::failure::Failure;

/// Prints a report. A reader that went away, as `head` does, is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write_all(&mut io::stdout().lock(), text.as_bytes())
}

/// Prints a report where standard output is taken by the session.
pub(crate) fn print_aside(text: &str) -> Result<(), Failure> {
    write_all(&mut io::stderr().lock(), text.as_bytes())
}

/// Writes a session to standard output.
pub(crate) fn write_standard(bytes: &[u8]) -> Result<(), Failure> {
    write_all(&mut io::stdout().lock(), bytes)
}

fn write_all(to: &mut impl Write, bytes: &[u8]) -> Result<(), Failure> {
    match to.write_all(bytes).and_then(|()| to.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::File(anyhow::Error::new(error).context("cannot write to standard output")))
        }
        _ => Ok(()),
    }
}

/// Says something that is worth knowing and stops nothing.
pub(crate) fn warn(text: &str) {
    // Nobody is left to tell if standard error is closed.
    let _ = writeln!(io::stderr(), "ctxe: {text}");
}

/// Writes a file whole or not at all: under another name first, then renamed.
pub(crate) fn write_file(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let unfinished = with_suffix(file, &format!(".{}.tmp", std::process::id()));
    let written = std::fs::write(&unfinished, bytes).and_then(|()| std::fs::rename(&unfinished, file));
    if written.is_err() {
        // It may not exist; the error that counts is the first one.
        let _ = std::fs::remove_file(&unfinished);
    }
    written.with_context(|| format!("cannot write {}", file.display())).map_err(Failure::File)
}

/// Replaces a session and keeps the old one beside it; answers where.
pub(crate) fn replace_file(file: &Path, bytes: &[u8]) -> Result<PathBuf, Failure> {
    let backup = free_name(file);
    std::fs::copy(file, &backup)
        .with_context(|| format!("cannot keep the old session as {}", backup.display()))
        .map_err(Failure::File)?;
    write_file(file, bytes)?;
    Ok(backup)
}

/// `FILE.before-compaction`, numbered if that exists: an older backup is never overwritten.
fn free_name(file: &Path) -> PathBuf {
    let first = with_suffix(file, ".before-compaction");
    let numbered = (2u32..).map(|n| with_suffix(file, &format!(".before-compaction.{n}")));
    std::iter::once(first.clone()).chain(numbered).find(|name| !name.exists()).unwrap_or(first)
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A table without frames; the named columns are numbers and stand to the right.
pub(crate) fn table(header: &[&str], right: &[usize], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().map(Cell::new));
    table.add_rows(rows);
    for column in right {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}
