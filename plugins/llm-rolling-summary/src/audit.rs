//! Is the model's answer a summary? What deterministic code can see, under the names that the host's gate uses.

use contextengine_sdk::{Completion, Finish};

use crate::config::Section;
use crate::escape::MARKUP;
use crate::sections::{Body, echoes, ends_in_fence};

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Defect {
    /// No words.
    Empty,
    /// The model or its provider declined.
    Refused,
    /// It ends within a sentence or a code block, or at the limit. Why it is thought so.
    Truncated(String),
    /// Lines of the template stand in it unchanged.
    Echo(String),
    /// It goes on with the conversation instead of summarising it.
    Continued,
    /// It calls a tool.
    Markup(&'static str),
    /// Few words for much.
    TooSmall { tokens: u32, folded: u32 },
    /// It does not fit where it has to.
    TooLong { tokens: u32, most: u32 },
    /// These headings are missing or have no content.
    Missing(Vec<String>),
    /// None of the headings is there.
    Formless,
}

impl Defect {
    /// What is left can still be made a summary without the model.
    pub(crate) fn is_mendable(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::Echo(_) | Self::TooLong { .. })
    }

    /// For the model and for people; the name first.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Empty => "empty-summary: there was no text".to_owned(),
            Self::Refused => "refused: the request was declined".to_owned(),
            Self::Truncated(why) => format!("truncated: {why}"),
            Self::Echo(line) => format!("template-echo: `{line}` is a line of the form; fill it in"),
            Self::Continued => "template-echo: it repeats or goes on with the conversation; report on it".to_owned(),
            Self::Markup(markup) => format!("tool-markup: `{markup}` looks like the call of a tool"),
            Self::TooSmall { tokens, folded } => {
                format!("too-small-for-fold: {tokens} tokens cannot stand for {folded}; say more")
            }
            Self::TooLong { tokens, most } => format!("too-long: {tokens} tokens, and at most {most} fit"),
            Self::Missing(headings) => format!("missing-section: {} without content", headings.join(", ")),
            Self::Formless => "missing-section: none of the headings is there".to_owned(),
        }
    }
}

/// What an answer has to be.
#[derive(Debug, Clone)]
pub(crate) struct Form<'a> {
    /// Headings; none for free text.
    pub(crate) sections: &'a [Section],
    /// The most tokens; a fifth more is tolerated.
    pub(crate) most: u32,
    /// The least tokens.
    pub(crate) least: u32,
    /// Tokens that it stands for.
    pub(crate) folded: u32,
}

/// Everything that is wrong with an answer.
pub(crate) fn defects(answer: &Completion, tokens: u32, form: &Form<'_>) -> Vec<Defect> {
    let text = answer.text.trim();
    let mut found = Vec::new();
    if answer.finish == Finish::Refused || is_refusal(text) {
        return vec![Defect::Refused];
    }
    if answer.finish == Finish::Truncated {
        return vec![Defect::Truncated("it reached the limit of its length".to_owned())];
    }
    if !text.chars().any(char::is_alphanumeric) {
        return vec![Defect::Empty];
    }
    if let Some(why) = cut_off(text) {
        found.push(Defect::Truncated(why));
    }
    if let Some(markup) = MARKUP.into_iter().find(|markup| text.contains(markup)) {
        found.push(Defect::Markup(markup));
    }
    if goes_on(text) {
        found.push(Defect::Continued);
    }
    if let Some(line) = text.lines().find(|line| echoes(line, form.sections)) {
        found.push(Defect::Echo(line.trim().to_owned()));
    }
    if tokens < form.least {
        found.push(Defect::TooSmall { tokens, folded: form.folded });
    }
    if tokens > form.most.saturating_add(form.most / 5) {
        found.push(Defect::TooLong { tokens, most: form.most });
    }
    found.extend(form_defect(text, form.sections));
    found
}

fn form_defect(text: &str, sections: &[Section]) -> Option<Defect> {
    let body = Body::read(text, sections);
    let missing = body.missing(sections);
    if missing.is_empty() {
        return None;
    }
    let says_nothing = (0..sections.len()).all(|at| !body.has_content(at, sections));
    if says_nothing {
        return Some(Defect::Formless);
    }
    Some(Defect::Missing(missing.into_iter().map(|at| sections[at].heading.clone()).collect()))
}

