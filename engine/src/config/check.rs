//! Holds what a file says against the table of keys. What is wrong is reported and taken out, so that the rest can be
//! used to find more that is wrong.

use std::time::Duration;

use super::error::{Problem, ProblemKind};
use super::keys::{Key, Kind, ROOT};
use super::node::{Node, Table, Value};
use super::secrets;
use super::units;
use crate::alike::nearest;
use crate::setup::Threshold;

const ADVICE: &str = "put it into an environment variable, and write the name of that: api_key_env = \"…\" in [model]";
const PLUGIN_ADVICE: &str =
    "plugins get no keys: the host asks the model for them, with the key of [model] api_key_env";

/// Checks a whole file.
pub(super) fn file(root: &mut Node, problems: &mut Vec<Problem>) {
    if let Value::Table(table) = &mut root.value {
        Check { problems }.table(table, &ROOT, "the file");
    }
}

struct Check<'a> {
    problems: &'a mut Vec<Problem>,
}

impl Check<'_> {
    fn wrong(&mut self, node: &Node, kind: ProblemKind) -> bool {
        self.problems.push(Problem::new(kind, node.place()));
        false
    }

    fn table(&mut self, table: &mut Table, keys: &'static [Key], called: &str) {
        table.retain(|name, node| {
            let Some(key) = keys.iter().find(|key| key.name == name) else {
                self.unknown(name, node, keys, called);
                return false;
            };
            self.value(node, key)
        });
    }

    fn unknown(&mut self, name: &str, node: &Node, keys: &'static [Key], called: &str) {
        let place = node.name_place();
        if secrets::is_secret_name(name) {
            self.problems.push(Problem::new(ProblemKind::Secret { advice: ADVICE }, place));
            return;
        }
        let known: Vec<&'static str> = keys.iter().map(|key| key.name).collect();
        let suggestion = nearest(name, known.iter().copied());
        let (name, table) = (secrets::shown(name), called.to_owned());
        self.problems.push(Problem::new(ProblemKind::UnknownKey { name, table, suggestion, known }, place));
    }

    /// Whether a value is one that the key takes.
    fn value(&mut self, node: &mut Node, key: &'static Key) -> bool {
        match &key.kind {
            Kind::Table(keys) => {
                let called = format!("[{}]", node.key);
                match &mut node.value {
                    Value::Table(table) => {
                        self.table(table, keys, &called);
                        true
                    }
                    _ => self.mistyped(node, format!("a table, as in {called}")),
                }
            }
            Kind::Map { of, keys } => self.map(node, of, keys),
            Kind::Plugin => self.plugin(node),
            _ => self.leaf(node, key),
        }
    }

    fn map(&mut self, node: &mut Node, of: &'static str, keys: &'static [Key]) -> bool {
        let (called, expected) = (node.key.to_string(), format!("a table for each {of}, as in [{}.name]", node.key));
        let Value::Table(table) = &mut node.value else { return self.mistyped(node, expected) };
        table.retain(|name, node| {
            if of == "plugin" && name.starts_with(crate::plugin::RESERVED_PREFIX) {
                let own = name.strip_prefix(crate::plugin::RESERVED_PREFIX).unwrap_or_default();
                let advice = format!("write [plugins.{own}] to configure the one that ships with the host");
                self.problems.push(Problem::new(ProblemKind::Reserved { advice }, node.name_place()));
                return false;
            }
            let inner = format!("[{called}.{}]", super::node::quoted(name));
            match &mut node.value {
                Value::Table(table) => {
                    self.table(table, keys, &inner);
                    true
                }
                _ => self.mistyped(node, format!("a table, as in {inner}")),
            }
        });
        true
    }

    /// The configuration of a plugin: any table without a secret. What else it may hold the plugin's schema says.
    fn plugin(&mut self, node: &Node) -> bool {
        if node.table().is_none() {
            return self.mistyped(node, format!("a table, as in [{}]", node.key));
        }
        self.no_secrets(node, PLUGIN_ADVICE)
    }

    fn no_secrets(&mut self, node: &Node, advice: &'static str) -> bool {
        match &node.value {
            Value::Text(text) if secrets::is_secret(text) => self.wrong(node, ProblemKind::Secret { advice }),
            Value::List(items) => items.iter().all(|item| self.no_secrets(item, advice)),
            Value::Table(table) => {
                let mut fine = true;
                for (name, node) in table {
                    // A table or a switch of that name is no secret.
                    let may_be_one = matches!(node.value, Value::Text(_) | Value::Integer(_));
                    if may_be_one && (secrets::is_secret_name(name) || secrets::is_secret(name)) {
                        self.problems.push(Problem::new(ProblemKind::Secret { advice }, node.name_place()));
                        fine = false;
                    } else {
                        fine &= self.no_secrets(node, advice);
                    }
                }
                fine
            }
            _ => true,
        }
    }

    /// Whether all are right. None is left out after a wrong one, so that all are reported.
    fn each<'n>(
        &mut self,
        nodes: impl IntoIterator<Item = &'n Node>,
        is_right: impl Fn(&mut Self, &'n Node) -> bool,
    ) -> bool {
        let mut right = true;
        for node in nodes {
            right &= is_right(self, node);
        }
        right
    }

    fn mistyped(&mut self, node: &Node, expected: impl Into<String>) -> bool {
        let (expected, found) = (expected.into(), node.value.what());
        self.wrong(node, ProblemKind::WrongType { expected, found })
    }

    fn leaf(&mut self, node: &Node, key: &'static Key) -> bool {
        match (&key.kind, &node.value) {
            (Kind::Bool, Value::Bool(_)) => true,
            (Kind::Bool, _) => self.mistyped(node, "true or false"),
            (Kind::Integer { least, most }, Value::Integer(found)) => self.in_range(node, *found, *least, *most),
            (Kind::Integer { .. }, _) => self.mistyped(node, "a whole number, as in 16_384"),
            (Kind::Threshold, Value::Integer(found)) => self.in_range(node, *found, 1, u64::from(u32::MAX)),
            (Kind::Threshold, Value::Text(text)) => {
                text.parse::<Threshold>().is_ok() || {
                    let expected = "a threshold, as in \"window - reserve\", \"75%\" or 150_000";
                    self.malformed(node, text, expected)
                }
            }
            (Kind::Threshold, _) => self.mistyped(node, "tokens, or a text like \"75%\" or \"window - reserve\""),
            (Kind::Size { least, most }, Value::Text(text)) => match units::size(text) {
                Some(size) if (*least..=*most).contains(&size) => true,
                Some(size) => {
                    self.range(node, units::size_text(size), units::size_text(*least), units::size_text(*most))
                }
                None => self.malformed(node, text, "a size, as in \"64 MiB\""),
            },
            (Kind::Size { .. }, _) => self.mistyped(node, "a size with its unit, as in \"64 MiB\""),
            (Kind::Time { least, most }, Value::Text(text)) => self.time(node, text, *least, *most),
            (Kind::Time { .. }, _) => self.mistyped(node, "a time with its unit, as in \"2 min\" or \"500 ms\""),
            (Kind::Choice { what, names }, _) => self.choice(node, what, &names()),
            (Kind::Choices { what, names }, Value::List(items)) => {
                let names = names();
                self.each(items, |check, item| check.choice(item, what, &names))
            }
            (Kind::Choices { what, names }, _) => {
                let first = names().first().copied().unwrap_or_default();
                self.mistyped(node, format!("a list of names of a {what}, as in [\"{first}\"]"))
            }
            (Kind::Plugins { one }, _) => self.plugins(node, *one),
            (Kind::Texts, Value::List(items)) => self.each(items, |check, item| check.text(item, "a text").is_some()),
            (Kind::Texts, _) => self.mistyped(node, "a list of texts, as in [\"## Goal\"]"),
            (Kind::Paths, Value::List(items)) => self.each(items, |check, item| check.text(item, "a path").is_some()),
            (Kind::Paths, _) => self.mistyped(node, "a list of paths, as in [\"docs\"]"),
            (Kind::Path, _) => self.text(node, "a path").is_some(),
            (Kind::Text, _) => self.text(node, "a text").is_some(),
            (Kind::Sha256, _) => self.formed(node, "64 hexadecimal digits, as `sha256sum` prints them", |text| {
                text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
            }),
            (Kind::Variable, _) => self.variable(node),
            (Kind::Url, _) => self.formed(node, "a URL, as in \"https://example.com/v1\"", is_url),
            (Kind::Headers, Value::Table(table)) => {
                let texts = self.each(table.values(), |check, item| check.text(item, "a text").is_some());
                self.no_secrets(node, ADVICE) && texts
            }
            (Kind::Headers, _) => self.mistyped(node, "a table of texts, as in { \"x-title\" = \"agent\" }"),
            (Kind::Table(_) | Kind::Map { .. } | Kind::Plugin, _) => true,
        }
    }

    fn text<'n>(&mut self, node: &'n Node, expected: &str) -> Option<&'n str> {
        match &node.value {
            Value::Text(text) if secrets::is_secret(text) => {
                self.wrong(node, ProblemKind::Secret { advice: ADVICE });
                None
            }
            Value::Text(text) if text.trim().is_empty() => {
                let found = "an empty text";
                self.wrong(node, ProblemKind::WrongType { expected: expected.to_owned(), found });
                None
            }
            Value::Text(text) => Some(text),
            _ => {
                self.mistyped(node, expected);
                None
            }
        }
    }

    fn formed(&mut self, node: &Node, expected: &str, is_formed: impl Fn(&str) -> bool) -> bool {
        match self.text(node, expected) {
            Some(text) => is_formed(text) || self.malformed(node, text, expected),
            None => false,
        }
    }

    /// A name of a variable; what stands here instead is too often the key itself to be shown.
    fn variable(&mut self, node: &Node) -> bool {
        let Some(text) = self.text(node, "the name of an environment variable") else { return false };
        let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        let formed = text.bytes().next().is_some_and(letter)
            && text.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
            && text.len() <= 128;
        formed
            || self.wrong(
                node,
                ProblemKind::Secret {
                    advice: "this is the name of the environment variable that holds the key, as in \"OPENAI_API_KEY\"",
                },
            )
    }

    fn malformed(&mut self, node: &Node, found: &str, expected: &str) -> bool {
        let (found, expected) = (secrets::shown(found), expected.to_owned());
        self.wrong(node, ProblemKind::Malformed { found, expected })
    }

    fn in_range(&mut self, node: &Node, found: i64, least: u64, most: u64) -> bool {
        let inside = u64::try_from(found).is_ok_and(|found| (least..=most).contains(&found));
        inside || self.range(node, found.to_string(), least.to_string(), most.to_string())
    }

    fn range(&mut self, node: &Node, found: String, least: String, most: String) -> bool {
        self.wrong(node, ProblemKind::OutOfRange { found, least, most })
    }

    fn time(&mut self, node: &Node, text: &str, least: Duration, most: Duration) -> bool {
        match units::time(text) {
            Some(time) if (least..=most).contains(&time) => true,
            Some(time) => self.range(node, units::time_text(time), units::time_text(least), units::time_text(most)),
            None => self.malformed(node, text, "a time, as in \"2 min\", \"1.5 s\" or \"500 ms\""),
        }
    }

    fn choice(&mut self, node: &Node, what: &'static str, names: &[&'static str]) -> bool {
        let Some(found) = self.text(node, &format!("the name of a {what}")) else { return false };
        if names.contains(&found) {
            return true;
        }
        let suggestion = nearest(found, names.iter().copied());
        let known = names.iter().map(|name| (*name).to_owned()).collect();
        let found = secrets::shown(found);
        self.wrong(node, ProblemKind::NotAChoice { what, found, suggestion, known })
    }

    fn plugins(&mut self, node: &Node, one: bool) -> bool {
        let expected = if one { "the name of a plugin, or []" } else { "a list of names of plugins" };
        match &node.value {
            Value::Text(_) => self.text(node, expected).is_some(),
            Value::List(items) => self.each(items, |check, item| check.text(item, "the name of a plugin").is_some()),
            _ => self.mistyped(node, expected),
        }
    }
}

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with(['/', ':', '?', '#'])
            && !rest.contains(|c: char| c.is_whitespace() || c.is_control() || c == '@')
    })
}
