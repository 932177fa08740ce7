//! One compaction, step by step.

use contextengine_sdk::budget::ends_bytes;
use contextengine_sdk::cut::Layout;
use contextengine_sdk::plan::PlanBuilder;
use contextengine_sdk::{CompressRequest, EntryKind, Failure, Host, Level, Outcome, Plan, Segment, View};

use crate::assemble::{Around, around, completed, fitting_rules, notices, owed};
use crate::carried::Previous;
use crate::chunks::{Piece, sum};
use crate::config::{Config, Section};
use crate::corrections::Corrections;
use crate::escape::masked;
use crate::model::{self, Job};
use crate::prompt::Wishes;
use crate::record::{self, Record};
use crate::select::{self, Fold};
use crate::source::{self, Losses};

/// The first line of every summary.
const INTRODUCTION: &str =
    "[Summary of the earlier part of this conversation. It is a record of what was said, not a new request.]";
/// Bytes of a focus that is made of requests, as Hermes.
const FOCUS_BYTES: usize = 700;
/// Less room than this is not worth asking a model for.
const LEAST_BODY: u32 = 48;

pub(crate) fn compress(
    view: &dyn View,
    host: &Host,
    request: &CompressRequest,
    config: &Config,
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
    let mut losses = Losses::default();
    let sources = sources(view, &layout, &fold, previous.as_ref(), config, host, &mut losses);
    let Some(share) = share(&record, &fold, &losses, config, host) else {
        let room = fold.room;
        return Ok(Outcome::Unchanged(format!("a summary could take {room} tokens, too few to say anything")));
    };
    let sections = with_demanded(&config.sections, &corrections.headings);
    let mut wishes = wishes(&layout, view, &fold, &record, request, &corrections, config);
    wishes.rules = rules(&record, config, host);
    let jobs = jobs(sources, view, &fold, &sections, share, config);
    let written = model::write(host, config, &wishes, &jobs)?;
    losses.set_aside = written.set_aside;
    let body = body(&written.texts, &jobs, previous.as_ref(), &sections, &record, config, host);
    let (text, details) = put_together(record, &body, &losses, written.parts, &fold, config, host)?;
    host.log(Level::Info, &format!("{} entries summarised in {} parts", fold.positions.len(), written.parts));
    let mut plan = PlanBuilder::over(layout);
    plan.fold_with(fold.positions, text, Some(details))?;
    Ok(Outcome::Compressed(newest_last(plan.build())))
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

/// What the model reads.
struct Sources {
    history: Vec<Piece>,
    prefix: Vec<Piece>,
    /// The summary to update; none where it is made anew from the originals.
    previous: Option<String>,
}

fn sources(
    view: &dyn View,
    layout: &Layout,
    fold: &Fold,
    previous: Option<&Previous>,
    config: &Config,
    host: &Host,
    losses: &mut Losses,
) -> Sources {
    let mut history = source::pieces(view, layout, &fold.history, config, host, losses);
    let prefix = source::pieces(view, layout, &fold.prefix, config, host, losses);
    let previous_text = previous.map(|previous| masked(&previous.body));
    let rounds = previous.map_or(0, |previous| previous.carried.rounds) + 1;
    let is_due = config.rebuild_every > 0 && rounds % config.rebuild_every == 0;
    if let Some(at) = fold.previous.filter(|_| is_due) {
        let most = config.rebuild_bytes;
        match view.original(at, Some(most.saturating_add(1))) {
            Some(text) if text.len() <= most as usize => {
                history.splice(0..0, source::originals(&text, host));
                return Sources { history, prefix, previous: None };
            }
            Some(_) => host.log(Level::Warn, "the originals exceed `rebuild_bytes`; the summary is updated instead"),
            None => host.log(Level::Warn, "the originals are not at hand; the summary is updated instead"),
        }
    }
    Sources { history, prefix, previous: previous_text }
}

/// Tokens for the model's texts: what the rest leaves, and at least half of the room. The second is for a cut turn.
fn share(record: &Record, fold: &Fold, losses: &Losses, config: &Config, host: &Host) -> Option<(u32, u32)> {
    let fixed = host.count(INTRODUCTION) + host.count(&notices(record, losses, 2)) + 24;
    let room = fold.room.checked_sub(fixed)?;
    let rest = around(record, "", room / 2, config, host);
    let rest = host.count(&rest.before) + host.count(&rest.after);
    let owed = owed(record, config, host).min(room / 3);
    let body = room.saturating_sub(rest + owed).min(config.max_summary_tokens);
    // An answer may be a fifth too long, and what is put back below its headings takes room as well.
    let body = body - body / 4;
    if body < LEAST_BODY {
        return None;
    }
    if fold.prefix.is_empty() {
        return Some((body, 0));
    }
    let prefix = config.max_prefix_tokens.min(body / 3);
    Some((body - prefix, prefix))
}

/// Headings that the host misses are asked for too, at the end.
fn with_demanded(sections: &[Section], demanded: &[String]) -> Vec<Section> {
    let mut all = sections.to_vec();
    for heading in demanded {
        if !all.iter().any(|section| section.heading == *heading) {
            let data = crate::config::Data::None;
            all.push(Section { heading: heading.clone(), about: String::new(), required: true, data });
        }
    }
    all
}

fn wishes(
    layout: &Layout,
    view: &dyn View,
    fold: &Fold,
    record: &Record,
    request: &CompressRequest,
    corrections: &Corrections,
    config: &Config,
) -> Wishes {
    let asked = request.focus.as_deref().map(str::trim).filter(|focus| !focus.is_empty()).map(masked);
    let focus = asked.or_else(|| newest_requests(layout, view, fold, config));
    Wishes { focus, rules: Vec::new(), notes: record.notes.clone(), defects: corrections.words.clone() }
}

/// The rules that the model is asked to repeat: those that would be put back otherwise.
fn rules(record: &Record, config: &Config, host: &Host) -> Vec<String> {
    let all: Vec<&str> = record.carried.constraints.iter().map(String::as_str).collect();
    fitting_rules(&all, config, host).into_iter().map(str::to_owned).collect()
}

/// The newest requests of the user, kept ones too, as a focus that nobody had to name.
fn newest_requests(layout: &Layout, view: &dyn View, fold: &Fold, config: &Config) -> Option<String> {
    let most = config.auto_focus_turns as usize;
    if most == 0 || fold.positions.is_empty() {
        return None;
    }
    let users =
        (0..layout.len()).rev().filter(|&at| layout.entry(at).is_some_and(|entry| entry.kind == EntryKind::User));
    let mut texts: Vec<String> = users
        .take(most)
        .map(|at| ends_bytes(masked(&view.text(at, None)).trim(), config.auto_focus_bytes as usize, 100).into_owned())
        .filter(|text| !text.is_empty())
        .collect();
    texts.reverse();
    let text = texts.join("\n");
    (!text.is_empty()).then(|| ends_bytes(&text, FOCUS_BYTES, 0).into_owned())
}

fn jobs<'a>(
    sources: Sources,
    view: &dyn View,
    fold: &Fold,
    sections: &'a [Section],
    share: (u32, u32),
    config: &'a Config,
) -> Vec<Job<'a>> {
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
        let request = fold.request.map(|at| masked(&view.text(at, Some(4_000))));
        jobs.push(Job {
            is_prefix: true,
            folded: sum(&sources.prefix),
            pieces: sources.prefix,
            previous: None,
            request,
            sections: &config.prefix_sections,
            most: share.1,
        });
    }
    jobs
}

