//! From a configuration to a setup: loading the plugins that it binds, and binding them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::error::{ConfigError, Problem, ProblemKind};
use super::node::{Node, Value};
use super::source::Place;
use super::{Claim, Config, Layers, PluginConfig, model};
use crate::alike::nearest;
use crate::engine::Engine;
use crate::hooks::Service;
use crate::plugin::{LoadError, LoadOptions, Plugin, RESERVED_PREFIX, Step, Violation};
use crate::services::model::ModelService;
use crate::setup::Setup;
use crate::slots::{ClaimError, Installed, Slot, SlotsBuilder};

/// The plugins that ship with a program, as bytes. A name is the id that the component describes.
pub trait Embedded: Sync {
    /// Their names.
    fn names(&self) -> Vec<String>;

    /// The component of this name.
    fn component(&self, name: &str) -> Option<Cow<'_, [u8]>>;
}

/// A program that ships without plugins.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoneEmbedded;

impl Embedded for NoneEmbedded {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn component(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
        None
    }
}

/// What a program brings of its own, beside what is configured.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Given {
    /// Slots that the program binds by itself. A file that claims one of them too is refused.
    pub slots: SlotsBuilder,
    /// A model, for where the file configures none.
    pub model: Option<ModelService>,
}

/// Loads the configuration and everything that it names: what a program does at its start, and again when
/// [`Layers::changed`]. Nothing is in force by that; put the setup in force only where this succeeds.
///
/// # Errors
///
/// Anything is wrong with the files, or with the plugins that they name.
pub async fn prepare(
    layers: &Layers,
    engine: &Engine,
    embedded: &dyn Embedded,
    given: Given,
) -> Result<(Config, Setup), ConfigError> {
    let config = layers.load()?;
    let setup = config.assemble_with(engine, embedded, given).await?;
    Ok((config, setup))
}

impl Engine {
    /// Loads the configuration and everything that it names, and puts it in force if nothing is wrong with it: turns that
    /// begin from now on have it, as [`install`](Self::install) says, and no session is lost. Where something is wrong,
    /// what was in force stays in force.
    ///
    /// # Errors
    ///
    /// As [`prepare`].
    pub async fn reload(
        &self,
        layers: &Layers,
        embedded: &dyn Embedded,
        given: Given,
    ) -> Result<(Config, Installed), ConfigError> {
        let (config, setup) = prepare(layers, self, embedded, given).await?;
        let installed = self.install(setup);
        Ok((config, installed))
    }
}

impl Config {
    /// Loads the plugins that slots name, and binds them.
    ///
    /// # Errors
    ///
    /// There is no such plugin, it cannot be loaded, does not take its configuration, needs what it is not granted, or
    /// cannot own the slot. All of that is reported, not the first thing only.
    pub async fn assemble(&self, engine: &Engine, embedded: &dyn Embedded) -> Result<Setup, ConfigError> {
        self.assemble_with(engine, embedded, Given::default()).await
    }

    /// The same with what the program brings of its own.
    ///
    /// # Errors
    ///
    /// As [`assemble`](Self::assemble); or a file claims a slot that the program has bound.
    pub async fn assemble_with(
        &self,
        engine: &Engine,
        embedded: &dyn Embedded,
        given: Given,
    ) -> Result<Setup, ConfigError> {
        let mut problems = Vec::new();
        self.check_tokenizer(engine, &mut problems);
        let mut loaded: BTreeMap<&str, Option<Plugin>> = BTreeMap::new();
        for claim in &self.claims {
            if !loaded.contains_key(claim.plugin.as_str()) {
                let plugin = self.load(engine, embedded, &claim.plugin, Some(claim), &mut problems).await;
                loaded.insert(&claim.plugin, plugin);
            }
        }
        let brought = given.slots.build();
        let plugins = loaded.values().flatten().chain(brought.plugins());
        let model = self.lent(engine, plugins, given.model, &mut problems);
        let mut slots = given.slots;
        let mut bound: Vec<Slot> = Vec::new();
        for claim in &self.claims {
            let Some(Some(plugin)) = loaded.get(claim.plugin.as_str()) else { continue };
            // Behind an owner of the same file; where the program owns the slot, the claim is one too many.
            let succeeds = claim.slot == Slot::Compress && bound.contains(&Slot::Compress);
            let taken = match succeeds {
                true => slots.succeed(plugin, claim.origin.clone()).map(|_| ()),
                false => slots.claim(claim.slot, plugin, claim.origin.clone()).map(|_| ()),
            };
            bound.push(claim.slot);
            if let Err(error) = taken {
                problems.push(self.refused(error, claim));
            }
        }
        ConfigError::none_of(problems)?;
        // A program that is strict by itself stays so.
        if self.strict {
            slots.strict(true);
        }
        let mut setup = Setup::new(slots.build(), self.window);
        setup.threshold = self.threshold;
        setup.target = self.target;
        setup.keep_recent = self.keep_recent;
        setup.gate = self.gate.clone();
        setup.model = model;
        Ok(setup)
    }

