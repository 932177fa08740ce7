//! Providers that fail, and what lies between the host and them.

use std::time::{Duration, Instant};

use contextengine::services::model::{
    Allowance, ModelConfig, ModelConfigError, ModelError, ModelService, Provider, Retries,
};
use serde_json::json;

use super::server::{Reply, Server, chat, json as reply, with};
use super::{KEY, ask, config, openai, options, prompt, run, service};

/// The error of a server that always replies so, and how often it was asked.
async fn failing(answer: Reply) -> (ModelError, usize) {
    let server = Server::start([answer]).await;
    let error = ask(&service(openai(&server.url()))).await.unwrap_err();
    (error, server.requests().len())
}

#[test]
fn a_server_that_fails_for_a_moment_is_asked_again() {
    run(async {
        for failure in [
            reply(500, "{}"),
            reply(503, ""),
            reply(529, "{}"),
            reply(429, "{}"),
            Reply::HangUp,
            Reply::Cut("{".into()),
        ] {
            let server = Server::start([failure.clone(), chat("at last")]).await;
            let allowance = Allowance::new(9, 10_000);
            let deadline = Instant::now() + Duration::from_secs(10);
            let answer = service(openai(&server.url())).complete(&prompt(), &allowance, deadline).await;
            assert_eq!(answer.unwrap().text, "at last", "{failure:?}");
            assert_eq!((server.requests().len(), allowance.calls_made()), (2, 2), "{failure:?}");
        }
    });
}

