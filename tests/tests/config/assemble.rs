//! From a file to a setup, with real components.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use contextengine::config::{ConfigError, Embedded, Given, Layers, prepare};
use contextengine::hooks::Service;
use contextengine::plugin::LoadOptions;
use contextengine::services::model::ModelService;
use contextengine::session::{Session, Turn};
use contextengine::slots::{Origin, Slot};
use contextengine::store::{MemoryStore, NewSession};
use contextengine::tokens::{TiktokenCounter, Vocabulary};
use contextengine::transcript::{Entry, EntryKind};
use contextengine::view::ViewOptions;
use contextengine::{Engine, Setup, Threshold};
use contextengine_tests::component;

use crate::{Folder, load};

/// One engine for all tests; compiled guests are kept between them.
fn engine() -> Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("config-cache");
    ENGINE.get_or_init(|| Engine::builder().cache_dir(cache).build().unwrap()).clone()
}

/// As a program that ships with two plugins.
struct Shipped;

impl Embedded for Shipped {
    fn names(&self) -> Vec<String> {
        vec!["needy-guest".to_owned(), "regex-anchors".to_owned()]
    }

    fn component(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.names().iter().any(|known| known == name).then(|| Cow::Owned(component(name)))
    }
}

fn run<F: Future>(work: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
}

fn assemble(folder: &Folder, text: &str) -> Result<Setup, ConfigError> {
    let config = load(&folder.write("c.toml", text)).unwrap_or_else(|error| panic!("{error}"));
    run(config.assemble(&engine(), &Shipped))
}

/// What is wrong, one problem a line.
fn wrong(text: &str) -> String {
    let folder = Folder::new();
    folder.write("hostile.wasm", component("hostile-guest"));
    assemble(&folder, text).map_or_else(|error| folder.shown(error), |setup| panic!("{text} gives {setup:?}"))
}

