//! `ctxe session log`: the compactions of a session.

use std::collections::{HashMap, HashSet};

use contextengine::store::{CompactionCommit, ContextItem, LogBody, LogRecord, Page, SessionInfo, StoreError};
use contextengine::transcript::{EntryId, EntryKind, Timestamp};

use super::print;
use crate::args::LogArgs;
use crate::failure::Failure;
use crate::output::To;
use crate::progress::Progress;
use crate::report::{CompactionReport, Damage, LogReport, PassedOverReport, REPORT_VERSION, State};
use crate::store::{self, Missing, Opened};

/// Records that are read at once.
const PAGE: u32 = 512;

pub(super) async fn run(args: &LogArgs) -> Result<(), Failure> {
    let store = store::open(args.of.store.store.as_deref(), Missing::Refuse).await?;
    let progress = Progress::start("reading the log");
    let info = store.info(&args.name).await?;
    let read = read(&store, &info).await.map_err(|error| store.failed(error))?;
    let report = LogReport {
        report_version: REPORT_VERSION,
        session: info.name.clone(),
        store: store.place,
        logged_entries: info.head.depth,
        compactions: read.describe(&info),
        damage: read.damage,
    };
    drop(progress);
    print(&report, || report.for_people(), args.of.json, To::Output)
}

/// What the log says of compactions.
struct Log {
    /// Newest first.
    compactions: Vec<(LogRecord, CompactionCommit)>,
    undone: HashMap<EntryId, Timestamp>,
    damage: Vec<Damage>,
}

/// Reads the whole log: what is damaged hides nothing else.
async fn read(store: &Opened, info: &SessionInfo) -> Result<Log, StoreError> {
    let mut log = Log { compactions: Vec::new(), undone: HashMap::new(), damage: Vec::new() };
    let mut next = Some(Page::Newest);
    while let Some(page) = next {
        let records = store.store.page(info.key, page, PAGE).await?;
        next = records.next;
        for record in records.records {
            match record {
                Ok(record) => log.add(record),
                Err(error) => log.damage.push(Damage { reason: error.to_string() }),
            }
        }
    }
    Ok(log)
}

impl Log {
    fn add(&mut self, mut record: LogRecord) {
        match std::mem::replace(&mut record.body, LogBody::Settings(serde_json::Value::Null)) {
            LogBody::Compaction(commit) => self.compactions.push((record, *commit)),
            LogBody::Undo(undo) => {
                self.undone.insert(undo.compaction, record.at);
            }
            _ => {}
        }
    }

    fn describe(&self, info: &SessionInfo) -> Vec<CompactionReport> {
        let in_force = self.chain(info.head.compaction.as_ref());
        let describe = |(record, commit): &(LogRecord, CompactionCommit)| {
            let undone = self.undone.get(&record.id).copied();
            let state = if Some(&record.id) == info.head.compaction.as_ref() {
                State::InForce
            } else if undone.is_some() {
                State::Undone
            } else if in_force.contains(&record.id) {
                State::BuiltOn
            } else {
                State::OtherBranch
            };
            describe(record, commit, state, undone)
        };
        self.compactions.iter().map(describe).collect()
    }

    /// The compactions that made the context what it is.
    fn chain(&self, newest: Option<&EntryId>) -> HashSet<&EntryId> {
        let previous: HashMap<&EntryId, Option<&EntryId>> =
            self.compactions.iter().map(|(record, commit)| (&record.id, commit.previous.as_ref())).collect();
        let mut chain = HashSet::new();
        let mut next = newest.and_then(|id| previous.get_key_value(id));
        while let Some((id, previous_id)) = next {
            chain.insert(*id);
            next = previous_id.and_then(|id| previous.get_key_value(id)).filter(|(id, _)| !chain.contains(**id));
        }
        chain
    }
}

fn describe(
    record: &LogRecord,
    commit: &CompactionCommit,
    state: State,
    undone: Option<Timestamp>,
) -> CompactionReport {
    let mut report = CompactionReport {
        compaction_id: record.id.to_string(),
        seq: record.seq.0,
        at_ms: record.at.0,
        state,
        undone_at_ms: undone.map(|at| at.0),
        owner: commit.owner.clone(),
        owner_version: commit.owner_version.clone(),
        component_sha256: commit.component_hash.clone(),
        trigger: trigger(commit),
        tokens_before: commit.tokens_before,
        tokens_after: commit.tokens_after,
        kept_entries: 0,
        rewritten_entries: 0,
        summarised_entries: 0,
        dropped_entries: commit.dropped.iter().map(|dropped| dropped.ids.len() as u64).sum(),
        written_summaries: 0,
        written_notes: 0,
        reasons: commit.dropped.iter().map(|dropped| format!("dropped: {}", dropped.reason)).collect(),
        corrections: commit.corrections.clone(),
        passed_over: PassedOverReport::all(&commit.passed_over),
        model_calls: commit.model_calls,
        duration_ms: commit.duration_ms,
        previous_compaction_id: commit.previous.as_ref().map(ToString::to_string),
    };
    for item in &commit.context {
        add(&mut report, item);
    }
    report
}

fn add(report: &mut CompactionReport, item: &ContextItem) {
    match item {
        ContextItem::Kept(ids) => report.kept_entries += ids.len() as u64,
        ContextItem::Carried { .. } => report.kept_entries += 1,
        ContextItem::Written { entry, reason, .. } => {
            if entry.kind == EntryKind::Summary {
                report.written_summaries += 1;
                report.summarised_entries += entry.replaces.len() as u64;
            } else if entry.replaces.is_empty() {
                report.written_notes += 1;
            } else {
                report.rewritten_entries += 1;
            }
            report.reasons.extend(reason.iter().map(|reason| format!("rewritten: {reason}")));
            report.reasons.dedup();
        }
        _ => {}
    }
}

/// As the log spells it.
fn trigger(commit: &CompactionCommit) -> String {
    let name = serde_json::to_value(commit.trigger).ok();
    name.as_ref().and_then(serde_json::Value::as_str).unwrap_or("unknown").replace('-', "_")
}
