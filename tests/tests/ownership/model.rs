//! Ownership against a model of it: two sessions, any order of reloads, turns, compactions, answers that come late and
//! callers that give up.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use contextengine::Engine;
use contextengine::events::EventKind;
use contextengine::hooks::Trigger;
use contextengine::plugin::Plugin;
use contextengine::session::{Session, SessionCompacted, SessionError, Turn};
use contextengine::store::{LogBody, MemoryStore, Store};
use contextengine_tests::cases;
use proptest::prelude::*;
use tokio::task::JoinHandle;

use super::fixture::{Gate, compress, engine, id, load_version, manual, session_in, talk};

const LETTERS: [char; 3] = ['a', 'b', 'c'];
const BEHAVIOURS: [&str; 6] = ["fold", "declined", "trap", "ask", "unchanged", "ask-and-fail"];

/// A plugin by everything that makes it another one: its letter, its version, and how it behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    letter: char,
    version: u8,
    behaviour: &'static str,
}

#[derive(Debug, Clone)]
enum Step {
    /// These own `compress`, in this order.
    Install(Vec<Kind>),
    Turn(usize),
    Decide(usize),
    /// Compacts in the newest turn of a session.
    Compact(usize),
    /// The model answers the one that waits.
    Answer(usize),
    /// The caller of the one that waits gives up.
    Abort(usize),
}

