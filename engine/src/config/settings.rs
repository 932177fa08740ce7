//! What holds in the end, key by key, and where each value comes from; and writing it as TOML.

use serde_json::{Map, Value as Json};

use super::keys::{Consent, Key, Kind, Preset, ROOT};
use super::node::{Node, Value, join, quoted, text};
use super::source::Layer;
use crate::slots::Origin;

/// A value that holds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Setting {
    /// The names, one in the other.
    pub path: Vec<String>,
    /// The value; `None` where the default depends on other keys and none is set.
    pub value: Option<Json>,
    /// What the default depends on, where [`value`](Self::value) is `None`.
    pub depends: Option<&'static str>,
    /// Where it comes from.
    pub layer: Layer,
    /// The file and line, or the argument.
    pub origin: Origin,
    /// Values that it goes before, the nearest first.
    pub overridden: Vec<Overridden>,
}

/// A value that another one goes before.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Overridden {
    /// The key, where it is another one that it excludes.
    pub key: String,
    /// The value.
    pub value: Json,
    /// Where it comes from.
    pub origin: Origin,
}

impl Setting {
    /// The key as it is written, as in `plugins.x.limits.time`.
    pub fn key(&self) -> String {
        self.path.iter().fold(String::new(), |above, name| join(&above, name))
    }
}

/// Every setting, in the order of the reference: what is said, and the defaults of the tables that are not maps.
pub(super) fn all(root: &Node) -> Vec<Setting> {
    let mut settings = Vec::new();
    table(Some(root), &ROOT, &mut Vec::new(), true, &mut settings);
    settings
}

fn table(
    node: Option<&Node>,
    keys: &'static [Key],
    path: &mut Vec<String>,
    presets: bool,
    settings: &mut Vec<Setting>,
) {
    for key in keys {
        let said = node.and_then(|node| node.get(key.name));
        path.push(key.name.to_owned());
        match (&key.kind, said) {
            (Kind::Table(keys), said) => table(said, keys, path, presets, settings),
            (Kind::Map { keys, .. }, Some(Node { value: Value::Table(named), .. })) => {
                for (name, node) in named {
                    path.push(name.clone());
                    let before = settings.len();
                    table(Some(node), keys, path, false, settings);
                    // A table with nothing in it says that there is such a plugin.
                    if settings.len() == before {
                        settings.push(Setting { value: Some(Json::Object(Map::new())), ..said_setting(node, path) });
                    }
                    path.pop();
                }
            }
            (Kind::Plugin, Some(node)) => plugin(node, path, settings),
            (Kind::Path | Kind::Paths, Some(node)) => {
                settings.push(Setting { value: Some(paths(node)), ..said_setting(node, path) });
            }
            (_, Some(node)) => settings.push(said_setting(node, path)),
            // A table of the model that nobody configured has no values.
            (_, None) if presets && !(path.first().is_some_and(|table| table == "model") && node.is_none()) => {
                settings.extend(preset(node, key, path));
            }
            (_, None) => {}
        }
        path.pop();
    }
}

/// A configuration of a plugin, value by value, as its layers are merged so.
fn plugin(node: &Node, path: &mut Vec<String>, settings: &mut Vec<Setting>) {
    match node.table() {
        Some(table) if !table.is_empty() => {
            // Tables last: what follows one in a file would be in it.
            let (tables, leaves): (Vec<_>, Vec<_>) = table.iter().partition(|(_, node)| node.table().is_some());
            for (name, node) in leaves.into_iter().chain(tables) {
                path.push(name.clone());
                plugin(node, path, settings);
                path.pop();
            }
        }
        _ => settings.push(said_setting(node, path)),
    }
}

/// Paths as they are meant, so that they mean the same in a file that lies elsewhere.
fn paths(node: &Node) -> Json {
    let path = |node: &Node| {
        let path = super::read::resolved(node)?;
        Some(Json::from(std::path::absolute(&path).unwrap_or(path).to_string_lossy().into_owned()))
    };
    match &node.value {
        Value::List(items) => items.iter().filter_map(path).collect(),
        _ => path(node).unwrap_or_default(),
    }
}

