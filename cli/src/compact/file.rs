//! A session in a file.

use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};
use contextengine::format::{self, WriteFacts};
use contextengine::hooks::{Trigger, Urgency};
use contextengine::transcript::Timestamp;
use contextengine::view::View;
use contextengine::{CompactOptions, Compacted, Succession};

use super::{Ready, Task, describe, show};
use crate::args::CompactArgs;
use crate::count::count;
use crate::failure::Failure;
use crate::files::{self, Placed};
use crate::harmless;
use crate::input::{self, Input};
use crate::report::{Written, millis};
use crate::store;

pub(super) async fn compact(args: &CompactArgs, file: &Path) -> Result<(), Failure> {
    check(args, file)?;
    let task = Task::new(args)?;
    let (session, progress) = input::read(file, args.from)?;
    let bar = progress.bar();
    let engine = task.engine(&bar)?;
    let context = session.document.context().to_vec();
    let counting = count(&context, engine.counter(), &bar);
    let view = engine.view(context, task.view_options());
    let task = task.load(&engine, &bar).await?;

    bar.stage("compacting", None);
    let now = now();
    let (options, services) = (options(&task, &view, now), task.services(&engine, &bar));
    let work = engine.compact_by(&task.setup.slots, &view, &options, &services);
    let Succession { compacted, owner, passed_over, model_calls, .. } =
        task.watched(&engine, &bar, work).await.map_err(store::compaction_failed)?;

    bar.stage("writing", None);
    let read = session.report(task.config.tokenizer());
    let mut report = task.report(read, &view, session.reading, counting);
    task.describe_owner(&mut report, &owner, &passed_over, model_calls);
    let writing = Instant::now();
    let written = match &compacted {
        Compacted::Unchanged { reason } => {
            report.reason = Some(reason.clone());
            // A session in its place is not touched for nothing.
            if args.in_place { None } else { write(args, file, &session, &view, &view, now)? }
        }
        Compacted::Done(compaction) => {
            describe(&mut report, &view, compaction);
            write(args, file, &session, &view, compaction.view(), now)?
        }
    };
    report.time.writing_ms = millis(writing.elapsed());
    let standard = written.and_then(|(placed, remarks)| {
        report.written = Some(placed.report);
        report.remarks = remarks;
        placed.standard
    });
    drop(progress);
    show(args, &report, standard.as_deref())
}

/// Combinations that clap cannot see, and places that cannot be written to.
fn check(args: &CompactArgs, file: &Path) -> Result<(), Failure> {
    if args.in_place && input::is_standard(file) {
        return Err(Failure::Usage(anyhow!("--in-place needs a file, and the session is standard input; use --out")));
    }
    if args.in_place && args.to.is_some() {
        return Err(Failure::Usage(anyhow!(
            "--in-place does not go with --to: a session is not replaced by one of another format; use --out"
        )));
    }
    let Some(out) = args.out.as_ref().filter(|out| !input::is_standard(out)) else {
        return Ok(());
    };
    if is_same_file(out, file) {
        return Err(Failure::Usage(anyhow!(
            "--out names the session itself; use --in-place to replace it, which keeps the old one beside it"
        )));
    }
    files::check_place(out)
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn options(task: &Ready<'_>, view: &View, now: Timestamp) -> CompactOptions {
    let setup = &task.setup;
    let pressure = setup.window.pressure(view, Trigger::Manual, now);
    let urgency = if task.args.hard { Urgency::Hard } else { Urgency::Soft };
    let mut options = CompactOptions::new(pressure, task.target()).with_urgency(urgency).with_gate(setup.gate.clone());
    options.keep_recent = setup.keep_recent;
    match &task.args.focus {
        Some(focus) => options.with_focus(focus),
        None => options,
    }
}

/// Writes the new context to where the arguments say, if they say; with what the format could not say.
fn write(
    args: &CompactArgs,
    file: &Path,
    session: &Input,
    before: &View,
    after: &View,
    now: Timestamp,
) -> Result<Option<(Placed, Vec<String>)>, Failure> {
    if args.out.is_none() && !args.in_place {
        return Ok(None);
    }
    let document = &session.document;
    let to = args.to.unwrap_or(document.format());
    let facts = WriteFacts { now, tokens_before: before.tokens(), tokens_after: after.tokens() };
    let written = if to == document.format() {
        document.write(after.entries(), &facts)
    } else {
        format::convert(after.entries(), to)
    };
    let written = written.with_context(|| format!("cannot write as {to}")).map_err(Failure::File)?;
    let placed = match &args.out {
        Some(out) => files::place(out, written.bytes, to, Some(file))?,
        None => {
            let bytes = written.bytes.len();
            let backup = files::replace_session(file, session.bytes.len(), &written.bytes)?;
            let shown = |path: &Path| Some(harmless::line(&path.display().to_string()));
            let report = Written { file: shown(file), format: to.name(), bytes, backup: shown(&backup) };
            Placed { report, standard: None }
        }
    };
    Ok(Some((placed, written.remarks)))
}
