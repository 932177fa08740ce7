//! The summary as the next model reads it: the model's text, completed, and around it what is known without a model,
//! within the room that there is.

use contextengine_sdk::Host;
use contextengine_sdk::budget;

use crate::config::{Config, Data, FilesStyle, Section};
use crate::constraints;
use crate::escape::{defused, quoted};
use crate::names;
use crate::record::Record;
use crate::sections::Body;
use crate::source::Losses;

/// What stands below a heading that has nothing to hold.
const NONE: &str = "None recorded.";
/// What stands below a heading that only the model could have filled.
const SILENT: &str = "The summariser recorded nothing here.";

/// A part that is made without a model.
#[derive(Debug)]
struct Block {
    heading: String,
    /// In the order in which they are written.
    items: Vec<String>,
    /// Tokens that it may take.
    budget: u32,
    choice: Choice,
    place: Place,
}

/// Which items stay when not all fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Newest,
    Oldest,
    BothEnds,
}

/// Where a block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    After,
}

/// The texts around the model's.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Around {
    /// Before it.
    pub(crate) before: String,
    /// After it.
    pub(crate) after: String,
    /// Messages of the user that are quoted, oldest first.
    pub(crate) messages: Vec<String>,
}

/// The texts around a body, in at most `room` tokens.
pub(crate) fn around(record: &Record, body: &str, room: u32, config: &Config, host: &Host) -> Around {
    let mut left = room;
    let mut around = Around::default();
    let mut written: Vec<(usize, Place, String)> = Vec::new();
    for (order, block) in blocks(record, body, config) {
        // Without the names that the host asked for there is no plan, so they may take more than the target leaves.
        let budget = if order == NAMES && record.names_asked { block.budget } else { block.budget.min(left) };
        let text = if order == MESSAGES {
            let (text, messages) = messages(&record.carried.user_messages, budget, config, host);
            around.messages = messages;
            text
        } else {
            fitted(&block, budget, host)
        };
        let Some(text) = text else { continue };
        left = left.saturating_sub(host.count(&text) + 2);
        written.push((order, block.place, text));
    }
    written.sort_by_key(|(order, ..)| *order);
    for (_, place, text) in written {
        let target = if place == Place::Before { &mut around.before } else { &mut around.after };
        if !target.is_empty() {
            target.push_str("\n\n");
        }
        target.push_str(&text);
    }
    around
}

const MESSAGES: usize = 1;
const NAMES: usize = 6;

/// The blocks with their place in the text, the most important first: those get their room before the others.
fn blocks(record: &Record, body: &str, config: &Config) -> Vec<(usize, Block)> {
    let has = |data: Data| config.sections.iter().any(|section| section.data == data);
    let list = |items: &[String]| items.iter().map(|item| format!("- {}", defused(item))).collect::<Vec<String>>();
    let after = |heading: &str, items: Vec<String>, budget: u32, choice: Choice| Block {
        heading: heading.to_owned(),
        items,
        budget,
        choice,
        place: Place::After,
    };
    let mut blocks = Vec::new();
    if !has(Data::Constraints) {
        let rules: Vec<String> =
            constraints::missing(&record.carried.constraints, body).into_iter().map(str::to_owned).collect();
        blocks
            .push((0, after("## Constraints of the user", list(&rules), config.constraints_tokens, Choice::BothEnds)));
    }
    if !has(Data::Identifiers) {
        let missing: Vec<String> = missing_names(record, body);
        blocks.push((NAMES, after("## Exact names", list(&missing), u32::MAX, Choice::Oldest)));
    }
    blocks.push((5, after("## Saved notes", quotes(&record.notes), config.notes_tokens, Choice::Newest)));
    let place = if config.user_messages_first { Place::Before } else { Place::After };
    let messages = after("", Vec::new(), config.user_messages_tokens, Choice::Newest);
    blocks.push((MESSAGES, Block { place, ..messages }));
    blocks.push((3, after("## Tool failures", list(&record.carried.failures), u32::MAX, Choice::Newest)));
    blocks.push((4, files(record, config)));
    let spoken: Vec<String> =
        record.recent.iter().map(|(speaker, text)| format!("{speaker} said\n{}", quoted(text).trim_end())).collect();
    blocks.push((2, after("## Recent turns, word for word", spoken, u32::MAX, Choice::Newest)));
    blocks.push((7, after("## Index of names", list(&record.anchors), config.anchors_tokens, Choice::Oldest)));
    blocks
}

fn quotes(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| format!("\n{}", quoted(text).trim_end())).collect()
}

