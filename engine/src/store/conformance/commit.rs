use super::{Case, Fixture};
use crate::store::{CompactionCommit, Head, Leaf, LogBody, Seq, SessionKey, StoreError, Undo};
use crate::transcript::{Digest, EntryId};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a committed compaction is in force and comes back whole",
        body: |fixture| Box::pin(in_force(fixture)),
    },
    Case {
        name: "what is appended while a compaction runs is kept behind it",
        body: |fixture| Box::pin(behind(fixture)),
    },
    Case {
        name: "of two compactions of one view the second is superseded",
        body: |fixture| Box::pin(superseded(fixture)),
    },
    Case { name: "a compaction builds on the one in force", body: |fixture| Box::pin(builds_on(fixture)) },
    Case { name: "a compaction of another branch is stale", body: |fixture| Box::pin(other_branch(fixture)) },
    Case { name: "a compaction of what never was is stale", body: |fixture| Box::pin(never_was(fixture)) },
    Case { name: "a commit without a live lease is refused", body: |fixture| Box::pin(without_lease(fixture)) },
    Case {
        name: "a compaction covers at least what the one before it did",
        body: |fixture| Box::pin(covers_less(fixture)),
    },
    Case { name: "an undo brings the compaction before back", body: |fixture| Box::pin(undo(fixture)) },
    Case { name: "a switch names the compaction in force there", body: |fixture| Box::pin(switch(fixture)) },
    Case { name: "a compaction cannot be appended past its checks", body: |fixture| Box::pin(appended(fixture)) },
];

fn leaf(to: &str, compaction: Option<&str>) -> LogBody {
    LogBody::Leaf(Leaf { to: Some(EntryId::new(to)), compaction: compaction.map(EntryId::new) })
}

async fn refused(fixture: &Fixture, session: SessionKey, commit: CompactionCommit) -> StoreError {
    let before = fixture.head(session).await;
    let error = fixture.commit(session, "refused", commit).await.unwrap_err();
    assert_eq!(fixture.head(session).await, before);
    assert!(fixture.store.record(session, &EntryId::new("refused")).await.is_err());
    error
}

async fn in_force(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 5).await;
    let before = fixture.head(session).await;
    let lease = fixture.lease(session).await;
    let commit = fixture.compaction(session, &lease).await;
    let record = fixture.store.commit(session, EntryId::new("c1"), fixture.now(), commit.clone()).await.unwrap();
    assert_eq!(record.body, LogBody::Compaction(Box::new(commit)));
    assert_eq!((record.seq, record.digest, &record.parent), (Seq(6), before.digest, &before.leaf));
    let expected = Head { last_seq: Seq(6), compaction: Some(EntryId::new("c1")), ..before };
    assert_eq!(fixture.head(session).await, expected);
    assert_eq!(fixture.store.open("a").await.unwrap().head, expected);
    assert_eq!(fixture.store.record(session, &record.id).await.unwrap(), record);
}

async fn behind(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 3).await;
    let lease = fixture.lease(session).await;
    let commit = fixture.compaction(session, &lease).await;
    fixture.fill(session, 2).await;
    fixture.commit(session, "c1", commit).await.unwrap();
    let head = fixture.head(session).await;
    assert_eq!((head.leaf, head.depth), (Some(EntryId::new("e5")), 5));
    fixture.store.append(session, vec![fixture.says("x", Some("e5"), "goes on")]).await.unwrap();
    assert_eq!(fixture.head(session).await.compaction, Some(EntryId::new("c1")));
}

async fn superseded(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 3).await;
    let lease = fixture.lease(session).await;
    let commit = fixture.compaction(session, &lease).await;
    fixture.commit(session, "c1", commit.clone()).await.unwrap();
    let error = refused(&fixture, session, commit).await;
    assert_eq!(error, StoreError::Superseded { expected: None, found: Some(EntryId::new("c1")) });
}

async fn builds_on(fixture: Fixture) {
    let session = fixture.session("a").await;
    let lease = fixture.lease(session).await;
    for number in 1..=3 {
        fixture.fill(session, 2).await;
        let commit = fixture.compaction(session, &lease).await;
        fixture.commit(session, &format!("c{number}"), commit).await.unwrap();
    }
    let record = fixture.store.record(session, &EntryId::new("c3")).await.unwrap();
    let LogBody::Compaction(commit) = record.body else { panic!("{record:?}") };
    assert_eq!((commit.previous, commit.covered.entries), (Some(EntryId::new("c2")), 6));
    let taken = CompactionCommit { previous: Some(EntryId::new("c3")), ..*commit };
    let error = fixture.commit(session, "c1", taken).await.unwrap_err();
    assert_eq!(error, StoreError::Exists { what: "record", name: "c1".to_owned() });
}

async fn other_branch(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 3).await;
    let lease = fixture.lease(session).await;
    let commit = fixture.compaction(session, &lease).await;
    fixture.store.append(session, vec![fixture.other("l1", leaf("e2", None))]).await.unwrap();
    assert!(matches!(refused(&fixture, session, commit.clone()).await, StoreError::Stale { .. }));
    let mut parent = "e2";
    for id in ["b3", "b4", "b5"] {
        fixture.store.append(session, vec![fixture.says(id, Some(parent), "another way")]).await.unwrap();
        parent = id;
    }
    assert!(matches!(refused(&fixture, session, commit.clone()).await, StoreError::Stale { .. }));
    // Back again, all that it covers is there, with more behind it.
    let back = vec![fixture.other("l2", leaf("e3", None)), fixture.says("e4", Some("e3"), "goes on")];
    fixture.store.append(session, back).await.unwrap();
    fixture.commit(session, "c1", commit).await.unwrap();
}

