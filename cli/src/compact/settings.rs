//! What holds for one compaction: the files of settings, and the command line before them.

use std::path::Path;

use anyhow::anyhow;
use contextengine::Window;
use contextengine::config::{Config, Layers, ModelProvider};
use contextengine::slots::Slot;

use crate::args::CompactArgs;
use crate::config;
use crate::failure::Failure;

/// The strategy where nobody names one.
const DEFAULT_STRATEGY: &str = "regex-anchors";

/// Reads the settings. Errors of files are shown here.
pub(super) fn load(args: &CompactArgs) -> Result<Config, Failure> {
    if let Some(tokens) = args.window {
        let window = Window::new(tokens).with_overhead(args.overhead.unwrap_or(0));
        has_room(args.reserve.map_or(window, |reserve| window.with_reserve(reserve)))?;
    }
    let layers = flags(args, config::layers(&args.layers))?;
    layers.load().map_err(|error| config::wrong(&error))
}

/// The name or path of the strategy that the command line decides on; `None` where the files do.
pub(super) fn strategy<'a>(args: &'a CompactArgs, config: &Config) -> Result<Option<&'a str>, Failure> {
    let bound = config.claims().iter().find(|claim| claim.slot == Slot::Compress);
    match (&args.strategy, bound, &args.config) {
        (Some(name), ..) => Ok(Some(name)),
        (None, None, _) => Ok(Some(DEFAULT_STRATEGY)),
        (None, Some(_), None) => Ok(None),
        (None, Some(bound), Some(_)) => Err(Failure::Usage(anyhow!(
            "--config is for a strategy of the command line, and {} binds `{}`; name it with --strategy, or use --set \
             plugins.{}.config.KEY=VALUE",
            bound.origin,
            bound.plugin,
            bound.plugin
        ))),
    }
}

/// What flags leave no room for; files say it with their line.
fn has_room(window: Window) -> Result<(), Failure> {
    if window.budget() > 0 {
        return Ok(());
    }
    Err(Failure::Usage(anyhow!(
        "a window of {} tokens less a reserve of {} and an overhead of {} leaves nothing for the session",
        window.tokens,
        window.reserve,
        window.overhead
    )))
}

/// Each flag as the key that it stands for.
fn flags(args: &CompactArgs, layers: Layers) -> Result<Layers, Failure> {
    let mut layers = layers;
    let mut number = |flag: &str, key: &str, value: Option<u32>| {
        if let Some(value) = value {
            layers = std::mem::take(&mut layers).argument(flag, key, value);
        }
    };
    number("--window", "window.tokens", args.window);
    number("--reserve", "window.reserve", args.reserve);
    number("--overhead", "window.overhead", args.overhead);
    number("--target", "trigger.target", args.target);
    if let Some(tokenizer) = args.tokenizer {
        layers = layers.argument("--tokenizer", "window.tokenizer", tokenizer.name());
    }
    if let Some(policy) = args.gate {
        layers = layers.argument("--gate", "gate.policy", policy.name());
    }
    if !args.section.is_empty() {
        layers = layers.argument("--section", "gate.sections", args.section.clone());
    }
    if args.strategy.is_some() {
        // The strategy of the command line is bound by the program; what files bind gives way to it.
        layers = layers.argument("--strategy", "slots.compress", Vec::<String>::new());
    }
    match &args.model {
        Some(model) => flag_of_model(layers, model),
        None => Ok(layers),
    }
}

/// `script:FILE`, `PROVIDER:NAME`, or the name of another model of the provider that is configured.
fn flag_of_model(layers: Layers, model: &str) -> Result<Layers, Failure> {
    let set = |layers: Layers, key: &str, value: &str| layers.argument("--model", format!("model.{key}"), value);
    let Some((provider, rest)) = model.split_once(':') else { return Ok(set(layers, "name", model)) };
    if rest.is_empty() {
        return Err(Failure::Usage(anyhow!("--model {model} names nothing behind the colon; write {provider}:NAME")));
    }
    if provider == ModelProvider::Script.name() {
        let file = std::path::absolute(Path::new(rest)).unwrap_or_else(|_| rest.into());
        return Ok(set(set(layers, "provider", provider), "path", &file.to_string_lossy()));
    }
    if !ModelProvider::ALL.iter().any(|known| known.name() == provider) {
        // The names of some models have a colon in them, as Ollama's.
        return Ok(set(layers, "name", model));
    }
    let layers = set(set(layers, "provider", provider), "name", rest);
    // Where the variable is not set, a file may name another one, and servers of one's own need none.
    let variable = match provider {
        "openai" => "OPENAI_API_KEY",
        "anthropic" => "ANTHROPIC_API_KEY",
        _ => return Ok(layers),
    };
    Ok(if std::env::var_os(variable).is_some() { set(layers, "api_key_env", variable) } else { layers })
}
