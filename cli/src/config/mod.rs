//! `ctxe config`: check and show the configuration.

mod check;
mod problem;
mod show;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use contextengine::config::{ConfigError, Embedded, Layer, Layers, project_file, schema, user_file};
use contextengine::plugin::LoadOptions;
use contextengine::slots::Origin;
use contextengine::tokens::Vocabulary;

use crate::args::{ConfigCommand, LayerArgs, PathArgs, SchemaArgs, Which};
use crate::failure::Failure;
use crate::harmless;
use crate::output::{self, To};
use crate::progress::Progress;
use crate::report::counted;
use crate::strategy;

/// Version of the JSON that is printed.
const REPORT_VERSION: u32 = 1;

pub(crate) fn run(command: &ConfigCommand) -> Result<(), Failure> {
    crate::session::block_on(async {
        match command {
            ConfigCommand::Check(args) => check::run(args).await,
            ConfigCommand::Show(args) => show::run(args),
            ConfigCommand::Schema(args) => print_schema(args).await,
            ConfigCommand::Path(args) => path(args),
        }
    })
}

/// The plugins that ship with this program.
#[derive(Debug)]
pub(crate) struct BuiltIn;

impl Embedded for BuiltIn {
    fn names(&self) -> Vec<String> {
        contextengine_builtin::names().map(str::to_owned).collect()
    }

    fn component(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        contextengine_builtin::component(name).map(Cow::Borrowed)
    }
}

/// Where the arguments say that settings are.
pub(crate) fn layers(args: &LayerArgs) -> Layers {
    let layers = match &args.config_file {
        Some(file) => Layers::new().named(file),
        None => Layers::usual(".").trust_project(args.trust_project),
    };
    args.set.iter().fold(layers, |layers, assignment| layers.set(assignment.as_str()))
}

/// Shows what is wrong with the settings.
pub(crate) fn wrong(error: &ConfigError) -> Failure {
    // What is lost if nobody listens is the explanation, not the failure.
    let _ = output::print(&problem::for_people(error), To::Aside);
    counted_errors(error)
}

fn counted_errors(error: &ConfigError) -> Failure {
    let count = u32::try_from(error.problems().len()).unwrap_or(u32::MAX);
    Failure::Usage(anyhow!("the configuration has {}", counted(count, "error")))
}

/// A path as it is shown: from the working folder on, where it is below that.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let real = here.canonicalize().unwrap_or_default();
    let below = path.strip_prefix(&here).or_else(|_| path.strip_prefix(&real)).unwrap_or(path);
    harmless::line(&below.display().to_string())
}

/// Where something comes from, in few words.
fn origin_words(origin: &Origin) -> String {
    match origin {
        Origin::File { path, line, .. } => format!("{}:{line}", shown(path)),
        Origin::Argument(argument) => harmless::line(argument),
        other => other.to_string(),
    }
}

async fn print_schema(args: &SchemaArgs) -> Result<(), Failure> {
    let progress = Progress::start("loading the built-in plugins");
    let bar = progress.bar();
    let engine = strategy::engine_of(Vocabulary::default(), !args.no_cache, &bar)?;
    let mut plugins = Vec::new();
    for name in contextengine_builtin::names() {
        let Some(component) = contextengine_builtin::component(name) else { continue };
        // What a plugin takes does not depend on what it may use.
        let options = contextengine::hooks::Service::ALL.into_iter().fold(LoadOptions::default(), LoadOptions::grant);
        let plugin = engine.load(component, options).await;
        let plugin =
            plugin.with_context(|| format!("cannot load the built-in plugin {name}")).map_err(Failure::Strategy)?;
        let description = plugin.description();
        if let Ok(schema) = serde_json::from_str(&description.config_schema) {
            plugins.push((description.id.clone(), schema));
        }
    }
    drop(progress);
    output::print(&format!("{}\n", harmless::json(&format!("{:#}", schema(&plugins)))), To::Output)
}

fn path(args: &PathArgs) -> Result<(), Failure> {
    let here = PathBuf::from(".");
    let none = |why: &str| Failure::Usage(anyhow!("{why}"));
    let path = match args.which {
        Some(Which::User) => {
            user_file().ok_or_else(|| none("neither XDG_CONFIG_HOME nor HOME says where your files are"))?
        }
        Some(Which::Project) => project_file(&here).ok_or_else(|| none("this folder has no contextengine.toml"))?,
        None => {
            let rows = Layers::usual(here).files().into_iter().map(|file| {
                let state = if file.found { "" } else { "(not there)" };
                let layer = if file.layer == Layer::User { "user" } else { "project" };
                format!("{layer:8} {} {state}", harmless::line(&file.path.display().to_string())).trim_end().to_owned()
                    + "\n"
            });
            return output::print(&rows.collect::<String>(), To::Output);
        }
    };
    output::print(&format!("{}\n", harmless::line(&path.display().to_string())), To::Output)
}
