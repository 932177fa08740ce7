//! Decides what is folded, and makes the plan.
//!
//! Whole groups only. Kept are: system entries, everything that is pinned or in flight, the latest request of the
//! user, and the recent end of the session; the rest is folded into one summary. If the session has little to fold,
//! or the summary would save too little, the answer is that nothing was done and why, with the figures.

use contextengine_sdk::cut::Layout;
use contextengine_sdk::plan::PlanBuilder;
use contextengine_sdk::{CompressRequest, EntryInfo, EntryKind, Failure, Host, Outcome, Position, View, rules};
use serde_json::json;

use crate::config::{Config, KEEP_RECENT};
use crate::corrections::Corrections;
use crate::fit::Fitter;
use crate::gather::{Gather, Gathered, Tools};
use crate::summary::{MARKER, Section, Set, Summary, render};
use crate::text::focus_words;

/// What the fixed lines and the headings of a summary take, in tokens, measured with o200k_base.
const FRAME: u32 = 220;

/// The least that a summary is given, in tokens: its frame and a few lines.
const LEAST_SUMMARY: u32 = 400;

/// How often a summary that came out too long is made again with less.
const TRIES: u32 = 6;

/// What stays and what goes.
#[derive(Debug, PartialEq, Eq)]
struct Cut {
    /// For each position: it is folded.
    folded: Vec<bool>,
    kept_tokens: u32,
    folded_tokens: u32,
    /// Folded entries that are not summaries.
    fresh: u32,
}

/// The whole of `compress`.
pub(crate) fn compress(
    view: &dyn View,
    host: &Host,
    request: &CompressRequest,
    config: &Config,
    tools: &Tools,
) -> Result<Outcome, Failure> {
    let layout = Layout::read(view);
    let infos = layout.entries();
    let total = infos.iter().map(|info| info.tokens).fold(0_u32, u32::saturating_add);
    let corrections = Corrections::read(&request.corrections);
    let keep_recent = config.keep_recent_tokens.or_else(|| request.keep_recent()).unwrap_or(KEEP_RECENT);
    let cut = cut(&layout, request.target, keep_recent, config, &corrections);
    let least_saving = (f64::from(total) * config.min_saving).ceil() as u32;
    if cut.fresh == 0 {
        return Ok(Outcome::Unchanged(format!(
            "nothing to fold: all {total} tokens are within the {keep_recent} recent ones that are kept, pinned, or summarised already"
        )));
    }
    let room = cut.folded_tokens.saturating_sub(least_saving);
    let wanted = request.target.saturating_sub(cut.kept_tokens).max(LEAST_SUMMARY);
    let limit = corrections.tighten(wanted.min(config.max_summary_tokens).min(room));
    if limit < FRAME {
        return Ok(Outcome::Unchanged(format!(
            "folding the {} older tokens of {total} would save less than {:.0} %, as a summary takes at least {FRAME}",
            cut.folded_tokens,
            config.min_saving * 100.0
        )));
    }
    let focus = request.focus.as_deref();
    let mut gather = Gather::new(view, config, tools, focus);
    gather.walk(infos, &cut.folded);
    let gathered = gather.finish(&request.memory, &corrections.lost);
    let words = focus.map(focus_words).unwrap_or_default();
    let fitter = Fitter::new(gathered.summary.clone(), &config.budgets, &words, &tools.words, host);
    let (summary, text, tokens) = within(&fitter, limit, &corrections, host);
    let after = cut.kept_tokens.saturating_add(tokens);
    if total.saturating_sub(after) < least_saving.max(1) {
        return Ok(Outcome::Unchanged(format!(
            "a summary of {tokens} tokens for {} would save less than {:.0} % of {total}",
            cut.folded_tokens,
            config.min_saving * 100.0
        )));
    }
    let details = details(&gathered, &summary, &cut);
    let positions = (0..).zip(&cut.folded).filter(|(_, folded)| **folded).map(|(at, _): (Position, _)| at);
    let mut plan = PlanBuilder::over(layout);
    plan.fold_with(positions, text, Some(details))
        .map_err(|error| Failure::failed(format!("the fold is not a plan: {error}")))?;
    Ok(Outcome::Compressed(plan.build()))
}

