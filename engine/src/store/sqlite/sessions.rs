//! Sessions, their heads and leases, and what plugins keep.

use std::sync::Arc;

use rusqlite::{Row, params};
use sha2::{Digest as _, Sha256};

use super::db::{Db, Failure, int, natural};
use crate::store::lease::LeaseState;
use crate::store::{Head, NewSession, Original, Seq, SessionInfo, SessionKey, StateLimits, StateScope, StoreError};
use crate::transcript::{Digest, EntryId, Timestamp};

/// Highest number of a record within a session; the session's key stands above it in `record.row`.
pub(super) const SEQ_BITS: u32 = 40;

pub(super) fn row_of(session: SessionKey, seq: Seq) -> i64 {
    int(session.0 << SEQ_BITS | seq.0)
}

/// All rows that a session can have.
pub(super) fn rows_of(session: SessionKey) -> (i64, i64) {
    (row_of(session, Seq(0)), row_of(session, Seq((1 << SEQ_BITS) - 1)))
}

pub(super) fn split_row(row: i64) -> (SessionKey, Seq) {
    let row = u64::try_from(row).unwrap_or_default();
    (SessionKey(row >> SEQ_BITS), Seq(row & ((1 << SEQ_BITS) - 1)))
}

const COLUMNS: &str = "key, last_seq, leaf, digest, depth, compaction, name, created, format, working_dir, title";

fn head(row: &Row<'_>) -> rusqlite::Result<Head> {
    Ok(Head {
        last_seq: Seq(natural(row, 1)?),
        leaf: row.get::<_, Option<String>>(2)?.map(EntryId::new),
        digest: Digest(row.get(3)?),
        depth: natural(row, 4)?,
        compaction: row.get::<_, Option<String>>(5)?.map(EntryId::new),
    })
}

fn info(row: &Row<'_>) -> rusqlite::Result<SessionInfo> {
    Ok(SessionInfo {
        key: SessionKey(natural(row, 0)?),
        head: head(row)?,
        name: row.get(6)?,
        created: Timestamp(row.get(7)?),
        format: row.get(8)?,
        working_dir: row.get(9)?,
        title: row.get(10)?,
    })
}

