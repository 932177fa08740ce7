//! The summary that a model writes: how much room there is, what is asked, and whether the answer is taken.

use std::fmt;

use contextengine_sdk::sections::{Body, Section, fit};
use contextengine_sdk::{BranchRequest, Failure, Host, Level, ModelError, Position, View};

use crate::answer::{self, Defect};
use crate::config::Config;
use crate::earlier::{HEAD, HEADING, RETURNED, joined};
use crate::gather::Facts;
use crate::plain;
use crate::prompt::{self, Shown};

/// Part of the budget that lists of files may take at most: one in so many.
const FILES_PART: u32 = 5;

/// Tokens that joining parts can cost.
const JOINTS: u32 = 12;

/// English has three words in four tokens.
const WORDS_IN_FOUR_TOKENS: u32 = 3;

/// Why no model wrote the summary.
#[derive(Debug)]
pub(crate) enum Why {
    /// It was not to be asked.
    NotWanted,
    /// There is no room for its answer.
    NoRoom { room: u32, least: u32 },
    /// Nothing of the branch fits its window.
    SmallWindow(u32),
    /// It did not answer.
    NoAnswer(ModelError),
    /// The last of so many answers was not fit.
    NotFit(Defect, u32),
}

impl Why {
    /// Something is wrong where a model was there and did not do.
    pub(crate) fn level(&self) -> Level {
        match self {
            Self::NotWanted | Self::NoRoom { .. } | Self::NoAnswer(ModelError::Absent) => Level::Info,
            Self::SmallWindow(_) | Self::NoAnswer(_) | Self::NotFit(..) => Level::Warn,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWanted => f.write_str("`use_model` is false"),
            Self::NoRoom { room, least } => {
                write!(
                    f,
                    "{room} tokens are left for an answer of the model, and {least} are the least (`min_model_tokens`)"
                )
            }
            Self::SmallWindow(window) => write!(f, "nothing of the branch fits the model's window of {window} tokens"),
            Self::NoAnswer(error) => match Failure::from(error.clone()) {
                Failure::Declined(words) | Failure::Failed(words) => f.write_str(&words),
                Failure::Unavailable(unavailable) => f.write_str(&unavailable.reason),
            },
            Self::NotFit(defect, 1) => write!(f, "the model's answer was not fit: {defect}"),
            Self::NotFit(defect, asked) => {
                write!(f, "none of {asked} answers of the model was fit; the last: {defect}")
            }
        }
    }
}

/// How the budget is divided.
struct Room<'a> {
    facts: &'a Facts,
    config: &'a Config,
    budget: u32,
    /// Earlier summaries, if they are carried on word for word.
    carried: Option<String>,
    /// For the model's own text.
    answer: u32,
}

impl<'a> Room<'a> {
    fn divide(host: &Host, facts: &'a Facts, config: &'a Config, budget: u32) -> Self {
        let earlier = joined(&facts.earlier);
        let earlier_tokens = if earlier.is_empty() { 0 } else { host.count(&format!("\n\n{HEADING}\n{earlier}")) };
        let carry = f64::from(earlier_tokens) <= config.carry_share * f64::from(budget);
        let paths: u32 = host.count_all(&facts.files.read).into_iter().fold(24, u32::saturating_add);
        let paths = host.count_all(&facts.files.modified).into_iter().fold(paths, u32::saturating_add);
        let separators = u32::try_from(facts.files.read.len() + facts.files.modified.len()).unwrap_or(u32::MAX);
        let files = paths.saturating_add(separators).min(budget / FILES_PART);
        let taken =
            [host.count(&format!("{HEAD}\n{RETURNED}\n\n")), files, if carry { earlier_tokens } else { 0 }, JOINTS];
        let left = taken.into_iter().fold(budget, u32::saturating_sub);
        Self { facts, config, budget, carried: carry.then_some(earlier), answer: left.min(config.max_model_tokens) }
    }