    /// Loads the plugins that have a table and that no slot names, only to find out whether something is wrong with
    /// them. A program has no need for that; whoever writes the file does.
    ///
    /// # Errors
    ///
    /// As [`assemble`](Self::assemble).
    pub async fn check_unbound(&self, engine: &Engine, embedded: &dyn Embedded) -> Result<Vec<Plugin>, ConfigError> {
        let mut problems = Vec::new();
        let mut plugins = Vec::new();
        for id in self.plugins.keys().filter(|id| !self.claims.iter().any(|claim| claim.plugin == **id)) {
            plugins.extend(self.load(engine, embedded, id, None, &mut problems).await);
        }
        ConfigError::none_of(problems)?;
        Ok(plugins)
    }

    /// An engine counts with what it was built with; another tokenizer that somebody asked for would be ignored.
    fn check_tokenizer(&self, engine: &Engine, problems: &mut Vec<Problem>) {
        let Some(node) = self.node(&["window", "tokenizer"]) else { return };
        let counts = engine.counter().counter().name().to_owned();
        if counts != self.tokenizer.name() {
            let reason = format!(
                "this program counts with {counts} already; start it again, or have it build its engine with \
                 Config::tokenizer"
            );
            problems.push(Problem::new(ProblemKind::Contradiction { reason }, node.place()));
        }
    }

    /// Finds and loads one plugin by the name that a slot or a table gives it.
    async fn load(
        &self,
        engine: &Engine,
        embedded: &dyn Embedded,
        name: &str,
        claim: Option<&Claim>,
        problems: &mut Vec<Problem>,
    ) -> Option<Plugin> {
        let named = Named { config: self, claim, id: name.strip_prefix(RESERVED_PREFIX).unwrap_or(name) };
        let found = match self.find(name, embedded, &named) {
            Ok(found) => found,
            Err(problem) => {
                problems.push(*problem);
                return None;
            }
        };
        if let Some(pinned) = &found.how.sha256 {
            let digest: String = Sha256::digest(&found.component).iter().map(|byte| format!("{byte:02x}")).collect();
            if digest != *pinned {
                problems.push(named.wrong(&["sha256"], ProblemKind::OtherComponent { found: digest }));
                return None;
            }
        }
        let mut options = LoadOptions::with_config(found.how.config.to_string()).limits(found.how.limits.clone());
        options.grants.clone_from(&found.how.grants);
        options.folders.clone_from(&found.how.folders);
        match engine.load(&found.component, options).await {
            Ok(plugin) if plugin.description().id == named.id => Some(plugin),
            Ok(plugin) => {
                let (path, described) = (found.place, plugin.description().id.clone());
                let kind = ProblemKind::OtherId { path, described, in_slots: claim.is_some() };
                problems.push(named.wrong(&[], kind));
                None
            }
            Err(error) => {
                problems.extend(named.failed(error, found.how));
                None
            }
        }
    }

    /// The component that a name means, and how it is to be loaded.
    fn find<'a>(
        &'a self,
        name: &str,
        embedded: &'a dyn Embedded,
        named: &Named<'_>,
    ) -> Result<Found<'a>, Box<Problem>> {
        let table = self.plugins.get(named.id);
        // `builtin:NAME` means the embedded one, also where a file of that name is configured.
        let table = table.filter(|table| table.path.is_none() || name == named.id);
        if let Some((how, path)) = table.and_then(|how| how.path.as_ref().map(|path| (how, path))) {
            let component = read_component(path)
                .map_err(|reason| named.wrong(&["path"], ProblemKind::Unreadable { path: path.clone(), reason }))?;
            return Ok(Found { component: Cow::Owned(component), how, place: path.clone() });
        }
        if let Some(component) = embedded.component(named.id) {
            let place = PathBuf::from("the embedded component");
            return Ok(Found { component, how: table.unwrap_or(&*DEFAULT), place });
        }
        let names = embedded.names();
        let own = self.plugins.keys().filter(|id| name == named.id && **id != *named.id);
        let suggestion = nearest(named.id, names.iter().chain(own).map(String::as_str));
        let advice = if names.is_empty() {
            format!("none ships with this program, so write path = \"….wasm\" in [plugins.{}]", named.id)
        } else {
            let names = super::error::list(names.iter().map(|name| format!("`{name}`")));
            format!("this program ships with {names}; of another one write path = \"….wasm\" in [plugins.{}]", named.id)
        };
        let name = super::secrets::shown(name);
        Err(Box::new(named.wrong(&[], ProblemKind::UnknownPlugin { name, suggestion, advice })))
    }

    /// The model that plugins are lent. It is made only where one of them may use it, so that a missing key stops
    /// nobody who needs none.
    fn lent<'p>(
        &self,
        engine: &Engine,
        plugins: impl Iterator<Item = &'p Plugin>,
        given: Option<ModelService>,
        problems: &mut Vec<Problem>,
    ) -> Option<ModelService> {
        let uses: Vec<&Plugin> = plugins.filter(|plugin| plugin.grants().contains(&Service::Model)).collect();
        if uses.is_empty() {
            return given;
        }
        let Some(configured) = &self.model else {
            let needs = uses.iter().find(|plugin| plugin.description().needs.contains(&Service::Model));
            if let (None, Some(plugin)) = (&given, needs) {
                let id = &plugin.description().id;
                let why = format!(
                    "the plugin `{id}` cannot work without a model; write provider, name and api_key_env in [model]"
                );
                let node = self.node(&["plugins", id, "grant"]);
                let kind = ProblemKind::Missing { key: "model".to_owned(), why };
                problems.push(Problem { kind, place: node.map(Node::place), other: None });
            }
            return given;
        };
        match model::build(configured, std::sync::Arc::clone(engine.counter().counter())) {
            Ok(model) => Some(model),
            Err(wrong) => {
                let node = self.node(&["model", wrong.key]).or_else(|| self.node(&["model"]));
                let kind = ProblemKind::Model { reason: wrong.reason };
                problems.push(Problem { kind, place: node.map(Node::place), other: None });
                None
            }
        }
    }

    fn refused(&self, error: ClaimError, claim: &Claim) -> Problem {
        let earlier = match &error {
            ClaimError::NamedTwice { .. } => {
                self.claims.iter().find(|other| other.slot == claim.slot && other.plugin == claim.plugin)
            }
            ClaimError::ToolTaken { owner, .. } => {
                self.claims.iter().find(|other| other.slot == claim.slot && other.plugin == *owner)
            }
            _ => None,
        };
        let problem = Problem::new(ProblemKind::Claim(error), claim.place.clone());
        match earlier {
            Some(earlier) => problem.and(earlier.place.clone(), "the other one"),
            None => problem,
        }
    }
}

