//! The lease of a session while it is being compacted: renewed as long as somebody works under it, given back whatever
//! happens.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::{Session, SessionError};
use crate::store::{Lease, Store, StoreError};

/// How long a lease lasts that is not renewed. A process that died holds the session up for so long.
const TTL: Duration = if cfg!(test) { Duration::from_millis(600) } else { Duration::from_secs(60) };

/// How often it is renewed: it survives one renewal that failed.
const RENEWAL: Duration = if cfg!(test) { Duration::from_millis(200) } else { Duration::from_secs(20) };

/// A lease that is held.
pub(super) struct Held {
    store: Arc<dyn Store>,
    lease: Lease,
    /// Given back already.
    released: bool,
}

impl Held {
    /// Takes the lease of a session for a plugin.
    pub(super) async fn acquire(session: &Session, plugin: &str) -> Result<Self, SessionError> {
        let store = Arc::clone(&session.shared.store);
        let holder = format!("{plugin} in process {}", std::process::id());
        let lease = store.acquire(session.shared.key, &holder, TTL).await?;
        Ok(Self { store, lease, released: false })
    }

    /// Its fencing token.
    pub(super) fn token(&self) -> u64 {
        self.lease.token
    }

    /// Keeps the lease alive while something is done under it.
    ///
    /// # Errors
    ///
    /// What that failed with, or that the lease was lost: then nothing that is done under it could be committed.
    pub(super) async fn keep<R>(&self, work: impl Future<Output = Result<R, SessionError>>) -> Result<R, SessionError> {
        tokio::select! {
            biased;
            done = work => done,
            lost = self.renew() => Err(lost.into()),
        }
    }

    /// Renews the lease again and again, until that is no longer possible.
    async fn renew(&self) -> StoreError {
        loop {
            tokio::time::sleep(RENEWAL).await;
            match self.store.renew(&self.lease, TTL).await {
                Ok(_) => {}
                Err(lost @ StoreError::LeaseExpired { .. }) => return lost,
                // The store may be back by the next time; if not, the lease expires.
                Err(error) => tracing::warn!(%error, "the lease of the session was not renewed"),
            }
        }
    }

    /// Gives it back.
    pub(super) async fn release(mut self) {
        self.released = true;
        release(&*self.store, &self.lease).await;
    }
}

impl Drop for Held {
    /// The caller stopped waiting: others need not wait for the lease to expire.
    fn drop(&mut self) {
        if self.released {
            return;
        }
        let (store, lease) = (Arc::clone(&self.store), self.lease.clone());
        if let Ok(tokio) = tokio::runtime::Handle::try_current() {
            tokio.spawn(async move { release(&*store, &lease).await });
        }
    }
}

async fn release(store: &dyn Store, lease: &Lease) {
    // A lease that cannot be given back expires.
    if let Err(error) = store.release(lease).await {
        tracing::warn!(%error, "the lease of the session was not released; it expires by itself");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::engine::Engine;
    use crate::store::{MemoryStore, NewSession};
    use crate::tokens::testing::Bytes;
    use crate::view::ViewOptions;

    fn run<F: Future>(test: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test)
    }

    async fn session() -> Session {
        let engine = Engine::builder().counter(Bytes).build().unwrap();
        let store = Arc::new(MemoryStore::new());
        Session::create(engine, store, NewSession::named("a"), ViewOptions::default()).await.unwrap()
    }

    async fn is_busy(session: &Session) -> bool {
        matches!(Held::acquire(session, "other").await.map(drop), Err(SessionError::Busy(_)))
    }

    #[test]
    fn a_lease_is_renewed_as_long_as_somebody_works_under_it_and_then_given_back() {
        run(async {
            let session = session().await;
            let held = Held::acquire(&session, "first").await.unwrap();
            let busy = held.keep(async {
                // Longer than a lease lasts.
                tokio::time::sleep(TTL * 3).await;
                Ok(is_busy(&session).await)
            });
            assert!(busy.await.unwrap());
            held.release().await;
            assert!(!is_busy(&session).await);
        });
    }

    #[test]
    fn work_ends_when_its_lease_is_lost_as_it_could_not_be_committed() {
        run(async {
            let session = session().await;
            let held = Held::acquire(&session, "first").await.unwrap();
            session.shared.store.release(&held.lease).await.unwrap();
            let lost = held.keep(std::future::pending::<Result<(), SessionError>>()).await.unwrap_err();
            assert!(matches!(lost, SessionError::Stale(StoreError::LeaseExpired { .. })), "{lost}");
        });
    }

    #[test]
    fn a_lease_whose_holder_is_dropped_is_given_back_without_waiting_for_its_end() {
        run(async {
            let session = session().await;
            let held = Held::acquire(&session, "first").await.unwrap();
            assert!(is_busy(&session).await);
            drop(held);
            tokio::task::yield_now().await;
            assert!(!is_busy(&session).await);
        });
    }
}
