//! A chain of selectors shapes one request; what fails is skipped, and nothing is stored.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::sync::Arc;

use contextengine::hooks::{Hook, Trigger};
use contextengine::plan::DefectKind;
use contextengine::plugin::{CallError, LoadOptions, Plugin};
use contextengine::session::Session;
use contextengine::store::{MemoryStore, NewSession, Store};
use contextengine::transcript::{Entry, EntryKind, Timestamp};
use contextengine::view::{View, ViewOptions};
use contextengine::{Engine, Selection, SelectionStep, Window};
use contextengine_tests::component;

fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test)
}

async fn selector(engine: &Engine, behaviour: &str) -> Plugin {
    let config = format!(r#"{{"behaviour": "{behaviour}"}}"#);
    engine.load(&component("selector-guest"), LoadOptions::with_config(config)).await.unwrap()
}

fn entries() -> Vec<Entry> {
    let text = |id: &str, kind, words: &str| Entry::text(id, kind, words);
    vec![
        text("u1", EntryKind::User, "an earlier request"),
        text("a1", EntryKind::Assistant, "an earlier answer"),
        text("u2", EntryKind::User, "the request"),
    ]
}

fn view(engine: &Engine) -> View {
    engine.view(entries().into_iter().map(Arc::new).collect(), ViewOptions::default())
}

async fn select(behaviours: &[&str]) -> (Selection, View) {
    let engine = Engine::builder().build().unwrap();
    let mut chain = Vec::new();
    for behaviour in behaviours {
        chain.push(selector(&engine, behaviour).await);
    }
    let view = view(&engine);
    let pressure = Window::new(8_000).pressure(&view, Trigger::PreTurn, Timestamp(0));
    (engine.select(&chain, &view, &pressure, Some("the request"), &engine.services()).await, view)
}

fn texts(view: &View) -> Vec<String> {
    (0..view.len()).map(|at| view.text(at, None).into_owned()).collect()
}

#[test]
fn each_link_sees_what_the_one_before_made() {
    run(async {
        let (selection, before) = select(&["last-turn", "note", "unchanged"]).await;
        assert_eq!(texts(selection.view()), ["about: the request", "the request"]);
        assert!(matches!(selection.steps()[0].1, SelectionStep::Shaped { tokens_before, tokens_after }
            if tokens_before == before.tokens() && tokens_after < tokens_before));
        assert!(matches!(selection.steps()[1].1, SelectionStep::Shaped { tokens_before, tokens_after }
            if tokens_after > tokens_before));
        assert_eq!(selection.steps()[2], ("selector-guest".to_owned(), SelectionStep::Unchanged));
    });
}

#[test]
fn a_link_that_fails_is_skipped_and_the_request_goes_on() {
    run(async {
        let (selection, before) = select(&["panic", "declined", "drop-everything", "long-note"]).await;
        assert_eq!(texts(selection.view()), texts(&before));
        let [(_, panicked), (_, declined), (_, dropped), (_, long)] = selection.steps() else { panic!() };
        assert!(
            matches!(panicked, SelectionStep::Failed(CallError::Trap { message, .. })
            if message.contains("the words of the selector")),
            "{panicked:?}"
        );
        assert!(matches!(declined, SelectionStep::Failed(CallError::Failed(_))), "{declined:?}");
        let kind = |step: &SelectionStep| match step {
            SelectionStep::Refused(refused) => refused.defects()[0].kind,
            other => panic!("{other:?}"),
        };
        assert_eq!(kind(dropped), DefectKind::LostRequest);
        assert_eq!(kind(long), DefectKind::OverTarget);
    });
}

#[test]
fn a_plugin_of_another_hook_is_no_selector() {
    run(async {
        let engine = Engine::builder().build().unwrap();
        let compressor = engine.load(&component("hostile-guest"), LoadOptions::default()).await.unwrap();
        let mut instance = compressor.instance(engine.services()).await.unwrap();
        let view = view(&engine);
        let pressure = Window::new(8_000).pressure(&view, Trigger::PreTurn, Timestamp(0));
        let request = contextengine::hooks::SelectRequest { pressure, incoming: None };
        let error = instance.select_context(&view, &request).await.unwrap_err();
        assert_eq!(error, CallError::NoSuchHook { hook: Hook::Selector });
    });
}

#[test]
fn what_is_selected_for_a_request_is_not_stored_in_the_session() {
    run(async {
        let engine = Engine::builder().build().unwrap();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let new = NewSession::named("a");
        let session = Session::create(engine.clone(), store, new, ViewOptions::default()).await.unwrap();
        session.append(entries()).await.unwrap();
        let chain = [selector(&engine, "last-turn").await];
        let selection = session.select(&chain, Window::new(8_000), None, &engine.services()).await;
        assert_eq!(selection.view().len(), 1);
        assert_eq!(session.view().len(), 3);
        assert_eq!(session.status().depth, 3);
    });
}