/// Which groups are kept.
fn cut(layout: &Layout, target: u32, keep_recent: u32, config: &Config, corrections: &Corrections) -> Cut {
    let infos = layout.entries();
    let must: Set<u32> = (0..)
        .zip(infos)
        .filter(|(at, info)| info.kind == EntryKind::System || layout.is_required(*at))
        .map(|(_, info)| info.group)
        .collect();
    let tokens_of =
        |infos: &mut dyn Iterator<Item = &EntryInfo>| infos.map(|info| info.tokens).fold(0, u32::saturating_add);
    let mandatory = tokens_of(&mut infos.iter().filter(|info| must.contains(&info.group)));
    // A quarter of the target for the summary, so that a small window still gets one that says something.
    let for_summary = (target / 4).clamp(LEAST_SUMMARY, config.max_summary_tokens.max(LEAST_SUMMARY));
    let spare = target.saturating_sub(for_summary).saturating_sub(mandatory);
    let keep = corrections.keep_less(keep_recent.min(spare));
    let recent = recent_groups(infos, keep, &must);
    let folded: Vec<bool> =
        infos.iter().map(|info| !must.contains(&info.group) && !recent.contains(&info.group)).collect();
    let chosen = || infos.iter().zip(&folded);
    Cut {
        kept_tokens: tokens_of(&mut chosen().filter(|(_, folded)| !**folded).map(|(info, _)| info)),
        folded_tokens: tokens_of(&mut chosen().filter(|(_, folded)| **folded).map(|(info, _)| info)),
        fresh: chosen().filter(|(info, folded)| **folded && info.kind != EntryKind::Summary).count() as u32,
        folded,
    }
}

/// The groups at the end that take at most `keep` tokens; the last one in any case, as the model is about to read it.
/// A summary is never recent: it is merged into the new one, not kept beside it.
fn recent_groups(infos: &[EntryInfo], keep: u32, must: &Set<u32>) -> Set<u32> {
    let mut recent = Set::default();
    let mut taken = 0_u32;
    let mut at = infos.len();
    while at > 0 {
        let group = infos[at - 1].group;
        let mut start = at;
        while start > 0 && infos[start - 1].group == group {
            start -= 1;
        }
        let entries = &infos[start..at];
        let tokens = entries.iter().map(|info| info.tokens).fold(0, u32::saturating_add);
        if !must.contains(&group) {
            let over = taken.saturating_add(tokens) > keep;
            if (over && !recent.is_empty()) || entries.iter().any(|info| info.kind == EntryKind::Summary) {
                break;
            }
            taken = taken.saturating_add(tokens);
            recent.insert(group);
            if over {
                break;
            }
        }
        at = start;
    }
    recent
}

/// The summary within the limit by the host's own count.
fn within(fitter: &Fitter, limit: u32, corrections: &Corrections, host: &Host) -> (Summary, String, u32) {
    let mut whole = limit.saturating_sub(FRAME);
    let mut tries = 0;
    loop {
        let summary = fitter.fit(whole, host);
        let text = corrections.defuse(render(&summary, &corrections.missing_sections));
        let tokens = host.count(&text);
        tries += 1;
        if tokens <= limit || whole == 0 || tries == TRIES {
            return (summary, text, tokens);
        }
        // As much less as it was too long, and a little more, as items go whole.
        let over = tokens - limit;
        whole = if tries + 1 == TRIES { 0 } else { whole.saturating_sub(over + over / 4 + 8) };
    }
}

fn details(gathered: &Gathered, summary: &Summary, cut: &Cut) -> String {
    json!({
        "readFiles": gathered.read_files,
        "modifiedFiles": gathered.modified_files,
        rules::KEY: summary.constraints,
        "counts": {
            "entries": summary.entries,
            "rounds": summary.rounds,
            "foldedTokens": cut.folded_tokens,
            "messages": summary.messages.len(),
            "messagesLeftOut": summary.messages_left_out,
            "constraints": summary.constraints.len(),
            "replaced": summary.replaced.len(),
            "decisions": summary.decisions.len(),
            "commands": summary.commands.len(),
            "errors": summary.errors.len(),
            "open": summary.open.len(),
            "anchors": summary.anchors.iter().map(|list| list.names.len()).sum::<usize>(),
        },
        "format": MARKER,
        "sections": Section::ALL.iter().filter(|section| !crate::summary::items(summary, **section).is_empty())
            .map(|section| section.heading()).collect::<Vec<_>>(),
    })
    .to_string()
}
