//! The index of words: made in small steps, apart from appending.

use rusqlite::params;

use super::db::{Db, Failure, int, natural};
use super::sessions::{row_of, rows_of, split_row};
use crate::store::recall::{self, Found, Hit, Query, Search};
use crate::store::{LogBody, Seq, SessionKey, StoreError};

/// Most records of one step: a writer waits for one step at most. 64 records of a coding agent take about 20 ms.
const STEP_RECORDS: u64 = 64;
/// Text after which a step ends, in bytes.
const STEP_BYTES: usize = 256 << 10;

impl Db<'_> {
    /// Records that are not in the index yet.
    pub(super) fn pending(&self, session: Option<SessionKey>) -> Result<u64, Failure> {
        let sql = "SELECT coalesce(sum(last_seq - indexed), 0) FROM session
            WHERE indexed < last_seq AND (?1 IS NULL OR key = ?1)";
        Ok(self.row(sql, [session.map(|key| int(key.0))], |row| natural(row, 0))?.unwrap_or_default())
    }

    /// One step of indexing, of any session or of this one; how many records were looked at.
    pub(super) fn index_step(&self, session: Option<SessionKey>, limit: u64) -> Result<u64, Failure> {
        let sql = "SELECT key, indexed, last_seq FROM session
            WHERE indexed < last_seq AND (?1 IS NULL OR key = ?1) LIMIT 1";
        let read = |row: &rusqlite::Row<'_>| Ok((natural(row, 0)?, natural(row, 1)?, natural(row, 2)?));
        let Some((key, indexed, last)) = self.row(sql, [session.map(|key| int(key.0))], read)? else { return Ok(0) };
        let session = SessionKey(key);
        let (mut at, mut bytes) = (indexed, 0);
        while at < last && at - indexed < limit.min(STEP_RECORDS) && bytes < STEP_BYTES {
            at += 1;
            bytes += self.index_record(session, Seq(at))?;
        }
        self.execute("UPDATE session SET indexed = ?2 WHERE key = ?1", [int(key), int(at)])?;
        Ok(at - indexed)
    }

    /// A damaged record has no words; whoever reads it is told.
    fn index_record(&self, session: SessionKey, seq: Seq) -> Result<usize, Failure> {
        let text = match self.numbered(session, seq).map(|record| record.body) {
            Ok(LogBody::Entry(entry)) => recall::index_text(&recall::searchable(&entry)),
            Ok(_) => return Ok(0),
            Err(StoreError::Corrupt { what, place, .. }) => {
                tracing::warn!(%session, what, place, "not indexed");
                return Ok(0);
            }
            Err(error) => return Err(error.into()),
        };
        if !text.is_empty() {
            self.execute("INSERT INTO recall (rowid, words) VALUES (?1, ?2)", params![row_of(session, seq), text])?;
        }
        Ok(text.len())
    }

    pub(super) fn reset_index(&self) -> Result<(), Failure> {
        // Dropping works on a damaged index, too; deleting from it may not.
        self.conn.execute_batch(
            "DROP TABLE recall;
            CREATE VIRTUAL TABLE recall USING fts5 (words, content = '', contentless_delete = 1, tokenize = 'ascii');
            UPDATE session SET indexed = 0;",
        )?;
        Ok(())
    }

    pub(super) fn search(&self, search: &Search) -> Result<Found, Failure> {
        if let Some(key) = search.session {
            self.head(key)?;
        }
        let unindexed = self.pending(search.session)?;
        let query = Query::parse(&search.text);
        if query.terms.is_empty() || search.limit == 0 {
            return Ok(Found { hits: Vec::new(), unindexed });
        }
        let mut rows = self.matches(&query.fts5("AND"), search)?;
        if rows.is_empty() && query.terms.len() > 1 {
            rows = self.matches(&query.fts5("OR"), search)?;
        }
        let hits = rows.into_iter().filter_map(|(row, score)| self.hit(&query, row, score)).collect();
        Ok(Found { hits, unindexed })
    }

    fn matches(&self, query: &str, search: &Search) -> Result<Vec<(i64, f64)>, Failure> {
        let (first, last) = search.session.map_or((0, i64::MAX), rows_of);
        let sql = "SELECT rowid, -rank FROM recall WHERE recall MATCH ?1 AND rowid BETWEEN ?2 AND ?3
            ORDER BY rank, rowid DESC LIMIT ?4";
        let params = params![query, first, last, search.limit];
        Ok(self.rows(sql, params, |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    fn hit(&self, query: &Query, row: i64, score: f64) -> Option<Hit> {
        let (session, seq) = split_row(row);
        let record = match self.numbered(session, seq) {
            Ok(record) => record,
            Err(error) => {
                tracing::warn!(%session, %error, "found, but not readable");
                return None;
            }
        };
        let LogBody::Entry(entry) = &record.body else { return None };
        let snippet = recall::snippet(query, &recall::searchable(entry));
        Some(Hit { session, seq, id: record.id, kind: entry.kind, snippet, score: score as f32 })
    }
}
