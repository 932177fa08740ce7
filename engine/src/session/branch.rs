//! Leaving a branch: what is on it, and saying so on the other one.

use std::collections::HashSet;
use std::sync::Arc;

use super::context::{self, as_logged};
use super::{Session, SessionError};
use crate::store::{BranchSummary, Leaf, LogBody, NewRecord};
use crate::tokens::TokenCounter;
use crate::transcript::{Compaction, Entry, EntryId, EntryKind};
use crate::view::View;

/// Bytes of a request or an answer that the host's list quotes.
const QUOTE: u32 = 200;

/// A branch that is being left, and where it parts from the other one.
#[derive(Debug)]
pub(super) struct Departure {
    /// Its last entry.
    pub(super) left: EntryId,
    /// The last entry that both branches share; `None` where they share none.
    pub(super) ancestor: Option<EntryId>,
    /// Its entries behind the ancestor, as the log has them.
    pub(super) entries: Vec<Arc<Entry>>,
}

/// What is said of a branch that is left.
#[derive(Debug)]
pub(super) struct Farewell {
    pub(super) text: String,
    pub(super) details: Option<String>,
    pub(super) author: Author,
}

/// Who wrote the summary of a branch.
#[derive(Debug, Clone)]
pub(super) struct Author {
    pub(super) owner: String,
    pub(super) version: String,
    pub(super) component_hash: String,
}

impl Session {
    /// What would be left by going to the branch that ends with `to`; `None` where nothing would, as that branch goes
    /// on from this one.
    pub(super) async fn departure(&self, to: Option<&EntryId>) -> Result<Option<Departure>, SessionError> {
        let (store, key) = (&*self.shared.store, self.shared.key);
        let Some(left) = self.state().head.leaf.clone() else { return Ok(None) };
        let there: HashSet<EntryId> = match to {
            Some(to) => context::branch(store, key, to).await?.into_iter().map(|record| record.id).collect(),
            None => HashSet::new(),
        };
        let here = context::branch(store, key, &left).await?;
        let shared = here.iter().rposition(|record| there.contains(&record.id));
        let ancestor = shared.map(|at| here[at].id.clone());
        let behind = shared.map_or(0, |at| at + 1);
        let entries: Vec<Arc<Entry>> = here[behind..].iter().filter_map(as_logged).collect();
        Ok((!entries.is_empty()).then_some(Departure { left, ancestor, entries }))
    }

    /// Puts the other branch in use and appends to it what was done on the one that is left, in one step, if `permitted`
    /// at that moment. Returns the id of the entry that says it.
    pub(super) async fn depart(
        &self,
        to: Option<EntryId>,
        departure: Departure,
        farewell: Farewell,
        permitted: impl FnOnce() -> Result<(), SessionError> + Send,
    ) -> Result<EntryId, SessionError> {
        let Farewell { text, details, author } = farewell;
        let _writing = self.shared.writing.lock().await;
        permitted()?;
        let compaction = match &to {
            Some(leaf) => self.compaction_on(leaf).await?,
            None => None,
        };
        let now = self.now();
        let id = EntryId::new(self.record_id("branch-summary"));
        let mut entry = Entry::text(id.as_str(), EntryKind::BranchSummary, text);
        entry.at = Some(now);
        entry.parent.clone_from(&to);
        entry.compaction = Some(Box::new(Compaction {
            plugin: author.owner.clone(),
            details: details.clone(),
            tokens_before: 0,
            tokens_after: 0,
        }));
        let said = BranchSummary {
            left: departure.left,
            ancestor: departure.ancestor,
            entry: id.clone(),
            owner: author.owner,
            owner_version: author.version,
            component_hash: author.component_hash,
            details,
        };
        let leaf = LogBody::Leaf(Leaf { to, compaction });
        let records = vec![
            NewRecord::new(self.record_id("leaf"), now, leaf),
            NewRecord::entry(&entry, now),
            NewRecord::new(self.record_id("branch"), now, LogBody::BranchSummary(said)),
        ];
        let appended = self.shared.store.append(self.shared.key, records).await?;
        self.reload(appended.head).await?;
        Ok(id)
    }
}

