#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::tokens::TokenCounter;

/// One token for each word.
#[derive(Debug)]
struct Words;

impl TokenCounter for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.split_whitespace().count()).unwrap()
    }
}

/// Tokens that a request takes besides its words.
const FRAME: u32 = 9;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

fn plenty() -> Allowance {
    Allowance::new(1_000, 1_000_000)
}

fn quick() -> ModelOptions {
    let retries = Retries { base: Duration::from_millis(2), cap: Duration::from_millis(4), ..Retries::default() };
    ModelOptions::default().counter(Arc::new(Words)).retries(retries)
}

fn prompt(user: &str) -> Prompt {
    Prompt::new("system", user, 10)
}

fn answer(text: &str) -> Result<Completion, ModelError> {
    Ok(Completion::new(text))
}

fn scripted(answers: impl IntoIterator<Item = Result<Completion, ModelError>>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(answers))
}

fn unavailable() -> ModelError {
    ModelError::Unavailable { reason: "busy".into(), after: None }
}

#[test]
fn no_secret_of_a_prompt_reaches_the_model() {
    let model = scripted([answer("done")]);
    let service = ModelService::with_options(model.clone(), quick());
    let asked = Prompt {
        system: "Use API_KEY=abcdef123456 for it".into(),
        user: "Authorization: Bearer abc123def456ghi789".into(),
        stop: vec!["password=hunter22".into()],
        ..prompt("")
    };
    run(service.complete(&asked, &plenty(), soon())).unwrap();
    let sent = model.prompts();
    assert_eq!(sent[0].system, "Use API_KEY=[redacted] for it");
    assert_eq!(sent[0].user, "Authorization: Bearer [redacted]");
    assert_eq!(sent[0].stop, ["password=[redacted]"]);
}

#[test]
fn a_prompt_that_cannot_fit_is_not_sent_and_costs_nothing() {
    let model = Arc::new(ScriptedModel::new([answer("done"), answer("done")]).window(FRAME + 4 + 10));
    let service = ModelService::with_options(model.clone(), quick());
    let allowance = plenty();
    run(async {
        let fits = service.complete(&prompt("one two three"), &allowance, soon()).await;
        assert_eq!(fits.unwrap().text, "done");
        let long = service.complete(&prompt("one two three four"), &allowance, soon()).await;
        assert_eq!(long, Err(ModelError::TooLong { window: Some(23) }));
    });
    assert_eq!(model.prompts().len(), 1);
    assert_eq!(allowance.calls_made(), 1);
}

#[test]
fn what_may_pass_is_asked_again_and_each_request_counts_as_a_call() {
    let errors =
        [unavailable(), ModelError::RateLimited { after: Some(Duration::from_millis(1)) }, ModelError::Timeout];
    let model = scripted(errors.into_iter().map(Err).chain([answer("at last")]));
    let service = ModelService::with_options(model.clone(), quick());
    let allowance = plenty();
    let completion = run(service.complete(&prompt("a b"), &allowance, soon())).unwrap();
    assert_eq!(completion.text, "at last");
    assert_eq!(allowance.calls_made(), 4);
    // The one without an answer in time counts with its prompt, as the provider may have worked on it.
    let input = u64::from(FRAME + 3);
    assert_eq!(allowance.tokens_used(), (2 * input, 2));
}

#[test]
fn a_connection_that_did_not_come_about_is_no_call() {
    let model = scripted([Err(ModelError::Unreachable("refused".into())), answer("done")]);
    let service = ModelService::with_options(model, quick());
    let allowance = Allowance::new(1, 1_000);
    assert_eq!(run(service.complete(&prompt("a"), &allowance, soon())).unwrap().text, "done");
    assert_eq!(allowance.calls_made(), 1);
}

#[test]
fn after_the_last_retry_the_error_is_the_last_one() {
    let model = scripted((0..10).map(|n| Err(ModelError::Unavailable { reason: format!("{n}"), after: None })));
    let service = ModelService::with_options(model.clone(), quick());
    let error = run(service.complete(&prompt("a"), &plenty(), soon())).unwrap_err();
    assert_eq!(error, ModelError::Unavailable { reason: "3".into(), after: None });
    assert_eq!(model.prompts().len(), 4);
}

#[test]
fn what_asking_again_does_not_help_is_asked_once() {
    for error in [
        ModelError::Provider("wrong key".into()),
        ModelError::TooLong { window: None },
        ModelError::Absent,
        ModelError::RateLimited { after: Some(Duration::from_secs(3_600)) },
    ] {
        let model = scripted([Err(error.clone()), answer("never")]);
        let service = ModelService::with_options(model.clone(), quick());
        assert_eq!(run(service.complete(&prompt("a"), &plenty(), soon())), Err(error));
        assert_eq!(model.prompts().len(), 1);
    }
}

