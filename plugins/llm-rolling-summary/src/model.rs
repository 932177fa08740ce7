//! Asking the model: in one prompt where the input fits, in parts where it does not, and again where the answer is no
//! summary.
//!
//! Promises that what it returns is a complete answer in the asked form (or one that can be completed without a model),
//! and that every other end is a reason for people.

use contextengine_sdk::{Completion, Failure, Host, Level, ModelError, Prompt};

use crate::audit::{Defect, Form, defects};
use crate::chunks::{Piece, divide, limit, sum};
use crate::config::{Config, Section, Staging};
use crate::prompt::{Material, Question, Task, Wishes};
use crate::source::set_aside;

/// Something to summarise.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// Whole turns or the beginning of one.
    pub(crate) is_prefix: bool,
    /// The transcript.
    pub(crate) pieces: Vec<Piece>,
    /// The summary before it.
    pub(crate) previous: Option<String>,
    /// The request of the turn.
    pub(crate) request: Option<String>,
    /// The headings.
    pub(crate) sections: &'a [Section],
    /// The most tokens of the text.
    pub(crate) most: u32,
    /// Tokens that it stands for.
    pub(crate) folded: u32,
}

/// Why there is no text.
enum Trouble {
    /// The prompt was too long; the model's window, if it said so.
    TooLong(Option<u32>),
    Fail(Failure),
}

/// What came of it.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    /// One text a job, in their order.
    pub(crate) texts: Vec<String>,
    /// What was too large to be read.
    pub(crate) set_aside: Vec<String>,
    /// Parts that the input was divided into; 0 if it was read whole.
    pub(crate) parts: usize,
}

/// Summarises. When a prompt turns out to be too long it is tried again with half the window.
pub(crate) fn write(host: &Host, config: &Config, wishes: &Wishes, jobs: &[Job<'_>]) -> Result<Written, Failure> {
    let mut window = host.model_window().filter(|&window| window > 0).unwrap_or(config.fallback_window);
    for attempt in 0..=config.too_long_retries {
        let prefix_wishes = Wishes { rules: Vec::new(), notes: Vec::new(), ..wishes.clone() };
        let mut writer = Writer { host, config, wishes, prefix_wishes, window, parts: 0, set_aside: Vec::new() };
        match writer.write(jobs) {
            Ok(texts) => return Ok(Written { texts, set_aside: writer.set_aside, parts: writer.parts }),
            Err(Trouble::Fail(failure)) => return Err(failure),
            Err(Trouble::TooLong(said)) => {
                window = said.filter(|&said| said > 0 && said < window).unwrap_or(window / 2);
                let words =
                    format!("try {}: a prompt was too long; going on with a window of {window} tokens", attempt + 1);
                host.log(Level::Info, &words);
            }
        }
    }
    Err(Failure::declined(format!(
        "the input does not fit the summarising model, also not in parts for {window} tokens; grant a model with a \
         larger window, or lower `result_bytes`"
    )))
}

struct Writer<'a> {
    host: &'a Host,
    config: &'a Config,
    wishes: &'a Wishes,
    /// For the beginning of a turn: rules and notes belong to the whole.
    prefix_wishes: Wishes,
    window: u32,
    parts: usize,
    set_aside: Vec<String>,
}

