//! Many sessions for many turns, with plugins that fail at random: nothing is lost, and nothing piles up.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use contextengine::Engine;
use contextengine::hooks::{Trigger, Usage, Verdict};
use contextengine::plugin::{LoadOptions, Plugin};
use contextengine::session::{SelectOptions, Session, SessionError, TurnCompactOptions};
use contextengine::slots::{Origin, Slot};
use contextengine::store::{LogBody, MemoryStore, NewSession, Page, Seq, SqliteOptions, SqliteStore, Store};
use contextengine::transcript::{Block, Entry, EntryKind, ToolCall, ToolResult};
use contextengine::view::ViewOptions;
use contextengine::{Setup, Window};
use contextengine_tests::{cases, component};

use super::fixture::{bind_compress, engine, id, load, run, setup};

const SESSIONS: usize = 8;
/// Owner, successor, one that also selects, observes and offers a tool, and the last resort.
const PLUGINS: u64 = 4;
/// After so many turns another setup is installed, which lifts quarantines.
const RELOAD: usize = 20;

fn turns() -> usize {
    if cases(1) == 1 { 200 } else { 1_000 }
}

async fn plugins(engine: &Engine) -> Vec<Plugin> {
    let faults = |seed: u8, faults: u8| {
        format!(r#"{{"compress": "fold", "before-compress": "remember", "seed": {seed}, "faults": {faults}}}"#)
    };
    let last = LoadOptions::with_config(r#"{"keep_recent_tokens": 400}"#);
    vec![
        load(engine, 'a', &faults(1, 30)).await,
        load(engine, 'b', &faults(2, 30)).await,
        load(engine, 'c', &faults(3, 10)).await,
        engine.load(&component("regex-anchors"), last).await.unwrap(),
    ]
}

/// The plugins in another order for each generation.
fn shuffled(plugins: &[Plugin], generation: usize) -> Setup {
    let [a, b, c, last] = plugins else { panic!("{} plugins", plugins.len()) };
    let (first, second) = if generation.is_multiple_of(2) { (a, b) } else { (b, a) };
    let mut shuffled = setup(|slots| {
        bind_compress(slots, &[first, second, last]);
        for slot in [Slot::Select, Slot::Observers, Slot::Tools] {
            slots.claim(slot, c, Origin::here()).unwrap();
        }
        slots.claim(Slot::Select, a, Origin::here()).unwrap();
        slots.claim(Slot::Observers, b, Origin::here()).unwrap();
    });
    // Full every few turns.
    shuffled.window = Window::new(2_000).with_reserve(500);
    shuffled
}

/// Megabytes of this process in memory, where the system says so.
fn resident() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(pages.split_whitespace().nth(1)?.parse::<u64>().ok()? * 4 / 1_024)
}

/// A request, a call, its result and an answer.
fn one_turn(turn: usize) -> Vec<Entry> {
    let call = ToolCall {
        id: format!("c{turn}"),
        name: "read".to_owned(),
        arguments: format!(r#"{{"path":"src/m{turn}.rs"}}"#),
    };
    let text = format!("fn number_{turn}() {{ {} }}", "let it = be; ".repeat(turn % 17));
    let result =
        ToolResult { call_id: format!("c{turn}"), name: "read".to_owned(), text, failed: turn.is_multiple_of(5) };
    vec![
        Entry::text(format!("u{turn}"), EntryKind::User, format!("please look at src/m{turn}.rs and tell me")),
        Entry::new(format!("k{turn}"), EntryKind::Assistant, vec![Block::ToolCall(call)]),
        Entry::new(format!("r{turn}"), EntryKind::ToolResult, vec![Block::ToolResult(result)]),
        Entry::text(format!("a{turn}"), EntryKind::Assistant, format!("it has one function, number_{turn}")),
    ]
}

/// What an agent does in a turn.
async fn live(session: &Session, at: usize) {
    let turn = session.turn();
    for entry in one_turn(at) {
        session.append(vec![entry]).await.unwrap();
        let selection = turn.select(&SelectOptions::default()).await.unwrap();
        assert!(!selection.view().is_empty());
    }
    let decision = turn.decide(&turn.pressure(Trigger::PostTurn)).await.unwrap();
    if let Verdict::Compress(urgency) = decision.verdict {
        match turn.compact(&TurnCompactOptions::new(Trigger::PostTurn).with_urgency(urgency)).await {
            // Where all three fail, the history is as it was, and the next turn tries again.
            Ok(_) | Err(SessionError::Compact(_)) => {}
            // Another generation's turn cannot have begun: this session has one turn at a time.
            Err(other) => panic!("{other}"),
        }
    }
    let tool = turn.call_tool("calls-of-owner-guest-c", "{}").await;
    assert!(!tool.text.is_empty());
    turn.complete(Some(Usage::default()), at.is_multiple_of(7)).await;
}

async fn soak(store: Arc<dyn Store>) {
    let engine = engine();
    let plugins = plugins(&engine).await;
    engine.install(shuffled(&plugins, 0));
    let (started, resident_before) = (Instant::now(), resident());
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let (engine, store, plugins) = (engine.clone(), Arc::clone(&store), plugins.clone());
            tokio::spawn(async move {
                let new = NewSession::named(format!("session-{number}"));
                let options = ViewOptions::default();
                let session = Session::create(engine.clone(), store, new, options).await.unwrap();
                for at in 0..turns() {
                    live(&session, at).await;
                    if number == 0 && at % RELOAD == RELOAD - 1 {
                        engine.install(shuffled(&plugins, at / RELOAD + 1));
                    }
                    let live = engine.metrics().instances_live;
                    assert!(live <= SESSIONS as u64 * PLUGINS, "{live} instances live");
                }
                session
            })
        })
        .collect();
    let mut compactions = 0;
    for session in sessions {
        let session = session.await.unwrap();
        compactions += nothing_is_lost(&session, &*store).await;
    }
    let metrics = engine.metrics();
    assert_eq!(metrics.instances_live, 0);
    assert_eq!(compactions, metrics.compactions);
    assert!(metrics.compactions > 0 && metrics.substitutions > 0 && metrics.quarantines > 0, "{metrics:?}");
    let faults: u64 = metrics.hooks.values().map(contextengine::events::HookMetrics::faults).sum();
    let calls: u64 = metrics.hooks.values().map(contextengine::events::HookMetrics::calls).sum();
    println!(
        "{SESSIONS} sessions x {} turns in {:?}: {calls} calls, {faults} faults, {compactions} compactions, {} \
         substitutions, {} quarantines, {} instances; {:?} MB resident before, {:?} after",
        turns(),
        started.elapsed(),
        metrics.substitutions,
        metrics.quarantines,
        metrics.instances_started,
        resident_before,
        resident(),
    );
}