/// The newest messages of the user, and their texts as they are quoted. The first one that does not fit is cut to its
/// beginning and end, and the older ones are left out, as Codex does.
fn messages(texts: &[String], budget: u32, config: &Config, host: &Host) -> (Option<String>, Vec<String>) {
    let heading = "## Messages of the user, word for word";
    let mut left = budget.saturating_sub(host.count(heading) + 20);
    let mut shown: Vec<(String, String)> = Vec::new();
    for text in texts.iter().rev() {
        let short = budget::ends(host, text.trim(), config.user_message_tokens, 60).into_owned();
        let quote = format!("\n{}", quoted(&short).trim_end());
        let cost = host.count(&quote).saturating_add(1);
        if cost <= left {
            left -= cost;
            shown.push((short, quote));
            continue;
        }
        // Quoting marks each line, so the cut text is made smaller than the room.
        if left >= LEAST_MESSAGE {
            let short = budget::ends(host, &short, left / 2, 60).into_owned();
            let quote = format!("\n{}", quoted(&short).trim_end());
            if host.count(&quote) < left {
                shown.push((short, quote));
            }
        }
        break;
    }
    if shown.is_empty() {
        return (None, Vec::new());
    }
    shown.reverse();
    let missing = texts.len() - shown.len();
    let mut text = heading.to_owned();
    if missing > 0 {
        text.push_str(&format!("\n({missing} older ones had no room here; the session log has them.)"));
    }
    let (messages, quotes): (Vec<String>, Vec<String>) = shown.into_iter().unzip();
    for quote in quotes {
        text.push('\n');
        text.push_str(&quote);
    }
    (Some(text), messages)
}

/// Fewer tokens than this are no quote.
const LEAST_MESSAGE: u32 = 64;

fn files(record: &Record, config: &Config) -> Block {
    let carried = &record.carried;
    let place = Place::After;
    let (heading, items) = match config.files_style {
        FilesStyle::Section => {
            let line = |what: &str, paths: &[String]| -> Vec<String> {
                paths.iter().map(|path| format!("- {what}: {}", defused(path))).collect()
            };
            ("## Files", [line("read", &carried.read_files), line("modified", &carried.modified_files)].concat())
        }
        FilesStyle::Tags => {
            let block = |tag: &str, paths: &[String]| {
                (!paths.is_empty()).then(|| format!("<{tag}>\n{}\n</{tag}>", defused(&paths.join("\n"))))
            };
            let tags = [("read-files", &carried.read_files), ("modified-files", &carried.modified_files)];
            ("", tags.into_iter().filter_map(|(tag, paths)| block(tag, paths)).collect())
        }
    };
    Block { heading: heading.to_owned(), items, budget: config.files_tokens, choice: Choice::Newest, place }
}

/// The text of a block with as many items as fit. What did not fit is counted.
fn fitted(block: &Block, budget: u32, host: &Host) -> Option<String> {
    if block.items.is_empty() || budget == 0 {
        return None;
    }
    // Each item is followed by a line break, which can cost a token of its own.
    let costs: Vec<u32> = host.count_all(&block.items).into_iter().map(|tokens| tokens.saturating_add(1)).collect();
    let total: u32 = costs.iter().fold(0, |sum: u32, cost| sum.saturating_add(*cost));
    let heading = host.count(&block.heading).saturating_add(2);
    let room = budget.checked_sub(heading)?;
    let fits_all = total <= room;
    // The line that counts what is missing.
    let room = if fits_all { room } else { room.checked_sub(20)? };
    let chosen: Vec<usize> = match block.choice {
        _ if fits_all => (0..costs.len()).collect(),
        Choice::Newest => budget::newest_that_fit(&costs, room),
        Choice::Oldest => (0..budget::leading(&costs, room)).collect(),
        Choice::BothEnds => both_ends(&costs, room),
    };
    if chosen.is_empty() {
        return None;
    }
    let mut text = block.heading.clone();
    for &at in &chosen {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&block.items[at]);
    }
    let missing = block.items.len() - chosen.len();
    if missing > 0 {
        text.push_str(&format!("\n- {missing} more had no room here; the session log has them."));
    }
    Some(text)
}

/// Items that fit, taken from the two ends in turn: the first rules frame the work, the last are the freshest.
fn both_ends(costs: &[u32], room: u32) -> Vec<usize> {
    let (mut front, mut back) = (0, costs.len());
    let mut left = room;
    let mut chosen = Vec::new();
    while front < back {
        let at = if chosen.len() % 2 == 0 { front } else { back - 1 };
        let Some(rest) = left.checked_sub(costs[at]) else { break };
        left = rest;
        chosen.push(at);
        if at == front {
            front += 1;
        } else {
            back -= 1;
        }
    }
    chosen.sort_unstable();
    chosen
}

/// Names that have to be in the summary and are not.
fn missing_names(record: &Record, text: &str) -> Vec<String> {
    record.names.iter().filter(|name| !names::holds(text, name)).cloned().collect()
}

