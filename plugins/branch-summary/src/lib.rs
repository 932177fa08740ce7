//! Summarises a branch of a session when it is left.
//!
//! It is handed a view of the branch alone: the search for the common ancestor is the host's. With a model it asks for
//! a summary with headings and checks the answer; without one, or where the answer is not fit, it writes what can be
//! told by rules, and says so. Deterministic but for the model.
//!
//! It promises that the text never takes more tokens than the budget, by the host's count; that the summary covers the
//! whole branch; and that no file is forgotten that the branch, or a summary inside of it, names in calls or details:
//! the details hold them all, the text as many as fit.

mod answer;
mod ask;
mod config;
mod earlier;
mod gather;
mod plain;
mod prompt;

use contextengine_sdk::{
    BranchRequest, BranchSummarizer, Description, Failure, Host, Level, Plugin, Span, Summary, View,
};
use serde_json::json;

pub use config::{Config, PRESETS};
use gather::Facts;

/// The strategy.
#[derive(Debug)]
pub struct BranchSummary {
    config: Config,
}

contextengine_sdk::export!(BranchSummary: BranchSummarizer);

impl Plugin for BranchSummary {
    const ID: &'static str = "branch-summary";

    fn describe() -> Description {
        Description::new(
            Self::ID,
            env!("CARGO_PKG_VERSION"),
            "Summarises the branch that is left, with a model where one is granted, else by rules.",
        )
        .config_schema(Config::schema())
    }

    fn configure(config: &str) -> Result<Self, String> {
        Ok(Self { config: Config::from_json(config)? })
    }
}

impl BranchSummarizer for BranchSummary {
    fn summarize_branch(&self, view: &dyn View, host: &Host, request: &BranchRequest) -> Result<Summary, Failure> {
        if view.is_empty() {
            return Err(Failure::declined("the branch holds no entries"));
        }
        if request.budget < self.config.least_tokens {
            return Err(Failure::declined(format!(
                "a summary may take {} tokens, and {} are the least for which one is written (`least_tokens`)",
                request.budget, self.config.least_tokens
            )));
        }
        let facts = Facts::gather(view, request.focus.as_deref(), &self.config);
        if facts.says_nothing() {
            return Err(Failure::declined(format!(
                "none of the {} entries of the branch holds words, calls or results",
                facts.entries
            )));
        }
        let (text, why) = self.text(view, host, request, &facts)?;
        let covers = vec![Span::new(0, view.len())];
        Ok(Summary { covers, text, details: Some(details(&facts, why.as_deref())) })
    }
}

impl BranchSummary {
    /// The text, and why no model wrote it if none did.
    fn text(
        &self,
        view: &dyn View,
        host: &Host,
        request: &BranchRequest,
        facts: &Facts,
    ) -> Result<(String, Option<String>), Failure> {
        let why = match ask::summary(view, host, request, facts, &self.config) {
            Ok(text) => return Ok((text, None)),
            Err(why) => why,
        };
        host.log(why.level(), &format!("the summary of the branch is written by rules: {why}"));
        let fitted = plain::summary(host, facts, request.budget).ok_or_else(|| {
            Failure::declined(format!(
                "a summary may take {} tokens, and no more than its head fits that",
                request.budget
            ))
        })?;
        if fitted.lost_earlier {
            host.log(Level::Warn, "earlier summaries inside the branch are shortened: they do not fit the budget");
        }
        Ok((fitted.text, Some(why.to_string())))
    }
}

/// JSON for programs: all files, also those of summaries inside the branch, and how the text came about.
fn details(facts: &Facts, why: Option<&str>) -> String {
    let mut details = json!({
        "readFiles": facts.files.only_read().collect::<Vec<_>>(),
        "modifiedFiles": facts.files.modified,
        "entries": facts.entries,
        "turns": facts.turns,
        "earlierSummaries": facts.earlier.len(),
        "writtenBy": if why.is_some() { "rules" } else { "model" },
    });
    if let Some(why) = why {
        details["why"] = why.into();
    }
    details.to_string()
}