fn any_kind() -> impl Strategy<Value = Kind> {
    let behaviour = prop_oneof![3 => Just(3), 2 => Just(0), 1 => Just(1), 1 => Just(2), 1 => Just(4), 2 => Just(5)];
    (0..LETTERS.len(), 1..=2u8, behaviour).prop_map(|(letter, version, behaviour)| Kind {
        letter: LETTERS[letter],
        version,
        behaviour: BEHAVIOURS[behaviour],
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let owners = prop::collection::vec(any_kind(), 0..=3).prop_map(|mut kinds| {
        let mut letters = HashSet::new();
        kinds.retain(|kind| letters.insert(kind.letter));
        kinds
    });
    prop_oneof![
        3 => owners.prop_map(Step::Install),
        4 => (0..2usize).prop_map(Step::Turn),
        1 => (0..2usize).prop_map(Step::Decide),
        5 => (0..2usize).prop_map(Step::Compact),
        3 => (0..2usize).prop_map(Step::Answer),
        1 => (0..2usize).prop_map(Step::Abort),
    ]
}

/// How a compaction ends, or that it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Committed { owner: String, version: String, passed_over: Vec<String> },
    Unchanged,
    Busy,
    NoOwner,
    NoneLeft(Vec<String>),
    Superseded { owner: String, by: Option<String> },
    Waits,
}

/// The rules once more, in the simplest way.
#[derive(Debug, Default)]
struct Rules {
    generation: usize,
    owners: Vec<Kind>,
    sessions: [Talk; 2],
}

#[derive(Debug, Default)]
struct Talk {
    /// Of the newest turn.
    generation: usize,
    owners: Vec<Kind>,
    /// Letters that broke off, by generation.
    broken: HashSet<(usize, char)>,
    waiting: Option<Waiting>,
}

/// Somebody who waits for the model.
#[derive(Debug, Clone)]
struct Waiting {
    generation: usize,
    owners: Vec<Kind>,
    at: usize,
}

impl Talk {
    /// Whom a writer has to give way to, in the newest turn.
    fn obstacle(&self, generation: usize, asked: &[Kind], writer: Kind) -> Option<Option<Kind>> {
        if generation == self.generation {
            return None;
        }
        match self.owners.iter().find(|owner| !asked.contains(owner)) {
            Some(owner) if *owner == writer => None,
            other => Some(other.copied()),
        }
    }

    fn superseded(writer: Kind, by: Option<Kind>) -> End {
        End::Superseded { owner: id(writer.letter), by: by.map(|by| id(by.letter)) }
    }

    fn commit(&self, generation: usize, owners: &[Kind], at: usize) -> End {
        if let Some(by) = self.obstacle(generation, &owners[..at], owners[at]) {
            return Self::superseded(owners[at], by);
        }
        let passed_over = owners[..at].iter().map(|kind| id(kind.letter)).collect();
        End::Committed { owner: id(owners[at].letter), version: format!("{}.0.0", owners[at].version), passed_over }
    }

    fn compact(&mut self) -> End {
        let owners = self.owners.clone();
        if owners.is_empty() {
            return End::NoOwner;
        }
        if self.waiting.is_some() {
            return End::Busy;
        }
        self.ask_from(0, self.generation, owners)
    }

    /// The one that waited has its answer.
    fn answered(&mut self) -> Option<End> {
        let Waiting { generation, owners, at } = self.waiting.take()?;
        if owners[at].behaviour == "ask" {
            return Some(self.commit(generation, &owners, at));
        }
        Some(self.ask_from(at + 1, generation, owners))
    }

    fn ask_from(&mut self, from: usize, generation: usize, owners: Vec<Kind>) -> End {
        for (at, kind) in owners.iter().enumerate().skip(from) {
            if let Some(by) = self.obstacle(generation, &owners[..at], *kind) {
                return Self::superseded(*kind, by);
            }
            if self.broken.contains(&(generation, kind.letter)) {
                continue;
            }
            match kind.behaviour {
                "fold" => return self.commit(generation, &owners, at),
                "unchanged" => return End::Unchanged,
                "ask" | "ask-and-fail" => {
                    self.waiting = Some(Waiting { generation, owners, at });
                    return End::Waits;
                }
                "trap" => {
                    self.broken.insert((generation, kind.letter));
                }
                _ => {}
            }
        }
        End::NoneLeft(owners.iter().map(|kind| id(kind.letter)).collect())
    }

    /// Who is asked whether to compact; the host stands in where nobody can be.
    fn decides(&self) -> Option<String> {
        let able = |kind: &&Kind| !self.broken.contains(&(self.generation, kind.letter));
        self.owners.iter().find(able).map(|kind| id(kind.letter))
    }
}

/// The real thing.
struct World {
    engine: Engine,
    plugins: HashMap<Kind, Plugin>,
    store: Arc<dyn Store>,
    sessions: Vec<Session>,
    gates: Vec<Gate>,
    turns: Vec<Arc<Turn>>,
    waiting: Vec<Option<JoinHandle<Result<SessionCompacted, SessionError>>>>,
    appended: usize,
}

async fn plugins(engine: &Engine) -> HashMap<Kind, Plugin> {
    let mut plugins = HashMap::new();
    for letter in LETTERS {
        for version in [1, 2] {
            for behaviour in BEHAVIOURS {
                let config = format!(r#"{{"compress": "{behaviour}"}}"#);
                let plugin = load_version(engine, letter, version, &config).await;
                plugins.insert(Kind { letter, version, behaviour }, plugin);
            }
        }
    }
    plugins
}

impl World {
    async fn new(engine: &Engine, plugins: &HashMap<Kind, Plugin>) -> Self {
        engine.install(compress(&[]));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let sessions = vec![session_in(engine, &store, "one").await, session_in(engine, &store, "two").await];
        let gates = vec![Gate::new(), Gate::new()];
        let (engine, plugins) = (engine.clone(), plugins.clone());
        let mut world =
            Self { engine, plugins, store, sessions, gates, turns: Vec::new(), waiting: vec![None, None], appended: 0 };
        world.turns = (0..2).map(|at| world.turn(at)).collect();
        world
    }

    fn turn(&self, at: usize) -> Arc<Turn> {
        Arc::new(self.sessions[at].turn_with(self.engine.services().with_model(self.gates[at].service())))
    }

    fn install(&self, owners: &[Kind]) {
        let plugins: Vec<&Plugin> = owners.iter().map(|kind| &self.plugins[kind]).collect();
        self.engine.install(compress(&plugins));
    }

    /// Begins a compaction, on enough new text that it is worth while.
    async fn compact(&mut self, at: usize, waits: bool) -> End {
        self.appended += 1;
        self.sessions[at].append(talk(&format!("n{}-", self.appended), 12)).await.unwrap();
        let turn = Arc::clone(&self.turns[at]);
        let compacting = tokio::spawn(async move { turn.compact(&manual()).await });
        self.see(at, compacting, waits).await
    }

    async fn answer(&mut self, at: usize, waits: bool) -> End {
        let waiting = self.waiting[at].take().unwrap();
        self.gates[at].open();
        self.see(at, waiting, waits).await
    }

    /// Until it ends, or asks the model.
    async fn see(
        &mut self,
        at: usize,
        compacting: JoinHandle<Result<SessionCompacted, SessionError>>,
        waits: bool,
    ) -> End {
        if !waits {
            return end(soon(compacting).await.unwrap());
        }
        soon(self.gates[at].asked()).await;
        self.waiting[at] = Some(compacting);
        End::Waits
    }

    async fn abort(&mut self, at: usize) {
        let Some(waiting) = self.waiting[at].take() else { return };
        waiting.abort();
        assert!(soon(waiting).await.unwrap_err().is_cancelled());
        // The lease is given back by a task of its own.
        let free = async {
            loop {
                match self.store.acquire(self.sessions[at].key(), "a probe", Duration::from_secs(60)).await {
                    Ok(lease) => break self.store.release(&lease).await.unwrap(),
                    Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
                }
            }
        };
        soon(free).await;
    }

    /// What holds whatever was done: nobody in quarantine that should not be, one line of compactions, each under a
    /// newer lease, and every entry still there.
    async fn check(&self, at: usize, rules: &Rules) {
        let session = &self.sessions[at];
        let status = session.status();
        let broken: HashSet<String> = status.quarantined.iter().map(|found| found.plugin.clone()).collect();
        let talk = &rules.sessions[at];
        let expected: HashSet<String> = talk
            .broken
            .iter()
            .filter(|(generation, _)| *generation == talk.generation && *generation == rules.generation)
            .map(|(_, letter)| id(*letter))
            .collect();
        assert_eq!(broken, expected);
        let mut newest = u64::MAX;
        for record in session.history().await.unwrap() {
            let LogBody::Compaction(commit) = record.body else { panic!("{:?}", record.body) };
            assert!(commit.fencing_token < newest, "compactions under the same lease");
            newest = commit.fencing_token;
        }
        assert!(self.store.check(session.key()).await.unwrap().is_sound());
    }
}

async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("it should not have to wait")
}

fn end(compacted: Result<SessionCompacted, SessionError>) -> End {
    match compacted {
        Ok(SessionCompacted::Unchanged { .. }) => End::Unchanged,
        Ok(SessionCompacted::Done { record, .. }) => {
            let LogBody::Compaction(commit) = record.body else { panic!("{:?}", record.body) };
            let passed_over = commit.passed_over.into_iter().map(|passed| passed.owner).collect();
            End::Committed { owner: commit.owner, version: commit.owner_version, passed_over }
        }
        Err(SessionError::Busy(_)) => End::Busy,
        Err(SessionError::NoOwner { .. }) => End::NoOwner,
        Err(SessionError::Superseded { owner, by, .. }) => End::Superseded { owner, by },
        Err(SessionError::Compact(contextengine::CompactError::NoneLeft { tried })) => {
            End::NoneLeft(tried.iter().map(|error| error.owner().to_owned()).collect())
        }
        Err(other) => panic!("{other}"),
    }
}

/// Does everything to the real thing and to the rules, and compares.
async fn play(engine: &Engine, plugins: &HashMap<Kind, Plugin>, steps: Vec<Step>) {
    let mut world = World::new(engine, plugins).await;
    let mut rules = Rules::default();
    for step in steps {
        match step {
            Step::Install(owners) => {
                world.install(&owners);
                rules.generation += 1;
                rules.owners = owners;
            }
            Step::Turn(at) => {
                world.turns[at] = world.turn(at);
                let talk = &mut rules.sessions[at];
                (talk.generation, talk.owners) = (rules.generation, rules.owners.clone());
            }
            // Calls of a plugin wait for each other: it could not answer before the model does.
            Step::Decide(at) if rules.sessions[at].waiting.is_some() => {}
            Step::Decide(at) => {
                let turn = &world.turns[at];
                let mut pressure = turn.pressure(Trigger::Idle);
                // Below the threshold, so that the host leaves it to the owner.
                pressure.entries = 10;
                let decision = soon(turn.decide(&pressure)).await.unwrap();
                assert_eq!(decision.by, rules.sessions[at].decides());
            }
            Step::Compact(at) => {
                let expected = rules.sessions[at].compact();
                assert_eq!(world.compact(at, expected == End::Waits).await, expected);
            }
            Step::Answer(at) => {
                if let Some(expected) = rules.sessions[at].answered() {
                    assert_eq!(world.answer(at, expected == End::Waits).await, expected);
                }
            }
            Step::Abort(at) => {
                rules.sessions[at].waiting = None;
                world.abort(at).await;
            }
        }
    }
    for at in 0..2 {
        world.abort(at).await;
        world.check(at, &rules).await;
    }
}

#[test]
fn in_any_order_of_events_the_owner_is_whom_the_rules_say() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let engine = engine();
    let plugins = runtime.block_on(plugins(&engine));
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(64).min(5_000)) };
    proptest!(config, |(steps in prop::collection::vec(any_step(), 1..40))| {
        runtime.block_on(play(&engine, &plugins, steps));
    });
    assert_eq!(engine.metrics().instances_live, 0);
}

