//! A session in a store: what the model sees is the log, seen through the compactions in force.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at the first surprise")]
#![allow(clippy::print_stdout, reason = "shown for the case that fails")]

mod model;

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use contextengine::format::Format;
use contextengine::hooks::Trigger;
use contextengine::plugin::{LoadOptions, Plugin, Services};
use contextengine::session::{Session, SessionCompactOptions, SessionCompacted, SessionError};
use contextengine::store::{
    LogBody, LogRecord, MemoryStore, NewSession, SqliteOptions, SqliteStore, Store, StoreError,
};
use contextengine::tokens::{TiktokenCounter, TokenCounter, Vocabulary};
use contextengine::transcript::{Entry, EntryId, EntryKind};
use contextengine::view::ViewOptions;
use contextengine::{Engine, Window};
use contextengine_tests::{component, generate};

/// Keeps little, so that small sessions compact.
const CONFIG: &str = r#"{"keep_recent_tokens": 400}"#;

fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap().block_on(test)
}

async fn host() -> (Engine, Plugin) {
    let engine = Engine::builder().build().unwrap();
    let plugin = engine.load(&component("regex-anchors"), LoadOptions::with_config(CONFIG)).await.unwrap();
    (engine, plugin)
}

/// The same with a store of each kind.
async fn stores() -> (tempfile::TempDir, Vec<Arc<dyn Store>>) {
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteStore::open(folder.path().join("sessions.db"), SqliteOptions::default()).await.unwrap();
    (folder, vec![Arc::new(MemoryStore::new()), Arc::new(file)])
}

async fn create(engine: &Engine, store: &Arc<dyn Store>, name: &str, entries: Vec<Entry>) -> Session {
    let new = NewSession::named(name);
    let session = Session::create(engine.clone(), Arc::clone(store), new, ViewOptions::default()).await.unwrap();
    session.append(entries).await.unwrap();
    session
}

async fn open(engine: &Engine, store: &Arc<dyn Store>, name: &str) -> Session {
    Session::open(engine.clone(), Arc::clone(store), name, ViewOptions::default()).await.unwrap()
}

fn options() -> SessionCompactOptions {
    SessionCompactOptions::new(Window::new(16_000), Trigger::Manual)
}

async fn compact(engine: &Engine, plugin: &Plugin, session: &Session) -> LogRecord {
    match session.compact(plugin, &options(), engine.services()).await.unwrap() {
        SessionCompacted::Done { record, .. } => *record,
        SessionCompacted::Unchanged { reason } => panic!("nothing was done: {reason}"),
    }
}

/// What the model sees, as kind and text.
fn seen(session: &Session) -> Vec<(EntryKind, String)> {
    let view = session.view();
    view.entries().iter().zip(0..).map(|(entry, at)| (entry.kind, view.text(at, None).into_owned())).collect()
}

fn ids(session: &Session) -> Vec<String> {
    session.view().entries().iter().map(|entry| entry.id.to_string()).collect()
}

fn user(id: &str, text: &str) -> Entry {
    Entry::text(id, EntryKind::User, text)
}

fn assistant(id: &str, text: &str) -> Entry {
    Entry::text(id, EntryKind::Assistant, text)
}

/// About fifteen thousand tokens.
fn long_session() -> Vec<Entry> {
    generate::session(60, 50_000)
}

#[test]
fn what_was_appended_is_seen_now_and_after_opening_it_again() {
    run(async {
        let (engine, _) = host().await;
        let (_folder, stores) = stores().await;
        for store in stores {
            let session = create(&engine, &store, "a", vec![user("u1", "hello"), assistant("a1", "hi")]).await;
            session.append(vec![user("u2", "again")]).await.unwrap();
            assert_eq!(ids(&session), ["u1", "a1", "u2"]);
            assert_eq!(seen(&open(&engine, &store, "a").await), seen(&session));
            assert_eq!(session.status().depth, 3);
            let taken = session.append(vec![user("u1", "the id is taken")]).await.unwrap_err();
            assert!(matches!(taken, SessionError::Store(_)), "{taken}");
            assert_eq!(ids(&session), ["u1", "a1", "u2"]);
        }
    });
}

