//! The strategy `branch-summary` on the engine's own views.
#![allow(clippy::print_stdout, reason = "says what was measured")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::sync::Arc;

use branch_summary::BranchSummary;
use contextengine::Engine;
use contextengine::format::Document;
use contextengine::plugin::LoadOptions;
use contextengine::tokens::{EntryCounter, TiktokenCounter, Vocabulary};
use contextengine::transcript::{Block, Compaction, Entry, EntryKind, ToolCall, ToolResult};
use contextengine::view::{View, ViewOptions};
use contextengine_sdk::memory::TestHost;
use contextengine_sdk::{
    BranchRequest, BranchSummarizer, Failure, Finish, ModelError, Plugin as _, Span, Summary, View as _,
};
use contextengine_tests::native::NativeView;
use contextengine_tests::{cases, component, generate, layouts};
use proptest::prelude::*;

const HEADINGS: &str = "## Goal\nport it\n## Constraints & Preferences\nnone\n## Progress\nkept src/kept.rs\n\
                        ## Key Decisions\nnone\n## Next Steps\ntest it";

fn counter() -> EntryCounter {
    EntryCounter::new(TiktokenCounter::new(Vocabulary::O200kBase))
}

/// Counts as the engine does.
fn host() -> TestHost {
    let counter = counter();
    TestHost::new().count_with(move |text| counter.text(text))
}

fn view(entries: Vec<Entry>) -> NativeView {
    let entries = entries.into_iter().enumerate().map(|(at, mut entry)| {
        entry.id = contextengine::transcript::EntryId::new(format!("e{at}"));
        Arc::new(entry)
    });
    NativeView(View::new(entries.collect(), &counter(), ViewOptions::default()))
}

fn summarize(view: &NativeView, host: &TestHost, budget: u32, focus: Option<&str>) -> Result<Summary, Failure> {
    let plugin = BranchSummary::configure("{}").unwrap();
    plugin.summarize_branch(view, host, &BranchRequest { budget, focus: focus.map(str::to_owned) })
}

fn edit(path: &str, failed: bool) -> Vec<Entry> {
    let arguments = serde_json::json!({ "path": path, "oldText": "a", "newText": "b" }).to_string();
    let call = Block::ToolCall(ToolCall { id: "1".into(), name: "edit".into(), arguments: arguments.as_str().into() });
    let text = if failed { "error: no match" } else { "ok" };
    let result = ToolResult { call_id: "1".into(), name: "edit".into(), text: text.into(), failed };
    vec![
        Entry::new("", EntryKind::Assistant, vec![call]),
        Entry::new("", EntryKind::ToolResult, vec![Block::ToolResult(result)]),
    ]
}

/// A summary inside the branch that recorded these files, in its details.
fn nested(kind: EntryKind, words: &str, file: &str) -> Entry {
    let mut entry = Entry::text("", kind, words);
    let details = Some(serde_json::json!({"readFiles": [], "modifiedFiles": [file]}).to_string());
    entry.compaction = Some(Box::new(Compaction { details, ..Compaction::default() }));
    entry
}

fn any_entries() -> impl Strategy<Value = Vec<Entry>> {
    let text = || {
        prop_oneof![
            ".{0,60}",
            "(## Goal|```|<tool_call>|src/[a-z]{3}\\.rs|#[0-9]{3}|\n| |你好){0,30}",
            "[a-z .\n]{0,600}"
        ]
    };
    prop_oneof![
        3 => text().prop_map(|text| vec![Entry::text("", EntryKind::User, text)]),
        3 => text().prop_map(|text| vec![Entry::text("", EntryKind::Assistant, text)]),
        2 => ("src/[a-c]{1,2}\\.rs", any::<bool>()).prop_map(|(path, failed)| edit(&path, failed)),
        1 => (text(), "nested/[a-f]{2}\\.rs").prop_map(|(text, file)| vec![nested(EntryKind::BranchSummary, &text, &file)]),
        1 => (text(), "nested/[a-f]{2}\\.rs").prop_map(|(text, file)| vec![nested(EntryKind::Summary, &text, &file)]),
        1 => Just(vec![Entry::text("", EntryKind::Note, "noted")]),
        1 => prop::sample::select(layouts::all(5)).prop_map(|layout| layouts::entries(&layout)),
    ]
}

fn any_session() -> impl Strategy<Value = Vec<Entry>> {
    prop::collection::vec(any_entries(), 0..14).prop_map(|parts| parts.into_iter().flatten().collect())
}

fn any_model() -> impl Strategy<Value = Option<(String, u8)>> {
    let texts = prop_oneof![
        3 => Just(HEADINGS.to_owned()),
        1 => "[a-z#\n ]{0,200}",
        1 => Just(format!("{HEADINGS}{}", " long".repeat(3_000))),
    ];
    prop_oneof![1 => Just(None), 4 => (texts, 0u8..7).prop_map(Some)]
}

