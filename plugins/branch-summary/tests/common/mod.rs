//! What the tests share.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "tests")]

use branch_summary::BranchSummary;
use contextengine_sdk::memory::{MemoryView, TestHost};
use contextengine_sdk::{BranchRequest, BranchSummarizer, Failure, Plugin, Summary};

pub fn plugin(config: &str) -> BranchSummary {
    BranchSummary::configure(config).unwrap()
}

pub fn request(budget: u32) -> BranchRequest {
    BranchRequest { budget, focus: None }
}

pub fn summarize(config: &str, view: &MemoryView, host: &TestHost, budget: u32) -> Result<Summary, Failure> {
    plugin(config).summarize_branch(view, host, &request(budget))
}

pub fn details(summary: &Summary) -> serde_json::Value {
    serde_json::from_str(summary.details.as_deref().unwrap()).unwrap()
}

/// A branch on which something was tried.
pub fn branch() -> MemoryView {
    MemoryView::new()
        .user("Try whether the importer is faster with a state machine. Don't touch src/lib.rs.")
        .assistant("I read the importer first.")
        .call("1", "read", r#"{"path":"src/import/csv.rs"}"#)
        .result("1", "pub fn split(line: &str) -> Vec<&str> {\n    line.split(',').collect()\n}\n")
        .assistant("")
        .call("2", "edit", r#"{"path":"src/import/machine.rs","oldText":"","newText":"enum State {}"}"#)
        .result("2", "ok")
        .assistant("")
        .call("3", "bash", r#"{"command":"cargo test -p importer"}"#)
        .failed_result("3", "running 14 tests\nerror[E0308]: mismatched types\n  --> src/import/machine.rs:8:17")
        .assistant("")
        .call("4", "bash", r#"{"command":"cargo bench -p importer"}"#)
        .result("4", "importer 12.1 ms")
        .user("Is it worth it?")
        .assistant("No: 12.1 ms against 11.8 ms before. The tests fail with E0308, and I did not mend them.")
}

/// An answer of a model that is fit.
pub const ANSWER: &str = "## Goal\nSee whether a state machine is faster.\n\n## Constraints & Preferences\n- src/lib.rs is not touched\n\n## Progress\n- src/import/machine.rs written; `cargo test -p importer` fails with E0308\n\n## Key Decisions\n- not worth it: 12.1 ms against 11.8 ms\n\n## Next Steps\nnone";
