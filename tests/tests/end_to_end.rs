//! Real sessions through the whole of it: read, compact with the component that ships, write, read again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at the first surprise")]
#![allow(clippy::print_stdout, reason = "says what was skipped")]

use std::path::PathBuf;

use contextengine::format::{Document, WriteFacts};
use contextengine::hooks::Trigger;
use contextengine::plan::{GatePolicy, SummaryGate};
use contextengine::plugin::{LoadOptions, Plugin};
use contextengine::transcript::{EntryKind, Timestamp};
use contextengine::view::{View, ViewOptions};
use contextengine::{CompactOptions, Compacted, Compaction, Engine, Window};
use contextengine_tests::{component, generate};

const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test)
}

async fn host(config: &str) -> (Engine, Plugin) {
    let engine = Engine::builder().build().unwrap();
    let plugin = engine.load(&component("regex-anchors"), LoadOptions::with_config(config)).await.unwrap();
    (engine, plugin)
}

async fn compact(engine: &Engine, plugin: &Plugin, view: &View, window: Window) -> Option<Compaction> {
    let options = CompactOptions::new(window.pressure(view, Trigger::Manual, NOW), window.target());
    match engine.compact(plugin, view, &options, engine.services()).await.unwrap() {
        Compacted::Done(compaction) => Some(*compaction),
        Compacted::Unchanged { .. } => None,
    }
}

/// The sessions of the corpus, and the sample of the repository, which is always there.
fn sessions() -> Vec<PathBuf> {
    let sample = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/coding-session.jsonl");
    let Some(folder) = std::env::var_os("CONTEXTENGINE_CORPUS") else {
        println!("CONTEXTENGINE_CORPUS is not set: only the sample of the repository is compacted");
        return vec![sample];
    };
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let known = files.filter(|path| {
        path.extension().is_some_and(|extension| extension == "jsonl")
            && Document::read_bytes(&std::fs::read(path).unwrap(), None).is_ok()
    });
    std::iter::once(sample).chain(known).collect()
}

/// Kind and text of what a model would see.
fn seen(view: &View) -> Vec<(EntryKind, String)> {
    view.entries().iter().zip(0..).map(|(entry, at)| (entry.kind, view.text(at, None).into_owned())).collect()
}

#[test]
fn every_real_session_is_compacted_written_and_read_back_as_what_the_model_would_see() {
    run(async {
        // A window that none of them fits, so that all are compacted that have anything to fold.
        let window = Window::new(16_000);
        let (engine, plugin) = host(r#"{"keep_recent_tokens": 2000}"#).await;
        let mut compacted = 0;
        for path in sessions() {
            let document = Document::read_bytes(&std::fs::read(&path).unwrap(), None).unwrap();
            let options = ViewOptions::default().with_loop_limit(window.target());
            let view = engine.view(document.context().to_vec(), options);
            let Some(compaction) = compact(&engine, &plugin, &view, window).await else { continue };
            compacted += 1;
            let after = compaction.view();
            assert!(after.tokens() * 10 <= view.tokens() * 9, "{}", path.display());
            let facts = WriteFacts { now: NOW, tokens_before: view.tokens(), tokens_after: after.tokens() };
            let written = document.write(after.entries(), &facts).unwrap();
            let again = Document::read_bytes(&written.bytes, Some(document.format())).unwrap();
            let read = engine.view(again.context().to_vec(), options);
            // A format may put the summary first and carry a request at its end; nothing else may differ.
            let kept = |view: &View| -> Vec<(EntryKind, String)> {
                seen(view)
                    .into_iter()
                    .filter(|(kind, _)| !matches!(kind, EntryKind::Summary | EntryKind::User))
                    .collect()
            };
            assert_eq!(kept(&read), kept(after), "{}", path.display());
            let text = |view: &View| seen(view).into_iter().map(|(_, text)| text + "\n").collect::<String>();
            let read = text(&read);
            for (kind, words) in seen(after) {
                let words = words.trim_end();
                assert!(read.contains(words), "{}: {kind:?} is gone: {words}", path.display());
            }
        }
        assert!(compacted > 0);
    });
}

#[test]
fn the_strategy_that_ships_passes_the_strictest_gate_at_once_or_after_one_correction() {
    run(async {
        let window = Window::new(16_000);
        let (engine, plugin) = host(r#"{"keep_recent_tokens": 2000}"#).await;
        for path in sessions() {
            let document = Document::read_bytes(&std::fs::read(&path).unwrap(), None).unwrap();
            let options = ViewOptions::default().with_loop_limit(window.target());
            let view = engine.view(document.context().to_vec(), options);
            let pressure = window.pressure(&view, Trigger::Manual, NOW);
            let gate = SummaryGate::new(GatePolicy::Strict);
            let options = CompactOptions::new(pressure, window.target()).with_gate(gate);
            // An error here is a refusal, with the defects in its text.
            match engine.compact(&plugin, &view, &options, engine.services()).await.unwrap() {
                Compacted::Done(compaction) => {
                    println!("{}: corrected {:?}", path.display(), compaction.record().corrections);
                }
                Compacted::Unchanged { reason } => println!("{}: {reason}", path.display()),
            }
        }
    });
}

#[test]
fn a_session_that_grows_and_is_compacted_twenty_times_keeps_one_summary_and_its_first_rule() {
    run(async {
        let window = Window::new(24_000);
        let (engine, plugin) = host(r#"{"keep_recent_tokens": 3000}"#).await;
        let options = ViewOptions::default().with_loop_limit(window.target());
        let rule = "Never write to the production database at db.internal:5432.";
        let mut entries =
            vec![std::sync::Arc::new(contextengine::transcript::Entry::text("rule", EntryKind::User, rule))];
        let mut compactions = 0;
        for round in 0..20 {
            for mut entry in generate::session(40, 40_000) {
                entry.id = contextengine::transcript::EntryId::new(format!("{round}-{}", entry.id));
                entries.push(std::sync::Arc::new(entry));
            }
            let view = engine.view(entries.clone(), options);
            let Some(compaction) = compact(&engine, &plugin, &view, window).await else { continue };
            compactions += 1;
            entries = compaction.view().entries().to_vec();
            let summaries: Vec<String> = seen(compaction.view())
                .into_iter()
                .filter(|(kind, _)| *kind == EntryKind::Summary)
                .map(|(_, text)| text)
                .collect();
            assert_eq!(summaries.len(), 1, "round {round}");
            assert!(summaries[0].contains(rule), "round {round}: the rule is gone");
            assert!(compaction.view().tokens() <= window.target(), "round {round}");
        }
        assert_eq!(compactions, 20);
    });
}
