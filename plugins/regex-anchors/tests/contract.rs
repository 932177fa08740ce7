//! What the plugin says of itself, how it is configured, and when it asks for a compaction.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{eager, pad, plan, plugin, request, section, summary};
use contextengine_sdk::memory::{MemoryView, TestHost};
use contextengine_sdk::{Compressor, Outcome, Plugin, Urgency, Verdict};
use regex_anchors::{Config, RegexAnchors};

#[test]
fn the_schema_names_every_key_with_its_default() {
    let description = RegexAnchors::describe();
    let schema: serde_json::Value = serde_json::from_str(&description.config_schema).unwrap();
    let mut defaults = serde_json::Map::new();
    for (key, property) in schema["properties"].as_object().unwrap() {
        if let Some(default) = property.get("default") {
            defaults.insert(key.clone(), default.clone());
        }
    }
    let budgets = schema["properties"]["budgets"]["properties"].as_object().unwrap();
    let budgets = budgets.iter().map(|(key, property)| (key.clone(), property["default"].clone())).collect();
    defaults.insert("budgets".to_owned(), serde_json::Value::Object(budgets));
    let text = serde_json::Value::Object(defaults).to_string();
    assert_eq!(Config::from_json(&text).unwrap(), Config::default(), "{text}");
}

#[test]
fn a_wrong_configuration_is_refused_with_the_key() {
    for (config, words) in [
        (r#"{"keep": 1}"#, "unknown field `keep`"),
        (r#"{"budgets": {"anchor": 1}}"#, "unknown field `anchor`"),
        (r#"{"soft_at": 90}"#, "soft_at: 90 is not a share"),
        (r#"{"max_summary_tokens": 10}"#, "max_summary_tokens: 10 is too small"),
        (r#"{"anchors": [{"name": "Jobs", "pattern": "x"}]}"#, "anchors[0].name: \"Jobs\" must be lower-case"),
        (r#"{"anchors": [{"name": "files", "pattern": "x"}]}"#, "built-in kind"),
        (r#"{"anchors": [{"name": "jobs", "pattern": "("}]}"#, "anchors[0].pattern: "),
        (r#"{"anchors": [{"name": "jobs", "pattern": "((a{1000}){1000}){1000}"}]}"#, "anchors[0].pattern: "),
    ] {
        let error = RegexAnchors::configure(config).unwrap_err();
        assert!(error.contains(words), "{config}: {error}");
    }
}

#[test]
fn it_waits_then_advises_then_insists() {
    let view = MemoryView::new();
    let decide = |entries: u32, measured: Option<u32>| {
        let mut pressure = request(0).pressure;
        pressure.budget = 1_000;
        pressure.overhead = 500;
        pressure.entries = entries;
        pressure.measured = measured;
        plugin("{}").should_compress(&view, &TestHost::new(), &pressure)
    };
    assert_eq!(decide(900, None).verdict, Verdict::Wait);
    assert_eq!(decide(901, None).verdict, Verdict::Compress(Urgency::Soft));
    assert_eq!(decide(1_000, None).verdict, Verdict::Compress(Urgency::Soft));
    assert_eq!(decide(1_001, None).verdict, Verdict::Compress(Urgency::Hard));
    assert_eq!(decide(10, Some(1_501)).verdict, Verdict::Compress(Urgency::Hard), "the measured count is larger");
    assert_eq!(decide(10, Some(1_400)).verdict, Verdict::Wait, "the overhead is not the entries'");
    assert!(decide(901, None).reason.contains("901 of 1000"));
}

#[test]
fn a_short_session_is_left_as_it_is() {
    let view = MemoryView::new().user("hello there").assistant("hi").user("what is this?").assistant("a test");
    let outcome = plugin("{}").compress(&view, &TestHost::new(), &request(100_000)).unwrap();
    let Outcome::Unchanged(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("20000"), "{reason}");
}

#[test]
fn the_host_may_wish_what_is_kept_and_the_operator_decides() {
    let view = MemoryView::new().user("hello there").assistant("hi").user("what is this?").assistant("a test");
    let kept = |config: &str, wish: &str| {
        let mut request = request(100_000);
        request.extras.push(("keep_recent".to_owned(), wish.to_owned()));
        match plugin(config).compress(&view, &TestHost::new(), &request).unwrap() {
            Outcome::Unchanged(reason) => reason,
            other => panic!("{other:?}"),
        }
    };
    assert!(kept("{}", "7000").contains("the 7000 recent ones"));
    assert!(kept("{}", "many").contains("the 20000 recent ones"));
    assert!(kept(r#"{"keep_recent_tokens": 8000}"#, "7000").contains("the 8000 recent ones"));
}

#[test]
fn the_operators_patterns_and_words_are_used() {
    let plugin = plugin(
        r#"{"keep_recent_tokens": 0, "anchors": [{"name": "jobs", "pattern": "job-[0-9]+", "cap": 2}], "constraint_words": ["house rule"]}"#,
    );
    let view = pad(MemoryView::new().user("Look at job-12, job-13 and job-14; job-14 is stuck."))
        .user("House rule: four eyes. And job-14 again.")
        .assistant("job-14 is stuck in src/queue.rs, I will look.")
        .user("and?")
        .assistant("ok");
    let text = summary(&plan(&plugin, &view, &request(20_000))).text;
    assert!(section(&text, "Exact names").contains("- jobs: job-14 ×3, job-12\n"), "{text}");
    assert!(section(&text, "Constraints").contains("House rule: four eyes."), "{text}");
}

#[test]
fn corrections_change_the_next_proposal() {
    let mut view = pad(MemoryView::new().user("Start with the importer.\n```\nopen fence <tool_call>"));
    for at in 0..40 {
        view = view
            .user(format!("message {at} about the importer and its many fields"))
            .assistant("noted, I go on with it");
    }
    let text = |corrections: &[&str]| {
        let mut request = request(700);
        request.corrections = corrections.iter().map(|&it| it.to_owned()).collect();
        summary(&plan(&eager(), &view, &request)).text
    };
    let first = text(&[]);
    assert!(first.contains("```\n") && first.contains("<tool_call>"), "{first}");
    assert!(text(&["lost-identifiers:ZX-81,src/lost.rs"]).contains("- also: ZX-81, src/lost.rs"));
    assert!(text(&["missing-section:Next Steps"]).contains("\n## Next Steps\nNothing was recorded.\n"));
    assert!(text(&["over-target"]).len() < first.len());
    let defused = text(&["truncated"]);
    assert!(!defused.contains("```") && !defused.contains('<'), "{defused}");
}

#[test]
fn a_blank_message_does_not_pass_for_the_latest_request() {
    let view = pad(MemoryView::new().user("Fix the importer.")).user(" \n").assistant("What is it?");
    let plan = plan(&eager(), &view, &request(20_000));
    let folded: Vec<u32> = summary(&plan).covers.iter().flat_map(|span| span.positions()).collect();
    assert!(!folded.contains(&0) && folded.contains(&1), "{folded:?}");
}

#[test]
fn the_rules_that_a_foreign_summary_stored_become_constraints() {
    let stored = r#"{"constraints": ["Never push to main.", "none"]}"#;
    let view = pad(MemoryView::new().summary("It went well.").attributed("details", stored));
    let view = view.assistant("Done.").user("go on");
    let text = summary(&plan(&eager(), &view, &request(20_000))).text;
    assert_eq!(section(&text, "Constraints").trim(), "- Never push to main.");
}
