//! The schema for editors says what the host says, and the example is right by both.

use std::collections::BTreeSet;

use contextengine::config::{Layers, schema};
use contextengine::plugin::check_config;
use serde_json::{Value, json};

use crate::{Folder, load, problems};

/// What TOML says, as JSON: through the host's own reading of it, whatever the keys are.
fn as_value(text: &str) -> Value {
    let table: toml::Table = text.parse().unwrap();
    serde_json::to_value(table).unwrap()
}

fn violations(schema: &Value, text: &str) -> Vec<String> {
    let found = check_config(&schema.to_string(), &as_value(text)).unwrap();
    found.iter().map(ToString::to_string).collect()
}

/// The example, whose configuration is that of a plugin that the tests build.
const EXAMPLE: &str = include_str!("../../../examples/contextengine.toml");

#[test]
fn the_example_is_right_by_the_host_and_by_the_schema() {
    assert_eq!(problems(EXAMPLE), "");
    assert_eq!(violations(&schema(&[]), EXAMPLE), [""; 0]);
}

/// Lines that are commented out in the example are there to be taken in.
#[test]
fn the_example_with_all_its_lines_is_right_too() {
    let is_setting = |line: &str| {
        let name = line.split('=').next().unwrap_or_default().trim();
        line.contains('=')
            && !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.\"".contains(&b))
    };
    let all: String = EXAMPLE
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if is_setting(rest) || (rest.starts_with('[') && rest.ends_with(']')) => format!("{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    assert!(
        all.lines().filter(|line| !line.starts_with('#')).count()
            > EXAMPLE.lines().filter(|line| !line.starts_with('#')).count()
    );
    assert_eq!(problems(&all), "", "{all}");
    assert_eq!(violations(&schema(&[]), &all), [""; 0]);
    // Every key is in it.
    let said = as_value(&all);
    for path in paths(&schema(&[]), &mut Vec::new()) {
        // It is in a remark, as it excludes `tokens`.
        if path == ["window", "model"] {
            continue;
        }
        assert!(holds(&said, &path), "examples/contextengine.toml lacks {}", path.join("."));
    }
}

/// Paths of all values of the schema; `*` for the tables that are named freely.
fn paths(schema: &Value, above: &mut Vec<String>) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        above.push(name.clone());
        if inner.get("properties").is_none() && inner.pointer("/additionalProperties/properties").is_none() {
            all.push(above.clone());
        }
        all.extend(paths(inner, above));
        above.pop();
    }
    if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.get("properties").is_some()) {
        above.push("*".to_owned());
        all.extend(paths(inner, above));
        above.pop();
    }
    all
}

fn holds(value: &Value, path: &[String]) -> bool {
    match path.split_first() {
        None => true,
        Some((name, rest)) if name == "*" => {
            value.as_object().is_some_and(|table| table.values().any(|inner| holds(inner, rest)))
        }
        Some((name, rest)) => value.get(name).is_some_and(|inner| holds(inner, rest)),
    }
}

#[test]
fn the_reference_names_every_key() {
    let reference = include_str!("../../../docs/configuration.md");
    for path in paths(&schema(&[]), &mut Vec::new()) {
        let key = path.last().unwrap();
        let whole = path.iter().map(|name| if name == "*" { "NAME" } else { name }).collect::<Vec<_>>().join(".");
        let named = reference.contains(&format!("| `{key}` |")) || reference.contains(&format!("| `{whole}` |"));
        assert!(named, "docs/configuration.md lacks {whole}");
    }
}

#[test]
fn every_key_of_the_schema_is_taken_by_the_host_and_described() {
    let schema = schema(&[]);
    let all = paths(&schema, &mut Vec::new());
    assert!(all.len() > 45, "{}", all.len());
    for path in all {
        let key = path.iter().map(|name| if name == "*" { "x" } else { name }).collect::<Vec<_>>().join(".");
        // A value of no key at all: the host knows the key if it only complains of the value.
        let said = problems(&format!("{key} = [[[]]]\n"));
        assert!(!said.contains("there is no key") && !said.is_empty(), "{key}: {said}");
    }
    let mut bare = Vec::new();
    described(&schema, "", &mut bare);
    assert_eq!(bare, [""; 0]);
}

