//! `ctxe config check`.

use std::fmt::Write as _;

use contextengine::config::{Config, ConfigError, Layer, Layers};
use contextengine::plugin::Plugin;
use contextengine::slots::Slot;
use contextengine::{Engine, Setup};
use serde_json::{Value, json};

use super::{BuiltIn, REPORT_VERSION, counted_errors, layers, origin_words, problem, shown, wrong};
use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::harmless;
use crate::output::{self, To};
use crate::progress::{Bar, Progress};
use crate::report::thousands;
use crate::strategy;

/// Characters of a cell that a file or a plugin decides.
const CELL: usize = 48;

/// What is right.
struct Right {
    config: Config,
    setup: Setup,
    /// Configured, and in no slot.
    unbound: Vec<Plugin>,
}

pub(super) async fn run(args: &CheckArgs) -> Result<(), Failure> {
    let progress = Progress::start("loading the plugins (new ones are compiled once)");
    let checked = check(&layers(&args.layers), args, &progress.bar()).await?;
    drop(progress);
    match checked {
        Ok(right) if args.json => {
            output::print(&format!("{}\n", harmless::json(&format!("{:#}", for_programs(&right)))), To::Output)
        }
        Ok(right) => output::print(&for_people(&right), To::Output),
        Err(error) if args.json => {
            let report = json!({
                "report_version": REPORT_VERSION, "right": false, "problems": problem::for_programs(&error)
            });
            output::print(&format!("{}\n", harmless::json(&format!("{report:#}"))), To::Output)?;
            Err(counted_errors(&error))
        }
        Err(error) => Err(wrong(&error)),
    }
}

async fn check(layers: &Layers, args: &CheckArgs, bar: &Bar) -> Result<Result<Right, ConfigError>, Failure> {
    let config = match layers.load() {
        Ok(config) => config,
        Err(error) => return Ok(Err(error)),
    };
    let engine: Engine = strategy::engine_of(config.tokenizer(), !args.no_cache, bar)?;
    let setup = config.assemble(&engine, &BuiltIn).await;
    let unbound = config.check_unbound(&engine, &BuiltIn).await;
    Ok(match (setup, unbound) {
        (Ok(setup), Ok(unbound)) => Ok(Right { config, setup, unbound }),
        (Err(error), Err(more)) => Err(error.and(more)),
        (Err(error), _) | (_, Err(error)) => Err(error),
    })
}

fn for_people(right: &Right) -> String {
    let Right { config, setup, unbound } = right;
    let mut text = String::new();
    for file in config.files() {
        let state = match (file.found, file.layer, file.trusted) {
            (false, ..) => " (not there)",
            (true, Layer::Project, true) => " (trusted)",
            _ => "",
        };
        let _ = writeln!(text, "{:8} {}{state}", file.layer.name(), shown(&file.path));
    }
    let window = setup.window;
    let _ = writeln!(
        text,
        "window   {} tokens: {} for the reply, {} overhead, {} for the session; counted with {}",
        thousands(window.tokens),
        thousands(window.reserve),
        thousands(window.overhead),
        thousands(window.budget()),
        config.tokenizer()
    );
    let _ = writeln!(
        text,
        "trigger  at {} tokens ({}), down to {}",
        thousands(setup.threshold.tokens(window)),
        setup.threshold,
        thousands(setup.target.unwrap_or(window.target()))
    );
    let _ = writeln!(text, "gate     {}", setup.gate.policy);
    let model = match (config.model(), &setup.model) {
        (Some(model), _) => format!("{} of {}", harmless::short_line(&model.name, CELL), model.provider.name()),
        (None, _) => "none".to_owned(),
    };
    let _ = writeln!(text, "model    {model}\n");
    let rows = slot_rows(right);
    let _ =
        writeln!(text, "{}", output::table(&["slot", "plugin", "version", "from", "grants", "configured"], &[], rows));
    if setup.slots.strict() {
        text += "\nEvery substitution is an error (strict).\n";
    }
    if !unbound.is_empty() {
        let ids: Vec<&str> = unbound.iter().map(|plugin| plugin.description().id.as_str()).collect();
        let _ = writeln!(text, "\nConfigured, and in no slot: {}.", harmless::line(&ids.join(", ")));
    }
    text + "\nThe configuration is right.\n"
}

fn slot_rows(right: &Right) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for slot in Slot::ALL {
        let bindings = right.setup.slots.bindings(slot);
        if bindings.is_empty() {
            rows.push([slot.name(), "–", "", "", "", ""].map(str::to_owned).to_vec());
        }
        for (at, binding) in bindings.iter().enumerate() {
            let plugin = binding.plugin();
            rows.push(vec![
                if at == 0 { slot.name().to_owned() } else { String::new() },
                harmless::line(binding.id()),
                harmless::short_line(&plugin.description().version, CELL),
                from(&right.config, binding.id()),
                grants(plugin),
                origin_words(binding.origin()),
            ]);
        }
    }
    rows
}

fn from(config: &Config, id: &str) -> String {
    let path = config.plugins().get(id).and_then(|plugin| plugin.path.as_deref());
    path.map_or_else(|| "built-in".to_owned(), shown)
}

fn grants(plugin: &Plugin) -> String {
    let names: Vec<&str> = plugin.grants().iter().map(|service| service.name()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn for_programs(right: &Right) -> Value {
    let Right { config, setup, unbound } = right;
    let slots = Slot::ALL.into_iter().map(|slot| {
        let bound = setup.slots.bindings(slot).iter().map(|binding| {
            let plugin = binding.plugin();
            json!({
                "plugin": binding.id(),
                "version": plugin.description().version,
                "component_sha256": plugin.component_hash(),
                "from": from(config, binding.id()),
                "grants": plugin.grants().iter().map(|service| service.name()).collect::<Vec<_>>(),
                "configured": origin_words(binding.origin()),
            })
        });
        (slot.name().to_owned(), bound.collect::<Value>())
    });
    json!({
        "report_version": REPORT_VERSION,
        "right": true,
        "files": super::show::files(config),
        "slots": slots.collect::<serde_json::Map<_, _>>(),
        "strict": setup.slots.strict(),
        "unbound": unbound.iter().map(|plugin| plugin.description().id.as_str()).collect::<Vec<_>>(),
    })
}