/// The model's texts in the asked form.
fn body(
    texts: &[String],
    jobs: &[Job<'_>],
    previous: Option<&Previous>,
    sections: &[Section],
    record: &Record,
    config: &Config,
    host: &Host,
) -> String {
    let of = |is_prefix: bool| {
        jobs.iter().zip(texts).find(|(job, _)| job.is_prefix == is_prefix).map(|(_, text)| text.as_str())
    };
    let history = of(false).or(previous.map(|previous| previous.body.as_str())).unwrap_or_default();
    let mut body = completed(history, sections, record, config, host);
    if let Some(prefix) = of(true) {
        // The rules and names stand in the first part; here only the form is completed.
        let request = jobs.iter().find(|job| job.is_prefix).and_then(|job| job.request.clone());
        let bare = Record { request, ..Record::default() };
        let prefix = completed(prefix, &config.prefix_sections, &bare, config, host);
        body = format!("{body}\n\n{}\n{prefix}", config.prefix_heading);
    }
    body
}

/// The whole text and the JSON beside it, within the room.
fn put_together(
    mut record: Record,
    body: &str,
    losses: &Losses,
    parts: usize,
    fold: &Fold,
    config: &Config,
    host: &Host,
) -> Result<(String, String), Failure> {
    let about = notices(&record, losses, parts);
    let least = host.count(INTRODUCTION) + host.count(body) + host.count(&about) + 12;
    let mut left = fold.room.saturating_sub(least);
    for _ in 0..4 {
        let rest = around(&record, body, left, config, host);
        let (text, range) = joined(&rest, body, &about);
        let tokens = host.count(&text);
        if tokens <= fold.room {
            record.carried.body = range;
            record.carried.user_messages = rest.messages;
            return Ok((text, record.carried.to_json()));
        }
        left = left.saturating_sub(tokens - fold.room + left / 4);
    }
    let (text, range) = joined(&Around::default(), body, &about);
    let tokens = host.count(&text);
    if tokens > fold.room {
        let room = fold.room;
        return Err(Failure::unavailable(
            format!("the model's summary takes {tokens} tokens where {room} are left; it was asked for less"),
            None,
        ));
    }
    record.carried.body = range;
    record.carried.user_messages = Vec::new();
    Ok((text, record.carried.to_json()))
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
