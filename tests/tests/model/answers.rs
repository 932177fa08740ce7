//! Requests as providers want them, and answers as they give them.

use contextengine::services::model::{Finish, ModelError, OutputLimit, Prompt, Provider};
use serde_json::{Value, json};

use super::server::{Server, chat, json as reply, with};
use super::{KEY, ask, config, openai, prompt, run, service};

#[test]
fn a_chat_completion_is_asked_for_as_the_protocol_says() {
    run(async {
        let server = Server::start([chat("short")]).await;
        let model = config(Provider::OpenAi, &server.url()).header("X-Title", "tests").build().unwrap();
        let asked = Prompt { temperature: Some(0.2), stop: vec!["END".into()], ..prompt() };
        let completion = model.complete(&asked).await.unwrap();
        assert_eq!((completion.text.as_str(), completion.finish), ("short", Finish::Complete));
        assert_eq!((completion.input_tokens, completion.output_tokens), (21, 7));

        let request = &server.requests()[0];
        assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("x-title"), Some("tests"));
        assert_eq!(
            request.body,
            json!({
                "model": "small-model",
                "messages": [
                    { "role": "system", "content": "You summarise." },
                    { "role": "user", "content": "Summarise this." },
                ],
                "max_tokens": 100,
                "temperature": 0.2,
                "stop": ["END"],
                "stream": false,
            })
        );
    });
}

#[test]
fn a_message_is_asked_for_as_anthropic_has_it() {
    run(async {
        let body = json!({
            "content": [{ "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "short" }],
            "stop_reason": "end_turn",
            "usage": { "input_tokens": 5, "cache_read_input_tokens": 16, "cache_creation_input_tokens": 2, "output_tokens": 7 },
        });
        let server = Server::start([reply(200, &body.to_string())]).await;
        // With and without the version in the path.
        for base in [server.url(), server.url().replace("/v1", "/"), server.url() + "/messages"] {
            let model = config(Provider::Anthropic, &base).build().unwrap();
            let asked = Prompt { stop: vec!["END".into()], ..prompt() };
            let completion = model.complete(&asked).await.unwrap();
            assert_eq!((completion.text.as_str(), completion.finish), ("short", Finish::Complete));
            assert_eq!((completion.input_tokens, completion.output_tokens), (23, 7));
        }
        for request in server.requests() {
            assert_eq!(request.line, "POST /v1/messages HTTP/1.1");
            assert_eq!(request.header("x-api-key"), Some(KEY));
            assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
            assert_eq!(request.header("authorization"), None);
            let expected = json!({
                "model": "small-model",
                "max_tokens": 100,
                "system": "You summarise.",
                "messages": [{ "role": "user", "content": "Summarise this." }],
                "stop_sequences": ["END"],
            });
            assert_eq!(request.body, expected);
        }
    });
}

#[test]
fn the_field_for_the_longest_answer_and_the_path_are_as_configured() {
    run(async {
        let server = Server::start([chat("short")]).await;
        let base = server.url() + "/chat/completions/?api-version=1";
        let config = config(Provider::OpenAi, &base).output_limit(OutputLimit::MaxCompletionTokens);
        let asked = Prompt { system: String::new(), ..prompt() };
        config.build().unwrap().complete(&asked).await.unwrap();
        let request = &server.requests()[0];
        assert_eq!(request.line, "POST /v1/chat/completions?api-version=1 HTTP/1.1");
        assert_eq!(request.body["max_completion_tokens"], 100);
        assert_eq!(request.body.get("max_tokens"), None);
        assert_eq!(request.body["messages"].as_array().unwrap().len(), 1);
    });
}

/// The answer to one choice of a chat completion.
async fn chosen(choice: Value) -> Result<(String, Finish), ModelError> {
    let server = Server::start([reply(200, &json!({ "choices": [choice] }).to_string())]).await;
    ask(&service(openai(&server.url()))).await.map(|completion| (completion.text, completion.finish))
}

#[test]
fn ends_of_answers_are_told_apart_and_reasoning_is_left_out() {
    run(async {
        for (choice, text, finish) in [
            (json!({ "message": { "content": "cut" }, "finish_reason": "length" }), "cut", Finish::Truncated),
            (json!({ "message": { "content": "no" }, "finish_reason": "content_filter" }), "no", Finish::Refused),
            (
                json!({ "message": { "content": null, "refusal": "I cannot" }, "finish_reason": "stop" }),
                "I cannot",
                Finish::Refused,
            ),
            (
                json!({ "message": { "content": "yes", "reasoning_content": "hm" }, "finish_reason": "stop" }),
                "yes",
                Finish::Complete,
            ),
            (json!({ "message": { "content": "<think>hm</think>\n\nyes" } }), "yes", Finish::Complete),
            (
                json!({ "message": { "content": [{ "type": "thinking", "text": "hm" }, { "type": "text", "text": "yes" }] } }),
                "yes",
                Finish::Complete,
            ),
        ] {
            assert_eq!(chosen(choice.clone()).await, Ok((text.to_owned(), finish)), "{choice}");
        }
        for (stop, finish) in [
            ("max_tokens", Finish::Truncated),
            ("model_context_window_exceeded", Finish::Truncated),
            ("refusal", Finish::Refused),
            ("stop_sequence", Finish::Complete),
        ] {
            let body = json!({ "content": [{ "type": "text", "text": "a" }], "stop_reason": stop });
            let server = Server::start([reply(200, &body.to_string())]).await;
            let model = config(Provider::Anthropic, &server.url()).build().unwrap();
            assert_eq!(ask(&service(model)).await.unwrap().finish, finish, "{stop}");
        }
    });
}

#[test]
fn tokens_that_the_server_does_not_count_are_counted_by_the_host() {
    run(async {
        let body = json!({ "choices": [{ "message": { "content": "three words here" }, "finish_reason": "stop" }] });
        let server = Server::start([reply(200, &body.to_string())]).await;
        let completion = ask(&service(openai(&server.url()))).await.unwrap();
        // Two and two words of the prompt, and 9 tokens around them.
        assert_eq!((completion.input_tokens, completion.output_tokens), (13, 3));
    });
}

#[test]
fn an_answer_of_json_under_another_content_type_is_read_all_the_same() {
    run(async {
        let body = json!({ "choices": [{ "message": { "content": "yes" }, "finish_reason": "stop" }] }).to_string();
        let server = Server::start([with(200, &[("content-type", "text/plain")], &body)]).await;
        assert_eq!(ask(&service(openai(&server.url()))).await.unwrap().text, "yes");
    });
}

#[test]
fn an_answer_without_text_or_of_another_shape_is_an_error_that_says_what_is_wrong() {
    run(async {
        for (choice, part) in [
            (json!({ "message": { "content": "" }, "finish_reason": "stop" }), "empty"),
            (
                json!({ "message": { "content": null, "reasoning_content": "hm" }, "finish_reason": "length" }),
                "a longer answer",
            ),
            (
                json!({ "message": { "content": null, "tool_calls": [{}] }, "finish_reason": "tool_calls" }),
                "called a tool",
            ),
            (json!({ "message": { "content": 7 } }), "message.content as text"),
            (json!({ "text": "old form" }), "choices[0].message"),
        ] {
            let error = chosen(choice.clone()).await.unwrap_err();
            assert!(matches!(error, ModelError::Provider(_)), "{choice}: {error:?}");
            assert!(error.to_string().contains(part), "{choice}: {error}");
        }
    });
}
