//! The strategy `llm-rolling-summary` on the engine's own views.
//!
//! The model is a function: one that does as it is told, and one that does so only sometimes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

use std::cell::Cell;
use std::sync::Arc;

use contextengine::hooks::{Service, Trigger, Urgency};
use contextengine::plan::{GatePolicy, Plan, Rules, Segment, Span, Summary, SummaryGate, VerifiedPlan, verify};
use contextengine::plugin::LoadOptions;
use contextengine::services::model::{self, Model, ModelFuture, ModelService};
use contextengine::tokens::{EntryCounter, TiktokenCounter, TokenCounter, Vocabulary};
use contextengine::transcript::{Block, Entry, EntryKind, Timestamp, ToolCall, ToolResult};
use contextengine::view::{View, ViewOptions};
use contextengine::{CompactOptions, Compacted, Engine, Window};
use contextengine_sdk::memory::{TestHost, quarter_of_bytes};
use contextengine_sdk::{self as sdk, Completion, Compressor as _, Finish, ModelError, Plugin as _, Prompt};
use contextengine_tests::native::{NativeView, compress_request};
use contextengine_tests::{cases, component, generate, layouts};
use llm_rolling_summary::{Config, LlmRollingSummary};
use proptest::prelude::*;

/// Four bytes a token: counting exactly is not what is tested, and takes most of the time.
#[derive(Debug)]
struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &str {
        "quarters"
    }

    fn count(&self, text: &str) -> u32 {
        quarter_of_bytes(text)
    }
}

fn counter() -> EntryCounter {
    EntryCounter::new(Quarters)
}

fn view(entries: Vec<Entry>) -> View {
    View::new(entries.into_iter().map(Arc::new).collect(), &counter(), ViewOptions::default())
}

/// A host that counts as the engine does.
fn host(model: impl Fn(&Prompt) -> Result<Completion, ModelError> + 'static) -> TestHost {
    TestHost::new().count_with(quarter_of_bytes).model(model)
}

fn completion(text: impl Into<String>, finish: Finish) -> Completion {
    Completion { text: text.into(), finish, input_tokens: 0, output_tokens: 0 }
}

/// Writes something under each heading that the prompt asks for, within the length that it asks for; nothing of what
/// the user ruled.
fn obeys(prompt: &Prompt) -> Result<Completion, ModelError> {
    let form = prompt.user.rsplit("Begin with the first heading:\n").next().unwrap_or_default();
    let headings: Vec<&str> = form.lines().filter(|line| line.starts_with('#')).collect();
    let (_, limit) = prompt.user.rsplit_once("Write at most ").unwrap();
    let limit: usize = limit.split(' ').next().unwrap().parse().unwrap();
    let words = "- the work went on as planned and nothing surprising came up in this part of it\n";
    // Four bytes are a token here; a heading takes some forty.
    let times = (limit * 4 / headings.len().max(1)).saturating_sub(40) / words.len();
    let words = if times == 0 { "- none\n".to_owned() } else { words.repeat(times.min(4)) };
    let text: String = headings.iter().map(|heading| format!("{heading}\n{words}\n")).collect();
    let text = if text.is_empty() { format!("{}\nThat is all.", words.repeat(4)) } else { text };
    Ok(completion(text, Finish::Complete))
}

/// Does one of many wrong things, or obeys.
fn misbehaves(how: u8, prompt: &Prompt) -> Result<Completion, ModelError> {
    match how % 12 {
        0 => Ok(completion("", Finish::Complete)),
        1 => Ok(completion("## Goal\n- half of a sen", Finish::Truncated)),
        2 => Ok(completion("", Finish::Refused)),
        3 => Ok(completion(prompt.user.clone(), Finish::Complete)),
        4 => Err(ModelError::Provider("overloaded".to_owned())),
        5 => Err(ModelError::RateLimited(Some(10))),
        6 => Err(ModelError::TooLong(None)),
        7 => Ok(completion("# Notes\n\n- everything is fine\n\n# More\n- really", Finish::Complete)),
        8 => Ok(completion("<tool_call>{\"name\": \"bash\"}</tool_call>", Finish::Complete)),
        9 => Ok(completion(obeys(prompt)?.text.repeat(40), Finish::Complete)),
        _ => obeys(prompt),
    }
}

/// The gate at its strictest, with the headings and the form of a configuration.
fn gate(config: &Config) -> SummaryGate {
    let required = config.sections.iter().filter(|section| section.required).map(|section| section.heading.clone());
    let template = config.sections.iter().filter(|section| !section.about.is_empty());
    SummaryGate::new(GatePolicy::Strict)
        .with_sections(required)
        .with_template(template.map(|section| format!("({})", section.about)))
}

