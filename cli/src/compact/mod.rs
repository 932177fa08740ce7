//! `ctxe compact`: compact a session of a file or of the store, and report.

mod file;
mod settings;
mod stored;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use contextengine::config::{Config, Given};
use contextengine::plugin::{LogLevel, Services};
use contextengine::slots::{Binding, Origin, Slot};
use contextengine::store::PassedOver;
use contextengine::transcript::{EntryId, EntryKind};
use contextengine::view::{View, ViewOptions};
use contextengine::{Compaction, Engine, Setup};

use crate::args::CompactArgs;
use crate::failure::Failure;
use crate::output::{self, To};
use crate::progress::Bar;
use crate::report::{CompactReport, Fill, PassedOverReport, Read, StrategyReport, Times, WindowReport, json, millis};
use crate::strategy::{self, Found};
use crate::{config, events, harmless};

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

/// What is known before the session is read: wrong arguments and settings are told before the long work begins.
struct Task<'a> {
    args: &'a CompactArgs,
    config: Config,
    /// Where the command line decides on the strategy.
    named: Option<Found>,
}

impl<'a> Task<'a> {
    fn new(args: &'a CompactArgs) -> Result<Self, Failure> {
        let config = settings::load(args)?;
        let named = settings::strategy(args, &config)?;
        let named = named.map(|name| strategy::find(name, args, &config)).transpose()?;
        Ok(Self { args, config, named })
    }

    fn engine(&self, bar: &Bar) -> Result<Engine, Failure> {
        strategy::engine_of(self.config.tokenizer(), !self.args.no_cache, bar)
    }

    fn target(&self) -> u32 {
        self.config.target().unwrap_or(self.config.window().target())
    }

    fn view_options(&self) -> ViewOptions {
        ViewOptions::default().with_loop_limit(self.target())
    }

    async fn load(self, engine: &Engine, bar: &Bar) -> Result<Ready<'a>, Failure> {
        bar.stage("loading the strategy (a new one is compiled once)", None);
        let started = Instant::now();
        let Self { args, config, named } = self;
        let mut given = Given::default();
        let mut origin = None;
        if let Some(found) = named {
            origin = Some(found.origin.clone());
            let plugin = found.load(engine).await?;
            let claimed = given.slots.claim(Slot::Compress, &plugin, Origin::Argument("--strategy".to_owned()));
            claimed.map_err(|error| Failure::Strategy(error.into()))?;
        }
        let setup = config.assemble_with(engine, &config::BuiltIn, given).await;
        let setup = setup.map_err(|error| config::wrong(&error))?;
        Ok(Ready { args, config, setup, origin, loading: started.elapsed() })
    }
}

/// The same, with everything loaded.
struct Ready<'a> {
    args: &'a CompactArgs,
    config: Config,
    setup: Setup,
    /// Where the strategy of the command line comes from.
    origin: Option<String>,
    loading: Duration,
}

impl Ready<'_> {
    fn target(&self) -> u32 {
        self.setup.target.unwrap_or(self.setup.window.target())
    }

    /// Warnings of a strategy are always shown, the rest when asked for; progress when it takes long.
    fn services(&self, engine: &Engine, bar: &Bar) -> Services {
        let least = if self.args.verbose { LogLevel::Debug } else { LogLevel::Warn };
        let (beside, bar) = (bar.clone(), bar.clone());
        let mut services = engine
            .services()
            .with_log(move |level, message| {
                if level >= least {
                    let message = harmless::short_line(message, MESSAGE);
                    beside.aside(|| output::warn(&format!("strategy: {message}")));
                }
            })
            .with_progress(move |done, total, what| {
                bar.set(done.into(), total.into(), &harmless::short_line(what, LABEL));
            });
        services.model.clone_from(&self.setup.model);
        services
    }

    /// Does the work, and shows what happens meanwhile where that was asked for.
    async fn watched<R>(&self, engine: &Engine, bar: &Bar, work: impl Future<Output = R>) -> R {
        if self.args.verbose { events::shown(engine.events(), bar, work).await } else { work.await }
    }

    /// The strategy of this id, or else the one that is asked first.
    fn strategy(&self, id: Option<&str>) -> StrategyReport {
        let bindings = self.setup.slots.bindings(Slot::Compress);
        let binding = bindings.iter().find(|binding| Some(binding.id()) == id).or(bindings.first());
        let Some(plugin) = binding.map(Binding::plugin) else { return StrategyReport::default() };
        let description = plugin.description();
        let path = self.config.plugins().get(&description.id).and_then(|table| table.path.as_ref());
        let configured = || path.map_or("built-in".to_owned(), |path| path.display().to_string());
        StrategyReport {
            id: description.id.clone(),
            version: description.version.clone(),
            origin: self.origin.clone().unwrap_or_else(configured),
            component_sha256: plugin.component_hash().to_owned(),
        }
    }

    /// The report of a session before anything was done to it.
    fn report(&self, read: Read, view: &View, reading: Duration, counting: Duration) -> CompactReport {
        let window = self.setup.window;
        CompactReport::unchanged(
            read,
            self.strategy(None),
            WindowReport {
                window_tokens: window.tokens,
                reserve_tokens: window.reserve,
                overhead_tokens: window.overhead,
                budget_tokens: window.budget(),
                target_tokens: self.target(),
            },
            Fill::of(view),
            Times {
                reading_ms: millis(reading),
                counting_ms: millis(counting),
                loading_ms: millis(self.loading),
                proposing_ms: 0.0,
                verifying_ms: 0.0,
                writing_ms: 0.0,
            },
        )
    }

    /// Adds who wrote, who was asked before, and how often all of them asked a model.
    fn describe_owner(&self, report: &mut CompactReport, owner: &str, passed_over: &[PassedOver], model_calls: u32) {
        report.model_calls = model_calls;
        report.strategy = self.strategy(Some(owner));
        report.passed_over = PassedOverReport::all(passed_over);
    }
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
    let text =
        if args.json { json(report)? } else { harmless::text(&report.for_people(args.show_summary || args.verbose)) };
    let Some(session) = standard else {
        return output::print(&text, To::Output);
    };
    output::print_session(session)?;
    output::print(&text, To::Aside)
}
