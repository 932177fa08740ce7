//! Writing sessions to files.
//!
//! A file is written whole or not at all, and never more readable to others than the session that it was made from:
//! sessions hold secrets. What is no ordinary file, as `/dev/null` or a pipe, is written into and not replaced.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use contextengine::format::Format;

use crate::failure::Failure;
use crate::harmless;
use crate::input;
use crate::report::Written;

/// Says early that a file cannot be written where its folder is missing or it is a folder itself.
pub(crate) fn check_place(file: &Path) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let error = anyhow!("cannot write {}: there is no folder {}", file.display(), folder.display());
        return Err(Failure::File(error));
    }
    if file.is_dir() {
        return Err(Failure::File(anyhow!("cannot write {}: it is a folder; name a file in it", file.display())));
    }
    Ok(())
}

/// A session that was put where it was wanted.
pub(crate) struct Placed {
    pub(crate) report: Written,
    /// The session, if it goes to standard output.
    pub(crate) standard: Option<Vec<u8>>,
}

/// Writes a session to a file, or hands it back where `out` is standard output. `session` is the file that it was made
/// from; one from a store is for its owner alone.
pub(crate) fn place(out: &Path, bytes: Vec<u8>, format: Format, session: Option<&Path>) -> Result<Placed, Failure> {
    let mut report = Written { file: None, format: format.name(), bytes: bytes.len(), backup: None };
    if input::is_standard(out) {
        return Ok(Placed { report, standard: Some(bytes) });
    }
    write(out, &bytes, session)?;
    report.file = Some(harmless::line(&out.display().to_string()));
    Ok(Placed { report, standard: None })
}

/// Who may read a new file.
enum Like {
    /// As this one.
    File(fs::Metadata),
    /// Its owner alone.
    Private,
    /// Whoever the system lets.
    Default,
}

/// Writes a file, with the permissions of the one that it replaces, or else of `session`.
fn write(file: &Path, bytes: &[u8], session: Option<&Path>) -> Result<(), Failure> {
    let written = match fs::metadata(file) {
        Ok(found) if !found.is_file() => OpenOptions::new().write(true).open(file).and_then(|mut f| f.write_all(bytes)),
        // The file that a link leads to is replaced, not the link.
        Ok(found) => file.canonicalize().and_then(|file| replace(&file, bytes, &Like::File(found))),
        Err(_) => {
            let like = session.map_or(Like::Private, |session| match fs::metadata(session) {
                Ok(found) if found.is_file() => Like::File(found),
                _ => Like::Default,
            });
            replace(file, bytes, &like)
        }
    };
    written.with_context(|| format!("cannot write {}", file.display())).map_err(Failure::File)
}

/// Writes under another name first, then renames.
fn replace(file: &Path, bytes: &[u8], like: &Like) -> io::Result<()> {
    let unfinished = with_suffix(file, &format!(".{}.tmp", std::process::id()));
    let written = create(&unfinished, !matches!(like, Like::Default))
        .and_then(|mut new| {
            new.write_all(bytes)?;
            if let Like::File(like) = like {
                new.set_permissions(writable(like))?;
            }
            new.sync_all()
        })
        .and_then(|()| fs::rename(&unfinished, file));
    if written.is_err() {
        // It may not exist; the error that counts is the first one.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Nobody else may read the file before it has its permissions.
#[cfg_attr(not(unix), expect(unused_variables, reason = "only unix has modes"))]
fn create(file: &Path, private: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    options.open(file)
}

/// The permissions of a file, writable by its owner: a copy of a session that is kept read-only is no such session.
#[cfg_attr(not(unix), expect(clippy::permissions_set_readonly_false, reason = "elsewhere it makes nothing public"))]
fn writable(like: &fs::Metadata) -> fs::Permissions {
    let mut permissions = like.permissions();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        permissions.set_mode(permissions.mode() | 0o200);
    }
    #[cfg(not(unix))]
    permissions.set_readonly(false);
    permissions
}

/// Replaces a session that had `length` bytes when it was read, and keeps it beside; answers where.
pub(crate) fn replace_session(file: &Path, length: usize, bytes: &[u8]) -> Result<PathBuf, Failure> {
    let cannot = || format!("cannot replace {}", file.display());
    let now = fs::metadata(file).with_context(cannot).map_err(Failure::File)?.len();
    if now != length as u64 {
        let why = anyhow!("it was changed while it was compacted; end the agent that writes to it, and try again");
        return Err(Failure::File(why.context(cannot())));
    }
    let backup = free_name(file);
    fs::copy(file, &backup)
        .with_context(|| format!("cannot keep the old session as {}", backup.display()))
        .map_err(Failure::File)?;
    write(file, bytes, Some(file))?;
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
    use super::*;

    #[test]
    fn a_session_that_was_changed_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("session.jsonl");
        fs::write(&session, "old and more").unwrap();
        let refused = replace_session(&session, "old".len(), b"new").map_err(|failure| failure.to_string());
        assert!(refused.is_err_and(|why| why.contains("it was changed while it was compacted")));
        assert_eq!(fs::read(&session).unwrap(), b"old and more");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_finished_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing").join("out");
        assert!(write(&missing, b"new", Some(&missing)).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
