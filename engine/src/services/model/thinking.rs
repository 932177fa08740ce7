//! Reasoning that models write into their answer.

/// The elements in which open models write their reasoning.
const ELEMENTS: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")];

/// The answer without the reasoning before it. Only what stands at the very beginning is taken off, as an answer may
/// speak of such an element.
///
/// An end without a beginning ends reasoning too, on a line of its own: servers whose template opens the element leave
/// the opening out. A beginning without an end has no answer behind it.
pub(super) fn strip(text: &str) -> &str {
    let mut answer = behind_unopened(text).unwrap_or(text);
    loop {
        let trimmed = answer.trim_start();
        let Some((open, close)) = ELEMENTS.iter().find(|(open, _)| trimmed.starts_with(open)) else {
            // Untouched, it keeps its leading space.
            return if answer.len() == text.len() { text } else { trimmed };
        };
        let rest = &trimmed[open.len()..];
        answer = rest.find(close).map_or("", |at| &rest[at + close.len()..]);
    }
}

fn behind_unopened(text: &str) -> Option<&str> {
    let (open, close) = ELEMENTS[0];
    let (reasoning, answer) = text.split_once(close)?;
    let alone = reasoning.is_empty() || reasoning.trim_end_matches([' ', '\t']).ends_with('\n');
    (alone && !reasoning.contains(open)).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::strip;

    #[test]
    fn reasoning_before_the_answer_is_taken_off_and_nothing_else() {
        for (text, answer) in [
            ("answer", "answer"),
            ("  answer\n", "  answer\n"),
            ("<think>let me see</think>\n\nanswer", "answer"),
            ("\n<thinking>a</thinking> <think>b</think>answer", "answer"),
            ("step one\nstep two\n</think>\nanswer", "answer"),
            ("<think>never ends", ""),
            ("The tag </think> ends reasoning.", "The tag </think> ends reasoning."),
            ("It writes <think>x</think> first.", "It writes <think>x</think> first."),
            ("", ""),
        ] {
            assert_eq!(strip(text), answer, "{text:?}");
        }
        // As deep as a model may write, without recursion.
        assert_eq!(strip(&("<think></think>".repeat(200_000) + "answer")), "answer");
    }
}
