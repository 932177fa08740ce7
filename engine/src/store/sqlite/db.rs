//! One connection, every statement counted, and what SQLite's errors mean here.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{CachedStatement, Connection, ErrorCode, OptionalExtension, Params, Row, StatementStatus, ffi};

use crate::store::StoreError;

/// How much work a store has done since it was opened: so that "costs the same at any length" can be checked without
/// a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Work {
    /// Statements that were run.
    pub statements: u64,
    /// Instructions of SQLite's virtual machine that they took; a row that is looked at takes several.
    pub steps: u64,
}

#[derive(Debug, Default)]
pub(super) struct WorkCounter {
    statements: AtomicU64,
    steps: AtomicU64,
}

impl WorkCounter {
    pub(super) fn read(&self) -> Work {
        Work { statements: self.statements.load(Ordering::Relaxed), steps: self.steps.load(Ordering::Relaxed) }
    }

    fn add(&self, statement: &CachedStatement<'_>) {
        let steps = u64::try_from(statement.reset_status(StatementStatus::VmStep)).unwrap_or_default();
        self.statements.fetch_add(1, Ordering::Relaxed);
        self.steps.fetch_add(steps, Ordering::Relaxed);
    }
}

/// A failure inside of a transaction: of ours, or of SQLite's.
#[derive(Debug)]
pub(super) enum Failure {
    Store(StoreError),
    Sqlite(rusqlite::Error),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::Store(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Failure::Sqlite(error)
    }
}

impl Failure {
    pub(super) fn explain(self, doing: &str, place: &str, waited: Duration) -> StoreError {
        match self {
            Failure::Store(error) => error,
            Failure::Sqlite(error) => explain(&error, doing, place, waited),
        }
    }
}

fn explain(error: &rusqlite::Error, doing: &str, place: &str, waited: Duration) -> StoreError {
    let doing = format!("{doing} in {place}");
    let rusqlite::Error::SqliteFailure(code, words) = error else {
        return match error {
            // A column of another type than the one that was written.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => corrupt(format!("a row ({error})"), place),
            _ => StoreError::Io { doing, reason: error.to_string() },
        };
    };
    let reason = words.clone().unwrap_or_else(|| error.to_string());
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            StoreError::Locked { waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX) }
        }
        ErrorCode::DiskFull => StoreError::Full { detail: format!("{doing}: {reason}") },
        // The shared memory beside the file could not grow: that, too, is a full disk.
        ErrorCode::SystemIoFailure if code.extended_code == ffi::SQLITE_IOERR_SHMSIZE => {
            StoreError::Full { detail: format!("{doing}: {reason}") }
        }
        ErrorCode::DatabaseCorrupt if code.extended_code == ffi::SQLITE_CORRUPT_VTAB => StoreError::Corrupt {
            what: format!("the search index ({reason})"),
            place: place.to_owned(),
            advice: "reset the index and make it anew; no record is lost".to_owned(),
        },
        ErrorCode::DatabaseCorrupt => corrupt(format!("the file ({reason})"), place),
        ErrorCode::NotADatabase => StoreError::NotAStore { place: place.to_owned(), reason },
        _ => StoreError::Io { doing, reason },
    }
}

fn corrupt(what: String, place: &str) -> StoreError {
    let advice = "what is intact can still be read: check each session, and copy it to a new store".to_owned();
    StoreError::Corrupt { what, place: place.to_owned(), advice }
}

/// A connection within one piece of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Db<'a> {
    pub(super) conn: &'a Connection,
    pub(super) work: &'a WorkCounter,
    pub(super) place: &'a str,
}

impl<'a> Db<'a> {
    /// Runs a statement that returns nothing; the number of rows that it changed.
    pub(super) fn execute(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let changed = statement.execute(params);
        self.work.add(&statement);
        changed
    }

    /// The first row, if there is one.
    pub(super) fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let row = statement.query_row(params, read).optional();
        self.work.add(&statement);
        row
    }

    /// All rows.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let rows = statement.query_map(params, read)?.collect();
        self.work.add(&statement);
        rows
    }

    /// What a failure outside of a transaction means.
    pub(super) fn explain(&self, error: impl Into<Failure>, doing: &str) -> StoreError {
        error.into().explain(doing, self.place, Duration::ZERO)
    }
}

/// SQLite's integers are signed.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// And what we store in them is not negative.
pub(super) fn natural(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}
