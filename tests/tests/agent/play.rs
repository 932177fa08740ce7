//! An agent that plays a session: what the user says is appended, and before each message of the model a request goes
//! out, compacted and shaped as an agent does it.

use std::sync::{Arc, Mutex};

use contextengine::Engine;
use contextengine::events::{Event, EventKind};
use contextengine::hooks::{Trigger, Urgency, Verdict};
use contextengine::plugin::LogLevel;
use contextengine::session::{
    LeaveOptions, SelectOptions, Session, SessionCompacted, SessionError, Turn, TurnCompactOptions,
};
use contextengine::store::{CompactionCommit, LogBody, NewSession, Store};
use contextengine::transcript::{Entry, EntryId, EntryKind};
use contextengine::view::ViewOptions;
use tokio::sync::broadcast::Receiver;

use crate::check;

const NAME: &str = "played";

/// An agent, and what it knows of its session by itself.
pub(crate) struct Agent {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) session: Session,
    options: ViewOptions,
    turn: Option<Turn>,
    events: Receiver<Arc<Event>>,
    log: Arc<Mutex<Vec<(LogLevel, String)>>>,
    /// Everything that was ever appended, also on other branches.
    pub(crate) appended: Vec<Entry>,
    /// The branch in use: what was appended to it, as it was.
    pub(crate) branch: Vec<Entry>,
    /// The messages of the last request.
    pub(crate) sent: Vec<String>,
    /// What may change the beginning of a request happened since the last one.
    pub(crate) excuses: Vec<String>,
    /// Compactions, in order.
    pub(crate) commits: Vec<CompactionCommit>,
    /// Why compactions did not come about, or found nothing to do.
    pub(crate) failures: Vec<String>,
    pub(crate) unchanged: Vec<String>,
    pub(crate) substituted: Vec<(String, Option<String>, String)>,
    /// Tokens of each request.
    pub(crate) tokens: Vec<u32>,
    pub(crate) shortened: usize,
    pub(crate) pruned: usize,
}

impl Agent {
    /// With a setup that is in force already.
    pub(crate) async fn new(engine: &Engine, store: Arc<dyn Store>) -> Self {
        let options = ViewOptions::default().with_loop_limit(engine.setup().target());
        let new = NewSession::named(NAME);
        let session = Session::create(engine.clone(), Arc::clone(&store), new, options).await.unwrap();
        Self {
            engine: engine.clone(),
            store,
            session,
            options,
            turn: None,
            events: engine.events(),
            log: Arc::default(),
            appended: Vec::new(),
            branch: Vec::new(),
            sent: Vec::new(),
            excuses: Vec::new(),
            commits: Vec::new(),
            failures: Vec::new(),
            unchanged: Vec::new(),
            substituted: Vec::new(),
            tokens: Vec::new(),
            shortened: 0,
            pruned: 0,
        }
    }

    /// The same session, opened anew from its store.
    pub(crate) async fn reopened(&self) -> Session {
        Session::open(self.engine.clone(), Arc::clone(&self.store), NAME, self.options).await.unwrap()
    }

    /// Goes on with the session as another process would.
    pub(crate) async fn restart(&mut self) {
        self.turn = None;
        self.session = self.reopened().await;
    }

    fn begin(&self) -> Turn {
        let log = Arc::clone(&self.log);
        let sink = move |level, message: &str| log.lock().unwrap().push((level, message.to_owned()));
        self.session.turn_with(self.engine.services().with_log(sink))
    }

    fn turn(&mut self) -> &Turn {
        if self.turn.is_none() {
            self.turn = Some(self.begin());
        }
        self.turn.as_ref().unwrap()
    }

    /// Plays entries as they came about.
    pub(crate) async fn play(&mut self, entries: &[Entry]) {
        for entry in entries {
            match entry.kind {
                EntryKind::User => self.end_turn().await,
                EntryKind::Assistant => self.request().await.unwrap_or_else(|error| panic!("{}: {error}", entry.id)),
                _ => {}
            }
            self.append(entry.clone()).await;
        }
    }

    /// The next step begins another turn.
    pub(crate) async fn end_turn(&mut self) {
        if let Some(turn) = self.turn.take() {
            turn.complete(None, false).await;
        }
    }

    pub(crate) async fn append(&mut self, entry: Entry) {
        self.appended.push(entry.clone());
        self.branch.push(entry.clone());
        let turn = self.turn();
        turn.append(vec![entry]).await.unwrap();
    }

    /// One request: compacted where that is needed, shaped, and looked at.
    pub(crate) async fn request(&mut self) -> Result<(), SessionError> {
        let turn = self.turn();
        let decision = turn.decide(&turn.pressure(Trigger::PreTurn)).await?;
        if let Verdict::Compress(urgency) = decision.verdict {
            self.compact(urgency).await?;
        }
        let selection = self.turn().select(&SelectOptions::default()).await?;
        self.listen();
        check::request(self, &selection);
        Ok(())
    }

    /// One compaction; that none came about is no error, but what the host refuses is.
    pub(crate) async fn compact(&mut self, urgency: Urgency) -> Result<(), SessionError> {
        let options = TurnCompactOptions::new(Trigger::PreTurn).with_urgency(urgency);
        let compacted = self.turn().compact(&options).await;
        self.listen();
        match compacted {
            Ok(SessionCompacted::Done { record, .. }) => {
                let LogBody::Compaction(commit) = record.body else { panic!("{:?}", record.body) };
                self.commits.push(*commit);
                check::compaction(self, urgency).await;
            }
            Ok(SessionCompacted::Unchanged { reason }) => self.unchanged.push(reason),
            Err(SessionError::Compact(error)) => self.failures.push(error.to_string()),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Goes to another branch; the summary of the one that is left is on it.
    pub(crate) async fn leave(&mut self, to: &EntryId, branch: Vec<Entry>) -> Option<EntryId> {
        let turn = self.turn();
        let left = turn.leave_branch(Some(to.clone()), &LeaveOptions::default()).await.unwrap();
        self.branch = branch;
        if let Some(id) = &left.summary {
            let view = self.session.view();
            let summary = view.entries().last().unwrap();
            assert_eq!((&summary.id, summary.kind), (id, EntryKind::BranchSummary));
            let summary = Entry::clone(summary);
            self.appended.push(summary.clone());
            self.branch.push(summary);
        }
        self.listen();
        left.summary
    }

    /// Hears what was told since.
    fn listen(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            match &event.kind {
                EventKind::Committed { record, .. } => self.excuses.push(format!("compaction {record}")),
                EventKind::BranchLeft { entry, .. } => self.excuses.push(format!("branch {entry}")),
                EventKind::LinkSkipped { plugin, reason } => {
                    self.excuses.push(format!("link {plugin}: {reason}"));
                    self.failures.push(format!("{plugin}: {reason}"));
                }
                EventKind::Substituted { from, to, reason, .. } => {
                    self.substituted.push((from.clone(), to.clone(), reason.clone()));
                }
                EventKind::ResultShortened { .. } => self.shortened += 1,
                EventKind::Quarantined { plugin, error, .. } => panic!("{plugin} broke off: {error}"),
                _ => {}
            }
        }
        for (level, message) in self.log.lock().unwrap().drain(..) {
            // The one decision by which a selector may change what was sent before.
            if level == LogLevel::Info && message.contains("tokens fewer") {
                self.pruned += 1;
                self.excuses.push(message);
            }
        }
    }
}
