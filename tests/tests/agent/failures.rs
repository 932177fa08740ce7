//! A model that fails: the next owner of `compress` stands in, and the record says why.

use std::sync::Arc;

use contextengine::hooks::{Trigger, Urgency};
use contextengine::session::{SessionError, TurnCompactOptions};
use contextengine::slots::Slot;
use contextengine::store::MemoryStore;
use serde_json::Value;

use crate::fixture::{FIRST_FILE, Folder, PINNED, RULE, engine, everything, first_turn, round, run};
use crate::play::Agent;
use crate::{check, script};

/// An agent with a first turn and much to compact, whose model plays these answers.
async fn agent(folder: &Folder, answers: &[Value], config: &str) -> Agent {
    folder.write("model.jsonl", &script::playing(answers));
    let engine = engine();
    engine.install(folder.setup(&engine, config).await.unwrap());
    let mut agent = Agent::new(&engine, Arc::new(MemoryStore::new())).await;
    for entry in first_turn().into_iter().chain(round(0, 30, 60_000)) {
        agent.append(entry).await;
    }
    agent
}

#[test]
fn whatever_the_model_does_wrong_the_next_owner_compacts_and_the_record_says_why() {
    run(async {
        for (name, answer) in script::wrong() {
            let folder = Folder::new();
            let mut agent = agent(&folder, &[answer], &everything(12_000)).await;
            agent.compact(Urgency::Hard).await.unwrap();
            agent.request().await.unwrap();
            let [commit] = &agent.commits[..] else { panic!("{name}: {:?}", agent.failures) };
            assert_eq!(commit.owner, "regex-anchors", "{name}");
            let [passed] = &commit.passed_over[..] else { panic!("{name}: {:?}", commit.passed_over) };
            assert_eq!(passed.owner, "llm-rolling-summary", "{name}");
            println!("{name}: {}", passed.reason);
            let [(from, to, reason)] = &agent.substituted[..] else { panic!("{name}: {:?}", agent.substituted) };
            assert_eq!((from.as_str(), to.as_deref()), ("llm-rolling-summary", Some("regex-anchors")));
            assert_eq!(*reason, passed.reason, "{name}: the event and the record say the same");
            check::log(&agent).await;
        }
    });
}

#[test]
fn a_model_that_fails_at_random_loses_neither_rules_nor_pinned_text_nor_files() {
    run(async {
        let wrong: Vec<Value> = script::wrong().into_iter().map(|(_, answer)| answer).collect();
        for seed in 0..3_usize {
            // Half of the answers are good; which ones is another thing for each seed.
            let answers: Vec<Value> = (0..16 + seed)
                .map(|at| match (at * 7 + seed * 5 + at * at * 3) % 4 {
                    0 | 1 => script::good(),
                    _ => wrong[(at * 5 + seed) % wrong.len()].clone(),
                })
                .collect();
            let folder = Folder::new();
            let mut agent = agent(&folder, &answers, &everything(12_000)).await;
            for at in 1..12 {
                agent.play(&round(at, 30, 30_000)).await;
                let said = check::everything_said(&agent);
                for told in [RULE, PINNED, FIRST_FILE] {
                    let owners: Vec<&str> = agent.commits.iter().map(|commit| commit.owner.as_str()).collect();
                    assert!(said.contains(told), "seed {seed}, round {at}, {owners:?}: {told}");
                }
            }
            assert!(agent.failures.is_empty(), "{:?}", agent.failures);
            let by = |owner: &str| agent.commits.iter().filter(|commit| commit.owner == owner).count();
            let (llm, regex) = (by("llm-rolling-summary"), by("regex-anchors"));
            assert!(llm > 0 && regex > 0 && llm + regex == agent.commits.len(), "{llm} and {regex}");
            let budget = agent.engine.setup().window.budget();
            assert!(agent.tokens.iter().all(|&tokens| tokens <= budget), "{:?}", agent.tokens);
            check::log(&agent).await;
        }
    });
}

#[test]
fn where_everything_has_to_be_as_configured_a_failing_model_is_an_error_and_nothing_changes() {
    run(async {
        let folder = Folder::new();
        let strict = everything(12_000).replace("[slots]", "[slots]\nstrict = true");
        let agent = agent(&folder, &[script::wrong().swap_remove(0).1], &strict).await;
        let before = agent.session.view();
        let options = TurnCompactOptions::new(Trigger::Manual).with_urgency(Urgency::Hard);
        let error = agent.session.turn().compact(&options).await.unwrap_err();
        let SessionError::Strict { slot, plugin, reason } = &error else { panic!("{error}") };
        assert_eq!((*slot, plugin.as_str()), (Slot::Compress, "llm-rolling-summary"));
        assert!(reason.contains("the server is on fire"), "{reason}");
        check::same_view(&agent.session.view(), &before);
        check::log(&agent).await;
    });
}

#[test]
fn a_strategy_that_lacks_its_grant_is_not_loaded_and_the_error_has_the_line_to_add() {
    run(async {
        let folder = Folder::new();
        folder.write("model.jsonl", &script::obedient());
        let config = everything(12_000).replacen("grant = [\"model\"]", "", 1);
        let error = folder.setup(&engine(), &config).await.unwrap_err().to_string();
        assert!(error.contains("llm-rolling-summary") && error.contains("grant = [\"model\"]"), "{error}");
        assert!(error.contains("contextengine.toml"), "{error}");
    });
}
