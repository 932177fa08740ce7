//! The lease of a session while it is being compacted: renewed as long as somebody works under it, given back whatever
//! happens.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::{Session, SessionError};
use crate::store::{Lease, Store, StoreError};

/// How long a lease lasts that is not renewed. A process that died holds the session up for so long.
const TTL: Duration = Duration::from_secs(60);

/// How often it is renewed: it survives one renewal that failed.
const RENEWAL: Duration = Duration::from_secs(20);

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
