//! One compaction, step by step.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};

use contextengine_sdk::budget::ends_bytes;
use contextengine_sdk::cut::Layout;
use contextengine_sdk::plan::PlanBuilder;
use contextengine_sdk::{CompressRequest, EntryKind, Failure, Host, Level, Outcome, Plan, Position, Segment, View};

use crate::assemble::{Around, around, completed, fitting_rules, notices, owed};
use crate::carried::{Carried, Previous};
use crate::chunks::{Piece, sum};
use crate::config::{Config, Data, Section};
use crate::corrections::Corrections;
use crate::escape::masked;
use crate::model::{self, Job, Written};
use crate::prompt::Wishes;
use crate::record::{self, Record};
use crate::select::{self, Fold};
use crate::source::{self, Losses};

/// The first line of every summary.
const INTRODUCTION: &str =
    "[Summary of the earlier part of this conversation. It is a record of what was said, not a new request.]";
/// Bytes of a focus that is made of requests, as Hermes.
const FOCUS_BYTES: usize = 700;
/// Bytes of the request of a cut turn, where it is shown beside the transcript.
const REQUEST_BYTES: usize = 4_000;
/// Less room than this is not worth asking a model for.
const LEAST_BODY: u32 = 48;

/// What the model wrote last and a fingerprint of what it had read.
pub(crate) type LastAnswer = RefCell<Option<(u64, Written)>>;

/// Chooses what is folded, asks the model, and puts the summary together.
pub(crate) fn compress(
    view: &dyn View,
    host: &Host,
    request: &CompressRequest,
    config: &Config,
    last_answer: &LastAnswer,
) -> Result<Outcome, Failure> {
    let layout = Layout::read(view);
    let corrections = Corrections::read(&request.corrections);
    let last = view.last_compaction();
    let fold = match select::select(&layout, last.as_ref().map(|last| last.at), config, request, &corrections) {
        Ok(fold) => fold,
        Err(reason) => return Ok(Outcome::Unchanged(reason)),
    };
    let previous = last.filter(|last| Some(last.at) == fold.previous).map(|last| Previous::read(&last));
    let record = record::gather(view, &layout, &fold, previous.as_ref(), request, &corrections.lost, config);
    let round = Round { view, host, request, config, layout, corrections, fold, previous };
    round.run(&record, last_answer)
}

/// Everything that one compaction is made from.
struct Round<'a> {
    view: &'a dyn View,
    host: &'a Host,
    request: &'a CompressRequest,
    config: &'a Config,
    layout: Layout,
    corrections: Corrections,
    fold: Fold,
    previous: Option<Previous>,
}

/// What the model reads.
struct Sources {
    history: Vec<Piece>,
    prefix: Vec<Piece>,
    /// The summary to update; none where it is made anew from the originals.
    previous: Option<String>,
}

