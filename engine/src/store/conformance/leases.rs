use std::time::Duration;

use super::{Case, Fixture, TTL};
use crate::store::StoreError;
use crate::transcript::Timestamp;

pub(super) const CASES: &[Case] = &[
    Case { name: "a lease is held by one, and the others are told by whom", body: |fixture| Box::pin(by_one(fixture)) },
    Case {
        name: "a lease ends by the clock, and its token is not given out again",
        body: |fixture| Box::pin(ends(fixture)),
    },
    Case { name: "a renewed lease lasts longer", body: |fixture| Box::pin(renewed(fixture)) },
    Case { name: "a lease that was given back is free at once", body: |fixture| Box::pin(given_back(fixture)) },
    Case { name: "a session under a lease is not deleted", body: |fixture| Box::pin(not_deleted(fixture)) },
];

async fn by_one(fixture: Fixture) {
    let (a, b) = (fixture.session("a").await, fixture.session("b").await);
    let lease = fixture.store.acquire(a, "one", TTL).await.unwrap();
    assert_eq!((lease.session, lease.holder.as_str()), (a, "one"));
    assert_eq!(lease.until, Timestamp(fixture.now().0 + 60_000));
    for holder in ["two", "one"] {
        let error = fixture.store.acquire(a, holder, TTL).await.unwrap_err();
        assert_eq!(error, StoreError::Busy { holder: "one".to_owned(), until: lease.until });
    }
    fixture.store.acquire(b, "two", TTL).await.unwrap();
    // Appending needs no lease.
    fixture.fill(a, 1).await;
}

async fn ends(fixture: Fixture) {
    let session = fixture.session("a").await;
    let first = fixture.store.acquire(session, "one", TTL).await.unwrap();
    fixture.clock.advance(TTL - Duration::from_millis(1));
    assert!(fixture.store.acquire(session, "two", TTL).await.is_err());
    fixture.clock.advance(Duration::from_millis(1));
    let second = fixture.store.acquire(session, "two", TTL).await.unwrap();
    assert!(second.token > first.token);
    let error = fixture.store.renew(&first, TTL).await.unwrap_err();
    assert!(matches!(error, StoreError::LeaseExpired { .. }), "{error:?}");
    // One who comes late gives back nothing of the other's.
    fixture.store.release(&first).await.unwrap();
    assert!(matches!(fixture.store.acquire(session, "three", TTL).await, Err(StoreError::Busy { .. })));
}

async fn renewed(fixture: Fixture) {
    let session = fixture.session("a").await;
    let lease = fixture.store.acquire(session, "one", TTL).await.unwrap();
    fixture.clock.advance(TTL / 2);
    let longer = fixture.store.renew(&lease, TTL).await.unwrap();
    assert_eq!((longer.token, longer.until), (lease.token, Timestamp(lease.until.0 + 30_000)));
    fixture.clock.advance(TTL / 2);
    assert!(matches!(fixture.store.acquire(session, "two", TTL).await, Err(StoreError::Busy { .. })));
    fixture.clock.advance(TTL / 2);
    let error = fixture.store.renew(&longer, TTL).await.unwrap_err();
    assert!(matches!(error, StoreError::LeaseExpired { .. }), "expired, though nobody else has it: {error:?}");
}

async fn given_back(fixture: Fixture) {
    let session = fixture.session("a").await;
    let first = fixture.lease(session).await;
    fixture.store.release(&first).await.unwrap();
    fixture.store.release(&first).await.unwrap();
    let second = fixture.lease(session).await;
    assert!(second.token > first.token);
}

async fn not_deleted(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.lease(session).await;
    assert!(matches!(fixture.store.delete(session).await, Err(StoreError::Busy { .. })));
    fixture.clock.advance(TTL);
    fixture.store.delete(session).await.unwrap();
}
