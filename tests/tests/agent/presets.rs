//! Every preset of every strategy through the configuration file.

use std::sync::Arc;

use contextengine::events::EventKind;
use contextengine::hooks::Trigger;
use contextengine::services::model::{Completion, Finish, FnModel, ModelService, Prompt};
use contextengine::session::{LeaveOptions, SelectOptions, Session, SessionCompacted, TurnCompactOptions};
use contextengine::store::{LogBody, MemoryStore, NewSession, Store};
use contextengine::view::ViewOptions;
use contextengine::{Engine, SelectionStep};
use contextengine_tests::request::{check_pairing, messages};

use crate::fixture::{Folder, engine, repeated, run, sample};

/// So often the sample is in a session: some presets leave the newest 40,000 tokens of results alone.
const TIMES: usize = 4;

/// Writes something under each heading that a prompt asks for.
fn obeys(prompt: &Prompt) -> String {
    let form = prompt.user.rsplit("Begin with the first heading:\n").next().unwrap_or_default();
    let form = form.rsplit("Use exactly these headings, in this order:\n").next().unwrap_or_default();
    let heading = |line: &str| {
        let line = line.strip_prefix("- `").and_then(|line| line.split_once('`')).map_or(line, |(heading, _)| heading);
        line.starts_with('#').then(|| line.to_owned())
    };
    let words = "- the work went on as planned and nothing surprising came up in this part of it\n".repeat(3);
    let text: String = form.lines().filter_map(heading).map(|heading| format!("{heading}\n{words}\n")).collect();
    if text.is_empty() { format!("{}\nThat is all.", words.repeat(4)) } else { text }
}

pub(crate) fn model() -> ModelService {
    let answer = |prompt: Prompt| async move {
        Ok(Completion { text: obeys(&prompt), finish: Finish::Complete, input_tokens: 0, output_tokens: 0 })
    };
    ModelService::new(Arc::new(FnModel::new("obedient", answer).with_window(64_000)))
}

/// A session with the sample of the repository, under a configuration that binds one plugin with one preset.
async fn session(engine: &Engine, slot: &str, plugin: &str, preset: Option<&str>) -> Session {
    let folder = Folder::new();
    let preset = preset.map_or_else(String::new, |preset| format!("config = {{ preset = \"{preset}\" }}"));
    let grant = if slot == "compress" || slot == "branch" { "grant = [\"model\"]" } else { "" };
    // Some slots take one name, the others a list.
    let bound = match slot {
        "ingest" | "branch" => format!("{slot} = \"{plugin}\""),
        _ => format!("{slot} = [\"{plugin}\"]"),
    };
    let config = format!("[window]\ntokens = 128_000\n[slots]\n{bound}\n[plugins.{plugin}]\n{grant}\n{preset}\n");
    let setup = folder.setup_with(engine, &config, Some(model())).await;
    engine.install(setup.unwrap_or_else(|error| panic!("{plugin}, {preset}: {error}")));
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let options = ViewOptions::default().with_loop_limit(engine.setup().target());
    let session = Session::create(engine.clone(), store, NewSession::named("sample"), options).await.unwrap();
    session.turn().append(repeated(sample(), TIMES)).await.unwrap();
    session
}

/// What came of it, in one word and its reason.
async fn outcome(engine: &Engine, slot: &str, plugin: &str, preset: Option<&str>) -> (&'static str, String) {
    let mut events = engine.events();
    let session = session(engine, slot, plugin, preset).await;
    let turn = session.turn();
    let outcome = match slot {
        "compress" => match turn.compact(&TurnCompactOptions::new(Trigger::Manual)).await.unwrap() {
            SessionCompacted::Unchanged { reason } => ("unchanged", reason),
            SessionCompacted::Done { record, .. } => {
                let LogBody::Compaction(commit) = record.body else { panic!("{:?}", record.body) };
                assert_eq!(commit.owner, plugin);
                assert_eq!(commit.corrections, Vec::<String>::new(), "{plugin}, {preset:?}");
                ("compacted", format!("{} to {} tokens", commit.tokens_before, commit.tokens_after))
            }
        },
        "select" => {
            let selection = turn.select(&SelectOptions::default()).await.unwrap();
            check_pairing(&messages(selection.view())).unwrap();
            match &selection.steps()[0].1 {
                SelectionStep::Unchanged => ("unchanged", String::new()),
                SelectionStep::Shaped { tokens_before, tokens_after } => {
                    ("shaped", format!("{tokens_before} to {tokens_after} tokens"))
                }
                other => panic!("{plugin}, {preset:?}: {other:?}"),
            }
        }
        "branch" => {
            let to = repeated(sample(), 1)[1].id.clone();
            let left = turn.leave_branch(Some(to), &LeaveOptions::default()).await.unwrap();
            assert_eq!(left.owner.as_deref(), Some(plugin), "{preset:?}");
            ("summarised", format!("{} tokens", session.view().tokens_of(session.view().len() - 1)))
        }
        _ => ("reduced", String::new()),
    };
    check_pairing(&messages(&session.view())).unwrap();
    let mut shortened = 0;
    while let Ok(event) = events.try_recv() {
        match &event.kind {
            EventKind::ResultShortened { .. } => shortened += 1,
            EventKind::Substituted { reason, .. } | EventKind::LinkSkipped { reason, .. } => {
                panic!("{plugin}, {preset:?}: {reason}")
            }
            _ => {}
        }
    }
    if slot == "ingest" { ("reduced", format!("{shortened} results shortened")) } else { outcome }
}

#[test]
fn every_preset_of_every_strategy_is_loaded_from_the_file_and_does_its_work_on_the_sample() {
    let strategies: [(&str, &str, &str, Vec<&str>); 6] = [
        ("ingest", "result-reducer", "reduced", names(result_reducer::PRESETS)),
        ("select", "tool-prune", "shaped", names(tool_prune::PRESETS)),
        ("compress", "llm-rolling-summary", "compacted", names(&llm_rolling_summary::PRESETS)),
        ("compress", "regex-anchors", "compacted", Vec::new()),
        ("compress", "fresh-window", "compacted", names(&fresh_window::PRESETS)),
        ("branch", "branch-summary", "summarised", names(&branch_summary::PRESETS)),
    ];
    run(async {
        let engine = engine();
        for (slot, plugin, expected, presets) in strategies {
            for preset in std::iter::once(None).chain(presets.into_iter().map(Some)) {
                let (came, how) = outcome(&engine, slot, plugin, preset).await;
                println!("{plugin}, {preset:?}: {came}, {how}");
                assert_eq!(came, expected, "{plugin}, {preset:?}: {how}");
            }
        }
    });
}

fn names(presets: &'static [(&'static str, &'static str)]) -> Vec<&'static str> {
    presets.iter().map(|(name, _)| *name).collect()
}
