//! A later layer goes before an earlier one, key by key; every value knows where it comes from.

use std::collections::BTreeMap;

use contextengine::config::{Layer, Layers, Setting, as_json, as_toml};
use contextengine::plugin::Limits;
use contextengine::slots::{Origin, Slot};
use contextengine::tokens::Vocabulary;
use contextengine::{Threshold, Window};
use proptest::prelude::*;
use serde_json::json;

use crate::{Folder, load};

fn setting(settings: &[Setting], key: &str) -> Setting {
    settings.iter().find(|setting| setting.key() == key).unwrap_or_else(|| panic!("{key}: {settings:#?}")).clone()
}

#[test]
fn without_any_file_the_documented_defaults_hold() {
    let config = Layers::new().load().unwrap();
    assert_eq!(config.window(), Window::new(128_000));
    assert_eq!((config.threshold(), config.target(), config.keep_recent()), (Threshold::WindowLessReserve, None, None));
    assert_eq!(config.tokenizer(), Vocabulary::O200kBase);
    assert!(config.claims().is_empty() && config.plugins().is_empty() && config.model().is_none());
    assert!(config.settings().iter().all(|setting| setting.origin == Origin::Default));
}

#[test]
fn every_key_of_the_file_has_its_effect() {
    let folder = Folder::new();
    let file = folder.write(
        "c.toml",
        r###"
        window = { tokens = 64_000, reserve = 4_000, overhead = 1_000, tokenizer = "cl100k_base" }
        trigger = { at = "75%", keep_recent = 5_000, target = 20_000 }
        gate = { policy = "strict", sections = ["## Goal"] }
        [slots]
        ingest = "a"
        select = ["b", "c"]
        compress = ["a", "builtin:b"]
        branch = ["a"]
        observers = "b"
        tools = []
        strict = true
        [plugins.a]
        path = "plugins/a.wasm"
        sha256 = "ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
        grant = ["model", "files"]
        folders = ["docs", "/srv"]
        config = { preset = "pi", deep = { list = [1, 2.5, "x"] } }
        [plugins.a.limits]
        memory = "128 MiB"
        time = "3 min"
        decision_time = "2 s"
        observer_time = "1 s"
        setup_time = "500 ms"
        output = "2 MiB"
        log = "1 KiB"
        model_calls = 3
        model_tokens = 1_000
        state = "2 KiB"
        [model]
        provider = "openai"
        name = "m"
        base_url = "http://localhost:8080/v1"
        window = 32_000
        timeout = "10 s"
        retries = 0
        concurrency = 1
        headers = { x-title = "agent" }
        "###,
    );
    let config = load(&file).unwrap();
    assert_eq!(config.window(), Window::new(64_000).with_reserve(4_000).with_overhead(1_000));
    assert_eq!((config.threshold(), config.target()), (Threshold::Percent(75), Some(20_000)));
    assert_eq!((config.keep_recent(), config.tokenizer()), (Some(5_000), Vocabulary::Cl100kBase));
    assert_eq!(config.gate().sections, ["## Goal"]);
    assert!(config.strict());
    let claims: Vec<(Slot, &str)> = config.claims().iter().map(|claim| (claim.slot, claim.plugin.as_str())).collect();
    assert_eq!(
        claims,
        [
            (Slot::Ingest, "a"),
            (Slot::Select, "b"),
            (Slot::Select, "c"),
            (Slot::Compress, "a"),
            (Slot::Compress, "builtin:b"),
            (Slot::Branch, "a"),
            (Slot::Observers, "b")
        ]
    );
    let plugin = &config.plugins()["a"];
    assert_eq!(plugin.path, Some(folder.path("plugins/a.wasm")), "relative to the file");
    assert_eq!(plugin.folders, [folder.path("docs"), "/srv".into()]);
    assert_eq!(plugin.sha256.as_deref().map(|pin| &pin[..6]), Some("abcdef"));
    assert_eq!(plugin.config, json!({ "preset": "pi", "deep": { "list": [1, 2.5, "x"] } }));
    let default = Limits::default();
    let limits = format!("{:?}", plugin.limits);
    for same in [
        default.memory_bytes.to_string(),
        format!("{:?}", default.time),
        format!("{:?}", default.setup_time),
        default.output_bytes.to_string(),
        default.model_calls.to_string(),
        default.model_tokens.to_string(),
        default.state_bytes.to_string(),
        format!("{:?}", default.observer_time),
        default.log_bytes.to_string(),
    ] {
        assert!(
            !limits.contains(&format!(": {same},")) && !limits.contains(&format!(": {same} }}")),
            "{same}: {limits}"
        );
    }
    let model = config.model().unwrap();
    assert_eq!((model.window, model.retries, model.concurrency), (Some(32_000), 0, 1));
    assert_eq!(model.timeout.as_secs(), 10);
    assert_eq!(model.headers["x-title"], "agent");
}

