//! `ctxe compact`: compact a session of a file or of the store, and report.

mod file;
mod stored;

use std::collections::HashSet;
use std::time::Duration;

use anyhow::anyhow;
use contextengine::plan::SummaryGate;
use contextengine::plugin::{LogLevel, Services};
use contextengine::transcript::{EntryId, EntryKind};
use contextengine::view::{View, ViewOptions};
use contextengine::{Compaction, Engine, Window};

use crate::args::CompactArgs;
use crate::failure::Failure;
use crate::harmless;
use crate::output::{self, To};
use crate::progress::Bar;
use crate::report::{CompactReport, Fill, Read, StrategyReport, Times, WindowReport, json, millis};
use crate::strategy::{self, Found, Strategy};

/// Characters of one message of a strategy that are shown.
const MESSAGE: usize = 1_000;
/// Characters of what a strategy says that it is at.
const LABEL: usize = 40;

pub(crate) fn run(args: &CompactArgs) -> Result<(), Failure> {
    crate::session::block_on(async {
        match (&args.session, &args.file) {
            (Some(name), _) => stored::compact(args, name).await,
            (None, Some(file)) => file::compact(args, file).await,
            (None, None) => Err(Failure::Usage(anyhow!("no session is named: give a FILE, or --session NAME"))),
        }
    })
}

/// What is known before the session is read: wrong arguments are told before the long work begins.
struct Task<'a> {
    args: &'a CompactArgs,
    window: Window,
    /// Tokens to aim at.
    target: u32,
    strategy: Found,
}

impl<'a> Task<'a> {
    fn new(args: &'a CompactArgs) -> Result<Self, Failure> {
        let window = window(args)?;
        let target = args.target.unwrap_or(window.target());
        Ok(Self { args, window, target, strategy: strategy::find(&args.strategy)? })
    }

    fn view_options(&self) -> ViewOptions {
        ViewOptions::default().with_loop_limit(self.target)
    }

    async fn load(self, engine: &Engine, bar: &Bar) -> Result<Ready<'a>, Failure> {
        bar.stage("loading the strategy (a new one is compiled once)", None);
        let strategy = self.strategy.load(engine, self.args).await?;
        Ok(Ready { args: self.args, window: self.window, target: self.target, strategy })
    }
}

/// The same, with the strategy loaded.
struct Ready<'a> {
    args: &'a CompactArgs,
    window: Window,
    target: u32,
    strategy: Strategy,
}

impl Ready<'_> {
    /// What is asked of summaries.
    fn gate(&self) -> SummaryGate {
        SummaryGate::new(self.args.gate).with_sections(self.args.section.iter().cloned())
    }

    /// Warnings of a strategy are always shown, the rest when asked for; progress when it takes long.
    fn services(&self, engine: &Engine, bar: &Bar) -> Services {
        let least = if self.args.verbose { LogLevel::Debug } else { LogLevel::Warn };
        let (beside, bar) = (bar.clone(), bar.clone());
        engine
            .services()
            .with_log(move |level, message| {
                if level >= least {
                    let message = harmless::short_line(message, MESSAGE);
                    beside.aside(|| output::warn(&format!("strategy: {message}")));
                }
            })
            .with_progress(move |done, total, what| {
                bar.set(done.into(), total.into(), &harmless::short_line(what, LABEL));
            })
    }

    /// The report of a session before anything was done to it.
    fn report(&self, read: Read, view: &View, reading: Duration, counting: Duration) -> CompactReport {
        let plugin = &self.strategy.plugin;
        CompactReport::unchanged(
            read,
            StrategyReport {
                id: plugin.description().id.clone(),
                version: plugin.description().version.clone(),
                origin: self.strategy.origin.clone(),
                component_sha256: plugin.component_hash().to_owned(),
            },
            WindowReport {
                window_tokens: self.window.tokens,
                reserve_tokens: self.window.reserve,
                overhead_tokens: self.window.overhead,
                budget_tokens: self.window.budget(),
                target_tokens: self.target,
            },
            Fill::of(view),
            Times {
                reading_ms: millis(reading),
                counting_ms: millis(counting),
                loading_ms: millis(self.strategy.loading),
                proposing_ms: 0.0,
                verifying_ms: 0.0,
                writing_ms: 0.0,
            },
        )
    }
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

/// Adds what a compaction of `before` did.
fn describe(report: &mut CompactReport, before: &View, compaction: &Compaction) {
    let record = compaction.record();
    report.set_compacted(Fill::of(compaction.view()), record.tally, record.corrections.clone());
    report.time.proposing_ms = millis(record.proposing);
    report.time.verifying_ms = millis(record.verifying);
    let old: HashSet<&EntryId> = before.entries().iter().map(|entry| &entry.id).collect();
    let entries = compaction.view().entries().iter().zip(0u32..);
    report.summary = entries
        .filter(|(entry, _)| entry.kind == EntryKind::Summary && !old.contains(&entry.id))
        .map(|(_, at)| compaction.view().text(at, None).into_owned())
        .reduce(|all, next| format!("{all}\n\n{next}"));
}

/// Prints the report; to standard error where standard output is taken by the session.
fn show(args: &CompactArgs, report: &CompactReport, standard: Option<&[u8]>) -> Result<(), Failure> {
    let text = if args.tokenizer.json {
        json(report)?
    } else {
        harmless::text(&report.for_people(args.show_summary || args.verbose))
    };
    let Some(session) = standard else {
        return output::print(&text, To::Output);
    };
    output::print_session(session)?;
    output::print(&text, To::Aside)
}
