use std::sync::Arc;

use super::{Case, Fixture, ids};
use crate::store::{
    BranchSummary, Label, Leaf, LogBody, LogRecord, NewRecord, Page, Search, Seq, SessionKey, StoreError, StoredEntry,
    Undo,
};
use crate::transcript::{
    Block, Compaction, Digest, Entry, EntryId, EntryKind, Image, ImageSource, Opaque, Reasoning, Role, SourcePart,
    Timestamp, ToolCall, ToolResult,
};

pub(super) const CASES: &[Case] = &[
    Case { name: "an entry comes back with all that it holds", body: |fixture| Box::pin(comes_back(fixture)) },
    Case { name: "behind a shortened result stands its whole text", body: |fixture| Box::pin(shortened(fixture)) },
    Case { name: "records are numbered and chained", body: |fixture| Box::pin(chained(fixture)) },
    Case { name: "an entry that does not follow the leaf is stale", body: |fixture| Box::pin(stale(fixture)) },
    Case { name: "a batch is written whole or not at all", body: |fixture| Box::pin(whole(fixture)) },
    Case { name: "an empty batch changes nothing", body: |fixture| Box::pin(empty(fixture)) },
    Case { name: "only entries and leaves move the branch", body: |fixture| Box::pin(moves(fixture)) },
    Case { name: "a branch grows from any entry", body: |fixture| Box::pin(branches(fixture)) },
    Case { name: "a record that names what is not there is refused", body: |fixture| Box::pin(dangling(fixture)) },
    Case { name: "pages run forward and backward over all records", body: |fixture| Box::pin(pages(fixture)) },
    Case { name: "many records are had by their ids at once", body: |fixture| Box::pin(by_ids(fixture)) },
    Case { name: "of two that append at once one is stale", body: |fixture| Box::pin(at_once(fixture)) },
    Case { name: "a sound session passes its check", body: |fixture| Box::pin(sound(fixture)) },
];

fn leaf(to: Option<&str>) -> LogBody {
    LogBody::Leaf(Leaf { to: to.map(EntryId::new), compaction: None })
}

fn full_entry() -> Entry {
    let blocks = vec![
        Block::Text("with \"quotes\", \\, \u{0}, \u{1f600} and\nlines".to_owned()),
        Block::Reasoning(Reasoning { text: "hm".to_owned(), signed: true }),
        Block::ToolCall(ToolCall {
            id: "c".to_owned(),
            name: "bash".to_owned(),
            arguments: "{\"a\": 1.50}".to_owned(),
        }),
        Block::ToolResult(ToolResult {
            call_id: "c".to_owned(),
            name: "bash".to_owned(),
            text: "out".to_owned(),
            failed: true,
        }),
        Block::Image(Image {
            media_type: "image/png".to_owned(),
            source: ImageSource::Base64(Arc::from("QUJD".repeat(50_000))),
        }),
        Block::Image(Image { media_type: String::new(), source: ImageSource::Url("https://example.org/a".to_owned()) }),
        Block::Image(Image { media_type: String::new(), source: ImageSource::Unknown }),
        Block::Opaque(Opaque { type_name: "audio".to_owned(), json: "{\"b\" : 2, \"a\":[]}".to_owned() }),
    ];
    let mut entry = Entry::new("full", EntryKind::Note, blocks);
    entry.role = Role::System;
    entry.at = Some(Timestamp(-5));
    entry.pinned = true;
    entry.source = vec![SourcePart { record: 3, blocks: Some(1..4) }, SourcePart { record: 9, blocks: None }];
    entry.compaction = Some(Box::new(Compaction {
        plugin: "p".to_owned(),
        details: Some("{}".to_owned()),
        tokens_before: 10,
        tokens_after: 4,
    }));
    entry
}

async fn comes_back(fixture: Fixture) {
    let session = fixture.session("a").await;
    let first = Arc::new(Entry::text("first", EntryKind::User, ""));
    let mut entry = full_entry();
    entry.parent = Some(first.id.clone());
    entry.replaces = vec![Arc::clone(&first)];
    let records = vec![NewRecord::entry(&first, Timestamp(7)), NewRecord::entry(&entry, Timestamp(8))];
    fixture.store.append(session, records).await.unwrap();

    let record = fixture.store.record(session, &entry.id).await.unwrap();
    assert_eq!((record.seq, record.at, record.depth), (Seq(2), Timestamp(8), 2));
    let LogBody::Entry(stored) = &record.body else { panic!("{record:?}") };
    assert_eq!(stored.replaces, [EntryId::new("first")], "named, not nested");
    let resolve = |id: &EntryId| (*id == first.id).then(|| Arc::clone(&first));
    assert_eq!(record.entry(resolve), Some(entry));
    let page = fixture.store.page(session, Page::After(Seq(1)), 5).await.unwrap();
    assert_eq!(page.records, [Ok(record)]);
}

