//! Damage is named where it is, and what is intact can still be read.

use std::path::{Path, PathBuf};

use contextengine::store::{LogBody, Search, SessionKey, SqliteOptions, SqliteStore, Store, StoreError};
use contextengine::transcript::EntryId;
use rusqlite::Connection;
use sha2::Digest as _;

use crate::fixture::{fill, quick_store, read_all, records, says, session, text_of};

struct Damaged {
    path: PathBuf,
    key: SessionKey,
    _folder: tempfile::TempDir,
}

/// A closed store with a session of entries, whose file is changed by `damage`.
async fn damaged(entries: u64, damage: impl FnOnce(&Connection, &Path)) -> Damaged {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = quick_store(&path).await;
    let key = session(&store, "s").await;
    fill(&store, key, entries, |seq| format!("this is number {seq} of them {}", "words ".repeat(30))).await;
    while store.index_pending(1_000).await.unwrap().pending > 0 {}
    drop(store);
    let conn = Connection::open(&path).unwrap();
    // Into the file itself, where it can be damaged.
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    damage(&conn, &path);
    drop(conn);
    Damaged { path, key, _folder: folder }
}

/// What is damaged, by number of the record.
async fn errors(store: &SqliteStore, key: SessionKey) -> Vec<(usize, String)> {
    let all = read_all(store, key).await.records;
    let errors = all.into_iter().enumerate().filter_map(|(index, record)| match record {
        Ok(_) => None,
        Err(error @ StoreError::Corrupt { .. }) => Some((index + 1, error.to_string())),
        Err(error) => panic!("{error:?}"),
    });
    errors.collect()
}

/// One damaged record of ten: it is named, by reading and by the check, and all others are read.
async fn one_of_ten(sql: &str, says_why: &str) {
    let store = damaged(10, |conn, _| {
        assert_eq!(conn.execute(sql, []).unwrap(), 1);
    })
    .await;
    let (path, key) = (&store.path, store.key);
    let store = quick_store(path).await;
    let found = errors(&store, key).await;
    assert_eq!(found.len(), 1, "{found:?}");
    let (number, error) = &found[0];
    assert_eq!(*number, 4);
    assert!(error.contains("record 4") && error.contains(says_why), "{error}");
    let report = store.check(key).await.unwrap();
    assert!(report.damage.iter().any(|damage| damage.to_string().contains("record 4")), "{report:?}");
    assert_eq!(report.records, 10);
    // Life goes on.
    let leaf = EntryId::new("e10");
    store.append(key, vec![says("e11", Some(&leaf), "more")]).await.unwrap();
    assert_eq!(errors(&store, key).await.len(), 1);
    let found = store.search(Search::new(key, "number 5")).await.unwrap();
    assert_eq!(found.hits[0].id.as_str(), "e5");
}

#[tokio::test]
async fn a_record_whose_text_was_changed_is_named() {
    one_of_ten(
        "UPDATE record SET body = replace(body, 'number 4', 'number 9') WHERE id = 'e4'",
        "not what was written",
    )
    .await;
}

#[tokio::test]
async fn a_record_that_is_missing_is_named() {
    one_of_ten("DELETE FROM record WHERE id = 'e4'", "missing").await;
}

#[tokio::test]
async fn a_record_of_a_wrong_kind_is_named() {
    one_of_ten("UPDATE record SET kind = 'label' WHERE id = 'e4'", "says to be a label").await;
}

/// A body with the sum that belongs to it: as another program would have written it.
async fn with_body(body: &str, says_why: &str) {
    let sum: String = sha2::Sha256::digest(body)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    one_of_ten(&format!("UPDATE record SET body = '{body}', sum = x'{sum}' WHERE id = 'e4'"), says_why).await;
}