#[test]
fn a_compaction_is_recorded_survives_and_says_who_did_it_and_why() {
    run(async {
        let (engine, plugin) = host().await;
        let (_folder, stores) = stores().await;
        for store in stores {
            let session = create(&engine, &store, "a", long_session()).await;
            let before = session.status();
            let record = compact(&engine, &plugin, &session).await;
            let LogBody::Compaction(commit) = &record.body else { panic!("{record:?}") };
            assert_eq!(commit.owner, "regex-anchors");
            assert_eq!(commit.component_hash, plugin.component_hash());
            assert_eq!((commit.trigger, commit.tokens_before), (Trigger::Manual, before.tokens));
            let after = session.status();
            assert_eq!(after.tokens, commit.tokens_after);
            assert!(after.tokens < before.tokens / 2);
            // The log is complete: only what is seen changed.
            assert_eq!(after.depth, before.depth);
            assert_eq!(session.history().await.unwrap(), [record]);
            let reopened = open(&engine, &store, "a").await;
            assert_eq!(seen(&reopened), seen(&session));
            assert_eq!(reopened.status().compaction, after.compaction);
        }
    });
}

#[test]
fn an_undo_gives_the_view_before_back_and_keeps_what_came_since() {
    run(async {
        let (engine, plugin) = host().await;
        let (_folder, stores) = stores().await;
        for store in stores {
            let session = create(&engine, &store, "a", long_session()).await;
            let mut before = ids(&session);
            let record = compact(&engine, &plugin, &session).await;
            session.append(vec![assistant("later", "said after the compaction")]).await.unwrap();
            before.push("later".to_owned());
            assert_eq!(session.undo().await.unwrap(), record.id);
            assert_eq!(ids(&session), before);
            assert_eq!(ids(&open(&engine, &store, "a").await), before);
            assert_eq!(session.undo().await.unwrap_err(), SessionError::NothingToUndo);
        }
    });
}

#[test]
fn the_tail_that_one_compaction_kept_is_covered_by_the_next_and_summaries_do_not_pile_up() {
    run(async {
        let (engine, plugin) = host().await;
        let (_folder, stores) = stores().await;
        for store in stores {
            let session = create(&engine, &store, "a", long_session()).await;
            for round in 0..5 {
                let record = compact(&engine, &plugin, &session).await;
                let LogBody::Compaction(commit) = &record.body else { panic!("{record:?}") };
                let depth = session.status().depth;
                assert_eq!(commit.covered.entries, depth, "everything up to the freeze is covered");
                let summaries = seen(&session).iter().filter(|(kind, _)| *kind == EntryKind::Summary).count();
                assert_eq!(summaries, 1, "round {round}");
                assert_eq!(seen(&open(&engine, &store, "a").await), seen(&session));
                let more = generate::session(30, 24_000).into_iter().map(|mut entry| {
                    entry.id = EntryId::new(format!("r{round}-{}", entry.id));
                    entry
                });
                session.append(more.collect()).await.unwrap();
            }
            assert_eq!(session.history().await.unwrap().len(), 5);
        }
    });
}

/// Pi lost `u2` to `a3` here at the second compaction: they were neither summarised nor kept.
#[test]
fn what_the_first_compaction_kept_is_not_lost_at_the_second() {
    run(async {
        let (engine, _) = host().await;
        let config = r#"{"keep_recent_tokens": 1}"#;
        let plugin = engine.load(&component("regex-anchors"), LoadOptions::with_config(config)).await.unwrap();
        let long = |what: &str| format!("{what} {}", "and more words about it. ".repeat(60));
        let (_folder, stores) = stores().await;
        for store in stores {
            let mut entries = Vec::new();
            for n in 1..=3 {
                entries.push(user(&format!("u{n}"), &long(&format!("Please never touch module_{n}/core.rs."))));
                entries.push(assistant(&format!("a{n}"), &long("I looked at it.")));
            }
            let session = create(&engine, &store, "a", entries).await;
            compact(&engine, &plugin, &session).await;
            session.append(vec![user("u4", &long("Now module_4/core.rs.")), assistant("a4", "Done.")]).await.unwrap();
            compact(&engine, &plugin, &session).await;
            let texts: String = seen(&session).into_iter().map(|(_, text)| text).collect();
            for n in 1..=4 {
                assert!(texts.contains(&format!("module_{n}/core.rs")), "module {n} is gone from: {texts}");
            }
        }
    });
}

