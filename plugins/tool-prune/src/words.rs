//! The words that stand for what was pruned, and the plan that puts them there.
//!
//! The words follow from the entry and the rule alone: the same entry under the same rule gives the same bytes in
//! every request.

use std::fmt::Write as _;
use std::sync::Arc;

use contextengine_sdk::budget::{head_bytes, tail_bytes};
use contextengine_sdk::{Marks, Plan, Position, Rewrite, Segment, Span, View};
use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::ledger::{Ledger, Rule};
use crate::names::Names;

/// Longest name of a tool or id that is quoted, in bytes; both can come from anywhere.
const NAME_BYTES: usize = 64;

/// A text with places for what is known of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Words(String),
    Tool,
    Outcome,
    Bytes,
    LeftOut,
    Id,
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("the text is empty; say what was left out, as in `[{bytes} bytes left out]`".to_owned());
        }
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while let Some(open) = rest.find('{') {
            let close = rest[open..].find('}').ok_or_else(|| format!("`{}` has no closing brace", &rest[open..]))?;
            if open > 0 {
                pieces.push(Piece::Words(rest[..open].to_owned()));
            }
            pieces.push(match &rest[open + 1..open + close] {
                "tool" => Piece::Tool,
                "outcome" => Piece::Outcome,
                "bytes" => Piece::Bytes,
                "left_out" => Piece::LeftOut,
                "id" => Piece::Id,
                other => {
                    return Err(format!(
                        "unknown place `{{{other}}}`; write one of {{tool}}, {{outcome}}, {{bytes}}, {{left_out}}, {{id}}"
                    ));
                }
            });
            rest = &rest[open + close + 1..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Words(rest.to_owned()));
        }
        Ok(Self { text, pieces })
    }
}

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template.text
    }
}

impl Template {
    /// A template of this crate; one that cannot be read stands for itself.
    pub(crate) fn of(text: &str) -> Self {
        Self::try_from(text.to_owned())
            .unwrap_or_else(|_| Self { text: text.to_owned(), pieces: vec![Piece::Words(text.to_owned())] })
    }

    /// About how many bytes it takes when filled: names of tools have some 16, figures 7, ids 36 as UUIDs do.
    pub(crate) fn bytes(&self) -> usize {
        let bytes = self.pieces.iter().map(|piece| match piece {
            Piece::Words(words) => words.len(),
            Piece::Tool => 16,
            Piece::Outcome => 9,
            Piece::Bytes | Piece::LeftOut => 7,
            Piece::Id => 36,
        });
        bytes.sum()
    }

    fn write(&self, into: &mut String, result: &Named<'_>, left_out: u32) {
        for piece in &self.pieces {
            // Writing to a string cannot fail.
            let _ = match piece {
                Piece::Words(words) => into.write_str(words),
                Piece::Tool if result.tool.is_empty() => into.write_str("a tool"),
                Piece::Tool => into.write_str(head_bytes(result.tool, NAME_BYTES)),
                Piece::Outcome if result.failed => into.write_str(" (failed)"),
                Piece::Outcome => Ok(()),
                Piece::Bytes => write!(into, "{}", result.bytes),
                Piece::LeftOut => write!(into, "{left_out}"),
                Piece::Id => into.write_str(head_bytes(result.id, NAME_BYTES)),
            };
        }
    }
}

/// A result, as far as words speak of it.
struct Named<'a> {
    tool: &'a str,
    id: &'a str,
    bytes: u32,
    failed: bool,
}

/// What becomes of one result.
#[derive(Debug, Clone)]
pub(crate) struct Action {
    pub(crate) at: Position,
    /// Index of the rule in the ledger.
    pub(crate) rule: u16,
    /// By what it is known.
    pub(crate) id: Arc<str>,
    /// It was decided now, and not in an earlier request.
    pub(crate) is_new: bool,
}

