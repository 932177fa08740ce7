//! From the checked tree to typed values, and what only shows when keys are seen together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value as Json;

use super::error::{ConfigError, Problem, ProblemKind};
use super::keys::{self, Preset};
use super::model::{ModelProvider, ModelSettings};
use super::node::{Node, Table, Value};
use super::{Claim, Config, ConfigFile, PluginConfig, models, units};
use crate::compaction::Window;
use crate::hooks::Service;
use crate::plan::SummaryGate;
use crate::plugin::Limits;
use crate::setup::Threshold;
use crate::slots::{ClaimError, Origin, Slot};

impl Config {
    /// Reads what was checked. `problems` are those that were found before.
    pub(super) fn read(
        root: Node,
        files: Vec<ConfigFile>,
        fingerprint: [u8; 32],
        mut problems: Vec<Problem>,
    ) -> Result<Self, ConfigError> {
        let mut reader = Reader { root: &root, problems: &mut problems };
        let window = reader.window();
        let (threshold, target) = (reader.threshold(), reader.target(window));
        let keep_recent = reader.tokens(&["trigger", "keep_recent"]);
        let tokenizer = reader.parsed(&["window", "tokenizer"]).unwrap_or_default();
        let gate = reader.gate();
        let claims = reader.claims();
        let strict = matches!(reader.value(&["slots", "strict"]), Some(Value::Bool(true)));
        let plugins = reader.plugins();
        let model = reader.model();
        ConfigError::none_of(problems)?;
        Ok(Self {
            root,
            files,
            fingerprint,
            window,
            threshold,
            target,
            keep_recent,
            tokenizer,
            gate,
            claims,
            strict,
            plugins,
            model,
        })
    }

    /// The node at these names, if a layer says something there.
    pub(super) fn node(&self, path: &[&str]) -> Option<&Node> {
        self.root.at(path)
    }
}

