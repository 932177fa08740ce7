//! What the file of a project may say. It comes with a repository that somebody cloned, so it is less trusted than the
//! user's own file.
//!
//! Without the user's consent it may choose among what ships with the host and what the user configured, configure
//! these, and set windows, triggers and the gate. It may not load a component, grant a service or a folder, raise a
//! limit, or say anything of the model. Each key says for itself ([`Consent`](super::keys::Consent)).

use std::path::{Path, PathBuf};

use super::error::{Problem, ProblemKind};
use super::keys::{Consent, Key, Kind, Preset, ROOT};
use super::node::{Node, Table, Value};
use super::units;

/// Whether the user's own file, as it was read, trusts the folder of a project.
pub(super) fn is_trusted(user: &Node, project: &Path, home: Option<&Path>) -> bool {
    let Some(folder) = project.parent().and_then(|folder| folder.canonicalize().ok()) else { return false };
    trusted(user, home).any(|(_, path)| {
        path.and_then(|path| path.canonicalize().ok()).is_some_and(|trusted| folder.starts_with(trusted))
    })
}

/// The trusted folders, each with where it is said; `None` for one that is not an absolute path.
fn trusted<'a>(user: &'a Node, home: Option<&'a Path>) -> impl Iterator<Item = (&'a Node, Option<PathBuf>)> {
    let items = user.at(&["trust", "projects"]).map_or(&[][..], Node::items);
    items.iter().map(move |item| (item, item.text().and_then(|text| absolute(text, home))))
}

fn absolute(text: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match (text.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) => home.join(rest.strip_prefix(['/', '\\'])?),
        _ => PathBuf::from(text),
    };
    path.is_absolute().then_some(path)
}

/// Whether the list of trusted projects can be understood.
pub(super) fn check_projects(user: &Node, home: Option<&Path>, problems: &mut Vec<Problem>) {
    for (node, _) in trusted(user, home).filter(|(_, path)| path.is_none()) {
        let found = node.text().map(super::secrets::shown).unwrap_or_default();
        let expected = "an absolute path, or one that begins with `~/`".to_owned();
        problems.push(Problem::new(ProblemKind::Malformed { found, expected }, node.place()));
    }
}

/// Takes out of the tree of a project what it may not say, and reports it. `below` is what holds without it.
pub(super) fn hold(
    tree: &mut Node,
    below: &Node,
    trusted: bool,
    file: &Path,
    user_file: Option<&Path>,
    problems: &mut Vec<Problem>,
) {
    not_here(tree, problems);
    if trusted {
        return;
    }
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    let mut holder = Holder { folder, user_file: user_file.map(Path::to_owned), problems };
    if let Value::Table(table) = &mut tree.value {
        holder.table(table, Some(below), &ROOT);
    }
}

/// Takes out what counts in the user's own file only, and reports it.
pub(super) fn not_here(tree: &mut Node, problems: &mut Vec<Problem>) {
    let Value::Table(table) = &mut tree.value else { return };
    for (name, node) in table.iter_mut() {
        let Some(keys) = ROOT.iter().find(|key| key.name == name).and_then(|key| match &key.kind {
            Kind::Table(keys) => Some(keys),
            _ => None,
        }) else {
            continue;
        };
        let Value::Table(inner) = &mut node.value else { continue };
        inner.retain(|name, node| {
            let key = keys.iter().find(|key| key.name == name);
            let is_users = key.is_some_and(|key| matches!(key.consent, Consent::UserOnly));
            if is_users {
                let kind = ProblemKind::NotHere { key: node.key.to_string() };
                problems.push(Problem::new(kind, node.name_place()));
            }
            !is_users
        });
    }
}

struct Holder<'a> {
    folder: PathBuf,
    user_file: Option<PathBuf>,
    problems: &'a mut Vec<Problem>,
}

impl Holder<'_> {
    fn table(&mut self, table: &mut Table, below: Option<&Node>, keys: &'static [Key]) {
        table.retain(|name, node| {
            let Some(key) = keys.iter().find(|key| key.name == name) else { return true };
            let below = below.and_then(|below| below.get(name));
            match (&key.kind, &mut node.value) {
                (Kind::Table(keys), Value::Table(table)) => {
                    self.table(table, below, keys);
                    true
                }
                (Kind::Map { keys, .. }, Value::Table(table)) => {
                    for (name, node) in table.iter_mut() {
                        if let Value::Table(table) = &mut node.value {
                            self.table(table, below.and_then(|below| below.get(name)), keys);
                        }
                    }
                    true
                }
                _ => self.may_say(node, below, key),
            }
        });
    }

    fn may_say(&mut self, node: &Node, below: Option<&Node>, key: &Key) -> bool {
        let why = match key.consent {
            Consent::Free => return true,
            Consent::Downwards(_) if is_at_most(node, below, key) => return true,
            Consent::Downwards(why) | Consent::Asked(why) => why,
            Consent::UserOnly => return false,
        };
        // The same again gives nothing.
        if below.is_some_and(|below| below.value == node.value) {
            return true;
        }
        let (key, folder, user_file) = (node.key.to_string(), self.folder.clone(), self.user_file.clone());
        self.problems.push(Problem::new(ProblemKind::Untrusted { key, why, folder, user_file }, node.name_place()));
        false
    }
}

/// Whether a limit is at most what holds without it: what another layer says, or else the default.
fn is_at_most(node: &Node, below: Option<&Node>, key: &Key) -> bool {
    let default = match key.preset {
        Preset::Is(value) => Some(value()),
        _ => None,
    };
    let held = below.map(Node::json).or(default);
    match (held.as_ref().and_then(|value| amount(value, &key.kind)), amount(&node.json(), &key.kind)) {
        (Some(held), Some(wanted)) => wanted <= held,
        _ => false,
    }
}

fn amount(value: &serde_json::Value, kind: &Kind) -> Option<u128> {
    match kind {
        Kind::Size { .. } => units::size(value.as_str()?).map(u128::from),
        Kind::Time { .. } => units::time(value.as_str()?).map(|time| time.as_millis()),
        _ => value.as_u64().map(u128::from),
    }
}
