//! Records: written, read one by one, and checked.

use std::time::Duration;

use rusqlite::{Row, params};

use super::db::{Db, Failure, int, natural};
use super::sessions::{row_of, sum_of};
use crate::store::rules::{self, Log, Node};
use crate::store::{
    Appended, CheckReport, CompactionCommit, Head, LogBody, LogRecord, NewRecord, Page, RecordKind, Records, Seq,
    SessionKey, StoreError,
};
use crate::transcript::{Digest, EntryId, Timestamp};

const READING: &str = "reading a record";

/// The records of one session, as the rules look at them.
struct SessionLog<'a> {
    db: Db<'a>,
    session: SessionKey,
}

impl Log for SessionLog<'_> {
    fn node(&self, id: &EntryId) -> Result<Option<Node>, StoreError> {
        let sql = "SELECT parent, digest, depth, kind FROM record WHERE session = ?1 AND id = ?2";
        let row = self.db.row(sql, params![int(self.session.0), id.as_str()], node);
        row.map_err(|error| self.db.explain(error, READING))
    }

    fn compaction(&self, id: &EntryId) -> Result<CompactionCommit, StoreError> {
        let record = self.db.record(self.session, id).map_err(|error| self.db.explain(error, READING))?;
        match record.body {
            LogBody::Compaction(commit) => Ok(*commit),
            _ => Err(StoreError::no_record(id)),
        }
    }
}

fn node(row: &Row<'_>) -> rusqlite::Result<Node> {
    let kind: String = row.get(3)?;
    let unknown = || rusqlite::Error::InvalidColumnType(3, format!("kind {kind}"), rusqlite::types::Type::Text);
    Ok(Node {
        parent: row.get::<_, Option<String>>(0)?.map(EntryId::new),
        digest: Digest(row.get(1)?),
        depth: natural(row, 2)?,
        kind: RecordKind::ALL.into_iter().find(|known| known.name() == kind).ok_or_else(unknown)?,
    })
}

/// A row before it is known whether it is sound.
struct RawRecord {
    id: String,
    parent: Option<String>,
    kind: String,
    digest: [u8; 32],
    depth: u64,
    at: i64,
    sum: Vec<u8>,
    body: String,
}

impl RawRecord {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            parent: row.get(1)?,
            kind: row.get(2)?,
            digest: row.get(3)?,
            depth: natural(row, 4)?,
            at: row.get(5)?,
            sum: row.get(6)?,
            body: row.get(7)?,
        })
    }

    fn into_record(self, seq: Seq) -> Result<LogRecord, StoreError> {
        if sum_of(self.body.as_bytes()) != self.sum {
            let what = format!("record `{}` (its content is not what was written)", self.id);
            return Err(StoreError::damaged_record(seq, what));
        }
        let body = LogBody::decode(&self.body)
            .map_err(|reason| StoreError::damaged_record(seq, format!("record `{}` ({reason})", self.id)))?;
        if body.kind().name() != self.kind {
            let what = format!("record `{}` (it says to be a {} and is a {})", self.id, self.kind, body.kind().name());
            return Err(StoreError::damaged_record(seq, what));
        }
        Ok(LogRecord {
            seq,
            id: EntryId::new(self.id),
            parent: self.parent.map(EntryId::new),
            digest: Digest(self.digest),
            depth: self.depth,
            at: Timestamp(self.at),
            body,
        })
    }
}

