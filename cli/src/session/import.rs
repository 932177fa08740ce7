//! `ctxe session import`: from a file into the store.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use contextengine::format::Document;
use contextengine::session::Session;
use contextengine::store::{NewSession, Original};
use contextengine::transcript::{Entry, EntryKind};
use contextengine::view::{View, ViewOptions};

use super::names::stored_ids;
use super::{engine, print};
use crate::args::ImportArgs;
use crate::count::count;
use crate::failure::Failure;
use crate::harmless;
use crate::input;
use crate::output::To;
use crate::report::{Fill, ImportReport, REPORT_VERSION};
use crate::store::{self, Missing};

/// Longest name, in characters.
const NAME: usize = 200;
/// Characters of the first request that become the title.
const TITLE: usize = 100;

pub(super) async fn run(args: &ImportArgs) -> Result<(), Failure> {
    let name = name(args)?;
    let (input, progress) = input::read(&args.file.file, args.file.from)?;
    let bar = progress.bar();
    let store = store::open(args.of.store.store.as_deref(), Missing::Make).await?;
    let tokenizer = args.of.tokenizer.tokenizer;
    let engine = engine(tokenizer)?;
    let document = &input.document;
    count(document.context(), engine.counter(), &bar);
    let view = engine.view(document.context().to_vec(), ViewOptions::default());

    bar.stage("writing to the store", None);
    let original = Original { format: document.format().name().to_owned(), bytes: Arc::from(&*input.bytes) };
    let mut new = NewSession::named(&name).with_original(original);
    if let Some(title) = title(&view) {
        new = new.with_title(title);
    }
    let session = Session::create(engine, Arc::clone(&store.store), new, ViewOptions::default()).await;
    let session = session.map_err(|error| store.session_failed(&name, error))?;
    if let Err(error) = session.append(entries(document)).await {
        // Half an import is none; the error that counts is the first one.
        let _ = store.store.delete(session.key()).await;
        return Err(store.session_failed(&name, error));
    }
    let mut read = input.report(tokenizer);
    read.session = Some(name);
    let report = ImportReport {
        report_version: REPORT_VERSION,
        read,
        store: store.place,
        file_bytes: input.bytes.len(),
        hidden_messages: document.earlier(),
        context: Fill::of(&view),
    };
    drop(progress);
    print(&report, || report.for_people(), args.of.tokenizer.json, To::Output)
}

/// The name that is asked for, or else the file's without its ending.
fn name(args: &ImportArgs) -> Result<String, Failure> {
    let file: &Path = &args.file.file;
    let name = match &args.name {
        Some(name) => name.clone(),
        None if input::is_standard(file) => {
            return Err(Failure::Usage(anyhow!("standard input has no name; give the session one with --name")));
        }
        None => file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
    };
    let fits = !name.is_empty() && name.chars().count() <= NAME && name == harmless::line(&name);
    if !fits || name.starts_with('-') {
        return Err(Failure::Usage(anyhow!(
            "`{}` is no name for a session: it takes 1 to {NAME} characters, no control characters, only single \
             spaces within, and no dash ahead; give one with --name",
            harmless::short_line(&name, NAME)
        )));
    }
    Ok(name)
}

/// The beginning of the first request.
fn title(view: &View) -> Option<String> {
    let at = view.infos().iter().position(|info| info.kind == EntryKind::User)?;
    let text = view.text(u32::try_from(at).ok()?, None);
    Some(harmless::short_line(&text, TITLE)).filter(|title| !title.is_empty())
}

fn entries(document: &Document) -> Vec<Entry> {
    let context = document.context();
    let renamed = context.iter().zip(stored_ids(context)).map(|(entry, id)| {
        let mut entry = Entry::clone(entry);
        entry.id = id;
        entry
    });
    renamed.collect()
}
