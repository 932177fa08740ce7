//! How long an instance lasts, and that nothing is left of it.

use std::sync::Arc;
use std::time::Duration;

use contextengine::hooks::Outcome;
use contextengine::plugin::CallError;
use contextengine::transcript::{Entry, EntryKind};

use crate::fixture::{
    behaviour, instance, limits, load, on_both, others_still_work, pressure, request, services, view,
};

#[test]
fn the_memory_of_an_instance_lasts_from_call_to_call() {
    on_both(|| async {
        let mut instance = instance("remember").await;
        for call in 1..=3 {
            let outcome = instance.compress(&view(), &request()).await;
            assert_eq!(outcome, Ok(Outcome::Unchanged(format!("call {call}"))));
        }
    });
}

#[test]
fn an_instance_is_given_up_after_a_call_that_broke_off_and_remembers_the_first_cause() {
    on_both(|| async {
        let mut instance = instance("panic").await;
        let first = instance.compress(&view(), &request()).await.unwrap_err();
        for _ in 0..2 {
            let error = instance.compress(&view(), &request()).await.unwrap_err();
            assert_eq!(error, CallError::Retired { cause: Arc::new(first.clone()) });
            assert!(error.to_string().contains("the words of the guest"), "{error}");
        }
        let error = instance.should_compress(&view(), &pressure()).await.unwrap_err();
        assert!(matches!(error, CallError::Retired { .. }), "{error}");
        assert_eq!(instance.retired(), Some(&first));
    });
}

#[test]
fn a_cancelled_call_gives_the_instance_up_and_a_new_one_works() {
    on_both(|| async {
        let plugin = load(behaviour("loop-forever", "compress")).await.unwrap();
        let mut instance = plugin.instance(services()).await.unwrap();
        let (view, request) = (view(), request());
        let call = instance.compress(&view, &request);
        tokio::time::timeout(Duration::from_millis(50), call).await.expect_err("it loops");
        let error = instance.compress(&view, &request).await.unwrap_err();
        let CallError::Retired { cause } = &error else { panic!("{error}") };
        assert_eq!(**cause, CallError::Cancelled { call: "compress" });
        assert!(error.to_string().contains("`compress` was cancelled"), "{error}");

        let mut fresh = plugin.instance(services()).await.unwrap();
        fresh.should_compress(&view, &pressure()).await.unwrap();
        others_still_work().await;
    });
}

#[test]
fn a_call_that_was_made_but_never_awaited_leaves_the_instance_usable() {
    on_both(|| async {
        let mut instance = instance("unchanged").await;
        drop(instance.compress(&view(), &request()));
        assert!(instance.compress(&view(), &request()).await.is_ok());
    });
}

#[test]
fn instances_hold_no_view_after_a_call_and_nothing_after_they_are_dropped() {
    on_both(|| async {
        let plugin = load(behaviour("read", "compress")).await.unwrap();
        let entry = Arc::new(Entry::text("e", EntryKind::User, "text"));
        let counter = contextengine::tokens::EntryCounter::new(crate::fixture::Quarter);
        let mut instances = Vec::new();
        for _ in 0..50 {
            let mut instance = plugin.instance(services()).await.unwrap();
            for _ in 0..20 {
                let view = contextengine::view::View::new(
                    vec![Arc::clone(&entry)],
                    &counter,
                    contextengine::view::ViewOptions::default(),
                );
                instance.should_compress(&view, &pressure()).await.unwrap();
                instance.compress(&view, &request()).await.unwrap();
                drop(view);
                assert_eq!(Arc::strong_count(&entry), 1, "the instance kept the view");
            }
            instances.push(instance);
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_instances_one_after_the_other_leave_no_memory_mapped() {
    // In a process of its own the figure would be exact; here other tests come and go.
    const MAPPED_BY_OTHERS: u64 = 200 << 30;
    let mapped = || {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
    };
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    tokio.block_on(async {
        let options = behaviour("panic", "compress").limits(limits(|limits| limits.time = Duration::from_secs(10)));
        let plugin = load(options).await.unwrap();
        let before = mapped();
        for _ in 0..1_000 {
            let mut instance = plugin.instance(services()).await.unwrap();
            instance.compress(&view(), &request()).await.unwrap_err();
        }
        // Each instance reserves 4 GiB of addresses while it lives.
        assert!(mapped() < before + MAPPED_BY_OTHERS, "{} GiB more", (mapped() - before) >> 30);
    });
}