impl Db<'_> {
    pub(super) fn append(&self, session: SessionKey, records: Vec<NewRecord>) -> Result<Appended, Failure> {
        let log = SessionLog { db: *self, session };
        let (records, appended) = rules::append(self.head(session)?, records, &log)?;
        for record in &records {
            self.insert(session, record)?;
        }
        self.set_head(session, &appended.head)?;
        Ok(appended)
    }

    pub(super) fn commit(
        &self,
        session: SessionKey,
        named: (EntryId, Timestamp),
        commit: CompactionCommit,
        now: Timestamp,
    ) -> Result<LogRecord, Failure> {
        let log = SessionLog { db: *self, session };
        let (head, lease) = (self.head(session)?, self.lease(session)?);
        let (record, head) = rules::commit(head, &lease, now, named, commit, &log)?;
        self.insert(session, &record)?;
        self.set_head(session, &head)?;
        Ok(record)
    }

    fn insert(&self, session: SessionKey, record: &LogRecord) -> Result<(), Failure> {
        let body = record.body.encode()?;
        self.execute(
            "INSERT INTO record (row, session, id, parent, kind, digest, depth, at, sum, body)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                row_of(session, record.seq),
                int(session.0),
                record.id.as_str(),
                record.parent.as_ref().map(EntryId::as_str),
                record.body.kind().name(),
                record.digest.0,
                int(record.depth),
                record.at.0,
                sum_of(body.as_bytes()),
                body,
            ],
        )?;
        Ok(())
    }

    /// Row by row: a damaged page then hides only what is on it.
    pub(super) fn numbered(&self, session: SessionKey, seq: Seq) -> Result<LogRecord, StoreError> {
        let sql = "SELECT id, parent, kind, digest, depth, at, sum, body FROM record WHERE row = ?1";
        match self.row(sql, [row_of(session, seq)], RawRecord::read) {
            Ok(Some(raw)) => raw.into_record(seq),
            Ok(None) => Err(StoreError::damaged_record(seq, "the log (this record is missing)")),
            Err(error) => Err(match self.explain(error, READING) {
                StoreError::Corrupt { what, .. } => StoreError::damaged_record(seq, what),
                other => other,
            }),
        }
    }

    pub(super) fn record(&self, session: SessionKey, id: &EntryId) -> Result<LogRecord, Failure> {
        let sql = "SELECT row FROM record WHERE session = ?1 AND id = ?2";
        match self.row(sql, params![int(session.0), id.as_str()], |row| row.get::<_, i64>(0))? {
            Some(row) => Ok(self.numbered(session, super::sessions::split_row(row).1)?),
            None => {
                self.head(session)?;
                Err(StoreError::no_record(id).into())
            }
        }
    }

    pub(super) fn records(&self, session: SessionKey, ids: &[EntryId]) -> Result<Records, Failure> {
        self.head(session)?;
        let find = |id: &EntryId| {
            self.record(session, id).map_err(|failure| failure.explain(READING, self.place, Duration::ZERO))
        };
        Ok(Records { records: ids.iter().map(find).collect(), next: None })
    }

    pub(super) fn page(&self, session: SessionKey, page: Page, limit: u32) -> Result<Records, Failure> {
        let (numbers, next) = rules::page_bounds(page, limit, self.head(session)?.last_seq);
        let records = numbers.into_iter().map(|seq| self.numbered(session, seq)).collect();
        Ok(Records { records, next })
    }

    pub(super) fn branch(&self, session: SessionKey, leaf: &EntryId, limit: u32) -> Result<Records, Failure> {
        let mut records = Vec::new();
        let mut next = Some(leaf.clone());
        while let Some(id) = next.take().filter(|_| records.len() < usize::try_from(limit).unwrap_or(usize::MAX)) {
            match self.record(session, &id) {
                Ok(record) => {
                    next.clone_from(&record.parent);
                    records.push(Ok(record));
                }
                Err(failure) if records.is_empty() => return Err(failure),
                // The way up may still be known where the content is not.
                Err(failure) => {
                    next = SessionLog { db: *self, session }.node(&id).ok().flatten().and_then(|node| node.parent);
                    records.push(Err(failure.explain(READING, self.place, Duration::ZERO)));
                }
            }
        }
        Ok(Records { records, next: None })
    }

    /// Every record, the chain, and the head.
    pub(super) fn check_log(&self, session: SessionKey) -> Result<CheckReport, Failure> {
        let head = self.head(session)?;
        let log = SessionLog { db: *self, session };
        let mut report = CheckReport::default();
        for seq in (1..=head.last_seq.0).map(Seq) {
            let damage = match self.numbered(session, seq) {
                Ok(record) => check_one(&log, &record)?,
                Err(error) => Some(error),
            };
            report.records += 1;
            report.damage.extend(damage);
        }
        report.damage.extend(self.check_head(&log, &head));
        Ok(report)
    }

    fn check_head(&self, log: &SessionLog<'_>, head: &Head) -> Option<StoreError> {
        let expected = match &head.leaf {
            None => Some((Digest::ROOT, 0)),
            Some(leaf) => log.node(leaf).ok().flatten().map(|node| (node.digest, node.depth)),
        };
        let compaction = head.compaction.as_ref().map(|id| log.compaction(id));
        if expected == Some((head.digest, head.depth)) && compaction.is_none_or(|found| found.is_ok()) {
            return None;
        }
        Some(StoreError::Corrupt {
            what: "the head of the session (its leaf or its compaction is not in the log as the head says)".to_owned(),
            place: format!("session {} of {}", log.session, self.place),
            advice: "all records can be read; switch to the leaf that you want to go on from".to_owned(),
        })
    }
}

/// What is wrong with a record that can be read. One whose parent cannot be read is not to blame for it.
fn check_one(log: &SessionLog<'_>, record: &LogRecord) -> Result<Option<StoreError>, StoreError> {
    let switched_to = match &record.body {
        LogBody::Leaf(leaf) => leaf.to.as_ref(),
        _ => None,
    };
    let mut nodes = [None, None];
    for (node, id) in nodes.iter_mut().zip([record.parent.as_ref(), switched_to]) {
        let Some(id) = id else { continue };
        match log.node(id) {
            Ok(Some(found)) => *node = Some(found),
            Ok(None) => {
                let what = format!("record `{}` (there is no `{id}`, which it names)", record.id);
                return Ok(Some(StoreError::damaged_record(record.seq, what)));
            }
            Err(StoreError::Corrupt { .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(rules::check_record(record, nodes[0].as_ref(), nodes[1].as_ref()))
}