static DEFAULT: std::sync::LazyLock<PluginConfig> = std::sync::LazyLock::new(PluginConfig::default);

struct Found<'a> {
    component: Cow<'a, [u8]>,
    how: &'a PluginConfig,
    /// For messages.
    place: PathBuf,
}

fn read_component(path: &Path) -> Result<Vec<u8>, String> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err("it is not a file".to_owned()),
        _ => {}
    }
    std::fs::read(path).map_err(|error| error.to_string())
}

/// A plugin as the files name it, for messages.
struct Named<'a> {
    config: &'a Config,
    claim: Option<&'a Claim>,
    id: &'a str,
}

impl Named<'_> {
    /// The place of a key of its table; else of the table; else of the slot that names it.
    fn place(&self, key: &[&str]) -> Option<Place> {
        let mut path = vec!["plugins", self.id];
        path.extend(key);
        let config = self.config;
        let said = if key.is_empty() { None } else { config.node(&path).map(whole_place) };
        let claimed = || self.claim.map(|claim| claim.place.clone());
        let table = || config.node(&["plugins", self.id]).map(Node::name_place);
        if key.is_empty() { claimed().or_else(table) } else { said.or_else(table).or_else(claimed) }
    }

    fn wrong(&self, key: &[&str], kind: ProblemKind) -> Problem {
        Problem { kind, place: self.place(key), other: None }
    }

    /// Why it could not be loaded, at the key that has to be changed.
    fn failed(&self, error: LoadError, how: &PluginConfig) -> Vec<Problem> {
        match error {
            LoadError::NotGranted { plugin, missing, .. } => {
                let line = Service::ALL.into_iter().filter(|s| how.grants.contains(s) || missing.contains(s)).collect();
                vec![self.wrong(&["grant"], ProblemKind::NotGranted { plugin, missing, line })]
            }
            LoadError::ConfigSchema { plugin, violations } => {
                let problem = |violation: &Violation| Problem {
                    kind: ProblemKind::PluginConfig { plugin: plugin.clone(), reason: violation.reason.clone() },
                    place: self.inner_place(violation),
                    other: None,
                };
                violations.iter().map(problem).collect()
            }
            LoadError::Config { plugin, reason } => {
                vec![self.wrong(&["config"], ProblemKind::PluginConfig { plugin, reason })]
            }
            error @ LoadError::Memory { .. } => vec![self.wrong(&["limits", "memory"], ProblemKind::Load(error))],
            error @ LoadError::Folders { .. } => vec![self.wrong(&["folders"], ProblemKind::Load(error))],
            error => vec![self.wrong(&["path"], ProblemKind::Load(error))],
        }
    }

    /// The place of a value inside of its configuration; of the nearest one around it, where it is not there.
    fn inner_place(&self, violation: &Violation) -> Option<Place> {
        let Some(mut node) = self.config.node(&["plugins", self.id, "config"]) else { return self.place(&["config"]) };
        let mut whole = true;
        for step in &violation.path {
            let inner = match (step, &node.value) {
                (Step::Name(name), Value::Table(table)) => table.get(name),
                (Step::Item(item), Value::List(items)) => items.get(*item),
                _ => None,
            };
            match inner {
                Some(inner) => node = inner,
                None => whole = false,
            }
        }
        Some(if whole && violation.is_key { node.name_place() } else { whole_place(node) })
    }
}

/// Of a table its name is shown: its value can be half the file.
fn whole_place(node: &Node) -> Place {
    if node.table().is_some() { node.name_place() } else { node.place() }
}
