//! What goes from one compaction to the next beside the text: JSON that the host stores with the summary.

use contextengine_sdk::{CompactionRecord, Plugin, rules};
use serde::Serialize;
use serde_json::Value;

use crate::LlmRollingSummary;
use crate::constraints;
use crate::escape::masked;

/// The most paths of one list; the newest stay.
const PATHS: usize = 500;

/// The JSON beside a summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Carried {
    /// Compactions that this summary has been through.
    pub(crate) rounds: u32,
    /// Entries that it stands for, those of earlier rounds included.
    pub(crate) entries: u64,
    /// Where the model's own text lies in the summary, in bytes: only that is updated, the rest is made anew.
    pub(crate) body: (usize, usize),
    /// The user's first request.
    pub(crate) goal: Option<String>,
    /// Constraints of the user, oldest first.
    pub(crate) constraints: Vec<String>,
    /// Messages of the user that the summary quotes, oldest first.
    pub(crate) user_messages: Vec<String>,
    /// Files that were read and not modified.
    pub(crate) read_files: Vec<String>,
    /// Files that were modified.
    pub(crate) modified_files: Vec<String>,
    /// Failed tools, oldest first.
    pub(crate) failures: Vec<String>,
}

/// The previous compaction, as far as it can be gone on with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Previous {
    /// The text that the model is to update.
    pub(crate) body: String,
    /// What was carried.
    pub(crate) carried: Carried,
}

impl Previous {
    /// Reads a record of any author. Of another author the text and the lists of files are taken over, the rules that
    /// it stored, and what stands below a heading about constraints: a successor that wrote one summary must not cost the user's rules.
    pub(crate) fn read(record: &CompactionRecord) -> Self {
        let details: Value = record.details.as_deref().and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
        let mut carried = Carried {
            read_files: strings(&details["readFiles"]),
            modified_files: strings(&details["modifiedFiles"]),
            ..Carried::default()
        };
        if record.plugin != LlmRollingSummary::ID {
            let stored = record.details.as_deref().map(rules::from_details).unwrap_or_default();
            let known = stored.into_iter().chain(rules::from_text(&record.summary));
            constraints::extend(&mut carried.constraints, known.map(|rule| masked(&rule)).collect());
            return Self { body: record.summary.clone(), carried };
        }
        carried.rounds = details["rounds"].as_u64().and_then(|it| u32::try_from(it).ok()).unwrap_or(1);
        carried.entries = details["entries"].as_u64().unwrap_or(0);
        carried.goal = details["goal"].as_str().map(str::to_owned);
        carried.constraints = strings(&details["constraints"]);
        carried.user_messages = strings(&details["userMessages"]);
        carried.failures = strings(&details["failures"]);
        let bound = |index: usize| details["body"][index].as_u64().and_then(|it| usize::try_from(it).ok());
        let body = bound(0).zip(bound(1)).and_then(|(start, end)| record.summary.get(start..end));
        // Someone else may have changed the text since; then all of it is what there is.
        let body = body.map(str::trim).filter(|body| !body.is_empty()).unwrap_or(&record.summary);
        Self { body: body.to_owned(), carried }
    }
}

impl Carried {
    /// As JSON, with lists of bounded length.
    pub(crate) fn to_json(&self) -> String {
        let mut bounded = self.clone();
        for list in [&mut bounded.read_files, &mut bounded.modified_files] {
            list.drain(..list.len().saturating_sub(PATHS));
        }
        serde_json::to_string(&bounded).unwrap_or_else(|_| "{}".to_owned())
    }
}

fn strings(list: &Value) -> Vec<String> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(plugin: &str, summary: &str, details: &str) -> CompactionRecord {
        CompactionRecord {
            at: 0,
            plugin: plugin.to_owned(),
            summary: summary.to_owned(),
            details: Some(details.to_owned()),
            tokens_before: 0,
            tokens_after: 0,
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let carried = Carried {
            rounds: 3,
            entries: 70,
            body: (4, 8),
            goal: Some("g".to_owned()),
            constraints: vec!["never".to_owned()],
            user_messages: vec!["m".to_owned()],
            read_files: vec!["a.rs".to_owned()],
            modified_files: vec!["b.rs".to_owned()],
            failures: vec!["bash: x".to_owned()],
        };
        let read = Previous::read(&record(LlmRollingSummary::ID, "one body end", &carried.to_json()));
        assert_eq!(read.body, "body");
        assert_eq!(Carried { body: (4, 8), ..read.carried }, carried);
    }

    #[test]
    fn of_others_the_rules_that_they_list_are_taken_over() {
        let text = "## Constraints\n- Never push.\n- none\n\n## Open\n- Not this one.\n### House rules\n- Use tabs.";
        let read = Previous::read(&record("regex-anchors", text, "{}"));
        assert_eq!(read.carried.constraints, ["Never push.", "Use tabs."]);
        let stored = r#"{"constraints": ["Never sleep.", "Never push."]}"#;
        let read = Previous::read(&record("fresh-window", text, stored));
        assert_eq!(read.carried.constraints, ["Never sleep.", "Never push.", "Use tabs."]);
    }

    #[test]
    fn of_others_only_text_and_files_are_taken_over() {
        let read = Previous::read(&record("pi", "text", r#"{"readFiles":["a",1],"constraints":["x"],"body":[0,1]}"#));
        assert_eq!((read.body.as_str(), read.carried.read_files), ("text", vec!["a".to_owned()]));
        assert!(read.carried.constraints.is_empty());
    }

    #[test]
    fn damaged_details_lose_nothing_of_the_text() {
        for details in ["", "[]", r#"{"body":[5,2]}"#, r#"{"body":[0,99]}"#, r#"{"body":[1,2]}"#] {
            assert_eq!(Previous::read(&record(LlmRollingSummary::ID, "täxt", details)).body, "täxt", "{details}");
        }
    }
}
