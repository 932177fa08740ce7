//! Whether to compact: the host by its threshold, else the owner.

use contextengine::events::EventKind;
use contextengine::hooks::{Pressure, Trigger, Urgency, Verdict};
use contextengine::session::{SessionError, TurnDecision};
use contextengine::slots::Slot;
use contextengine::{Setup, Threshold};

use super::fixture::{compress, engine, id, load, run, session, strict, told};

/// The decision about a request of so many tokens of entries.
async fn decide(setup: Setup, entries: u32, change: impl FnOnce(&mut Pressure)) -> Result<TurnDecision, SessionError> {
    let engine = engine();
    engine.install(setup);
    let session = session(&engine).await;
    let turn = session.turn();
    let mut pressure = turn.pressure(Trigger::PreTurn);
    pressure.entries = entries;
    change(&mut pressure);
    turn.decide(&pressure).await
}

#[test]
fn above_the_threshold_the_host_decides_and_urgently_if_it_does_not_fit() {
    run(async {
        let a = load(&engine(), 'a', r#"{"should-compress": "soft"}"#).await;
        let half = || {
            let mut setup = compress(&[&a]);
            setup.threshold = Threshold::Percent(50);
            setup
        };
        // The window of 4,000 holds back 1,000; half of it are 2,000.
        let at = |entries| async move { decide(half(), entries, |_| {}).await.unwrap() };
        let asked = at(2_000).await;
        assert_eq!((asked.verdict, asked.by), (Verdict::Compress(Urgency::Soft), Some(id('a'))));
        let soft = at(2_001).await;
        assert_eq!((soft.verdict, soft.by.as_deref()), (Verdict::Compress(Urgency::Soft), None), "{}", soft.reason);
        assert_eq!((soft.used, soft.threshold), (2_001, 2_000));
        assert_eq!(at(3_000).await.verdict, Verdict::Compress(Urgency::Soft));
        assert_eq!(at(3_001).await.verdict, Verdict::Compress(Urgency::Hard));
    });
}

#[test]
fn the_overhead_counts_and_the_providers_own_count_beats_any_estimate() {
    run(async {
        let nobody = || compress(&[]);
        let with_overhead = decide(nobody(), 2_900, |pressure| pressure.overhead = 101).await.unwrap();
        assert_eq!((with_overhead.verdict, with_overhead.used), (Verdict::Compress(Urgency::Hard), 3_001));
        let less = decide(nobody(), 9_000, |pressure| pressure.measured = Some(2_000)).await.unwrap();
        assert_eq!((less.verdict, less.used), (Verdict::Wait, 2_000));
        let more = decide(nobody(), 10, |pressure| pressure.measured = Some(3_001)).await.unwrap();
        assert_eq!(more.verdict, Verdict::Compress(Urgency::Hard));
    });
}

#[test]
fn an_overflow_is_urgent_and_a_wish_of_a_person_is_done() {
    run(async {
        let a = load(&engine(), 'a', "{}").await;
        let by = |trigger| {
            let setup = compress(&[&a]);
            async move { decide(setup, 10, |pressure| pressure.trigger = trigger).await.unwrap() }
        };
        assert_eq!(by(Trigger::Overflow).await.verdict, Verdict::Compress(Urgency::Hard));
        assert_eq!(by(Trigger::Manual).await.verdict, Verdict::Compress(Urgency::Soft));
        assert_eq!(by(Trigger::Idle).await.verdict, Verdict::Wait);
    });
}

#[test]
fn where_the_owner_fails_to_decide_its_successor_does_and_then_the_host() {
    run(async {
        let engine = engine();
        let a = load(&engine, 'a', r#"{"should-compress": "trap"}"#).await;
        let b = load(&engine, 'b', r#"{"should-compress": "hard"}"#).await;
        engine.install(compress(&[&a, &b]));
        let session = session(&engine).await;
        let mut events = engine.events();
        let turn = session.turn();
        let decision = turn.decide(&turn.pressure(Trigger::PreTurn)).await.unwrap();
        assert_eq!((decision.verdict, decision.by), (Verdict::Compress(Urgency::Hard), Some(id('b'))));
        let substituted = told(&mut events).into_iter().find_map(|event| match event {
            EventKind::Substituted { slot, from, to, .. } => Some((slot, from, to)),
            _ => None,
        });
        assert_eq!(substituted, Some((Slot::Compress, id('a'), Some(id('b')))));

        engine.install(compress(&[&a]));
        let alone = session.turn();
        let decision = alone.decide(&alone.pressure(Trigger::PreTurn)).await.unwrap();
        assert_eq!((decision.verdict, decision.by), (Verdict::Wait, None), "nothing forces a compaction");

        engine.install(strict(&[&a, &b]));
        let turn = session.turn();
        let error = turn.decide(&turn.pressure(Trigger::PreTurn)).await.unwrap_err();
        assert!(
            matches!(&error, SessionError::Strict { slot: Slot::Compress, plugin, .. } if *plugin == id('a')),
            "{error}"
        );
    });
}

#[test]
fn an_owner_that_loops_or_answers_too_much_decides_nothing() {
    run(async {
        let a = load(&engine(), 'a', r#"{"should-compress": "loop"}"#).await;
        let b = load(&engine(), 'b', r#"{"should-compress": "oversize"}"#).await;
        let decision = decide(compress(&[&a, &b]), 10, |_| {}).await.unwrap();
        assert_eq!((decision.verdict, decision.by), (Verdict::Wait, None));
    });
}