async fn never_was(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 3).await;
    let lease = fixture.lease(session).await;
    let commit = fixture.compaction(session, &lease).await;
    let mut wrong = vec![commit.clone(); 5];
    wrong[0].covered.through = EntryId::new("nobody");
    wrong[1].covered.through = EntryId::new("e2");
    wrong[2].covered.digest = Digest::ROOT;
    wrong[3].covered.entries = 2;
    wrong[4].covered.entries = u64::MAX;
    for commit in wrong {
        let error = refused(&fixture, session, commit).await;
        assert!(matches!(error, StoreError::Stale { .. }), "{error:?}");
    }
    fixture.store.append(session, vec![fixture.other("leaf", leaf("e3", None))]).await.unwrap();
    let mut no_entry = commit.clone();
    no_entry.covered.through = EntryId::new("leaf");
    assert!(matches!(refused(&fixture, session, no_entry).await, StoreError::Stale { .. }));
    fixture.commit(session, "c1", commit).await.unwrap();
}

async fn without_lease(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 3).await;
    let lease = fixture.lease(session).await;
    let commit = fixture.compaction(session, &lease).await;
    let with_token = |fencing_token| CompactionCommit { fencing_token, ..commit.clone() };
    for token in [0, lease.token + 1, u64::MAX] {
        let error = refused(&fixture, session, with_token(token)).await;
        assert!(matches!(error, StoreError::LeaseExpired { token: named, .. } if named == token), "{error:?}");
    }
    fixture.clock.advance(super::TTL);
    assert!(matches!(refused(&fixture, session, commit.clone()).await, StoreError::LeaseExpired { .. }));
    let newer = fixture.lease(session).await;
    assert!(matches!(refused(&fixture, session, commit.clone()).await, StoreError::LeaseExpired { .. }));
    fixture.store.release(&newer).await.unwrap();
    assert!(matches!(refused(&fixture, session, with_token(newer.token)).await, StoreError::LeaseExpired { .. }));
    let last = fixture.lease(session).await;
    fixture.commit(session, "c1", with_token(last.token)).await.unwrap();
}

async fn covers_less(fixture: Fixture) {
    let session = fixture.session("a").await;
    let lease = fixture.lease(session).await;
    fixture.fill(session, 2).await;
    let early = fixture.compaction(session, &lease).await;
    fixture.fill(session, 2).await;
    let whole = fixture.compaction(session, &lease).await;
    fixture.commit(session, "c1", whole.clone()).await.unwrap();
    let less = CompactionCommit { previous: Some(EntryId::new("c1")), ..early };
    assert!(matches!(refused(&fixture, session, less).await, StoreError::Invalid { .. }));
    let same = CompactionCommit { previous: Some(EntryId::new("c1")), ..whole };
    fixture.commit(session, "c2", same).await.unwrap();
}

async fn undo(fixture: Fixture) {
    let session = fixture.session("a").await;
    let lease = fixture.lease(session).await;
    for id in ["c1", "c2"] {
        fixture.fill(session, 2).await;
        let commit = fixture.compaction(session, &lease).await;
        fixture.commit(session, id, commit).await.unwrap();
    }
    let running = fixture.compaction(session, &lease).await;
    let undo = |id: &str, of: &str| fixture.other(id, LogBody::Undo(Undo { compaction: EntryId::new(of) }));
    let error = fixture.store.append(session, vec![undo("u", "c1")]).await.unwrap_err();
    assert_eq!(error, StoreError::Superseded { expected: Some(EntryId::new("c1")), found: Some(EntryId::new("c2")) });
    let before = fixture.head(session).await;
    fixture.store.append(session, vec![undo("u2", "c2")]).await.unwrap();
    let after = fixture.head(session).await;
    assert_eq!((&after.leaf, after.digest, after.depth), (&before.leaf, before.digest, before.depth));
    assert_eq!(after.compaction, Some(EntryId::new("c1")));
    // What was built on the compaction that is gone is refused; its record stays.
    assert!(matches!(refused(&fixture, session, running).await, StoreError::Superseded { .. }));
    assert!(fixture.store.record(session, &EntryId::new("c2")).await.is_ok());
    fixture.store.append(session, vec![undo("u1", "c1")]).await.unwrap();
    assert_eq!(fixture.head(session).await.compaction, None);
}

async fn switch(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 3).await;
    let lease = fixture.lease(session).await;
    let commit = fixture.compaction(session, &lease).await;
    fixture.commit(session, "c1", commit).await.unwrap();
    let switch = async |id: &str, body| fixture.store.append(session, vec![fixture.other(id, body)]).await;

    switch("l1", leaf("e2", None)).await.unwrap();
    assert_eq!(fixture.head(session).await.compaction, None);
    for compaction in ["c1", "e1", "nobody"] {
        let error = switch("x", leaf("e2", Some(compaction))).await.unwrap_err();
        assert!(matches!(error, StoreError::Invalid { .. }), "{error:?}");
        assert_eq!(fixture.head(session).await.leaf, Some(EntryId::new("e2")));
    }
    let back = vec![fixture.other("l2", leaf("e3", Some("c1"))), fixture.says("e4", Some("e3"), "goes on")];
    fixture.store.append(session, back).await.unwrap();
    switch("l3", leaf("e4", Some("c1"))).await.unwrap();
    assert_eq!(fixture.head(session).await.compaction, Some(EntryId::new("c1")));
}

async fn appended(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 3).await;
    let lease = fixture.lease(session).await;
    let commit = fixture.compaction(session, &lease).await;
    let record = fixture.other("c1", LogBody::Compaction(Box::new(commit)));
    let error = fixture.store.append(session, vec![record]).await.unwrap_err();
    assert!(matches!(error, StoreError::Invalid { .. }), "{error:?}");
    assert_eq!(fixture.head(session).await.last_seq, Seq(3));
}