impl Round<'_> {
    fn run(self, record: &Record, last_answer: &LastAnswer) -> Result<Outcome, Failure> {
        let mut losses = Losses::default();
        let sources = self.sources(&mut losses);
        let Some(share) = self.share(record, &losses) else {
            let room = self.fold.room;
            return Ok(Outcome::Unchanged(format!("a summary could take {room} tokens, too few to say anything")));
        };
        let sections = self.sections();
        let jobs = self.jobs(sources, &sections, share);
        if jobs.is_empty() && self.previous.is_none() {
            let entries = self.fold.positions.len();
            return Ok(Outcome::Unchanged(format!("the {entries} entries that could be folded hold no words")));
        }
        let (text, details) = self.propose(record, &jobs, &sections, &losses, last_answer)?;
        let mut plan = PlanBuilder::over(self.layout);
        plan.fold_with(self.fold.positions, text, Some(details))?;
        Ok(Outcome::Compressed(newest_last(plan.build())))
    }

    /// The summary and the JSON beside it. Where the host only misses names in what the model wrote last, the model is
    /// not asked again.
    fn propose(
        &self,
        record: &Record,
        jobs: &[Job<'_>],
        sections: &[Section],
        losses: &Losses,
        last_answer: &LastAnswer,
    ) -> Result<(String, String), Failure> {
        let read = fingerprint(jobs, self.request.focus.as_deref());
        let known = last_answer.borrow().clone().filter(|(of, _)| self.corrections.only_names() && *of == read);
        if let Some((_, written)) = known {
            // Where the names have no room beside it, a shorter text is asked for.
            if let Ok(proposed) = self.proposed(record, jobs, sections, losses, &written) {
                return Ok(proposed);
            }
        }
        let written = model::write(self.host, self.config, &self.wishes(record), jobs)?;
        let proposed = self.proposed(record, jobs, sections, losses, &written);
        last_answer.replace(Some((read, written)));
        proposed
    }

    /// The same, from what the model wrote.
    fn proposed(
        &self,
        record: &Record,
        jobs: &[Job<'_>],
        sections: &[Section],
        losses: &Losses,
        written: &Written,
    ) -> Result<(String, String), Failure> {
        let losses = Losses { set_aside: written.set_aside.clone(), ..losses.clone() };
        let body = self.body(&written.texts, jobs, sections, record);
        self.put_together(record, &body, &notices(record, &losses, written.parts))
    }

    fn sources(&self, losses: &mut Losses) -> Sources {
        let mut read =
            |positions: &[Position]| source::pieces(self.view, &self.layout, positions, self.config, self.host, losses);
        let (mut history, prefix) = (read(&self.fold.history), read(&self.fold.prefix));
        if let Some(originals) = self.originals() {
            history.splice(0..0, originals);
            return Sources { history, prefix, previous: None };
        }
        let previous = self.previous.as_ref().map(|previous| masked(&previous.body));
        Sources { history, prefix, previous }
    }

    /// What stands behind the previous summary, where it is time to write that anew.
    fn originals(&self) -> Option<Vec<Piece>> {
        let every = self.config.rebuild_every;
        let rounds = self.previous.as_ref()?.carried.rounds + 1;
        let at = self.fold.previous.filter(|_| every > 0 && rounds % every == 0)?;
        let most = self.config.rebuild_bytes;
        match self.view.original(at, Some(most.saturating_add(1))) {
            Some(text) if text.len() <= most as usize => Some(source::originals(&text, self.host)),
            Some(_) => {
                self.host.log(Level::Warn, "the originals exceed `rebuild_bytes`; the summary is updated instead");
                None
            }
            None => {
                self.host.log(Level::Warn, "the originals are not at hand; the summary is updated instead");
                None
            }
        }
    }

    /// Tokens for the model's texts: what the rest leaves, and at least half of the room. The second is for a cut turn.
    fn share(&self, record: &Record, losses: &Losses) -> Option<(u32, u32)> {
        let (config, host) = (self.config, self.host);
        let fixed = host.count(INTRODUCTION) + host.count(&notices(record, losses, 2)) + 24;
        let room = self.fold.room.checked_sub(fixed)?;
        let rest = around(record, "", room / 2, config, host);
        let rest = host.count(&rest.before) + host.count(&rest.after);
        let owed = owed(record, config, host).min(room / 3);
        let body = room.saturating_sub(rest + owed).min(config.max_summary_tokens);
        // An answer may be a fifth too long, and what is put back below its headings takes room as well.
        let body = body - body / 4;
        if body < LEAST_BODY {
            return None;
        }
        if self.fold.prefix.is_empty() {
            return Some((body, 0));
        }
        let prefix = config.max_prefix_tokens.min(body / 3);
        Some((body - prefix, prefix))
    }

    /// The headings; those that the host misses are asked for too, at the end.
    fn sections(&self) -> Vec<Section> {
        let mut all = self.config.sections.clone();
        for heading in &self.corrections.headings {
            if !all.iter().any(|section| section.heading == *heading) {
                let (about, data) = (String::new(), Data::None);
                all.push(Section { heading: heading.clone(), about, required: true, data });
            }
        }
        all
    }

    fn wishes(&self, record: &Record) -> Wishes {
        let asked = self.request.focus.as_deref().map(str::trim).filter(|focus| !focus.is_empty()).map(masked);
        // The model is asked to repeat the rules that would be put back otherwise.
        let rules: Vec<&str> = record.carried.constraints.iter().map(String::as_str).collect();
        let rules = fitting_rules(&rules, self.config, self.host);
        Wishes {
            focus: asked.or_else(|| self.newest_requests()),
            rules: rules.into_iter().map(str::to_owned).collect(),
            notes: record.notes.clone(),
            defects: self.corrections.words.clone(),
        }
    }

    /// The newest requests of the user, kept ones too, as a focus that nobody had to name.
    fn newest_requests(&self) -> Option<String> {
        let is_user = |at: &Position| self.layout.entry(*at).is_some_and(|entry| entry.kind == EntryKind::User);
        let users = (0..self.layout.len()).rev().filter(is_user).take(self.config.auto_focus_turns as usize);
        let most = self.config.auto_focus_bytes as usize;
        let mut texts: Vec<String> = users
            .map(|at| ends_bytes(masked(&self.view.text(at, None)).trim(), most, 100).into_owned())
            .filter(|text| !text.is_empty())
            .collect();
        texts.reverse();
        let text = texts.join("\n");
        (!text.is_empty()).then(|| ends_bytes(&text, FOCUS_BYTES, 0).into_owned())
    }

    fn jobs<'s>(&'s self, sources: Sources, sections: &'s [Section], share: (u32, u32)) -> Vec<Job<'s>> {
        let mut jobs = Vec::new();
        // Where nothing is new before the cut turn, the summary so far is good as it is.
        if !sources.history.is_empty() {
            jobs.push(Job {
                is_prefix: false,
                folded: sum(&sources.history),
                pieces: sources.history,
                previous: sources.previous,
                request: None,
                sections,
                most: share.0,
            });
        }
        if !sources.prefix.is_empty() {
            // A folded request is part of the transcript; one that stays is shown beside it.
            let stays = self.fold.request.filter(|at| !self.fold.positions.contains(at));
            jobs.push(Job {
                is_prefix: true,
                folded: sum(&sources.prefix),
                pieces: sources.prefix,
                previous: None,
                request: stays.map(|at| self.turn_request(at)),
                sections: &self.config.prefix_sections,
                most: share.1,
            });
        }
        jobs
    }

    /// The request of a turn, its beginning and end if it is long.
    fn turn_request(&self, at: Position) -> String {
        ends_bytes(masked(&self.view.text(at, None)).trim(), REQUEST_BYTES, 60).into_owned()
    }

    /// The model's texts in the asked form.
    fn body(&self, texts: &[String], jobs: &[Job<'_>], sections: &[Section], record: &Record) -> String {
        let of = |is_prefix: bool| {
            let found = jobs.iter().zip(texts).find(|(job, _)| job.is_prefix == is_prefix);
            found.map(|(_, text)| text.as_str())
        };
        let previous = self.previous.as_ref().map(|previous| previous.body.as_str());
        let history = of(false).or(previous).unwrap_or_default();
        let body = completed(history, sections, record, self.config, self.host);
        let Some(prefix) = of(true) else { return body };
        // The rules and names stand in the first part; here only the form is completed.
        let request = self.fold.request.map(|at| self.turn_request(at));
        let bare = Record { request, ..Record::default() };
        let prefix = completed(prefix, &self.config.prefix_sections, &bare, self.config, self.host);
        format!("{body}\n\n{}\n{prefix}", self.config.prefix_heading)
    }

    /// The whole text and the JSON beside it, within the room.
    fn put_together(&self, record: &Record, body: &str, about: &str) -> Result<(String, String), Failure> {
        let (host, room) = (self.host, self.fold.room);
        let least = host.count(INTRODUCTION) + host.count(body) + host.count(about) + 12;
        let mut left = room.saturating_sub(least);
        loop {
            let rest = match left {
                0 => Around::default(),
                _ => around(record, body, left, self.config, host),
            };
            let (text, range) = joined(&rest, body, about);
            let tokens = host.count(&text);
            if tokens <= room {
                let carried = Carried { body: range, user_messages: rest.messages, ..record.carried.clone() };
                return Ok((text, carried.to_json()));
            }
            if left == 0 {
                let reason =
                    format!("the model's summary takes {tokens} tokens where {room} are left, and asked for less");
                return Err(Failure::unavailable(reason, None));
            }
            // Joined texts can take a little more than their parts.
            left = left.saturating_sub(tokens - room + left / 4 + 1);
        }
    }
}

/// Of everything that a model reads but its instruction.
fn fingerprint(jobs: &[Job<'_>], focus: Option<&str>) -> u64 {
    let mut hash = DefaultHasher::new();
    focus.hash(&mut hash);
    for job in jobs {
        (job.is_prefix, &job.previous, &job.request).hash(&mut hash);
        job.pieces.iter().for_each(|piece| piece.text.hash(&mut hash));
    }
    hash.finish()
}

/// A summary that stands for newer entries than the last one that stays, as when the work on the latest request is
/// folded, goes to the end: else the request would look as if nothing had been done about it.
fn newest_last(mut plan: Plan) -> Plan {
    let last_kept = plan.segments.iter().rev().find_map(|segment| match segment {
        Segment::Keep(span) => Some(span.end),
        _ => None,
    });
    let newer = plan.segments.iter().position(|segment| match segment {
        Segment::Summary(summary) => summary.covers.last().map(|span| span.end) > last_kept,
        _ => false,
    });
    if let Some(at) = newer {
        let summary = plan.segments.remove(at);
        plan.segments.push(summary);
    }
    plan
}

/// The text, and where in it the body lies.
fn joined(around: &Around, body: &str, about: &str) -> (String, (usize, usize)) {
    let mut text = INTRODUCTION.to_owned();
    let add = |part: &str, text: &mut String| {
        if !part.is_empty() {
            text.push_str("\n\n");
            text.push_str(part);
        }
    };
    add(&around.before, &mut text);
    add(body, &mut text);
    let range = (text.len() - body.len(), text.len());
    add(&around.after, &mut text);
    add(about, &mut text);
    (text, range)
}
