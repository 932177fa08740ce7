//! `ctxe compact`: read, compact, write, report.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};
use contextengine::format::{self, Document, WriteFacts};
use contextengine::hooks::{Trigger, Urgency};
use contextengine::plugin::{LogLevel, Services};
use contextengine::transcript::{EntryKind, Timestamp};
use contextengine::view::{View, ViewOptions};
use contextengine::{CompactOptions, Compacted, Compaction, Engine, Window};

use crate::args::CompactArgs;
use crate::count::{Progress, count};
use crate::failure::Failure;
use crate::output;
use crate::report::{CompactReport, Fill, StrategyReport, Times, WindowReport, Written, millis, pretty_json};
use crate::session::{self, Session};
use crate::strategy::{self, Strategy};

pub(crate) fn run(args: &CompactArgs) -> Result<(), Failure> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("cannot start")
        .map_err(Failure::Strategy)?;
    tokio.block_on(compact(args))
}

async fn compact(args: &CompactArgs) -> Result<(), Failure> {
    check(args)?;
    let session = session::read(&args.session)?;
    let engine = strategy::engine(args)?;
    let counting = count(&session.document, engine.counter());
    let strategy = strategy::load(&engine, args).await?;

    let window = window(args)?;
    let target = args.target.unwrap_or(window.target());
    let context = session.document.context().to_vec();
    let view = engine.view(context, ViewOptions::default().with_loop_limit(target));
    let now = now();
    let options = options(args, window, target, &view, now);
    let compacted = engine
        .compact(&strategy.plugin, &view, &options, services(&engine, args.verbose))
        .await
        .map_err(|error| Failure::Strategy(error.into()))?;

    let mut report = report(args, &session, &strategy, window, target, &view, counting);
    let writing = Instant::now();
    let written = match &compacted {
        Compacted::Unchanged { reason } => {
            report.reason = Some(reason.clone());
            write(args, &session.document, &view, &view, now)?
        }
        Compacted::Done(compaction) => {
            describe(&mut report, compaction);
            write(args, &session.document, &view, compaction.view(), now)?
        }
    };
    report.milliseconds.writing = millis(writing.elapsed());
    let bytes = written.map(|written| written.into_report(&mut report));
    show(args, &report, bytes.flatten())
}

