//! Two processes compact one session, and append to it.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use contextengine::store::{LogBody, SqliteOptions, SqliteStore, Store, StoreError};
use contextengine::transcript::{EntryId, Timestamp};

use crate::fixture::{compaction, fill, quick_store, records, says, session, spawn_test};

const CHILD: &str = "contention::child_that_compacts";
const COMPACTIONS: u32 = 12;

#[test]
#[ignore = "run by the test beside it, in a process of its own"]
fn child_that_compacts() {
    let Ok(path) = std::env::var("CONTENTION_STORE") else { return };
    let name = std::env::var("CONTENTION_NAME").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(compact_again_and_again(Path::new(&path), &name));
}

async fn compact_again_and_again(path: &Path, name: &str) {
    let store = SqliteStore::open(path, SqliteOptions::default()).await.unwrap();
    let key = store.open("s").await.unwrap().key;
    let (mut done, mut attempt) = (0, 0);
    while done < COMPACTIONS {
        attempt += 1;
        append(&store, key, &format!("{name}-{attempt}")).await;
        // One lease in four is slept through.
        let sleeper = attempt % 4 == 0;
        let ttl = if sleeper { Duration::from_millis(20) } else { Duration::from_secs(30) };
        let lease = match store.acquire(key, name, ttl).await {
            Ok(lease) => lease,
            Err(StoreError::Busy { holder, .. }) => {
                println!("busy {holder}");
                tokio::time::sleep(Duration::from_millis(3)).await;
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let head = store.head(key).await.unwrap();
        tokio::time::sleep(Duration::from_millis(if sleeper { 40 } else { 2 })).await;
        let id = format!("c-{name}-{attempt}");
        let commit = compaction(&head, lease.token, 2);
        match store.commit(key, EntryId::new(&id), Timestamp(0), commit).await {
            Ok(_) => {
                assert!(!sleeper, "committed under a lease that was over");
                println!("committed {id}");
                done += 1;
            }
            Err(StoreError::LeaseExpired { token, .. }) => {
                assert!(sleeper, "the lease was to last 30 s");
                println!("expired {token}");
            }
            Err(error) => panic!("nobody else can have compacted meanwhile: {error}"),
        }
        store.release(&lease).await.unwrap();
    }
}

/// Appends one entry wherever the branch is by then.
async fn append(store: &SqliteStore, key: contextengine::store::SessionKey, id: &str) {
    loop {
        let leaf = store.head(key).await.unwrap().leaf;
        match store.append(key, vec![says(id, leaf.as_ref(), "more")]).await {
            Ok(_) => return println!("appended {id}"),
            Err(StoreError::Stale { .. }) => println!("stale {id}"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn two_processes_compact_one_session_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = quick_store(&path).await;
    let key = session(&store, "s").await;
    fill(&store, key, 3, |seq| format!("entry {seq}")).await;

    let children: Vec<_> = ["one", "two"]
        .into_iter()
        .map(|name| {
            let variables = [("CONTENTION_STORE", path.display().to_string()), ("CONTENTION_NAME", name.to_owned())];
            spawn_test(CHILD, &variables)
        })
        .collect();
    let mut lines = Vec::new();
    for mut child in children {
        let mut output = String::new();
        child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        assert!(child.wait().unwrap().success(), "{output}");
        lines.extend(output.lines().map(str::to_owned));
    }
    let count = |what: &str| lines.iter().filter(|line| line.starts_with(what)).count();
    let figures = ["committed", "busy", "expired", "appended", "stale"].map(|what| (what, count(what)));
    println!("{figures:?}");
    assert_eq!(count("committed"), 2 * COMPACTIONS as usize);

    let records = records(&store, key).await;
    let there: HashSet<&str> = records.iter().map(|record| record.id.as_str()).collect();
    for line in &lines {
        if let Some(("committed" | "appended", id)) = line.split_once(' ') {
            assert!(there.contains(id), "{id} is lost");
        }
    }
    // One chain, each built on the one before, under tokens that only grow.
    let (mut previous, mut token) = (None, 0);
    for record in &records {
        if let LogBody::Compaction(commit) = &record.body {
            assert_eq!(commit.previous, previous);
            assert!(commit.fencing_token > token);
            (previous, token) = (Some(record.id.clone()), commit.fencing_token);
        }
    }
    assert_eq!(store.head(key).await.unwrap().compaction, previous);
    assert!(store.check(key).await.unwrap().is_sound());
}

#[tokio::test]
async fn many_open_a_new_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let opening = (0..8).map(|_| {
        let path = path.clone();
        tokio::spawn(async move { SqliteStore::open(path, SqliteOptions::default()).await })
    });
    let opening: Vec<_> = opening.collect();
    for opened in opening {
        opened.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_writer_that_keeps_the_file_to_itself_is_named_as_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let options = SqliteOptions::default().with_lock_wait(Duration::from_millis(50));
    let store = SqliteStore::open(&path, options).await.unwrap();
    let key = session(&store, "s").await;
    fill(&store, key, 3, |seq| format!("entry {seq}")).await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let leaf = EntryId::new("e3");
    let error = store.append(key, vec![says("e4", Some(&leaf), "x")]).await.unwrap_err();
    assert_eq!(error, StoreError::Locked { waited_ms: 50 });
    // Reading does not wait for a writer, and a search does without what it cannot index.
    assert_eq!(records(&store, key).await.len(), 3);
    let found = store.search(contextengine::store::Search::new(key, "entry")).await.unwrap();
    assert_eq!((found.hits.len(), found.unindexed), (0, 3));
    other.execute_batch("ROLLBACK").unwrap();
    store.append(key, vec![says("e4", Some(&leaf), "x")]).await.unwrap();
}
