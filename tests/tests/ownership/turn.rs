//! A turn fixes the owners, and each plugin has one instance in it.

use contextengine::events::EventKind;
use contextengine::hooks::{Trigger, Verdict};
use contextengine::session::{SelectOptions, SessionError};
use contextengine::slots::{Origin, Slot};

use super::fixture::{compacted, compress, engine, id, load, load_version, manual, run, session, setup, told};

#[test]
fn loading_a_plugin_claims_nothing() {
    run(async {
        let engine = engine();
        let _loaded = load(&engine, 'a', r#"{"compress": "fold", "should-compress": "hard"}"#).await;
        let session = session(&engine).await;
        let turn = session.turn();
        assert_eq!(turn.generation().number(), 0);
        let decision = turn.decide(&turn.pressure(Trigger::PreTurn)).await.unwrap();
        assert_eq!((decision.verdict, decision.by), (Verdict::Wait, None));
        let error = turn.compact(&manual()).await.unwrap_err();
        assert!(matches!(error, SessionError::NoOwner { slot: Slot::Compress }), "{error}");
        assert!(turn.tools().is_empty());
        assert_eq!(turn.select(&SelectOptions::default()).await.unwrap().steps(), []);
    });
}

#[test]
fn another_setup_takes_effect_with_the_next_turn() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', "{}").await;
        let b = load(&engine, 'b', "{}").await;
        engine.install(compress(&[&a]));
        let session = session(&engine).await;
        let who = async |turn: &contextengine::session::Turn| {
            turn.decide(&turn.pressure(Trigger::PreTurn)).await.unwrap().by.unwrap()
        };
        let first = session.turn();
        assert_eq!(who(&first).await, id('a'));
        engine.install(compress(&[&b]));
        assert_eq!(who(&first).await, id('a'), "the turn keeps its owner");
        let second = session.turn();
        assert_eq!(who(&second).await, id('b'));
        assert_eq!(who(&first).await, id('a'), "to its end");
        assert_eq!((first.number(), second.number()), (0, 1));
        assert_eq!((first.generation().number(), second.generation().number()), (1, 2));
    });
}

#[test]
fn an_installation_says_what_changed_slot_by_slot() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', "{}").await;
        let b = load(&engine, 'b', "{}").await;
        let newer = load_version(&engine, 'a', 2, "{}").await;
        let shown = |installed: contextengine::slots::Installed| -> Vec<String> {
            installed.changes.iter().map(ToString::to_string).collect()
        };
        assert_eq!(shown(engine.install(compress(&[&a]))), ["compress: nobody -> `owner-guest-a`"]);
        let same_again = load(&engine, 'a', "{}").await;
        assert!(shown(engine.install(compress(&[&same_again]))).is_empty(), "the same component is no change");
        let with_select = setup(|slots| {
            slots.claim(Slot::Compress, &b, Origin::here()).unwrap();
            slots.claim(Slot::Select, &a, Origin::here()).unwrap();
        });
        assert_eq!(
            shown(engine.install(with_select)),
            ["select: nobody -> `owner-guest-a`", "compress: `owner-guest-a` -> `owner-guest-b`"]
        );
        engine.install(compress(&[&a]));
        let upgraded = engine.install(compress(&[&newer]));
        assert_eq!(upgraded.changes.len(), 1, "another component of the same id is a change");
        assert_eq!(upgraded.changes[0].after[0].version, "2.0.0");
        assert_eq!((upgraded.generation, engine.generation().number()), (engine.generation(), 5));
    });
}

#[test]
fn a_plugin_has_one_instance_for_the_turn_whatever_slots_it_is_bound_to() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"compress": "fold", "select": "note", "before-compress": "remember"}"#).await;
        engine.install(setup(|slots| {
            for slot in [Slot::Select, Slot::Compress, Slot::Observers, Slot::Tools] {
                slots.claim(slot, &a, Origin::here()).unwrap();
            }
        }));
        let session = session(&engine).await;
        let turn = session.turn();
        assert_eq!(engine.metrics().instances_live, 0, "none before it is asked");
        turn.decide(&turn.pressure(Trigger::PreTurn)).await.unwrap();
        turn.select(&SelectOptions::default()).await.unwrap();
        compacted(&turn).await;
        let calls = turn.call_tool("calls-of-owner-guest-a", "{}").await.text;
        assert_eq!(
            calls,
            "should-compress; select; before-compress; compress; memory remembered by owner-guest-a; after-compress; \
             told of owner-guest-a: folded by owner-guest-a; call"
        );
        assert_eq!((engine.metrics().instances_started, engine.metrics().instances_live), (1, 1));
        turn.complete(None, false).await;
        assert_eq!((engine.metrics().instances_started, engine.metrics().instances_live), (1, 0));

        let next = session.turn();
        assert_eq!(next.call_tool("calls-of-owner-guest-a", "{}").await.text, "call", "a new turn, a new instance");
        drop(next);
        assert_eq!((engine.metrics().instances_started, engine.metrics().instances_live), (2, 0));
    });
}

#[test]
fn the_end_of_a_turn_is_told_to_observers_and_a_turn_that_is_given_up_is_not() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', "{}").await;
        engine.install(setup(|slots| {
            slots.claim(Slot::Observers, &a, Origin::here()).unwrap();
        }));
        let session = session(&engine).await;
        let mut events = engine.events();
        session.turn().complete(None, true).await;
        drop(session.turn());
        let told = told(&mut events);
        let hooks = told.iter().filter(|event| matches!(event, EventKind::HookCalled { hook: "on-turn-complete", .. }));
        assert_eq!(hooks.count(), 1);
        let ends: Vec<_> = told.iter().filter(|event| matches!(event, EventKind::TurnEnded { .. })).collect();
        assert_eq!(
            ends,
            [
                &EventKind::TurnEnded { completed: true, interrupted: true },
                &EventKind::TurnEnded { completed: false, interrupted: false }
            ]
        );
    });
}