fn described(schema: &Value, at: &str, bare: &mut Vec<String>) {
    for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let at = format!("{at}.{name}");
        if inner.get("description").and_then(Value::as_str).is_none_or(|about| about.len() < 10) {
            bare.push(at.clone());
        }
        described(inner, &at, bare);
    }
    if let Some(inner) = schema.get("additionalProperties") {
        described(inner, &format!("{at}.*"), bare);
    }
}

#[test]
fn the_defaults_of_the_schema_are_the_ones_that_hold() {
    let schema = schema(&[]);
    let settings = Layers::new().load().unwrap().settings();
    let mut seen = BTreeSet::new();
    for setting in settings.iter().filter(|setting| setting.value.is_some()) {
        let pointer: String = setting.path.iter().map(|name| format!("/properties/{name}")).collect();
        assert_eq!(schema.pointer(&format!("{pointer}/default")), setting.value.as_ref(), "{}", setting.key());
        seen.insert(setting.key());
    }
    assert!(seen.contains("window.tokens") && seen.contains("slots.strict"), "{seen:?}");
    // And each of them is a value that its key takes.
    let folder = Folder::new();
    let text = contextengine::config::as_toml(&settings, &|_| None);
    assert!(load(&folder.write("c.toml", &text)).is_ok());
    assert_eq!(violations(&schema, &text), [""; 0]);
    let limits = schema.pointer("/properties/plugins/additionalProperties/properties/limits/properties").unwrap();
    let limits: String =
        limits.as_object().unwrap().iter().map(|(name, of)| format!("{name} = {}\n", of["default"])).collect();
    let config = load(&folder.write("c.toml", format!("[plugins.x.limits]\n{limits}"))).unwrap();
    assert_eq!(config.plugins()["x"].limits, contextengine::plugin::Limits::default());
}

#[test]
fn what_the_host_refuses_for_its_form_the_schema_refuses_too() {
    let schema = schema(&[]);
    for text in [
        "x = 1",
        "[window]\ntokns = 1",
        "[window]\ntokens = 0",
        "[window]\ntokens = \"5\"",
        "[window]\ntokenizer = \"x\"",
        "[trigger]\nat = \"half\"",
        "[trigger]\nat = 0",
        "[slots]\ncompress = 1",
        "[slots]\nselect = [1]",
        "[slots]\nstrict = 1",
        "[plugins.x]\ngrant = [\"modl\"]",
        "[plugins.x]\nsha256 = \"1\"",
        "[plugins.X]",
        "[plugins.x.limits]\nmemory = \"64\"",
        "[plugins.x.limits]\ntime = \"2 minutes\"",
        "[plugins.x]\nconfig = 1",
        "[model]\nbase_url = \"host\"",
        "[model]\napi_key_env = \"a b\"",
        "[gate]\nsections = \"a\"",
        "[models.x]\nreserve = 1",
        "[trust]\nprojects = 1",
    ] {
        assert_ne!(problems(&format!("{text}\n")), "", "{text}");
        assert_ne!(violations(&schema, text), [""; 0], "{text}");
    }
}

#[test]
fn the_configurations_of_plugins_are_part_of_it() {
    let own = json!({ "$schema": "x", "type": "object", "properties": { "n": { "$ref": "#/$defs/n" } }, "$defs": { "n": { "type": "integer" } } });
    let schema = schema(&[("mine".to_owned(), own)]);
    let config = schema.pointer("/properties/plugins/properties/mine/properties/config").unwrap();
    assert_eq!(config["$id"], "urn:contextengine:plugin:mine");
    assert!(config.get("$schema").is_none());
    assert!(schema.pointer("/properties/plugins/additionalProperties/properties/config").is_some());
}