/// Every entry is in the log, the digests are those of its content, and what the model sees is all of it: what is not
/// seen stands behind a summary or was dropped with a reason. How many compactions there were.
async fn nothing_is_lost(session: &Session, store: &dyn Store) -> u64 {
    let mut entries = Vec::new();
    let mut compactions = HashMap::new();
    let mut next = Some(Page::After(Seq(0)));
    while let Some(page) = next {
        let records = store.page(session.key(), page, 500).await.unwrap();
        next = records.next;
        for record in records.intact().unwrap() {
            match record.body {
                LogBody::Entry(_) => entries.push(record.id.to_string()),
                LogBody::Compaction(commit) => {
                    compactions.insert(commit.fencing_token, *commit);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    let appended: Vec<String> = (0..turns()).flat_map(one_turn).map(|entry| entry.id.to_string()).collect();
    assert_eq!(entries, appended);
    let report = store.check(session.key()).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
    let names = [id('a'), id('b'), "regex-anchors".to_owned()];
    let mut gone: HashSet<String> = HashSet::new();
    for commit in compactions.values() {
        assert!(names.contains(&commit.owner), "{}", commit.owner);
        assert!(commit.passed_over.len() < 3 && commit.tokens_after < commit.tokens_before);
        gone.extend(commit.dropped.iter().flat_map(|dropped| &dropped.ids).map(ToString::to_string));
    }
    let whole = session.whole_view().await.unwrap();
    let mut seen: HashSet<String> = HashSet::new();
    let mut stack: Vec<Arc<Entry>> = whole.entries().to_vec();
    while let Some(entry) = stack.pop() {
        seen.insert(entry.id.to_string());
        stack.extend(entry.replaces.iter().cloned());
    }
    let lost: Vec<&String> = appended.iter().filter(|id| !seen.contains(*id) && !gone.contains(*id)).collect();
    assert!(lost.is_empty(), "{lost:?}");
    compactions.len() as u64
}

#[test]
fn eight_sessions_with_plugins_that_fail_at_random_lose_nothing_in_memory() {
    run(soak(Arc::new(MemoryStore::new())));
}

#[test]
fn eight_sessions_with_plugins_that_fail_at_random_lose_nothing_in_sqlite() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let file = SqliteStore::open(folder.path().join("sessions.db"), SqliteOptions::default()).await.unwrap();
        soak(Arc::new(file)).await;
    });
}