async fn shortened(fixture: Fixture) {
    let session = fixture.session("a").await;
    let result = ToolResult {
        call_id: "c".to_owned(),
        name: "read".to_owned(),
        text: "all of it, with a needle".to_owned(),
        failed: false,
    };
    let whole = Entry::new("r", EntryKind::ToolResult, vec![Block::ToolResult(result)]);
    let mut entry = whole.clone();
    entry.replace_text("some of it");
    entry.replaces = vec![Arc::new(whole)];
    fixture.store.append(session, vec![NewRecord::entry(&entry, Timestamp(7))]).await.unwrap();
    let record = fixture.store.record(session, &entry.id).await.unwrap();
    assert_eq!(record.entry(|_| None), Some(entry), "the whole text stands behind it");
    let found = fixture.store.search(Search::new(session, "needle")).await.unwrap();
    assert_eq!(found.hits.len(), 1, "it is found by what the model does not see of it");
}

async fn chained(fixture: Fixture) {
    let session = fixture.session("a").await;
    let mut digest = Digest::ROOT;
    for (number, text) in ["one", "two", "two"].into_iter().enumerate() {
        let id = format!("e{number}");
        let parent = number.checked_sub(1).map(|before| format!("e{before}"));
        let record = fixture.says(&id, parent.as_deref(), text);
        let appended = fixture.store.append(session, vec![record]).await.unwrap();
        let before = digest;
        digest = digest.then(&Entry::text("any id", EntryKind::User, text));
        assert_ne!(before, digest);
        let number = number as u64 + 1;
        assert_eq!((appended.first, appended.head.last_seq), (Seq(number), Seq(number)));
        assert_eq!((appended.head.depth, appended.head.digest), (number, digest));
        assert_eq!(appended.head.leaf, Some(EntryId::new(&id)));
        assert_eq!(appended.head, fixture.head(session).await);
        let record = fixture.store.record(session, &EntryId::new(&id)).await.unwrap();
        assert_eq!((record.digest, record.depth), (digest, number));
    }
}

async fn stale(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 2).await;
    let before = fixture.head(session).await;
    for parent in [None, Some("e1"), Some("nobody")] {
        let error = fixture.store.append(session, vec![fixture.says("x", parent, "x")]).await.unwrap_err();
        let StoreError::Stale { leaf, digest, .. } = &error else { panic!("{error:?}") };
        assert_eq!((leaf, digest), (&before.leaf, &before.digest));
    }
    assert_eq!(fixture.head(session).await, before);
}

async fn whole(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 2).await;
    let before = fixture.head(session).await;
    let batches = [
        vec![fixture.says("x", Some("e2"), "x"), fixture.says("e1", Some("x"), "its id is taken")],
        vec![fixture.says("x", Some("e2"), "x"), fixture.says("x", Some("x"), "taken in this very batch")],
        vec![fixture.says("x", Some("e2"), "x"), fixture.says("y", Some("e2"), "does not follow")],
        vec![fixture.other("l", leaf(Some("e1"))), fixture.says("x", Some("e2"), "the leaf is e1 by now")],
    ];
    for batch in batches {
        let error = fixture.store.append(session, batch).await.unwrap_err();
        assert!(matches!(error, StoreError::Exists { .. } | StoreError::Stale { .. }), "{error:?}");
        assert_eq!(fixture.head(session).await, before);
        assert!(fixture.store.record(session, &EntryId::new("x")).await.is_err());
    }
    assert_eq!(fixture.store.page(session, Page::Newest, 10).await.unwrap().records.len(), 2);
}

async fn empty(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 2).await;
    let before = fixture.head(session).await;
    let appended = fixture.store.append(session, Vec::new()).await.unwrap();
    assert_eq!((appended.first, &appended.head), (Seq(3), &before));
}

