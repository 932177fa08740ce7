//! Plans that arrive after the session has gone on under another setup.

use contextengine::events::EventKind;
use contextengine::plugin::Plugin;
use contextengine::session::SessionError;
use contextengine::{Engine, Setup};

use super::fixture::{Gate, commit, compress, engine, id, load, load_version, manual, run, session, told};

const ASK: &str = r#"{"compress": "ask"}"#;
const DECLINE: &str = r#"{"compress": "declined"}"#;

/// Begins a compaction under one setup, and a turn under the next before its plan is there. Who wrote it, or who it had
/// to give way to.
async fn late(engine: &Engine, first: &[&Plugin], second: &[&Plugin]) -> Result<String, Option<String>> {
    let gate = Gate::new();
    let with_model = |mut setup: Setup| {
        setup.model = Some(gate.service());
        setup
    };
    engine.install(with_model(compress(first)));
    let session = session(engine).await;
    let mut events = engine.events();
    let compacting = tokio::spawn({
        let turn = session.turn();
        async move { turn.compact(&manual()).await }
    });
    gate.asked().await;
    engine.install(with_model(compress(second)));
    let _next = session.turn();
    gate.open();
    let compacted = compacting.await.unwrap();
    let accepted = told(&mut events).into_iter().find_map(|event| match event {
        EventKind::LateAnswer { accepted, .. } => Some(accepted),
        _ => None,
    });
    assert_eq!(accepted, Some(compacted.is_ok()), "a late answer is told of");
    match compacted {
        Ok(done) => Ok(commit(Ok(done)).owner),
        Err(SessionError::Superseded { by, .. }) => {
            assert!(session.history().await.unwrap().is_empty());
            Err(by)
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_late_plan_lands_only_if_the_newest_setup_would_have_come_to_its_writer() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', ASK).await;
        let b = load(&engine, 'b', ASK).await;
        let c = load(&engine, 'c', ASK).await;
        let fails = load(&engine, 'f', DECLINE).await;
        let newer = load_version(&engine, 'a', 2, ASK).await;
        let configured = load(&engine, 'a', r#"{"compress": "ask", "select": "note"}"#).await;
        let same = load(&engine, 'a', ASK).await;

        assert_eq!(late(&engine, &[&a], &[&a]).await, Ok(id('a')), "the same owner");
        assert_eq!(late(&engine, &[&a], &[&same]).await, Ok(id('a')), "the same component, loaded again");
        assert_eq!(late(&engine, &[&a], &[&a, &b]).await, Ok(id('a')), "with a new successor");
        assert_eq!(late(&engine, &[&a], &[&b]).await, Err(Some(id('b'))), "another owner");
        assert_eq!(late(&engine, &[&a], &[&b, &a]).await, Err(Some(id('b'))), "a former owner that succeeds now");
        assert_eq!(late(&engine, &[&a], &[&newer]).await, Err(Some(id('a'))), "another component of its id");
        assert_eq!(late(&engine, &[&a], &[&configured]).await, Err(Some(id('a'))), "another configuration");
        assert_eq!(late(&engine, &[&a], &[]).await, Err(None), "nobody");

        assert_eq!(late(&engine, &[&fails, &b], &[&fails, &b]).await, Ok(id('b')), "a successor of the same owner");
        assert_eq!(late(&engine, &[&fails, &b], &[&b]).await, Ok(id('b')), "a successor that owns now");
        assert_eq!(late(&engine, &[&fails, &b], &[&c, &b]).await, Err(Some(id('c'))), "an owner that was not asked");
        assert_eq!(late(&engine, &[&fails, &b], &[&fails]).await, Err(None), "a successor no more");
        assert_eq!(late(&engine, &[&fails, &b], &[&fails, &c, &b]).await, Err(Some(id('c'))), "one between");
    });
}

#[test]
fn a_setup_that_no_turn_has_begun_with_supersedes_nobody() {
    run(async {
        let engine = engine();
        let gate = Gate::new();
        let a = load(&engine, 'a', ASK).await;
        let b = load(&engine, 'b', ASK).await;
        let mut setup = compress(&[&a]);
        setup.model = Some(gate.service());
        engine.install(setup);
        let session = session(&engine).await;
        let compacting = tokio::spawn({
            let turn = session.turn();
            async move { turn.compact(&manual()).await }
        });
        gate.asked().await;
        engine.install(compress(&[&b]));
        gate.open();
        assert_eq!(commit(compacting.await.unwrap()).owner, id('a'));
    });
}

#[test]
fn a_successor_that_could_not_land_is_not_asked() {
    run(async {
        let engine = engine();
        let gate = Gate::new();
        let a = load(&engine, 'a', r#"{"compress": "ask-and-fail"}"#).await;
        let b = load(&engine, 'b', r#"{"compress": "fold"}"#).await;
        let c = load(&engine, 'c', r#"{"compress": "fold"}"#).await;
        let mut setup = compress(&[&a, &b]);
        setup.model = Some(gate.service());
        engine.install(setup);
        let session = session(&engine).await;
        let compacting = tokio::spawn({
            let turn = session.turn();
            async move { turn.compact(&manual()).await }
        });
        gate.asked().await;
        engine.install(compress(&[&c]));
        let _next = session.turn();
        gate.open();
        let error = compacting.await.unwrap().unwrap_err();
        assert!(matches!(&error, SessionError::Superseded { owner, .. } if *owner == id('b')), "{error}");
        assert!(!engine.metrics().hooks.contains_key(&(id('b'), "compress")));
        assert_eq!(engine.metrics().superseded, 1);
    });
}

#[test]
fn a_turn_that_is_behind_asks_nobody_who_could_not_land() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"compress": "fold"}"#).await;
        let b = load(&engine, 'b', r#"{"compress": "fold"}"#).await;
        engine.install(compress(&[&a]));
        let session = session(&engine).await;
        let behind = session.turn();
        engine.install(compress(&[&b]));
        let newest = session.turn();
        let error = behind.compact(&manual()).await.unwrap_err();
        assert!(matches!(&error, SessionError::Superseded { by, .. } if by.as_deref() == Some(&id('b'))), "{error}");
        assert!(!engine.metrics().hooks.contains_key(&(id('a'), "compress")));
        assert_eq!(super::fixture::compacted(&newest).await.owner, id('b'));
    });
}

#[test]
fn another_process_is_fenced_by_the_lease() {
    // Two engines on one store stand for two processes: they share nothing else.
    run(async {
        let (one, two) = (engine(), engine());
        let store: std::sync::Arc<dyn contextengine::store::Store> =
            std::sync::Arc::new(contextengine::store::MemoryStore::new());
        let gate = Gate::new();
        let a = load(&one, 'a', ASK).await;
        let b = load(&two, 'b', r#"{"compress": "fold"}"#).await;
        let mut setup = compress(&[&a]);
        setup.model = Some(gate.service());
        one.install(setup);
        two.install(compress(&[&b]));
        let here = super::fixture::session_in(&one, &store, "shared").await;
        let there = contextengine::session::Session::open(two.clone(), store.clone(), "shared", Default::default());
        let there = there.await.unwrap();
        let compacting = tokio::spawn({
            let turn = here.turn();
            async move { turn.compact(&manual()).await }
        });
        gate.asked().await;
        assert!(matches!(there.turn().compact(&manual()).await, Err(SessionError::Busy(_))));
        gate.open();
        let first = commit(compacting.await.unwrap());
        let turn = there.turn();
        there.append(super::fixture::talk("more", 4)).await.unwrap();
        let second = super::fixture::compacted(&turn).await;
        assert_eq!((first.owner, second.owner), (id('a'), id('b')));
        assert!(second.fencing_token > first.fencing_token);
        assert_eq!(second.previous.map(|id| id.to_string()), Some(format!("compaction-{}", first.fencing_token)));
    });
}
