//! The folder for compiled code.
//!
//! What lies in it is mapped and run as native code without a further check, so whoever can write there can run code
//! as this user. It must be a real folder, owned by this user, and writable by nobody else; any other is refused.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wasmtime::{Cache, CacheConfig};

use super::RuntimeError;

/// Where compiled plugins belong on this system: `contextengine/components` below `$XDG_CACHE_HOME` or `~/.cache`.
/// `None` where neither variable is set to an absolute path.
pub fn default_cache_dir() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("contextengine").join("components"))
}

/// Opens the cache in a folder, which is made if it is not there.
pub(super) fn open(path: &Path) -> Result<Cache, RuntimeError> {
    let failed = |reason: String| RuntimeError::CacheDir { path: path.to_owned(), reason };
    create(path).map_err(|error| failed(error.to_string()))?;
    check(path)?;
    let mut config = CacheConfig::new();
    // The engine wants an absolute path. The folder itself is no symbolic link, its parents may be.
    config.with_directory(path.canonicalize().map_err(|error| failed(error.to_string()))?);
    Cache::new(config).map_err(|error| failed(format!("{error:#}")))
}

#[cfg(unix)]
fn create(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(not(unix))]
fn create(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

#[cfg(unix)]
fn check(path: &Path) -> Result<(), RuntimeError> {
    use std::os::unix::fs::MetadataExt as _;
    let failed = |error: io::Error| RuntimeError::CacheDir { path: path.to_owned(), reason: error.to_string() };
    let refused = |reason: String, advice: &str| {
        Err(RuntimeError::UnsafeCacheDir { path: path.to_owned(), reason, advice: advice.to_owned() })
    };
    let folder = fs::symlink_metadata(path).map_err(failed)?;
    if folder.is_symlink() {
        return refused("it is a symbolic link".to_owned(), "name the folder that it points to");
    }
    if !folder.is_dir() {
        return refused("it is not a folder".to_owned(), "name another path");
    }
    if folder.mode() & 0o022 != 0 {
        let reason = format!("others may write to it (mode {:03o})", folder.mode() & 0o777);
        return refused(reason, "remove what is in it and run `chmod 700` on it, or name another folder");
    }
    // Who this process is, the standard library only tells by what it creates.
    let probe = Probe::create(path).map_err(failed)?;
    let me = fs::symlink_metadata(&probe.0).map_err(failed)?.uid();
    if folder.uid() != me {
        let reason = format!("it belongs to user {}, and this program runs as user {me}", folder.uid());
        return refused(reason, "name a folder of your own");
    }
    Ok(())
}

#[cfg(not(unix))]
fn check(path: &Path) -> Result<(), RuntimeError> {
    let folder = fs::symlink_metadata(path)
        .map_err(|error| RuntimeError::CacheDir { path: path.to_owned(), reason: error.to_string() })?;
    if folder.is_symlink() || !folder.is_dir() {
        return Err(RuntimeError::UnsafeCacheDir {
            path: path.to_owned(),
            reason: "it is not a folder, but a link or a file".to_owned(),
            advice: "name another path".to_owned(),
        });
    }
    Ok(())
}

/// An empty file that is gone when this is dropped.
#[cfg(unix)]
struct Probe(PathBuf);

#[cfg(unix)]
impl Probe {
    fn create(folder: &Path) -> io::Result<Self> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".owner-{}-{number}", std::process::id()));
            match fs::File::create_new(&path) {
                Ok(_) => return Ok(Self(path)),
                // Left by a process that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(unix)]
impl Drop for Probe {
    fn drop(&mut self) {
        // Left behind, it is an empty file.
        let _ = fs::remove_file(&self.0);
    }
}
