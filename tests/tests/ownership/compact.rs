//! Compacting: the owner, its successors, one at a time, and what is recorded.

use std::sync::Arc;
use std::time::Duration;

use contextengine::events::{EventKind, HookOutcome};
use contextengine::session::{SessionCompacted, SessionError};
use contextengine::slots::{Origin, Slot};
use contextengine::store::{MemoryStore, Store};
use contextengine::{CompactError, Setup};

use super::fixture::{
    Gate, bind_compress, commit, compacted, compress, engine, id, load, manual, run, session, session_in, setup,
    strict, told,
};

const FOLD: &str = r#"{"compress": "fold"}"#;

#[test]
fn a_successor_is_asked_for_every_way_to_fail_and_the_record_says_why() {
    let failures = [
        ("declined", "declined: owner-guest-a has no use for it"),
        ("unavailable", "a service it needs is unavailable: the service is gone"),
        ("failed", "failed: it has a defect"),
        ("trap", "the words of owner-guest-a"),
        ("loop", "took longer than"),
        ("memory", "of memory and may have"),
        ("oversize", "to the host at once"),
        ("bad-plan", "the plan is refused: unaccounted"),
        ("bad-then-unchanged", "it gave up"),
    ];
    run(async {
        let engine = engine();
        let b = load(&engine, 'b', FOLD).await;
        for (failure, words) in failures {
            let a = load(&engine, 'a', &format!(r#"{{"compress": "{failure}"}}"#)).await;
            engine.install(compress(&[&a, &b]));
            let session = session(&engine).await;
            let commit = compacted(&session.turn()).await;
            assert_eq!(commit.owner, id('b'), "{failure}");
            let [passed] = &commit.passed_over[..] else { panic!("{failure}: {:?}", commit.passed_over) };
            assert_eq!(passed.owner, id('a'));
            assert!(passed.reason.contains(words), "{failure}: {}", passed.reason);
            assert_eq!(session.status().tokens, commit.tokens_after);
        }
    });
}

#[test]
fn successors_are_asked_in_their_order_until_one_succeeds() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"compress": "declined"}"#).await;
        let b = load(&engine, 'b', r#"{"compress": "trap"}"#).await;
        let c = load(&engine, 'c', FOLD).await;
        let d = load(&engine, 'd', FOLD).await;
        engine.install(compress(&[&a, &b, &c, &d]));
        let session = session(&engine).await;
        let mut events = engine.events();
        let commit = compacted(&session.turn()).await;
        assert_eq!(commit.owner, id('c'));
        let passed: Vec<&str> = commit.passed_over.iter().map(|passed| passed.owner.as_str()).collect();
        assert_eq!(passed, [id('a'), id('b')]);
        let asked: Vec<String> = told(&mut events)
            .into_iter()
            .filter_map(|event| match event {
                EventKind::HookCalled { hook: "compress", plugin, .. } => Some(plugin),
                _ => None,
            })
            .collect();
        assert_eq!(asked, [id('a'), id('b'), id('c')], "and the last one was not asked");
    });
}

#[test]
fn an_owner_that_finds_nothing_to_do_has_answered() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', "{}").await;
        let b = load(&engine, 'b', FOLD).await;
        engine.install(compress(&[&a, &b]));
        let session = session(&engine).await;
        let answer = session.turn().compact(&manual()).await.unwrap();
        let SessionCompacted::Unchanged { reason } = answer else { panic!("{answer:?}") };
        assert_eq!(reason, "owner-guest-a leaves it");
        assert_eq!(engine.metrics().substitutions, 0);
        assert!(session.history().await.unwrap().is_empty());
    });
}

#[test]
fn a_refused_plan_goes_back_to_its_owner_once() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"compress": "bad-then-fold"}"#).await;
        let b = load(&engine, 'b', FOLD).await;
        engine.install(compress(&[&a, &b]));
        let session = session(&engine).await;
        let mut events = engine.events();
        let commit = compacted(&session.turn()).await;
        assert_eq!((commit.owner, commit.passed_over.len()), (id('a'), 0));
        assert!(commit.corrections[0].starts_with("unaccounted"), "{:?}", commit.corrections);
        let refused = told(&mut events).into_iter().find_map(|event| match event {
            EventKind::PlanRefused { plugin, defects, .. } => Some((plugin, defects)),
            _ => None,
        });
        assert_eq!(refused, Some((id('a'), vec!["unaccounted"])));
    });
}

