//! From files and arguments to one tree: reading, checking, trust, and what goes before what.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use toml::de::DeTable;

use super::error::{ConfigError, Problem, ProblemKind};
use super::keys::{self, Kind};
use super::node::{self, Node, Value};
use super::source::{Layer, Name, Source};
use super::{Config, check, files, trust};
use crate::slots::{ClaimError, Slot};

/// Where settings are read from. A later layer goes before an earlier one, key by key: the defaults of the host, the
/// user's own file, the file of the project, the command line. Tables are merged, lists and everything else replaced.
///
/// ```no_run
/// # fn example() -> Result<(), contextengine::config::ConfigError> {
/// use contextengine::config::Layers;
///
/// let layers = Layers::usual(".").set("trigger.at=75%");
/// let config = layers.load()?;
/// println!("{} tokens", config.window().tokens);
/// // Later, in a program that runs for long:
/// if layers.changed(&config) {
///     let config = layers.load()?;
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Layers {
    user: Option<PathBuf>,
    project: Option<PathBuf>,
    named: Option<PathBuf>,
    arguments: Vec<Argument>,
    trust_project: bool,
    home: Option<PathBuf>,
}

#[derive(Debug, Clone)]
enum Argument {
    /// `KEY=VALUE`, as somebody wrote it.
    Set(String),
    /// Another argument that stands for a key.
    Flag { flag: String, key: String, value: String },
}

/// A file that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigFile {
    /// Which one.
    pub layer: Layer,
    /// Where.
    pub path: PathBuf,
    /// Whether it is there.
    pub found: bool,
    /// Whether it may say everything: not the file of a project without the user's consent.
    pub trusted: bool,
}

impl Layers {
    /// The defaults of the host and nothing else.
    pub fn new() -> Self {
        Self { home: files::home(), ..Self::default() }
    }

    /// What programs read: the user's own file ([`user_file`](super::user_file)), and that of the project that a
    /// folder belongs to ([`project_file`](super::project_file)).
    pub fn usual(folder: impl Into<PathBuf>) -> Self {
        let layers = Self::new().project(folder);
        match files::user_file() {
            Some(file) => layers.user(file),
            None => layers,
        }
    }

    /// Reads this file as the user's own. It need not be there.
    #[must_use]
    pub fn user(mut self, file: impl Into<PathBuf>) -> Self {
        self.user = Some(file.into());
        self
    }

    /// Reads the file of the project that this folder belongs to, if it has one.
    #[must_use]
    pub fn project(mut self, folder: impl Into<PathBuf>) -> Self {
        self.project = Some(folder.into());
        self
    }

    /// Reads this file instead of the user's and the project's. It must be there, and it may say everything.
    #[must_use]
    pub fn named(mut self, file: impl Into<PathBuf>) -> Self {
        self.named = Some(file.into());
        self
    }

    /// Lets the file of the project say everything, or not. Default: only where the user's own file trusts it.
    #[must_use]
    pub fn trust_project(mut self, trust: bool) -> Self {
        self.trust_project = trust;
        self
    }

    /// Sets a key, as `--set KEY=VALUE` does. The value is TOML; what is not, is a text: `trigger.at=75%`,
    /// `slots.compress=["a", "b"]`. What is wrong with it is reported by [`load`](Self::load).
    #[must_use]
    pub fn set(mut self, assignment: impl Into<String>) -> Self {
        self.arguments.push(Argument::Set(assignment.into()));
        self
    }

    /// Sets a key for an argument of another name, as `--window 200k` does for `window.tokens`.
    #[must_use]
    pub fn argument(mut self, flag: impl Into<String>, key: impl Into<String>, value: impl Into<Json>) -> Self {
        let value = super::settings::toml(&value.into());
        self.arguments.push(Argument::Flag { flag: flag.into(), key: key.into(), value });
        self
    }

    /// Where the user says which projects are trusted.
    pub(super) fn user_path(&self) -> Option<&Path> {
        self.user.as_deref()
    }