#[test]
fn no_retry_begins_that_the_deadline_would_cut_off() {
    let wait = Duration::from_secs(5);
    let model = scripted([Err(ModelError::RateLimited { after: Some(wait) }), answer("never")]);
    let service = ModelService::with_options(model.clone(), quick());
    let start = Instant::now();
    let error = run(service.complete(&prompt("a"), &plenty(), start + Duration::from_secs(1))).unwrap_err();
    assert_eq!(error, ModelError::RateLimited { after: Some(wait) });
    assert!(start.elapsed() < Duration::from_millis(500));
}

#[test]
fn a_retry_that_the_allowance_does_not_cover_ends_in_the_first_error() {
    let model = scripted([Err(unavailable()), answer("never")]);
    let service = ModelService::with_options(model.clone(), quick());
    assert_eq!(run(service.complete(&prompt("a"), &Allowance::new(1, 1_000), soon())), Err(unavailable()));
    assert_eq!(model.prompts().len(), 1);
}

#[test]
fn calls_and_tokens_beyond_the_allowance_are_not_made() {
    let model = scripted((0..9).map(|_| answer("a b c")));
    let service = ModelService::with_options(model.clone(), quick());
    run(async {
        let two = Allowance::new(2, 1_000);
        for expected in [true, true, false] {
            assert_eq!(service.complete(&prompt("a"), &two, soon()).await.is_ok(), expected);
        }
        // A prompt of 11 tokens with an answer of up to 10 fits once; then 14 are used, and 21 more are not there.
        let few = Allowance::new(9, 34);
        assert!(service.complete(&prompt("a"), &few, soon()).await.is_ok());
        assert_eq!(few.tokens_used(), (11, 3));
        assert_eq!(service.complete(&prompt("a"), &few, soon()).await, Err(ModelError::OverBudget));
        assert_eq!(few.clone().calls_made(), 1);
    });
    assert_eq!(model.prompts().len(), 3);
}

#[test]
fn side_by_side_the_allowance_is_never_exceeded_and_none_is_refused_that_it_covers() {
    let model = FnModel::new("slow", |prompt: Prompt| async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        answer(&prompt.user)
    });
    let service = ModelService::with_options(Arc::new(model), quick());
    let prompts: Vec<Prompt> = (0..8).map(|_| prompt("a")).collect();
    // Each takes 11 and 1 in the end, and up to 21 on its way: five are covered, though never three at once.
    let allowance = Allowance::new(100, 4 * 12 + 21);
    let answers = run(service.complete_all(&prompts, &allowance, soon()));
    let given = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(given, 5);
    assert_eq!(allowance.tokens_used(), (55, 5));
    assert!(answers.iter().all(|answer| matches!(answer, Ok(_) | Err(ModelError::OverBudget))));
}

#[test]
fn requests_run_side_by_side_up_to_the_limit_over_all_clones_and_come_back_in_order() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (inside, peak) = (now.clone(), most.clone());
    let model = FnModel::new("counting", move |prompt: Prompt| {
        let (inside, peak) = (inside.clone(), peak.clone());
        async move {
            peak.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let number: u64 = prompt.user.parse().unwrap();
            tokio::time::sleep(Duration::from_millis(20 - number)).await;
            inside.fetch_sub(1, Ordering::SeqCst);
            if number == 3 { Err(ModelError::Provider("three".into())) } else { answer(&prompt.user) }
        }
    });
    let service = ModelService::with_options(Arc::new(model), quick());
    let prompts: Vec<Prompt> = (0..12).map(|number| prompt(&number.to_string())).collect();
    let clone = service.clone();
    let allowance = plenty();
    let (first, second) = run(async {
        tokio::join!(
            service.complete_all(&prompts, &allowance, soon()),
            clone.complete_all(&prompts, &allowance, soon())
        )
    });
    assert_eq!(most.load(Ordering::SeqCst), 4);
    for answers in [first, second] {
        for (number, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(completion) => assert_eq!(completion.text, number.to_string()),
                Err(error) => assert_eq!((number, error), (3, ModelError::Provider("three".into()))),
            }
        }
    }
}

#[test]
fn a_dropped_call_gives_back_its_place_and_counts_as_sent() {
    let model = FnModel::new("stuck", |prompt: Prompt| async move {
        if prompt.user == "stuck" {
            std::future::pending::<()>().await;
        }
        answer("free")
    });
    let service = ModelService::with_options(Arc::new(model), quick().concurrency(1));
    let allowance = plenty();
    run(async {
        let stuck = prompt("stuck");
        let call = service.complete(&stuck, &allowance, soon());
        assert!(tokio::time::timeout(Duration::from_millis(20), call).await.is_err());
        assert_eq!(service.complete(&prompt("b"), &allowance, soon()).await.unwrap().text, "free");
    });
    assert_eq!(allowance.calls_made(), 2);
    assert_eq!(allowance.tokens_used(), (22, 1));
}