#[test]
fn the_originals_behind_a_summary_are_at_hand_for_the_next_compaction() {
    run(async {
        let (engine, plugin) = host().await;
        let (_folder, stores) = stores().await;
        for store in stores {
            let session = create(&engine, &store, "a", long_session()).await;
            compact(&engine, &plugin, &session).await;
            session.append(vec![user("more", &"words to fold away. ".repeat(600))]).await.unwrap();
            session.append(vec![assistant("done", "done"), user("next", "go on")]).await.unwrap();
            let done = session.compact(&plugin, &options(), engine.services()).await.unwrap();
            let SessionCompacted::Done { compaction, .. } = done else { panic!("{done:?}") };
            let at = compaction.view().last_compaction().unwrap().at;
            let original = compaction.view().original(at, None).unwrap();
            let first = long_session();
            let first = engine.view(vec![Arc::new(first[0].clone())], ViewOptions::default());
            assert!(original.contains(&*first.text(0, None)), "the first request of all is behind the second summary");
        }
    });
}

#[test]
fn a_branch_is_left_and_found_again_with_the_compaction_that_was_in_force() {
    run(async {
        let (engine, plugin) = host().await;
        let (_folder, stores) = stores().await;
        for store in stores {
            let session = create(&engine, &store, "a", long_session()).await;
            let early = EntryId::new("e1");
            let leaf = session.status().leaf;
            let record = compact(&engine, &plugin, &session).await;
            let compacted = seen(&session);
            // Back to before what the compaction covers: it is not in force there.
            session.switch(Some(early.clone())).await.unwrap();
            assert_eq!(ids(&session), ["e0", "e1"]);
            assert_eq!(session.status().compaction, None);
            session.append(vec![user("other", "another way")]).await.unwrap();
            assert_eq!(ids(&open(&engine, &store, "a").await), ["e0", "e1", "other"]);
            assert_eq!(session.history().await.unwrap(), []);
            session.switch(leaf.clone()).await.unwrap();
            assert_eq!(session.status().compaction, Some(record.id));
            assert_eq!(seen(&session), compacted);
            // One that was taken back does not come back with its branch.
            session.undo().await.unwrap();
            session.switch(Some(early)).await.unwrap();
            session.switch(leaf).await.unwrap();
            assert_eq!(session.status().compaction, None);
            assert_eq!(session.view().len(), u32::try_from(long_session().len()).unwrap());
        }
    });
}

/// Counts for a plugin, and at the first count lets the test do something: the view is frozen then, and nothing is
/// proposed yet.
#[derive(Debug)]
struct Interlude {
    counter: TiktokenCounter,
    once: Mutex<Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>>,
}

impl TokenCounter for Interlude {
    fn name(&self) -> &str {
        self.counter.name()
    }

    fn count(&self, text: &str) -> u32 {
        let once = self.once.lock().unwrap().take();
        if let Some((frozen, done)) = once {
            frozen.send(()).unwrap();
            done.recv_timeout(Duration::from_secs(60)).expect("the test does what it wanted within a minute");
        }
        self.counter.count(text)
    }
}

/// Runs a compaction, and `meanwhile` between its freeze and its proposal.
async fn compact_and<F: Future>(
    plugin: &Plugin,
    session: &Session,
    meanwhile: F,
) -> Result<SessionCompacted, SessionError> {
    let ((frozen, is_frozen), (done, is_done)) = (mpsc::channel(), mpsc::channel());
    let counter = TiktokenCounter::new(Vocabulary::O200kBase);
    let services = Services::new(Arc::new(Interlude { counter, once: Mutex::new(Some((frozen, is_done))) }));
    let (plugin, compacting) = (plugin.clone(), session.clone());
    let compaction = tokio::spawn(async move { compacting.compact(&plugin, &options(), services).await });
    tokio::task::spawn_blocking(move || is_frozen.recv_timeout(Duration::from_secs(60))).await.unwrap().unwrap();
    meanwhile.await;
    done.send(()).unwrap();
    compaction.await.unwrap()
}