impl Writer<'_> {
    fn write(&mut self, jobs: &[Job<'_>]) -> Result<Vec<String>, Trouble> {
        match self.config.staging {
            Staging::Parallel => self.side_by_side(jobs),
            Staging::Sequence => jobs.iter().map(|job| self.in_sequence(job)).collect(),
        }
    }

    /// The first prompts of all jobs at once, then the merges.
    fn side_by_side(&mut self, jobs: &[Job<'_>]) -> Result<Vec<String>, Trouble> {
        let mut asked: Vec<(Question, Form<'_>)> = Vec::new();
        let mut counts = Vec::new();
        for job in jobs {
            let questions = self.first_questions(job);
            counts.push(questions.len());
            asked.extend(questions);
        }
        let mut answers = self.ask(&asked)?.into_iter();
        let mut texts = Vec::new();
        for (job, count) in jobs.iter().zip(counts) {
            let of_job: Vec<String> = answers.by_ref().take(count).collect();
            texts.push(if count == 1 {
                of_job.into_iter().next().unwrap_or_default()
            } else {
                self.merge(job, of_job)?
            });
        }
        Ok(texts)
    }

    /// One question where everything fits, one a part otherwise.
    fn first_questions<'j>(&mut self, job: &'j Job<'_>) -> Vec<(Question, Form<'j>)> {
        let pieces = set_aside(&job.pieces, self.config, self.window, self.host, &mut self.set_aside);
        let whole = self.question(job, &task(job), &pieces, job.previous.clone(), job.most);
        if self.fits(&whole) {
            return vec![(whole, self.form(job))];
        }
        let parts = divide(&pieces, limit(self.config, self.window, &pieces));
        if parts.len() < 2 {
            return vec![(whole, self.form(job))];
        }
        let count = parts.len();
        self.parts += count;
        let notes = (0..count).zip(parts).map(|(at, part)| {
            let part = &pieces[part];
            let most = self.notes_limit(job.most);
            let question = self.question(job, &Task::Part(at + 1, count), part, None, most);
            (question, notes_form(most, sum(part)))
        });
        notes.collect()
    }

    /// Each part updates the summary of those before it.
    fn in_sequence(&mut self, job: &Job<'_>) -> Result<String, Trouble> {
        let pieces = set_aside(&job.pieces, self.config, self.window, self.host, &mut self.set_aside);
        let whole = self.question(job, &task(job), &pieces, job.previous.clone(), job.most);
        if self.fits(&whole) {
            return self.ask_one(whole, self.form(job));
        }
        let room = limit(self.config, self.window, &pieces);
        // The summary so far is read with each part.
        let parts = divide(&pieces, room.saturating_sub(job.most.min(room / 2)).max(1));
        self.parts += parts.len();
        let mut previous = job.previous.clone();
        for (at, part) in parts.iter().enumerate() {
            self.progress(at, parts.len());
            let question = self.question(job, &task(job), &pieces[part.clone()], previous, job.most);
            let form = Form { folded: sum(&pieces[part.clone()]), ..self.form(job) };
            previous = Some(self.ask_one(question, form)?);
        }
        Ok(previous.unwrap_or_default())
    }

    /// One text of the notes on parts; in several rounds where they do not fit one prompt.
    fn merge(&mut self, job: &Job<'_>, mut notes: Vec<String>) -> Result<String, Trouble> {
        loop {
            let material = Material {
                previous: job.previous.clone(),
                parts: notes.clone(),
                request: job.request.clone(),
                ..Material::default()
            };
            let last =
                Question::new(&Task::Merge, &material, job.sections, job.most, self.wishes_for(job), self.config);
            if self.fits(&last) {
                return self.ask_one(last, self.form(job));
            }
            let counts = self.host.count_all(&notes);
            let pieces: Vec<Piece> = notes
                .iter()
                .zip(counts)
                .map(|(text, tokens)| Piece { text: text.clone(), tokens, starts: true, name: String::new() })
                .collect();
            let groups = divide(&pieces, limit(self.config, self.window, &[]));
            if groups.len() >= notes.len() {
                return Err(Trouble::TooLong(None));
            }
            let most = self.notes_limit(job.most);
            let asked: Vec<(Question, Form<'_>)> = groups
                .into_iter()
                .map(|group| {
                    let material = Material { parts: notes[group.clone()].to_vec(), ..Material::default() };
                    let question = Question::new(&Task::Condense, &material, &[], most, self.wishes, self.config);
                    (question, notes_form(most, sum(&pieces[group])))
                })
                .collect();
            notes = self.ask(&asked)?;
        }
    }

    fn question(&self, job: &Job<'_>, task: &Task, pieces: &[Piece], previous: Option<String>, most: u32) -> Question {
        let texts: Vec<&str> = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let conversation = texts.join("\n");
        let material = Material { previous, conversation, parts: Vec::new(), request: job.request.clone() };
        Question::new(task, &material, job.sections, most, self.wishes_for(job), self.config)
    }

    fn wishes_for(&self, job: &Job<'_>) -> &Wishes {
        if job.is_prefix { &self.prefix_wishes } else { self.wishes }
    }

    fn form<'j>(&self, job: &'j Job<'_>) -> Form<'j> {
        let large = job.folded > self.config.large_fold_tokens && !job.is_prefix;
        // Room may be smaller than what would be asked for.
        let least = if large { self.config.least_summary_tokens.min(job.most / 2) } else { 0 };
        Form { sections: job.sections, most: job.most, least, folded: job.folded }
    }

    /// Notes on a part may be as long as the whole, but not longer than an eighth of the window: they are merged.
    fn notes_limit(&self, most: u32) -> u32 {
        most.min(self.window / 8).max(100)
    }

    fn fits(&self, question: &Question) -> bool {
        let read = self.host.count_all(&question.texts()).into_iter().fold(0, u32::saturating_add);
        let needed = f64::from(read) * self.config.safety_margin + f64::from(self.most_output(question.most));
        needed <= f64::from(self.window)
    }

    fn most_output(&self, most: u32) -> u32 {
        let wanted = (f64::from(most) * self.config.output_factor) as u32;
        wanted.min(self.window / 4).max(1)
    }

    fn ask_one(&self, question: Question, form: Form<'_>) -> Result<String, Trouble> {
        let mut texts = self.ask(&[(question, form)])?;
        Ok(texts.pop().unwrap_or_default())
    }

    /// Asks all, and again those whose answer is no summary.
    fn ask(&self, asked: &[(Question, Form<'_>)]) -> Result<Vec<String>, Trouble> {
        let mut texts: Vec<Option<String>> = vec![None; asked.len()];
        let mut waiting: Vec<(usize, Prompt)> = asked
            .iter()
            .enumerate()
            .map(|(at, (question, _))| (at, question.prompt(self.config, self.most_output(question.most))))
            .collect();
        for attempt in 0..=self.config.repair_attempts {
            let prompts: Vec<Prompt> = waiting.iter().map(|(_, prompt)| prompt.clone()).collect();
            self.progress(asked.len() - waiting.len(), asked.len());
            let answers = match prompts.as_slice() {
                [one] => vec![self.host.complete(one)],
                many => self.host.complete_all(many),
            };
            let mut again = Vec::new();
            for ((at, _), answer) in waiting.into_iter().zip(answers) {
                let (question, form) = &asked[at];
                let answer = match answer {
                    Ok(answer) => answer,
                    // A text that needs mending is better than none.
                    Err(_) if texts[at].is_some() => continue,
                    Err(error) => return Err(trouble(error)),
                };
                let found = defects(&answer, self.host.count(answer.text.trim()), form);
                let mendable = found.iter().all(Defect::is_mendable);
                if mendable && (found.is_empty() || texts[at].is_none() || !is_worse(&answer, texts[at].as_deref())) {
                    texts[at] = Some(answer.text.trim().to_owned());
                }
                if found.is_empty() {
                    continue;
                }
                if attempt < self.config.repair_attempts {
                    again
                        .push((at, question.again(&answer.text, &found, self.config, self.most_output(question.most))));
                } else if texts[at].is_none() {
                    return Err(Trouble::Fail(no_summary(&found, attempt + 1)));
                }
            }
            waiting = again;
            if waiting.is_empty() {
                break;
            }
        }
        Ok(texts.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn progress(&self, done: usize, of: usize) {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        self.host.progress(number(done), number(of), "summarising");
    }
}

fn task(job: &Job<'_>) -> Task {
    if job.is_prefix { Task::Prefix } else { Task::History }
}

fn notes_form(most: u32, folded: u32) -> Form<'static> {
    Form { sections: &[], most, least: 0, folded }
}

/// A second answer that needs mending too replaces the first unless it says much less.
fn is_worse(answer: &Completion, before: Option<&str>) -> bool {
    before.is_some_and(|before| answer.text.len() * 2 < before.len())
}

fn trouble(error: ModelError) -> Trouble {
    match error {
        ModelError::TooLong(window) => Trouble::TooLong(window),
        ModelError::Absent => Trouble::Fail(Failure::declined(
            "no model is granted to `llm-rolling-summary`: add `grant = [\"model\"]` under \
             `[plugins.llm-rolling-summary]`, and a `[model]` section if there is none",
        )),
        ModelError::Provider(words) => {
            Trouble::Fail(ModelError::Provider(crate::escape::one_line(&crate::escape::masked(&words), 300)).into())
        }
        other => Trouble::Fail(other.into()),
    }
}

/// A refusal will be one again; anything else may go better another time.
fn no_summary(found: &[Defect], tries: u32) -> Failure {
    let words: Vec<String> = found.iter().map(Defect::words).collect();
    let reason = format!("the model gave no usable summary in {tries} tries: {}", words.join("; "));
    if found.contains(&Defect::Refused) { Failure::declined(reason) } else { Failure::unavailable(reason, None) }
}