/// One of each record that is no entry and may be appended.
fn others(fixture: &Fixture) -> Vec<NewRecord> {
    let label = Label { of: EntryId::new("e1"), label: Some("start".to_owned()) };
    let unlabel = Label { of: EntryId::new("e1"), label: None };
    let summary = BranchSummary {
        left: EntryId::new("e2"),
        ancestor: Some(EntryId::new("e1")),
        entry: EntryId::new("e2"),
        owner: "p".to_owned(),
        owner_version: "1".to_owned(),
        component_hash: "00".to_owned(),
        details: None,
    };
    let settings = serde_json::json!({"model": "m", "nested": {"b": 1, "a": [null, 1.5]}});
    vec![
        fixture.other("label", LogBody::Label(label)),
        fixture.other("unlabel", LogBody::Label(unlabel)),
        fixture.other("summary", LogBody::BranchSummary(summary)),
        fixture.other("settings", LogBody::Settings(settings)),
    ]
}

async fn moves(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 2).await;
    let before = fixture.head(session).await;
    for record in others(&fixture) {
        let id = record.id.clone();
        let body = record.body.clone();
        fixture.store.append(session, vec![record]).await.unwrap();
        let after = fixture.head(session).await;
        assert_eq!((&after.leaf, after.digest, after.depth), (&before.leaf, before.digest, before.depth));
        let found = fixture.store.record(session, &id).await.unwrap();
        assert_eq!((found.parent, found.digest, found.depth), (before.leaf.clone(), before.digest, 2));
        assert_eq!(found.body, body);
    }
    fixture.store.append(session, vec![fixture.other("leaf", leaf(Some("e1")))]).await.unwrap();
    let after = fixture.head(session).await;
    assert_eq!((after.leaf, after.depth), (Some(EntryId::new("e1")), 1));
    assert_eq!(after.digest, fixture.store.record(session, &EntryId::new("e1")).await.unwrap().digest);
}

async fn branch_ids(fixture: &Fixture, session: SessionKey, leaf: &str, limit: u32) -> Vec<String> {
    let branch = fixture.store.branch(session, &EntryId::new(leaf), limit).await.unwrap().intact().unwrap();
    ids(&branch).into_iter().map(str::to_owned).collect()
}

async fn branches(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 3).await;
    let trunk = fixture.head(session).await;
    let batch = vec![
        fixture.other("l1", leaf(Some("e1"))),
        fixture.says("b2", Some("e1"), "entry number 2"),
        fixture.says("b3", Some("b2"), "another way"),
        fixture.other("l2", leaf(None)),
        fixture.says("r1", None, "a second root"),
    ];
    fixture.store.append(session, batch).await.unwrap();
    assert_eq!(branch_ids(&fixture, session, "b3", 10).await, ["b3", "b2", "e1"]);
    assert_eq!(branch_ids(&fixture, session, "b3", 2).await, ["b3", "b2"]);
    assert_eq!(branch_ids(&fixture, session, "r1", 10).await, ["r1"]);
    let record = async |id: &str| fixture.store.record(session, &EntryId::new(id)).await.unwrap();
    assert_eq!(record("b2").await.digest, record("e2").await.digest, "the model sees the same");
    assert_ne!(record("b3").await.digest, record("e3").await.digest);
    assert_eq!((record("b3").await.depth, record("r1").await.depth), (3, 1));

    fixture.store.append(session, vec![fixture.other("back", leaf(Some("e3")))]).await.unwrap();
    let back = fixture.head(session).await;
    assert_eq!((back.leaf, back.digest, back.depth), (trunk.leaf, trunk.digest, trunk.depth));
    let missing = fixture.store.branch(session, &EntryId::new("nobody"), 1).await;
    assert!(matches!(missing, Err(StoreError::NotFound { what: "record", .. })), "{missing:?}");
}

async fn dangling(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 1).await;
    let label = |of: &str| LogBody::Label(Label { of: EntryId::new(of), label: None });
    fixture.store.append(session, vec![fixture.other("label", label("e1"))]).await.unwrap();
    let before = fixture.head(session).await;
    let compaction = Leaf { to: Some(EntryId::new("e1")), compaction: Some(EntryId::new("label")) };
    let bodies =
        [leaf(Some("nobody")), leaf(Some("label")), label("nobody"), label("label"), LogBody::Leaf(compaction)];
    for body in bodies {
        let error = fixture.store.append(session, vec![fixture.other("x", body)]).await.unwrap_err();
        assert!(matches!(error, StoreError::Invalid { .. }), "{error:?}");
    }
    let deep = (0..500).fold(serde_json::Value::Null, |inner, _| serde_json::Value::Array(vec![inner]));
    let error = fixture.store.append(session, vec![fixture.other("x", LogBody::Settings(deep))]).await.unwrap_err();
    assert!(matches!(error, StoreError::Invalid { .. }), "what cannot be read back is not taken: {error:?}");
    let undo = LogBody::Undo(Undo { compaction: EntryId::new("nobody") });
    let error = fixture.store.append(session, vec![fixture.other("x", undo)]).await.unwrap_err();
    assert!(matches!(error, StoreError::Superseded { found: None, .. }), "{error:?}");
    assert_eq!(fixture.head(session).await, before);
}