#[test]
fn where_none_is_left_the_history_is_kept_and_the_error_names_everyone() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"compress": "declined"}"#).await;
        let b = load(&engine, 'b', r#"{"compress": "bad-plan"}"#).await;
        let c = load(&engine, 'c', r#"{"compress": "trap"}"#).await;
        engine.install(compress(&[&a, &b, &c]));
        let session = session(&engine).await;
        let before = session.status();
        let error = session.turn().compact(&manual()).await.unwrap_err();
        let SessionError::Compact(CompactError::NoneLeft { tried }) = &error else { panic!("{error}") };
        let owners: Vec<&str> = tried.iter().map(CompactError::owner).collect();
        assert_eq!(owners, [id('a'), id('b'), id('c')]);
        let text = error.to_string();
        for words in ["its history is as it was", "has no use for it", "unaccounted", "the words of owner-guest-c"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let after = session.status();
        assert_eq!((after.tokens, after.compaction, after.depth), (before.tokens, None, before.depth));
        assert_eq!(engine.metrics().compactions_failed, 1);
    });
}

#[test]
fn strict_makes_a_substitution_an_error() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"compress": "declined"}"#).await;
        let b = load(&engine, 'b', FOLD).await;
        engine.install(strict(&[&a, &b]));
        let session = session(&engine).await;
        let error = session.turn().compact(&manual()).await.unwrap_err();
        assert!(
            matches!(&error, SessionError::Strict { slot: Slot::Compress, plugin, reason }
                if *plugin == id('a') && reason.contains("no use for it")),
            "{error}"
        );
        assert!(session.history().await.unwrap().is_empty());
        assert_eq!(engine.metrics().substitutions, 0);
    });
}

/// Somebody compacts and waits for the model.
fn asking(gate: &Gate, mut setup: Setup) -> Setup {
    setup.model = Some(gate.service());
    setup
}