    /// Which files are looked for now, in the order in which they are read.
    pub fn files(&self) -> Vec<ConfigFile> {
        let file =
            |layer, path: &Path| ConfigFile { layer, path: path.to_owned(), found: path.exists(), trusted: true };
        if let Some(named) = &self.named {
            return vec![file(Layer::Named, named)];
        }
        let mut files: Vec<ConfigFile> = self.user.iter().map(|path| file(Layer::User, path)).collect();
        let project = self.project.as_ref().and_then(|folder| files::find(folder, self.home.as_deref()));
        files.extend(project.map(|path| ConfigFile { trusted: self.trust_project, ..file(Layer::Project, &path) }));
        files
    }

    /// Reads everything, and says all that is wrong with it.
    ///
    /// # Errors
    ///
    /// A file cannot be read, a key or a value is not one that there is, or what is said does not go together.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let mut problems = Vec::new();
        let mut root = empty();
        let mut fingerprint = Fingerprint::default();
        let mut found = self.files();
        for file in &mut found {
            let text = match files::read(&file.path, file.layer == Layer::Named) {
                Ok(Some(text)) => text,
                Ok(None) if file.layer == Layer::Named => {
                    let reason = "there is no such file".to_owned();
                    problems.push(Problem::nowhere(ProblemKind::Unreadable { path: file.path.clone(), reason }));
                    continue;
                }
                Ok(None) => {
                    fingerprint.absent(&file.path);
                    file.found = false;
                    continue;
                }
                Err(reason) => {
                    problems.push(Problem::nowhere(ProblemKind::Unreadable { path: file.path.clone(), reason }));
                    continue;
                }
            };
            fingerprint.file(&file.path, &text);
            let source = Arc::new(Source::new(Name::File(file.path.clone()), file.layer, text));
            let mut tree = Node::read(&source, &mut problems);
            check::file(&mut tree, &mut problems);
            if file.layer == Layer::Project {
                let trusted = file.trusted || trust::is_trusted(&root, &file.path, self.home.as_deref());
                file.trusted = trusted;
                trust::hold(&mut tree, &root, trusted, &file.path, self.user_path(), &mut problems);
            } else {
                trust::check_projects(&tree, self.home.as_deref(), &mut problems);
            }
            root.overlay(tree, &keys::apart);
        }
        for tree in self.arguments(&mut problems) {
            root.overlay(tree, &keys::apart);
        }
        Config::read(root, found, fingerprint.value(), problems)
    }

    /// Whether [`load`](Self::load) would read something else now than what a configuration was made of: a file that
    /// is changed, gone or new. Costs reading the files, which are small. Components of plugins are not looked at.
    pub fn changed(&self, config: &Config) -> bool {
        let mut fingerprint = Fingerprint::default();
        for file in self.files() {
            match files::read(&file.path, false) {
                Ok(Some(text)) => fingerprint.file(&file.path, &text),
                Ok(None) => fingerprint.absent(&file.path),
                // Whatever it is, it could be read before.
                Err(_) => return true,
            }
        }
        fingerprint.value() != config.fingerprint()
    }

    /// The arguments as trees, each its own layer.
    fn arguments(&self, problems: &mut Vec<Problem>) -> Vec<Node> {
        let mut trees: Vec<(Vec<String>, Node)> = Vec::new();
        for argument in &self.arguments {
            let (shown, text) = match argument {
                Argument::Flag { flag, key, value } => (flag.clone(), format!("{key} = {value}")),
                Argument::Set(assignment) => {
                    let key = assignment.split('=').next().unwrap_or_default().trim();
                    let shown = format!("--set {}", super::secrets::shown(key));
                    match assignment_text(assignment) {
                        Ok(text) => (shown, text),
                        Err(kind) => {
                            let source = Source::new(Name::Argument(shown), Layer::Argument, String::new());
                            problems.push(Problem::new(*kind, source.place(&(0..0), "")));
                            continue;
                        }
                    }
                }
            };
            let source = Arc::new(Source::new(Name::Argument(shown), Layer::Argument, text));
            let mut tree = Node::read(&source, problems);
            check::file(&mut tree, problems);
            trust::not_here(&mut tree, problems);
            let (path, leaf) = leaf_of(&tree);
            if let Some((_, earlier)) = trees.iter().find(|(known, _)| *known == path && !path.is_empty()) {
                problems.push(twice(leaf_of(earlier).1, leaf));
                continue;
            }
            trees.push((path, tree));
        }
        trees.into_iter().map(|(_, tree)| tree).collect()
    }
}