struct Reader<'a> {
    root: &'a Node,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Reader<'a> {
    fn at(&self, path: &[&str]) -> Option<&'a Node> {
        self.root.at(path)
    }

    fn value(&self, path: &[&str]) -> Option<&'a Value> {
        self.at(path).map(|node| &node.value)
    }

    fn text(&self, path: &[&str]) -> Option<&'a str> {
        self.at(path).and_then(Node::text)
    }

    fn parsed<T: std::str::FromStr>(&self, path: &[&str]) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    fn number(&self, path: &[&str]) -> Option<u64> {
        match self.value(path) {
            Some(Value::Integer(number)) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    fn tokens(&self, path: &[&str]) -> Option<u32> {
        self.number(path).map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX))
    }

    fn time(&self, path: &[&str]) -> Option<Duration> {
        self.text(path).and_then(units::time)
    }

    fn wrong(&mut self, node: &Node, kind: ProblemKind) {
        self.problems.push(Problem::new(kind, node.place()));
    }

    fn contradiction(&mut self, node: &Node, reason: String) {
        self.wrong(node, ProblemKind::Contradiction { reason });
    }

    /// Two keys of one layer that exclude each other; of different layers the later one is left alone.
    fn exclusive(&mut self, table: &Node, one: &'static str, other: &'static str) {
        if let (Some(first), Some(second)) = (table.get(one), table.get(other)) {
            let problem = Problem::new(ProblemKind::Exclusive { one, other }, second.name_place());
            self.problems.push(problem.and(first.name_place(), "the other one"));
        }
    }

    fn window(&mut self) -> Window {
        if let Some(table) = self.at(&["window"]) {
            self.exclusive(table, "tokens", "model");
        }
        let named = self.at(&["window", "model"]);
        let known = named.and_then(|node| self.window_of(node));
        let tokens = self.tokens(&["window", "tokens"]).or(known).unwrap_or(keys::WINDOW);
        let mut window = Window::new(tokens);
        let models = named.and_then(Node::text).and_then(|name| self.tokens(&["models", name, "reserve"]));
        if let Some(reserve) = self.tokens(&["window", "reserve"]).or(models) {
            window = window.with_reserve(reserve);
        }
        if let Some(overhead) = self.tokens(&["window", "overhead"]) {
            window = window.with_overhead(overhead);
        }
        let largest = if window.reserve >= window.overhead { "reserve" } else { "overhead" };
        let node = self.at(&["window", largest]).or(named).or_else(|| self.at(&["window", "tokens"]));
        if let Some(node) = node.filter(|_| window.budget() == 0) {
            let Window { tokens, reserve, overhead, .. } = window;
            let reason = format!(
                "a window of {tokens} tokens, less a reserve of {reserve} and an overhead of {overhead}, leaves nothing \
                 for the session"
            );
            self.contradiction(node, reason);
        }
        if let Some(tables) = self.at(&["models"]).and_then(Node::table) {
            for node in tables.values().filter(|node| node.get("window").is_none()) {
                self.missing(node, "window", "such a table says the window of a model");
            }
        }
        window
    }

    fn window_of(&mut self, node: &Node) -> Option<u32> {
        let name = node.text()?;
        let window = self.tokens(&["models", name, "window"]).or_else(|| models::window(name));
        if window.is_none() && self.at(&["models", name]).is_none() {
            let own = self.at(&["models"]).and_then(Node::table).into_iter().flat_map(Table::keys);
            let suggestion = models::like(name, own.map(String::as_str));
            self.wrong(node, ProblemKind::UnknownModel { name: super::secrets::shown(name), suggestion });
        }
        window
    }

    fn threshold(&self) -> Threshold {
        match self.value(&["trigger", "at"]) {
            Some(Value::Integer(tokens)) => Threshold::Tokens(u32::try_from(*tokens).unwrap_or(u32::MAX)),
            Some(Value::Text(text)) => text.parse().unwrap_or_default(),
            _ => Threshold::default(),
        }
    }

    fn target(&mut self, window: Window) -> Option<u32> {
        let target = self.tokens(&["trigger", "target"])?;
        if let Some(node) = self.at(&["trigger", "target"]).filter(|_| target > window.budget()) {
            let reason = format!(
                "a compaction that leaves {target} tokens leaves too much: the window has room for {}",
                window.budget()
            );
            self.contradiction(node, reason);
        }
        Some(target)
    }

    fn gate(&self) -> SummaryGate {
        let policy = self.parsed(&["gate", "policy"]).unwrap_or_default();
        let sections = self.at(&["gate", "sections"]).map_or(&[][..], Node::items);
        SummaryGate::new(policy).with_sections(sections.iter().filter_map(Node::text))
    }

    fn claims(&mut self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for slot in Slot::ALL {
            let Some(node) = self.at(&["slots", slot.name()]) else { continue };
            for item in node.items() {
                let Some(name) = item.text() else { continue };
                let origin = item.source().origin(item.name_start(), &node.key);
                claims.push(Claim { slot, plugin: name.to_owned(), origin, place: item.place() });
            }
            if matches!(slot, Slot::Ingest | Slot::Branch) {
                let mut of_slot = claims.iter().filter(|claim| claim.slot == slot);
                if let (Some(first), Some(second)) = (of_slot.next(), of_slot.next()) {
                    let held = ClaimError::Held {
                        slot,
                        owner: first.plugin.clone(),
                        owner_origin: Box::new(first.origin.clone()),
                        claimant: second.plugin.clone(),
                        claimant_origin: Box::new(second.origin.clone()),
                    };
                    self.problems.push(Problem::new(ProblemKind::Claim(held), second.place.clone()));
                }
            }
        }
        claims
    }

    fn plugins(&mut self) -> BTreeMap<String, PluginConfig> {
        let Some(table) = self.at(&["plugins"]).and_then(Node::table) else { return BTreeMap::new() };
        table.iter().map(|(id, node)| (id.clone(), self.plugin(id, node))).collect()
    }

    fn plugin(&mut self, id: &str, node: &Node) -> PluginConfig {
        let letters = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !id.starts_with(|c: char| c.is_ascii_lowercase()) || !id.bytes().all(letters) {
            let expected =
                "an id of a plugin, which is a small letter, then small letters, digits and hyphens".to_owned();
            let kind = ProblemKind::Malformed { found: super::secrets::shown(id), expected };
            self.problems.push(Problem::new(kind, node.name_place()));
        }
        let path = node.get("path");
        match node.get("builtin").map(|builtin| (builtin, &builtin.value)) {
            Some((_, Value::Bool(true))) => self.exclusive(node, "path", "builtin"),
            Some((builtin, Value::Bool(false))) if path.is_none() => {
                let why = "a plugin that does not ship with the host is a file".to_owned();
                self.wrong(builtin, ProblemKind::Missing { key: format!("plugins.{id}.path"), why });
            }
            _ => {}
        }
        let names = |key: &str| node.get(key).map_or(&[][..], Node::items).iter().filter_map(Node::text);
        let grants: BTreeSet<Service> =
            names("grant").filter_map(|name| Service::ALL.into_iter().find(|service| service.name() == name)).collect();
        let folders = node.get("folders").map_or(&[][..], Node::items);
        if let Some(folders) = node.get("folders").filter(|_| !grants.contains(&Service::Files))
            && folders.items().iter().any(|item| item.text().is_some())
        {
            let reason = format!(
                "folders are for plugins that are granted `files`; write grant = [{}] in [plugins.{id}]",
                grants
                    .iter()
                    .chain([&Service::Files])
                    .map(|s| format!("\"{}\"", s.name()))
                    .collect::<Vec<_>>()
                    .join(", ")
            );
            self.contradiction(folders, reason);
        }
        PluginConfig {
            path: path.and_then(resolved),
            sha256: node.get("sha256").and_then(Node::text).map(str::to_ascii_lowercase),
            grants,
            folders: folders.iter().filter_map(resolved).collect(),
            limits: self.limits(id),
            config: node.get("config").map_or_else(|| PluginConfig::default().config, Node::json),
        }
    }

    fn limits(&self, id: &str) -> Limits {
        let mut limits = Limits::default();
        let at = |name: &'static str| ["plugins", id, "limits", name];
        let size = |name| self.text(&at(name)).and_then(units::size);
        let put = |limit: &mut u64, said: Option<u64>| *limit = said.unwrap_or(*limit);
        put(&mut limits.memory_bytes, size("memory"));
        put(&mut limits.output_bytes, size("output"));
        put(&mut limits.log_bytes, size("log"));
        put(&mut limits.state_bytes, size("state"));
        put(&mut limits.model_tokens, self.number(&at("model_tokens")));
        limits.model_calls = self.tokens(&at("model_calls")).unwrap_or(limits.model_calls);
        for (limit, name) in [
            (&mut limits.time, "time"),
            (&mut limits.decision_time, "decision_time"),
            (&mut limits.observer_time, "observer_time"),
            (&mut limits.setup_time, "setup_time"),
        ] {
            *limit = self.time(&at(name)).unwrap_or(*limit);
        }
        limits
    }

    fn model(&mut self) -> Option<ModelSettings> {
        let table = self.at(&["model"])?;
        if table.table().is_none_or(Table::is_empty) {
            return None;
        }
        let provider = self.text(&["model", "provider"]);
        let Some(provider) =
            provider.and_then(|name| ModelProvider::ALL.iter().copied().find(|known| known.name() == name))
        else {
            self.missing(table, "provider", "it says whose protocol the model speaks");
            return None;
        };
        let text = |key: &str| table.get(key).and_then(Node::text).map(str::to_owned);
        let name = match (text("name"), provider) {
            (Some(name), _) => name,
            (None, ModelProvider::Script) => ModelProvider::Script.name().to_owned(),
            (None, _) => {
                self.missing(table, "name", "the provider has more than one model");
                String::new()
            }
        };
        let (base_url, api_key_env) = (text("base_url"), text("api_key_env"));
        match provider {
            ModelProvider::Script if table.get("path").is_none() => {
                self.missing(table, "path", "it is the file with the answers");
            }
            ModelProvider::OpenAi | ModelProvider::Anthropic if api_key_env.is_none() && base_url.is_none() => {
                self.missing(table, "api_key_env", "the provider asks for a key; name the variable that holds it");
            }
            _ => {}
        }
        let known = self.tokens(&["models", &name, "window"]).or_else(|| models::window(&name));
        let headers = table.get("headers").and_then(Node::table);
        let headers =
            headers.into_iter().flatten().filter_map(|(name, node)| Some((name.clone(), node.text()?.to_owned())));
        Some(ModelSettings {
            provider,
            base_url,
            api_key_env,
            window: self.tokens(&["model", "window"]).or(known),
            timeout: self
                .time(&["model", "timeout"])
                .unwrap_or_else(|| preset("timeout").as_str().and_then(units::time).unwrap_or(Limits::default().time)),
            retries: self.tokens(&["model", "retries"]).unwrap_or_else(|| number(&preset("retries"))),
            concurrency: self.tokens(&["model", "concurrency"]).unwrap_or_else(|| number(&preset("concurrency"))),
            headers: headers.collect(),
            path: table.get("path").and_then(resolved),
            name,
        })
    }

    /// A key that has to be there; where it is there and wrong, that has been said.
    fn missing(&mut self, table: &Node, key: &str, why: &str) {
        let key = format!("{}.{key}", table.key);
        let is_it = |origin: &Origin| matches!(origin, Origin::File { key: known, .. } if *known == key);
        if self.problems.iter().filter_map(|problem| problem.place.as_ref()).any(|place| is_it(&place.origin)) {
            return;
        }
        let kind = ProblemKind::Missing { key, why: why.to_owned() };
        self.problems.push(Problem::new(kind, table.name_place()));
    }
}

/// The default of a key of `[model]`, from the table of keys.
fn preset(key: &str) -> Json {
    match keys::find(["model", key]).map(|key| &key.preset) {
        Some(Preset::Is(value)) => value(),
        _ => Json::Null,
    }
}

fn number(value: &Json) -> u32 {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

/// A path as it is meant: relative to the file that names it, or below the home folder.
pub(super) fn resolved(node: &Node) -> Option<PathBuf> {
    let text = node.text()?;
    let path = match text.strip_prefix("~/") {
        Some(rest) => super::files::home()?.join(rest),
        None => PathBuf::from(text),
    };
    Some(node.source().folder().unwrap_or(Path::new("")).join(path))
}
