//! No room is left: what was acknowledged stays, and nothing is half there.

use std::path::{Path, PathBuf};
use std::process::Command;

use contextengine::store::{Durability, Search, SessionKey, SqliteOptions, SqliteStore, Store, StoreError};
use contextengine::transcript::EntryId;

use crate::fixture::{compaction, read_all, records, says, session};

/// Appends until the store is full; how many entries it took.
async fn fill_up(store: &SqliteStore, key: SessionKey) -> u64 {
    let mut parent: Option<EntryId> = store.head(key).await.unwrap().leaf;
    for number in 0..100_000 {
        let record = says(&format!("f{number}"), parent.as_ref(), &"some words ".repeat(200));
        let id = record.id.clone();
        match store.append(key, vec![record]).await {
            Ok(_) => parent = Some(id),
            Err(StoreError::Full { detail }) => {
                assert!(!detail.is_empty());
                return number;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("it never gets full");
}

async fn stays_whole(store: &SqliteStore, key: SessionKey, taken: u64) {
    let there = records(store, key).await;
    assert_eq!(there.len() as u64, taken);
    let head = store.head(key).await.unwrap();
    assert_eq!(head.leaf.as_ref(), there.last().map(|record| &record.id));
    // Searching goes without the index of what does not fit any more.
    let found = store.search(Search::new(key, "words")).await.unwrap();
    assert!(found.unindexed <= taken);
    let report = store.check(key).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[tokio::test]
async fn a_store_at_its_size_limit_refuses_and_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let options = SqliteOptions::default().with_durability(Durability::Process);
    let store = SqliteStore::open(&path, options.clone().with_max_bytes(1 << 20)).await.unwrap();
    let key = session(&store, "s").await;
    let taken = fill_up(&store, key).await;
    assert!(taken > 50, "{taken}");
    stays_whole(&store, key, taken).await;
    let lease = store.acquire(key, "tester", std::time::Duration::from_secs(60)).await.unwrap();
    let head = store.head(key).await.unwrap();
    let commit = compaction(&head, lease.token, 60);
    let error = store.commit(key, EntryId::new("c1"), contextengine::transcript::Timestamp(0), commit.clone()).await;
    assert!(matches!(error, Err(StoreError::Full { .. })), "{error:?}");
    assert_eq!(store.head(key).await.unwrap(), head);
    drop(store);

    // With more room it goes on.
    let store = SqliteStore::open(&path, options).await.unwrap();
    store.commit(key, EntryId::new("c1"), contextengine::transcript::Timestamp(0), commit).await.unwrap();
    store.append(key, vec![says("more", head.leaf.as_ref(), "more")]).await.unwrap();
    assert_eq!(read_all(&store, key).await.records.len() as u64, taken + 2);
    assert!(!store.search(Search::new(key, "words")).await.unwrap().hits.is_empty());
}

/// A small file system, taken away again at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Result<Self, String> {
        let output = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(at).output();
        match output {
            Ok(output) if output.status.success() => Ok(Self(at.to_owned())),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_refuses_and_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let disk = match SmallDisk::mount(folder.path()) {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: no small disk can be mounted here ({reason})"),
    };
    let ballast = disk.0.join("ballast");
    std::fs::write(&ballast, vec![0; 300_000]).unwrap();
    let store = SqliteStore::open(disk.0.join("store.db"), SqliteOptions::default()).await.unwrap();
    let key = session(&store, "s").await;
    let taken = fill_up(&store, key).await;
    assert!(taken > 50, "{taken}");
    stays_whole(&store, key, taken).await;
    // Once there is room, the same store goes on.
    std::fs::remove_file(ballast).unwrap();
    let leaf = store.head(key).await.unwrap().leaf;
    store.append(key, vec![says("more", leaf.as_ref(), "more")]).await.unwrap();
    println!("{taken} entries fit on the disk");
    drop(store);
}