/// The model's text in the asked form: every required heading says something, and what it dropped of the user's
/// constraints and of the exact names is back under their headings.
pub(crate) fn completed(text: &str, sections: &[Section], record: &Record, config: &Config, host: &Host) -> String {
    if sections.is_empty() {
        return text.trim().to_owned();
    }
    let mut body = Body::read(text, sections);
    // What stands in a line that was left out, as in an echoed form, was not said.
    let text = &body.write(sections);
    let with = |data: Data| sections.iter().position(|section| section.data == data);
    if let Some(at) = with(Data::Constraints) {
        let missing = constraints::missing(&record.carried.constraints, text);
        let chosen = fitting_rules(&missing, config, host);
        for rule in &chosen {
            body.add(at, &format!("- {}", defused(rule)));
        }
        if chosen.len() < missing.len() {
            let more = missing.len() - chosen.len();
            body.add(at, &format!("- {more} more of the user's rules had no room here; the session log has them."));
        }
    }
    if let Some(at) = with(Data::Identifiers) {
        let missing = missing_names(record, text);
        if !missing.is_empty() {
            body.add(at, &format!("- {}", missing.join(", ")));
        }
    }
    if let Some((at, request)) = with(Data::Request).zip(record.request.as_deref()) {
        if config.audit_latest_ask && !reflects(text, request) {
            body.add(at, quoted(request).trim_end());
        }
    }
    for at in body.missing(sections) {
        let filling = filling(sections[at].data, record);
        body.add(at, &filling);
    }
    body.write(sections)
}

/// Tokens that go back below headings of the model's text where it repeats nothing.
pub(crate) fn owed(record: &Record, config: &Config, host: &Host) -> u32 {
    let has = |data: Data| config.sections.iter().any(|section| section.data == data);
    let mut lines = String::new();
    if has(Data::Constraints) {
        let all: Vec<&str> = record.carried.constraints.iter().map(String::as_str).collect();
        lines = fitting_rules(&all, config, host).join("\n- ");
    }
    if has(Data::Identifiers) {
        lines.push_str(&record.names.join(", "));
    }
    host.count(&lines)
}

/// Of some rules those that fit `constraints_tokens`, in order, both ends before the middle.
pub(crate) fn fitting_rules<'a>(rules: &[&'a str], config: &Config, host: &Host) -> Vec<&'a str> {
    let costs = host.count_all(&rules.iter().map(|rule| format!("- {rule}\n")).collect::<Vec<String>>());
    both_ends(&costs, config.constraints_tokens).into_iter().map(|at| rules[at]).collect()
}

/// What stands below a required heading that the model left empty.
fn filling(data: Data, record: &Record) -> String {
    let list = |items: &[String]| {
        let newest = items.iter().rev().take(20).rev();
        let lines: Vec<String> = newest.map(|item| format!("- {}", defused(item))).collect();
        if lines.is_empty() { NONE.to_owned() } else { lines.join("\n") }
    };
    let quote = |text: Option<&str>| text.map_or(NONE.to_owned(), |text| quoted(text).trim_end().to_owned());
    let carried = &record.carried;
    match data {
        Data::None => SILENT.to_owned(),
        Data::Goal => quote(carried.goal.as_deref()),
        Data::Request => quote(record.request.as_deref()),
        Data::Failures => list(&carried.failures),
        Data::Files => list(&[carried.modified_files.as_slice(), carried.read_files.as_slice()].concat()),
        Data::UserMessages => {
            let messages: Vec<String> =
                carried.user_messages.iter().map(|text| crate::escape::one_line(text, 300)).collect();
            list(&messages)
        }
        // What there was stands there already.
        Data::Constraints | Data::Identifiers => NONE.to_owned(),
    }
}

/// Whether a text shares enough words with the newest request. The rule is OpenClaw's: two words, or one of few.
fn reflects(text: &str, request: &str) -> bool {
    let text = text.to_lowercase();
    let mut words: Vec<String> = request
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().count() > 3)
        .map(str::to_lowercase)
        .collect();
    words.dedup();
    words.truncate(12);
    let needed = if words.len() >= 3 { 2 } else { 1 };
    words.is_empty() || words.iter().filter(|word| text.contains(word.as_str())).count() >= needed
}

/// What the reader has to know about the summary itself.
pub(crate) fn notices(record: &Record, losses: &Losses, parts: usize) -> String {
    let carried = &record.carried;
    let mut lines = vec![format!(
        "- It stands for {} {}, after {} compaction{}.",
        carried.entries,
        if carried.entries == 1 { "entry" } else { "entries" },
        carried.rounds,
        if carried.rounds == 1 { "" } else { "s" }
    )];
    if parts > 1 {
        lines.push(format!("- The summariser read them in {parts} parts."));
    }
    if losses.shortened > 0 {
        let texts = if losses.shortened == 1 { "text" } else { "texts" };
        lines.push(format!(
            "- Of {} long {texts} the summariser read only the beginning and the end; {} bytes were left out.",
            losses.shortened, losses.bytes
        ));
    }
    if losses.images > 0 {
        let entries = if losses.images == 1 { "entry" } else { "entries" };
        lines.push(format!("- The summariser did not see the images of {} {entries}.", losses.images));
    }
    for name in losses.set_aside.iter().take(8) {
        lines.push(format!("- Not read at all, too large: {}.", defused(name)));
    }
    if losses.set_aside.len() > 8 {
        lines.push(format!("- And {} more of that size.", losses.set_aside.len() - 8));
    }
    lines.push("- The session log holds every original.".to_owned());
    format!("## About this summary\n{}", lines.join("\n"))
}
