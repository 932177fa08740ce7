//! The tables, and how those of older versions become those of this one.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::db::Failure;
use super::{Durability, SqliteOptions};
use crate::store::StoreError;

/// "CTXE": marks the file as ours (`PRAGMA application_id`).
const APPLICATION_ID: i64 = 0x4354_5845;

/// Step `n` makes version `n + 1` of version `n`; version 0 is an empty file. A step is never changed once released.
///
/// The number of a record in `record.row` is the session's key and the record's `seq` in one: then a session lies
/// together in the file and needs no further index.
const MIGRATIONS: [&str; 2] = [
    // 1: sessions, their logs and leases.
    "CREATE TABLE session (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        created INTEGER NOT NULL,
        format TEXT,
        working_dir TEXT,
        title TEXT,
        last_seq INTEGER NOT NULL DEFAULT 0,
        leaf TEXT,
        digest BLOB NOT NULL,
        depth INTEGER NOT NULL DEFAULT 0,
        compaction TEXT,
        lease_token INTEGER NOT NULL DEFAULT 0,
        lease_holder TEXT,
        lease_until INTEGER
    ) STRICT;
    CREATE TABLE original (
        session INTEGER PRIMARY KEY,
        format TEXT NOT NULL,
        sum BLOB NOT NULL,
        bytes BLOB NOT NULL
    ) STRICT;
    CREATE TABLE record (
        row INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        id TEXT NOT NULL,
        parent TEXT,
        kind TEXT NOT NULL,
        digest BLOB NOT NULL,
        depth INTEGER NOT NULL,
        at INTEGER NOT NULL,
        sum BLOB NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX record_id ON record (session, id);",
    // 2: what plugins keep, and the index of words. The index holds no text of its own; the records do.
    "CREATE TABLE state (
        plugin TEXT NOT NULL,
        session INTEGER NOT NULL,
        key TEXT NOT NULL,
        value BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX state_key ON state (plugin, session, key);
    CREATE VIRTUAL TABLE recall USING fts5 (words, content = '', contentless_delete = 1, tokenize = 'ascii');
    ALTER TABLE session ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX session_pending ON session (key) WHERE indexed < last_seq;",
];

/// The version that this program reads and writes.
const KNOWN: u32 = MIGRATIONS.len() as u32;

/// Opens the file, and makes it a store of this version.
pub(super) fn open(path: &Path, options: &SqliteOptions) -> Result<Connection, Failure> {
    create_private(path)?;
    let mut conn = connect(path, options)?;
    let version = version(&conn)?;
    if version > KNOWN {
        return Err(StoreError::NewerSchema { found: version, known: KNOWN }.into());
    }
    must_be_ours(&conn, path, version)?;
    use_wal(&conn, options.lock_wait)?;
    if version < KNOWN {
        migrate(&mut conn)?;
    }
    Ok(conn)
}

/// Another connection to a store that is open.
pub(super) fn connect(path: &Path, options: &SqliteOptions) -> Result<Connection, Failure> {
    let conn = Connection::open(path)?;
    conn.busy_timeout(options.lock_wait)?;
    conn.set_prepared_statement_cache_capacity(64);
    let durability = match options.durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    };
    conn.pragma_update(None, "synchronous", durability)?;
    conn.pragma_update(None, "cell_size_check", true)?;
    // Nothing in a file that came from elsewhere may run code.
    conn.pragma_update(None, "trusted_schema", false)?;
    if let Some(bytes) = options.max_bytes {
        let page_size: i64 = conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page_size.max(1);
        conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(conn)
}

/// Sessions are private: a new file is for its owner alone. SQLite gives the files beside it the same mode.
fn create_private(path: &Path) -> Result<(), StoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let failed = |error: std::io::Error| StoreError::Io {
        doing: format!("opening {}", path.display()),
        reason: error.to_string(),
    };
    options.open(path).map(drop).map_err(failed)
}

fn version(conn: &Connection) -> Result<u32, Failure> {
    Ok(conn.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

fn must_be_ours(conn: &Connection, path: &Path, version: u32) -> Result<(), Failure> {
    let id: i64 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if id == APPLICATION_ID || (id == 0 && version == 0 && tables == 0) {
        return Ok(());
    }
    let reason = format!("it is a SQLite database of another program (application id {id:#010x})");
    Err(StoreError::NotAStore { place: path.display().to_string(), reason }.into())
}

/// Two processes that open a new file at once get in each other's way here, and SQLite does not wait.
fn use_wal(conn: &Connection, patience: Duration) -> Result<(), Failure> {
    let start = Instant::now();
    loop {
        let mode = conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                tracing::warn!(mode, "the file system keeps SQLite from using a write-ahead log");
                return Ok(());
            }
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && start.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn migrate(conn: &mut Connection) -> Result<(), Failure> {
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it meanwhile, or be newer.
    let from = version(&transaction)?;
    if from > KNOWN {
        return Err(StoreError::NewerSchema { found: from, known: KNOWN }.into());
    }
    for step in MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or(usize::MAX)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", KNOWN)?;
    transaction.commit()?;
    Ok(())
}
