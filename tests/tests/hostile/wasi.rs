//! The same guest built for WASI 0.2: it gets an empty world, and its words come through standard error.

use std::time::Duration;

use contextengine::hooks::{Hook, Outcome};
use contextengine::plugin::{CallError, Plugin};
use contextengine_tests::component_if_built;

use crate::fixture::{behaviour, limits, on_both, request, runtime, services, view};

/// The guest, or a line that says why there is no test.
fn guest() -> Option<Vec<u8>> {
    let guest = component_if_built("hostile-guest.wasip2");
    if guest.is_none() {
        #[allow(clippy::print_stderr, reason = "whoever runs the tests should know")]
        {
            eprintln!("skipped: there is no hostile-guest.wasip2.wasm, as the target wasm32-wasip2 is not installed");
        }
    }
    guest
}

#[test]
fn a_component_for_wasi_loads_and_works() {
    let Some(bytes) = guest() else { return };
    on_both(|| {
        let bytes = bytes.clone();
        async move {
            let plugin = Plugin::load(&runtime(), &bytes, behaviour("remember", "compress")).await.unwrap();
            assert_eq!(plugin.hooks(), [Hook::Compressor]);
            let mut instance = plugin.instance(services()).await.unwrap();
            let outcome = instance.compress(&view(), &request()).await;
            assert_eq!(outcome, Ok(Outcome::Unchanged("call 1".to_owned())));
        }
    });
}

#[test]
fn words_on_standard_error_are_in_the_report() {
    let Some(bytes) = guest() else { return };
    on_both(|| {
        let bytes = bytes.clone();
        async move {
            for (name, words) in [
                ("panic", "the words of the guest"),
                ("memory-bomb", "64 MiB"),
                ("abort", "aborted"),
                ("exit", "it called exit("),
            ] {
                let plugin = Plugin::load(&runtime(), &bytes, behaviour(name, "compress")).await.unwrap();
                let mut instance = plugin.instance(services()).await.unwrap();
                let error = instance.compress(&view(), &request()).await.unwrap_err();
                assert!(matches!(error, CallError::Trap { .. } | CallError::MemoryLimit { .. }), "{error}");
                assert!(error.to_string().contains(words), "{error}");
            }
        }
    });
}

#[test]
fn writing_to_standard_error_is_not_an_error_of_the_guest() {
    let Some(bytes) = guest() else { return };
    on_both(|| {
        let bytes = bytes.clone();
        async move {
            let plugin = Plugin::load(&runtime(), &bytes, behaviour("stderr", "compress")).await.unwrap();
            let mut instance = plugin.instance(services()).await.unwrap();
            let outcome = instance.compress(&view(), &request()).await;
            assert_eq!(outcome, Ok(Outcome::Unchanged("nothing to do".to_owned())));
        }
    });
}

#[test]
fn the_world_of_wasi_is_empty_and_stands_still() {
    let Some(bytes) = guest() else { return };
    on_both(|| {
        let bytes = bytes.clone();
        async move {
            let plugin = Plugin::load(&runtime(), &bytes, behaviour("surroundings", "compress")).await.unwrap();
            let mut seen = Vec::new();
            for _ in 0..2 {
                let mut instance = plugin.instance(services()).await.unwrap();
                seen.push(instance.compress(&view(), &request()).await.unwrap());
            }
            let Outcome::Unchanged(text) = &seen[0] else { panic!("{seen:?}") };
            assert!(text.starts_with("0 variables, 0 arguments, no file, epoch +0ns"), "{text}");
            assert_eq!(seen[0], seen[1], "random numbers differ between instances");
        }
    });
}

#[test]
fn a_guest_that_sleeps_in_the_host_is_ended_too() {
    let Some(bytes) = guest() else { return };
    on_both(|| {
        let bytes = bytes.clone();
        async move {
            let options =
                behaviour("sleep", "compress").limits(limits(|limits| limits.time = Duration::from_millis(100)));
            let plugin = Plugin::load(&runtime(), &bytes, options).await.unwrap();
            let mut instance = plugin.instance(services()).await.unwrap();
            let error = instance.compress(&view(), &request()).await.unwrap_err();
            assert!(matches!(error, CallError::TimeLimit { key: "time", .. }), "{error}");
            let error = instance.compress(&view(), &request()).await.unwrap_err();
            assert!(matches!(error, CallError::Retired { .. }), "{error}");
        }
    });
}
