//! `ctxe session`: sessions in a store.

pub(crate) mod export;
mod import;
mod log;
mod names;
mod search;

use anyhow::Context;
use contextengine::Engine;
use contextengine::format::Format;
use contextengine::session::SessionError;
use contextengine::store::SessionInfo;
use contextengine::tokens::{TiktokenCounter, Vocabulary};
use contextengine::view::ViewOptions;
use serde::Serialize;

use crate::args::{PlainArgs, SessionCommand, ShowArgs, UndoArgs};
use crate::failure::Failure;
use crate::harmless;
use crate::inspect;
use crate::output::{self, To};
use crate::progress::Progress;
use crate::report::{Fill, ListReport, Listed, REPORT_VERSION, Read, ShowReport, UndoReport, json};
use crate::store::{self, Missing};

pub(crate) fn run(command: &SessionCommand) -> Result<(), Failure> {
    block_on(async {
        match command {
            SessionCommand::Import(args) => import::run(args).await,
            SessionCommand::List(args) => list(args).await,
            SessionCommand::Show(args) => show(args).await,
            SessionCommand::Log(args) => log::run(args).await,
            SessionCommand::Search(args) => search::run(args).await,
            SessionCommand::Undo(args) => undo(args).await,
            SessionCommand::Export(args) => export::run(args).await,
        }
    })
}

/// Runs the work of a command.
pub(crate) fn block_on(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start")
        .map_err(Failure::Strategy)?;
    tokio.block_on(work)
}

/// An engine that runs no strategy.
fn engine(tokenizer: Vocabulary) -> Result<Engine, Failure> {
    let built = Engine::builder().counter(TiktokenCounter::new(tokenizer)).build();
    built.map_err(|error| Failure::Strategy(error.into()))
}

/// What a report says of a session of the store.
pub(crate) fn stored_read(info: &SessionInfo, tokenizer: Vocabulary) -> Read {
    Read {
        file: None,
        session: Some(info.name.clone()),
        format: store::format_of(info).map(Format::name),
        tokenizer: tokenizer.name(),
        problems: Vec::new(),
    }
}

/// Prints a report, for programs or for people.
fn print(report: &impl Serialize, people: impl FnOnce() -> String, as_json: bool, to: To) -> Result<(), Failure> {
    let text = if as_json { json(report)? } else { harmless::text(&people()) };
    output::print(&text, to)
}

async fn list(args: &PlainArgs) -> Result<(), Failure> {
    let store = store::open(args.store.store.as_deref(), Missing::Refuse).await?;
    let sessions = store.store.list().await.map_err(|error| store.failed(error))?;
    let sessions = sessions.into_iter().map(|info| Listed {
        session: info.name,
        format: info.format,
        title: info.title,
        created_ms: info.created.0,
        logged_entries: info.head.depth,
        compaction_id: info.head.compaction.map(|id| id.to_string()),
    });
    let report = ListReport { report_version: REPORT_VERSION, sessions: sessions.collect(), store: store.place };
    print(&report, || report.for_people(), args.json, To::Output)
}

async fn show(args: &ShowArgs) -> Result<(), Failure> {
    let store = store::open(args.of.store.store.as_deref(), Missing::Refuse).await?;
    let progress = Progress::start("reading the session");
    let tokenizer = args.of.tokenizer.tokenizer;
    let engine = engine(tokenizer)?;
    let (info, session) = store.session(&engine, &args.name, ViewOptions::default()).await?;
    progress.bar().stage("counting tokens", None);
    let context = inspect::context(&session.view(), args.window, args.largest);
    let history = session.history().await.map_err(|error| store.session_failed(&args.name, error))?;
    let report = ShowReport {
        report_version: REPORT_VERSION,
        read: stored_read(&info, tokenizer),
        logged_entries: info.head.depth,
        compactions: history.iter().map(|record| record.id.to_string()).collect(),
        context,
    };
    drop(progress);
    print(&report, || report.for_people(), args.of.tokenizer.json, To::Output)
}

async fn undo(args: &UndoArgs) -> Result<(), Failure> {
    let store = store::open(args.of.store.store.as_deref(), Missing::Refuse).await?;
    let progress = Progress::start("reading the session");
    let tokenizer = args.of.tokenizer.tokenizer;
    let engine = engine(tokenizer)?;
    let (_, session) = store.session(&engine, &args.name, ViewOptions::default()).await?;
    let before = Fill::of(&session.view());
    let undone = match session.undo().await {
        Ok(id) => Some(id.to_string()),
        Err(SessionError::NothingToUndo) => None,
        Err(error) => return Err(store.session_failed(&args.name, error)),
    };
    let report = UndoReport {
        report_version: REPORT_VERSION,
        session: args.name.clone(),
        tokenizer: tokenizer.name(),
        undone_compaction_id: undone,
        compaction_id: session.status().compaction.map(|id| id.to_string()),
        before,
        after: Fill::of(&session.view()),
    };
    drop(progress);
    print(&report, || report.for_people(), args.of.tokenizer.json, To::Output)
}
