//! What the scripted model answers: a good summary for each kind of prompt, and everything that is none.

use serde_json::{Value, json};

/// Something to say below a heading, of some thirty tokens.
const WORDS: &str =
    "- the importer and the exporter were changed as planned, and nothing that came up on the way is open\n";

fn under(headings: &[&str]) -> String {
    headings.iter().map(|heading| format!("{heading}\n{WORDS}\n")).collect()
}

/// The answer to the prompts of `llm-rolling-summary`, with its default headings.
fn history() -> String {
    under(&[
        "## Goal",
        "## Constraints",
        "## Progress",
        "### Done",
        "### In progress",
        "### Blocked",
        "## Decisions",
        "## Next steps",
        "## Critical context",
    ])
}

/// What the same strategy asks of a turn that was cut.
fn prefix() -> String {
    under(&["### Request", "### Done so far", "### Needed for the rest"])
}

/// The answer to the prompts of `branch-summary`.
fn branch() -> String {
    under(&["## Goal", "## Constraints & Preferences", "## Progress", "## Key Decisions", "## Next Steps"])
}

/// Every prompt gets what it asks for.
pub(crate) fn obedient() -> String {
    lines(&[for_prefix(), for_branch(), settings("repeat"), json!({"answer": history()})])
}

/// The prompts of a compaction get these lines, one after the other and again from the start; what is asked of a turn
/// that was cut is answered well.
pub(crate) fn playing(answers: &[Value]) -> String {
    lines(&[&[for_prefix(), for_branch(), settings("restart")], answers].concat())
}

/// What a prompt gets that is answered well.
pub(crate) fn good() -> Value {
    json!({"answer": history()})
}

/// What a model may do wrong, by name.
pub(crate) fn wrong() -> Vec<(&'static str, Value)> {
    vec![
        ("an error", json!({"error": "provider", "reason": "the server is on fire"})),
        ("a rate limit", json!({"error": "rate-limited"})),
        ("a timeout", json!({"error": "timeout"})),
        ("nobody there", json!({"error": "unreachable", "reason": "no route"})),
        ("a prompt that is too long", json!({"error": "too-long"})),
        ("a cut answer", json!({"answer": "## Goal\n- half of a sen", "finish": "truncated"})),
        ("a refusal", json!({"answer": "I cannot help with that.", "finish": "refused"})),
        ("an empty answer", json!({"answer": ""})),
        ("a short answer", json!({"answer": "All is well."})),
        ("a call of a tool", json!({"answer": "<tool_call>{\"name\": \"bash\", \"arguments\": {}}</tool_call>"})),
        ("garbage", json!({"answer": "\u{0}\u{fffd}#&%".repeat(400)})),
    ]
}

fn for_prefix() -> Value {
    let when =
        json!({"system_contains": "handover notes", "user_contains": "Begin with the first heading:\n\n### Request"});
    json!({"answer": prefix(), "when": when})
}

fn for_branch() -> Value {
    json!({"answer": branch(), "when": {"system_contains": "You summarise a part of a session"}})
}

fn settings(after_last: &str) -> Value {
    json!({"script": 1, "name": "scripted", "window": 32_000, "after_last": after_last})
}

/// A script; the settings go first, wherever they stand.
fn lines(values: &[Value]) -> String {
    let (settings, answers): (Vec<_>, Vec<_>) = values.iter().partition(|value| value.get("script").is_some());
    settings.into_iter().chain(answers).map(|value| format!("{value}\n")).collect()
}