fn scripted(model: Option<(String, u8)>) -> TestHost {
    match model {
        None => host(),
        Some((text, 0..=3)) => host().answers([text.clone(), text]),
        Some((text, 4)) => host().answer(text, Finish::Truncated),
        Some((text, 5)) => host().answer(text, Finish::Refused),
        Some(_) => host().fails(ModelError::TooLong(None)).fails(ModelError::Timeout),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(80)))]

    #[test]
    fn a_summary_of_any_branch_fits_its_budget_covers_everything_and_forgets_no_file(
        entries in any_session(), budget in prop_oneof![0u32..120, 100u32..1_500], model in any_model(),
        focus in prop::option::of("[a-z ]{0,9}"),
    ) {
        let view = view(entries);
        let host = scripted(model);
        match summarize(&view, &host, budget, focus.as_deref()) {
            Ok(summary) => {
                let tokens = counter().text(&summary.text);
                prop_assert!(tokens <= budget, "{} tokens, budget {}: {}", tokens, budget, summary.text);
                prop_assert_eq!(&summary.covers, &[Span::new(0, view.len())]);
                let details: serde_json::Value = serde_json::from_str(summary.details.as_deref().unwrap()).unwrap();
                let modified: Vec<&str> =
                    details["modifiedFiles"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
                for entry in view.0.entries() {
                    if let Some(recorded) = entry.compaction.as_ref().and_then(|it| it.details.as_deref()) {
                        let recorded: serde_json::Value = serde_json::from_str(recorded).unwrap();
                        let file = recorded["modifiedFiles"][0].as_str().unwrap();
                        prop_assert!(modified.contains(&file), "{} is lost", file);
                    }
                }
                let again = summarize(&view, &host, budget, focus.as_deref());
                prop_assert!(again.is_ok(), "without its model it goes on by rules");
            }
            Err(Failure::Declined(reason)) => prop_assert!(reason.contains(|c: char| c.is_ascii_digit()) || view.is_empty()),
            Err(other) => prop_assert!(false, "{:?}", other),
        }
    }
}

#[test]
fn a_generous_budget_is_never_declined_and_earlier_summaries_are_carried_on_word_for_word() {
    let words = "Ported crates/shop/src/lib.rs; the port 8443 is taken on staging.shop.test.";
    let mut entries = vec![nested(EntryKind::BranchSummary, words, "crates/shop/src/lib.rs")];
    entries.extend(generate::session(200, 200_000));
    let view = view(entries);
    for host in [host(), host().answers([HEADINGS])] {
        let summary = summarize(&view, &host, 2_000, None).unwrap();
        assert!(summary.text.contains(words), "{}", summary.text);
        assert!(counter().text(&summary.text) <= 2_000);
        assert!(counter().text(&summary.text) > 200, "the budget is used");
    }
}

/// A branch left inside a branch, and so on: each summary is an entry of the next branch.
#[test]
fn twenty_branches_in_each_other_lose_no_file_and_stay_within_the_budget() {
    let mut summary: Option<Summary> = None;
    for round in 0..20 {
        let mut entries: Vec<Entry> = Vec::new();
        if let Some(before) = summary.take() {
            let mut entry = Entry::text("", EntryKind::BranchSummary, before.text);
            entry.compaction = Some(Box::new(Compaction { details: before.details, ..Compaction::default() }));
            entries.push(entry);
        }
        entries.push(Entry::text("", EntryKind::User, format!("Try way number {round}.")));
        entries.extend(edit(&format!("src/way_{round}.rs"), false));
        entries.push(Entry::text("", EntryKind::Assistant, format!("Way {round} does not work.")));
        let host = if round % 2 == 0 { host() } else { host().answers([HEADINGS, HEADINGS]) };
        let view = view(entries);
        let made = summarize(&view, &host, 700, None).unwrap();
        assert!(counter().text(&made.text) <= 700);
        assert!(made.text.contains(&format!("way_{round}.rs")), "{}", made.text);
        let details: serde_json::Value = serde_json::from_str(made.details.as_deref().unwrap()).unwrap();
        let expected: Vec<String> = (0..=round).map(|round| format!("src/way_{round}.rs")).collect();
        assert_eq!(details["modifiedFiles"], serde_json::json!(expected));
        assert_eq!(made.text.matches("## Files\n").count(), 1, "{}", made.text);
        summary = Some(made);
    }
}

#[test]
fn the_component_exports_the_hook_and_nothing_else() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let hooks = runtime.block_on(async {
        let engine = Engine::builder().build().unwrap();
        let options = LoadOptions::with_config(r#"{"preset": "pi"}"#);
        let plugin = engine.load(&component("branch-summary"), options).await.unwrap();
        plugin.hooks().iter().map(|hook| format!("{hook:?}")).collect::<Vec<_>>()
    });
    assert_eq!(hooks, ["BranchSummarizer"]);
}

/// The sessions of the corpus, if there is one, and the sample of the repository, each as if it were one branch.
#[test]
fn real_sessions_fit_any_budget() {
    let sample = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/coding-session.jsonl");
    let folder = std::env::var_os("CONTEXTENGINE_CORPUS").map(|folder| std::fs::read_dir(folder).unwrap());
    let corpus = folder.into_iter().flatten().map(|entry| entry.unwrap().path());
    for path in std::iter::once(sample).chain(corpus) {
        let Ok(document) = Document::read_bytes(&std::fs::read(&path).unwrap(), None) else { continue };
        let view = NativeView(View::new(document.context().to_vec(), &counter(), ViewOptions::default()));
        for budget in [100, 500, 2_000, 8_000] {
            let summary = summarize(&view, &host(), budget, None).unwrap();
            let tokens = counter().text(&summary.text);
            assert!(tokens <= budget, "{}: {tokens} of {budget}", path.display());
            println!("{}: {} tokens, budget {budget}: {tokens}", path.display(), view.0.tokens());
        }
    }
}