#[test]
fn four_requests_are_made_and_no_more() {
    run(async {
        let (error, requests) = failing(reply(503, r#"{"error":{"message":"no capacity"}}"#)).await;
        assert!(
            matches!(&error, ModelError::Unavailable { reason, .. } if reason.contains("503: no capacity")),
            "{error:?}"
        );
        assert_eq!(requests, 4);
        let (error, requests) = failing(reply(429, "{}")).await;
        assert_eq!((error, requests), (ModelError::RateLimited { after: None }, 4));
    });
}

#[test]
fn the_moment_to_ask_again_is_the_one_that_the_provider_names() {
    run(async {
        for (headers, least) in [
            (vec![("retry-after-ms", "120")], 120),
            (vec![("retry-after", "0.12")], 120),
            (
                vec![
                    ("x-ratelimit-reset-requests", "110ms"),
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-tokens", "6m0s"),
                    ("x-ratelimit-remaining-tokens", "900"),
                ],
                110,
            ),
        ] {
            let server = Server::start([with(429, &headers, "{}"), chat("then")]).await;
            assert_eq!(ask(&service(openai(&server.url()))).await.unwrap().text, "then");
            let requests = server.requests();
            let waited = requests[1].at - requests[0].at;
            assert!(waited >= Duration::from_millis(least), "{headers:?}: {waited:?}");
            assert!(waited < Duration::from_secs(5), "{headers:?}: {waited:?}");
        }
    });
}

#[test]
fn a_wait_that_is_too_long_is_handed_on_at_once() {
    run(async {
        for (headers, seconds) in [
            (vec![("retry-after", "3600")], 3_600),
            (vec![("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 09:49:37 GMT")], 3_600),
            (
                vec![
                    ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
                    ("anthropic-ratelimit-tokens-reset", "1994-11-06T08:59:37Z"),
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                ],
                600,
            ),
            (vec![("x-ratelimit-reset-tokens", "1h1m1.5s")], 3_661),
        ] {
            let server = Server::start([with(429, &headers, "{}")]).await;
            let error = ask(&service(openai(&server.url()))).await.unwrap_err();
            let ModelError::RateLimited { after: Some(after) } = error else { panic!("{headers:?}: {error:?}") };
            assert_eq!(after.as_secs(), seconds, "{headers:?}");
            assert_eq!(server.requests().len(), 1);
        }
    });
}

#[test]
fn what_is_wrong_with_the_request_is_said_once_and_names_what_to_check() {
    run(async {
        for (status, body, parts) in [
            (401, r#"{"error":{"message":"Incorrect API key provided"}}"#, ["401: Incorrect API key", "api_key_env"]),
            (404, r#"{"error":"model not found"}"#, ["404: model not found", "`name`"]),
            (400, r#"{"detail":"bad temperature"}"#, ["400: bad temperature", "127.0.0.1"]),
            (429, r#"{"error":{"code":"insufficient_quota","message":"no money"}}"#, ["429: no money", "127.0.0.1"]),
            (302, "", ["302", "base_url"]),
        ] {
            let (error, requests) = failing(reply(status, body)).await;
            assert!(matches!(error, ModelError::Provider(_)), "{status}: {error:?}");
            assert_eq!(requests, 1, "{status}");
            for part in parts {
                assert!(error.to_string().contains(part), "{error} has no {part}");
            }
        }
    });
}

#[test]
fn a_request_that_the_provider_finds_too_long_is_told_from_a_limit_on_rates() {
    run(async {
        let long = json!({ "error": { "code": "context_length_exceeded", "message": "This model's maximum context length is 8192 tokens." } });
        for status in [400, 413, 500] {
            let server = Server::start([reply(status, &long.to_string())]).await;
            let model = config(Provider::OpenAi, &server.url()).window(8_192).build().unwrap();
            assert_eq!(ask(&service(model)).await, Err(ModelError::TooLong { window: Some(8_192) }), "{status}");
            assert_eq!(server.requests().len(), 1);
        }
        let rate =
            json!({ "error": { "message": "Request too large: tokens per minute (TPM) limit, too many tokens" } });
        let (error, _) = failing(reply(429, &rate.to_string())).await;
        assert_eq!(error, ModelError::RateLimited { after: None });
        // A gateway that hides the status of the provider behind it.
        let (error, requests) =
            failing(reply(200, &json!({ "error": { "code": 502, "message": "upstream" } }).to_string())).await;
        assert!(matches!(error, ModelError::Unavailable { .. }), "{error:?}");
        assert_eq!(requests, 4);
    });
}

#[test]
fn a_body_that_is_no_answer_is_an_error_with_a_short_excerpt() {
    let html =
        "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>".to_owned() + &"x".repeat(10_000);
    run(async {
        for (body, part) in [
            (reply(200, ""), "answered nothing"),
            (reply(200, "{\"choices\": ["), "not JSON: {\"choices\": ["),
            (with(200, &[("content-type", "text/html")], &html), "an HTML page: 502 Bad Gateway"),
            (reply(200, "{\"result\": \"ok\"}"), "without choices: {\"result\": \"ok\"}"),
            (reply(200, "[1, 2]"), "without choices"),
            (reply(404, &html), "404 with an HTML page: 502 Bad Gateway"),
        ] {
            let (error, requests) = failing(body).await;
            assert!(matches!(error, ModelError::Provider(_)), "{error:?}");
            assert!(error.to_string().contains(part), "{error} has no {part}");
            assert!(error.to_string().len() < 700);
            assert_eq!(requests, 1);
        }
    });
}

#[test]
fn a_body_without_end_is_not_read_to_the_end() {
    run(async {
        let (error, requests) = failing(Reply::Endless(200)).await;
        assert!(error.to_string().contains("longer than 16 MiB"), "{error}");
        assert_eq!(requests, 1);
        let (error, _) = failing(Reply::Endless(400)).await;
        assert!(error.to_string().len() < 700, "{error}");
    });
}

#[test]
fn no_key_stands_in_an_error() {
    run(async {
        let echo =
            format!("the key {KEY} is not sk-proj-abcdefghijklmnop1234, see password=hunter22 {}", "x".repeat(900));
        for status in [400, 503] {
            let body = json!({ "error": { "message": echo } }).to_string();
            let (error, _) = failing(reply(status, &body)).await;
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("the key [redacted] is not [redacted], see password=[redacted]"), "{shown}");
        }
        // Cut within the key: it is taken out before.
        let late = format!("{} {KEY}", "x".repeat(385));
        let (error, _) = failing(reply(400, &json!({ "error": late }).to_string())).await;
        assert!(!error.to_string().contains("plain-"), "{error}");
        let config = config(Provider::OpenAi, "http://localhost").header("x-key", "another-secret");
        let shown = format!("{config:?} {:?}", config.clone().build().unwrap());
        assert!(!shown.contains(KEY) && !shown.contains("another-secret"), "{shown}");
    });
}

#[test]
fn a_server_that_is_not_there_is_named_and_costs_no_call() {
    run(async {
        // A port that was free a moment ago.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let allowance = Allowance::new(1, 10_000);
        let deadline = Instant::now() + Duration::from_secs(10);
        let service = service(openai(&format!("http://{address}/v1")));
        let error = service.complete(&prompt(), &allowance, deadline).await.unwrap_err();
        assert!(matches!(&error, ModelError::Unreachable(_)), "{error:?}");
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        assert_eq!(allowance.calls_made(), 0);
    });
}

#[test]
fn a_silent_server_is_left_after_the_timeout_and_by_a_dropped_future() {
    run(async {
        let server = Server::start([Reply::Silence]).await;
        let options = options().request_timeout(Duration::from_millis(60)).retries(Retries::none());
        let service = ModelService::with_options(openai(&server.url()), options);
        assert_eq!(ask(&service).await, Err(ModelError::Timeout));

        let slow = super::service(openai(&server.url()));
        assert!(tokio::time::timeout(Duration::from_millis(60), ask(&slow)).await.is_err());
        let until = Instant::now() + Duration::from_secs(5);
        while server.hung_up() < 2 && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(server.hung_up(), 2, "requests went on after they were dropped");
    });
}

#[test]
fn a_slow_answer_does_not_hold_up_the_others_and_all_come_back_in_order() {
    run(async {
        let server = Server::start([Reply::HangUp, chat("ok")]).await;
        let prompts = vec![prompt(); 9];
        let deadline = Instant::now() + Duration::from_secs(10);
        let allowance = Allowance::new(100, 100_000);
        let answers = service(openai(&server.url())).complete_all(&prompts, &allowance, deadline).await;
        assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.text == "ok")), "{answers:?}");
        assert_eq!(allowance.calls_made(), 10);
        assert_eq!(allowance.tokens_used(), (9 * 21, 9 * 7));
    });
}

#[test]
fn a_configuration_that_cannot_work_is_refused_with_what_to_write() {
    let error = |config: ModelConfig| config.build().unwrap_err();
    let at = |url: &str| error(ModelConfig::new(Provider::OpenAi, "m").base_url(url));
    assert!(at("localhost:8080").to_string().contains("http://"));
    assert!(at("not a url").to_string().contains("is not one"));
    assert!(at("ftp://host/x").to_string().contains("https://"));
    let with_password = at("http://me:hunter22@host/v1");
    assert!(with_password.to_string().contains("api_key_env") && !with_password.to_string().contains("hunter22"));
    assert_eq!(error(ModelConfig::new(Provider::OpenAi, " ")), ModelConfigError::NoName);
    let header = error(ModelConfig::new(Provider::OpenAi, "m").header("x y", "value"));
    assert!(matches!(header, ModelConfigError::Header { name, .. } if name == "x y"));
    let line = error(ModelConfig::new(Provider::OpenAi, "m").header("x-y", "a\nb"));
    assert!(!format!("{line:?}").contains("a\\nb"));
    assert_eq!(error(ModelConfig::new(Provider::OpenAi, "m").window(0)), ModelConfigError::Zero { key: "window" });
    for (name, advice) in
        [("OpenAI", "write `openai`"), ("ollama", "`base_url`"), ("anthropc", "write `anthropic`"), ("x", "known are")]
    {
        let error = name.parse::<Provider>().unwrap_err().to_string();
        assert!(error.contains(advice), "{error}");
    }
}
