//! A session against a model of it, in any order of what can be done to it.

use std::collections::HashMap;
use std::sync::Arc;

use contextengine::Engine;
use contextengine::plugin::{LoadOptions, Plugin};
use contextengine::session::{Session, SessionCompacted, SessionError};
use contextengine::store::{MemoryStore, Store};
use contextengine::transcript::{Entry, EntryId, EntryKind};
use contextengine::view::View;
use contextengine_tests::{cases, component};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::{create, host, ids, open, options, run, seen};

/// What a session should show, kept in the simplest way: the branch as a list, and the views before each compaction.
#[derive(Debug, Clone, Default)]
struct Model {
    /// Every branch that was ever left or is in use, as ids; all entries by their last id.
    branches: HashMap<Option<String>, Vec<String>>,
    branch: Vec<String>,
    appended: u32,
}

#[derive(Debug, Clone)]
enum Step {
    Append(u8),
    /// To an entry of any branch, chosen by this number.
    Switch(usize),
    Compact,
    Undo,
    Reopen,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1u8..6).prop_map(Step::Append),
        2 => any::<usize>().prop_map(Step::Switch),
        2 => Just(Step::Compact),
        1 => Just(Step::Undo),
        1 => Just(Step::Reopen),
    ]
}

impl Model {
    fn append(&mut self, count: u8) -> Vec<Entry> {
        let entries = (0..count).map(|_| {
            self.appended += 1;
            let id = format!("m{}", self.appended);
            let text = format!("{} {}", id, "some words about this and that, ".repeat(30));
            let kind = if self.appended % 2 == 1 { EntryKind::User } else { EntryKind::Assistant };
            self.branch.push(id.clone());
            self.branches.insert(Some(id.clone()), self.branch.clone());
            Entry::text(id, kind, text)
        });
        entries.collect()
    }

    fn switch(&mut self, choice: usize) -> Option<String> {
        let mut ends: Vec<&Option<String>> = self.branches.keys().collect();
        ends.sort();
        let end = ends.get(choice % ends.len().max(1)).and_then(|end| (*end).clone());
        self.branch = self.branches.get(&end).cloned().unwrap_or_default();
        end
    }

    /// Everything of the branch in use is seen, or stands behind a summary that is seen; in order; and nothing else.
    fn check(&self, session: &Session, whole: &View) {
        let mut stands: Vec<String> = Vec::new();
        for entry in whole.entries() {
            originals(entry, &mut stands);
        }
        let mut sorted = stands.clone();
        sorted.sort_by_key(|id| self.branch.iter().position(|known| known == id));
        sorted.dedup();
        assert_eq!(sorted, self.branch, "seen or covered: {stands:?}");
        assert_eq!(session.status().depth, self.branch.len() as u64);
        let seen_ids: Vec<String> = ids(session).into_iter().filter(|id| id.starts_with('m')).collect();
        let order: Vec<usize> = seen_ids.iter().filter_map(|id| self.branch.iter().position(|k| k == id)).collect();
        assert!(order.is_sorted() && order.len() == seen_ids.len(), "{seen_ids:?}");
    }
}

/// The entries of the log behind an entry, at any depth.
fn originals(entry: &Entry, found: &mut Vec<String>) {
    if entry.kind != EntryKind::Summary {
        found.push(entry.id.to_string());
    }
    for replaced in &entry.replaces {
        originals(replaced, found);
    }
}

/// Answers how many compactions were recorded.
async fn walk(engine: &Engine, plugin: &Plugin, store: Arc<dyn Store>, steps: Vec<Step>) -> usize {
    let mut compactions = 0;
    let mut session = create(engine, &store, "a", Vec::new()).await;
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Append(count) => session.append(model.append(count)).await.unwrap(),
            Step::Switch(choice) => {
                let to = model.switch(choice).map(EntryId::new);
                session.switch(to).await.unwrap();
            }
            Step::Compact => {
                let done = session.compact(plugin, &options(), engine.services()).await.unwrap();
                compactions += usize::from(matches!(done, SessionCompacted::Done { .. }));
            }
            Step::Undo => {
                let undone = session.undo().await;
                assert!(matches!(undone, Ok(_) | Err(SessionError::NothingToUndo)), "{undone:?}");
            }
            Step::Reopen => {
                let reopened = open(engine, &store, "a").await;
                assert_eq!(seen(&reopened), seen(&session));
                assert_eq!(reopened.status(), session.status());
                session = reopened;
            }
        }
        let whole = session.whole_view().await.unwrap();
        assert_eq!(whole.entries().iter().map(|e| e.id.to_string()).collect::<Vec<_>>(), ids(&session));
        model.check(&session, &whole);
    }
    assert!(store.check(session.key()).await.unwrap().is_sound());
    compactions
}

#[test]
fn whatever_is_done_to_a_session_everything_said_on_its_branch_is_seen_or_stands_behind_a_summary() {
    // A case takes a few compactions by a real plugin: the nightly number takes hours.
    let cases = cases(40);
    run(async {
        let (engine, _) = host().await;
        let config = r#"{"keep_recent_tokens": 300}"#;
        let plugin = engine.load(&component("regex-anchors"), LoadOptions::with_config(config)).await.unwrap();
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(cases));
        let steps = prop::collection::vec(any_step(), 1..24);
        let mut compactions = 0;
        for case in 0..cases {
            let steps = steps.new_tree(&mut runner).unwrap().current();
            println!("case {case}: {steps:?}");
            compactions += walk(&engine, &plugin, Arc::new(MemoryStore::new()), steps).await;
        }
        assert!(compactions > 10, "only {compactions} compactions were recorded: the test tests too little");
    });
}