/// The host's own account of a branch: what was asked and told, which tools ran and failed, and the last answer; no
/// longer than the budget, the oldest lines left out first. `None` where the budget is too small for a word.
pub(super) fn plain_list(branch: &View, budget: u32, counter: &dyn TokenCounter) -> Option<String> {
    let lines: Vec<String> =
        branch.infos().iter().zip(0..).filter_map(|(info, at)| line(branch, info.kind, at)).collect();
    let requests = branch.infos().iter().filter(|info| info.kind == EntryKind::User).count();
    let head = format!(
        "[Another branch of this conversation was left here: {} entries, {requests} requests. It is still in the log.]",
        branch.len()
    );
    let answer = branch.infos().iter().rposition(|info| info.kind == EntryKind::Assistant);
    let answer = answer.map(|at| format!("- last answer: {}", quote(branch, u32::try_from(at).unwrap_or(u32::MAX))));
    let end: Vec<String> = tools(branch).into_iter().chain(answer).collect();
    let with = |left_out: usize| {
        let gap = (left_out > 0).then(|| format!("- {left_out} earlier lines are left out"));
        let parts = std::iter::once(&head).chain(&gap).chain(&lines[left_out..]).chain(&end);
        parts.map(String::as_str).collect::<Vec<_>>().join("\n")
    };
    let fits = |text: &String| counter.count(text) <= budget;
    (0..=lines.len()).map(with).find(fits).or(Some(head.clone()).filter(fits))
}

/// What the list says of an entry: only requests, and what stands for other entries.
fn line(branch: &View, kind: EntryKind, at: u32) -> Option<String> {
    match kind {
        EntryKind::User => Some(format!("- asked: {}", quote(branch, at))),
        EntryKind::Summary | EntryKind::BranchSummary => Some(format!("- told before: {}", quote(branch, at))),
        _ => None,
    }
}

/// One line for the tools that ran, with how often and how often they failed.
fn tools(branch: &View) -> Option<String> {
    let mut counts: Vec<(u32, u32)> = vec![(0, 0); branch.tools().len()];
    for info in branch.infos().iter().filter(|info| info.kind == EntryKind::ToolResult) {
        let Some(count) = info.tool.and_then(|tool| counts.get_mut(tool as usize)) else { continue };
        count.0 += 1;
        count.1 += u32::from(info.marks.failed);
    }
    let ran: Vec<String> = branch
        .tools()
        .iter()
        .zip(counts)
        .filter(|(_, (ran, _))| *ran > 0)
        .map(|(name, (ran, failed))| match failed {
            0 => format!("{name} ×{ran}"),
            _ => format!("{name} ×{ran} ({failed} failed)"),
        })
        .collect();
    (!ran.is_empty()).then(|| format!("- tools: {}", ran.join(", ")))
}

/// The beginning of an entry's text on one line.
fn quote(branch: &View, at: u32) -> String {
    // Blanks are folded, so a few times the length that is shown has enough.
    let text = branch.text(at, Some(8 * QUOTE));
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.floor_char_boundary(QUOTE as usize);
    if end < line.len() { format!("{}…", &line[..end]) } else { line }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::tokens::EntryCounter;
    use crate::tokens::testing::Bytes;
    use crate::transcript::{Block, ToolCall, ToolResult};
    use crate::view::ViewOptions;

    fn branch() -> View {
        let call = ToolCall { id: "c".to_owned(), name: "read".to_owned(), arguments: "{}".to_owned() };
        let result =
            ToolResult { call_id: "c".to_owned(), name: "read".to_owned(), text: "gone".to_owned(), failed: true };
        let entries = vec![
            Entry::text("1", EntryKind::User, "try\nthe other way"),
            Entry::new("2", EntryKind::Assistant, vec![Block::ToolCall(call)]),
            Entry::new("3", EntryKind::ToolResult, vec![Block::ToolResult(result)]),
            Entry::text("4", EntryKind::Assistant, "it does not work"),
            Entry::text("5", EntryKind::User, "never mind"),
        ];
        View::new(entries.into_iter().map(Arc::new).collect(), &EntryCounter::new(Bytes), ViewOptions::default())
    }

    #[test]
    fn the_list_says_what_was_asked_what_ran_and_how_it_ended() {
        assert_eq!(
            plain_list(&branch(), 10_000, &Bytes).unwrap(),
            "[Another branch of this conversation was left here: 5 entries, 2 requests. It is still in the log.]\n\
             - asked: try the other way\n- asked: never mind\n- tools: read ×1 (1 failed)\n\
             - last answer: it does not work"
        );
    }

    #[test]
    fn the_list_never_takes_more_than_its_budget() {
        let view = branch();
        let all = plain_list(&view, 10_000, &Bytes).unwrap().len();
        for budget in 0..=u32::try_from(all).unwrap() {
            match plain_list(&view, budget, &Bytes) {
                Some(text) => assert!(text.len() <= budget as usize, "{budget}: {text}"),
                None => assert!(budget < 99, "{budget}"),
            }
        }
        assert!(plain_list(&view, 230, &Bytes).unwrap().contains("never mind"));
    }
}
