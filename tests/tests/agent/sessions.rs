//! Whole sessions under all strategies at once.

use std::sync::Arc;

use contextengine::hooks::Urgency;
use contextengine::store::{MemoryStore, SqliteOptions, SqliteStore, Store};

use crate::fixture::{
    FIRST_FILE, Folder, PINNED, RULE, engine, everything, exact_engine, first_turn, round, run, sessions,
};
use crate::play::Agent;
use crate::{check, script};

#[test]
fn every_real_session_is_played_to_its_end_within_a_window_that_it_does_not_fit() {
    run(async {
        for (name, entries) in sessions() {
            let folder = Folder::new();
            folder.write("model.jsonl", &script::obedient());
            let engine = exact_engine();
            engine.install(folder.setup(&engine, &everything(16_000)).await.unwrap());
            let store = SqliteStore::open(folder.path("log.sqlite"), SqliteOptions::default()).await.unwrap();
            let store: Arc<dyn Store> = Arc::new(store);
            let mut agent = Agent::new(&engine, store).await;
            agent.play(&entries).await;
            check::log(&agent).await;
            println!(
                "{name}: {} entries, {} requests, {} compactions by {:?}, {} unchanged, {} failed, {} results shortened, \
                 {} times pruned, at most {} tokens",
                entries.len(),
                agent.tokens.len(),
                agent.commits.len(),
                agent.commits.iter().map(|commit| commit.owner.as_str()).collect::<Vec<_>>(),
                agent.unchanged.len(),
                agent.failures.len(),
                agent.shortened,
                agent.pruned,
                agent.tokens.iter().max().unwrap_or(&0),
            );
            assert!(agent.failures.is_empty() && agent.substituted.is_empty(), "{name}: {:?}", agent.substituted);
            let budget = engine.setup().window.budget();
            assert!(agent.tokens.iter().all(|&tokens| tokens <= budget), "{name}: {:?}", agent.tokens);
        }
    });
}

#[test]
fn after_twenty_compactions_the_first_turn_still_counts_and_the_context_is_bounded() {
    run(async {
        let folder = Folder::new();
        folder.write("model.jsonl", &script::obedient());
        let engine = engine();
        engine.install(folder.setup(&engine, &everything(12_000)).await.unwrap());
        let mut agent = Agent::new(&engine, Arc::new(MemoryStore::new())).await;
        agent.play(&first_turn()).await;
        for at in 0.. {
            agent.play(&round(at, 30, 30_000)).await;
            let said = check::everything_said(&agent);
            for told in [RULE, PINNED, FIRST_FILE] {
                assert!(said.contains(told), "round {at}, {} compactions: {told}", agent.commits.len());
            }
            if agent.commits.len() >= 20 {
                break;
            }
            assert!(at < 60, "{} compactions only", agent.commits.len());
        }
        check::log(&agent).await;
        let budget = engine.setup().window.budget();
        assert!(agent.tokens.iter().all(|&tokens| tokens <= budget), "{:?}", agent.tokens);
        assert!(agent.commits.iter().all(|commit| commit.owner == "llm-rolling-summary"), "{:?}", agent.substituted);
        assert!(agent.failures.is_empty(), "{:?}", agent.failures);
        println!("{} requests, {} pruned, {} shortened", agent.tokens.len(), agent.pruned, agent.shortened);
    });
}

#[test]
fn strategies_that_take_turns_lose_no_rule_and_no_file() {
    run(async {
        // Every strategy follows every other one, and itself.
        const TURNS: &str = "lrlfllrrfrfflfr";
        let folder = Folder::new();
        folder.write("model.jsonl", &script::obedient());
        let engine = engine();
        let owned = |letter: char| {
            let name = match letter {
                'l' => "llm-rolling-summary",
                'r' => "regex-anchors",
                _ => "fresh-window",
            };
            let all = r#"["llm-rolling-summary", "regex-anchors", "fresh-window"]"#;
            (name, everything(24_000).replace(all, &format!("[\"{name}\"]")))
        };
        engine.install(folder.setup(&engine, &owned('l').1).await.unwrap());
        let mut agent = Agent::new(&engine, Arc::new(MemoryStore::new())).await;
        agent.play(&first_turn()).await;
        for (at, letter) in TURNS.char_indices() {
            let (name, config) = owned(letter);
            engine.install(folder.setup(&engine, &config).await.unwrap());
            agent.end_turn().await;
            for entry in round(at, 40, 48_000) {
                agent.append(entry).await;
            }
            agent.compact(Urgency::Soft).await.unwrap();
            assert_eq!(agent.commits.len(), at + 1, "{:?} {:?}", agent.unchanged, agent.failures);
            assert_eq!(agent.commits[at].owner, name);
            agent.request().await.unwrap();
            let said = check::everything_said(&agent);
            for told in [RULE, PINNED, FIRST_FILE] {
                assert!(said.contains(told), "{at}, after {}: {told}", &TURNS[..=at]);
            }
            // The strategy without a summary leaves it to the log to say it, and only passes it on.
            assert!(letter == 'f' || agent.sent.join("\n").contains(RULE), "after {}", &TURNS[..=at]);
        }
        check::log(&agent).await;
    });
}