impl Db<'_> {
    pub(super) fn create(&self, new: NewSession, created: Timestamp) -> Result<SessionInfo, Failure> {
        if self.row("SELECT 1 FROM session WHERE name = ?1", [&new.name], |_| Ok(()))?.is_some() {
            return Err(StoreError::Exists { what: "session", name: new.name }.into());
        }
        let digest = Digest::ROOT.0;
        self.execute(
            "INSERT INTO session (name, created, format, working_dir, title, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![new.name, created.0, new.format, new.working_dir, new.title, digest],
        )?;
        let key = self.conn.last_insert_rowid();
        if key >= 1 << (63 - SEQ_BITS) {
            return Err(StoreError::Full { detail: format!("it has had {key} sessions") }.into());
        }
        if let Some(original) = &new.original {
            let sum = sum_of(&original.bytes);
            self.execute(
                "INSERT INTO original (session, format, sum, bytes) VALUES (?1, ?2, ?3, ?4)",
                params![key, original.format, sum, &*original.bytes],
            )?;
        }
        self.open(&new.name)
    }

    pub(super) fn open(&self, name: &str) -> Result<SessionInfo, Failure> {
        let sql = format!("SELECT {COLUMNS} FROM session WHERE name = ?1");
        self.row(&sql, [name], info)?.ok_or_else(|| StoreError::no_session(name).into())
    }

    pub(super) fn list(&self) -> Result<Vec<SessionInfo>, Failure> {
        Ok(self.rows(&format!("SELECT {COLUMNS} FROM session ORDER BY name"), [], info)?)
    }

    pub(super) fn delete(&self, session: SessionKey, now: Timestamp) -> Result<(), Failure> {
        self.lease(session)?.must_be_free(now)?;
        let (first, last) = rows_of(session);
        self.execute("DELETE FROM recall WHERE rowid BETWEEN ?1 AND ?2", [first, last])?;
        self.execute("DELETE FROM record WHERE row BETWEEN ?1 AND ?2", [first, last])?;
        for table in ["original", "state"] {
            self.execute(&format!("DELETE FROM {table} WHERE session = ?1"), [int(session.0)])?;
        }
        self.execute("DELETE FROM session WHERE key = ?1", [int(session.0)])?;
        Ok(())
    }

    pub(super) fn original(&self, session: SessionKey) -> Result<Option<Original>, Failure> {
        self.head(session)?;
        let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, Vec<u8>>(2)?));
        let sql = "SELECT format, sum, bytes FROM original WHERE session = ?1";
        let Some((format, sum, bytes)) = self.row(sql, [int(session.0)], read)? else { return Ok(None) };
        if sum != sum_of(&bytes) {
            return Err(StoreError::Corrupt {
                what: "the file that the session was read from".to_owned(),
                place: format!("session {session} of {}", self.place),
                advice: "the records are not touched by it; restore it from a copy of the store".to_owned(),
            }
            .into());
        }
        Ok(Some(Original { format, bytes: Arc::from(bytes) }))
    }

    pub(super) fn head(&self, session: SessionKey) -> Result<Head, Failure> {
        let sql = format!("SELECT {COLUMNS} FROM session WHERE key = ?1");
        self.row(&sql, [int(session.0)], head)?.ok_or_else(|| StoreError::no_session(&session).into())
    }

    pub(super) fn set_head(&self, session: SessionKey, head: &Head) -> Result<(), Failure> {
        self.execute(
            "UPDATE session SET last_seq = ?2, leaf = ?3, digest = ?4, depth = ?5, compaction = ?6 WHERE key = ?1",
            params![
                int(session.0),
                int(head.last_seq.0),
                head.leaf.as_ref().map(EntryId::as_str),
                head.digest.0,
                int(head.depth),
                head.compaction.as_ref().map(EntryId::as_str),
            ],
        )?;
        Ok(())
    }

    pub(super) fn lease(&self, session: SessionKey) -> Result<LeaseState, Failure> {
        let read = |row: &Row<'_>| {
            let (holder, until) = (row.get::<_, Option<String>>(1)?, row.get::<_, Option<i64>>(2)?);
            Ok(LeaseState { token: natural(row, 0)?, held: holder.zip(until.map(Timestamp)) })
        };
        let sql = "SELECT lease_token, lease_holder, lease_until FROM session WHERE key = ?1";
        self.row(sql, [int(session.0)], read)?.ok_or_else(|| StoreError::no_session(&session).into())
    }

    pub(super) fn set_lease(&self, session: SessionKey, lease: &LeaseState) -> Result<(), Failure> {
        let holder = lease.held.as_ref().map(|(holder, _)| holder.as_str());
        let until = lease.held.as_ref().map(|(_, until)| until.0);
        self.execute(
            "UPDATE session SET lease_token = ?2, lease_holder = ?3, lease_until = ?4 WHERE key = ?1",
            params![int(session.0), int(lease.token), holder, until],
        )?;
        Ok(())
    }

    /// The number under which a scope stands in `state.session`; no session has 0.
    pub(super) fn shelf(&self, scope: StateScope) -> Result<i64, Failure> {
        match scope {
            StateScope::Shared => Ok(0),
            StateScope::Session(key) => self.head(key).map(|_| int(key.0)),
        }
    }

    pub(super) fn state(&self, plugin: &str, shelf: i64, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        let sql = "SELECT value FROM state WHERE plugin = ?1 AND session = ?2 AND key = ?3";
        Ok(self.row(sql, params![plugin, shelf, key], |row| row.get(0))?)
    }

    pub(super) fn set_state(
        &self,
        plugin: &str,
        shelf: i64,
        (key, value): (&str, &[u8]),
        limits: &StateLimits,
    ) -> Result<(), Failure> {
        limits.check_pair(key, value)?;
        let others = "SELECT coalesce(sum(octet_length(key) + octet_length(value)), 0) FROM state
            WHERE plugin = ?1 AND session = ?2 AND key <> ?3";
        let others = self.row(others, params![plugin, shelf, key], |row| natural(row, 0))?.unwrap_or_default();
        limits.check_total(plugin, others + (key.len() + value.len()) as u64)?;
        self.execute(
            "INSERT INTO state (plugin, session, key, value) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (plugin, session, key) DO UPDATE SET value = excluded.value",
            params![plugin, shelf, key, value],
        )?;
        Ok(())
    }

    pub(super) fn delete_state(&self, plugin: &str, shelf: i64, key: &str) -> Result<(), Failure> {
        let sql = "DELETE FROM state WHERE plugin = ?1 AND session = ?2 AND key = ?3";
        self.execute(sql, params![plugin, shelf, key])?;
        Ok(())
    }

    pub(super) fn state_keys(&self, plugin: &str, shelf: i64, prefix: &str) -> Result<Vec<String>, Failure> {
        let sql = "SELECT key FROM state WHERE plugin = ?1 AND session = ?2 AND key >= ?3 ORDER BY key";
        let keys = self.rows(sql, params![plugin, shelf, prefix], |row| row.get::<_, String>(0))?;
        Ok(keys.into_iter().take_while(|key| key.starts_with(prefix)).collect())
    }
}

/// What tells whether bytes are still what was written: the first eight of their SHA-256.
pub(super) fn sum_of(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes)[..8].to_vec()
}