fn said_setting(node: &Node, path: &[String]) -> Setting {
    let overridden = node.older.iter().map(|older| Overridden {
        key: older.key.to_string(),
        value: older.json(),
        origin: older.origin(),
    });
    Setting {
        path: path.to_vec(),
        value: Some(node.json()),
        depends: None,
        layer: node.layer(),
        origin: node.origin(),
        overridden: overridden.collect(),
    }
}

fn preset(table: Option<&Node>, key: &Key, path: &[String]) -> Option<Setting> {
    // The window of a model that is named is that model's.
    let excluded = |other: &&str| **other != *key.name && table.is_some_and(|table| table.get(other).is_some());
    let above = path.split_last().map(|(_, above)| above.join(".")).unwrap_or_default();
    if super::keys::apart(&above).contains(&key.name) && super::keys::apart(&above).iter().any(excluded) {
        return None;
    }
    // In the file of a project it would be an error.
    if matches!(key.consent, Consent::UserOnly) {
        return None;
    }
    let (value, depends) = match key.preset {
        Preset::None => return None,
        Preset::Is(value) => (Some(value()), None),
        Preset::Depends(on) => (None, Some(on)),
    };
    let (path, layer, origin) = (path.to_vec(), Layer::Default, Origin::Default);
    Some(Setting { path, value, depends, layer, origin, overridden: Vec::new() })
}

/// Settings as one JSON object, tables in tables: what a file would say that says all of it.
pub fn as_json(settings: &[Setting]) -> Json {
    let mut root = Json::Object(Map::new());
    for setting in settings {
        let Some(value) = &setting.value else { continue };
        let mut at = &mut root;
        for name in &setting.path {
            if !at.is_object() {
                *at = Json::Object(Map::new());
            }
            at = match at {
                Json::Object(table) => table.entry(name.clone()).or_insert_with(|| Json::Object(Map::new())),
                _ => return root,
            };
        }
        *at = value.clone();
    }
    root
}

/// Settings as a file that says all of them; `remark` gives what stands behind a value, as a comment.
pub fn as_toml(settings: &[Setting], remark: &dyn Fn(&Setting) -> Option<String>) -> String {
    let mut written = String::new();
    let mut open: &[String] = &[];
    for setting in settings {
        let Some((name, table)) = setting.path.split_last() else { continue };
        let remark = remark(setting).map_or(String::new(), |remark| format!("  # {}", one_line(&remark)));
        // The headers of a model are one value, with others behind it; an empty table elsewhere is the last of its table.
        let is_table = matches!(&setting.value, Some(Json::Object(inner)) if inner.is_empty())
            && setting.path.first().is_none_or(|first| first != "model");
        if is_table {
            written += &format!("{}[{}]{remark}\n", gap(&written), setting.key());
            open = &setting.path;
            continue;
        }
        if table != open {
            let header = table.iter().fold(String::new(), |above, name| join(&above, name));
            written += &format!("{}[{header}]\n", gap(&written));
            open = table;
        }
        written += &match &setting.value {
            Some(value) => format!("{} = {}{remark}\n", quoted(name), toml(value)),
            None => format!("# {} = …{remark}\n", quoted(name)),
        };
    }
    written
}

fn gap(written: &str) -> &'static str {
    if written.is_empty() { "" } else { "\n" }
}

fn one_line(remark: &str) -> String {
    remark.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A value as TOML writes it. There is no `null` in what TOML can say; one becomes an empty text.
pub(super) fn toml(value: &Json) -> String {
    match value {
        Json::Null => "\"\"".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => number_text(number),
        Json::String(value) => text(value),
        Json::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Json::Object(table) if table.is_empty() => "{}".to_owned(),
        Json::Object(table) => {
            let pairs = table.iter().map(|(name, value)| format!("{} = {}", quoted(name), toml(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Large whole numbers in groups of three, as they are easier to read; a number with a point keeps it.
fn number_text(number: &serde_json::Number) -> String {
    let text = number.to_string();
    let digits = text.strip_prefix('-').unwrap_or(&text);
    if digits.len() < 5 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text;
    }
    let sign = &text[..text.len() - digits.len()];
    let first = match digits.len() % 3 {
        0 => 3,
        first => first,
    };
    let mut grouped = format!("{sign}{}", &digits[..first]);
    for start in (first..digits.len()).step_by(3) {
        grouped.push('_');
        grouped.push_str(&digits[start..start + 3]);
    }
    grouped
}