    /// Earlier summaries that the model has to merge.
    fn to_merge(&self) -> Vec<Position> {
        match self.carried {
            Some(_) => Vec::new(),
            None => self.facts.earlier.iter().map(|earlier| earlier.at).collect(),
        }
    }

    /// The model's text with everything that stands beside it.
    fn compose(&self, host: &Host, text: &str) -> Result<String, Defect> {
        let tokens = host.count(text);
        let lost = match self.carried {
            Some(_) => Vec::new(),
            None => answer::merged(text, &self.facts.earlier, self.config.merge_share)?,
        };
        let head = format!("{HEAD}\n{RETURNED}\n\n{text}");
        let lost: Vec<String> = lost.into_iter().map(str::to_owned).collect();
        let sections = [
            plain::files(self.facts, 1),
            Section::new("## Names in earlier summaries", 2, Body::Lists(vec![("- ".to_owned(), lost)])),
            Section::new(HEADING, 1_000, Body::Text(self.carried.clone().unwrap_or_default())),
        ];
        let too_long = Defect::TooLong { tokens, room: self.answer };
        let fitted = fit(host, &head, &sections, "", self.budget).ok_or(too_long.clone())?;
        // Files are in the details. Earlier summaries and names that were not merged are nowhere else.
        if fitted.cut[1] || fitted.cut[2] { Err(too_long) } else { Ok(fitted.text) }
    }
}

/// The whole summary, written by the model.
pub(crate) fn summary(
    view: &dyn View,
    host: &Host,
    request: &BranchRequest,
    facts: &Facts,
    config: &Config,
) -> Result<String, Why> {
    if !config.use_model {
        return Err(Why::NotWanted);
    }
    let room = Room::divide(host, facts, config, request.budget);
    if room.answer < config.min_model_tokens.max(1) {
        return Err(Why::NoRoom { room: room.answer, least: config.min_model_tokens.max(1) });
    }
    let to_merge = room.to_merge();
    let words = room.answer / 4 * WORDS_IN_FOUR_TOKENS;
    let instructions = prompt::instructions(config, request.focus.as_deref(), !to_merge.is_empty(), words);
    let mut window = host.model_window().unwrap_or(config.default_window);
    let mut shown = show(view, host, config, &room, &instructions, window)?;
    let mut complaint: Option<Defect> = None;
    let mut shrunk = false;
    let mut asked = 0;
    loop {
        let words = complaint.as_ref().map(ToString::to_string);
        let prompt = prompt::prompt(&shown, &instructions, words.as_deref(), room.answer);
        let completion = match host.complete(&prompt) {
            Ok(completion) => completion,
            // The host's count and the provider's differ, or the window was not known.
            Err(ModelError::TooLong(told)) if !shrunk => {
                shrunk = true;
                window = told.filter(|&told| told < window).unwrap_or(window / 2);
                shown = show(view, host, config, &room, &instructions, window)?;
                continue;
            }
            Err(error) => return Err(Why::NoAnswer(error)),
        };
        asked += 1;
        let text = answer::read(&completion, &config.sections, &instructions);
        match text.and_then(|text| room.compose(host, &text)) {
            Ok(text) => return Ok(text),
            Err(defect) if asked < config.attempts && defect.can_be_mended() => {
                host.log(Level::Info, &format!("the model's answer was not fit and is asked for again: {defect}"));
                complaint = Some(defect);
            }
            Err(defect) => return Err(Why::NotFit(defect, asked)),
        }
    }
}

fn show(
    view: &dyn View,
    host: &Host,
    config: &Config,
    room: &Room<'_>,
    instructions: &str,
    window: u32,
) -> Result<Shown, Why> {
    // In a small window the usual reserve would leave nothing.
    let reserve = config.reserve_tokens.min(window / 2).max(room.answer);
    let record = window.saturating_sub(reserve.max(room.answer.saturating_add(prompt::frame(host, instructions))));
    let shown = prompt::select(view, host, config, record, &room.to_merge());
    if shown.left_out >= view.len() as usize { Err(Why::SmallWindow(window)) } else { Ok(shown) }
}
