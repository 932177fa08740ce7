//! `select`, observers and tools: what follows when they fail.

use std::time::{Duration, Instant};

use contextengine::events::EventKind;
use contextengine::plugin::Plugin;
use contextengine::session::{SelectOptions, SessionError};
use contextengine::slots::{Origin, Slot, SlotsBuilder};
use contextengine::{SelectionStep, Setup};

use super::fixture::{
    Gate, bind_compress, compacted, engine, id, limits, load, load_with, manual, run, session, setup, told,
};

fn chain(links: &[&Plugin], strict: bool) -> Setup {
    setup(|slots| {
        claim(slots, Slot::Select, links);
        slots.strict(strict);
    })
}

fn claim(slots: &mut SlotsBuilder, slot: Slot, plugins: &[&Plugin]) {
    for plugin in plugins {
        slots.claim(slot, plugin, Origin::here()).unwrap();
    }
}

#[test]
fn a_link_that_fails_is_skipped_and_the_others_go_on_in_their_order() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"select": "note"}"#).await;
        let notes = load(&engine, 'e', r#"{"select": "note"}"#).await;
        let mut links = vec![a.clone()];
        let failures = ["trap", "declined", "unavailable", "failed", "bad-plan", "oversize"];
        for (letter, failure) in ('g'..).zip(failures) {
            links.push(load(&engine, letter, &format!(r#"{{"select": "{failure}"}}"#)).await);
        }
        links.push(notes);
        engine.install(chain(&links.iter().collect::<Vec<_>>(), false));
        let session = session(&engine).await;
        let mut events = engine.events();
        let turn = session.turn();
        let selection = turn.select(&SelectOptions::default().with_incoming("why?")).await.unwrap();
        let skipped = selection.steps().iter().filter(|(_, step)| step.skipped().is_some()).count();
        assert_eq!((skipped, selection.steps().len()), (failures.len(), failures.len() + 2));
        assert!(matches!(selection.steps()[5].1, SelectionStep::Refused(_)), "{:?}", selection.steps()[5]);
        let view = selection.view();
        assert_eq!(view.text(0, None), "noted by owner-guest-e: why?");
        assert_eq!(view.text(1, None), "noted by owner-guest-a: why?");
        assert_eq!(view.len(), session.view().len() + 2, "and nothing of it is stored");
        let told: Vec<String> = told(&mut events)
            .into_iter()
            .filter_map(|event| match event {
                EventKind::LinkSkipped { plugin, .. } => Some(plugin),
                _ => None,
            })
            .collect();
        assert_eq!(told, ['g', 'h', 'i', 'j', 'k', 'l'].map(id));
        assert_eq!(engine.metrics().links_skipped, 6);
    });
}

#[test]
fn strict_makes_a_skipped_link_an_error() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"select": "declined"}"#).await;
        engine.install(chain(&[&a], true));
        let error = session(&engine).await.turn().select(&SelectOptions::default()).await.unwrap_err();
        assert!(
            matches!(&error, SessionError::Strict { slot: Slot::Select, plugin, .. } if *plugin == id('a')),
            "{error}"
        );
    });
}

#[test]
fn observers_are_told_side_by_side_and_never_in_the_way() {
    run(async {
        let engine = engine();
        let owner = load(&engine, 'a', r#"{"compress": "fold"}"#).await;
        let mut observers = Vec::new();
        for letter in ['b', 'c', 'd', 'e'] {
            observers.push(load(&engine, letter, r#"{"before-compress": "loop"}"#).await);
        }
        observers.push(load(&engine, 'f', r#"{"before-compress": "remember", "after-compress": "trap"}"#).await);
        engine.install(setup(|slots| {
            bind_compress(slots, &[&owner]);
            claim(slots, Slot::Observers, &observers.iter().collect::<Vec<_>>());
            slots.strict(true);
        }));
        let session = session(&engine).await;
        let mut events = engine.events();
        let turn = session.turn();
        let started = Instant::now();
        compacted(&turn).await;
        // Each has a second; one after the other they would take four.
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
        turn.complete(None, false).await;
        let failed: Vec<(String, &str)> = told(&mut events)
            .into_iter()
            .filter_map(|event| match event {
                EventKind::ObserverFailed { plugin, hook, .. } => Some((plugin, hook)),
                _ => None,
            })
            .collect();
        let of = |hook| failed.iter().filter(|(_, failed)| *failed == hook).count();
        assert_eq!((of("before-compress"), of("after-compress"), of("on-turn-complete")), (4, 5, 5), "{failed:?}");
        assert_eq!(session.status().quarantined.len(), 5);
    });
}

#[test]
fn a_tool_that_fails_gives_the_model_a_result_that_says_so() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', "{}").await;
        let b = load(&engine, 'b', r#"{"call": "trap"}"#).await;
        let c = load(&engine, 'c', r#"{"call": "declined"}"#).await;
        engine.install(setup(|slots| claim(slots, Slot::Tools, &[&a, &b, &c])));
        let session = session(&engine).await;
        let turn = session.turn();
        let names: Vec<String> = turn.tools().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["calls-of-owner-guest-a", "calls-of-owner-guest-b", "calls-of-owner-guest-c"]);
        assert!(turn.has_tool("calls-of-owner-guest-b") && !turn.has_tool("grep"));
        let good = turn.call_tool("calls-of-owner-guest-a", r#"{"of": "it"}"#).await;
        assert_eq!((good.text.as_str(), good.failed), ("call", false));
        for (tool, arguments, words) in [
            ("calls-of-owner-guest-b", "{}", "the words of owner-guest-b"),
            ("calls-of-owner-guest-b", "{}", "left alone"),
            ("calls-of-owner-guest-c", "{}", "has no use for it"),
            ("calls-of-owner-guest-a", "[1]", "not a JSON object"),
            ("grep", "{}", "tools: calls-of-owner-guest-a, "),
        ] {
            let outcome = turn.call_tool(tool, arguments).await;
            assert!(outcome.failed && outcome.text.contains(words), "{}", outcome.text);
        }
        assert_eq!(turn.tools().len(), 3, "the tools of a prompt stay the same");
    });
}

#[test]
fn each_call_has_an_allowance_of_the_model_of_its_own_and_a_correction_has_what_is_left() {
    run(async {
        let engine = engine();
        let gate = Gate::new();
        (0..10).for_each(|_| gate.open());
        let config = r#"{"select": "ask", "compress": "ask-then-bad"}"#;
        let mut once = limits();
        once.model_calls = 1;
        let a = load_with(&engine, 'a', 1, config, once).await;
        let mut wanted = setup(|slots| {
            claim(slots, Slot::Select, &[&a]);
            bind_compress(slots, &[&a]);
        });
        wanted.model = Some(gate.service());
        engine.install(wanted);
        let session = session(&engine).await;
        let turn = session.turn();
        for _ in 0..3 {
            let selection = turn.select(&SelectOptions::default()).await.unwrap();
            assert_eq!(selection.steps()[0].1, SelectionStep::Unchanged);
        }
        let error = turn.compact(&manual()).await.unwrap_err();
        assert!(error.to_string().contains("OverBudget"), "{error}");
        let metrics = engine.metrics();
        assert_eq!(metrics.hooks[&(id('a'), "select-context")].model_calls, 3);
        assert_eq!(metrics.plans_refused, 1);
    });
}
