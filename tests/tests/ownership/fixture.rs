//! An engine, plugins of any name, and sessions that are worth compacting.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use contextengine::events::{Event, EventKind};
use contextengine::hooks::{Service, Trigger};
use contextengine::plugin::{Limits, LoadOptions, Plugin};
use contextengine::services::model::{Completion, Finish, Model, ModelFuture, ModelService, Prompt};
use contextengine::session::{Session, SessionCompacted, SessionError, Turn, TurnCompactOptions};
use contextengine::slots::{Origin, Slot, SlotsBuilder};
use contextengine::store::{CompactionCommit, LogBody, MemoryStore, NewSession, Store};
use contextengine::transcript::{Entry, EntryKind};
use contextengine::view::ViewOptions;
use contextengine::{Engine, Setup, Window};
use contextengine_tests::{Bytes, component};
use tokio::sync::Semaphore;
use tokio::sync::broadcast::Receiver;

pub(crate) fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap().block_on(test)
}

/// An engine that counts a token a byte.
pub(crate) fn engine() -> Engine {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ownership-cache");
    Engine::builder().counter(Bytes).cache_dir(cache).build().unwrap()
}

/// The time limits of a plugin in these tests: long for a busy machine, short for one that loops.
pub(crate) fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.time = Duration::from_secs(2);
    limits.decision_time = Duration::from_secs(2);
    limits.observer_time = Duration::from_secs(1);
    limits
}

/// The plugin `owner-guest-<letter>` in some version, with this configuration.
pub(crate) async fn load_version(engine: &Engine, letter: char, version: u8, config: &str) -> Plugin {
    load_with(engine, letter, version, config, limits()).await
}

pub(crate) async fn load_with(engine: &Engine, letter: char, version: u8, config: &str, limits: Limits) -> Plugin {
    let options = LoadOptions::with_config(config).limits(limits).grant(Service::Model);
    engine.load(&named(letter, version), options).await.unwrap()
}

pub(crate) async fn load(engine: &Engine, letter: char, config: &str) -> Plugin {
    load_version(engine, letter, 1, config).await
}

/// The guest under another name: it stands in its bytes once.
fn named(letter: char, version: u8) -> Vec<u8> {
    const NAME: &[u8] = b"owner-guest-a/1.0.0";
    let mut bytes = component("ownership-guest");
    let at = bytes.windows(NAME.len()).position(|window| window == NAME).expect("the guest has a name");
    let name = format!("owner-guest-{letter}/{version}.0.0");
    assert_eq!(name.len(), NAME.len());
    bytes[at..at + NAME.len()].copy_from_slice(name.as_bytes());
    bytes
}

pub(crate) fn id(letter: char) -> String {
    format!("owner-guest-{letter}")
}

/// A window of 4,000 tokens, 1,000 of which are held back.
pub(crate) fn window() -> Window {
    Window::new(4_000).with_reserve(1_000)
}

pub(crate) fn setup(bind: impl FnOnce(&mut SlotsBuilder)) -> Setup {
    let mut slots = contextengine::slots::Slots::builder();
    bind(&mut slots);
    Setup::new(slots.build(), window())
}

/// The first of these owns `compress`, the others succeed it.
pub(crate) fn compress(plugins: &[&Plugin]) -> Setup {
    setup(|slots| bind_compress(slots, plugins))
}

pub(crate) fn bind_compress(slots: &mut SlotsBuilder, plugins: &[&Plugin]) {
    for (at, plugin) in plugins.iter().enumerate() {
        match at {
            0 => slots.claim(Slot::Compress, plugin, Origin::here()).unwrap(),
            _ => slots.succeed(plugin, Origin::here()).unwrap(),
        };
    }
}

pub(crate) fn strict(plugins: &[&Plugin]) -> Setup {
    setup(|slots| {
        bind_compress(slots, plugins);
        slots.strict(true);
    })
}

/// A session in a store of its own.
pub(crate) async fn session(engine: &Engine) -> Session {
    session_in(engine, &(Arc::new(MemoryStore::new()) as Arc<dyn Store>), "talk").await
}

/// A session of twelve turns, about 1,500 tokens.
pub(crate) async fn session_in(engine: &Engine, store: &Arc<dyn Store>, name: &str) -> Session {
    let new = NewSession::named(name);
    let session = Session::create(engine.clone(), Arc::clone(store), new, ViewOptions::default()).await.unwrap();
    session.append(talk("e", 24)).await.unwrap();
    session
}

/// So many entries, of a user and an assistant in turns.
pub(crate) fn talk(prefix: &str, entries: usize) -> Vec<Entry> {
    let kinds = [EntryKind::User, EntryKind::Assistant].into_iter().cycle();
    let text = |at| format!("{prefix}{at}: some words about this and that, as they are said");
    (0..entries).zip(kinds).map(|(at, kind)| Entry::text(format!("{prefix}{at}"), kind, text(at))).collect()
}

pub(crate) fn manual() -> TurnCompactOptions {
    TurnCompactOptions::new(Trigger::Manual)
}

/// The commit of a compaction that has to come about.
pub(crate) async fn compacted(turn: &Turn) -> CompactionCommit {
    commit(turn.compact(&manual()).await)
}

pub(crate) fn commit(compacted: Result<SessionCompacted, SessionError>) -> CompactionCommit {
    match compacted.unwrap() {
        SessionCompacted::Done { record, .. } => match record.body {
            LogBody::Compaction(commit) => *commit,
            other => panic!("{other:?}"),
        },
        SessionCompacted::Unchanged { reason } => panic!("nothing was done: {reason}"),
    }
}

/// What was told so far.
pub(crate) fn told(events: &mut Receiver<Arc<Event>>) -> Vec<EventKind> {
    std::iter::from_fn(|| events.try_recv().ok()).map(|event| event.kind.clone()).collect()
}

/// A model that answers when it is let.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    asked: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { asked: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }

    pub(crate) fn service(&self) -> ModelService {
        ModelService::new(Arc::new(self.clone()))
    }

    /// Until somebody asks.
    pub(crate) async fn asked(&self) {
        self.asked.acquire().await.unwrap().forget();
    }

    /// Lets one answer go.
    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }
}

impl Model for Gate {
    fn name(&self) -> &'static str {
        "gate"
    }

    fn window(&self) -> Option<u32> {
        None
    }

    fn complete<'a>(&'a self, _: &'a Prompt) -> ModelFuture<'a> {
        Box::pin(async {
            self.asked.add_permits(1);
            self.open.acquire().await.unwrap().forget();
            Ok(Completion { text: "answer".to_owned(), finish: Finish::Complete, input_tokens: 7, output_tokens: 3 })
        })
    }
}
