//! Whatever is asked, in whatever order, the store in SQLite answers as the one in memory does.

use std::sync::Arc;
use std::time::Duration;

use contextengine::store::conformance::ManualClock;
use contextengine::store::{
    CompactionCommit, Durability, Label, Leaf, LogBody, MemoryStore, NewRecord, Page, Seq, SessionKey, SqliteOptions,
    SqliteStore, Store, Undo,
};
use contextengine::transcript::{EntryId, Timestamp};
use proptest::prelude::*;

use crate::digest::any_entry;
use crate::fixture::compaction;

#[derive(Debug, Clone)]
enum Step {
    /// Entries with these numbers, after an entry, or after the leaf.
    Append {
        entries: Vec<contextengine::transcript::Entry>,
        after: Option<u8>,
        reuse: bool,
    },
    Leaf {
        to: Option<u8>,
        compaction: Option<u8>,
    },
    Label {
        of: u8,
    },
    Freeze,
    Commit {
        parts: u8,
    },
    /// Of a record, or of the compaction in force.
    Undo {
        compaction: Option<u8>,
    },
    Acquire {
        seconds: u8,
    },
    Renew,
    Release,
    Wait {
        seconds: u8,
    },
    Reopen,
}

fn any_step() -> impl Strategy<Value = Step> {
    let few = 0..12_u8;
    prop_oneof![
        6 => (prop::collection::vec(any_entry(), 0..4), prop::option::weighted(0.15, few.clone()), prop::bool::weighted(0.05))
            .prop_map(|(entries, after, reuse)| Step::Append { entries, after, reuse }),
        2 => (prop::option::weighted(0.9, few.clone()), prop::option::weighted(0.4, few.clone()))
            .prop_map(|(to, compaction)| Step::Leaf { to, compaction }),
        1 => few.clone().prop_map(|of| Step::Label { of }),
        3 => Just(Step::Freeze),
        4 => (1..3_u8).prop_map(|parts| Step::Commit { parts }),
        1 => prop::option::weighted(0.3, few).prop_map(|compaction| Step::Undo { compaction }),
        3 => (1..60_u8).prop_map(|seconds| Step::Acquire { seconds }),
        1 => Just(Step::Renew),
        1 => Just(Step::Release),
        1 => (1..30_u8).prop_map(|seconds| Step::Wait { seconds }),
        1 => Just(Step::Reopen),
    ]
}

/// Ids are numbered as records are, so that steps can name what may be there.
fn id(number: u8) -> EntryId {
    EntryId::new(format!("r{number}"))
}

/// What one step asks of a store; the same of both.
struct Walk {
    key: SessionKey,
    made: u32,
    frozen: Option<CompactionCommit>,
    lease: Option<contextengine::store::Lease>,
}

impl Walk {
    fn next_id(&mut self) -> EntryId {
        self.made += 1;
        EntryId::new(format!("r{}", self.made))
    }

    async fn record(&mut self, store: &dyn Store, body: LogBody) -> String {
        let record = NewRecord::new(self.next_id().as_str(), Timestamp(1), body);
        format!("{:?}", store.append(self.key, vec![record]).await)
    }

    async fn step(&mut self, store: &dyn Store, step: &Step) -> String {
        match step {
            Step::Append { entries, after, reuse } => {
                let leaf = store.head(self.key).await.unwrap().leaf;
                let mut parent = after.map(id).or(leaf);
                let mut batch = Vec::new();
                for entry in entries {
                    let mut entry = entry.clone();
                    entry.id = if *reuse { id(1) } else { self.next_id() };
                    entry.parent = parent.replace(entry.id.clone());
                    batch.push(NewRecord::entry(&entry, Timestamp(1)));
                }
                format!("{:?}", store.append(self.key, batch).await)
            }
            Step::Leaf { to, compaction } => {
                let leaf = Leaf { to: to.map(id), compaction: compaction.map(id) };
                self.record(store, LogBody::Leaf(leaf)).await
            }
            Step::Label { of } => self.record(store, LogBody::Label(Label { of: id(*of), label: None })).await,
            Step::Undo { compaction } => {
                let in_force = store.head(self.key).await.unwrap().compaction;
                let compaction = compaction.map(id).or(in_force).unwrap_or_else(|| id(0));
                self.record(store, LogBody::Undo(Undo { compaction })).await
            }
            Step::Freeze => {
                let head = store.head(self.key).await.unwrap();
                self.frozen = head.leaf.is_some().then(|| compaction(&head, 0, 1));
                format!("{head:?}")
            }
            Step::Commit { parts } => {
                let Some(mut commit) = self.frozen.clone() else { return String::new() };
                commit.fencing_token = self.lease.as_ref().map_or(0, |lease| lease.token);
                commit.tokens_after = u32::from(*parts);
                let id = self.next_id();
                format!("{:?}", store.commit(self.key, id, Timestamp(1), commit).await)
            }
            Step::Acquire { seconds } => {
                let lease = store.acquire(self.key, "walker", Duration::from_secs(u64::from(*seconds))).await;
                let told = format!("{lease:?}");
                self.lease = lease.ok().or(self.lease.take());
                told
            }
            Step::Renew => match &self.lease {
                Some(lease) => format!("{:?}", store.renew(lease, Duration::from_secs(20)).await),
                None => String::new(),
            },
            Step::Release => match &self.lease {
                Some(lease) => format!("{:?}", store.release(lease).await),
                None => String::new(),
            },
            Step::Wait { .. } | Step::Reopen => String::new(),
        }
    }
}

async fn walk(store: &dyn Store) -> Walk {
    let key = crate::fixture::session(store, "s").await;
    Walk { key, made: 0, frozen: None, lease: None }
}

async fn both_agree(steps: &[Step]) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let clock = Arc::new(ManualClock::default());
    let options = SqliteOptions::default().with_clock(clock.clone()).with_durability(Durability::Process);
    let memory = MemoryStore::with_clock(clock.clone());
    let mut sqlite = SqliteStore::open(&path, options.clone()).await.unwrap();
    let (mut one, mut two) = (walk(&memory).await, walk(&sqlite).await);
    for step in steps {
        match step {
            Step::Wait { seconds } => clock.advance(Duration::from_secs(u64::from(*seconds))),
            Step::Reopen => sqlite = SqliteStore::open(&path, options.clone()).await.unwrap(),
            _ => {}
        }
        prop_assert_eq!(one.step(&memory, step).await, two.step(&sqlite, step).await, "at {:?}", step);
    }
    let (first, second) = (memory.open("s").await.unwrap(), sqlite.open("s").await.unwrap());
    prop_assert_eq!(&first, &second);
    let all = Page::After(Seq(0));
    let (ours, theirs) =
        (memory.page(first.key, all, u32::MAX).await.unwrap(), sqlite.page(first.key, all, u32::MAX).await.unwrap());
    prop_assert_eq!(&ours, &theirs);
    prop_assert_eq!(ours.records.len() as u64, first.head.last_seq.0);
    for store in [&memory as &dyn Store, &sqlite] {
        let report = store.check(first.key).await.unwrap();
        prop_assert!(report.is_sound(), "{:?}", report);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases(150)))]

    #[test]
    fn both_stores_agree_whatever_is_asked(steps in prop::collection::vec(any_step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(both_agree(&steps))?;
    }
}
