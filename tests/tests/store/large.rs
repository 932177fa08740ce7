//! The length of a session costs nothing: not when it is opened, and not when it is appended to.

use std::time::Instant;

use contextengine::store::{Page, Search, SessionKey, SqliteStore, Store, Work};

use crate::fixture::{fill, quick_store, says, session};

const ENTRIES: u64 = 100_000;

fn text(seq: u64) -> String {
    format!("entry {seq} reads crates/parser/src/node_{}.rs and says 缓存 {}", seq % 97, "and more ".repeat(20))
}

/// The work of something, in statements and steps of SQLite.
async fn work_of<T>(store: &SqliteStore, what: impl Future<Output = T>) -> (Work, T) {
    let before = store.work();
    let value = what.await;
    let mut after = store.work();
    after.statements -= before.statements;
    after.steps -= before.steps;
    (after, value)
}

struct Figures {
    open: Work,
    append: Work,
    compaction_check: Work,
}

async fn measure(store: &SqliteStore, key: SessionKey) -> Figures {
    let start = Instant::now();
    let (open, info) = work_of(store, async {
        let info = store.open("s").await.unwrap();
        assert_eq!(store.page(info.key, Page::Newest, 50).await.unwrap().intact().unwrap().len(), 50);
        info
    })
    .await;
    let opened = start.elapsed();
    let start = Instant::now();
    let (append, ()) = work_of(store, fill(store, key, 1, text)).await;
    let appended = start.elapsed();
    // A compaction that is frozen five entries ago looks at these five.
    let lease = store.acquire(key, "tester", std::time::Duration::from_secs(600)).await.unwrap();
    let frozen = store.head(key).await.unwrap();
    fill(store, key, 5, text).await;
    let commit = crate::fixture::compaction(&frozen, lease.token, 1);
    let id = contextengine::transcript::EntryId::new(format!("c{}", frozen.last_seq));
    let at = contextengine::transcript::Timestamp(0);
    let (compaction_check, _) = work_of(store, async { store.commit(key, id, at, commit).await.unwrap() }).await;
    store.release(&lease).await.unwrap();
    println!(
        "{} entries: head and last page in {opened:?} ({open:?}), one append in {appended:?} ({append:?})",
        info.head.depth
    );
    Figures { open, append, compaction_check }
}

#[tokio::test]
async fn a_session_of_a_hundred_thousand_entries_costs_what_a_short_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = quick_store(&path).await;
    let key = session(&store, "s").await;
    fill(&store, key, 1_000, text).await;
    // Twice: the first compaction has none before it to compare with.
    measure(&store, key).await;
    let short = measure(&store, key).await;
    let start = Instant::now();
    while store.head(key).await.unwrap().depth < ENTRIES {
        fill(&store, key, 1_000, text).await;
    }
    println!("filled to {ENTRIES} entries in {:?}", start.elapsed());
    let long = measure(&store, key).await;
    for (what, short, long) in [
        ("open", short.open, long.open),
        ("append", short.append, long.append),
        ("commit", short.compaction_check, long.compaction_check),
    ] {
        assert_eq!(short, long, "{what}");
        assert!(long.steps < 10_000, "{what}: {long:?}");
    }
    drop(store);

    let start = Instant::now();
    let store = quick_store(&path).await;
    let info = store.open("s").await.unwrap();
    let page = store.page(info.key, Page::Newest, 50).await.unwrap().intact().unwrap();
    println!("opened the file, the session and its last {} records in {:?}", page.len(), start.elapsed());
}

#[tokio::test]
async fn indexing_keeps_out_of_the_way_of_an_append() {
    let folder = tempfile::tempdir().unwrap();
    let store = quick_store(&folder.path().join("store.db")).await;
    let key = session(&store, "s").await;
    fill(&store, key, 1_000, text).await;
    // An append does nothing for the index, whether or not it is up to date.
    let (behind, ()) = work_of(&store, fill(&store, key, 1, text)).await;
    let start = Instant::now();
    while store.index_pending(500).await.unwrap().pending > 0 {}
    println!("indexed 1,000 entries in {:?}", start.elapsed());
    let (first, ()) = work_of(&store, fill(&store, key, 1, text)).await;
    assert!(first.steps <= behind.steps + 20, "{behind:?} {first:?}");

    // While a long run of indexing goes on, appends get in between its steps.
    store.reset_index().await.unwrap();
    let indexer = tokio::spawn({
        let store = store.clone();
        async move { store.index_pending(u32::MAX).await.unwrap() }
    });
    let mut appended = 0;
    while !indexer.is_finished() {
        let leaf = store.head(key).await.unwrap().leaf;
        let id = format!("x{appended}");
        store.append(key, vec![says(&id, leaf.as_ref(), "in between")]).await.unwrap();
        appended += 1;
    }
    indexer.await.unwrap();
    println!("{appended} appends while 1,000 entries were indexed");
    assert!(appended >= 3, "{appended}");

    let start = Instant::now();
    let found = store.search(Search::new(key, "缓存 node_13.rs")).await.unwrap();
    println!("found {} in {:?}", found.hits.len(), start.elapsed());
    assert_eq!(found.hits.len(), 10);
}

#[tokio::test]
async fn two_that_index_at_once_index_each_record_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (one, two) = (quick_store(&path).await, quick_store(&path).await);
    let key = session(&one, "s").await;
    fill(&one, key, 600, text).await;
    let both =
        [one.clone(), two].map(|store| tokio::spawn(async move { store.index_pending(u32::MAX).await.unwrap() }));
    for indexer in both {
        assert_eq!(indexer.await.unwrap().pending, 0);
    }
    let found = one.search(Search::new(key, "parser").with_limit(2_000)).await.unwrap();
    assert_eq!((found.hits.len(), found.unindexed), (600, 0));
}