/// The same signs of an end that is none as the host's gate.
fn cut_off(text: &str) -> Option<String> {
    const OPEN: [char; 11] = [':', '：', ',', '，', '、', ';', '；', '…', '(', '（', '—'];
    if ends_in_fence(text) {
        return Some("it ends within a code block".to_owned());
    }
    let last = text.lines().next_back().unwrap_or_default().trim();
    (last.ends_with(OPEN) || last.ends_with("...")).then(|| "it ends in the middle of a sentence".to_owned())
}

/// The fences of the prompt, or at least three labels of a transcript: then it is one.
fn goes_on(text: &str) -> bool {
    const FENCES: [&str; 3] = ["</conversation>", "</previous-summary>", "</user-rules>"];
    const LABELS: [&str; 4] = ["[User]:", "[Assistant]:", "[Tool call]:", "[Tool result"];
    FENCES.iter().any(|fence| text.contains(fence))
        || text.lines().filter(|line| LABELS.iter().any(|label| line.trim_start().starts_with(label))).count() >= 3
}

/// A short text that begins as refusals do.
fn is_refusal(text: &str) -> bool {
    const BEGINNINGS: [&str; 8] = [
        "i'm sorry, but",
        "i am sorry, but",
        "sorry, i can't",
        "i can't help",
        "i cannot help",
        "i can't assist",
        "i cannot assist",
        "i'm unable to",
    ];
    let lower: String = text.chars().take(60).flat_map(char::to_lowercase).collect::<String>().replace('’', "'");
    text.len() < 600 && BEGINNINGS.iter().any(|beginning| lower.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn found(text: &str, finish: Finish) -> Vec<Defect> {
        let config = Config::default();
        let answer = Completion { text: text.to_owned(), finish, input_tokens: 0, output_tokens: 0 };
        let tokens = contextengine_sdk::memory::quarter_of_bytes(text);
        defects(&answer, tokens, &Form { sections: &config.sections, most: 100, least: 5, folded: 20_000 })
    }

    const GOOD: &str = "## Goal\nfix\n## Constraints\n- none\n## Progress\n### Done\n- x\n## Decisions\n- y\n## Next steps\n- z\n## Critical context\n- w";

    #[test]
    fn a_complete_answer_in_form_has_no_defect() {
        assert_eq!(found(GOOD, Finish::Complete), []);
    }

    #[test]
    fn what_is_no_summary_is_named_as_the_host_names_it() {
        let name = |text: &str, finish| {
            let names: Vec<String> = found(text, finish)
                .iter()
                .map(|it| it.words().split(':').next().unwrap_or_default().to_owned())
                .collect();
            names.join(" ")
        };
        assert_eq!(name(GOOD, Finish::Truncated), "truncated");
        assert_eq!(name(GOOD, Finish::Refused), "refused");
        assert_eq!(name("I'm sorry, but I can't do that.", Finish::Complete), "refused");
        assert_eq!(name(" \n--", Finish::Complete), "empty-summary");
        assert_eq!(name(&format!("{GOOD} and then:"), Finish::Complete), "truncated");
        assert_eq!(name(&format!("{GOOD}\n<tool_call>{{}}"), Finish::Complete), "tool-markup");
        assert_eq!(
            name(&format!("{GOOD}\n(what was decided and why, and what was tried without success)"), Finish::Complete),
            "template-echo"
        );
        assert_eq!(name(&format!("{GOOD}\n[User]: a\n[Assistant]: b\n[User]: c"), Finish::Complete), "template-echo");
        assert_eq!(name("## Goal", Finish::Complete), "too-small-for-fold missing-section");
        assert_eq!(name(&GOOD.repeat(8), Finish::Complete), "too-long");
        assert_eq!(name("just some words about what happened", Finish::Complete), "missing-section");
    }

    #[test]
    fn only_form_and_length_can_be_mended() {
        assert!(Defect::Missing(Vec::new()).is_mendable());
        assert!(!Defect::Formless.is_mendable() && !Defect::Refused.is_mendable() && !Defect::Empty.is_mendable());
    }
}
