//! `ctxe config show`.

use anyhow::anyhow;
use contextengine::config::{Config, Layers, Setting, as_json, as_toml};
use contextengine::slots::Origin;
use serde_json::{Map, Value, json};

use super::{REPORT_VERSION, layers, origin_words, problem, shown};
use crate::args::ShowConfigArgs;
use crate::failure::Failure;
use crate::harmless;
use crate::output::{self, To};
use crate::report::counted;

/// Characters of a value that another one goes before.
const OLD: usize = 40;

pub(super) fn run(args: &ShowConfigArgs) -> Result<(), Failure> {
    let layers = if args.defaults { Layers::new() } else { layers(&args.layers) };
    let config = match layers.load() {
        Ok(config) => config,
        Err(error) => {
            output::print(&problem::for_people(&error), To::Aside)?;
            let count = u32::try_from(error.problems().len()).unwrap_or(u32::MAX);
            return Err(Failure::Usage(anyhow!("the configuration has {}", counted(count, "error"))));
        }
    };
    let settings = config.settings();
    let text = if args.json { for_programs(&config, &settings) } else { harmless::toml(&as_toml(&settings, &remark)) };
    output::print(&text, To::Output)
}

/// Where a value comes from, and what it goes before.
fn remark(setting: &Setting) -> Option<String> {
    let mut remark = match setting.depends {
        Some(depends) => format!("default: {depends}"),
        None => origin_words(&setting.origin),
    };
    for old in &setting.overridden {
        let key = if old.key == setting.key() { String::new() } else { format!("{} = ", old.key) };
        let value = harmless::short_line(&old.value.to_string(), OLD);
        remark += &format!("; goes before {key}{value} ({})", origin_words(&old.origin));
    }
    Some(harmless::line(&remark))
}

fn for_programs(config: &Config, settings: &[Setting]) -> String {
    let origin = |origin: &Origin| match origin {
        Origin::File { path, line, .. } => json!({ "file": shown(path), "line": line }),
        Origin::Argument(argument) => json!({ "argument": argument }),
        _ => Value::Null,
    };
    let origins = settings.iter().filter(|setting| setting.value.is_some()).map(|setting| {
        let old = setting
            .overridden
            .iter()
            .map(|old| json!({ "key": old.key, "value": old.value, "origin": origin(&old.origin) }));
        let facts = json!({
            "layer": setting.layer.name(), "origin": origin(&setting.origin), "overridden": old.collect::<Vec<_>>()
        });
        (setting.key(), facts)
    });
    let report = json!({
        "report_version": REPORT_VERSION,
        "files": files(config),
        "settings": as_json(settings),
        "origins": origins.collect::<Map<_, _>>(),
    });
    format!("{}\n", harmless::json(&format!("{report:#}")))
}

pub(super) fn files(config: &Config) -> Value {
    let file = |file: &contextengine::config::ConfigFile| json!({ "layer": file.layer.name(), "path": shown(&file.path), "found": file.found, "trusted": file.trusted });
    config.files().iter().map(file).collect()
}
