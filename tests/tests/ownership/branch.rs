//! `branch`: who says what was done on a branch that is left.

use contextengine::Setup;
use contextengine::events::EventKind;
use contextengine::plugin::Plugin;
use contextengine::session::{LeaveOptions, Session, SessionError};
use contextengine::slots::{HOST_BRANCH_LIST, Origin, Slot};
use contextengine::store::{LogBody, MemoryStore, Page, Store};
use contextengine::transcript::{EntryId, EntryKind};
use contextengine::view::ViewOptions;
use std::sync::Arc;

use super::fixture::{engine, id, load, run, session, session_in, setup, talk, told};

fn branch(plugin: &Plugin, strict: bool) -> Setup {
    setup(|slots| {
        slots.claim(Slot::Branch, plugin, Origin::here()).unwrap().strict(strict);
    })
}

/// The entry at which the other branch begins: the fourth of the talk.
fn fork() -> Option<EntryId> {
    Some(EntryId::new("e3"))
}

fn last(session: &Session) -> (EntryKind, String) {
    let view = session.view();
    let at = view.len() - 1;
    (view.infos()[at as usize].kind, view.text(at, None).into_owned())
}

#[test]
fn the_owner_says_what_was_done_and_the_log_says_who_and_of_what() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', "{}").await;
        engine.install(branch(&a, false));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let session = session_in(&engine, &store, "talk").await;
        let mut events = engine.events();
        let left = session.turn().leave_branch(fork(), &LeaveOptions::default()).await.unwrap();
        assert_eq!(left.owner, Some(id('a')));
        let seen = (EntryKind::BranchSummary, "20 entries, summarised by owner-guest-a".to_owned());
        assert_eq!(last(&session), seen);
        assert_eq!(session.view().len(), 5, "four that both share, and the summary");

        let records = store.page(session.key(), Page::Newest, 1).await.unwrap().intact().unwrap();
        let LogBody::BranchSummary(said) = &records[0].body else { panic!("{records:?}") };
        assert_eq!((said.left.as_str(), said.ancestor.clone()), ("e23", fork()));
        assert_eq!((said.owner.as_str(), Some(&said.entry)), ("owner-guest-a", left.summary.as_ref()));
        assert_eq!(said.details.as_deref(), Some(r#"{"of":"the branch"}"#));
        assert!(told(&mut events).iter().any(|event| matches!(event, EventKind::BranchLeft { .. })));

        session.append(talk("f", 2)).await.unwrap();
        let again = Session::open(engine, store, "talk", ViewOptions::default()).await.unwrap();
        assert_eq!(again.view().text(4, None), seen.1);
        assert_eq!(again.view().len(), 7);
    });
}

#[test]
fn the_host_lists_what_was_done_where_the_owner_fails_or_there_is_none() {
    run(async {
        let engine = engine();
        let ways = ["empty", "long", "bad-plan", "declined", "unavailable", "failed", "trap", "oversize", "none"];
        for (way, letter) in ways.into_iter().zip('a'..) {
            let plugin = load(&engine, letter, &format!(r#"{{"branch": "{way}"}}"#)).await;
            engine.install(if way == "none" { setup(|_| {}) } else { branch(&plugin, false) });
            let session = session(&engine).await;
            let mut events = engine.events();
            let left = session.turn().leave_branch(fork(), &LeaveOptions::default()).await.unwrap();
            assert_eq!(left.owner.as_deref(), Some(HOST_BRANCH_LIST), "{way}");
            let (kind, text) = last(&session);
            assert_eq!(kind, EntryKind::BranchSummary);
            assert!(text.contains("20 entries, 10 requests") && text.contains("- asked: e22: some words"), "{text}");
            let stood_in = told(&mut events)
                .iter()
                .any(|event| matches!(event, EventKind::Substituted { slot: Slot::Branch, to: None, .. }));
            assert_eq!(stood_in, way != "none", "{way}");
        }
    });
}

#[test]
fn strict_makes_a_failed_summary_an_error_and_the_branch_stays_in_use() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"branch": "declined"}"#).await;
        engine.install(branch(&a, true));
        let session = session(&engine).await;
        let before = session.status();
        let error = session.turn().leave_branch(fork(), &LeaveOptions::default()).await.unwrap_err();
        assert!(matches!(&error, SessionError::Strict { slot: Slot::Branch, .. }), "{error}");
        assert_eq!(session.status(), before);
    });
}

#[test]
fn a_former_owner_says_nothing_and_the_branch_stays_in_use() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', "{}").await;
        let b = load(&engine, 'b', "{}").await;
        engine.install(branch(&a, false));
        let session = session(&engine).await;
        let former = session.turn();
        engine.install(branch(&b, false));
        let newest = session.turn();
        let error = former.leave_branch(fork(), &LeaveOptions::default()).await.unwrap_err();
        assert!(matches!(&error, SessionError::Superseded { slot: Slot::Branch, .. }), "{error}");
        assert_eq!(session.view().len(), 24);
        let left = newest.leave_branch(fork(), &LeaveOptions::default()).await.unwrap();
        assert_eq!(left.owner, Some(id('b')));
    });
}

#[test]
fn going_on_from_the_same_branch_or_with_no_room_for_a_word_leaves_no_summary() {
    run(async {
        let engine = engine();
        engine.install(setup(|_| {}));
        let session = session(&engine).await;
        let there = session.status().leaf;
        let left = session.turn().leave_branch(there, &LeaveOptions::default()).await.unwrap();
        assert_eq!((left.summary, left.owner), (None, None));
        let left = session.turn().leave_branch(fork(), &LeaveOptions::default().with_budget(5)).await.unwrap();
        assert_eq!((left.summary, session.view().len()), (None, 4));
    });
}

#[test]
fn a_branch_that_is_left_for_an_empty_one_is_summarised_whole() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', "{}").await;
        engine.install(branch(&a, false));
        let session = session(&engine).await;
        session.turn().leave_branch(None, &LeaveOptions::default()).await.unwrap();
        assert_eq!(last(&session).1, "24 entries, summarised by owner-guest-a");
        assert_eq!(session.view().len(), 1);
    });
}

#[test]
fn a_summary_of_a_branch_inside_the_branch_is_left_with_it() {
    run(async {
        let engine = engine();
        engine.install(setup(|_| {}));
        let session = session(&engine).await;
        let turn = session.turn();
        turn.leave_branch(Some(EntryId::new("e9")), &LeaveOptions::default()).await.unwrap();
        session.append(talk("f", 2)).await.unwrap();
        turn.leave_branch(fork(), &LeaveOptions::default()).await.unwrap();
        let text = last(&session).1;
        assert!(
            text.contains("- told before: [Another branch of this conversation was left here: 14 entries"),
            "{text}"
        );
        assert!(text.contains("- asked: f0"), "{text}");
    });
}
