//! `ingest`: what the model sees of a result, and what the log keeps.

use std::sync::Arc;

use contextengine::events::EventKind;
use contextengine::session::{Session, SessionError};
use contextengine::slots::{Origin, Slot};
use contextengine::store::{MemoryStore, Search, Store};
use contextengine::transcript::{Block, Entry, EntryKind, ToolCall, ToolResult};
use contextengine::view::ViewOptions;
use contextengine::{Engine, Setup};

use super::fixture::{engine, id, load, run, session_in, setup, told};

fn ingest(plugin: &contextengine::plugin::Plugin, strict: bool) -> Setup {
    setup(|slots| {
        slots.claim(Slot::Ingest, plugin, Origin::here()).unwrap().strict(strict);
    })
}

/// A call and its long result, with a needle in it.
fn read(id: &str) -> Vec<Entry> {
    let call = ToolCall { id: id.to_owned(), name: "read".to_owned(), arguments: "{}".to_owned() };
    let text = format!("{} needle {}", "hay ".repeat(100), "hay ".repeat(100));
    let result = ToolResult { call_id: id.to_owned(), name: "read".to_owned(), text, failed: false };
    vec![
        Entry::new(format!("{id}-call"), EntryKind::Assistant, vec![Block::ToolCall(call)]),
        Entry::new(format!("{id}-result"), EntryKind::ToolResult, vec![Block::ToolResult(result)]),
    ]
}

async fn fresh(engine: &Engine) -> (Session, Arc<dyn Store>) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    (session_in(engine, &store, "talk").await, store)
}

/// What the model sees of the last entry, and the original behind it.
fn last(session: &Session) -> (String, Option<String>) {
    let view = session.view();
    let at = view.len() - 1;
    (view.text(at, None).into_owned(), view.original(at, None))
}

#[test]
fn the_model_sees_what_the_owner_wrote_and_the_log_keeps_all_of_it() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"reduce": "short"}"#).await;
        engine.install(ingest(&a, false));
        let (session, store) = fresh(&engine).await;
        let mut events = engine.events();
        session.turn().append(read("r")).await.unwrap();

        let (seen, original) = last(&session);
        assert!(seen.starts_with("shortened by owner-guest-a\n[Shortened from 808 to 26 tokens."), "{seen}");
        assert!(seen.contains("by the id r-result]"), "{seen}");
        assert!(original.as_ref().is_some_and(|text| text.contains("needle") && text.len() == 808), "{original:?}");
        let found = store.search(Search::new(session.key(), "needle")).await.unwrap();
        assert_eq!(found.hits.len(), 1);
        assert_eq!(found.hits[0].id.as_str(), "r-result");
        let again = Session::open(engine.clone(), store, "talk", ViewOptions::default()).await.unwrap();
        assert_eq!(last(&again), (seen, original), "also when it is opened again");
        let shortened = told(&mut events).into_iter().find_map(|event| match event {
            EventKind::ResultShortened { plugin, tokens_before, tokens_after, .. } => {
                Some((plugin, tokens_before, tokens_after < 200))
            }
            _ => None,
        });
        assert_eq!(shortened, Some((id('a'), 808, true)));
        assert_eq!(engine.metrics().results_shortened, 1);
    });
}

#[test]
fn the_result_enters_whole_where_the_owner_fails_or_saves_nothing() {
    run(async {
        let engine = engine();
        let ways = ["keep", "empty", "long", "declined", "unavailable", "failed", "trap", "memory", "oversize"];
        for (way, letter) in ways.into_iter().zip('a'..) {
            let plugin = load(&engine, letter, &format!(r#"{{"reduce": "{way}"}}"#)).await;
            engine.install(ingest(&plugin, false));
            let (session, _) = fresh(&engine).await;
            let mut events = engine.events();
            let turn = session.turn();
            turn.append(read("r")).await.unwrap();
            turn.append(read("s")).await.unwrap();
            let (seen, original) = last(&session);
            assert_eq!((seen.len(), original), (808, None), "{way}");
            let stood_in = told(&mut events)
                .iter()
                .filter(|event| matches!(event, EventKind::Substituted { slot: Slot::Ingest, to: None, .. }))
                .count();
            assert_eq!(stood_in, if way == "keep" { 0 } else { 2 }, "{way}");
            let broke_off = ["trap", "memory", "oversize"].contains(&way);
            assert_eq!(session.status().quarantined.len(), usize::from(broke_off), "{way}");
        }
    });
}

#[test]
fn strict_makes_a_failed_reducer_an_error_and_appends_nothing() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"reduce": "declined"}"#).await;
        engine.install(ingest(&a, true));
        let (session, _) = fresh(&engine).await;
        let before = session.status().depth;
        let error = session.turn().append(read("r")).await.unwrap_err();
        assert!(matches!(&error, SessionError::Strict { slot: Slot::Ingest, .. }), "{error}");
        assert_eq!(session.status().depth, before);
    });
}

#[test]
fn what_a_former_owner_shortened_is_refused_and_the_result_enters_whole() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"reduce": "short"}"#).await;
        let b = load(&engine, 'b', r#"{"reduce": "short"}"#).await;
        engine.install(ingest(&a, false));
        let (session, _) = fresh(&engine).await;
        let former = session.turn();
        engine.install(ingest(&b, false));
        let newest = session.turn();
        let mut events = engine.events();
        former.append(read("r")).await.unwrap();
        assert_eq!(last(&session).0.len(), 808);
        let superseded = told(&mut events)
            .into_iter()
            .any(|event| event == EventKind::Superseded { slot: Slot::Ingest, owner: id('a'), by: Some(id('b')) });
        assert!(superseded);
        newest.append(read("s")).await.unwrap();
        assert!(last(&session).0.starts_with("shortened by owner-guest-b"));
    });
}

#[test]
fn a_compaction_over_a_shortened_result_has_all_of_it_at_hand() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"reduce": "short", "compress": "fold"}"#).await;
        engine.install(setup(|slots| {
            slots.claim(Slot::Ingest, &a, Origin::here()).unwrap();
            slots.claim(Slot::Compress, &a, Origin::here()).unwrap();
        }));
        let (session, _) = fresh(&engine).await;
        let turn = session.turn();
        turn.append(read("r")).await.unwrap();
        turn.append(vec![Entry::text("next", EntryKind::User, "and now?")]).await.unwrap();
        super::fixture::compacted(&turn).await;
        let whole = session.whole_view().await.unwrap();
        assert!(whole.original(0, None).is_some_and(|text| text.contains("needle")));
        session.undo().await.unwrap();
        let view = session.view();
        assert!(view.original(view.len() - 2, None).is_some_and(|text| text.contains("needle")));
    });
}
