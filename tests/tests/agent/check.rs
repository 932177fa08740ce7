//! What holds after every step, whatever was played.

use std::collections::HashMap;

use contextengine::Selection;
use contextengine::hooks::Urgency;
use contextengine::store::{LogBody, Page, Seq};
use contextengine::transcript::{Block, Entry, EntryKind};
use contextengine::view::View;
use contextengine_tests::request::{check_pairing, messages};

use crate::play::Agent;

/// Of a request that is longer than the target, so many bytes of its beginning and its end have to be left.
const CUT: usize = 256;

/// A request that goes out: valid, within the window, with the user's request, and beginning as the last one did.
pub(crate) fn request(agent: &mut Agent, selection: &Selection) {
    for (plugin, step) in selection.steps() {
        assert_eq!(step.skipped(), None, "{plugin}");
    }
    let messages = messages(selection.view());
    check_pairing(&messages).unwrap();
    latest_request(agent, selection.view());
    pinned(agent, selection.view());
    let sent: Vec<String> = messages.iter().map(ToString::to_string).collect();
    if let Some(at) = agent.sent.iter().zip(&sent).position(|(before, now)| before != now) {
        let (before, now) = (&agent.sent[at], &sent[at]);
        assert!(!agent.excuses.is_empty(), "message {at} changed, and nobody said why:\n{before}\n{now}");
    } else {
        assert!(agent.sent.len() <= sent.len() || !agent.excuses.is_empty(), "messages are gone, and nobody said why");
    }
    agent.excuses.clear();
    agent.sent = sent;
    agent.tokens.push(selection.view().tokens());
}

/// The user's latest request with words is there, verbatim.
fn latest_request(agent: &Agent, view: &View) {
    let says = |entry: &&Entry| entry.kind == EntryKind::User && !text(entry).trim().is_empty();
    let Some(asked) = agent.branch.iter().rev().find(says) else { return };
    let found = view.entries().iter().find(|entry| entry.id == asked.id);
    let found = found.unwrap_or_else(|| panic!("the request {} is gone: {}", asked.id, text(asked)));
    if found.blocks == asked.blocks {
        return;
    }
    let (asked_text, found_text) = (text(asked), text(found));
    let tokens = agent.engine.counter().text(&asked_text);
    assert!(tokens > agent.engine.setup().target(), "the request {} was rewritten: {found_text}", asked.id);
    let head = asked_text.floor_char_boundary(CUT);
    let tail = asked_text.ceil_char_boundary(asked_text.len().saturating_sub(CUT));
    assert!(found_text.starts_with(&asked_text[..head]) && found_text.ends_with(&asked_text[tail..]));
}

fn pinned(agent: &Agent, view: &View) {
    for pinned in agent.branch.iter().filter(|entry| entry.pinned) {
        let found = view.entries().iter().find(|entry| entry.id == pinned.id);
        assert_eq!(found.map(|entry| &entry.blocks), Some(&pinned.blocks), "{} is pinned", pinned.id);
    }
}

fn text(entry: &Entry) -> String {
    let texts = entry.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A compaction that was just committed: it says who wrote it, who was passed over and why, what the model sees is
/// what it says, and the log is whole.
pub(crate) async fn compaction(agent: &Agent, urgency: Urgency) {
    let commit = agent.commits.last().unwrap();
    let owners: Vec<String> = {
        let slots = agent.engine.slots();
        slots.bindings(contextengine::slots::Slot::Compress).iter().map(|owner| owner.id().to_owned()).collect()
    };
    let at = owners.iter().position(|owner| *owner == commit.owner).expect("the writer is one of the owners");
    let passed: Vec<&str> = commit.passed_over.iter().map(|passed| passed.owner.as_str()).collect();
    assert_eq!(passed, owners[..at], "those before {} were passed over", commit.owner);
    for passed in &commit.passed_over {
        assert!(!passed.reason.trim().is_empty(), "{} was passed over for no reason", passed.owner);
    }
    assert!(!commit.owner_version.is_empty() && commit.component_hash.len() == 64);
    assert!(commit.tokens_after < commit.tokens_before);
    let view = agent.session.view();
    assert_eq!(view.tokens(), commit.tokens_after, "what the model sees has the tokens that the record says");
    let setup = agent.engine.setup();
    if urgency == Urgency::Hard {
        assert!(view.tokens() <= setup.target(), "{} tokens, and {} were wanted", view.tokens(), setup.target());
    }
    let summaries = view.entries().iter().filter(|entry| entry.kind == EntryKind::Summary).count();
    assert_eq!(summaries, 1, "summaries never pile up");
    check_pairing(&messages(&view)).unwrap();
    latest_request(agent, &view);
    same_view(&agent.reopened().await.view(), &view);
}

/// What one sees of two views is the same.
pub(crate) fn same_view(left: &View, right: &View) {
    let seen = |view: &View| -> Vec<_> {
        let entries = view.entries().iter();
        entries.map(|entry| (entry.id.clone(), entry.kind, entry.role, entry.pinned, entry.blocks.clone())).collect()
    };
    assert_eq!(seen(left), seen(right));
    assert_eq!(left.infos(), right.infos());
    assert_eq!(messages(left), messages(right));
}

/// The log has everything that was ever appended, as it was, and is sound; every commit is in the history.
pub(crate) async fn log(agent: &Agent) {
    let (store, key) = (&agent.store, agent.session.key());
    let report = store.check(key).await.unwrap();
    assert!(report.is_sound(), "{:?}", report.damage);
    let status = agent.session.status();
    assert_eq!(status.depth, agent.branch.len() as u64, "entries of the branch");
    let mut found = HashMap::new();
    let mut next = Some(Page::After(Seq(0)));
    while let Some(page) = next {
        let records = store.page(key, page, 512).await.unwrap();
        next = records.next;
        for record in records.intact().unwrap() {
            if let Some(entry) = record.entry(|_| None) {
                found.insert(entry.id.clone(), entry);
            }
        }
    }
    assert_eq!(found.len(), agent.appended.len());
    for entry in &agent.appended {
        let logged = &found[&entry.id];
        // Behind a result that was shortened on its way in stands the whole one.
        let logged = logged.replaces.first().map_or(logged, |whole| whole);
        assert_eq!((&logged.blocks, logged.kind, logged.pinned), (&entry.blocks, entry.kind, entry.pinned));
    }
    let history = agent.session.history().await.unwrap();
    for record in &history {
        let LogBody::Compaction(commit) = &record.body else { panic!("{:?}", record.body) };
        assert!(agent.commits.contains(commit));
    }
    same_view(&agent.reopened().await.view(), &agent.session.view());
}

/// Everything that the last request says, and what is carried beside the summaries in it.
pub(crate) fn everything_said(agent: &Agent) -> String {
    let view = agent.session.view();
    let details = view.entries().iter().filter_map(|entry| entry.compaction.as_ref()?.details.clone());
    format!("{}\n{}", agent.sent.join("\n"), details.collect::<String>())
}
