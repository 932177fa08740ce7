//! Finding and loading the strategy.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use contextengine::plugin::{LoadOptions, Plugin, default_cache_dir};
use contextengine::tokens::TiktokenCounter;
use contextengine::{Engine, EngineBuilder};

use crate::args::CompactArgs;
use crate::failure::Failure;
use crate::output;

/// Names another folder for compiled plugins.
const CACHE_VARIABLE: &str = "CTXE_CACHE_DIR";

/// An engine for a command that runs a strategy. A cache that cannot be used costs time, not the command.
pub(crate) fn engine(args: &CompactArgs) -> Result<Engine, Failure> {
    let folder = match std::env::var_os(CACHE_VARIABLE) {
        Some(folder) => Some(folder.into()),
        None => default_cache_dir(),
    };
    if let Some(folder) = folder.filter(|_| !args.no_cache) {
        match builder(args).cache_dir(folder).build() {
            Ok(engine) => return Ok(engine),
            Err(error) => output::warn(&format!("compiled plugins are not cached: {error}")),
        }
    }
    builder(args).build().map_err(|error| Failure::Strategy(error.into()))
}

fn builder(args: &CompactArgs) -> EngineBuilder {
    Engine::builder().counter(TiktokenCounter::new(args.session.tokenizer))
}

/// A loaded strategy.
pub(crate) struct Strategy {
    pub(crate) plugin: Plugin,
    /// `built-in`, or the path.
    pub(crate) origin: String,
    pub(crate) loading: Duration,
}

pub(crate) async fn load(engine: &Engine, args: &CompactArgs) -> Result<Strategy, Failure> {
    let started = Instant::now();
    let (component, origin) = find(&args.strategy)?;
    let plugin = engine
        .load(&component, LoadOptions::with_config(args.config.as_str()))
        .await
        .with_context(|| format!("cannot load strategy `{}`", args.strategy))
        .map_err(Failure::Strategy)?;
    Ok(Strategy { plugin, origin, loading: started.elapsed() })
}

fn find(name: &str) -> Result<(Vec<u8>, String), Failure> {
    if let Some(component) = contextengine_builtin::component(name) {
        return Ok((component.to_vec(), "built-in".to_owned()));
    }
    let path = Path::new(name);
    let is_path = name.contains(std::path::MAIN_SEPARATOR) || path.extension().is_some_and(|e| e == "wasm");
    if !is_path {
        return Err(Failure::Usage(unknown(name)));
    }
    let component = std::fs::read(path).with_context(|| format!("cannot read plugin {name}")).map_err(Failure::File)?;
    Ok((component, name.to_owned()))
}

fn unknown(name: &str) -> anyhow::Error {
    let known: Vec<&str> = contextengine_builtin::names().collect();
    if known.is_empty() {
        return anyhow!(
            "this ctxe was built without built-in strategies: run `cargo xtask components` and build it again, or \
             give --strategy the path of a .wasm file"
        );
    }
    anyhow!(
        "there is no built-in strategy `{name}`; there is {}. A plugin is named by its path, as in ./{name}.wasm",
        known.join(", ")
    )
}