#[test]
fn one_compaction_at_a_time_and_the_waiter_is_told_who() {
    run(async {
        let engine = engine();
        let gate = Gate::new();
        let a = load(&engine, 'a', r#"{"compress": "ask"}"#).await;
        engine.install(asking(&gate, compress(&[&a])));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let session = session_in(&engine, &store, "one").await;
        let other = session_in(&engine, &store, "two").await;
        let first = tokio::spawn({
            let turn = session.turn();
            async move { turn.compact(&manual()).await }
        });
        gate.asked().await;
        let error = session.turn().compact(&manual()).await.unwrap_err();
        assert!(matches!(&error, SessionError::Busy(busy) if busy.to_string().contains(&id('a'))), "{error}");
        // Another session is not concerned; it waits for the model, too.
        let elsewhere = tokio::spawn({
            let turn = other.turn();
            async move { turn.compact(&manual()).await }
        });
        gate.asked().await;
        gate.open();
        gate.open();
        assert_eq!(commit(first.await.unwrap()).model_calls, 1);
        commit(elsewhere.await.unwrap());
        let metrics = engine.metrics();
        assert_eq!((metrics.busy, metrics.compactions, metrics.compactions_failed), (1, 2, 0), "busy is no failure");
    });
}

#[test]
fn a_caller_that_stops_waiting_harms_nobody() {
    run(async {
        let engine = engine();
        let gate = Gate::new();
        let a = load(&engine, 'a', r#"{"compress": "ask"}"#).await;
        let b = load(&engine, 'b', FOLD).await;
        engine.install(asking(&gate, compress(&[&a, &b])));
        let session = session(&engine).await;
        let turn = session.turn();
        let mut events = engine.events();
        {
            let wanted = manual();
            let mut compacting = Box::pin(turn.compact(&wanted));
            tokio::select! {
                done = &mut compacting => panic!("{done:?}"),
                () = gate.asked() => {}
            }
        }
        let outcome = told(&mut events).into_iter().find_map(|event| match event {
            EventKind::HookCalled { hook: "compress", outcome, .. } => Some(outcome),
            _ => None,
        });
        assert_eq!(outcome, Some(HookOutcome::Cancelled));
        assert!(session.status().quarantined.is_empty(), "an abort is no fault");
        // The lease is given back by a task; the same owner is asked, in a new instance.
        gate.open();
        let commit = loop {
            match turn.compact(&manual()).await {
                Err(SessionError::Busy(_)) => tokio::time::sleep(Duration::from_millis(5)).await,
                done => break commit(done),
            }
        };
        assert_eq!((commit.owner, commit.passed_over.len()), (id('a'), 0));
        assert_eq!(engine.metrics().instances_live, 1);
    });
}

#[test]
fn entries_can_be_appended_meanwhile_and_stay_behind_the_result() {
    run(async {
        let engine = engine();
        let gate = Gate::new();
        let a = load(&engine, 'a', r#"{"compress": "ask"}"#).await;
        engine.install(asking(&gate, compress(&[&a])));
        let session = session(&engine).await;
        let compacting = tokio::spawn({
            let turn = session.turn();
            async move { turn.compact(&manual()).await }
        });
        gate.asked().await;
        session.append(super::fixture::talk("late", 2)).await.unwrap();
        gate.open();
        commit(compacting.await.unwrap());
        let view = session.view();
        let ids: Vec<&str> = view.entries().iter().rev().take(2).map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, ["late1", "late0"]);
        assert_eq!(session.status().depth, 26);
    });
}

#[test]
fn the_model_calls_of_everyone_who_was_asked_are_recorded() {
    run(async {
        let engine = engine();
        let gate = Gate::new();
        gate.open();
        gate.open();
        let a = load(&engine, 'a', r#"{"compress": "ask-and-fail"}"#).await;
        let b = load(&engine, 'b', r#"{"compress": "ask"}"#).await;
        engine.install(asking(&gate, compress(&[&a, &b])));
        let session = session(&engine).await;
        let commit = compacted(&session.turn()).await;
        assert_eq!((commit.owner, commit.model_calls), (id('b'), 2));
        let metrics = engine.metrics();
        let of = |letter| &metrics.hooks[&(id(letter), "compress")];
        assert_eq!((of('a').model_calls, of('b').model_calls), (1, 1));
        assert_eq!((of('a').model_input_tokens, of('a').model_output_tokens), (7, 3));
    });
}

#[test]
fn the_owner_hears_the_operators_wish_and_what_observers_remember() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', FOLD).await;
        let b = load(&engine, 'b', r#"{"before-compress": "remember"}"#).await;
        let c = load(&engine, 'c', r#"{"before-compress": "trap"}"#).await;
        let mut wanted = setup(|slots| {
            bind_compress(slots, &[&a]);
            for observer in [&c, &b] {
                slots.claim(Slot::Observers, observer, Origin::here()).unwrap();
            }
            slots.claim(Slot::Tools, &a, Origin::here()).unwrap();
        });
        wanted.keep_recent = Some(123);
        engine.install(wanted);
        let session = session(&engine).await;
        let turn = session.turn();
        compacted(&turn).await;
        let calls = turn.call_tool("calls-of-owner-guest-a", "{}").await.text;
        assert_eq!(calls, "compress; keep_recent 123; memory remembered by owner-guest-b; call");
    });
}

#[test]
fn a_plugin_of_the_callers_choice_gives_way_to_the_owner() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', FOLD).await;
        let b = load(&engine, 'b', FOLD).await;
        let session = session(&engine).await;
        let wanted = contextengine::session::SessionCompactOptions::new(
            super::fixture::window(),
            contextengine::hooks::Trigger::Manual,
        );
        engine.install(compress(&[&a]));
        let error = session.compact(&b, &wanted, engine.services()).await.unwrap_err();
        assert!(
            matches!(&error, SessionError::Superseded { owner, by, .. }
            if *owner == id('b') && by.as_deref() == Some(&id('a'))),
            "{error}"
        );
        session.compact(&a, &wanted, engine.services()).await.unwrap();
    });
}
