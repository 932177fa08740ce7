//! The reports of `ctxe session` about sessions as a whole.

use std::fmt::Write as _;

use contextengine::transcript::Timestamp;
use serde::Serialize;

use super::{Fill, KindName, REPORT_VERSION, Read, Written, counted, remark_lines, thousands};
use crate::harmless;
use crate::output;
use crate::time;

/// Characters of a name, a title or an id in a table.
const CELL: usize = 48;

#[derive(Debug, Serialize)]
pub(crate) struct ImportReport {
    pub(crate) report_version: u32,
    #[serde(flatten)]
    pub(crate) read: Read,
    pub(crate) store: String,
    pub(crate) file_bytes: usize,
    /// Messages of the file that the model does not see: they are in the kept file, not in the log.
    pub(crate) hidden_messages: u32,
    pub(crate) context: Fill,
}

impl ImportReport {
    pub(crate) fn for_people(&self) -> String {
        let mut text = self.read.headline(self.context.entries, self.context.tokens);
        text.push_str(&self.read.problem_lines());
        if self.hidden_messages > 0 {
            let hidden = counted(self.hidden_messages, "message");
            let _ = writeln!(
                text,
                "{hidden} not in the context (compacted earlier, or on another branch): kept with the file, not searched"
            );
        }
        let name = harmless::line(self.read.session.as_deref().unwrap_or_default());
        let _ = writeln!(text, "Imported as session {name} into {}.", harmless::line(&self.store));
        text
    }
}

/// A session of the store.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    pub(crate) session: String,
    pub(crate) format: Option<String>,
    pub(crate) title: Option<String>,
    /// Milliseconds since 1970.
    pub(crate) created_ms: i64,
    pub(crate) logged_entries: u64,
    /// The compaction in force.
    pub(crate) compaction_id: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ListReport {
    pub(crate) report_version: u32,
    pub(crate) store: String,
    pub(crate) sessions: Vec<Listed>,
}

impl ListReport {
    pub(crate) fn for_people(&self) -> String {
        let store = harmless::line(&self.store);
        if self.sessions.is_empty() {
            return format!("There are no sessions in {store} yet; `ctxe session import FILE` adds one.\n");
        }
        let header = ["session", "messages", "compacted", "format", "imported", "begins"];
        let rows = self.sessions.iter().map(|listed| {
            vec![
                harmless::short_line(&listed.session, CELL),
                thousands(listed.logged_entries),
                if listed.compaction_id.is_some() { "yes" } else { "no" }.to_owned(),
                listed.format.as_deref().map(harmless::line).unwrap_or_default(),
                time::minute(Timestamp(listed.created_ms)),
                listed.title.as_deref().map(|title| harmless::short_line(title, CELL)).unwrap_or_default(),
            ]
        });
        let table = output::table(&header, &[1], rows.collect());
        format!("{} in {store}\n\n{table}\n", counted(self.sessions.len() as u64, "session"))
    }
}

/// A passage that was found.
#[derive(Debug, Serialize)]
pub(crate) struct HitReport {
    pub(crate) session: String,
    pub(crate) entry_id: String,
    pub(crate) kind: KindName,
    pub(crate) snippet: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct SearchReport {
    pub(crate) report_version: u32,
    pub(crate) store: String,
    pub(crate) text: String,
    pub(crate) hits: Vec<HitReport>,
    /// Records that the index does not hold yet: others wrote them meanwhile.
    pub(crate) unindexed_records: u64,
}

impl SearchReport {
    pub(crate) fn for_people(&self) -> String {
        let mut text = String::new();
        if self.hits.is_empty() {
            let _ = writeln!(text, "Nothing was found.");
        }
        for hit in &self.hits {
            let session = harmless::short_line(&hit.session, CELL);
            let id = harmless::short_line(&hit.entry_id, CELL);
            let _ = writeln!(text, "{session} {id} ({})\n    {}", hit.kind.words(), harmless::line(&hit.snippet));
        }
        if self.unindexed_records > 0 {
            let _ = writeln!(text, "{} not searched yet", counted(self.unindexed_records, "new record"));
        }
        text
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct UndoReport {
    pub(crate) report_version: u32,
    pub(crate) session: String,
    pub(crate) tokenizer: &'static str,
    /// The compaction that was taken back; `None`: there was none.
    pub(crate) undone_compaction_id: Option<String>,
    /// The compaction that is in force again.
    pub(crate) compaction_id: Option<String>,
    pub(crate) before: Fill,
    pub(crate) after: Fill,
}

impl UndoReport {
    pub(crate) fn for_people(&self) -> String {
        let session = harmless::line(&self.session);
        let Some(undone) = &self.undone_compaction_id else {
            return format!("Nothing to undo: no compaction of session {session} is in force.\n");
        };
        let mut text = format!("Took {} of session {session} back.\n", harmless::line(undone));
        let _ = writeln!(
            text,
            "The model sees {} again, {} (before: {}, {}).",
            counted(self.after.entries, "message"),
            counted(self.after.tokens, "token"),
            counted(self.before.entries, "message"),
            counted(self.before.tokens, "token"),
        );
        if let Some(id) = &self.compaction_id {
            let _ = writeln!(text, "In force is {} again.", harmless::line(id));
        }
        text
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ExportReport {
    pub(crate) report_version: u32,
    #[serde(flatten)]
    pub(crate) read: Read,
    pub(crate) context: Fill,
    pub(crate) written: Written,
    /// What the format could not say in its own way.
    pub(crate) remarks: Vec<String>,
}

impl ExportReport {
    pub(crate) fn new(read: Read, context: Fill, written: Written, remarks: Vec<String>) -> Self {
        Self { report_version: REPORT_VERSION, read, context, written, remarks }
    }

    pub(crate) fn for_people(&self) -> String {
        let mut text = self.read.headline(self.context.entries, self.context.tokens);
        text.push_str(&self.written.line());
        text.push_str(&remark_lines(&self.remarks));
        text
    }
}
