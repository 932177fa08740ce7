//! A store of somebody else's: all that one needs is public.

use std::collections::HashMap;
use std::time::Duration;

use contextengine::store::recall::{self, Query};
use contextengine::store::rules::{self, Log, Node};
use contextengine::store::{
    CompactionCommit, Head, Hit, Lease, LeaseState, LogBody, LogRecord, Page, Records, Seq, SessionInfo, SessionKey,
    StoreError,
};
use contextengine::transcript::{EntryId, EntryKind, Timestamp};

use crate::fixture::{compaction, says};

/// The records as rows of text, as a database would keep them.
#[derive(Default)]
struct Rows {
    head: Head,
    lease: LeaseState,
    rows: Vec<(EntryId, Node, String)>,
    by_id: HashMap<EntryId, usize>,
}

impl Log for Rows {
    fn node(&self, id: &EntryId) -> Result<Option<Node>, StoreError> {
        Ok(self.by_id.get(id).map(|&at| self.rows[at].1.clone()))
    }

    fn compaction(&self, id: &EntryId) -> Result<CompactionCommit, StoreError> {
        let row = self.by_id.get(id).map(|&at| &self.rows[at]).ok_or_else(|| StoreError::no_record(id))?;
        match LogBody::decode(&row.2) {
            Ok(LogBody::Compaction(commit)) => Ok(*commit),
            _ => Err(StoreError::no_record(id)),
        }
    }
}

impl Rows {
    fn write(&mut self, record: &LogRecord) {
        self.by_id.insert(record.id.clone(), self.rows.len());
        self.rows.push((record.id.clone(), Node::from(record), record.body.encode().unwrap()));
    }

    fn read(&self, seq: Seq) -> LogRecord {
        let (id, node, body) = self.rows[usize::try_from(seq.0 - 1).unwrap()].clone();
        let body = LogBody::decode(&body).unwrap();
        LogRecord { seq, id, parent: node.parent, digest: node.digest, depth: node.depth, at: Timestamp(0), body }
    }
}

#[test]
fn a_store_of_somebody_elses_can_be_written_with_what_is_public() {
    let mut store = Rows::default();
    let first = says("e1", None, "缓存 by path");
    let second = says("e2", Some(&first.id), "more");
    let (records, appended) = rules::append(store.head.clone(), vec![first, second], &store).unwrap();
    records.iter().for_each(|record| store.write(record));
    store.head = appended.head;
    let lease: Lease =
        store.lease.acquire(SessionKey(1), "me", Duration::from_secs(1), Timestamp(0)).expect("nobody has it");
    let commit = compaction(&store.head, lease.token, 1);
    let named = (EntryId::new("c1"), Timestamp(0));
    let (record, head) =
        rules::commit(store.head.clone(), &store.lease, Timestamp(1), named, commit, &store).expect("it is in order");
    store.write(&record);
    store.head = head;
    assert_eq!(store.read(Seq(3)), record);

    let (numbers, next) = rules::page_bounds(Page::Newest, 2, store.head.last_seq);
    let page = Records { records: numbers.into_iter().map(|seq| Ok(store.read(seq))).collect(), next };
    assert_eq!(page.next, Some(Page::Before(Seq(2))));
    let parent = store.node(&EntryId::new("e1")).unwrap();
    assert_eq!(rules::check_record(&store.read(Seq(2)), parent.as_ref(), None), None);
    assert!(rules::check_record(&store.read(Seq(2)), None, None).is_some());

    let found = store.read(Seq(1));
    let LogBody::Entry(entry) = &found.body else { panic!("{found:?}") };
    let text = recall::searchable(entry);
    assert_eq!(recall::index_text(&text), "缓存 存 by path");
    let snippet = recall::snippet(&Query::parse("缓存"), &text);
    let hit = Hit { session: SessionKey(1), seq: found.seq, id: found.id, kind: EntryKind::User, snippet, score: 1.0 };
    assert_eq!(hit.snippet, "缓存 by path");
    let info = SessionInfo {
        key: SessionKey(1),
        name: "s".to_owned(),
        created: Timestamp(0),
        format: None,
        working_dir: None,
        title: None,
        head: store.head,
    };
    assert_eq!(info.head.compaction, Some(EntryId::new("c1")));
}
