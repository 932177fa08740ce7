//! The index of words: made in small steps, apart from appending.

use rusqlite::params;

use super::db::{Db, Failure, int, natural};
use super::sessions::{row_of, rows_of, split_row};
use crate::store::recall::{self, Found, Hit, Query, Search};
use crate::store::{LogBody, Seq, SessionKey, StoreError};

/// Most records of one step: a writer waits while one is written, at most. 64 records of a coding agent take about 7 ms.
const STEP_RECORDS: u64 = 64;
/// Text after which a step ends, in bytes.
const STEP_BYTES: usize = 256 << 10;

/// Records to be indexed in one step.
#[derive(Debug)]
pub(super) struct Batch {
    session: SessionKey,
    /// The last record that is indexed already.
    from: u64,
    to: u64,
    texts: Vec<(i64, String)>,
}

impl Batch {
    pub(super) fn len(&self) -> u64 {
        self.to - self.from
    }

    /// Cuts the texts into words: the dear part, for which nothing needs to be locked.
    pub(super) fn cut(&mut self) {
        for (_, text) in &mut self.texts {
            *text = recall::index_text(text);
        }
    }
}

impl Db<'_> {
    /// Records that are not in the index yet.
    pub(super) fn pending(&self, session: Option<SessionKey>) -> Result<u64, Failure> {
        let sql = "SELECT coalesce(sum(last_seq - indexed), 0) FROM session
            WHERE indexed < last_seq AND (?1 IS NULL OR key = ?1)";
        Ok(self.row(sql, [session.map(|key| int(key.0))], |row| natural(row, 0))?.unwrap_or_default())
    }

    /// The next records to index, of any session or of this one; `None` where all are.
    pub(super) fn next_batch(&self, session: Option<SessionKey>, limit: u64) -> Result<Option<Batch>, Failure> {
        let sql = "SELECT key, indexed, last_seq FROM session
            WHERE indexed < last_seq AND (?1 IS NULL OR key = ?1) LIMIT 1";
        let read = |row: &rusqlite::Row<'_>| Ok((natural(row, 0)?, natural(row, 1)?, natural(row, 2)?));
        let Some((key, indexed, last)) = self.row(sql, [session.map(|key| int(key.0))], read)? else {
            return Ok(None);
        };
        let mut batch = Batch { session: SessionKey(key), from: indexed, to: indexed, texts: Vec::new() };
        let mut bytes = 0;
        while batch.to < last && batch.len() < limit.min(STEP_RECORDS) && bytes < STEP_BYTES {
            batch.to += 1;
            if let Some(text) = self.text_of(batch.session, Seq(batch.to))? {
                bytes += text.len();
                batch.texts.push((row_of(batch.session, Seq(batch.to)), text));
            }
        }
        Ok(Some(batch))
    }

    /// A damaged record has no words; whoever reads it is told.
    fn text_of(&self, session: SessionKey, seq: Seq) -> Result<Option<String>, Failure> {
        match self.numbered(session, seq).map(|record| record.body) {
            Ok(LogBody::Entry(entry)) => Ok(Some(recall::searchable(&entry))),
            Ok(_) => Ok(None),
            Err(StoreError::Corrupt { what, place, .. }) => {
                tracing::warn!(%session, what, place, "not indexed");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a batch of words, unless another process did so meanwhile.
    pub(super) fn write_batch(&self, batch: &Batch) -> Result<(), Failure> {
        let sql = "UPDATE session SET indexed = ?3 WHERE key = ?1 AND indexed = ?2";
        if self.execute(sql, [int(batch.session.0), int(batch.from), int(batch.to)])? == 0 {
            return Ok(());
        }
        for (row, words) in batch.texts.iter().filter(|(_, words)| !words.is_empty()) {
            self.execute("INSERT INTO recall (rowid, words) VALUES (?1, ?2)", params![row, words])?;
        }
        Ok(())
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