#[test]
fn a_model_that_does_not_answer_is_left_at_the_deadline_and_after_the_timeout() {
    let model: Arc<dyn Model> = Arc::new(FnModel::new("stuck", |_| std::future::pending()));
    let start = Instant::now();
    let until = start + Duration::from_millis(40);
    let service = ModelService::with_options(model.clone(), quick());
    assert_eq!(run(service.complete(&prompt("a"), &plenty(), until)), Err(ModelError::Timeout));
    let timeout = quick().request_timeout(Duration::from_millis(10)).retries(Retries::none());
    let service = ModelService::with_options(model, timeout);
    assert_eq!(run(service.complete(&prompt("a"), &plenty(), soon())), Err(ModelError::Timeout));
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn reasoning_is_no_part_of_the_text_and_an_empty_answer_is_an_error_that_says_why() {
    let truncated = |text: &str| {
        Ok(Completion { finish: Finish::Truncated, output_tokens: 10, input_tokens: 5, ..Completion::new(text) })
    };
    let refused = Ok(Completion { finish: Finish::Refused, ..Completion::new("") });
    let model = scripted([answer("<think>hm</think>\nyes"), answer(" \n"), truncated("<think>hm"), refused]);
    let service = ModelService::with_options(model, quick());
    let allowance = plenty();
    run(async {
        let ask = async || service.complete(&prompt("a"), &allowance, soon()).await;
        let completion = ask().await.unwrap();
        assert_eq!(completion.text, "yes");
        assert_eq!((completion.input_tokens, completion.output_tokens), (11, 2));
        assert!(ask().await.unwrap_err().to_string().contains("empty"));
        assert!(ask().await.unwrap_err().to_string().contains("10 tokens"));
        assert_eq!(ask().await.unwrap().finish, Finish::Refused);
    });
    // What they cost is entered all the same.
    assert_eq!(allowance.calls_made(), 4);
    assert_eq!(allowance.tokens_used(), (11 + 11 + 5 + 11, 2 + 10));
}

#[test]
fn an_answer_without_room_in_a_full_window_is_a_prompt_that_is_too_long() {
    let full = Completion { finish: Finish::Truncated, input_tokens: 99, output_tokens: 1, ..Completion::new("") };
    let model = Arc::new(ScriptedModel::new([Ok(full)]).window(100));
    let service = ModelService::with_options(model, quick());
    let error = run(service.complete(&prompt("a"), &plenty(), soon()));
    assert_eq!(error, Err(ModelError::TooLong { window: Some(100) }));
}

#[test]
fn waits_are_drawn_by_chance_grow_and_end_and_keep_to_what_the_provider_says() {
    let retries = Retries::default();
    let wait = |error: &ModelError, attempt, chance| retries.wait(error, attempt, chance);
    let ms = Duration::from_millis;
    assert_eq!(wait(&ModelError::Timeout, 0, 0.0), Some(ms(0)));
    assert_eq!(wait(&ModelError::Timeout, 0, 1.0), Some(ms(500)));
    assert_eq!(wait(&unavailable(), 2, 0.5), Some(ms(1_000)));
    assert_eq!(wait(&unavailable(), 3, 0.5), None);
    let far = Retries { limit: 100, ..retries };
    assert_eq!(far.wait(&ModelError::Timeout, 99, 1.0), Some(far.cap));
    let asks = |seconds| ModelError::RateLimited { after: Some(Duration::from_secs(seconds)) };
    let asked = wait(&asks(30), 2, 1.0).unwrap();
    assert!(asked >= Duration::from_secs(30) && asked <= ms(30_500), "{asked:?}");
    assert_eq!(wait(&asks(61), 0, 0.0), None);
    let drawn: Vec<f64> = (0..64).map(|_| retry::chance()).collect();
    assert!(drawn.iter().all(|chance| (0.0..1.0).contains(chance)));
    assert!(drawn.iter().any(|chance| *chance < 0.5) && drawn.iter().any(|chance| *chance > 0.5));
}

#[test]
fn a_secret_is_never_shown() {
    let secret = Secret::new(" sk-abcdefghijklmnop1234\n").unwrap();
    assert_eq!(format!("{secret} {secret:?}"), "[redacted] Secret([redacted])");
    for name in ["CTXE_TEST_NO_SUCH_KEY", "", "A=B"] {
        let error = Secret::from_env(name).unwrap_err();
        assert!(matches!(error, SecretError::Unset { .. }), "{error}");
        assert!(error.to_string().contains(&format!("`{name}` is not set")));
    }
    assert!(matches!(Secret::new("  "), Err(SecretError::Empty { .. })));
    assert!(!Secret::new("abc\ndef").unwrap_err().to_string().contains("abc"));
    // One that cargo sets for every test.
    assert_eq!(Secret::from_env("CARGO_PKG_NAME").unwrap(), Secret::new("contextengine").unwrap());
}
