use std::sync::Arc;

use super::{Case, Fixture};
use crate::store::{Head, LogBody, NewSession, Original, Page, Search, SessionKey, StateScope, StoreError};
use crate::transcript::EntryId;

pub(super) const CASES: &[Case] = &[
    Case { name: "a session comes back with all that is known of it", body: |fixture| Box::pin(comes_back(fixture)) },
    Case { name: "a name is taken once", body: |fixture| Box::pin(taken_once(fixture)) },
    Case { name: "sessions are listed by name", body: |fixture| Box::pin(listed(fixture)) },
    Case {
        name: "what is deleted is gone, and its key is never given out again",
        body: |fixture| Box::pin(deleted(fixture)),
    },
    Case { name: "an unknown session is not found, whatever is asked", body: |fixture| Box::pin(unknown(fixture)) },
    Case { name: "sessions do not see each other's records", body: |fixture| Box::pin(apart(fixture)) },
];

async fn comes_back(fixture: Fixture) {
    let bytes: Arc<[u8]> = (0..=255).cycle().take(70_000).collect();
    let original = Original { format: "pi".to_owned(), bytes };
    let new = NewSession::named("日本 'q'")
        .with_original(original.clone())
        .with_title("A \"title\"")
        .with_working_dir("/home/someone");
    let made = fixture.store.create(new).await.unwrap();
    assert_eq!(made.created, fixture.now());
    assert_eq!(made.head, Head::default());
    let found = fixture.store.open("日本 'q'").await.unwrap();
    assert_eq!(found, made);
    assert_eq!((found.format.as_deref(), found.title.as_deref()), (Some("pi"), Some("A \"title\"")));
    assert_eq!(found.working_dir.as_deref(), Some("/home/someone"));
    assert_eq!(fixture.store.original(found.key).await.unwrap(), Some(original));

    let plain = fixture.session("plain").await;
    assert_eq!(fixture.store.original(plain).await.unwrap(), None);
}

async fn taken_once(fixture: Fixture) {
    fixture.session("a").await;
    let error = fixture.store.create(NewSession::named("a")).await.unwrap_err();
    assert_eq!(error, StoreError::Exists { what: "session", name: "a".to_owned() });
    // Names are told apart to the letter.
    fixture.session("A").await;
}

async fn listed(fixture: Fixture) {
    assert_eq!(fixture.store.list().await.unwrap(), []);
    for name in ["b", "c", "a"] {
        fixture.session(name).await;
    }
    let filled = fixture.store.open("c").await.unwrap().key;
    fixture.fill(filled, 3).await;
    let sessions = fixture.store.list().await.unwrap();
    let listed: Vec<_> = sessions.iter().map(|info| (info.name.as_str(), info.head.last_seq.0)).collect();
    assert_eq!(listed, [("a", 0), ("b", 0), ("c", 3)]);
}

async fn deleted(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 3).await;
    fixture.store.set_state("p", StateScope::Session(session), "k", b"v").await.unwrap();
    fixture.store.search(Search::new(session, "entry")).await.unwrap();
    fixture.store.delete(session).await.unwrap();
    assert!(matches!(fixture.store.open("a").await, Err(StoreError::NotFound { .. })));
    assert!(matches!(fixture.store.delete(session).await, Err(StoreError::NotFound { .. })));

    let again = fixture.session("a").await;
    assert_ne!(again, session);
    assert_eq!(fixture.head(again).await, Head::default());
    assert_eq!(fixture.store.state("p", StateScope::Session(again), "k").await.unwrap(), None);
    assert_eq!(fixture.store.search(Search::everywhere("entry")).await.unwrap().hits, []);
}

async fn unknown(fixture: Fixture) {
    let (store, nobody, id) = (&fixture.store, SessionKey(4_711), EntryId::new("e1"));
    let other = fixture.session("a").await;
    let lease = fixture.lease(other).await;
    fixture.fill(other, 1).await;
    let commit = fixture.compaction(other, &lease).await;
    let answers = [
        store.open("nobody").await.map(drop),
        store.delete(nobody).await,
        store.original(nobody).await.map(drop),
        store.head(nobody).await.map(drop),
        store.append(nobody, vec![fixture.says("e1", None, "hello")]).await.map(drop),
        store.append(nobody, Vec::new()).await.map(drop),
        store.page(nobody, Page::Newest, 10).await.map(drop),
        store.branch(nobody, &id, 10).await.map(drop),
        store.record(nobody, &id).await.map(drop),
        store.records(nobody, Vec::new()).await.map(drop),
        store.commit(nobody, id.clone(), fixture.now(), commit).await.map(drop),
        store.acquire(nobody, "tester", super::TTL).await.map(drop),
        store.set_state("p", StateScope::Session(nobody), "k", b"v").await,
        store.state("p", StateScope::Session(nobody), "k").await.map(drop),
        store.search(Search::new(nobody, "hello")).await.map(drop),
        store.check(nobody).await.map(drop),
    ];
    for (index, answer) in answers.into_iter().enumerate() {
        assert!(matches!(answer, Err(StoreError::NotFound { what: "session", .. })), "{index}: {answer:?}");
    }
}

async fn apart(fixture: Fixture) {
    let (a, b) = (fixture.session("a").await, fixture.session("b").await);
    fixture.fill(a, 2).await;
    // The same ids are free in another session.
    fixture.fill(b, 3).await;
    assert_eq!(fixture.head(a).await.last_seq.0, 2);
    let missing = fixture.store.record(a, &EntryId::new("e3")).await;
    assert!(matches!(missing, Err(StoreError::NotFound { what: "record", .. })), "{missing:?}");
    let record = fixture.store.record(b, &EntryId::new("e3")).await.unwrap();
    assert!(matches!(record.body, LogBody::Entry(_)));
}
