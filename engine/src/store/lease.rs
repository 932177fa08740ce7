//! Leases and the clock by which they expire.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{SessionKey, StoreError};
use crate::transcript::Timestamp;

/// The right to compact one session, for a while.
///
/// The token is a fence: it grows with each lease of the session, and a commit names it. One who slept through the
/// end of its lease finds its commit refused, also when nobody else has the lease by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: SessionKey,
    /// The fencing token.
    pub token: u64,
    /// Who holds it, in its own words.
    pub holder: String,
    /// When it expires, by the store's clock.
    pub until: Timestamp,
}

/// What time it is, in milliseconds since 1970. All processes that share a store must agree on it.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The clock of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The lease of one session, as a store keeps it. Read, changed and written in one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeaseState {
    /// Token of the newest lease there ever was; 0 where there was none.
    pub token: u64,
    /// Who holds it and until when.
    pub held: Option<(String, Timestamp)>,
}

impl LeaseState {
    /// Gives the lease out, under the next token.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`] while anybody holds it.
    pub fn acquire(
        &mut self,
        session: SessionKey,
        holder: &str,
        ttl: Duration,
        now: Timestamp,
    ) -> Result<Lease, StoreError> {
        self.must_be_free(now)?;
        self.token = self.token.saturating_add(1);
        let until = later(now, ttl);
        self.held = Some((holder.to_owned(), until));
        Ok(Lease { session, token: self.token, holder: holder.to_owned(), until })
    }

    /// Prolongs the lease, from now.
    ///
    /// # Errors
    ///
    /// [`StoreError::LeaseExpired`] if it is not live any more.
    pub fn renew(&mut self, lease: &Lease, ttl: Duration, now: Timestamp) -> Result<Lease, StoreError> {
        self.must_be_live(lease.token, now)?;
        let until = later(now, ttl);
        self.held = Some((lease.holder.clone(), until));
        Ok(Lease { until, ..lease.clone() })
    }

    /// Takes the lease back, if it is the newest.
    pub fn release(&mut self, lease: &Lease) {
        if lease.token == self.token {
            self.held = None;
        }
    }

    /// Whether nobody holds it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`] while anybody does.
    pub fn must_be_free(&self, now: Timestamp) -> Result<(), StoreError> {
        match &self.held {
            Some((holder, until)) if now < *until => Err(StoreError::Busy { holder: holder.clone(), until: *until }),
            _ => Ok(()),
        }
    }

    /// Whether the lease with this token is live.
    ///
    /// # Errors
    ///
    /// [`StoreError::LeaseExpired`] if it is not.
    pub fn must_be_live(&self, token: u64, now: Timestamp) -> Result<(), StoreError> {
        let reason = match &self.held {
            _ if token != self.token => format!("a newer lease, with token {}, was given out", self.token),
            None => "it was released".to_owned(),
            Some((_, until)) if now >= *until => format!("it ended {} ms ago", now.0.saturating_sub(until.0)),
            Some(_) => return Ok(()),
        };
        Err(StoreError::LeaseExpired { token, reason })
    }
}

fn later(now: Timestamp, ttl: Duration) -> Timestamp {
    Timestamp(now.0.saturating_add(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)))
}
