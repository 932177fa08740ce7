//! What the design promises about speed, measured: calls through WebAssembly, a strategy as a component and natively,
//! starting a plugin, a whole compaction. Figures that matter are ratios within one run.
//!
//! `cargo xtask bench` runs this; `cargo xtask bench -- NAME` a part of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark that cannot run stops")]

use std::hint::black_box;
use std::sync::Arc;

use contextengine::hooks::{CompressRequest, Pressure, SelectRequest, Trigger};
use contextengine::plan::{Rules, verify};
use contextengine::plugin::{LoadOptions, Plugin, Runtime};
use contextengine::session::{SelectOptions, Session};
use contextengine::slots::{Origin, Slot, Slots};
use contextengine::store::{MemoryStore, NewSession, Store};
use contextengine::tokens::{EntryCounter, TiktokenCounter, TokenCounter, Vocabulary};
use contextengine::transcript::{Entry, EntryKind, Timestamp};
use contextengine::view::{View, ViewOptions};
use contextengine::{CompactOptions, Compacted, Engine, SelectionStep, Setup, Window};
use contextengine_sdk::Plugin as _;
use contextengine_sdk::memory::TestHost;
use contextengine_sdk::{Compressor, Outcome};
use contextengine_tests::native::{self, NativeView};
use contextengine_tests::{component, generate};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const STRATEGY: &str = "regex-anchors";

fn tokio() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

fn engine() -> Engine {
    Engine::builder().build().unwrap()
}

fn view(engine: &Engine, entries: Vec<Entry>, window: Window) -> View {
    engine.view(entries.into_iter().map(Arc::new).collect(), ViewOptions::default().with_loop_limit(window.target()))
}

fn pressure(view: &View, window: Window) -> Pressure {
    window.pressure(view, Trigger::PreTurn, Timestamp(0))
}

/// `should-compress` through WebAssembly: the same at any length of the session.
fn should_compress(criterion: &mut Criterion) {
    let (tokio, engine) = (tokio(), engine());
    let plugin = tokio.block_on(engine.load(&component(STRATEGY), LoadOptions::default())).unwrap();
    let mut group = criterion.benchmark_group("should-compress");
    for entries in [100, 100_000] {
        let window = Window::new(200_000);
        let view = view(&engine, generate::session(entries, entries * 60), window);
        let pressure = pressure(&view, window);
        let mut instance = tokio.block_on(plugin.instance(engine.services())).unwrap();
        group.bench_function(BenchmarkId::from_parameter(entries), |bencher| {
            bencher.iter(|| tokio.block_on(instance.should_compress(&view, &pressure)).unwrap());
        });
    }
}

/// `compress` of 10,000 entries with 5 MB: the component, and the same source run natively.
fn compress(criterion: &mut Criterion) {
    let (tokio, engine) = (tokio(), engine());
    let window = Window::new(200_000);
    let view = view(&engine, generate::session(10_000, 5_000_000), window);
    let options = CompactOptions::new(pressure(&view, window), window.target());
    let mut group = criterion.benchmark_group("compress 10,000 entries");
    group.sample_size(20).throughput(Throughput::Bytes(5_000_000));

    let plugin = tokio.block_on(engine.load(&component(STRATEGY), LoadOptions::default())).unwrap();
    let request = CompressRequest {
        pressure: options.pressure.clone(),
        target: options.rules.target,
        focus: None,
        memory: Vec::new(),
        corrections: Vec::new(),
        extras: Vec::new(),
    };
    group.bench_function("component", |bencher| {
        bencher.iter_batched(
            || tokio.block_on(plugin.instance(engine.services())).unwrap(),
            |mut instance| tokio.block_on(instance.compress(&view, &request)).unwrap(),
            BatchSize::PerIteration,
        );
    });

    let counter = TiktokenCounter::new(Vocabulary::O200kBase);
    let host = TestHost::new().count_with(move |text| counter.count(text));
    let (lent, request) = (NativeView(view.clone()), native::compress_request(&options.pressure, options.rules.target));
    group.bench_function("native", |bencher| {
        bencher.iter_batched(
            || regex_anchors::RegexAnchors::configure("{}").unwrap(),
            |strategy| match strategy.compress(&lent, &host, &request) {
                Ok(Outcome::Compressed(plan)) => plan,
                other => panic!("no plan: {other:?}"),
            },
            BatchSize::PerIteration,
        );
    });
}