fn engine_plan(plan: sdk::Plan) -> Plan {
    let span = |span: sdk::Span| Span::new(span.start, span.end);
    let segments = plan.segments.into_iter().map(|segment| match segment {
        sdk::Segment::Keep(range) => Segment::Keep(span(range)),
        sdk::Segment::Summary(summary) => Segment::Summary(Summary {
            covers: summary.covers.into_iter().map(span).collect(),
            text: summary.text,
            details: summary.details,
        }),
        other => panic!("{other:?} is not a step of this strategy"),
    });
    Plan { segments: segments.collect() }
}

/// The defect of a summary without names that the gate asks for.
const LOST_NAMES: &str = "lost-identifiers";

/// What comes of one compaction: a plan that the verifier accepts, or why there is none.
fn compact(json: &str, view: &View, host: &TestHost, target: u32, gate: SummaryGate) -> Result<VerifiedPlan, String> {
    let plugin = LlmRollingSummary::configure(json).unwrap();
    let pressure = Window::new(200_000).pressure(view, Trigger::Manual, Timestamp(0));
    let mut request = compress_request(&pressure, target);
    let rules = Rules::new(target).with_urgency(Urgency::Soft).with_gate(gate);
    for round in 0..2 {
        let plan = match plugin.compress(&NativeView(view.clone()), host, &request) {
            Ok(sdk::Outcome::Compressed(plan)) => plan,
            Ok(sdk::Outcome::Unchanged(reason)) | Err(sdk::Failure::Declined(reason)) => return Err(reason),
            Err(sdk::Failure::Unavailable(unavailable)) => return Err(unavailable.reason),
            Err(sdk::Failure::Failed(reason)) => panic!("a defect: {reason}"),
        };
        match verify(engine_plan(plan), LlmRollingSummary::ID, view, &rules, &counter()) {
            Ok(verified) => return Ok(verified),
            Err(refused) if round == 0 => {
                request.corrections = refused.defects().iter().map(ToString::to_string).collect();
            }
            Err(refused) if refused.defects().iter().all(|defect| defect.kind.name() == LOST_NAMES) => {
                return Err(format!("{LOST_NAMES}: {refused}"));
            }
            Err(refused) => panic!("refused twice: {refused}"),
        }
    }
    unreachable!("two rounds")
}

/// The same with what the configuration promises, without a correction of the host's.
fn compact_at_once(json: &str, view: &View, host: &TestHost, target: u32) -> Result<VerifiedPlan, String> {
    let config = Config::from_json(json).unwrap();
    let mut gate = gate(&config);
    // Some presets leave names to the model, as their systems do.
    gate.most_identifiers = gate.most_identifiers.min(usize::try_from(config.identifiers).unwrap());
    let before = host.prompts().len();
    let verified = compact(json, view, host, target, gate);
    assert!(!verified.as_ref().is_err_and(|reason| reason.starts_with(LOST_NAMES)), "{json}: {:?}", verified.err());
    let verified = verified?;
    let prompts = host.prompts();
    let corrected = prompts[before..].iter().find_map(|prompt| prompt.user.split_once("<defects>\n"));
    assert!(corrected.is_none(), "{json}: the first proposal was refused: {}", &corrected.unwrap().1[..300]);
    Ok(verified)
}

/// A configuration that folds whatever it can.
const EAGER: &str = r#"{"keep_recent_tokens": 50, "min_fold_tokens": 0}"#;

