//! Turns what a walk gathered into a summary: what is in force and open, each thing once, the rest counted.

use crate::calls::cut;
use crate::gather::{Gather, Gathered, MAX_LINE};
use crate::summary::{Map, NameList, Open, OpenKind, Replaced, Summary, clean_block, clean_line, clean_struck};
use crate::supersede::values_gone;
use crate::words::Words;

impl Gather<'_> {
    /// Everything that was found. `memory` are notes of observers, `demanded` are names that the host misses.
    pub(crate) fn finish(mut self, memory: &[String], demanded: &[String]) -> Gathered {
        self.deeds.no_result(std::mem::take(&mut self.pending));
        self.take_wishes(memory, demanded);
        let mut summary = std::mem::take(&mut self.summary);
        summary.rounds = summary.rounds.saturating_add(1);
        let rules = std::mem::take(&mut self.rules);
        summary.constraints = rules.in_force.into_iter().map(|rule| rule.text).collect();
        let struck = |(old, by): (String, String)| Replaced { old: clean_struck(&old), by };
        summary.replaced = rules.replaced.into_iter().map(struck).collect();
        summary.open = self.open();
        each_once(&mut summary, &self.tools.words);
        self.index.merge_short_paths();
        let (read_files, modified_files) = self.deeds.files();
        self.deeds.into_summary(&self.index, &mut summary);
        summary.anchors = self.tools.finder.lists(&self.index);
        leave_out_known(&mut summary, &read_files, &modified_files);
        Gathered { summary, read_files, modified_files }
    }

    fn take_wishes(&mut self, memory: &[String], demanded: &[String]) {
        for name in demanded {
            if self.tools.secrets.mask(name) == name.as_str() {
                self.index.demand(name);
            }
        }
        for note in memory {
            let note = clean_block(&self.tools.secrets.mask(note));
            if !note.is_empty() && !self.summary.notes.contains(&note) {
                self.summary.notes.push(note);
            }
        }
    }

    /// What is not done: requests without an answer, the question that waits, the pending tasks.
    fn open(&mut self) -> Vec<Open> {
        let of = |kind| move |text| Open { kind, text };
        let tasks = self.tasks.take().unwrap_or_else(|| std::mem::take(&mut self.todos));
        let tasks = tasks.iter().map(|task| cut(&clean_line(task), MAX_LINE)).filter(|task| !task.is_empty());
        let requests = std::mem::take(&mut self.unanswered).into_iter().map(of(OpenKind::Request));
        let question = self.question.take().into_iter().map(of(OpenKind::Question));
        requests.chain(question).chain(tasks.map(of(OpenKind::Todo))).collect()
    }
}

fn each_once(summary: &mut Summary, words: &Words) {
    keep_last_of_equal(&mut summary.decisions, String::as_str);
    keep_firm(&mut summary.decisions, words);
    keep_last_of_equal(&mut summary.focus_notes, String::as_str);
    keep_last_of_equal(&mut summary.open, |open| open.text.as_str());
    let before = summary.messages.len();
    keep_last_of_equal(&mut summary.messages, String::as_str);
    summary.messages_left_out += (before - summary.messages.len()) as u64;
}

/// Names that stand elsewhere in the summary, and ports that were taken back.
fn leave_out_known(summary: &mut Summary, read: &[String], modified: &[String]) {
    let gone = values_gone(&summary.replaced, &summary.constraints);
    let known = |name: &String| read.binary_search(name).is_ok() || modified.binary_search(name).is_ok();
    let keep = |list: &mut NameList| {
        list.names.retain(|it| match list.kind.as_str() {
            "files" => !known(&it.name),
            "hosts" => !gone.iter().any(|value| it.name.ends_with(value.as_str())),
            _ => true,
        });
        !list.names.is_empty()
    };
    summary.anchors.retain_mut(keep);
}

/// Of items with the same text, only the last.
fn keep_last_of_equal<T>(items: &mut Vec<T>, text: impl Fn(&T) -> &str) {
    let mut last: Map<String, usize> = Map::default();
    for (at, item) in items.iter().enumerate() {
        last.insert(text(item).to_lowercase(), at);
    }
    let mut at = 0;
    items.retain(|item| {
        let keep = last.get(&text(item).to_lowercase()) == Some(&at);
        at += 1;
        keep
    });
}

/// Of sentences that only may decide something, the newest few.
fn keep_firm(decisions: &mut Vec<String>, words: &Words) {
    const WEAK_SHOWN: usize = 10;
    let weak = |text: &String| words.decision(text) < 2;
    let mut skip = decisions.iter().filter(|text| weak(text)).count().saturating_sub(WEAK_SHOWN);
    decisions.retain(|text| {
        let old = skip > 0 && weak(text);
        skip -= usize::from(old);
        !old
    });
}
