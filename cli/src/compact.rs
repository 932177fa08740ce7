//! `ctxe compact`: read, compact, write, report.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};
use contextengine::format::{self, Document, WriteFacts};
use contextengine::hooks::{Trigger, Urgency};
use contextengine::plugin::{LogLevel, Services};
use contextengine::transcript::{EntryKind, Timestamp};
use contextengine::view::{View, ViewOptions};
use contextengine::{CompactOptions, Compacted, Compaction, Engine, Window};

use crate::args::CompactArgs;
use crate::count::count;
use crate::failure::Failure;
use crate::files;
use crate::harmless;
use crate::output::{self, To};
use crate::progress::Bar;
use crate::report::{CompactReport, Fill, Read, StrategyReport, Times, WindowReport, Written, json, millis};
use crate::session::{self, Session};
use crate::strategy::{self, Strategy};

/// Characters of one message of a strategy that are shown.
const MESSAGE: usize = 1_000;
/// Characters of what a strategy says that it is at.
const LABEL: usize = 40;

pub(crate) fn run(args: &CompactArgs) -> Result<(), Failure> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("cannot start")
        .map_err(Failure::Strategy)?;
    tokio.block_on(compact(args))
}

async fn compact(args: &CompactArgs) -> Result<(), Failure> {
    // What can be wrong with the arguments is said before the long work begins.
    check(args)?;
    let window = window(args)?;
    let found = strategy::find(&args.strategy)?;
    let (session, progress) = session::read(&args.session)?;
    let bar = progress.bar();
    let engine = strategy::engine(args, &bar)?;
    let counting = count(&session.document, engine.counter(), &bar);
    bar.stage("loading the strategy (a new one is compiled once)", None);
    let strategy = found.load(&engine, args).await?;

    bar.stage("compacting", None);
    let target = args.target.unwrap_or(window.target());
    let context = session.document.context().to_vec();
    let view = engine.view(context, ViewOptions::default().with_loop_limit(target));
    let now = now();
    let options = options(args, window, target, &view, now);
    let compacted = engine
        .compact(&strategy.plugin, &view, &options, services(&engine, args.verbose, bar.clone()))
        .await
        .map_err(|error| Failure::Strategy(error.into()))?;

    bar.stage("writing", None);
    let mut report = report(args, &session, &strategy, window, target, &view, counting);
    let writing = Instant::now();
    let written = match &compacted {
        Compacted::Unchanged { reason } => {
            report.reason = Some(reason.clone());
            // A session in its place is not touched for nothing.
            if args.in_place { None } else { write(args, &session, &view, &view, now)? }
        }
        Compacted::Done(compaction) => {
            describe(&mut report, compaction);
            write(args, &session, &view, compaction.view(), now)?
        }
    };
    report.time.writing_ms = millis(writing.elapsed());
    let standard = written.and_then(|written| written.into_report(&mut report));
    drop(progress);
    show(args, &report, standard)
}

/// Combinations that clap cannot see, and places that cannot be written to.
fn check(args: &CompactArgs) -> Result<(), Failure> {
    let file = &args.session.file;
    if args.in_place && session::is_standard(file) {
        return Err(Failure::Usage(anyhow!("--in-place needs a file, and the session is standard input; use --out")));
    }
    if args.in_place && args.to.is_some() {
        return Err(Failure::Usage(anyhow!(
            "--in-place does not go with --to: a session is not replaced by one of another format; use --out"
        )));
    }
    let Some(out) = args.out.as_ref().filter(|out| !session::is_standard(out)) else {
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
fn services(engine: &Engine, verbose: bool, bar: Bar) -> Services {
    let least = if verbose { LogLevel::Debug } else { LogLevel::Warn };
    let beside = bar.clone();
    engine
        .services()
        .with_log(move |level, message| {
            if level >= least {
                let message = harmless::short_line(message, MESSAGE);
                beside.aside(|| output::warn(&format!("strategy: {message}")));
            }
        })
        .with_progress(move |done, total, what| bar.set(done.into(), total.into(), &harmless::short_line(what, LABEL)))
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
    CompactReport::unchanged(
        Read {
            file: session.file.clone(),
            format: session.document.format().name(),
            tokenizer: args.session.tokenizer.name(),
            problems: session.document.problems().iter().map(Into::into).collect(),
        },
        StrategyReport {
            id: plugin.description().id.clone(),
            version: plugin.description().version.clone(),
            origin: strategy.origin.clone(),
            component_sha256: plugin.component_hash().to_owned(),
        },
        WindowReport {
            window_tokens: window.tokens,
            reserve_tokens: window.reserve,
            overhead_tokens: window.overhead,
            budget_tokens: window.budget(),
            target_tokens: target,
        },
        Fill::of(view),
        Times {
            reading_ms: millis(session.reading),
            counting_ms: millis(counting),
            loading_ms: millis(strategy.loading),
            proposing_ms: 0.0,
            verifying_ms: 0.0,
            writing_ms: 0.0,
        },
    )
}

fn describe(report: &mut CompactReport, compaction: &Compaction) {
    let record = compaction.record();
    report.set_compacted(Fill::of(compaction.view()), record.tally, record.corrections.clone());
    report.time.proposing_ms = millis(record.proposing);
    report.time.verifying_ms = millis(record.verifying);
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
    session: &Session,
    before: &View,
    after: &View,
    now: Timestamp,
) -> Result<Option<Output>, Failure> {
    let Some(file) = args.out.as_ref().or_else(|| args.in_place.then_some(&args.session.file)) else {
        return Ok(None);
    };
    let document: &Document = &session.document;
    let to = args.to.unwrap_or(document.format());
    let facts = WriteFacts { now, tokens_before: before.tokens(), tokens_after: after.tokens() };
    let written = if to == document.format() {
        document.write(after.entries(), &facts)
    } else {
        format::convert(after.entries(), to)
    };
    let written = written.with_context(|| format!("cannot write as {to}")).map_err(Failure::File)?;
    let mut report = Written {
        file: Some(harmless::line(&file.display().to_string())),
        format: to.name(),
        bytes: written.bytes.len(),
        backup: None,
    };
    let mut standard = None;
    if session::is_standard(file) {
        report.file = None;
        standard = Some(written.bytes);
    } else if args.in_place {
        let backup = files::replace_session(file, session.bytes, &written.bytes)?;
        report.backup = Some(harmless::line(&backup.display().to_string()));
    } else {
        files::write(file, &written.bytes, &args.session.file)?;
    }
    Ok(Some(Output { report, remarks: written.remarks, standard }))
}

/// Prints the report; to standard error where standard output is taken by the session.
fn show(args: &CompactArgs, report: &CompactReport, standard: Option<Vec<u8>>) -> Result<(), Failure> {
    let text = if args.session.json {
        json(report)?
    } else {
        harmless::text(&report.for_people(args.show_summary || args.verbose))
    };
    let Some(session) = standard else {
        return output::print(&text, To::Output);
    };
    output::print_session(&session)?;
    output::print(&text, To::Aside)
}