/// `KEY=VALUE` as a line of TOML.
fn assignment_text(assignment: &str) -> Result<String, Box<ProblemKind>> {
    let malformed = || {
        let found = super::secrets::shown(assignment.split('=').next().unwrap_or_default());
        Box::new(ProblemKind::Malformed { found, expected: "KEY=VALUE, as in trigger.at=75%".to_owned() })
    };
    let (key, value) = assignment.split_once('=').ok_or_else(malformed)?;
    let (key, value) = (key.trim(), value.trim());
    let probe = format!("{key} = 0");
    let path = DeTable::parse(&probe).ok().and_then(|table| path_of(table.get_ref())).ok_or_else(malformed)?;
    let quoted = format!("{key} = {}", node::text(value));
    let is_quoted = value.starts_with(['"', '\'']);
    let wants_text = keys::find(path.iter().map(String::as_str)).is_some_and(|key| {
        matches!(key.kind, Kind::Text | Kind::Choice { .. } | Kind::Path | Kind::Sha256 | Kind::Variable | Kind::Url)
    });
    if wants_text && !is_quoted {
        return Ok(quoted);
    }
    let plain = format!("{key} = {value}");
    let is_one = DeTable::parse(&plain).ok().is_some_and(|table| goes_along(table.get_ref(), &path));
    Ok(if is_one { plain } else { quoted })
}

/// The names down to the one value of a table.
fn path_of(table: &DeTable<'_>) -> Option<Vec<String>> {
    let (name, value) = table.iter().next().filter(|_| table.len() == 1)?;
    let mut path = vec![name.get_ref().to_string()];
    if let Some(table) = value.get_ref().as_table() {
        path.extend(path_of(table)?);
    }
    Some(path)
}

/// Whether a table holds nothing beside this path.
fn goes_along(table: &DeTable<'_>, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    let only = table.iter().next().filter(|(name, _)| table.len() == 1 && name.get_ref().as_ref() == first);
    match only {
        Some(_) if rest.is_empty() => true,
        Some((_, value)) => value.get_ref().as_table().is_some_and(|table| goes_along(table, rest)),
        None => false,
    }
}

/// The innermost table or value of a tree without branches.
fn leaf_of(tree: &Node) -> (Vec<String>, &Node) {
    let (mut path, mut at) = (Vec::new(), tree);
    while let Value::Table(table) = &at.value {
        let Some((name, node)) = table.iter().next().filter(|_| table.len() == 1) else { break };
        path.push(name.clone());
        at = node;
    }
    (path, at)
}

/// One key by two arguments.
fn twice(first: &Node, second: &Node) -> Problem {
    let slot = Slot::ALL.into_iter().find(|slot| *first.key == *format!("slots.{slot}"));
    let names = (first.items().first().and_then(Node::text), second.items().first().and_then(Node::text));
    let kind = match (slot, names) {
        (Some(slot @ (Slot::Ingest | Slot::Compress | Slot::Branch)), (Some(owner), Some(claimant)))
            if owner != claimant =>
        {
            ProblemKind::Claim(ClaimError::Held {
                slot,
                owner: owner.to_owned(),
                owner_origin: Box::new(first.origin()),
                claimant: claimant.to_owned(),
                claimant_origin: Box::new(second.origin()),
            })
        }
        _ => ProblemKind::Twice { key: first.key.to_string() },
    };
    Problem::new(kind, second.place())
}

fn empty() -> Node {
    let source = Source::new(Name::Argument(Layer::Default.name().to_owned()), Layer::Default, String::new());
    Node::read(&Arc::new(source), &mut Vec::new())
}

/// What was read, as one value to compare.
#[derive(Default)]
struct Fingerprint(Sha256);

impl Fingerprint {
    fn absent(&mut self, path: &Path) {
        self.part(path.as_os_str().as_encoded_bytes());
        self.0.update([0]);
    }

    fn file(&mut self, path: &Path, text: &str) {
        self.part(path.as_os_str().as_encoded_bytes());
        self.0.update([1]);
        self.part(text.as_bytes());
    }

    fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn value(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}
