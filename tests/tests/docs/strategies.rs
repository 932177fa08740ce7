//! `docs/strategies.md` holds: the tables of presets are what the preset files say, the configuration loads, the sizes are
//! those of the components.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use contextengine::config::{Embedded, Layers};
use contextengine::plugin::Plugin;
use contextengine::slots::Slot;
use contextengine::tokens::{TiktokenCounter, Vocabulary};
use contextengine::{Engine, Threshold};
use contextengine_tests::component;
use serde_json::Value;

use super::{parts, read, root};

const PAGE: &str = "docs/strategies.md";
const HEADER: &str = "| preset | key | value | its own value | source | test |";

/// A row of a table of presets.
#[derive(Debug)]
struct Row {
    plugin: String,
    preset: String,
    keys: Vec<String>,
    /// As JSON.
    value: String,
    test: String,
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Every row of every table of presets, with the plugin that the heading above it names.
fn rows(page: &str) -> Vec<Row> {
    let (mut rows, mut plugin, mut in_table) = (Vec::new(), None, false);
    for line in page.lines() {
        if let Some(named) = line.strip_prefix("### Presets of ") {
            plugin = Some(named.to_owned());
        }
        in_table = line == HEADER || (in_table && line.starts_with('|'));
        if !in_table || line == HEADER || line.starts_with("|---") {
            continue;
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [preset, keys, value, own, source, test] = cells[..] else { panic!("{line}: six cells are wanted") };
        assert!(!own.is_empty() && !source.is_empty(), "{line}: say what the system has, and where that is from");
        let one = |cell: &str| match &quoted(cell)[..] {
            [one] => one.clone(),
            _ => panic!("{line}: one thing in backticks is wanted in `{cell}`"),
        };
        rows.push(Row {
            plugin: plugin.clone().unwrap_or_else(|| panic!("{line}: under no heading")),
            preset: preset.to_owned(),
            keys: quoted(keys),
            value: one(value),
            test: one(test),
        });
    }
    rows
}

/// The presets of every plugin, by plugin and name.
fn presets() -> BTreeMap<(String, String), Value> {
    let mut presets = BTreeMap::new();
    for plugin in fs::read_dir(root().join("plugins")).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(files) = fs::read_dir(plugin.join("presets")) else { continue };
        for file in files.map(|entry| entry.unwrap().path()) {
            let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
            let preset = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            presets.insert((name(&plugin), name(&file)), preset);
        }
    }
    assert!(presets.len() > 10, "{:?}", presets.keys());
    presets
}

/// A value as the page shows it: of sections, the headings.
fn shown(value: &Value) -> Value {
    match value {
        Value::Array(items) if items.iter().any(|item| item.get("heading").is_some()) => {
            items.iter().map(|item| item["heading"].clone()).collect()
        }
        other => other.clone(),
    }
}

/// Whether two values are the same, also where one number is written as a whole one.
fn same(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().is_some_and(|number| other.as_f64() == Some(number))
}

/// The tests of a plugin, as text.
fn tests_of(plugin: &str) -> String {
    let folder = root().join("plugins").join(plugin).join("tests");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let rust = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.map(|path| fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn every_listed_value_of_a_preset_is_that_of_its_file() {
    let presets = presets();
    let mut wrong = Vec::new();
    for Row { plugin, preset, keys, value, .. } in rows(&read(PAGE)) {
        let Some(file) = presets.get(&(plugin.clone(), preset.clone())) else {
            wrong.push(format!("{plugin} has no preset {preset}"));
            continue;
        };
        let listed: Value = serde_json::from_str(&value).unwrap_or_else(|error| panic!("{value}: {error}"));
        assert!(!keys.is_empty(), "a row of {preset} names no key in backticks");
        for key in keys {
            match file.get(&key).map(shown) {
                Some(is) if same(&is, &listed) => {}
                Some(is) => wrong.push(format!("{plugin}, {preset}: `{key}` is {is}, not {listed}")),
                None => wrong.push(format!("{plugin}, {preset}: it does not set `{key}`")),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_key_that_a_preset_sets_otherwise_than_the_default_has_one_row() {
    let schemas = [
        ("branch-summary", branch_summary::Config::schema()),
        ("fresh-window", fresh_window::Config::schema()),
        ("llm-rolling-summary", llm_rolling_summary::Config::schema()),
        ("result-reducer", result_reducer::Config::schema()),
        ("tool-prune", tool_prune::Config::schema()),
    ];
    let schemas: BTreeMap<&str, Value> =
        schemas.into_iter().map(|(plugin, schema)| (plugin, serde_json::from_str(&schema).unwrap())).collect();
    let mut listed = BTreeSet::new();
    for row in rows(&read(PAGE)) {
        for key in row.keys {
            let key = (row.plugin.clone(), row.preset.clone(), key);
            assert!(listed.insert(key.clone()), "{key:?} has two rows");
        }
    }
    let mut missing = Vec::new();
    for ((plugin, preset), file) in presets() {
        assert!(listed.iter().any(|row| (&row.0, &row.1) == (&plugin, &preset)), "{plugin}: {preset} has no row");
        for (key, value) in file.as_object().unwrap() {
            let property = &schemas[plugin.as_str()]["properties"][key];
            assert!(property.is_object(), "{plugin}: the schema does not know {key}");
            let by_default = property.get("default").unwrap_or(&Value::Null);
            if !same(by_default, value) && !listed.contains(&(plugin.clone(), preset.clone(), key.clone())) {
                missing.push(format!("{plugin}, {preset}: `{key}` = {value}, by default {by_default}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_test_that_a_row_names_is_a_test_of_its_plugin() {
    let mut missing = BTreeSet::new();
    for Row { plugin, preset, test, .. } in rows(&read(PAGE)) {
        if !tests_of(&plugin).contains(&format!("#[test]\nfn {test}()")) {
            missing.insert(format!("{plugin}, {preset}: {test}"));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// A program that ships with all strategies, as `ctxe` does.
struct Shipped;

impl Embedded for Shipped {
    fn names(&self) -> Vec<String> {
        strategies().into_iter().map(|(name, _)| name).collect()
    }

    fn component(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.names().iter().any(|known| known == name).then(|| Cow::Owned(component(name)))
    }
}

/// Name and size of every strategy, as the page lists them.
fn strategies() -> Vec<(String, f64)> {
    let page = read(PAGE);
    let sizes = page.lines().filter_map(|line| {
        let size: f64 = line.strip_suffix(" KiB |")?.rsplit(' ').next()?.parse().unwrap();
        Some((quoted(line)[0].clone(), size))
    });
    sizes.collect()
}

#[tokio::test]
async fn the_whole_configuration_of_the_page_binds_what_it_says() {
    let blocks = parts(&read(PAGE)).1;
    let [(language, text)] = &blocks[..] else { panic!("{} blocks", blocks.len()) };
    assert_eq!(language, "toml");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("contextengine.toml");
    fs::write(&file, text).unwrap();
    let config = Layers::new().named(file).load().unwrap_or_else(|error| panic!("{error}"));
    let engine = Engine::builder().counter(TiktokenCounter::new(Vocabulary::default())).build().unwrap();
    let setup = config.assemble(&engine, &Shipped).await.unwrap_or_else(|error| panic!("{error}"));
    let names = |slot| setup.slots.bindings(slot).iter().map(contextengine::slots::Binding::id).collect::<Vec<_>>();
    assert_eq!(names(Slot::Ingest), ["result-reducer"]);
    assert_eq!(names(Slot::Select), ["tool-prune"]);
    assert_eq!(names(Slot::Compress), ["llm-rolling-summary", "regex-anchors"]);
    assert_eq!(names(Slot::Branch), ["branch-summary"]);
    assert_eq!((setup.window.tokens, setup.threshold), (200_000, Threshold::Percent(80)));
    assert_eq!(setup.model.unwrap().window(), Some(131_072));
}

#[test]
fn the_page_lists_every_strategy_with_its_size_to_a_tenth() {
    let listed = strategies();
    let folders = fs::read_dir(root().join("plugins")).unwrap().map(|entry| entry.unwrap().path());
    let folders: BTreeSet<String> = folders
        .filter(|folder| folder.join("README.md").is_file())
        .map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(listed.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>(), folders);
    for (name, size) in listed {
        #[expect(clippy::cast_precision_loss, reason = "a component is no larger than some megabytes")]
        let is = component(&name).len() as f64 / 1024.0;
        assert!((is / size - 1.0).abs() < 0.1, "{name} takes {is:.0} KiB");
    }
}

/// Who owns what stands in the table of the six as the plugins themselves say it.
#[tokio::test]
async fn the_page_names_the_slot_that_each_strategy_can_own() {
    let engine = Engine::builder().build().unwrap();
    let page = read(PAGE);
    for (name, _) in strategies() {
        let mut load = contextengine::plugin::LoadOptions::default();
        load = load.grant(contextengine::hooks::Service::Model);
        let plugin: Plugin = engine.load(&component(&name), load).await.unwrap();
        let slots: Vec<&str> =
            Slot::ALL.iter().filter(|slot| plugin.hooks().contains(&slot.hook())).map(|slot| slot.name()).collect();
        let [slot] = slots[..] else { panic!("{name} can own {slots:?}") };
        assert!(page.contains(&format!("| `{name}` | `{slot}` |")), "{name} owns {slot}");
    }
}