/// Who was bound to `compress`, by generation.
type Bound = HashMap<u64, Vec<Kind>>;

#[test]
fn when_everything_happens_at_once_every_commit_is_of_an_owner_of_its_generation() {
    const TASKS: usize = 4;
    let wanted = u64::from(cases(30).min(2_000));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async move {
        let engine = engine();
        let plugins = plugins(&engine).await;
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let session = session_in(&engine, &store, "busy").await;
        let mut events = engine.events();
        // Every answer comes at once: what is late is so by chance.
        let gate = Gate::new();
        (0..100_000).for_each(|_| gate.open());
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let (session, engine, gate) = (session.clone(), engine.clone(), gate.clone());
                tokio::spawn(async move {
                    for round in 0u32.. {
                        if engine.metrics().compactions >= wanted {
                            break;
                        }
                        let turn = session.turn_with(engine.services().with_model(gate.service()));
                        if session.status().entries < 60 {
                            session.append(talk(&format!("t{task}-{round}-"), 12)).await.unwrap();
                        }
                        match turn.compact(&manual()).await {
                            Ok(_)
                            | Err(
                                SessionError::Busy(_)
                                | SessionError::NoOwner { .. }
                                | SessionError::Superseded { .. }
                                | SessionError::Compact(_),
                            ) => {}
                            Err(other) => panic!("{other}"),
                        }
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        let mut bound = Bound::new();
        let mut commits: Vec<(u64, EventKind)> = Vec::new();
        let mut next = 0usize;
        while !tasks.iter().all(JoinHandle::is_finished) {
            next += 1;
            let kinds: Vec<Kind> = (0..next % 4)
                .map(|at| Kind {
                    letter: LETTERS[(next + at) % 3],
                    version: 1 + u8::try_from(next % 2).unwrap(),
                    behaviour: ["fold", "declined", "ask", "ask-and-fail"][(next / 2 + at) % 4],
                })
                .collect();
            let installed = engine.install(compress(&kinds.iter().map(|kind| &plugins[kind]).collect::<Vec<_>>()));
            bound.insert(installed.generation.number(), kinds);
            // Some setups last longer than a compaction takes on a busy machine, some do not.
            tokio::time::sleep(Duration::from_millis(3 << (next % 7))).await;
            loop {
                match events.try_recv() {
                    Ok(event) => {
                        if let EventKind::Committed { .. } = event.kind {
                            commits.push((event.generation.number(), event.kind.clone()));
                        }
                    }
                    Err(tokio::sync::broadcast::error::TryRecvError::Lagged(_)) => {}
                    Err(_) => break,
                }
            }
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert!(engine.metrics().compactions >= wanted);
        let mut written: HashMap<String, (u64, Vec<String>)> = HashMap::new();
        for (generation, commit) in &commits {
            let EventKind::Committed { record, owner, passed_over, .. } = commit else { continue };
            let owners: Vec<String> = bound[generation].iter().map(|kind| id(kind.letter)).collect();
            let passed: Vec<String> = passed_over.iter().map(|passed| passed.owner.clone()).collect();
            assert_eq!(owners.get(passed.len()), Some(owner), "generation {generation}: {passed:?} of {owners:?}");
            assert_eq!(owners[..passed.len()], passed);
            assert!(written.insert(record.to_string(), (*generation, passed)).is_none(), "committed twice");
        }
        let mut newest = u64::MAX;
        let history = session.history().await.unwrap();
        for record in &history {
            let LogBody::Compaction(commit) = &record.body else { panic!("{:?}", record.body) };
            assert!(commit.fencing_token < newest);
            newest = commit.fencing_token;
        }
        assert_eq!(
            history.len() as u64,
            engine.metrics().compactions,
            "one line of compactions, and all of them in it"
        );
        assert!(store.check(session.key()).await.unwrap().is_sound());
        assert_eq!(engine.metrics().instances_live, 0);
    });
}
