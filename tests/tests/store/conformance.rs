use std::sync::Arc;

use contextengine::store::conformance::{ManualClock, cases};
use contextengine::store::{MemoryStore, SqliteOptions, SqliteStore};

#[tokio::test]
async fn the_store_in_memory_behaves_as_every_store_must() {
    for case in cases() {
        println!("{}", case.name);
        let clock = Arc::new(ManualClock::default());
        case.run(Arc::new(MemoryStore::with_clock(clock.clone())), clock).await;
    }
}

async fn on_sqlite() {
    for case in cases() {
        println!("{}", case.name);
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        let options = SqliteOptions::default().with_clock(clock.clone());
        let store = SqliteStore::open(folder.path().join("store.db"), options).await.unwrap();
        case.run(Arc::new(store), clock).await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn the_store_in_sqlite_behaves_as_every_store_must() {
    on_sqlite().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_in_sqlite_behaves_so_on_many_threads() {
    on_sqlite().await;
}

#[test]
fn without_a_runtime_the_store_in_sqlite_says_so() {
    let error = futures_lite_block_on(SqliteStore::open("/nonexistent/store.db", SqliteOptions::default()));
    assert!(error.unwrap_err().to_string().contains("tokio runtime"));
}

/// Polls a future once; enough for one that fails before it waits.
fn futures_lite_block_on<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it waits"),
    }
}