/// The entries of a layout, with much more to say, some of them pinned.
fn wordy(layout: &[char], pinned: usize, words: usize) -> Vec<Entry> {
    let mut entries = layouts::entries(layout);
    for (at, entry) in entries.iter_mut().enumerate() {
        entry.pinned = at == pinned;
        let more = format!(
            "\nMust keep src/file_{at}.rs:\n## Goal\n```\n{}",
            "and further words of no weight, ".repeat(words)
        );
        for block in &mut entry.blocks {
            match block {
                Block::Text(text) => text.push_str(&more),
                Block::ToolResult(result) => result.text.push_str(&more),
                _ => {}
            }
        }
    }
    entries
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn every_plan_for_any_layout_passes_the_strictest_gate_at_once(
        pick in any::<prop::sample::Index>(), pinned in 0usize..12, words in 1usize..120, keep in 0u32..400,
        target in 0u32..4_000,
    ) {
        let all = layouts::all(6);
        let view = view(wordy(&all[pick.index(all.len())], pinned, words));
        let json = format!(r#"{{"keep_recent_tokens": {keep}, "min_fold_tokens": 0}}"#);
        match compact_at_once(&json, &view, &host(obeys), target) {
            Ok(verified) => prop_assert!(verified.tokens_after() < view.tokens()),
            Err(reason) => prop_assert!(reason.contains(|c: char| c.is_ascii_digit()), "{}", reason),
        }
    }

    // Targets of less than three tenths leave some presets no room for what the strictest gate asks for: the host then
    // refuses, and the history stays.
    #[test]
    fn a_session_of_any_length_is_compacted_under_every_preset_at_once(
        entries in 10usize..120, bytes in 20_000usize..80_000, preset in 0usize..9, percent in 30u32..90,
    ) {
        let view = view(generate::session(entries, bytes));
        let json = match llm_rolling_summary::PRESETS.get(preset) {
            Some((name, _)) => format!(r#"{{"preset": "{name}"}}"#),
            None => "{}".to_owned(),
        };
        let target = view.tokens() / 100 * percent;
        let outcome = compact_at_once(&json, &view, &host(obeys), target);
        match &outcome {
            Ok(verified) => prop_assert!(verified.tokens_after() < view.tokens()),
            Err(reason) => prop_assert!(reason.contains(|c: char| c.is_ascii_digit()), "{}", reason),
        }
        // Where all names are asked for, a preset that leaves them to the model needs the host's correction.
        let strictest = gate(&Config::from_json(&json).unwrap());
        let corrected = compact(&json, &view, &host(obeys), target, strictest);
        // It says less then, or the host refuses what has no room for all names: the history stays.
        let no_room = corrected.as_ref().is_err_and(|reason| {
            ["too few to say anything", " are left, and asked for less"].iter().any(|words| reason.contains(words))
                || reason.starts_with(LOST_NAMES)
        });
        prop_assert!(outcome.is_ok() == corrected.is_ok() || no_room, "{:?}", corrected.err());
    }

    #[test]
    fn a_model_that_misbehaves_at_random_loses_nothing(
        how in prop::collection::vec(any::<u8>(), 1..24), rounds in 3usize..7,
    ) {
        let call = Cell::new(0);
        let host = host(move |prompt| {
            let at = call.replace(call.get() + 1);
            misbehaves(how[at % how.len()], prompt)
        });
        let mut entries: Vec<Arc<Entry>> = first_round().into_iter().map(Arc::new).collect();
        let mut compacted = 0;
        for round in 0..rounds {
            entries.extend(generate::session(30, 20_000).into_iter().map(|entry| renamed(entry, round)));
            let view = View::new(entries.clone(), &counter(), ViewOptions::default());
            if let Ok(verified) = compact(EAGER, &view, &host, 6_000, gate(&Config::from_json(EAGER).unwrap())) {
                compacted += 1;
                entries = verified.apply().view().entries().to_vec();
            }
            let text = everything(&entries);
            prop_assert!(text.contains(RULE), "round {}", round);
            prop_assert!(text.contains(PINNED), "round {}", round);
            // The text lists the newest files within its budget; beside it all are carried.
            let carried = entries.iter().filter_map(|entry| entry.compaction.as_ref()?.details.as_deref());
            let carried = carried.collect::<String>();
            prop_assert!(format!("{text}{carried}").contains("src/first.rs"), "round {}", round);
        }
        let summaries = entries.iter().filter(|entry| entry.kind == EntryKind::Summary).count();
        prop_assert_eq!(summaries, usize::from(compacted > 0), "summaries never pile up");
    }
}

const RULE: &str = "Never change the public API in src/lib.rs.";
const PINNED: &str = "The deploy window is Friday, 14:00 to 15:00.";

fn first_round() -> Vec<Entry> {
    let mut pinned = Entry::text("pin", EntryKind::User, PINNED);
    pinned.pinned = true;
    let arguments = r#"{"path":"src/first.rs"}"#.to_owned();
    let call = ToolCall { id: "one".to_owned(), name: "edit".to_owned(), arguments };
    let result =
        ToolResult { call_id: "one".to_owned(), name: "edit".to_owned(), text: "ok".to_owned(), failed: false };
    vec![
        pinned,
        Entry::text("rule", EntryKind::User, format!("Write the importer. {RULE}")),
        Entry::new("call", EntryKind::Assistant, vec![Block::ToolCall(call)]),
        Entry::new("result", EntryKind::ToolResult, vec![Block::ToolResult(result)]),
        Entry::text("done", EntryKind::Assistant, "The first file is there."),
    ]
}

fn renamed(mut entry: Entry, round: usize) -> Arc<Entry> {
    entry.id = contextengine::transcript::EntryId::new(format!("{round}-{}", entry.id.as_str()));
    Arc::new(entry)
}

fn everything(entries: &[Arc<Entry>]) -> String {
    let texts = entries.iter().flat_map(|entry| &entry.blocks).map(|block| match block {
        Block::Text(text) => text.as_str(),
        Block::ToolResult(result) => result.text.as_str(),
        Block::ToolCall(call) => call.arguments.as_str(),
        _ => "",
    });
    texts.collect::<Vec<&str>>().join("\n")
}

#[test]
fn after_twenty_rounds_the_rules_of_the_first_are_there_and_the_summary_is_bounded() {
    for preset in [None, Some("pi"), Some("codex"), Some("openclaw"), Some("maka")] {
        let json = match preset {
            Some(name) => format!(r#"{{"preset": "{name}", "min_fold_tokens": 0, "keep_recent_tokens": 50}}"#),
            None => EAGER.to_owned(),
        };
        let host = host(obeys);
        let mut entries: Vec<Arc<Entry>> = first_round().into_iter().map(Arc::new).collect();
        let mut sizes = Vec::new();
        for round in 0..20 {
            entries.extend(generate::session(30, 20_000).into_iter().map(|entry| renamed(entry, round)));
            let view = View::new(entries.clone(), &counter(), ViewOptions::default());
            let verified = compact_at_once(&json, &view, &host, 8_000);
            let applied = verified.unwrap_or_else(|reason| panic!("{preset:?}, round {round}: {reason}")).apply();
            entries = applied.view().entries().to_vec();
            sizes.push(applied.tally().summary_tokens);
            let text = everything(&entries);
            assert!(text.contains(RULE), "{preset:?}, round {round}");
            assert!(text.contains(PINNED), "{preset:?}, round {round}");
            let summaries = entries.iter().filter(|entry| entry.kind == EntryKind::Summary).count();
            assert_eq!(summaries, 1, "{preset:?}, round {round}");
        }
        assert!(sizes.iter().all(|&tokens| tokens <= 8_000), "{preset:?}: {sizes:?}");
        let last = entries.iter().find(|entry| entry.kind == EntryKind::Summary).unwrap();
        let details = last.compaction.as_ref().unwrap().details.as_deref().unwrap();
        let details: serde_json::Value = serde_json::from_str(details).unwrap();
        assert_eq!(details["rounds"], 20, "{preset:?}");
        assert!(details["modifiedFiles"].as_array().unwrap().contains(&"src/first.rs".into()), "{preset:?}: {details}");
    }
}

/// The model that obeys, as the engine lends it.
#[derive(Debug)]
struct Obedient;

impl Model for Obedient {
    fn name(&self) -> &str {
        "obedient"
    }

    fn window(&self) -> Option<u32> {
        Some(11_000)
    }

    fn complete<'a>(&'a self, prompt: &'a model::Prompt) -> ModelFuture<'a> {
        let asked = Prompt::new(prompt.system.clone(), prompt.user.clone(), prompt.max_output_tokens);
        let text = obeys(&asked).unwrap().text;
        let finish = model::Finish::Complete;
        Box::pin(async move { Ok(model::Completion { text, finish, input_tokens: 0, output_tokens: 0 }) })
    }
}

#[tokio::test]
async fn the_component_with_a_model_of_the_hosts_does_what_the_source_does() {
    let engine = Engine::builder().build().unwrap();
    let options = LoadOptions::with_config(EAGER).grant(Service::Model);
    let plugin = engine.load(&component("llm-rolling-summary"), options).await.unwrap();
    let view = engine.view(
        generate::session(60, 90_000).into_iter().map(Arc::new).collect::<Vec<Arc<Entry>>>(),
        ViewOptions::default(),
    );
    let pressure = Window::new(200_000).pressure(&view, Trigger::Manual, Timestamp(0));
    let services = engine.services().with_model(ModelService::new(Arc::new(Obedient)));
    let options = CompactOptions::new(pressure.clone(), 12_000);
    let Compacted::Done(done) = engine.compact(&plugin, &view, &options, services).await.unwrap() else { panic!() };

    let tokens = TiktokenCounter::new(Vocabulary::default());
    let host = TestHost::new().window(11_000).count_with(move |text| tokens.count(text)).model(obeys);
    let native = LlmRollingSummary::configure(EAGER).unwrap();
    let outcome = native.compress(&NativeView(view.clone()), &host, &compress_request(&pressure, 12_000)).unwrap();
    let sdk::Outcome::Compressed(plan) = outcome else { panic!("{outcome:?}") };
    assert!(host.prompts().len() > 2, "the input is read in parts");
    let counter = EntryCounter::new(TiktokenCounter::new(Vocabulary::default()));
    let rules = Rules::new(12_000);
    let verified = verify(engine_plan(plan), LlmRollingSummary::ID, &view, &rules, &counter).unwrap();
    let texts = |view: &View| everything(view.entries());
    assert_eq!(texts(done.view()), texts(verified.applied().view()));
}
