//! Any view, and each strategy as a component: an accepted plan, or a decline that says why.

use std::fmt;

use contextengine::hooks::{BranchRequest, Failure, ReduceRequest, Reduction, Trigger, Urgency};
use contextengine::plan::{DefectKind, GatePolicy, SummaryGate};
use contextengine::plugin::{CallError, LoadOptions, Plugin};
use contextengine::services::model::ModelService;
use contextengine::transcript::{Block, Entry, EntryId, EntryKind, Reasoning, Timestamp, ToolCall, ToolResult};
use contextengine::view::{View, ViewOptions};
use contextengine::{CompactError, CompactOptions, Compacted, Engine, Window};
use contextengine_tests::request::{check_pairing, messages};
use contextengine_tests::{cases, component, generate, layouts};
use proptest::prelude::*;

use crate::fixture::{STRATEGIES, engine, run, shared};
use crate::presets::model;

/// Words of every kind: those that strategies look for, those that break what is written around them, and many.
fn any_text() -> impl Strategy<Value = String> {
    let hard = prop::sample::select(vec![
        "Never change src/lib.rs. ",
        "## Goal\n",
        "```\n",
        "<tool_call>{}</tool_call>",
        "error[E0308]: mismatched types\n",
        "你好，必须保留 ",
        "\u{0}\u{202e}",
        "[... 3 lines left out ...]\n",
        "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678 ",
        "no other words ",
        "\n",
    ]);
    let mixed = prop::collection::vec(hard, 0..40).prop_map(|parts| parts.concat());
    let long =
        (mixed.clone(), 1usize..200).prop_map(|(text, times)| text.chars().take(60).collect::<String>().repeat(times));
    prop_oneof![4 => mixed, 2 => long, 1 => ".{0,60}", 1 => Just(String::new())]
}

fn calls(ids: &[&str], arguments: &str, signed: bool) -> Entry {
    let reasoning = signed.then(|| Block::Reasoning(Reasoning { text: "hm".into(), signed: true }));
    let call = |id: &&str| {
        Block::ToolCall(ToolCall { id: (*id).into(), name: "edit".into(), arguments: arguments.to_owned() })
    };
    Entry::new("", EntryKind::Assistant, reasoning.into_iter().chain(ids.iter().map(call)).collect())
}

fn result(id: &str, text: String, failed: bool) -> Entry {
    let result = ToolResult { call_id: id.into(), name: "edit".into(), text, failed };
    Entry::new("", EntryKind::ToolResult, vec![Block::ToolResult(result)])
}

