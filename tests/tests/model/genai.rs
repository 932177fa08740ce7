//! The providers of the crate `genai`, by the same rules as our own.

use std::sync::Arc;

use contextengine::services::model::{Finish, Model, ModelConfig, ModelError, Provider, Secret};
use serde_json::json;

use super::server::{Reply, Server, chat, json as reply, with};
use super::{KEY, ask, run, service};

/// `genai` tells the protocol by the name of the model.
fn model(base_url: &str) -> Arc<dyn Model> {
    ModelConfig::new(Provider::Genai, "openai::small-model")
        .base_url(base_url)
        .api_key(Secret::new(KEY).unwrap())
        .header("X-Title", "tests")
        .window(8_192)
        .proxy_from_environment(false)
        .build()
        .unwrap()
}

#[test]
fn a_completion_is_asked_for_and_understood() {
    run(async {
        let server = Server::start([chat("short")]).await;
        let completion = ask(&service(model(&server.url()))).await.unwrap();
        assert_eq!((completion.text.as_str(), completion.finish), ("short", Finish::Complete));
        assert_eq!((completion.input_tokens, completion.output_tokens), (21, 7));
        let request = &server.requests()[0];
        assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        assert_eq!(request.header("x-title"), Some("tests"));
        assert_eq!(request.body["model"], "small-model");
        assert!(request.body.to_string().contains("Summarise this."));
    });
}

#[test]
fn errors_mean_the_same_as_those_of_our_own_providers_and_show_neither_prompt_nor_key() {
    let long = json!({ "error": { "code": "context_length_exceeded", "message": "too long" } }).to_string();
    let echo = json!({ "error": { "message": format!("bad key {KEY}") } }).to_string();
    run(async {
        for (answer, kind, requests) in [
            (reply(400, &long), "too-long", 1),
            (reply(401, &echo), "provider", 1),
            (reply(503, "{}"), "unavailable", 4),
            (with(429, &[("content-type", "application/json"), ("retry-after", "3600")], "{}"), "rate-limited", 1),
            (reply(200, "{\"result\": 1}"), "provider", 1),
            (Reply::HangUp, "unavailable", 4),
        ] {
            let server = Server::start([answer.clone()]).await;
            let error: ModelError = ask(&service(model(&server.url()))).await.unwrap_err();
            assert_eq!((error.kind(), server.requests().len()), (kind, requests), "{answer:?}: {error:?}");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains(KEY) && !shown.contains("Summarise"), "{shown}");
        }
    });
}
