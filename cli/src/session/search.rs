//! `ctxe session search`: what was said, also what was compacted away.

use std::collections::HashMap;

use contextengine::store::Search;

use super::print;
use crate::args::SearchArgs;
use crate::failure::Failure;
use crate::output::To;
use crate::progress::Progress;
use crate::report::{HitReport, REPORT_VERSION, SearchReport};
use crate::store::{self, Missing, Opened};

/// Records that are indexed between two pictures of the progress.
const BATCH: u32 = 500;

pub(super) async fn run(args: &SearchArgs) -> Result<(), Failure> {
    let store = store::open(args.of.store.store.as_deref(), Missing::Refuse).await?;
    let session = match &args.session {
        Some(name) => Some(store.info(name).await?.key),
        None => None,
    };
    let progress = Progress::start("indexing");
    index(&store, &progress).await?;
    progress.bar().stage("searching", None);
    let mut search = Search::everywhere(args.text.as_str()).with_limit(args.limit);
    search.session = session;
    let found = store.store.search(search).await.map_err(|error| store.failed(error))?;
    let all = store.store.list().await.map_err(|error| store.failed(error))?;
    let names: HashMap<_, _> = all.into_iter().map(|info| (info.key, info.name)).collect();
    let hits = found.hits.into_iter().map(|hit| HitReport {
        session: names.get(&hit.session).cloned().unwrap_or_default(),
        entry_id: hit.id.to_string(),
        kind: hit.kind.into(),
        snippet: hit.snippet,
    });
    let report = SearchReport {
        report_version: REPORT_VERSION,
        text: args.text.clone(),
        hits: hits.collect(),
        unindexed_records: found.unindexed,
        store: store.place,
    };
    drop(progress);
    print(&report, || report.for_people(), args.of.json, To::Output)
}

/// Brings everything into the index: most of the time that is nothing.
async fn index(store: &Opened, progress: &Progress) -> Result<(), Failure> {
    let mut done = 0;
    loop {
        let indexed = store.store.index_pending(BATCH).await.map_err(|error| store.failed(error))?;
        done += indexed.done;
        if indexed.pending == 0 || indexed.done == 0 {
            return Ok(());
        }
        progress.bar().set(done, done + indexed.pending, "indexing");
    }
}