async fn pages(fixture: Fixture) {
    let session = fixture.session("a").await;
    let page = async |page, limit| fixture.store.page(session, page, limit).await.unwrap();
    assert_eq!(page(Page::Newest, 3).await.records, []);
    fixture.fill(session, 7).await;
    for limit in [1, 2, 3, 7, 50] {
        for (start, forward) in [(Page::After(Seq(0)), true), (Page::Newest, false)] {
            let (mut seen, mut next): (Vec<u64>, _) = (Vec::new(), Some(start));
            while let Some(at) = next {
                let part = page(at, limit).await;
                next = part.next;
                assert!(!part.records.is_empty() && part.records.len() <= limit as usize);
                seen.extend(part.intact().unwrap().iter().map(|record| record.seq.0));
            }
            let mut expected: Vec<u64> = (1..=7).collect();
            if !forward {
                expected.reverse();
            }
            assert_eq!(seen, expected, "limit {limit}, forward {forward}");
        }
    }
    for at in [Page::After(Seq(7)), Page::After(Seq(u64::MAX)), Page::Before(Seq(1)), Page::Before(Seq(0))] {
        let part = page(at, 5).await;
        assert_eq!((part.records, part.next), (Vec::new(), None), "{at:?}");
    }
    assert_eq!(page(Page::Before(Seq(u64::MAX)), 2).await.intact().unwrap()[0].seq, Seq(7));
    assert_eq!(page(Page::After(Seq(0)), 0).await.records, []);
    assert_eq!(page(Page::Newest, u32::MAX).await.records.len(), 7);
}

async fn by_ids(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 3).await;
    let asked = ["e3", "nobody", "e1", "e3"].map(EntryId::new).to_vec();
    let records = fixture.store.records(session, asked).await.unwrap().records;
    let found: Vec<_> = records.iter().map(|record| record.as_ref().map(|record| record.seq.0)).collect();
    assert_eq!(found, [Ok(3), Err(&StoreError::no_record(&EntryId::new("nobody"))), Ok(1), Ok(3)]);
    assert_eq!(fixture.store.records(session, Vec::new()).await.unwrap().records, []);
}

async fn at_once(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 1).await;
    let one = fixture.store.append(session, vec![fixture.says("x", Some("e1"), "x")]);
    let two = fixture.store.append(session, vec![fixture.says("y", Some("e1"), "y")]);
    let (one, two) = tokio::join!(one, two);
    assert_eq!(usize::from(one.is_ok()) + usize::from(two.is_ok()), 1, "{one:?} {two:?}");
    assert!(matches!(one.and(two), Err(StoreError::Stale { .. })));
    assert_eq!(fixture.head(session).await.last_seq, Seq(2));
}

async fn sound(fixture: Fixture) {
    let session = fixture.session("a").await;
    assert!(fixture.store.check(session).await.unwrap().is_sound());
    fixture.fill(session, 3).await;
    fixture.store.append(session, others(&fixture)).await.unwrap();
    let batch = vec![fixture.other("l1", leaf(Some("e1"))), fixture.says("b2", Some("e1"), "another way")];
    fixture.store.append(session, batch).await.unwrap();
    let lease = fixture.lease(session).await;
    let commit = fixture.compaction(session, &lease).await;
    fixture.commit(session, "c1", commit).await.unwrap();
    let last = vec![fixture.other("root", leaf(None)), fixture.says("r", None, "from the start")];
    fixture.store.append(session, last).await.unwrap();
    let report = fixture.store.check(session).await.unwrap();
    assert_eq!((report.records, report.damage), (12, Vec::new()));
    // Every record, of whatever kind, comes back by its id as on its page.
    let records: Vec<LogRecord> = fixture.store.page(session, Page::Newest, 20).await.unwrap().intact().unwrap();
    for record in records {
        assert_eq!(fixture.store.record(session, &record.id).await.unwrap(), record);
        if let LogBody::Entry(entry) = &record.body {
            let again = record.entry(|_| None).unwrap();
            assert_eq!(StoredEntry::from(&again), *entry);
        }
    }
}
