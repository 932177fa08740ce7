//! Figures on which decisions were made: what syncing costs, and what each way of indexing words costs and finds.
//!
//! `cargo test --release --test store figures -- --ignored --nocapture`

use std::time::{Duration, Instant};

use contextengine::store::recall::{self, Query};
use contextengine::store::{Durability, Page, Search, SqliteOptions, SqliteStore, Store};
use contextengine::transcript::{Block, Entry, EntryId, Timestamp};
use contextengine_tests::generate;
use rusqlite::Connection;

use crate::fixture::session;

const ENTRIES: usize = 20_000;
const BYTES: usize = 33_000_000;

fn micros(time: Duration, count: usize) -> u128 {
    time.as_micros() / u128::try_from(count).unwrap()
}

async fn append_one_by_one(name: &str, durability: Durability, entries: &[Entry]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions::default().with_durability(durability);
    let store = SqliteStore::open(folder.path().join("store.db"), options).await.unwrap();
    let key = session(&store, "s").await;
    let mut parent: Option<EntryId> = None;
    let mut slowest = Duration::ZERO;
    let start = Instant::now();
    for entry in entries {
        let mut entry = entry.clone();
        entry.parent = parent.replace(entry.id.clone());
        let record = contextengine::store::NewRecord::entry(&entry, Timestamp(0));
        let one = Instant::now();
        store.append(key, vec![record]).await.unwrap();
        slowest = slowest.max(one.elapsed());
    }
    println!(
        "{name}: {} us an append, the slowest {slowest:?} ({} entries)",
        micros(start.elapsed(), entries.len()),
        entries.len()
    );
    folder
}

#[tokio::test]
#[ignore = "prints figures; run it in release mode"]
async fn what_appending_and_searching_cost() {
    let entries = generate::session(ENTRIES, BYTES);
    append_one_by_one("durable over a loss of power", Durability::Power, &entries[..1_000]).await;
    let folder = append_one_by_one("durable over the end of the process", Durability::Process, &entries).await;
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path, SqliteOptions::default()).await.unwrap();
    let key = store.open("s").await.unwrap().key;
    let start = Instant::now();
    let mut page = Some(Page::Newest);
    let mut read = 0;
    while let Some(at) = page {
        let records = store.page(key, at, 1_000).await.unwrap();
        page = records.next;
        read += records.intact().unwrap().len();
    }
    println!("read all {read} records in {:?}", start.elapsed());
    let start = Instant::now();
    let mut indexed = 0;
    loop {
        let step = store.index_pending(2_000).await.unwrap();
        indexed += step.done;
        if step.pending == 0 {
            break;
        }
    }
    println!("indexed: {} us a record", micros(start.elapsed(), usize::try_from(indexed).unwrap()));
    for query in ["E0308", "缓存", "键", "crates/parser/src/kernel.rs", "必须一致 ledger"] {
        let start = Instant::now();
        let found = store.search(Search::new(key, query)).await.unwrap();
        println!("  `{query}`: {} hits in {:?}", found.hits.len(), start.elapsed());
    }
    let start = Instant::now();
    assert!(store.check(key).await.unwrap().is_sound());
    println!("checked in {:?}", start.elapsed());
    drop(store);
    println!("the file has {} MB", std::fs::metadata(&path).unwrap().len() / 1_000_000);
}

fn text(entry: &Entry) -> String {
    let pieces = entry.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.clone()),
        Block::ToolResult(result) => Some(result.text.clone()),
        Block::ToolCall(call) => Some(format!("{}({})", call.name, call.arguments)),
        _ => None,
    });
    pieces.collect::<Vec<_>>().join("\n")
}

/// What the pairs of this store cost, and the tokenizers that SQLite comes with, on the same texts.
#[test]
#[ignore = "prints figures; run it in release mode"]
fn what_other_ways_of_indexing_cost() {
    let texts: Vec<String> = generate::session(ENTRIES, BYTES).iter().map(text).collect();
    let start = Instant::now();
    let pairs: Vec<String> = texts.iter().map(|text| recall::index_text(text)).collect();
    println!("cutting into words and pairs: {} us a record", micros(start.elapsed(), texts.len()));
    for (tokenizer, texts) in [("unicode61", &texts), ("trigram", &texts), ("ascii", &pairs)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let mut conn = Connection::open(&path).unwrap();
        conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        conn.execute_batch(&format!(
            "CREATE VIRTUAL TABLE t USING fts5 (w, content = '', contentless_delete = 1, tokenize = '{tokenizer}')"
        ))
        .unwrap();
        let start = Instant::now();
        for chunk in texts.chunks(64) {
            let transaction = conn.transaction().unwrap();
            for text in chunk {
                transaction.prepare_cached("INSERT INTO t (w) VALUES (?1)").unwrap().execute([text]).unwrap();
            }
            transaction.commit().unwrap();
        }
        let took = micros(start.elapsed(), texts.len());
        let hits = |query: &str| -> i64 {
            let query = if tokenizer == "ascii" { Query::parse(query).fts5("AND") } else { format!("\"{query}\"") };
            conn.query_row("SELECT count(*) FROM t WHERE t MATCH ?1", [query], |row| row.get(0)).unwrap()
        };
        let found = ["必须一致", "缓存", "键"].map(|query| (query, hits(query)));
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        let size = std::fs::metadata(&path).unwrap().len() / 1_000_000;
        println!("{tokenizer}: {took} us a record, {size} MB, found {found:?}");
    }
}
