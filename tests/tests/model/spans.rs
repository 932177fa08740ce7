//! What is said of requests to a subscriber.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use contextengine::services::model::{Allowance, Completion, ModelError, ModelService, Prompt, ScriptedModel};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::{options, run};

type Fields = BTreeMap<String, String>;

/// Keeps the fields of every span and event of the host.
#[derive(Debug, Default, Clone)]
struct Kept(Arc<Mutex<Vec<Fields>>>);

struct Values<'a>(&'a mut Fields);

impl Visit for Values<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("contextengine")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut kept = self.0.lock().unwrap();
        let mut fields = Fields::from([("span".to_owned(), span.metadata().name().to_owned())]);
        span.record(&mut Values(&mut fields));
        kept.push(fields);
        Id::from_u64(kept.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut kept = self.0.lock().unwrap();
        let index = usize::try_from(span.into_u64()).unwrap() - 1;
        values.record(&mut Values(&mut kept[index]));
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::new();
        event.record(&mut Values(&mut fields));
        self.0.lock().unwrap().push(fields);
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

#[test]
fn each_request_has_a_span_with_figures_and_without_words() {
    let quoted = ModelError::Unavailable { reason: "you said: zebra crossing".into(), after: None };
    let answer = Completion { input_tokens: 21, output_tokens: 7, ..Completion::new("giraffe") };
    let model = Arc::new(ScriptedModel::new([Err(quoted), Ok(answer)]));
    let kept = Kept::default();
    let _guard = tracing::subscriber::set_default(kept.clone());
    let service = ModelService::with_options(model, options());
    let deadline = Instant::now() + Duration::from_secs(5);
    let prompt = Prompt::new("password=hunter22", "zebra crossing", 10);
    run(service.complete(&prompt, &Allowance::new(9, 1_000), deadline)).unwrap();

    let kept = kept.0.lock().unwrap();
    let spans: Vec<&Fields> =
        kept.iter().filter(|fields| fields.get("span").is_some_and(|name| name == "model_request")).collect();
    assert_eq!(spans.len(), 2);
    for (attempt, span) in spans.iter().enumerate() {
        assert_eq!(span["model"], "scripted");
        assert_eq!(span["attempt"], attempt.to_string());
        // Three words, and 9 tokens around them.
        assert_eq!(span["prompt_tokens"], "12");
        assert!(span["duration_ms"].parse::<u64>().unwrap() < 5_000);
    }
    assert_eq!(spans[0]["error"], "unavailable");
    assert_eq!(spans[0].get("finish"), None);
    assert_eq!(spans[1]["finish"], "complete");
    assert_eq!((spans[1]["input_tokens"].as_str(), spans[1]["output_tokens"].as_str()), ("21", "7"));
    let all = format!("{kept:?}");
    for word in ["hunter22", "zebra", "giraffe"] {
        assert!(!all.contains(word), "{all}");
    }
}
