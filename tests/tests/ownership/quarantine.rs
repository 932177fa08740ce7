//! Plugins that broke off are left alone.

use contextengine::hooks::{Trigger, Verdict};
use contextengine::plugin::CallError;
use contextengine::session::SelectOptions;
use contextengine::slots::{Origin, Slot};
use contextengine::{Engine, SelectionStep, Setup};

use super::fixture::{compacted, engine, id, load, run, session, setup};

/// `a` owns everything that it can, and `b` succeeds it.
async fn everything(engine: &Engine, config: &str) -> Setup {
    let a = load(engine, 'a', config).await;
    let b = load(engine, 'b', r#"{"compress": "fold"}"#).await;
    setup(|slots| {
        for slot in Slot::ALL {
            slots.claim(slot, &a, Origin::here()).unwrap();
        }
        slots.succeed(&b, Origin::here()).unwrap();
    })
}

#[test]
fn one_that_broke_off_is_asked_no_more_in_any_slot_of_that_session() {
    run(async {
        let engine = engine();
        let wanted = everything(&engine, r#"{"select": "trap", "compress": "fold", "should-compress": "hard"}"#).await;
        engine.install(wanted.clone());
        let (hit, spared) = (session(&engine).await, session(&engine).await);
        let turn = hit.turn();
        let asked = turn.decide(&turn.pressure(Trigger::PreTurn)).await.unwrap();
        assert_eq!(asked.by, Some(id('a')));
        let selection = turn.select(&SelectOptions::default()).await.unwrap();
        assert!(matches!(&selection.steps()[0].1, SelectionStep::Failed(CallError::Trap { .. })));
        let calls = |hook: &'static str| {
            engine.metrics().hooks.get(&(id('a'), hook)).map_or(0, contextengine::events::HookMetrics::calls)
        };

        for turn in [turn, hit.turn()] {
            let selection = turn.select(&SelectOptions::default()).await.unwrap();
            assert!(matches!(&selection.steps()[0].1, SelectionStep::Quarantined(_)), "not by a new turn");
            let decision = turn.decide(&turn.pressure(Trigger::PreTurn)).await.unwrap();
            assert_eq!((decision.verdict, decision.by), (Verdict::Wait, Some(id('b'))), "its successor is asked");
            let tool = turn.call_tool("calls-of-owner-guest-a", "{}").await;
            assert!(tool.failed && tool.text.contains("left alone"), "{}", tool.text);
            turn.complete(None, false).await;
        }
        let commit = compacted(&hit.turn()).await;
        assert_eq!(commit.owner, id('b'));
        assert!(commit.passed_over[0].reason.contains("left alone"), "{:?}", commit.passed_over);
        assert_eq!((calls("select-context"), calls("should-compress"), calls("compress")), (1, 1, 0));
        assert_eq!((calls("call"), calls("on-turn-complete"), calls("before-compress")), (0, 0, 0));

        // Another session is not concerned.
        assert!(spared.status().quarantined.is_empty());
        assert_eq!(compacted(&spared.turn()).await.owner, id('a'));
    });
}

#[test]
fn the_first_cause_is_kept_and_shown_and_another_setup_lifts_it() {
    run(async {
        let engine = engine();
        let wanted = everything(&engine, r#"{"select": "trap", "compress": "loop"}"#).await;
        let installed = engine.install(wanted.clone());
        let session = session(&engine).await;
        let turn = session.turn();
        turn.select(&SelectOptions::default()).await.unwrap();
        compacted(&turn).await;
        let status = session.status();
        let [quarantine] = &status.quarantined[..] else { panic!("{:?}", status.quarantined) };
        assert_eq!((quarantine.plugin.as_str(), quarantine.slot), (id('a').as_str(), Slot::Select));
        assert_eq!((quarantine.hook, quarantine.generation), ("select-context", installed.generation));
        assert!(matches!(&quarantine.error, CallError::Trap { message, .. } if message.contains("the words of")));
        assert!(quarantine.at.0 > 0);
        assert_eq!(engine.metrics().quarantines, 1);

        engine.install(wanted);
        assert!(session.status().quarantined.is_empty());
        let again = session.turn().select(&SelectOptions::default()).await.unwrap();
        assert!(matches!(&again.steps()[0].1, SelectionStep::Failed(CallError::Trap { .. })), "it was asked again");
        // The turn of the former setup goes on leaving it alone.
        let old = turn.select(&SelectOptions::default()).await.unwrap();
        assert!(matches!(&old.steps()[0].1, SelectionStep::Quarantined(_)));
    });
}

#[test]
fn every_way_to_break_off_quarantines_and_no_answer_in_order_does() {
    run(async {
        let engine = engine();
        for (behaviour, quarantined) in [
            ("trap", true),
            ("loop", true),
            ("memory", true),
            ("oversize", true),
            ("declined", false),
            ("unavailable", false),
            ("failed", false),
            ("bad-plan", false),
        ] {
            engine.install(everything(&engine, &format!(r#"{{"compress": "{behaviour}"}}"#)).await);
            let session = session(&engine).await;
            assert_eq!(compacted(&session.turn()).await.owner, id('b'), "{behaviour}");
            let found: Vec<String> = session.status().quarantined.into_iter().map(|found| found.plugin).collect();
            let expected = if quarantined { vec![id('a')] } else { Vec::new() };
            assert_eq!(found, expected, "{behaviour}");
        }
    });
}