/// The plan of these actions, which are in order; `None` where none of them makes a result shorter.
///
/// Built by hand rather than by the SDK's builder: only texts of results change, so that groups and order cannot go
/// wrong, and the builder's index of the groups would cost more than the rest of the decision.
pub(crate) fn plan(view: &dyn View, facts: &Facts, names: &Names, ledger: &Ledger, actions: &[Action]) -> Option<Plan> {
    let prints = ledger.prints();
    let mut segments = Vec::with_capacity(actions.len() * 2 + 1);
    let mut next = 0;
    for action in actions {
        let Some(rule) = ledger.rule(action.rule) else { continue };
        let print = prints.get(usize::from(action.rule)).copied().unwrap_or_default();
        let Some(text) = names.text(action.at, print, || text(view, facts, rule, action)) else { continue };
        // What was decided before has its reason in the log. Thousands of them would cost a third of the whole call.
        let reason = if action.is_new { reason(rule).to_owned() } else { String::new() };
        if next < action.at {
            segments.push(Segment::Keep(Span::new(next, action.at)));
        }
        segments.push(Segment::Rewrite(Rewrite { at: action.at, text, reason }));
        next = action.at + 1;
    }
    if segments.is_empty() {
        return None;
    }
    let len = Position::try_from(facts.entries.len()).unwrap_or(Position::MAX);
    if next < len {
        segments.push(Segment::Keep(Span::new(next, len)));
    }
    Some(Plan { segments })
}

/// Why a result has another text, for people.
fn reason(rule: &Rule) -> &'static str {
    match rule {
        Rule::Clear { .. } => "old result cleared",
        Rule::Trim { .. } => "old result trimmed",
    }
}

/// The new text of a result; `None` where it would not be shorter.
fn text(view: &dyn View, facts: &Facts, rule: &Rule, action: &Action) -> Option<String> {
    let entry = facts.entry(action.at);
    let failed = entry.marks.contains(Marks::FAILED);
    let named = Named { tool: facts.tool(action.at), id: &action.id, bytes: entry.bytes, failed };
    let text = match rule {
        Rule::Clear { text } => {
            let mut words = String::with_capacity(text.bytes());
            text.write(&mut words, &named, entry.bytes);
            words
        }
        Rule::Trim { head, tail, text } => {
            let (start, end) = ends(view, action.at, entry.bytes, *head, *tail);
            let left_out = entry.bytes.saturating_sub(length(&start)).saturating_sub(length(&end));
            let mut words = start;
            on_a_new_line(&mut words);
            text.write(&mut words, &named, left_out);
            words.push('\n');
            words.push_str(&end);
            words
        }
    };
    (text.len() < entry.bytes as usize).then_some(text)
}

/// Head and tail of a result. Each ends at a line where that costs at most a fifth of it.
fn ends(view: &dyn View, at: Position, bytes: u32, head: u32, tail: u32) -> (String, String) {
    let mut start = view.text(at, Some(head));
    if let Some(line) = start.rfind('\n').filter(|&line| line + 1 >= start.len() / 5 * 4) {
        start.truncate(line + 1);
    }
    let mut end = view.text_range(at, bytes.saturating_sub(tail), bytes);
    if let Some(line) = end.find('\n').filter(|&line| line < end.len() / 5) {
        end = tail_bytes(&end, end.len() - line - 1).to_owned();
    }
    (start, end)
}

fn on_a_new_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

fn length(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_with_what_is_known_of_the_result() {
        let template = Template::of("{tool}{outcome}: {left_out}/{bytes} {id}.");
        let mut words = String::new();
        template.write(&mut words, &Named { tool: "bash", id: "e7", bytes: 90, failed: true }, 60);
        template.write(&mut words, &Named { tool: "", id: "", bytes: 9, failed: false }, 9);
        assert_eq!(words, "bash (failed): 60/90 e7.a tool: 9/9 .");
    }

    #[test]
    fn a_template_with_a_place_that_is_not_known_is_refused_with_those_that_are() {
        let refused = |text: &str| Template::try_from(text.to_owned()).map(drop);
        assert!(refused("{tol}").is_err_and(|error| error.contains("{tool}")));
        assert!(refused("a {b").is_err_and(|error| error.contains("no closing brace")));
        assert!(refused(" ").is_err_and(|error| error.contains("empty")));
    }

    #[test]
    fn names_from_outside_are_quoted_only_so_far() {
        let long = "x".repeat(1_000);
        let mut words = String::new();
        Template::of("{tool}{id}").write(&mut words, &Named { tool: &long, id: &long, bytes: 1, failed: false }, 1);
        assert_eq!(words.len(), 2 * NAME_BYTES);
    }
}
