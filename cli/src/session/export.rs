//! `ctxe session export`: from the store to a file.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use contextengine::Engine;
use contextengine::format::{self, Document, Format, WriteFacts};
use contextengine::session::Session;
use contextengine::store::{ContextItem, LogBody, LogRecord, SessionInfo, StoreError};
use contextengine::transcript::{Entry, EntryId, EntryKind, Timestamp};
use contextengine::view::{View, ViewOptions};

use super::names::stored_ids;
use super::{engine, print, stored_read};
use crate::args::ExportArgs;
use crate::failure::Failure;
use crate::files;
use crate::input;
use crate::output::{self, To};
use crate::progress::Progress;
use crate::report::{ExportReport, Fill};
use crate::store::{self, Missing, Opened};

/// A session as a file.
pub(crate) struct Exported {
    pub(crate) format: Format,
    pub(crate) bytes: Vec<u8>,
    pub(crate) remarks: Vec<String>,
}

pub(super) async fn run(args: &ExportArgs) -> Result<(), Failure> {
    let out = args.out.as_deref().unwrap_or(Path::new("-"));
    if !input::is_standard(out) {
        files::check_place(out)?;
    }
    let store = store::open(args.of.store.store.as_deref(), Missing::Refuse).await?;
    let progress = Progress::start("reading the session");
    let tokenizer = args.of.tokenizer.tokenizer;
    let engine = engine(tokenizer)?;
    let (info, session) = store.session(&engine, &args.name, ViewOptions::default()).await?;
    let exported = write(&store, &info, &session, &engine, args.to).await?;
    let placed = files::place(out, exported.bytes, exported.format, None)?;
    let read = stored_read(&info, tokenizer);
    let report = ExportReport::new(read, Fill::of(&session.view()), placed.report, exported.remarks);
    drop(progress);
    let to = match &placed.standard {
        Some(bytes) => {
            output::print_session(bytes)?;
            To::Aside
        }
        None => To::Output,
    };
    print(&report, || report.for_people(), args.of.tokenizer.json, to)
}

/// The session as the model sees it now. In its own format, that is the file that was imported with what compactions
/// changed in it; what that cannot say, and any other format, is a fresh session.
pub(crate) async fn write(
    store: &Opened,
    info: &SessionInfo,
    session: &Session,
    engine: &Engine,
    to: Option<Format>,
) -> Result<Exported, Failure> {
    let own = store::format_of(info);
    let Some(format) = to.or(own) else {
        return Err(Failure::Usage(anyhow!(
            "the session was read from no file, so that it has no format of its own; name one with --to"
        )));
    };
    let view = session.view();
    let mut remarks = Vec::new();
    if own == Some(format) {
        let history = session.history().await.map_err(|error| store.session_failed(&info.name, error))?;
        match original(store, info).await? {
            Ok(document) => match rewrite(&document, &view, &history, engine) {
                Ok(exported) => return Ok(exported),
                Err(why) => remarks.push(format!("this is a fresh session, not the imported file with changes: {why}")),
            },
            Err(why) => remarks.push(format!("this is a fresh session, as {why}")),
        }
    }
    let written = format::convert(view.entries(), format);
    let written = written.with_context(|| format!("cannot write as {format}")).map_err(Failure::File)?;
    remarks.extend(written.remarks);
    Ok(Exported { format, bytes: written.bytes, remarks })
}

/// The file that was imported, or why it cannot be had: a damaged one does not keep the session from being written.
async fn original(store: &Opened, info: &SessionInfo) -> Result<Result<Document, String>, Failure> {
    let original = match store.store.original(info.key).await {
        Ok(Some(original)) => original,
        Ok(None) => return Ok(Err("the store does not hold the file that it was read from".to_owned())),
        Err(error @ StoreError::Corrupt { .. }) => {
            return Ok(Err(format!("the imported file cannot be read: {error}")));
        }
        Err(error) => return Err(store.failed(error)),
    };
    let document = Document::read_bytes(&original.bytes, store::format_of(info));
    Ok(document.map_err(|error| format!("the imported file cannot be read: {error}")))
}

/// The file with what compactions changed. An error says what the file has no way to hold.
fn rewrite(document: &Document, view: &View, history: &[LogRecord], engine: &Engine) -> Result<Exported, String> {
    let context = in_terms_of(document, view, history);
    let before = engine.view(document.context().to_vec(), ViewOptions::default());
    let facts = WriteFacts {
        // The time of what is written, so that the same session gives the same file.
        now: history.first().map_or(Timestamp(0), |newest| newest.at),
        tokens_before: before.tokens(),
        tokens_after: view.tokens(),
    };
    let written = document.write(&context, &facts).map_err(|error| error.to_string())?;
    Ok(Exported { format: document.format(), bytes: written.bytes, remarks: written.remarks })
}

/// The entries of the view as the document has them. What a compaction wrote stands for entries of the document, also
/// where it covers what an earlier one wrote.
fn in_terms_of(document: &Document, view: &View, history: &[LogRecord]) -> Vec<Arc<Entry>> {
    let context = document.context();
    let originals: HashMap<EntryId, &Arc<Entry>> = stored_ids(context).into_iter().zip(context).collect();
    let covers = covers(history);
    let translate = |entry: &Arc<Entry>| match originals.get(&entry.id) {
        Some(original) if original.kind == entry.kind && original.blocks == entry.blocks => Arc::clone(original),
        Some(original) => {
            let mut edited = Entry::clone(entry);
            edited.id = original.id.clone();
            edited.source.clone_from(&original.source);
            edited.replaces = vec![Arc::clone(original)];
            Arc::new(edited)
        }
        None => {
            let mut made = Entry::clone(entry);
            made.replaces = originals_behind(&entry.id, &covers, &originals);
            Arc::new(made)
        }
    };
    view.entries().iter().map(translate).collect()
}

/// What each summary that a compaction wrote stands for.
fn covers(history: &[LogRecord]) -> HashMap<&EntryId, &[EntryId]> {
    let commits = history.iter().filter_map(|record| match &record.body {
        LogBody::Compaction(commit) => Some(commit),
        _ => None,
    });
    let written = commits.flat_map(|commit| &commit.context).filter_map(|item| match item {
        ContextItem::Written { id, entry, .. } if entry.kind == EntryKind::Summary => Some((id, &*entry.replaces)),
        _ => None,
    });
    written.collect()
}

/// The entries of the document that a summary stands for, in order, through the summaries that it covers.
fn originals_behind(
    id: &EntryId,
    covers: &HashMap<&EntryId, &[EntryId]>,
    originals: &HashMap<EntryId, &Arc<Entry>>,
) -> Vec<Arc<Entry>> {
    let mut behind = Vec::new();
    let mut open: Vec<&EntryId> = vec![id];
    let mut seen = HashSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        if let Some(original) = originals.get(id) {
            behind.push(Arc::clone(original));
        } else if let Some(covered) = covers.get(id) {
            open.extend(covered.iter().rev());
        }
    }
    behind
}