#[test]
fn entries_appended_while_a_compaction_runs_stay_behind_it() {
    run(async {
        let (engine, plugin) = host().await;
        let (_folder, stores) = stores().await;
        for store in stores {
            let session = create(&engine, &store, "a", long_session()).await;
            let late = async { session.append(vec![user("late1", "one"), user("late2", "two")]).await.unwrap() };
            let done = compact_and(&plugin, &session, late).await.unwrap();
            let SessionCompacted::Done { record, .. } = done else { panic!("{done:?}") };
            let LogBody::Compaction(commit) = &record.body else { panic!("{record:?}") };
            assert_eq!(commit.covered.entries + 2, session.status().depth);
            assert!(ids(&session).ends_with(&["late1".to_owned(), "late2".to_owned()]));
            assert_eq!(seen(&session)[0].0, EntryKind::Summary);
            assert_eq!(seen(&open(&engine, &store, "a").await), seen(&session));
        }
    });
}

#[test]
fn a_branch_switch_or_an_undo_in_between_makes_the_proposal_stale() {
    run(async {
        let (engine, plugin) = host().await;
        let (_folder, stores) = stores().await;
        for store in stores {
            let session = create(&engine, &store, "a", long_session()).await;
            let switch = async { session.switch(Some(EntryId::new("e1"))).await.unwrap() };
            let error = compact_and(&plugin, &session, switch).await.unwrap_err();
            assert!(matches!(error, SessionError::Stale(StoreError::Stale { .. })), "{error}");
            assert_eq!(ids(&session), ["e0", "e1"]);

            let other = create(&engine, &store, "b", long_session()).await;
            compact(&engine, &plugin, &other).await;
            other.append(vec![user("more", &"words to fold away. ".repeat(600)), user("next", "go on")]).await.unwrap();
            let undo = async { drop(other.undo().await.unwrap()) };
            let error = compact_and(&plugin, &other, undo).await.unwrap_err();
            assert!(matches!(error, SessionError::Stale(StoreError::Superseded { .. })), "{error}");
            assert_eq!(other.status().compaction, None);
            // Nothing is held: the next one goes through.
            compact(&engine, &plugin, &other).await;
        }
    });
}

#[test]
fn a_second_compaction_at_the_same_time_is_told_that_the_session_is_busy() {
    run(async {
        let (engine, plugin) = host().await;
        let (_folder, stores) = stores().await;
        for store in stores {
            let session = create(&engine, &store, "a", long_session()).await;
            let other = open(&engine, &store, "a").await;
            let lease = store.acquire(session.key(), "somebody else", Duration::from_secs(60)).await.unwrap();
            let before = seen(&session);
            let error = other.compact(&plugin, &options(), engine.services()).await.unwrap_err();
            assert!(matches!(error, SessionError::Busy(_)), "{error}");
            assert!(error.to_string().contains("somebody else"), "{error}");
            assert_eq!(seen(&session), before);
            store.release(&lease).await.unwrap();
            compact(&engine, &plugin, &other).await;
            // The first one wrote nothing since: it reads again and sees what the other did.
            session.refresh().await.unwrap();
            assert_eq!(seen(&session), seen(&other));
        }
    });
}

#[test]
fn another_process_that_wrote_is_noticed_and_nothing_is_woven_together() {
    run(async {
        let (engine, _) = host().await;
        let (_folder, stores) = stores().await;
        for store in stores {
            let session = create(&engine, &store, "a", vec![user("u1", "hello")]).await;
            let other = open(&engine, &store, "a").await;
            other.append(vec![assistant("a1", "from the other")]).await.unwrap();
            let error = session.append(vec![assistant("b1", "from this one")]).await.unwrap_err();
            assert!(matches!(error, SessionError::Stale(_)), "{error}");
            session.refresh().await.unwrap();
            session.append(vec![user("u2", "in order")]).await.unwrap();
            assert_eq!(ids(&session), ["u1", "a1", "u2"]);
        }
    });
}

#[test]
fn what_goes_out_is_a_session_that_any_provider_accepts() {
    run(async {
        let (engine, plugin) = host().await;
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let session = create(&engine, &store, "a", long_session()).await;
        compact(&engine, &plugin, &session).await;
        for format in Format::ALL {
            let written = session.render(format).unwrap();
            let read = contextengine::format::Document::read_bytes(&written.bytes, Some(format)).unwrap();
            assert!(read.problems().is_empty(), "{format}: {:?}", read.problems());
        }
    });
}
