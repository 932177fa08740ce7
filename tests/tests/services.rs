//! What plugins are lent: a model, state, recall and files, as far as they are granted and no further.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use contextengine::Engine;
use contextengine::hooks::{CompressRequest, Outcome, Service, Trigger};
use contextengine::plugin::{Limits, LoadOptions, Services};
use contextengine::services::model::{Completion, Finish, Model, ModelFuture, ModelService, Prompt};
use contextengine::session::Session;
use contextengine::store::{MemoryStore, NewSession, Store};
use contextengine::tokens::EntryCounter;
use contextengine::transcript::{Entry, EntryKind, Timestamp};
use contextengine::view::{View, ViewOptions};
use contextengine_tests::{Bytes, component};

/// Answers every prompt with its own last words.
#[derive(Debug, Default)]
struct Echo {
    asked: Mutex<u32>,
}

impl Model for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn window(&self) -> Option<u32> {
        Some(9_000)
    }

    fn complete<'a>(&'a self, prompt: &'a Prompt) -> ModelFuture<'a> {
        Box::pin(async move {
            *self.asked.lock().unwrap() += 1;
            let text = format!("echo of {}", prompt.user);
            Ok(Completion { text, finish: Finish::Complete, input_tokens: 30, output_tokens: 12 })
        })
    }
}

fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test)
}

fn engine() -> Engine {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("services-cache");
    Engine::builder().counter(Bytes).cache_dir(cache).build().unwrap()
}

/// A session that once talked about a parser, and its store.
async fn session(engine: &Engine) -> (Session, Arc<dyn Store>) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let new = NewSession::named("talk");
    let session = Session::create(engine.clone(), Arc::clone(&store), new, ViewOptions::default()).await.unwrap();
    session
        .append(vec![
            Entry::text("1", EntryKind::User, "mend the parser of the lexer"),
            Entry::text("2", EntryKind::Assistant, "done"),
        ])
        .await
        .unwrap();
    (session, store)
}

fn options(behaviour: &str) -> LoadOptions {
    LoadOptions::with_config(format!(r#"{{"behaviour": "{behaviour}"}}"#))
}

fn request(view: &View) -> CompressRequest {
    let pressure = contextengine::Window::new(1_000).pressure(view, Trigger::Manual, Timestamp(0));
    CompressRequest {
        pressure,
        target: 10,
        focus: None,
        memory: Vec::new(),
        corrections: Vec::new(),
        extras: Vec::new(),
    }
}

/// What the guest said after one `compress`.
async fn ask(engine: &Engine, options: LoadOptions, session: &Session, services: Services) -> String {
    let plugin = engine.load(&component("hostile-guest"), options).await.unwrap();
    let mut instance = plugin.instance(session.lend(services)).await.unwrap();
    match instance.compress(&session.view(), &request(&session.view())).await.unwrap() {
        Outcome::Unchanged(text) => text,
        other @ Outcome::Compressed(_) => panic!("{other:?}"),
    }
}

#[test]
fn granted_services_answer() {
    run(async {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("services-granted/docs");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("guide.md"), "guidance").unwrap();
        let engine = engine();
        let (session, _) = session(&engine).await;
        let model = Arc::new(Echo::default());
        let services = engine.services().with_model(ModelService::new(Arc::clone(&model) as Arc<dyn Model>));
        let options = options("services").grant(Service::Model).grant(Service::Recall).folder(&folder);
        let text = ask(&engine, options, &session, services).await;
        for part in [
            "echo of summarise",
            "Some(9000)",
            r#"["key"]"#,
            "mend the parser of t",
            r#"Ok("guida")"#,
            "not a path below a granted folder",
            r#"Ok(["docs/"])"#,
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(*model.asked.lock().unwrap(), 3);
    });
}

#[test]
fn what_is_not_granted_is_not_there_and_the_operator_is_told_once() {
    run(async {
        let engine = engine();
        let (session, _) = session(&engine).await;
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&said);
        let model = Arc::new(Echo::default());
        let services = engine
            .services()
            .with_model(ModelService::new(Arc::clone(&model) as Arc<dyn Model>))
            .with_log(move |_, text| heard.lock().unwrap().push(text.to_owned()));
        let plugin = engine.load(&component("hostile-guest"), options("services")).await.unwrap();
        for _ in 0..2 {
            let mut instance = plugin.instance(session.lend(services.clone())).await.unwrap();
            let outcome = instance.compress(&session.view(), &request(&session.view())).await.unwrap();
            let Outcome::Unchanged(text) = outcome else { panic!("{outcome:?}") };
            assert!(text.contains("ModelError::Absent") && text.contains("not granted"), "{text}");
        }
        assert_eq!(*model.asked.lock().unwrap(), 0);
        let said = said.lock().unwrap();
        assert_eq!(said.len(), 3, "{said:?}");
        for service in ["model", "recall", "files"] {
            let line = format!("add \"{service}\" to `grant` in [plugins.hostile-guest]");
            assert_eq!(said.iter().filter(|text| text.contains(&line)).count(), 1, "{said:?}");
        }
    });
}

#[test]
fn state_outlives_the_instance_and_is_the_plugins_own() {
    run(async {
        let engine = engine();
        let (session, store) = session(&engine).await;
        let first = ask(&engine, options("services"), &session, engine.services()).await;
        assert!(first.contains("None, Ok(())"), "nothing was kept before: {first}");
        let second = ask(&engine, options("services"), &session, engine.services()).await;
        assert!(second.contains("Some([118, 97, 108, 117, 101])"), "{second}");
        let scope = contextengine::store::StateScope::Session(session.key());
        assert_eq!(store.state_keys("hostile-guest", scope, "").await.unwrap(), ["key"]);
        assert_eq!(store.state_keys("another", scope, "").await.unwrap(), Vec::<String>::new());
    });
}

#[test]
fn a_plugin_keeps_no_more_state_than_its_limit() {
    run(async {
        let engine = engine();
        let (session, _) = session(&engine).await;
        let mut limits = Limits::default();
        limits.state_bytes = 64 << 10;
        let text = ask(&engine, options("hoard").limits(limits), &session, engine.services()).await;
        // 15 values of 4 KiB and their keys; a 16th would be 65,536 bytes and the keys.
        assert!(text.starts_with("15 values, then: "), "{text}");
        assert!(text.contains("may take 65536 (`limits.state`)"), "{text}");
    });
}

#[test]
fn a_plugin_asks_the_model_no_more_often_than_its_limit() {
    run(async {
        let engine = engine();
        let model = Arc::new(Echo::default());
        let mut limits = Limits::default();
        limits.model_calls = 2;
        let plugin = engine
            .load(&component("hostile-guest"), options("services").grant(Service::Model).limits(limits))
            .await
            .unwrap();
        let services = engine.services().with_model(ModelService::new(Arc::clone(&model) as Arc<dyn Model>));
        let mut instance = plugin.instance(services).await.unwrap();
        let view = View::new(
            vec![Arc::new(Entry::text("1", EntryKind::User, "hello"))],
            &EntryCounter::new(Bytes),
            ViewOptions::default(),
        );
        for attempt in 1..=2 {
            instance.renew_model_allowance();
            let outcome = instance.compress(&view, &request(&view)).await.unwrap();
            let Outcome::Unchanged(text) = outcome else { panic!("{outcome:?}") };
            assert_eq!(text.matches("OverBudget").count(), 1, "{text}");
            assert_eq!(*model.asked.lock().unwrap(), 2 * attempt);
            assert_eq!((instance.model_use().calls, instance.model_use().input_tokens), (2, 60));
        }
    });
}
