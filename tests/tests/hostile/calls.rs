//! What a guest can do in a call, and how the call ends.

use std::time::{Duration, Instant};

use contextengine::hooks::{Failure, Outcome, Verdict};
use contextengine::plan::{Segment, Span};
use contextengine::plugin::{CallError, Limits, LoadError, LoadOptions};
use contextengine::transcript::{Entry, EntryKind};

use crate::fixture::{
    behaviour, compress_once, instance, limits, load, logging_services, on_both, others_still_work, pressure, request,
    services, view, view_of,
};

/// Roomy enough to build what is then too much to hand over.
fn much_memory(options: LoadOptions) -> LoadOptions {
    options.limits(limits(|limits| limits.memory_bytes = 512 << 20))
}

#[test]
fn a_compress_that_never_ends_is_ended_in_time() {
    on_both(|| async {
        let limit = Duration::from_millis(200);
        let options = behaviour("loop-forever", "compress").limits(limits(|limits| limits.time = limit));
        let plugin = load(options).await.unwrap();
        // Twice: a deadline that is not set again would end only the first.
        for _ in 0..2 {
            let mut instance = plugin.instance(services()).await.unwrap();
            assert_eq!(instance.should_compress(&view(), &pressure()).await.unwrap().verdict, Verdict::Wait);
            let start = Instant::now();
            let error = instance.compress(&view(), &request()).await.unwrap_err();
            assert!(
                matches!(error, CallError::TimeLimit { limit: found, key: "time", .. } if found == limit),
                "{error}"
            );
            assert!(start.elapsed() >= limit, "{:?}", start.elapsed());
            let text = error.to_string();
            assert!(text.contains("`compress` took longer than 200 ms"), "{text}");
            assert!(text.contains("limits = { time = … }"), "{text}");
        }
        others_still_work().await;
    });
}

#[test]
fn a_decision_has_a_shorter_time_of_its_own() {
    on_both(|| async {
        let options = behaviour("loop-forever", "should-compress")
            .limits(limits(|limits| limits.decision_time = Duration::from_millis(100)));
        let mut instance = load(options).await.unwrap().instance(services()).await.unwrap();
        let error = instance.should_compress(&view(), &pressure()).await.unwrap_err();
        assert!(matches!(error, CallError::TimeLimit { key: "decision_time", .. }), "{error}");
        others_still_work().await;
    });
}