#[tokio::test]
async fn a_record_that_does_not_parse_is_named() {
    with_body(r#"{"v":1,"body":{"entry":{"kind":"user","blocks":[{"text":1}]}}}"#, "not the JSON of a record").await;
}

#[tokio::test]
async fn a_record_of_a_newer_version_says_so() {
    with_body(r#"{"v":7,"body":{"something-new":{}}}"#, "it has version 7, this program knows 1").await;
}

#[tokio::test]
async fn a_change_that_fits_its_own_sum_is_found_by_the_chain() {
    let body = LogBody::Entry(
        (&contextengine::transcript::Entry::text("e4", contextengine::transcript::EntryKind::User, "never said"))
            .into(),
    );
    let body = body.encode().unwrap();
    let sum = sha2::Sha256::digest(&body)[..8].to_vec();
    let store = damaged(10, |conn, _| {
        let sql = "UPDATE record SET body = ?1, sum = ?2 WHERE id = 'e4'";
        assert_eq!(conn.execute(sql, rusqlite::params![body, sum]).unwrap(), 1);
    })
    .await;
    let opened = quick_store(&store.path).await;
    assert!(text_of(&records(&opened, store.key).await[3]).contains("never said"), "it cannot be seen by itself");
    let report = opened.check(store.key).await.unwrap();
    assert_eq!(report.damage.len(), 1, "{report:?}");
    assert!(report.damage[0].to_string().contains("`e4` (digest"), "{report:?}");
}

#[tokio::test]
async fn a_head_that_was_changed_is_found_by_the_check() {
    let store = damaged(10, |conn, _| {
        conn.execute("UPDATE session SET depth = 9", []).unwrap();
    })
    .await;
    let opened = quick_store(&store.path).await;
    let report = opened.check(store.key).await.unwrap();
    assert!(report.damage[0].to_string().contains("head of the session"), "{report:?}");
}

#[tokio::test]
async fn a_broken_page_hides_only_what_is_on_it() {
    let store = damaged(500, |_, path| {
        let mut bytes = std::fs::read(path).unwrap();
        let needle = b"this is number 250 of them";
        let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
        let page = at / 4096 * 4096;
        bytes[page..page + 4096].fill(0xa5);
        std::fs::write(path, bytes).unwrap();
    })
    .await;
    let opened = quick_store(&store.path).await;
    let found = errors(&opened, store.key).await;
    assert!((1..=40).contains(&found.len()), "{found:?}");
    assert!(found.iter().any(|(number, _)| *number == 250), "{found:?}");
    for (number, error) in &found {
        assert!(error.contains(&format!("record {number}")) && error.contains("restore"), "{error}");
    }
    let report = opened.check(store.key).await.unwrap();
    assert!(report.damage.len() > found.len(), "the check of the file itself finds it, too: {report:?}");
    // The end of the log is intact, so the session goes on; and the branch is read up to the damage and no further.
    let leaf = EntryId::new("e500");
    opened.append(store.key, vec![says("e501", Some(&leaf), "more")]).await.unwrap();
    let branch = opened.branch(store.key, &EntryId::new("e501"), 1_000).await.unwrap().records;
    let intact = branch.iter().take_while(|record| record.is_ok()).count();
    assert!((200..=251).contains(&intact), "{intact}");
    assert!(branch[intact].is_err(), "the branch does not just end there");
}

#[tokio::test]
async fn a_damaged_index_is_named_and_made_anew() {
    let store = damaged(200, |conn, _| {
        conn.execute("UPDATE recall_data SET block = x'0102030405060708' WHERE id > 10", []).unwrap();
    })
    .await;
    let (path, key) = (&store.path, store.key);
    let store = quick_store(path).await;
    let error = store.search(Search::new(key, "words")).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert!(error.to_string().contains("reset the index"), "{error}");
    assert_eq!(records(&store, key).await.len(), 200);
    store.reset_index().await.unwrap();
    assert_eq!(store.search(Search::new(key, "words")).await.unwrap().hits.len(), 10);
}

#[tokio::test]
async fn the_original_of_a_session_is_checked_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = quick_store(&path).await;
    let original =
        contextengine::store::Original { format: "pi".to_owned(), bytes: std::sync::Arc::from(&b"the file"[..]) };
    let new = contextengine::store::NewSession::named("s").with_original(original);
    let key = store.create(new).await.unwrap().key;
    Connection::open(&path).unwrap().execute("UPDATE original SET bytes = x'00'", []).unwrap();
    assert!(matches!(store.original(key).await, Err(StoreError::Corrupt { .. })));
    assert!(!store.check(key).await.unwrap().is_sound());
}

#[tokio::test]
async fn what_is_no_store_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.db");
    std::fs::write(&text, "this is a text, long enough to be no database at all ".repeat(40)).unwrap();
    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    for path in [&text, &other] {
        let before = std::fs::read(path).unwrap();
        let error = SqliteStore::open(path, SqliteOptions::default()).await.unwrap_err();
        assert!(matches!(error, StoreError::NotAStore { .. }), "{error:?}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        assert_eq!(std::fs::read(path).unwrap(), before);
    }
    let error = SqliteStore::open(folder.path().join("no/such/folder.db"), SqliteOptions::default()).await.unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
}
