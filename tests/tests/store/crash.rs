//! Kill the process at any instant: what it acknowledged is there, and a batch or a compaction is there whole or not at
//! all.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use contextengine::store::{
    ContextItem, Durability, LogBody, SqliteOptions, SqliteStore, StateScope, Store, StoreError,
};
use contextengine::transcript::{EntryId, Timestamp};

use crate::fixture::{Random, compaction, fixed_clock, records, says, session, spawn_test};

const CHILD: &str = "crash::child_that_appends_and_compacts_until_it_is_killed";

#[test]
#[ignore = "run by the test beside it, in a process of its own"]
fn child_that_appends_and_compacts_until_it_is_killed() {
    let Ok(path) = std::env::var("CRASH_STORE") else { return };
    let round: u64 = std::env::var("CRASH_ROUND").unwrap().parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(append_and_compact(Path::new(&path), round));
}

async fn append_and_compact(path: &Path, round: u64) {
    // The lease of a killed process is over in the next round.
    let clock = fixed_clock(i64::try_from(round).unwrap() * 1_000_000);
    let durability = if round.is_multiple_of(2) { Durability::Power } else { Durability::Process };
    let options = SqliteOptions::default().with_clock(clock).with_durability(durability);
    let store = SqliteStore::open(path, options).await.unwrap();
    let key = match store.open("s").await {
        Ok(info) => info.key,
        Err(StoreError::NotFound { .. }) => session(&store, "s").await,
        Err(error) => panic!("{error}"),
    };
    let mut random = Random(round);
    println!("ready");
    for number in 0.. {
        match random.below(8) {
            0 => {
                let head = store.head(key).await.unwrap();
                if head.leaf.is_none() {
                    continue;
                }
                let lease = store.acquire(key, "child", Duration::from_secs(1)).await.unwrap();
                let parts = u32::try_from(1 + random.below(30)).unwrap();
                let id = format!("c{round}-{number}");
                let commit = compaction(&head, lease.token, parts);
                store.commit(key, EntryId::new(&id), Timestamp(0), commit).await.unwrap();
                println!("ack {id}");
                store.release(&lease).await.unwrap();
            }
            1 => drop(store.index_pending(40).await.unwrap()),
            2 => {
                let value = format!("{round} {number}");
                store.set_state("p", StateScope::Session(key), "last", value.as_bytes()).await.unwrap();
                println!("state {value}");
            }
            _ => {
                let size = 1 + random.below(4);
                let mut parent = store.head(key).await.unwrap().leaf;
                let mut batch = Vec::new();
                for part in 0..size {
                    let length = if random.below(10) == 0 { 30_000 } else { 80 };
                    let text = "words ".repeat(usize::try_from(length / 6).unwrap());
                    let record = says(&format!("b{round}-{number}/{part}/{size}"), parent.as_ref(), &text);
                    parent = Some(record.id.clone());
                    batch.push(record);
                }
                let ids: Vec<String> = batch.iter().map(|record| record.id.to_string()).collect();
                store.append(key, batch).await.unwrap();
                ids.iter().for_each(|id| println!("ack {id}"));
            }
        }
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill_at_any_instant() {
    let budget = Duration::from_secs(if crate::nightly() { 600 } else { 15 });
    let start = Instant::now();
    let mut random = Random(u64::from(std::process::id()));
    let (mut rounds, mut acknowledged, mut compactions) = (0_u32, 0, 0);
    while start.elapsed() < budget {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let mut acks = Acks::default();
        for round in 0..12 {
            acks.extend(kill_a_child(&path, u64::from(rounds) * 100 + round, &mut random));
            compactions += look(&path, &acks);
            if start.elapsed() >= budget && round > 0 {
                break;
            }
            rounds += 1;
        }
        acknowledged += acks.ids.len();
    }
    println!("{rounds} kills, {acknowledged} acknowledged records, {compactions} compactions looked at");
    assert!(acknowledged > 0 && compactions > 0, "the children did nothing");
}

#[derive(Default)]
struct Acks {
    ids: HashSet<String>,
    state: Option<String>,
}

impl Acks {
    fn extend(&mut self, lines: Vec<String>) {
        for line in lines {
            match line.split_once(' ') {
                Some(("ack", id)) => drop(self.ids.insert(id.to_owned())),
                Some(("state", value)) => self.state = Some(value.to_owned()),
                _ => {}
            }
        }
    }
}

/// What a child wrote until it was killed. The last line may be cut off: then it was not acknowledged.
fn kill_a_child(path: &Path, round: u64, random: &mut Random) -> Vec<String> {
    let variables = [("CRASH_STORE", path.display().to_string()), ("CRASH_ROUND", round.to_string())];
    let mut child = spawn_test(CHILD, &variables);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    // Some are killed while they open the store.
    if random.below(6) > 0 {
        while !line.ends_with("ready\n") {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "the child ended before it was ready");
        }
    }
    std::thread::sleep(Duration::from_micros(random.below(120_000)));
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(!status.success() && status.code().is_none(), "the child was to be killed, but it ended: {status}");
    let mut lines = Vec::new();
    loop {
        line.clear();
        output.read_line(&mut line).unwrap();
        match line.strip_suffix('\n') {
            Some(whole) => lines.push(whole.to_owned()),
            None => return lines,
        }
    }
}

/// Checks the store that a child left; how many compactions it holds.
fn look(path: &Path, acks: &Acks) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(path, SqliteOptions::default()).await.unwrap();
        let Ok(info) = store.open("s").await else {
            assert!(acks.ids.is_empty());
            return 0;
        };
        let report = store.check(info.key).await.unwrap();
        assert!(report.is_sound(), "{report:?}");
        let records = records(&store, info.key).await;
        let there: HashSet<&str> = records.iter().map(|record| record.id.as_str()).collect();
        let lost: Vec<_> = acks.ids.iter().filter(|id| !there.contains(id.as_str())).collect();
        assert!(lost.is_empty(), "acknowledged, but lost: {lost:?}");

        let mut compactions = 0;
        let mut previous = None;
        for record in &records {
            match &record.body {
                LogBody::Compaction(commit) => {
                    compactions += 1;
                    let parts = usize::try_from(commit.tokens_after).unwrap();
                    assert_eq!(commit.context.len(), parts + 1, "not whole: {}", record.id);
                    assert!(matches!(commit.context.last(), Some(ContextItem::Kept(ids)) if ids.len() == 1));
                    assert_eq!(commit.previous, previous);
                    previous = Some(record.id.clone());
                }
                _ => whole_batch(record.id.as_str(), &there),
            }
        }
        assert_eq!(info.head.compaction, previous);
        let state = store.state("p", StateScope::Session(info.key), "last").await.unwrap();
        if let Some(acknowledged) = &acks.state {
            let order = |value: &str| value.split(' ').map(|part| part.parse().unwrap()).collect::<Vec<u64>>();
            let state = String::from_utf8(state.unwrap()).unwrap();
            assert!(order(&state) >= order(acknowledged), "{state} is older than {acknowledged}");
        }
        compactions
    })
}

fn whole_batch(id: &str, there: &HashSet<&str>) {
    let (batch, size) = (id.split('/').next().unwrap(), id.rsplit('/').next().unwrap());
    for part in 0..size.parse::<u32>().unwrap() {
        assert!(there.contains(format!("{batch}/{part}/{size}").as_str()), "half a batch: {id} without part {part}");
    }
}
