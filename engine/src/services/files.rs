//! Files below folders that an operator granted, read-only.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

/// Names in one folder that are listed at most.
const MAX_NAMES: usize = 10_000;

/// Granted folders. A plugin names a file by a path below one of them: `docs/guide.md` for the granted folder `docs`,
/// by the last part of the folder's own name.
///
/// Whatever a path says, nothing outside of the folders is read: `..` and absolute paths are refused, and links are
/// followed only as far as they stay inside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// Name under which a plugin sees it, and where it is, with every link followed.
    roots: Vec<(String, PathBuf)>,
}

impl Folders {
    /// Grants folders. The names of their last parts must differ.
    ///
    /// # Errors
    ///
    /// A folder is not there, is no folder, or has the name of another one; in words for the operator.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Result<Self, String> {
        let mut roots: Vec<(String, PathBuf)> = Vec::new();
        for folder in folders {
            let shown = folder.display();
            let root =
                folder.canonicalize().map_err(|error| format!("the folder {shown} cannot be granted: {error}"))?;
            if !root.is_dir() {
                return Err(format!("{shown} is not a folder; name the folder it lies in"));
            }
            let Some(name) = root.file_name().map(|name| name.to_string_lossy().into_owned()) else {
                return Err(format!("{shown} has no name of its own; grant a folder below it"));
            };
            if roots.iter().any(|(known, _)| *known == name) {
                return Err(format!("two granted folders are called `{name}`; a plugin could not tell them apart"));
            }
            roots.push((name, root));
        }
        Ok(Self { roots })
    }

    /// Whether nothing is granted.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// A file as text, at most so many bytes, cut at a character. Bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    ///
    /// Why not, for people.
    pub fn read(&self, path: &str, limit: u64) -> Result<String, String> {
        let found = self.find(path)?;
        let problem = |error: io::Error| format!("`{path}` cannot be read: {error}");
        if !fs::metadata(&found).map_err(problem)?.is_file() {
            // A pipe or a device could block for ever.
            return Err(format!("`{path}` is not a file"));
        }
        let mut bytes = Vec::new();
        // Three more bytes, so that a character at the limit is seen whole and can be left out whole.
        File::open(&found).map_err(problem)?.take(limit.saturating_add(3)).read_to_end(&mut bytes).map_err(problem)?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        text.truncate(text.floor_char_boundary(usize::try_from(limit).unwrap_or(usize::MAX)));
        Ok(text)
    }

    /// Names in a folder in order, folders with a slash at the end. The empty path lists the granted folders.
    ///
    /// # Errors
    ///
    /// Why not, for people.
    pub fn entries(&self, path: &str) -> Result<Vec<String>, String> {
        if matches!(path, "" | "." | "/") {
            let mut names: Vec<String> = self.roots.iter().map(|(name, _)| format!("{name}/")).collect();
            names.sort_unstable();
            return Ok(names);
        }
        let found = self.find(path)?;
        let problem = |error: io::Error| format!("`{path}` cannot be listed: {error}");
        let mut names = Vec::new();
        for entry in fs::read_dir(&found).map_err(problem)?.take(MAX_NAMES) {
            let entry = entry.map_err(problem)?;
            let slash = if entry.file_type().map_err(problem)?.is_dir() { "/" } else { "" };
            names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Where a path leads, if that is inside.
    fn find(&self, path: &str) -> Result<PathBuf, String> {
        if self.roots.is_empty() {
            return Err("not granted: no folder is granted to this plugin".to_owned());
        }
        let mut parts = Vec::new();
        for part in Path::new(path.trim_end_matches('/')).components() {
            match part {
                Component::Normal(name) => parts.push(name),
                Component::CurDir => {}
                _ => return Err(format!("`{path}` is not a path below a granted folder: no `..`, no `/` before it")),
            }
        }
        let granted = || {
            let names: Vec<&str> = self.roots.iter().map(|(name, _)| name.as_str()).collect();
            names.join(", ")
        };
        let first = parts.first().map(|name| name.to_string_lossy());
        let Some((_, root)) = self.roots.iter().find(|(name, _)| Some(name.as_str()) == first.as_deref()) else {
            return Err(format!("`{path}` is in no granted folder; granted are: {}", granted()));
        };
        let wanted: PathBuf = std::iter::once(root.as_os_str()).chain(parts.into_iter().skip(1)).collect();
        let found = wanted.canonicalize().map_err(|error| format!("`{path}` cannot be read: {error}"))?;
        if !found.starts_with(root) {
            return Err(format!("`{path}` is a link that leads out of the granted folder"));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    /// A folder `name` in a fresh place, with one file and, outside of it, a secret.
    fn granted(name: &str) -> (PathBuf, Folders) {
        let place = std::env::temp_dir().join(format!("contextengine-files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("docs/deep")).unwrap();
        fs::write(place.join("docs/guide.md"), "häuser").unwrap();
        fs::write(place.join("secret.txt"), "secret").unwrap();
        let folders = Folders::new([place.join("docs")]).unwrap();
        (place, folders)
    }

    #[test]
    fn files_of_granted_folders_are_read_up_to_the_limit_at_a_character() {
        let (place, folders) = granted("read");
        assert_eq!(folders.read("docs/guide.md", 100).unwrap(), "häuser");
        assert_eq!(folders.read("docs/./guide.md", 2).unwrap(), "h");
        assert_eq!(folders.read("docs/guide.md", 3).unwrap(), "hä");
        assert_eq!(folders.entries("").unwrap(), ["docs/"]);
        assert_eq!(folders.entries("docs/").unwrap(), ["deep/", "guide.md"]);
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn nothing_outside_of_the_granted_folders_is_read() {
        let (place, folders) = granted("outside");
        let absolute = place.join("secret.txt").display().to_string();
        for path in ["../secret.txt", "docs/../../secret.txt", "secret.txt", "/etc/passwd", &absolute, "docs/deep"] {
            assert!(folders.read(path, 100).is_err(), "{path}");
        }
        assert!(Folders::default().read("docs/guide.md", 100).unwrap_err().starts_with("not granted"));
        fs::remove_dir_all(place).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_out_is_refused() {
        let (place, folders) = granted("link");
        std::os::unix::fs::symlink(place.join("secret.txt"), place.join("docs/link")).unwrap();
        std::os::unix::fs::symlink(place.join("docs/guide.md"), place.join("docs/inside")).unwrap();
        assert!(folders.read("docs/link", 100).unwrap_err().contains("leads out"));
        assert_eq!(folders.read("docs/inside", 100).unwrap(), "häuser");
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn two_folders_of_one_name_are_refused() {
        let (place, _) = granted("twice");
        fs::create_dir_all(place.join("other/docs")).unwrap();
        assert!(Folders::new([place.join("docs"), place.join("other/docs")]).unwrap_err().contains("`docs`"));
        fs::remove_dir_all(place).unwrap();
    }
}