/// `select-context` of tool-prune over 10,000 entries, in a running instance: the plugin alone, without verifying and
/// applying its plan. Where nothing goes, it only decides; where all that is old goes, it also names some 4,000 results.
fn select(criterion: &mut Criterion) {
    let (tokio, engine) = (tokio(), engine());
    let window = Window::new(200_000);
    let view = view(&engine, generate::session(10_000, 5_000_000), window);
    let request = SelectRequest { pressure: pressure(&view, window), incoming: None };
    let mut group = criterion.benchmark_group("select 10,000 entries");
    // What making a view costs where each text has to be looked up.
    let entries = view.entries().to_vec();
    group.bench_function("a view, all looked up", |bencher| {
        bencher.iter(|| engine.view(entries.clone(), view.options()));
    });
    for (name, config, pruned) in [
        ("nothing goes", r#"{"start_share": 0, "keep_turns": 100000}"#, false),
        ("the default", "{}", true),
        ("all that is old goes", r#"{"preset": "observation-masking"}"#, true),
    ] {
        let options = LoadOptions::with_config(config);
        let plugin = tokio.block_on(engine.load(&component("tool-prune"), options)).unwrap();
        let mut instance = tokio.block_on(plugin.instance(engine.services())).unwrap();
        let plan = tokio.block_on(instance.select_context(&view, &request)).unwrap();
        assert_eq!(plan.is_some(), pruned, "{name}");
        group.bench_function(name, |bencher| {
            bencher.iter(|| tokio.block_on(instance.select_context(&view, &request)).unwrap());
        });
        // What the host does with the plan: verify it, apply it, describe the view that comes of it.
        let Some(plan) = plan else { continue };
        let rules = Rules::for_request(request.pressure.budget());
        group.bench_function(format!("{name}, verify and apply"), |bencher| {
            let verify = |plan| verify(plan, "tool-prune", &view, &rules, engine.counter()).unwrap().apply();
            bencher.iter_batched(|| plan.clone(), verify, BatchSize::SmallInput);
        });
    }
}

/// The same as an agent does it, in a turn of a session: everything between the question and the request that goes out.
fn select_in_a_turn(criterion: &mut Criterion) {
    let (tokio, engine) = (tokio(), engine());
    let mut group = criterion.benchmark_group("select 10,000 entries in a turn");
    for (name, config) in
        [("the default", r#"{"cache": "ignore"}"#), ("all that is old goes", r#"{"preset": "observation-masking"}"#)]
    {
        let plugin = tokio.block_on(engine.load(&component("tool-prune"), LoadOptions::with_config(config))).unwrap();
        let mut slots = Slots::builder();
        slots.claim(Slot::Select, &plugin, Origin::here()).unwrap();
        engine.install(Setup::new(slots.build(), Window::new(200_000)));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let session = Session::create(engine.clone(), store, NewSession::named(name), ViewOptions::default());
        let session = tokio.block_on(session).unwrap();
        tokio.block_on(session.append(generate::session(10_000, 5_000_000))).unwrap();
        let turn = session.turn();
        let options = SelectOptions::default();
        let first = tokio.block_on(turn.select(&options)).unwrap();
        assert!(matches!(first.steps()[0].1, SelectionStep::Shaped { .. }), "{name}: {:?}", first.steps());
        group.bench_function(name, |bencher| {
            bencher.iter(|| tokio.block_on(turn.select(&options)).unwrap());
        });
        group.bench_function(format!("{name}, in a new turn"), |bencher| {
            bencher.iter(|| tokio.block_on(session.turn().select(&options)).unwrap());
        });
        let mut appended = 0;
        group.bench_function(format!("{name}, after one more entry"), |bencher| {
            bencher.iter_batched(
                || {
                    appended += 1;
                    let entry = Entry::text(format!("more-{appended}"), EntryKind::Note, "one more");
                    tokio.block_on(session.append(vec![entry])).unwrap();
                },
                |()| tokio.block_on(turn.select(&options)).unwrap(),
                BatchSize::PerIteration,
            );
        });
    }
}

/// Starting a plugin: compiled anew, taken from the compiled cache, and one more instance of a loaded one.
fn start(criterion: &mut Criterion) {
    let (tokio, component) = (tokio(), component(STRATEGY));
    let mut group = criterion.benchmark_group("start");
    group.sample_size(10);
    let cold = Runtime::builder().build().unwrap();
    group.bench_function("cold", |bencher| {
        bencher.iter(|| tokio.block_on(Plugin::load(&cold, &component, LoadOptions::default())).unwrap());
    });
    let folder = tempfile::tempdir().unwrap();
    let cached = Runtime::builder().cache_dir(folder.path().join("cache")).build().unwrap();
    tokio.block_on(Plugin::load(&cached, &component, LoadOptions::default())).unwrap();
    group.bench_function("cached", |bencher| {
        bencher.iter(|| tokio.block_on(Plugin::load(&cached, &component, LoadOptions::default())).unwrap());
    });
    let plugin = tokio.block_on(Plugin::load(&cached, &component, LoadOptions::default())).unwrap();
    let engine = engine();
    group.bench_function("instance", |bencher| {
        bencher.iter(|| tokio.block_on(plugin.instance(engine.services())).unwrap());
    });
}

/// A whole compaction, as an embedder runs it: a new instance, propose, verify, apply. Tokens are counted already.
fn whole_compaction(criterion: &mut Criterion) {
    let (tokio, engine) = (tokio(), engine());
    let plugin = tokio.block_on(engine.load(&component(STRATEGY), LoadOptions::default())).unwrap();
    let window = Window::new(216_384);
    let view = view(&engine, generate::comparison_session(), window);
    let options = CompactOptions::new(pressure(&view, window), window.target());
    let mut group = criterion.benchmark_group("compaction of 2,000 messages");
    group.sample_size(30);
    group.bench_function("propose, verify, apply", |bencher| {
        bencher.iter(|| match tokio.block_on(engine.compact(&plugin, &view, &options, engine.services())).unwrap() {
            Compacted::Done(compaction) => black_box(compaction),
            Compacted::Unchanged { reason } => panic!("{reason}"),
        });
    });
}

/// Counting a session once, with nothing remembered; and looking it up again.
fn counting(criterion: &mut Criterion) {
    let session = generate::comparison_session();
    let mut group = criterion.benchmark_group("counting 880,000 tokens");
    group.sample_size(10);
    group.bench_function("first", |bencher| {
        bencher.iter_batched(
            || EntryCounter::new(TiktokenCounter::new(Vocabulary::O200kBase)),
            |counter| session.iter().map(|entry| counter.entry(entry)).sum::<u32>(),
            BatchSize::PerIteration,
        );
    });
    let counter = EntryCounter::new(TiktokenCounter::new(Vocabulary::O200kBase));
    group.bench_function("again", |bencher| {
        bencher.iter(|| session.iter().map(|entry| counter.entry(entry)).sum::<u32>());
    });
}

criterion_group!(promises, should_compress, compress, select, select_in_a_turn, start, whole_compaction, counting);
criterion_main!(promises);