#[track_caller]
fn says(text: &str, expected: &[&str]) {
    assert_eq!(wrong(text).lines().collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn a_file_becomes_a_setup() {
    let folder = Folder::new();
    folder.write("plugins/hostile.wasm", component("hostile-guest"));
    folder.write("plugins/selector.wasm", component("selector-guest"));
    let setup = assemble(
        &folder,
        r#"
        [window]
        tokens = 64_000
        [trigger]
        at = "75%"
        target = 20_000
        keep_recent = 7_000
        [gate]
        policy = "identifiers"
        [slots]
        select = ["selector-guest"]
        compress = ["regex-anchors", "hostile-guest"]
        strict = true
        [plugins.regex-anchors.config]
        keep_recent_tokens = 5
        [plugins.regex-anchors.limits]
        memory = "32 MiB"
        [plugins.hostile-guest]
        path = "plugins/hostile.wasm"
        grant = ["recall"]
        [plugins.selector-guest]
        path = "plugins/selector.wasm"
        "#,
    )
    .unwrap();
    let bound = |slot| setup.slots.bindings(slot).iter().map(contextengine::slots::Binding::id).collect::<Vec<_>>();
    assert_eq!(bound(Slot::Compress), ["regex-anchors", "hostile-guest"]);
    assert_eq!(bound(Slot::Select), ["selector-guest"]);
    assert!(bound(Slot::Ingest).is_empty() && setup.slots.strict());
    assert_eq!((setup.window.tokens, setup.threshold), (64_000, Threshold::Percent(75)));
    assert_eq!((setup.target, setup.keep_recent), (Some(20_000), Some(7_000)));
    assert_eq!(setup.gate.policy.name(), "identifiers");
    let owner = setup.slots.owner(Slot::Compress).unwrap();
    assert_eq!(owner.plugin().limits().memory_bytes, 32 << 20);
    let Origin::File { line, key, .. } = owner.origin() else { panic!("{:?}", owner.origin()) };
    assert_eq!((*line, key.as_str()), (12, "slots.compress"));
    let second = setup.slots.bindings(Slot::Compress)[1].plugin();
    assert!(second.grants().contains(&Service::Recall) && !second.grants().contains(&Service::Model));
}

#[test]
fn the_embedded_plugin_is_meant_where_no_file_is_and_always_by_its_reserved_name() {
    let folder = Folder::new();
    for text in ["[slots]\ncompress = \"regex-anchors\"\n", "[slots]\ncompress = \"builtin:regex-anchors\"\n"] {
        let setup = assemble(&folder, text).unwrap();
        assert_eq!(setup.slots.owner(Slot::Compress).unwrap().id(), "regex-anchors");
    }
    // Another component under the name of an embedded one.
    folder.write("other.wasm", component("hostile-guest"));
    let table = "[plugins.regex-anchors]\npath = \"other.wasm\"\n";
    assert!(assemble(&folder, &format!("[slots]\ncompress = \"builtin:regex-anchors\"\n{table}")).is_ok());
    assert!(assemble(&folder, &format!("[slots]\ncompress = \"regex-anchors\"\n{table}")).is_err());
}

#[test]
fn a_plugin_that_is_not_there_is_named_with_the_nearest_one_and_what_to_do() {
    says(
        "[slots]\ncompress = [\"regex-anchor\"]\n",
        &["c.toml:2:13, key `slots.compress[0]`: there is no plugin `regex-anchor` (did you mean `regex-anchors`?); \
           this program ships with `needy-guest` and `regex-anchors`; of another one write path = \"….wasm\" in \
           [plugins.regex-anchor]"],
    );
    says(
        "[slots]\ncompress = [\"x-ray\"]\n[plugins.x-ray]\npath = \"none.wasm\"\n",
        &["c.toml:4:8, key `plugins.x-ray.path`: cannot read none.wasm: No such file or directory (os error 2)"],
    );
}

#[test]
fn all_that_is_wrong_with_all_plugins_is_reported_together() {
    says(
        "[slots]\ncompress = [\"regex-anchors\", \"needy-guest\", \"nobody\"]\n[plugins.regex-anchors.config]\n\
         keep_recent_tokns = 5\nbudgets = { goal = \"x\" }\n",
        &[
            "c.toml:2:30, key `slots.compress[1]`: the plugin `needy-guest` cannot work without `model`; if you trust it \
             with that, write grant = [\"model\"] in [plugins.needy-guest]",
            "c.toml:2:45, key `slots.compress[2]`: there is no plugin `nobody`; this program ships with \
             `needy-guest` and `regex-anchors`; of another one write path = \"….wasm\" in [plugins.nobody]",
            "c.toml:4:1, key `plugins.regex-anchors.config.keep_recent_tokns`: the plugin `regex-anchors` does not take \
             this: there is no key `keep_recent_tokns`; did you mean `keep_recent_tokens`?",
            "c.toml:5:20, key `plugins.regex-anchors.config.budgets.goal`: the plugin `regex-anchors` does not take this: \
             this takes a whole number, and a text stands here",
        ],
    );
}

#[test]
fn the_line_of_a_plugins_configuration_that_is_wrong_is_the_one_that_is_blamed() {
    let head = "[slots]\ncompress = \"needy-guest\"\n[plugins.needy-guest]\ngrant = [\"model\"]\n[plugins.needy-guest.config]\n";
    let key = "key `plugins.needy-guest.config";
    let says = |lines: &str, expected: &str| {
        let said = wrong(&format!("{head}{lines}"));
        let expected = expected.replace("PLUGIN", "the plugin `needy-guest` does not take this");
        assert_eq!(said, expected, "{lines}");
    };
    says(
        "prset = \"pi\"\n",
        &format!("c.toml:6:1, {key}.prset`: PLUGIN: there is no key `prset`; did you mean `preset`?"),
    );
    says(
        "preset = \"codx\"\n",
        &format!("c.toml:6:10, {key}.preset`: PLUGIN: this takes \"pi\" or \"codex\"; did you mean \"codex\"?"),
    );
    says("share = 1.5\n", &format!("c.toml:6:9, {key}.share`: PLUGIN: 1.5 is out of range; at most 1"));
    says(
        "[[plugins.needy-guest.config.rules]]\nname = \"a\"\n[[plugins.needy-guest.config.rules]]\nname = \"a\"\ncap = \"x\"\n",
        &format!("c.toml:10:7, {key}.rules[1].cap`: PLUGIN: this takes a whole number, and a text stands here"),
    );
    says(
        "rules = [\n  { name = \"A\" },\n]\n",
        &format!("c.toml:7:12, {key}.rules[0].name`: PLUGIN: this is not of the form `^[a-z]+$`"),
    );
    says("rules = [{}]\n", &format!("c.toml:6:10, {key}.rules[0]`: PLUGIN: the key `name` is missing"));
    // What only the plugin itself knows.
    says(
        "phrase = \"unspeakable\"\n",
        "c.toml:5:22, key `plugins.needy-guest.config`: PLUGIN: `phrase` must not be that",
    );
}

#[test]
fn what_a_plugin_needs_is_granted_by_the_line_that_the_error_names() {
    let text = "[slots]\ncompress = \"needy-guest\"\n[plugins.needy-guest]\ngrant = [\"recall\"]\n";
    let said = wrong(text);
    assert_eq!(
        said,
        "c.toml:4:9, key `plugins.needy-guest.grant`: the plugin `needy-guest` cannot work without `model`; if you trust \
         it with that, write grant = [\"model\", \"recall\"] in [plugins.needy-guest]"
    );
    // It needs a model to be lent one.
    let granted = text.replace("[\"recall\"]", "[\"model\", \"recall\"]");
    says(
        &granted,
        &[
            "c.toml:4:9, key `plugins.needy-guest.grant`: `model` is missing: the plugin `needy-guest` cannot work without \
           a model; write provider, name and api_key_env in [model]",
        ],
    );
    let folder = Folder::new();
    folder.write("answers.jsonl", "{\"answer\": \"A summary.\"}\n");
    let with_model =
        format!("{granted}[model]\nprovider = \"script\"\nname = \"m\"\npath = \"answers.jsonl\"\nwindow = 5_000\n");
    let model = assemble(&folder, &with_model).unwrap().model.unwrap();
    assert_eq!(model.window(), Some(5_000));
}

#[test]
fn a_model_that_cannot_be_had_is_an_error_where_a_plugin_may_use_it_only() {
    let model = "[model]\nprovider = \"openai\"\nname = \"m\"\napi_key_env = \"CTXE_TEST_NO_SUCH_VARIABLE\"\n";
    let folder = Folder::new();
    assert!(assemble(&folder, &format!("{model}[slots]\ncompress = \"regex-anchors\"\n")).unwrap().model.is_none());
    let said =
        wrong(&format!("{model}[slots]\ncompress = \"needy-guest\"\n[plugins.needy-guest]\ngrant = [\"model\"]\n"));
    assert!(
        said.starts_with(
            "c.toml:4:15, key `model.api_key_env`: the environment variable `CTXE_TEST_NO_SUCH_VARIABLE` is not set"
        ),
        "{said}"
    );
    let said = wrong(
        "[model]\nprovider = \"script\"\npath = \"none.jsonl\"\n[slots]\ncompress = \"needy-guest\"\n\
         [plugins.needy-guest]\ngrant = [\"model\"]\n",
    );
    assert!(said.starts_with("c.toml:3:8, key `model.path`: "), "{said}");
}

#[test]
fn the_key_of_a_table_is_what_the_plugin_calls_itself() {
    says(
        "[slots]\ncompress = \"mine\"\n[plugins.mine]\npath = \"hostile.wasm\"\n",
        &["c.toml:2:12, key `slots.compress`: the plugin in hostile.wasm calls itself `hostile-guest`; write \
           [plugins.hostile-guest], and `hostile-guest` in [slots]"],
    );
}

#[test]
fn a_component_that_is_not_the_pinned_one_is_not_loaded() {
    let pin = "0".repeat(64);
    let said = wrong(&format!(
        "[slots]\ncompress = \"hostile-guest\"\n[plugins.hostile-guest]\npath = \"hostile.wasm\"\nsha256 = \"{pin}\"\n"
    ));
    let start = "c.toml:5:10, key `plugins.hostile-guest.sha256`: the component is not the pinned one: its SHA-256 is ";
    let found = said.strip_prefix(start).unwrap_or_else(|| panic!("{said}"))[..64].to_owned();
    let folder = Folder::new();
    folder.write("hostile.wasm", component("hostile-guest"));
    let right = format!(
        "[slots]\ncompress = \"hostile-guest\"\n[plugins.hostile-guest]\npath = \"hostile.wasm\"\nsha256 = \"{}\"\n",
        found.to_uppercase()
    );
    let setup = assemble(&folder, &right).unwrap();
    assert_eq!(setup.slots.owner(Slot::Compress).unwrap().plugin().component_hash(), found);
}

#[test]
fn what_cannot_be_loaded_is_shown_where_it_is_configured() {
    let said = wrong("[slots]\ncompress = \"x\"\n[plugins.x]\npath = \"c.toml\"\n");
    assert!(said.starts_with("c.toml:4:8, key `plugins.x.path`: not a plugin: "), "{said}");
    let said = wrong(
        "[slots]\ncompress = \"hostile-guest\"\n[plugins.hostile-guest]\npath = \"hostile.wasm\"\nlimits = { memory = \"64 KiB\" }\n",
    );
    assert!(said.starts_with("c.toml:5:21, key `plugins.hostile-guest.limits.memory`: the plugin needs "), "{said}");
    let said = wrong(
        "[slots]\ncompress = \"regex-anchors\"\n[plugins.regex-anchors]\ngrant = [\"files\"]\nfolders = [\"none\"]\n",
    );
    assert!(said.starts_with("c.toml:5:11, key `plugins.regex-anchors.folders`: "), "{said}");
}

#[test]
fn a_slot_that_a_plugin_cannot_own_is_refused_with_those_that_it_can() {
    let said = wrong("[slots]\ningest = \"regex-anchors\"\n");
    assert!(
        said.starts_with(
            "c.toml:2:10, key `slots.ingest`: `regex-anchors` (c.toml:2, key `slots.ingest`) cannot own slot `ingest`"
        ),
        "{said}"
    );
    assert!(said.ends_with("it can be bound to `compress`"), "{said}");
    let said = wrong("[slots]\ncompress = [\"regex-anchors\", \"regex-anchors\"]\n");
    assert!(said.contains("slot `compress` names `regex-anchors` twice"), "{said}");
}

#[test]
fn a_slot_that_the_program_and_a_file_claim_is_a_conflict_that_names_both() {
    run(async {
        let engine = engine();
        let own = engine.load(&component("hostile-guest"), LoadOptions::default()).await.unwrap();
        let mut given = Given::default();
        given.slots.claim(Slot::Compress, &own, Origin::here()).unwrap();
        let folder = Folder::new();
        let file = folder.write("c.toml", "[slots]\ncompress = [\"regex-anchors\"]\n");
        let layers = Layers::new().named(&file);
        let error = prepare(&layers, &engine, &Shipped, given.clone()).await.unwrap_err();
        let said = folder.shown(&error);
        assert!(
            said.starts_with("c.toml:2:13, key `slots.compress[0]`: slot `compress` is owned by `hostile-guest` ("),
            "{said}"
        );
        assert!(
            said.contains("assemble.rs:") && said.contains("write compress = [\"hostile-guest\", \"regex-anchors\"]"),
            "{said}"
        );
        // A file that leaves the slot alone leaves it to the program.
        let file = folder.write("c.toml", "[slots]\nstrict = true\n");
        let (_, setup) = prepare(&Layers::new().named(&file), &engine, &Shipped, given).await.unwrap();
        assert_eq!(setup.slots.owner(Slot::Compress).unwrap().id(), "hostile-guest");
    });
}

#[test]
fn a_model_of_the_program_is_lent_where_the_file_has_none() {
    run(async {
        let model = contextengine::services::model::ScriptedModel::new([]);
        let mut given = Given::default();
        given.model = Some(ModelService::new(Arc::new(model)));
        let layers = Layers::new().set("slots.compress=needy-guest").set("plugins.needy-guest.grant=[\"model\"]");
        let (_, setup) = prepare(&layers, &engine(), &Shipped, given).await.unwrap();
        assert!(setup.model.is_some());
    });
}

#[test]
fn a_tokenizer_that_the_engine_does_not_count_with_is_an_error() {
    let folder = Folder::new();
    let config = load(&folder.write("c.toml", "[window]\ntokenizer = \"cl100k_base\"\n")).unwrap();
    let error = run(config.assemble(&engine(), &Shipped)).unwrap_err();
    assert!(
        folder.shown(&error).starts_with("c.toml:2:13, key `window.tokenizer`: this program counts with o200k_base"),
        "{error}"
    );
    let engine = Engine::builder().counter(TiktokenCounter::new(Vocabulary::Cl100kBase)).build().unwrap();
    assert!(run(config.assemble(&engine, &Shipped)).is_ok());
}

#[test]
fn plugins_in_no_slot_are_not_loaded_and_can_be_checked() {
    let folder = Folder::new();
    let text = "[slots]\ncompress = \"regex-anchors\"\n[plugins.needy-guest]\ngrant = [\"model\"]\n[plugins.needy-guest.config]\npreset = 1\n";
    let config = load(&folder.write("c.toml", text)).unwrap();
    run(async {
        assert!(config.assemble(&engine(), &Shipped).await.is_ok());
        let error = config.check_unbound(&engine(), &Shipped).await.unwrap_err();
        assert!(folder.shown(&error).starts_with("c.toml:6:10, key `plugins.needy-guest.config.preset`: "), "{error}");
    });
}

#[test]
fn nothing_is_in_force_where_anything_is_wrong_and_the_old_setup_stays_what_it_was() {
    run(async {
        let folder = Folder::new();
        let file = folder.write("c.toml", "[slots]\ncompress = \"regex-anchors\"\n");
        let layers = Layers::new().named(&file);
        let (config, setup) = prepare(&layers, &engine(), &Shipped, Given::default()).await.unwrap();
        folder.write("c.toml", "[slots]\ncompress = \"regex-anchor\"\n");
        assert!(layers.changed(&config));
        assert!(prepare(&layers, &engine(), &Shipped, Given::default()).await.is_err());
        assert_eq!(setup.slots.owner(Slot::Compress).unwrap().id(), "regex-anchors");
    });
}

#[test]
fn a_reload_gives_the_next_turn_another_owner_and_loses_no_session() {
    run(async {
        let folder = Folder::new();
        folder.write("hostile.wasm", component("hostile-guest"));
        let layers = Layers::new().named(folder.write("c.toml", "[slots]\ncompress = \"regex-anchors\"\n"));
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("config-cache");
        let engine = Engine::builder().cache_dir(cache).build().unwrap();
        engine.reload(&layers, &Shipped, Given::default()).await.unwrap();
        let new = NewSession::named("talk");
        let session = Session::create(engine.clone(), Arc::new(MemoryStore::new()), new, ViewOptions::default());
        let session = session.await.unwrap();
        session.append(vec![Entry::text("1", EntryKind::User, "hello")]).await.unwrap();
        let owner = |turn: &Turn| turn.setup().slots.owner(Slot::Compress).map(|owner| owner.id().to_owned());
        let turn = session.turn();

        folder.write(
            "c.toml",
            "[slots]\ncompress = \"hostile-guest\"\n[plugins.hostile-guest]\npath = \"hostile.wasm\"\n",
        );
        let (_, installed) = engine.reload(&layers, &Shipped, Given::default()).await.unwrap();
        assert_eq!(installed.changes.len(), 1);
        assert_eq!(owner(&turn).as_deref(), Some("regex-anchors"), "fixed when it began");
        assert_eq!(owner(&session.turn()).as_deref(), Some("hostile-guest"));

        folder.write("c.toml", "[slots]\ncompress = \"nobody\"\n");
        engine.reload(&layers, &Shipped, Given::default()).await.unwrap_err();
        assert_eq!(owner(&session.turn()).as_deref(), Some("hostile-guest"), "what is wrong changes nothing");
        assert_eq!(session.view().len(), 1);
    });
}
