//! A session in a store. The compaction is recorded there; a file is written only where one is named.

use std::time::Instant;

use anyhow::anyhow;
use contextengine::hooks::{Trigger, Urgency};
use contextengine::session::{SessionCompacted, TurnCompactOptions};
use contextengine::store::LogBody;

use super::{Task, describe, show};
use crate::args::CompactArgs;
use crate::failure::Failure;
use crate::files;
use crate::input;
use crate::progress::Progress;
use crate::report::{Recorded, millis};
use crate::session::{export, stored_read};
use crate::store::{self, Missing};

pub(super) async fn compact(args: &CompactArgs, name: &str) -> Result<(), Failure> {
    check(args)?;
    let task = Task::new(args)?;
    let store = store::open(args.store.as_deref(), Missing::Refuse).await?;
    let progress = Progress::start("reading the session");
    let bar = progress.bar();
    let engine = task.engine(&bar)?;
    let reading = Instant::now();
    let (info, session) = store.session(&engine, name, task.view_options()).await?;
    let reading = reading.elapsed();
    bar.stage("counting tokens", None);
    let counting = Instant::now();
    let before = session.view();
    let counting = counting.elapsed();
    let task = task.load(&engine, &bar).await?;

    bar.stage("compacting", None);
    engine.install(task.setup.clone());
    let turn = session.turn_with(task.services(&engine, &bar));
    let options = options(args);
    let compacted = task.watched(&engine, &bar, turn.compact(&options)).await;
    let compacted = compacted.map_err(|error| store.session_failed(name, error))?;

    let read = stored_read(&info, task.config.tokenizer());
    let mut report = task.report(read, &before, reading, counting);
    match &compacted {
        SessionCompacted::Unchanged { reason } => report.reason = Some(reason.clone()),
        SessionCompacted::Done { record, compaction } => {
            describe(&mut report, &before, compaction);
            if let LogBody::Compaction(commit) = &record.body {
                task.describe_owner(&mut report, &commit.owner, &commit.passed_over, commit.model_calls);
            }
            report.recorded = Some(Recorded { compaction_id: record.id.to_string() });
        }
    }
    let mut standard = None;
    if let Some(out) = &args.out {
        bar.stage("writing", None);
        let writing = Instant::now();
        let exported = export::write(&store, &info, &session, &engine, args.to).await?;
        let placed = files::place(out, exported.bytes, exported.format, None)?;
        report.time.writing_ms = millis(writing.elapsed());
        report.remarks = exported.remarks;
        report.written = Some(placed.report);
        standard = placed.standard;
    }
    drop(progress);
    show(args, &report, standard.as_deref())
}

fn check(args: &CompactArgs) -> Result<(), Failure> {
    match &args.out {
        None if args.to.is_some() => Err(Failure::Usage(anyhow!(
            "--to says how a file is written; with --session none is written unless --out names one"
        ))),
        Some(out) if !input::is_standard(out) => files::check_place(out),
        _ => Ok(()),
    }
}

fn options(args: &CompactArgs) -> TurnCompactOptions {
    let urgency = if args.hard { Urgency::Hard } else { Urgency::Soft };
    let options = TurnCompactOptions::new(Trigger::Manual).with_urgency(urgency);
    match &args.focus {
        Some(focus) => options.with_focus(focus),
        None => options,
    }
}