#[test]
fn the_window_of_a_model_is_known_by_its_name_and_the_operator_goes_first() {
    let folder = Folder::new();
    for (text, tokens, reserve) in [
        ("[window]\nmodel = \"gpt-4o-2024-11-20\"\n", 128_000, 16_384),
        ("[window]\nmodel = \"mine\"\n[models.mine]\nwindow = 9_000\nreserve = 100\n", 9_000, 100),
        ("[window]\nmodel = \"gpt-4o\"\nreserve = 7\n[models.gpt-4o]\nwindow = 9_000\nreserve = 100\n", 9_000, 7),
    ] {
        let window = load(&folder.write("c.toml", text)).unwrap().window();
        assert_eq!((window.tokens, window.reserve), (tokens, reserve), "{text}");
    }
}

#[test]
fn tables_are_merged_and_lists_replaced_and_what_is_gone_before_is_known() {
    let folder = Folder::new();
    let user = folder.write(
        "user.toml",
        "[slots]\ncompress = [\"a\", \"b\"]\ningest = \"a\"\n[window]\nmodel = \"gpt-5\"\n\
         [plugins.a.config]\nx = 1\n[plugins.a.config.deep]\none = 1\ntwo = 2\n",
    );
    folder.write(
        "project/contextengine.toml",
        "[slots]\ncompress = [\"c\"]\n[window]\ntokens = 9_000\n[plugins.a.config.deep]\ntwo = 3\n",
    );
    let layers = Layers::new().user(&user).project(folder.path("project")).set("slots.ingest=[]");
    let config = layers.load().unwrap();
    let settings = config.settings();
    let compress = setting(&settings, "slots.compress");
    assert_eq!((compress.value, compress.layer), (Some(json!(["c"])), Layer::Project));
    assert_eq!(compress.overridden[0].value, json!(["a", "b"]));
    assert!(compress.overridden[0].origin.to_string().ends_with("user.toml:2, key `slots.compress`"));
    // An override by a later layer is no conflict.
    let ingest = setting(&settings, "slots.ingest");
    assert_eq!((ingest.value, ingest.origin), (Some(json!([])), Origin::Argument("--set slots.ingest".to_owned())));
    // What excludes each other: the later layer's is the one that holds.
    assert_eq!(config.window().tokens, 9_000);
    assert!(!settings.iter().any(|setting| setting.key() == "window.model"));
    assert_eq!(setting(&settings, "window.tokens").overridden[0].key, "window.model");
    assert_eq!(config.plugins()["a"].config, json!({ "x": 1, "deep": { "one": 1, "two": 3 } }));
    assert_eq!(setting(&settings, "plugins.a.config.deep.one").layer, Layer::User);
    assert_eq!(setting(&settings, "plugins.a.config.deep.two").layer, Layer::Project);
}

#[test]
fn arguments_are_read_as_toml_or_else_as_text() {
    let config = Layers::new()
        .set("trigger.at=75%")
        .set("slots.select=[\"a\", \"b\"]")
        .set("window.tokens=64_000")
        .set("plugins.a.config.preset=pi")
        .set("plugins.a.config.n=5")
        .set("plugins.a.limits.memory=1 MiB")
        .set("plugins.\"a\".config.\"odd key\"=x = 1")
        .set("model.provider=script")
        .set("model.name=123")
        .set("model.path=a.jsonl")
        .argument("--target", "trigger.target", 5_000)
        .load()
        .unwrap();
    assert_eq!((config.threshold(), config.window().tokens), (Threshold::Percent(75), 64_000));
    assert_eq!(config.plugins()["a"].config, json!({ "n": 5, "odd key": "x = 1", "preset": "pi" }));
    assert_eq!(config.model().map(|model| model.name.as_str()), Some("123"));
    let target = setting(&config.settings(), "trigger.target");
    assert_eq!((target.value, target.origin), (Some(json!(5_000)), Origin::Argument("--target".to_owned())));
    // A line break ends no value: what is behind it is no second key.
    let error = Layers::new().set("gate.policy=off\nwindow.tokens = 5000").load().unwrap_err();
    assert!(error.to_string().contains("there is no policy"), "{error}");
}

#[test]
fn a_file_that_is_named_is_read_instead_of_the_others() {
    let folder = Folder::new();
    let user = folder.write("user.toml", "[window]\ntokens = 9_000\n");
    let named = folder.write("named.toml", "[trigger]\nat = 1_000\n");
    let config = Layers::new().user(user).named(&named).load().unwrap();
    assert_eq!((config.window().tokens, config.threshold()), (128_000, Threshold::Tokens(1_000)));
    assert_eq!(config.files().len(), 1);
}

#[test]
fn the_file_of_a_project_is_looked_for_up_to_the_root_of_its_repository() {
    let folder = Folder::new();
    folder.write("contextengine.toml", "[window]\ntokens = 1_000\nreserve = 1\n");
    std::fs::create_dir_all(folder.path("outside/deep")).unwrap();
    std::fs::create_dir_all(folder.path("repo/.git")).unwrap();
    std::fs::create_dir_all(folder.path("repo/a/b")).unwrap();
    let tokens = |at: &str| Layers::new().project(folder.path(at)).load().unwrap().window().tokens;
    assert_eq!(tokens("repo/a/b"), 128_000, "not above the root");
    folder.write("repo/contextengine.toml", "[window]\ntokens = 2_000\n");
    assert_eq!(tokens("repo/a/b"), 2_000);
    folder.write("repo/a/contextengine.toml", "[window]\ntokens = 3_000\n");
    assert_eq!(tokens("repo/a/b"), 3_000, "the nearest one");
    // Neither in a repository nor below the home folder: in the folder itself only.
    assert_eq!(tokens("outside/deep"), 128_000);
    assert_eq!(tokens("."), 1_000);
}