/// Combinations that clap cannot see.
fn check(args: &CompactArgs) -> Result<(), Failure> {
    let file = &args.session.file;
    if args.in_place && (session::is_standard(file) || args.to.is_some()) {
        let why = if args.to.is_some() { "another format cannot replace it" } else { "standard input has no place" };
        return Err(Failure::Usage(anyhow!("--in-place does not go with this: {why}; use --out")));
    }
    let same = |out: &PathBuf| !session::is_standard(out) && is_same_file(out, file);
    if args.out.as_ref().is_some_and(same) {
        return Err(Failure::Usage(anyhow!(
            "--out names the session itself; use --in-place to replace it, which keeps the old one beside it"
        )));
    }
    Ok(())
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn window(args: &CompactArgs) -> Result<Window, Failure> {
    let window = Window::new(args.window).with_overhead(args.overhead);
    let window = args.reserve.map_or(window, |reserve| window.with_reserve(reserve));
    if window.budget() == 0 {
        return Err(Failure::Usage(anyhow!(
            "a window of {} tokens less a reserve of {} and an overhead of {} leaves nothing for the session",
            window.tokens,
            window.reserve,
            window.overhead
        )));
    }
    Ok(window)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn options(args: &CompactArgs, window: Window, target: u32, view: &View, now: Timestamp) -> CompactOptions {
    let pressure = window.pressure(view, Trigger::Manual, now);
    let urgency = if args.hard { Urgency::Hard } else { Urgency::Soft };
    let options = CompactOptions::new(pressure, target).with_urgency(urgency);
    match &args.focus {
        Some(focus) => options.with_focus(focus),
        None => options,
    }
}

/// Warnings of a strategy are always shown, the rest when asked for; progress when it takes long.
fn services(engine: &Engine, verbose: bool) -> Services {
    let least = if verbose { LogLevel::Debug } else { LogLevel::Warn };
    let progress = Progress::new(0, "compacting");
    engine
        .services()
        .with_log(move |level, message| {
            if level >= least {
                output::warn(&format!("strategy: {message}"));
            }
        })
        .with_progress(move |done, total, what| progress.set(done.into(), total.into(), what))
}

fn report(
    args: &CompactArgs,
    session: &Session,
    strategy: &Strategy,
    window: Window,
    target: u32,
    view: &View,
    counting: Duration,
) -> CompactReport {
    let plugin = &strategy.plugin;
    let mut report = CompactReport::unchanged(
        (session.name.clone(), session.document.format().name(), args.session.tokenizer.name()),
        StrategyReport {
            id: plugin.description().id.clone(),
            version: plugin.description().version.clone(),
            origin: strategy.origin.clone(),
            component: plugin.component_hash().to_owned(),
        },
        WindowReport {
            tokens: window.tokens,
            reserve: window.reserve,
            overhead: window.overhead,
            budget: window.budget(),
            target,
        },
        Fill::of(view),
        Times {
            reading: millis(session.reading),
            counting: millis(counting),
            loading: millis(strategy.loading),
            proposing: 0.0,
            verifying: 0.0,
            writing: 0.0,
        },
    );
    report.problems = session.document.problems().iter().map(Into::into).collect();
    report
}

fn describe(report: &mut CompactReport, compaction: &Compaction) {
    let record = compaction.record();
    report.set_compacted(Fill::of(compaction.view()), record.tally, record.corrections.clone());
    report.milliseconds.proposing = millis(record.proposing);
    report.milliseconds.verifying = millis(record.verifying);
    let summaries = compaction.view().entries().iter().zip(0u32..);
    report.summary = summaries
        .filter(|(entry, _)| entry.kind == EntryKind::Summary && entry.source.is_empty())
        .map(|(_, at)| compaction.view().text(at, None).into_owned())
        .reduce(|all, next| format!("{all}\n\n{next}"));
}

/// What was written, before it is reported.
struct Output {
    report: Written,
    remarks: Vec<String>,
    /// The session, if it goes to standard output.
    standard: Option<Vec<u8>>,
}

impl Output {
    fn into_report(self, report: &mut CompactReport) -> Option<Vec<u8>> {
        report.written = Some(self.report);
        report.remarks = self.remarks;
        self.standard
    }
}

/// Writes the new context to where the arguments say, if they say.
fn write(
    args: &CompactArgs,
    document: &Document,
    before: &View,
    after: &View,
    now: Timestamp,
) -> Result<Option<Output>, Failure> {
    let Some(file) = args.out.as_ref().or_else(|| args.in_place.then_some(&args.session.file)) else {
        return Ok(None);
    };
    let to = args.to.unwrap_or(document.format());
    let facts = WriteFacts { now, tokens_before: before.tokens(), tokens_after: after.tokens() };
    let written = if to == document.format() {
        document.write(after.entries(), &facts)
    } else {
        format::convert(after.entries(), to)
    };
    let written = written.with_context(|| format!("cannot write as {to}")).map_err(Failure::File)?;
    let mut report =
        Written { file: Some(file.display().to_string()), format: to.name(), bytes: written.bytes.len(), backup: None };
    let mut standard = None;
    if session::is_standard(file) {
        report.file = None;
        standard = Some(written.bytes);
    } else if args.in_place {
        report.backup = Some(output::replace_file(file, &written.bytes)?.display().to_string());
    } else {
        output::write_file(file, &written.bytes)?;
    }
    Ok(Some(Output { report, remarks: written.remarks, standard }))
}

/// Prints the report; to standard error where standard output is taken by the session.
fn show(args: &CompactArgs, report: &CompactReport, standard: Option<Vec<u8>>) -> Result<(), Failure> {
    let text = if args.session.json {
        pretty_json(report).map_err(|error| Failure::File(error.into()))?
    } else {
        report.for_people(args.show_summary || args.verbose)
    };
    match standard {
        Some(bytes) => {
            output::write_standard(&bytes)?;
            output::print_aside(&text)
        }
        None => output::print(&text),
    }
}
