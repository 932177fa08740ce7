//! Going to another branch and back, starting anew, and taking compactions back, in the middle of a session.

use std::sync::Arc;

use contextengine::hooks::Urgency;
use contextengine::store::{SqliteOptions, SqliteStore, Store};
use contextengine::transcript::EntryId;

use crate::fixture::{FIRST_FILE, Folder, PINNED, RULE, engine, everything, first_turn, round, run};
use crate::play::Agent;
use crate::{check, script};

async fn agent(folder: &Folder) -> Agent {
    folder.write("model.jsonl", &script::obedient());
    let engine = engine();
    engine.install(folder.setup(&engine, &everything(12_000)).await.unwrap());
    let store = SqliteStore::open(folder.path("log.sqlite"), SqliteOptions::default()).await.unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let mut agent = Agent::new(&engine, store).await;
    agent.play(&first_turn()).await;
    agent
}

#[test]
fn a_branch_is_left_and_gone_back_to_with_compactions_on_both() {
    run(async {
        let folder = Folder::new();
        let mut agent = agent(&folder).await;
        agent.play(&round(0, 30, 30_000)).await;
        let (fork, at_fork) = (agent.branch.last().unwrap().id.clone(), agent.branch.clone());
        agent.play(&round(1, 60, 60_000)).await;
        let compactions = agent.commits.len();
        assert!(compactions > 0, "the branch was compacted");
        let (there, on_it) = (agent.branch.last().unwrap().id.clone(), agent.branch.clone());
        let left = agent.leave(&fork, at_fork).await.expect("something was done on the branch");
        check::log(&agent).await;
        agent.play(&round(2, 60, 60_000)).await;
        assert!(agent.commits.len() > compactions, "the other branch was compacted, too");
        check::log(&agent).await;
        agent.leave(&there, on_it).await.expect("something was done on the other one");
        assert!(agent.branch.iter().all(|entry| entry.id != left), "what was said of the branch is on the other one");
        agent.play(&round(3, 60, 60_000)).await;
        check::log(&agent).await;
        let said = check::everything_said(&agent);
        for told in [RULE, PINNED, FIRST_FILE] {
            assert!(said.contains(told), "{told}");
        }
        assert!(agent.failures.is_empty() && agent.substituted.is_empty(), "{:?}", agent.substituted);
    });
}

#[test]
fn a_session_that_is_opened_anew_at_any_time_goes_on_as_if_nothing_was() {
    run(async {
        let folder = Folder::new();
        let mut agent = agent(&folder).await;
        for at in 0..6 {
            agent.play(&round(at, 20, 24_000)).await;
            let before = agent.session.view();
            agent.restart().await;
            check::same_view(&agent.session.view(), &before);
            check::log(&agent).await;
        }
        assert!(agent.commits.len() > 1, "it was compacted");
        assert!(check::everything_said(&agent).contains(RULE));
    });
}

#[test]
fn compactions_that_are_taken_back_leave_the_view_as_it_was_before_them() {
    run(async {
        let folder = Folder::new();
        let mut agent = agent(&folder).await;
        for entry in round(0, 40, 60_000) {
            agent.append(entry).await;
        }
        let mut before = Vec::new();
        for at in 1..4 {
            before.push(agent.session.view());
            agent.compact(Urgency::Soft).await.unwrap();
            assert_eq!(agent.commits.len(), at, "{:?}", agent.unchanged);
            if at < 3 {
                for entry in round(at, 20, 30_000) {
                    agent.append(entry).await;
                }
            }
        }
        // What was appended behind a compaction stays behind what it stood for.
        agent.session.undo().await.unwrap();
        check::same_view(&agent.session.view(), &before[2]);
        while agent.session.status().compaction.is_some() {
            agent.session.undo().await.unwrap();
        }
        let whole: Vec<EntryId> = agent.session.view().entries().iter().map(|entry| entry.id.clone()).collect();
        assert_eq!(whole, agent.branch.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>());
        check::log(&agent).await;
    });
}