#[test]
fn a_change_of_the_files_is_noticed_and_nothing_else_is() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("repo/.git")).unwrap();
    std::fs::create_dir_all(folder.path("repo/a")).unwrap();
    let user = folder.write("user.toml", "[window]\ntokens = 9_000\n");
    let layers = Layers::new().user(&user).project(folder.path("repo/a"));
    let config = layers.load().unwrap();
    assert!(!layers.changed(&config));
    folder.write("user.toml", "[window]\ntokens = 9_000\n");
    assert!(!layers.changed(&config), "the same content");
    folder.write("user.toml", "[window]\ntokens = 9_001\n");
    assert!(layers.changed(&config));
    let config = layers.load().unwrap();
    folder.write("repo/contextengine.toml", "");
    assert!(layers.changed(&config), "a new file");
    let config = layers.load().unwrap();
    folder.write("repo/a/contextengine.toml", "");
    assert!(layers.changed(&config), "a nearer one");
    let config = layers.load().unwrap();
    std::fs::remove_file(&user).unwrap();
    assert!(layers.changed(&config), "one that is gone");
}

/// Keys with values that are right whatever the others are.
fn values() -> impl Strategy<Value = BTreeMap<&'static str, serde_json::Value>> {
    let texts = || prop::collection::vec("[a-z]{1,4}", 0..3).prop_map(|texts| json!(texts));
    let number = || (20_000_u32..100_000).prop_map(|number| json!(number));
    let one = prop_oneof![
        (Just("trigger.keep_recent"), number()),
        (Just("trigger.at"), number()),
        (Just("gate.sections"), texts()),
        (Just("slots.select"), texts()),
        (Just("slots.observers"), texts()),
        (Just("slots.strict"), any::<bool>().prop_map(|value| json!(value))),
        (Just("plugins.a.config.x"), number()),
        (Just("plugins.a.config.y"), texts()),
        (Just("plugins.a.config.deep.z"), "\\PC{0,12}".prop_map(|text| json!(text))),
        (Just("plugins.b.config.x"), number()),
        (Just("models.\"m.1\".window"), number()),
    ];
    prop::collection::vec(one, 0..8).prop_map(|all| all.into_iter().collect())
}

fn file(values: &BTreeMap<&'static str, serde_json::Value>) -> String {
    // What JSON and TOML have in common but for one character.
    let line = |(key, value): (&&str, &serde_json::Value)| format!("{key} = {value}\n").replace('\u{7f}', "\\u007f");
    values.iter().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn of_all_layers_the_last_one_that_says_a_key_is_the_one_that_holds(
        user in values(), project in values(), arguments in values()
    ) {
        // The model's window has to be there where its table is.
        let folder = Folder::new();
        let user_file = folder.write("user.toml", file(&user));
        folder.write("p/contextengine.toml", file(&project));
        let layers = Layers::new().user(&user_file).project(folder.path("p"));
        let layers = arguments.iter().fold(layers, |layers, (key, value)| layers.argument("--x", *key, value.clone()));
        let config = layers.load().unwrap();
        let settings = config.settings();
        let keys: std::collections::BTreeSet<&str> = user.keys().chain(project.keys()).chain(arguments.keys()).copied().collect();
        for key in keys {
            let said: Vec<(Layer, &serde_json::Value)> = [(Layer::Argument, &arguments), (Layer::Project, &project), (Layer::User, &user)]
                .into_iter()
                .filter_map(|(layer, values)| Some((layer, values.get(key)?)))
                .collect();
            let setting = setting(&settings, key);
            prop_assert_eq!((setting.layer, setting.value.as_ref().unwrap()), said[0]);
            let older: Vec<&serde_json::Value> = setting.overridden.iter().map(|older| &older.value).collect();
            prop_assert_eq!(older, said[1..].iter().map(|(_, value)| *value).collect::<Vec<_>>());
            if let Origin::File { path, line, .. } = &setting.origin {
                let text = std::fs::read_to_string(path).unwrap();
                let line = text.lines().nth(*line as usize - 1).unwrap();
                prop_assert!(line.starts_with(&format!("{key} = ")), "{} {}", key, line);
            }
        }
        // Written as a file, it is the same again.
        for text in [as_toml(&settings, &|_| None), as_toml(&settings, &|setting| Some(setting.origin.to_string()))] {
            let again = load(&folder.write("again.toml", &text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
            prop_assert_eq!(as_json(&again.settings()), as_json(&settings), "{}", text);
        }
    }
}
