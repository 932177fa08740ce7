//! Finding and loading the strategy.

use std::path::Path;

use anyhow::{Context, anyhow};
use contextengine::Engine;
use contextengine::config::Config;
use contextengine::hooks::Service;
use contextengine::plugin::{LoadError, LoadOptions, Plugin, default_cache_dir};
use contextengine::tokens::{TiktokenCounter, Vocabulary};

use crate::alike::alike;
use crate::args::CompactArgs;
use crate::failure::Failure;
use crate::output;
use crate::progress::Bar;

/// Names another folder for compiled plugins.
const CACHE_VARIABLE: &str = "CTXE_CACHE_DIR";

/// An engine that counts so. A cache that cannot be used costs time, not the command.
pub(crate) fn engine_of(tokenizer: Vocabulary, cached: bool, bar: &Bar) -> Result<Engine, Failure> {
    let builder = || Engine::builder().counter(TiktokenCounter::new(tokenizer));
    let folder = match std::env::var_os(CACHE_VARIABLE) {
        Some(folder) => Some(folder.into()),
        None => default_cache_dir(),
    };
    if let Some(folder) = folder.filter(|_| cached) {
        match builder().cache_dir(folder).build() {
            Ok(engine) => return Ok(engine),
            Err(error) => bar.aside(|| output::warn(&format!("compiled plugins are not cached: {error}"))),
        }
    }
    builder().build().map_err(|error| Failure::Strategy(error.into()))
}

/// A strategy that was found and not loaded yet.
pub(crate) struct Found {
    name: String,
    component: Vec<u8>,
    /// `built-in`, or the path.
    pub(crate) origin: String,
    options: LoadOptions,
}

impl Found {
    pub(crate) async fn load(self, engine: &Engine) -> Result<Plugin, Failure> {
        let loaded = engine.load(&self.component, self.options).await;
        loaded.map_err(|error| {
            let of = if matches!(error, LoadError::Config { .. } | LoadError::ConfigSchema { .. }) {
                Failure::Usage
            } else {
                Failure::Strategy
            };
            of(anyhow::Error::new(error).context(format!("cannot load strategy `{}`", self.name)))
        })
    }
}

/// Looks for a strategy by its name or path. One that has a table in the settings is loaded as that says; what the
/// command line says goes before it. A model that the command line names is meant for the strategy.
pub(crate) fn find(name: &str, args: &CompactArgs, config: &Config) -> Result<Found, Failure> {
    let table = config.plugins().get(name).cloned().unwrap_or_default();
    let settings = args.config.clone().unwrap_or_else(|| table.config.to_string());
    let mut options = LoadOptions::with_config(settings).limits(table.limits);
    options.grants = table.grants;
    options.folders = table.folders;
    if args.model.is_some() {
        options.grants.insert(Service::Model);
    }
    let found = |component: Vec<u8>, origin: String| Found { name: name.to_owned(), component, origin, options };
    let component = contextengine_builtin::component(name).filter(|_| table.path.is_none());
    if let Some(component) = component {
        return Ok(found(component.to_vec(), "built-in".to_owned()));
    }
    let path = table.path.as_deref().unwrap_or(Path::new(name));
    let is_path = table.path.is_some()
        || name.contains(std::path::MAIN_SEPARATOR)
        || path.extension().is_some_and(|e| e == "wasm");
    if !is_path {
        let known: Vec<&str> = contextengine_builtin::names().collect();
        return Err(Failure::Usage(anyhow!(unknown(name, &known))));
    }
    let shown = path.display().to_string();
    let component =
        std::fs::read(path).with_context(|| format!("cannot read plugin {shown}")).map_err(Failure::File)?;
    Ok(found(component, shown))
}

fn unknown(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return "this ctxe was built without built-in strategies: run `cargo xtask components` and build it again, or \
                give --strategy the path of a .wasm file"
            .to_owned();
    }
    let hint = alike(name, known, 1).first().map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
    format!(
        "there is no built-in strategy `{name}`{hint}\nBuilt in: {}. A plugin is named by its path, as in ./{name}.wasm",
        known.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_fingers_is_recognised_and_another_word_is_not() {
        let known = ["keep-recent", "regex-anchors"];
        assert!(unknown("regex_anchor", &known).contains("did you mean `regex-anchors`?"));
        assert!(unknown("Keep-recent", &known).contains("did you mean `keep-recent`?"));
        assert!(!unknown("summary", &known).contains("did you mean"));
        assert!(unknown("summary", &known).contains("Built in: keep-recent, regex-anchors."));
    }
}