/// Also what no provider would have let happen: orphans, duplicates, calls that were given up.
fn any_entry() -> impl Strategy<Value = Entry> {
    let ids = prop::sample::subsequence(vec!["1", "2", "3"], 0..=3);
    let arguments = prop::sample::select(vec![r#"{"path":"src/a.rs"}"#, "{", "", r#"{"command":"cargo test"}"#]);
    let kinds = vec![EntryKind::Note, EntryKind::System, EntryKind::Summary, EntryKind::BranchSummary];
    prop_oneof![
        4 => any_text().prop_map(|text| Entry::text("", EntryKind::User, text)),
        3 => any_text().prop_map(|text| Entry::text("", EntryKind::Assistant, text)),
        1 => (prop::sample::select(kinds), any_text()).prop_map(|(kind, text)| Entry::text("", kind, text)),
        5 => (ids, arguments, any::<bool>()).prop_map(|(ids, arguments, signed)| calls(&ids, arguments, signed)),
        6 => (prop::sample::select(vec!["1", "2", "3", "4"]), any_text(), any::<bool>())
            .prop_map(|(id, text, failed)| result(id, text, failed)),
    ]
}

/// A well-formed session, one as agents have it, or anything.
fn any_session() -> impl Strategy<Value = Vec<Entry>> {
    let layout = (prop::sample::select(layouts::all(6)), 1usize..200).prop_map(|(layout, times)| {
        let mut entries = layouts::entries(&layout);
        for block in entries.iter_mut().flat_map(|entry| &mut entry.blocks) {
            if let Block::Text(text) = block {
                *text = format!("{text}\n").repeat(times);
            }
        }
        entries
    });
    let generated = (1usize..60, 0usize..60_000).prop_map(|(entries, bytes)| generate::session(entries, bytes));
    let any = prop::collection::vec((any_entry(), prop::bool::weighted(0.05)), 0..24).prop_map(|entries| {
        let pin = |(mut entry, pinned): (Entry, bool)| {
            entry.pinned = pinned;
            entry
        };
        entries.into_iter().map(pin).collect()
    });
    prop_oneof![1 => layout, 1 => generated, 3 => any].prop_map(|mut entries: Vec<Entry>| {
        for (at, entry) in entries.iter_mut().enumerate() {
            entry.id = EntryId::new(format!("e{at}"));
        }
        entries
    })
}

/// Tokens below which a summary can say little.
const LITTLE: u32 = 2_000;

/// What a strategy is asked.
#[derive(Clone)]
struct Case {
    entries: Vec<Entry>,
    window: u32,
    loop_limit: Option<u32>,
    urgency: Urgency,
    gate: GatePolicy,
    focus: Option<&'static str>,
    with_model: bool,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { window, loop_limit, urgency, gate, focus, with_model, .. } = self;
        writeln!(f, "{window} {loop_limit:?} {urgency:?} {gate:?} {focus:?} {with_model}")?;
        for entry in &self.entries {
            writeln!(f, "{} {:?} {} {:.200?}", entry.id, entry.kind, entry.pinned, entry.blocks)?;
        }
        Ok(())
    }
}

fn any_case() -> impl Strategy<Value = Case> {
    let gates = vec![GatePolicy::Off, GatePolicy::Identifiers, GatePolicy::Strict];
    (
        any_session(),
        prop_oneof![1u32..600, 1_000u32..40_000],
        prop::option::of(0u32..4_000),
        prop::sample::select(vec![Urgency::Soft, Urgency::Hard]),
        prop::sample::select(gates),
        prop::option::of(Just("src/lib.rs")),
        prop::bool::weighted(0.8),
    )
        .prop_map(|(entries, window, loop_limit, urgency, gate, focus, with_model)| Case {
            entries,
            window,
            loop_limit,
            urgency,
            gate,
            focus,
            with_model,
        })
}

struct World {
    engine: Engine,
    plugins: Vec<Plugin>,
    model: ModelService,
}

impl World {
    async fn new() -> Self {
        let engine = engine();
        let mut plugins = Vec::new();
        for name in STRATEGIES {
            let options = LoadOptions::default().grant(contextengine::hooks::Service::Model);
            plugins.push(engine.load(&component(name), options).await.unwrap());
        }
        Self { engine, plugins, model: model() }
    }

    fn plugin(&self, name: &str) -> &Plugin {
        self.plugins.iter().find(|plugin| plugin.description().id == name).unwrap()
    }

    async fn check(&self, case: &Case) -> Result<(), String> {
        let mut options = ViewOptions::default();
        options.loop_limit = case.loop_limit;
        let view = self.engine.view(shared(&case.entries), options);
        for name in ["llm-rolling-summary", "regex-anchors", "fresh-window"] {
            self.compress(name, case, &view).await.map_err(|wrong| format!("{name}: {wrong}"))?;
        }
        self.select(case, &view).await?;
        self.branch(case, &view).await.map_err(|wrong| format!("branch-summary: {wrong}"))?;
        self.reduce(case, &view).await.map_err(|wrong| format!("result-reducer: {wrong}"))
    }

    fn services(&self, case: &Case) -> contextengine::plugin::Services {
        let services = self.engine.services();
        if case.with_model { services.with_model(self.model.clone()) } else { services }
    }

    async fn compress(&self, name: &str, case: &Case, view: &View) -> Result<(), String> {
        let window = Window::new(case.window);
        let pressure = window.pressure(view, Trigger::Manual, Timestamp(0));
        // Where hardly anything has to be folded, or may be said, a gate asks for more than there is room for.
        let has_room = window.target() > LITTLE && view.tokens() > window.target() + LITTLE;
        let gate = SummaryGate::new(if has_room { case.gate } else { GatePolicy::Off });
        let mut options = CompactOptions::new(pressure, window.target()).with_urgency(case.urgency).with_gate(gate);
        options.focus = case.focus.map(str::to_owned);
        match self.engine.compact(self.plugin(name), view, &options, self.services(case)).await {
            Ok(Compacted::Done(done)) => check_pairing(&messages(done.view())),
            Ok(Compacted::Unchanged { reason }) => said(&reason),
            Err(CompactError::NoPlan { cause, .. }) => declined(&cause),
            // The strategy is not told that the target is a condition.
            Err(CompactError::Refused { cause, .. } | CompactError::GaveUp { cause, .. })
                if case.urgency == Urgency::Hard
                    && cause.defects().iter().all(|defect| defect.kind == DefectKind::OverTarget) =>
            {
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    async fn select(&self, case: &Case, view: &View) -> Result<(), String> {
        let pressure = Window::new(case.window).pressure(view, Trigger::PreTurn, Timestamp(0));
        let chain = [self.plugin("tool-prune").clone()];
        let selection = self.engine.select(&chain, view, &pressure, None, &self.engine.services()).await;
        for (name, step) in selection.steps() {
            if let Some(reason) = step.skipped() {
                return Err(format!("{name}: {reason}"));
            }
        }
        if selection.view().tokens() > view.tokens() {
            return Err(format!("{} tokens became {}", view.tokens(), selection.view().tokens()));
        }
        check_pairing(&messages(selection.view()))
    }

    async fn branch(&self, case: &Case, view: &View) -> Result<(), String> {
        let mut instance = self.plugin("branch-summary").instance(self.services(case)).await.unwrap();
        let request = BranchRequest { budget: case.window / 4, focus: case.focus.map(str::to_owned) };
        match instance.summarize_branch(view, &request).await {
            Ok(summary) => {
                let tokens = self.engine.counter().text(&summary.text);
                let covered: u32 = summary.covers.iter().map(|span| span.end - span.start).sum();
                if tokens > request.budget || covered != view.len() || summary.text.trim().is_empty() {
                    return Err(format!("{tokens} tokens of {}, {covered} covered", request.budget));
                }
                Ok(())
            }
            Err(error) => declined(&error),
        }
    }

    async fn reduce(&self, case: &Case, view: &View) -> Result<(), String> {
        let mut instance = self.plugin("result-reducer").instance(self.engine.services()).await.unwrap();
        for result in view.entries().iter().filter_map(|entry| entry.tool_result()) {
            let tokens = self.engine.counter().text(&result.text);
            let request = ReduceRequest { result: result.clone(), tokens, window: case.window };
            match instance.reduce(&request).await {
                Ok(Reduction::Keep) => {}
                Ok(Reduction::Replace(text)) if self.engine.counter().text(&text) < tokens => {}
                Ok(Reduction::Replace(text)) => return Err(format!("{tokens} tokens became {text:?}")),
                Err(error) => declined(&error)?,
            }
        }
        Ok(())
    }
}

fn said(reason: &str) -> Result<(), String> {
    if reason.trim().is_empty() { Err("nothing was done for no reason".to_owned()) } else { Ok(()) }
}

/// It cannot, and says why; anything else is a defect.
fn declined(error: &CallError) -> Result<(), String> {
    match error {
        CallError::Failed(Failure::Declined(reason)) => said(reason),
        CallError::Failed(Failure::Unavailable { reason, .. }) => said(reason),
        other => Err(other.to_string()),
    }
}

#[test]
fn each_strategy_gives_a_plan_that_the_host_accepts_or_says_why_not() {
    let world = run(World::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(40)) };
    proptest!(config, |(case in any_case())| {
        let checked = runtime.block_on(world.check(&case));
        prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
    });
}
