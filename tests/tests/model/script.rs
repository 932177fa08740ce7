//! Scripts for the model of tests and of the command line.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contextengine::services::model::{
    Allowance, Completion, Finish, Model, ModelError, ModelService, Prompt, ScriptError, ScriptedModel,
};

use super::{options, run};

/// What a script answers to these prompts, one after the other.
fn played(script: &str, prompts: &[&str]) -> Vec<Result<Completion, ModelError>> {
    let model = ScriptedModel::parse(script, "x.jsonl").unwrap();
    run(async {
        let mut answers = Vec::new();
        for user in prompts {
            answers.push(model.complete(&Prompt::new("sys", *user, 10)).await);
        }
        answers
    })
}

fn texts(answers: &[Result<Completion, ModelError>]) -> Vec<&str> {
    let mut texts = Vec::new();
    for answer in answers {
        texts.push(match answer {
            Ok(completion) => completion.text.as_str(),
            Err(error) => error.kind(),
        });
    }
    texts
}

#[test]
fn answers_come_in_their_order_and_by_what_the_prompt_says() {
    let script = r#"
{"script": 1, "name": "small", "window": 8000}
{"answer": "first"}
{"answer": "merged", "when": {"user_contains": "merge", "system_contains": "sys"}}
{"answer": "never", "when": {"user_contains": "merge", "system_contains": "other"}}

{"answer": "twice", "times": 2}
{"answer": "once only", "when": {"user_contains": "b"}, "times": 1}
"#;
    let answers = played(script, &["a", "merge", "b", "b", "merge", "a", "a"]);
    assert_eq!(texts(&answers), ["first", "merged", "once only", "twice", "merged", "twice", "absent"]);
    let model = ScriptedModel::parse(script, "x").unwrap();
    assert_eq!((model.name(), model.window()), ("small", Some(8_000)));
}

#[test]
fn after_the_last_answer_follows_what_the_script_says() {
    for (after, expected) in [
        ("absent", ["a", "b", "absent", "absent"]),
        ("repeat", ["a", "b", "b", "b"]),
        ("restart", ["a", "b", "a", "b"]),
    ] {
        let script =
            format!("{{\"script\": 1, \"after_last\": \"{after}\"}}\n{{\"answer\": \"a\"}}\n{{\"answer\": \"b\"}}");
        assert_eq!(texts(&played(&script, &["1", "2", "3", "4"])), expected, "{after}");
    }
}

#[test]
fn every_end_error_and_figure_can_be_scripted() {
    let script = r#"
{"answer": "cut", "finish": "truncated", "input_tokens": 5, "output_tokens": 6, "delay_ms": 30}
{"answer": "", "finish": "refused"}
{"error": "too-long", "window": 100}
{"error": "over-budget"}
{"error": "rate-limited", "after_ms": 5}
{"error": "timeout"}
{"error": "unavailable", "reason": "busy"}
{"error": "unreachable", "reason": "refused"}
{"error": "provider", "reason": "wrong key"}
{"error": "absent"}
"#;
    let start = Instant::now();
    let answers = played(script, &["x"; 10]);
    assert!(start.elapsed() >= Duration::from_millis(30));
    let cut = Completion { text: "cut".into(), finish: Finish::Truncated, input_tokens: 5, output_tokens: 6 };
    let errors = [
        ModelError::TooLong { window: Some(100) },
        ModelError::OverBudget,
        ModelError::RateLimited { after: Some(Duration::from_millis(5)) },
        ModelError::Timeout,
        ModelError::Unavailable { reason: "busy".into(), after: None },
        ModelError::Unreachable("refused".into()),
        ModelError::Provider("wrong key".into()),
        ModelError::Absent,
    ];
    let refused = Completion { finish: Finish::Refused, ..Completion::new("") };
    let expected: Vec<_> = [Ok(cut), Ok(refused)].into_iter().chain(errors.into_iter().map(Err)).collect();
    assert_eq!(answers, expected);
}

#[test]
fn side_by_side_each_prompt_gets_the_answer_of_its_place_however_long_others_take() {
    let lines: Vec<String> =
        (0..40).map(|n| format!("{{\"answer\": \"{n}\", \"delay_ms\": {}}}", (n * 7) % 20)).collect();
    for _ in 0..3 {
        let model = Arc::new(ScriptedModel::parse(&lines.join("\n"), "x").unwrap());
        let prompts: Vec<Prompt> = (0..40).map(|n| Prompt::new("", format!("prompt {n}"), 10)).collect();
        let service = ModelService::with_options(model.clone(), options());
        let deadline = Instant::now() + Duration::from_secs(10);
        let answers = run(service.complete_all(&prompts, &Allowance::new(100, 100_000), deadline));
        let texts: Vec<String> = answers.into_iter().map(|answer| answer.unwrap().text).collect();
        assert_eq!(texts, (0..40).map(|n| n.to_string()).collect::<Vec<_>>());
        assert_eq!(model.prompts(), prompts);
    }
}

#[test]
fn what_is_wrong_with_a_script_is_said_with_file_and_line() {
    for (script, line, part) in [
        ("{\"answer\": \"a\"}\n\n{\"answer\"", 3, "not JSON"),
        ("{\"anser\": \"a\"}", 1, "unknown field `anser`"),
        ("{\"answer\": \"a\"}\n{\"script\": 1}", 2, "first line"),
        ("{\"script\": 2}", 1, "\"script\": 1"),
        ("{\"script\": 1, \"after_last\": \"stop\"}", 1, "unknown variant `stop`"),
        ("{\"answer\": \"a\", \"error\": \"timeout\"}", 1, "one or the other"),
        ("{\"delay_ms\": 3}", 1, "neither"),
        ("{\"answer\": \"a\", \"times\": 0}", 1, "never be used"),
        ("{\"error\": \"timeout\", \"after_ms\": 3}", 1, "`after_ms` means nothing"),
        ("{\"answer\": \"a\", \"reason\": \"x\"}", 1, "`reason` is for errors"),
        ("{\"answer\": \"a\", \"when\": {\"contains\": \"x\"}}", 1, "unknown field `contains`"),
        ("\"answer\"", 1, "invalid type"),
    ] {
        let error = ScriptedModel::parse(script, "scripts/x.jsonl").unwrap_err();
        assert!(matches!(&error, ScriptError::Line { line: at, .. } if *at == line), "{error:?}");
        let shown = error.to_string();
        assert!(shown.starts_with(&format!("scripts/x.jsonl:{line}: ")) && shown.contains(part), "{shown}");
    }
    let empty = ScriptedModel::parse("\n{\"script\": 1}\n", "x.jsonl").unwrap_err().to_string();
    assert!(empty.contains("x.jsonl has no answer"), "{empty}");
}

#[test]
fn a_script_is_read_from_its_file_and_a_missing_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.jsonl");
    let missing = ScriptedModel::from_file(&file).unwrap_err().to_string();
    assert!(missing.contains("answers.jsonl cannot be read"), "{missing}");
    fs::write(&file, "{\"answer\": \"from a file\"}\n").unwrap();
    let model = ScriptedModel::from_file(&file).unwrap();
    let answer = run(model.complete(&Prompt::new("", "x", 10)));
    assert_eq!(answer.unwrap().text, "from a file");
}