#[test]
fn a_guest_that_spins_lets_other_tasks_of_its_thread_run() {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    tokio.block_on(async {
        let options =
            behaviour("loop-forever", "compress").limits(limits(|limits| limits.time = Duration::from_millis(500)));
        let mut instance = load(options).await.unwrap().instance(services()).await.unwrap();
        let ticks = tokio::spawn(async {
            for _ in 0..5 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        instance.compress(&view(), &request()).await.unwrap_err();
        assert!(ticks.is_finished(), "the other task starved");
    });
}

#[test]
fn a_guest_that_takes_all_memory_is_stopped_at_its_limit() {
    on_both(|| async {
        let error = compress_once(behaviour("memory-bomb", "compress")).await.unwrap_err();
        let CallError::MemoryLimit { limit, requested, .. } = error else { panic!("{error}") };
        assert_eq!(limit, 64 << 20);
        assert!(requested > limit);
        assert!(error.to_string().contains("may have 64 MiB; raise `limits = { memory = … }`"), "{error}");
        others_still_work().await;
    });
}

#[test]
fn an_answer_that_is_too_large_is_not_taken() {
    on_both(|| async {
        for name in ["huge-answer", "many-segments", "log-at-once"] {
            let error = compress_once(much_memory(behaviour(name, "compress"))).await.unwrap_err();
            assert!(matches!(error, CallError::OutputLimit { limit: 0x0100_0000, .. }), "{name}: {error}");
            assert!(error.to_string().contains("16 MiB"), "{error}");
            assert!(error.to_string().contains("limits = { output = … }"), "{error}");
            // With the default memory it cannot even be built.
            let error = compress_once(behaviour(name, "compress")).await.unwrap_err();
            assert!(matches!(error, CallError::MemoryLimit { .. }), "{name}: {error}");
        }
        others_still_work().await;
    });
}

#[test]
fn a_flood_of_messages_is_cut_and_said_to_be() {
    on_both(|| async {
        let plugin = load(behaviour("log-in-lines", "compress")).await.unwrap();
        let (services, lines) = logging_services();
        let mut instance = plugin.instance(services).await.unwrap();
        let outcome = instance.compress(&view(), &request()).await;
        assert_eq!(outcome, Ok(Outcome::Unchanged("nothing to do".to_owned())));
        let lines = std::mem::take(&mut *lines.lock().unwrap());
        assert!(lines.iter().map(String::len).sum::<usize>() < 80 << 10);
        assert!(lines.last().unwrap().contains("further messages of this call are dropped"), "{:?}", lines.last());
    });
}

#[test]
fn progress_is_shown_at_the_speed_of_people() {
    on_both(|| async {
        let plugin = load(behaviour("progress", "compress")).await.unwrap();
        let seen = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let counted = std::sync::Arc::clone(&seen);
        let services = services().with_progress(move |_, total, label| {
            assert_eq!((total, label), (10_000, "counting"));
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
        let start = Instant::now();
        plugin.instance(services).await.unwrap().compress(&view(), &request()).await.unwrap();
        let seen = u128::from(seen.load(std::sync::atomic::Ordering::Relaxed));
        assert!((1..=start.elapsed().as_millis() / 50 + 1).contains(&seen), "{seen} in {:?}", start.elapsed());
    });
}

#[test]
fn a_panic_is_reported_in_the_words_of_the_guest() {
    on_both(|| async {
        for hook in ["compress", "should-compress"] {
            let mut instance = load(behaviour("panic", hook)).await.unwrap().instance(services()).await.unwrap();
            let error = match hook {
                "compress" => instance.compress(&view(), &request()).await.unwrap_err(),
                _ => instance.should_compress(&view(), &pressure()).await.unwrap_err(),
            };
            let text = error.to_string();
            assert!(matches!(error, CallError::Trap { call, .. } if call == hook), "{text}");
            assert!(text.contains("the words of the guest"), "{text}");
            assert!(text.contains("lib.rs:"), "{text}");
            assert!(!text.contains("unreachable"), "the words of the guest say it better: {text}");
        }
        others_still_work().await;
    });
}

#[test]
fn an_abort_without_words_is_still_named() {
    on_both(|| async {
        let error = compress_once(behaviour("abort", "compress")).await.unwrap_err();
        assert!(matches!(error, CallError::Trap { .. }), "{error}");
        assert!(error.to_string().contains("`compress` broke off: it aborted"), "{error}");
        others_still_work().await;
    });
}

#[test]
fn an_endless_recursion_ends_and_is_called_that() {
    on_both(|| async {
        let error = compress_once(behaviour("endless-recursion", "compress")).await.unwrap_err();
        assert!(matches!(error, CallError::Trap { .. }), "{error}");
        assert!(error.to_string().contains("recursion"), "{error}");
        others_still_work().await;
    });
}

#[test]
fn impossible_spans_arrive_as_they_were_sent() {
    on_both(|| async {
        let max = u32::MAX;
        let cases: [(&str, &[(u32, u32)]); 3] = [
            ("reversed-span", &[(3, 1)]),
            ("huge-span", &[(0, max), (max, max)]),
            ("overlapping-spans", &[(0, 3), (1, 4), (0, 3)]),
        ];
        for (name, expected) in cases {
            let Outcome::Compressed(plan) = compress_once(behaviour(name, "compress")).await.unwrap() else {
                panic!("{name} is a plan")
            };
            let expected: Vec<_> = expected.iter().map(|(start, end)| Segment::Keep(Span::new(*start, *end))).collect();
            assert_eq!(plan.segments, expected, "{name}");
        }
    });
}

#[test]
fn every_kind_of_segment_arrives_whole() {
    on_both(|| async {
        let outcome = compress_once(behaviour("every-segment", "compress")).await.unwrap();
        let Outcome::Compressed(plan) = outcome else { panic!("{outcome:?}") };
        let [Segment::Summary(summary), Segment::Drop(dropped), Segment::Rewrite(rewrite), Segment::Keep(kept)] =
            plan.segments.as_slice()
        else {
            panic!("{plan:?}")
        };
        assert_eq!((summary.text.as_str(), summary.details.as_deref()), ("what was said: äöü €", Some("{}")));
        assert_eq!(summary.covers, [Span::new(0, 1)]);
        assert_eq!((dropped.range, dropped.reason.as_str()), (Span::new(1, 2), "old"));
        assert_eq!((rewrite.at, rewrite.text.as_str(), rewrite.reason.as_str()), (2, "short", "long"));
        assert_eq!(*kept, Span::new(3, 4));
    });
}

#[test]
fn positions_beyond_the_view_read_as_empty_however_often_they_are_asked_for() {
    on_both(|| async {
        for name in ["impossible-ranges", "many-view-calls"] {
            let outcome = compress_once(behaviour(name, "compress")).await;
            assert_eq!(outcome, Ok(Outcome::Unchanged("nothing to do".to_owned())), "{name}");
        }
    });
}

#[test]
fn a_text_that_the_guest_could_not_hold_is_not_built_for_it() {
    on_both(|| async {
        let little = behaviour("read", "compress").limits(limits(|limits| limits.memory_bytes = 4 << 20));
        let plugin = load(little).await.unwrap();
        let long = "x".repeat(3 << 20);
        let view = view_of(vec![
            Entry::text("e0", EntryKind::User, long.as_str()),
            Entry::text("e1", EntryKind::Assistant, long),
        ]);
        let error = plugin.instance(services()).await.unwrap().compress(&view, &request()).await.unwrap_err();
        assert_eq!(error, CallError::MemoryLimit { call: "compress", limit: 4 << 20, requested: 6 << 20 });
    });
}

#[test]
fn a_guest_reads_what_the_host_sees() {
    on_both(|| async {
        let outcome = compress_once(behaviour("read", "compress")).await.unwrap();
        let view = view();
        let texts: Vec<_> = (0..view.len()).map(|at| view.text(at, None).into_owned()).collect();
        assert_eq!(outcome, Outcome::Unchanged(format!("4 entries, tools [\"read\"]: {}", texts.join("|"))));
    });
}

#[test]
fn the_request_arrives_whole() {
    on_both(|| async {
        let mut request = request();
        request.focus = Some("the parser".to_owned());
        request.memory = vec!["remember this".to_owned()];
        request.corrections = vec!["unaccounted: 3".to_owned()];
        request.extras = vec![("key".to_owned(), "value".to_owned())];
        let outcome = instance("echo").await.compress(&view(), &request).await.unwrap();
        let Outcome::Unchanged(text) = outcome else { panic!("{outcome:?}") };
        for part in ["the parser", "remember this", "unaccounted: 3", "\"key\", \"value\"", "1700000000123", "850"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    });
}

#[test]
fn a_reason_not_to_is_no_fault_and_leaves_the_instance_usable() {
    on_both(|| async {
        let unavailable =
            Failure::Unavailable { reason: "no model".to_owned(), retry_after: Some(Duration::from_millis(1_500)) };
        let cases = [
            ("declined", Failure::Declined("this is not for me".to_owned())),
            ("failed", Failure::Failed("a defect".to_owned())),
            ("unavailable", unavailable),
        ];
        for (name, failure) in cases {
            let mut instance = instance(name).await;
            for _ in 0..3 {
                let error = instance.compress(&view(), &request()).await.unwrap_err();
                assert_eq!(error, CallError::Failed(failure.clone()));
            }
            assert_eq!(instance.retired(), None);
        }
    });
}

#[test]
fn services_that_are_not_granted_say_so() {
    on_both(|| async {
        let outcome = compress_once(behaviour("services", "compress")).await.unwrap();
        let Outcome::Unchanged(text) = outcome else { panic!("{outcome:?}") };
        for part in ["ModelError::Absent", "keeps no plugin state", "not granted"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        // 18 bytes are five tokens, and one token is four bytes.
        assert!(text.ends_with("(5, [1], 4))"), "{text}");
    });
}

#[test]
fn a_decision_can_neither_write_state_nor_ask_a_model() {
    on_both(|| async {
        let plugin = load(behaviour("impure", "should-compress")).await.unwrap();
        let mut instance = plugin.instance(services()).await.unwrap();
        let reason = instance.should_compress(&view(), &pressure()).await.unwrap().reason;
        assert_eq!(reason.matches("must not change state").count(), 2, "{reason}");
        assert!(reason.contains("Absent"), "{reason}");
    });
}

#[test]
fn a_guest_that_misbehaves_while_it_is_configured_is_not_loaded() {
    on_both(|| async {
        // Only the one that has to run into it gets a short time: the others may be slow on a busy machine.
        let quick = limits(|limits| limits.setup_time = Duration::from_millis(200));
        for (name, limits, words) in [
            ("loop-forever", quick, "limits = { setup_time = … }"),
            ("panic", Limits::default(), "the words of the guest"),
            ("memory-bomb", Limits::default(), "limits = { memory = … }"),
        ] {
            let error = load(behaviour(name, "configure").limits(limits)).await.unwrap_err();
            assert!(matches!(&error, LoadError::Configure { plugin, .. } if plugin == "hostile-guest"), "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
        others_still_work().await;
    });
}

#[test]
fn a_configuration_that_is_refused_says_why_in_the_words_of_the_guest() {
    on_both(|| async {
        for (config, words) in [
            (r#"{"behaviour": "unspeakable"}"#, "`behaviour` must not be that"),
            ("[1]", "it is JSON, but not an object"),
            ("{", "it is not JSON"),
        ] {
            let error = load(LoadOptions::with_config(config)).await.unwrap_err();
            assert!(matches!(error, LoadError::Config { .. }), "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
    });
}
