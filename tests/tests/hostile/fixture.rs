//! A runtime, a session and a guest for every test.

use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use contextengine::hooks::{CompressRequest, Outcome, Pressure, Trigger};
use contextengine::plugin::{CallError, Instance, Limits, LoadError, LoadOptions, Plugin, Runtime, Services};
use contextengine::tokens::{EntryCounter, TokenCounter};
use contextengine::transcript::{Block, Entry, EntryKind, Timestamp, ToolCall, ToolResult};
use contextengine::view::{View, ViewOptions};
use contextengine_tests::component;

/// Four bytes a token: fast, and good enough where nobody looks at the figures.
#[derive(Debug)]
pub(crate) struct Quarter;

impl TokenCounter for Quarter {
    fn name(&self) -> &'static str {
        "bytes/4"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap()
    }
}

/// One runtime for all tests: what one of them does to it, the others would notice. Compiled guests are kept between
/// the tests.
pub(crate) fn runtime() -> Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-cache");
    RUNTIME.get_or_init(|| Runtime::builder().cache_dir(cache).build().unwrap()).clone()
}

/// Runs a test on a current-thread and on a multi-thread runtime of tokio.
pub(crate) fn on_both<T: Future<Output = ()> + Send + 'static>(test: impl Fn() -> T) {
    let current = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    current.block_on(test());
    let many = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    many.block_on(many.spawn(test())).unwrap();
}

/// What the guest is told to do, and in which of its functions.
pub(crate) fn behaviour(name: &str, hook: &str) -> LoadOptions {
    LoadOptions::with_config(format!(r#"{{"behaviour": "{name}", "in": "{hook}"}}"#))
}

pub(crate) fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

pub(crate) async fn load(options: LoadOptions) -> Result<Plugin, LoadError> {
    Plugin::load(&runtime(), &component("hostile-guest"), options).await
}

pub(crate) fn services() -> Services {
    Services::new(Arc::new(Quarter)).with_log(|_, _| {})
}

/// What a guest logged, with its level.
pub(crate) type Lines = Arc<Mutex<Vec<String>>>;

pub(crate) fn logging_services() -> (Services, Lines) {
    let lines = Lines::default();
    let taken = Arc::clone(&lines);
    let services = Services::new(Arc::new(Quarter))
        .with_log(move |level, text| taken.lock().unwrap().push(format!("{level:?}: {text}")));
    (services, lines)
}

/// An instance that behaves so in `compress`.
pub(crate) async fn instance(name: &str) -> Instance {
    let plugin = load(behaviour(name, "compress")).await.unwrap();
    plugin.instance(services()).await.unwrap()
}

/// One call of `compress` on a fresh instance.
pub(crate) async fn compress_once(options: LoadOptions) -> Result<Outcome, CallError> {
    let plugin = load(options).await.unwrap();
    plugin.instance(services()).await.unwrap().compress(&view(), &request()).await
}

/// The runtime still serves others.
pub(crate) async fn others_still_work() {
    let outcome = compress_once(behaviour("unchanged", "compress")).await;
    assert_eq!(outcome, Ok(Outcome::Unchanged("nothing to do".to_owned())));
}

pub(crate) fn view() -> View {
    let call = ToolCall { id: "1".to_owned(), name: "read".to_owned(), arguments: r#"{"path":"a"}"#.to_owned() };
    let result =
        ToolResult { call_id: "1".to_owned(), name: "read".to_owned(), text: "äöü €".to_owned(), failed: false };
    let entries = vec![
        Entry::text("e0", EntryKind::User, "read a"),
        Entry::new("e1", EntryKind::Assistant, vec![Block::ToolCall(call)]),
        Entry::new("e2", EntryKind::ToolResult, vec![Block::ToolResult(result)]),
        Entry::text("e3", EntryKind::Assistant, "done"),
    ];
    view_of(entries)
}

pub(crate) fn view_of(entries: Vec<Entry>) -> View {
    View::new(entries.into_iter().map(Arc::new).collect(), &EntryCounter::new(Quarter), ViewOptions::default())
}

pub(crate) fn pressure() -> Pressure {
    Pressure {
        trigger: Trigger::PreTurn,
        window: 1_000,
        reserve: 100,
        overhead: 50,
        entries: 20,
        measured: None,
        cache: None,
        now: Timestamp(1_700_000_000_123),
        extras: Vec::new(),
    }
}

pub(crate) fn request() -> CompressRequest {
    CompressRequest {
        pressure: pressure(),
        target: 10,
        focus: None,
        memory: Vec::new(),
        corrections: Vec::new(),
        extras: Vec::new(),
    }
}
