//! Events and metrics say what happened.

use std::time::Duration;

use contextengine::events::{EventKind, HookOutcome, MetricKind};
use contextengine::slots::Slot;

use super::fixture::{compacted, compress, engine, id, load, run, session, told};

#[test]
fn a_compaction_is_told_of_from_its_first_call_to_its_commit() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"compress": "trap"}"#).await;
        let b = load(&engine, 'b', r#"{"compress": "fold"}"#).await;
        let mut events = engine.events();
        engine.install(compress(&[&a, &b]));
        let session = session(&engine).await;
        let turn = session.turn();
        let commit = compacted(&turn).await;
        drop(turn);
        let names: Vec<String> = told(&mut events)
            .iter()
            .map(|kind| serde_json::to_value(kind).unwrap()["event"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            names,
            [
                "installed",
                "turn-began",
                "hook-called",
                "quarantined",
                "substituted",
                "hook-called",
                "committed",
                "turn-ended"
            ]
        );
        let metrics = engine.metrics();
        assert_eq!(metrics.tokens_saved, u64::from(commit.tokens_before - commit.tokens_after));
        let of = |letter| &metrics.hooks[&(id(letter), "compress")];
        assert_eq!((of('a').calls(), of('a').failures(), of('a').faults()), (1, 1, 1));
        assert_eq!((of('b').calls(), of('b').failures(), of('b').faults()), (1, 0, 0));
        assert!(of('b').duration > Duration::ZERO);
    });
}

#[test]
fn an_event_is_one_flat_object_with_its_scope() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"compress": "fold"}"#).await;
        engine.install(compress(&[&a]));
        let session = session(&engine).await;
        let mut events = engine.events();
        let turn = session.turn();
        compacted(&turn).await;
        let events: Vec<serde_json::Value> =
            std::iter::from_fn(|| events.try_recv().ok()).map(|event| serde_json::to_value(&*event).unwrap()).collect();
        let called = events.iter().find(|event| event["event"] == "hook-called").unwrap();
        assert_eq!(called["session"], "talk");
        assert_eq!((called["generation"].as_u64(), called["turn"].as_u64()), (Some(1), Some(0)));
        assert_eq!((called["slot"].as_str(), called["hook"].as_str()), (Some("compress"), Some("compress")));
        assert_eq!((called["plugin"].as_str(), called["outcome"].as_str()), (Some("owner-guest-a"), Some("answered")));
        assert!(called["duration_ms"].as_f64().unwrap() > 0.0);
        assert_eq!(called["model"]["calls"], 0);
        assert!(called["at"].as_i64().unwrap() > 1_600_000_000_000);
        let committed = events.iter().find(|event| event["event"] == "committed").unwrap();
        assert_eq!(
            (committed["owner"].as_str(), committed["trigger"].as_str()),
            (Some("owner-guest-a"), Some("manual"))
        );
    });
}

#[test]
fn figures_have_names_that_monitoring_systems_take() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"compress": "fold"}"#).await;
        engine.install(compress(&[&a]));
        let session = session(&engine).await;
        compacted(&session.turn()).await;
        let samples = engine.metrics().samples();
        for sample in &samples {
            assert!(sample.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", sample.name);
            assert_eq!(sample.kind == MetricKind::Counter, sample.name.ends_with("_total"), "{}", sample.name);
            assert!(sample.help.ends_with('.'));
        }
        let value = |name: &str| samples.iter().find(|sample| sample.name == name).map(|sample| sample.value);
        assert_eq!(value("contextengine_compactions_total"), Some(1.0));
        assert_eq!(value("contextengine_instances_live"), Some(0.0));
        let calls = samples.iter().find(|sample| sample.name == "contextengine_hook_calls_total").unwrap();
        let expected = [("plugin", "owner-guest-a"), ("hook", "compress"), ("outcome", "answered")];
        assert_eq!(calls.labels, expected.map(|(name, value)| (name, value.to_owned())));
    });
}

#[test]
fn a_receiver_that_sleeps_misses_the_oldest_and_holds_nobody_up() {
    run(async {
        let engine = engine();
        let session = session(&engine).await;
        let mut events = engine.events();
        for _ in 0..1_000 {
            drop(session.turn());
        }
        let Err(tokio::sync::broadcast::error::TryRecvError::Lagged(missed)) = events.try_recv() else {
            panic!("2,000 events fit")
        };
        assert_eq!(missed, 2_000 - 1_024);
        assert!(matches!(told(&mut events).last(), Some(EventKind::TurnEnded { .. })));
    });
}

#[test]
fn outcomes_that_are_faults_are_those_that_quarantine() {
    let faults = [HookOutcome::Trapped, HookOutcome::TimeLimit, HookOutcome::MemoryLimit, HookOutcome::OutputLimit];
    assert!(faults.iter().all(|outcome| outcome.is_fault()));
    let others = [HookOutcome::Answered, HookOutcome::Declined, HookOutcome::Cancelled, HookOutcome::HostFailed];
    assert!(!others.iter().any(|outcome| outcome.is_fault()));
    assert_eq!(serde_json::to_value(Slot::Observers).unwrap(), "observers");
}
