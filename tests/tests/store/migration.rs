//! Stores of older versions are brought up to date, and those of newer ones left alone.

use contextengine::store::{Search, SqliteOptions, SqliteStore, StateScope, Store, StoreError};
use rusqlite::Connection;

use crate::fixture::{fill, quick_store, records, says, session, text_of};

const KNOWN: u32 = 2;

fn user_version(path: &std::path::Path) -> u32 {
    Connection::open(path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    std::fs::write(&path, "").unwrap();
    let store = quick_store(&path).await;
    let key = session(&store, "s").await;
    fill(&store, key, 3, |seq| format!("entry {seq}")).await;
    assert_eq!(user_version(&path), KNOWN);
}

#[tokio::test]
async fn a_store_of_version_1_keeps_all_and_learns_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let dump = include_str!("../../fixtures/store/version-1.sql");
    Connection::open(&path).unwrap().execute_batch(dump).unwrap();
    assert_eq!(user_version(&path), 1);

    let store = quick_store(&path).await;
    assert_eq!(user_version(&path), KNOWN);
    let info = store.open("old").await.unwrap();
    assert_eq!((info.title.as_deref(), info.head.last_seq.0), (Some("An old session"), 5));
    assert_eq!(&*store.original(info.key).await.unwrap().unwrap().bytes, b"[]");
    assert!(store.check(info.key).await.unwrap().is_sound());
    let there = records(&store, info.key).await;
    assert!(text_of(&there[1]).contains("缓存按内容键控"), "{:?}", there[1]);
    assert_eq!(info.head.compaction.as_ref(), Some(&there[3].id));
    let found = store.search(Search::new(info.key, "内容")).await.unwrap();
    assert_eq!(found.hits[0].id, there[1].id);
    store.set_state("p", StateScope::Session(info.key), "k", b"v").await.unwrap();
    store.append(info.key, vec![says("new", info.head.leaf.as_ref(), "it goes on")]).await.unwrap();

    // Opened once more, nothing is done again.
    drop(store);
    let store = quick_store(&path).await;
    assert_eq!(records(&store, info.key).await.len(), 6);
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(quick_store(&path).await);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = SqliteStore::open(&path, SqliteOptions::default()).await.unwrap_err();
    assert_eq!(error, StoreError::NewerSchema { found: 99, known: KNOWN });
    assert!(error.to_string().contains("schema 99, this program knows up to 2"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = quick_store(&path).await;
    session(&store, "s").await;
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} has mode {mode:o}");
    }
}
