//! A configuration file with everything in it, and the sessions that are played under it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use contextengine::config::{ConfigError, Embedded, Given, Layers, prepare};
use contextengine::format::Document;
use contextengine::services::model::ModelService;
use contextengine::tokens::TokenCounter;
use contextengine::transcript::{Block, Entry, EntryId, EntryKind, ToolCall, ToolResult};
use contextengine::{Engine, Setup};
use contextengine_tests::{component, generate};

/// The strategies that ship, in the order of their slots.
pub(crate) const STRATEGIES: [&str; 6] =
    ["result-reducer", "tool-prune", "llm-rolling-summary", "regex-anchors", "fresh-window", "branch-summary"];

/// As a program that ships with all strategies.
pub(crate) struct Shipped;

impl Embedded for Shipped {
    fn names(&self) -> Vec<String> {
        STRATEGIES.map(str::to_owned).to_vec()
    }

    fn component(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        STRATEGIES.contains(&name).then(|| Cow::Owned(component(name)))
    }
}

/// Four bytes a token: counting exactly is not what is tested here, and takes most of the time.
#[derive(Debug)]
struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &str {
        "quarters"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
    }
}

pub(crate) fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap().block_on(test)
}

/// An engine of its own, as each has one setup; compiled components are shared between them.
pub(crate) fn engine() -> Engine {
    Engine::builder().counter(Quarters).cache_dir(cache()).build().unwrap()
}

/// The same with the tokenizer that ships.
pub(crate) fn exact_engine() -> Engine {
    Engine::builder().cache_dir(cache()).build().unwrap()
}

fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent-cache")
}

/// A folder that is gone after the test, with a configuration and the script of its model.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Loads a configuration, and everything that it names.
    pub(crate) async fn setup(&self, engine: &Engine, config: &str) -> Result<Setup, ConfigError> {
        self.setup_with(engine, config, None).await
    }

    /// The same with a model of the program's.
    pub(crate) async fn setup_with(
        &self,
        engine: &Engine,
        config: &str,
        model: Option<ModelService>,
    ) -> Result<Setup, ConfigError> {
        let file = self.write("contextengine.toml", config);
        let mut given = Given::default();
        given.model = model;
        Ok(prepare(&Layers::new().named(&file), engine, &Shipped, given).await?.1)
    }
}

/// Every slot that the strategies can own, and a model that plays a script.
pub(crate) fn everything(window: u32) -> String {
    format!(
        r#"
        [window]
        tokens = {window}

        [slots]
        ingest = "result-reducer"
        select = ["tool-prune"]
        compress = ["llm-rolling-summary", "regex-anchors", "fresh-window"]
        branch = "branch-summary"

        [plugins.llm-rolling-summary]
        grant = ["model"]
        config = {{ min_fold_tokens = 200 }}

        [plugins.branch-summary]
        grant = ["model"]

        [model]
        provider = "script"
        path = "model.jsonl"
        retries = 0
        "#
    )
}

/// The sample of the repository, and with `CONTEXTENGINE_CORPUS` every session there that can be read.
pub(crate) fn sessions() -> Vec<(String, Vec<Entry>)> {
    let sample = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/coding-session.jsonl");
    let mut paths = vec![sample];
    match std::env::var_os("CONTEXTENGINE_CORPUS") {
        Some(folder) => paths.extend(std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())),
        None => println!("CONTEXTENGINE_CORPUS is not set: only the sample of the repository is played"),
    }
    let read = |path: PathBuf| {
        let document = Document::read_bytes(&std::fs::read(&path).ok()?, None).ok()?;
        let entries = document.context().iter().map(|entry| Entry::clone(entry)).collect();
        Some((path.file_name()?.to_string_lossy().into_owned(), entries))
    };
    paths.into_iter().filter_map(read).collect()
}

/// The sample of the repository.
pub(crate) fn sample() -> &'static [Entry] {
    static SAMPLE: OnceLock<Vec<Entry>> = OnceLock::new();
    SAMPLE.get_or_init(|| sessions().swap_remove(0).1)
}

/// The same session several times, each time under other ids.
pub(crate) fn repeated(entries: &[Entry], times: usize) -> Vec<Entry> {
    let renamed = |round: usize| {
        entries.iter().cloned().map(move |mut entry| {
            entry.id = EntryId::new(format!("{round}-{}", entry.id));
            entry
        })
    };
    (0..times).flat_map(renamed).collect()
}

pub(crate) const RULE: &str = "Never change the public API in src/lib.rs.";
pub(crate) const PINNED: &str = "The deploy window is Friday, 14:00 to 15:00.";
pub(crate) const FIRST_FILE: &str = "src/first.rs";

/// A first turn that sets a rule, pins a text and edits a file.
pub(crate) fn first_turn() -> Vec<Entry> {
    let mut pinned = Entry::text("pin", EntryKind::User, PINNED);
    pinned.pinned = true;
    let arguments = format!(r#"{{"path":"{FIRST_FILE}","oldText":"a","newText":"b"}}"#);
    let call = ToolCall { id: "first".to_owned(), name: "edit".to_owned(), arguments };
    let result =
        ToolResult { call_id: "first".to_owned(), name: "edit".to_owned(), text: "ok".to_owned(), failed: false };
    vec![
        pinned,
        Entry::text("rule", EntryKind::User, format!("Write the importer. {RULE}")),
        Entry::new("call", EntryKind::Assistant, vec![Block::ToolCall(call)]),
        Entry::new("result", EntryKind::ToolResult, vec![Block::ToolResult(result)]),
        Entry::text("done", EntryKind::Assistant, "The first file is there."),
    ]
}

/// A generated session whose ids are those of a round.
pub(crate) fn round(round: usize, entries: usize, bytes: usize) -> Vec<Entry> {
    let mut session = generate::session(entries, bytes);
    for entry in &mut session {
        entry.id = EntryId::new(format!("{round}-{}", entry.id));
    }
    session
}

/// As a view takes them.
pub(crate) fn shared(entries: &[Entry]) -> Vec<Arc<Entry>> {
    entries.iter().cloned().map(Arc::new).collect()
}
