//! Which files there are, and reading them.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// What the file of a project is called.
pub const PROJECT_FILE: &str = "contextengine.toml";

/// What the user's own file is called, below the folder for configuration.
const USER_FILE: [&str; 2] = ["contextengine", "config.toml"];

/// Bytes of the largest file that is read. A file of hand-written settings is a thousandth of that.
const MOST_BYTES: u64 = 1 << 20;

/// The user's own file: `contextengine/config.toml` below `$XDG_CONFIG_HOME`, else below `%APPDATA%` on Windows, else
/// below `~/.config`. `None` where nothing says where the user's files are.
pub fn user_file() -> Option<PathBuf> {
    // A relative path is to be ignored, says the XDG base directory specification.
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let platform = || if cfg!(windows) { set("APPDATA") } else { None };
    let folder = set("XDG_CONFIG_HOME").or_else(platform).or_else(|| home().map(|home| home.join(".config")))?;
    Some(folder.join(USER_FILE[0]).join(USER_FILE[1]))
}

/// The user's home folder.
pub(super) fn home() -> Option<PathBuf> {
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// The file of the project that a folder belongs to: the nearest [`PROJECT_FILE`], from the folder upwards to the root
/// of its repository (the nearest folder with `.git`), that included. Outside of a repository it is looked for up to
/// the home folder, that not included; outside of both, in the folder itself only. So a file that somebody left in a
/// folder for everybody, like `/tmp`, is nobody's project.
pub fn project_file(folder: &Path) -> Option<PathBuf> {
    find(folder, home().as_deref())
}

pub(super) fn find(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let home = home.and_then(|home| home.canonicalize().ok());
    let repository = folder.ancestors().find(|above| above.join(".git").exists());
    let searched: Vec<&Path> = match (repository, &home) {
        (Some(root), _) => folder.ancestors().take_while(|above| above.starts_with(root)).collect(),
        (None, Some(home)) if folder.starts_with(home) => {
            folder.ancestors().take_while(|above| above != home).collect()
        }
        _ => vec![folder.as_path()],
    };
    searched.into_iter().map(|above| above.join(PROJECT_FILE)).find(|file| file.exists())
}

/// Reads a file of settings. `None` where there is none.
///
/// # Errors
///
/// In words: what is wrong with it, and what to do.
pub(super) fn read(path: &Path, may_be_pipe: bool) -> Result<Option<String>, String> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if metadata.is_dir() {
        return Err("it is a folder; name the file in it".to_owned());
    }
    if !metadata.is_file() && !may_be_pipe {
        // A pipe could block for ever.
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let opened = File::open(path).map_err(|error| error.to_string())?;
    opened.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("it has more than {MOST_BYTES} bytes, so it is hardly a file of settings"));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line} is not UTF-8; save it as that")
    })
}
