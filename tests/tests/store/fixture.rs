//! What the tests of stores share.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use contextengine::hooks::Trigger;
use contextengine::store::{
    Clock, CompactionCommit, ContextItem, Covered, Durability, Head, LogBody, LogRecord, NewRecord, NewSession, Page,
    Records, Seq, SessionKey, SqliteOptions, SqliteStore, Store, StoredEntry,
};
use contextengine::transcript::{Entry, EntryId, EntryKind, Timestamp};

/// A clock that stands still.
#[derive(Debug)]
pub(crate) struct FixedClock(pub(crate) i64);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0)
    }
}

/// A store that syncs nothing: for tests of something else.
pub(crate) async fn quick_store(path: &Path) -> SqliteStore {
    SqliteStore::open(path, SqliteOptions::default().with_durability(Durability::Process)).await.unwrap()
}

pub(crate) async fn session(store: &dyn Store, name: &str) -> SessionKey {
    store.create(NewSession::named(name)).await.unwrap().key
}

pub(crate) fn says(id: &str, parent: Option<&EntryId>, text: &str) -> NewRecord {
    let mut entry = Entry::text(id, EntryKind::User, text);
    entry.parent = parent.cloned();
    NewRecord::entry(&entry, Timestamp(0))
}

/// Appends entries `e<seq>` behind the leaf, each with the text that `text` gives for its number.
pub(crate) async fn fill(store: &dyn Store, session: SessionKey, count: u64, text: impl Fn(u64) -> String) {
    let head = store.head(session).await.unwrap();
    let mut parent = head.leaf;
    let mut records = Vec::new();
    for seq in head.last_seq.0 + 1..=head.last_seq.0 + count {
        let record = says(&format!("e{seq}"), parent.as_ref(), &text(seq));
        parent = Some(record.id.clone());
        records.push(record);
    }
    store.append(session, records).await.unwrap();
}

/// A compaction of the whole branch that `head` describes, with `parts` summaries.
pub(crate) fn compaction(head: &Head, token: u64, parts: u32) -> CompactionCommit {
    let through = head.leaf.clone().unwrap();
    let written = (0..parts).map(|part| {
        let id = format!("summary-{through}-{part}");
        let entry = StoredEntry::from(&Entry::text(&id, EntryKind::Summary, "what was said ".repeat(40)));
        ContextItem::Written { id: EntryId::new(id), entry, reason: None }
    });
    let mut context: Vec<ContextItem> = written.collect();
    context.push(ContextItem::Kept(vec![through.clone()]));
    CompactionCommit {
        owner: "tester".to_owned(),
        owner_version: "1.0.0".to_owned(),
        component_hash: "00".repeat(32),
        passed_over: Vec::new(),
        trigger: Trigger::PreTurn,
        covered: Covered { through, digest: head.digest, entries: head.depth },
        previous: head.compaction.clone(),
        context,
        dropped: Vec::new(),
        tokens_before: 100,
        tokens_after: parts,
        details: None,
        duration_ms: 1,
        model_calls: 0,
        corrections: Vec::new(),
        fencing_token: token,
    }
}

/// All records of a session, or the first damage.
pub(crate) async fn records(store: &dyn Store, session: SessionKey) -> Vec<LogRecord> {
    read_all(store, session).await.intact().unwrap()
}

pub(crate) async fn read_all(store: &dyn Store, session: SessionKey) -> Records {
    store.page(session, Page::After(Seq(0)), u32::MAX).await.unwrap()
}

pub(crate) fn text_of(record: &LogRecord) -> String {
    let LogBody::Entry(entry) = &record.body else { panic!("{record:?}") };
    format!("{:?}", entry.blocks)
}

/// Starts this very program as another process that runs one of its ignored tests.
pub(crate) fn spawn_test(name: &str, variables: &[(&str, String)]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"]);
    command.envs(variables.iter().map(|(key, value)| (key, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

/// A small deterministic generator: splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

pub(crate) fn fixed_clock(at: i64) -> Arc<dyn Clock> {
    Arc::new(FixedClock(at))
}
