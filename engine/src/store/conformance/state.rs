use super::{Case, Fixture};
use crate::store::{StateLimits, StateScope, StoreError};

pub(super) const CASES: &[Case] = &[
    Case { name: "plugins keep values apart from each other", body: |fixture| Box::pin(apart(fixture)) },
    Case { name: "keys are found by how they begin", body: |fixture| Box::pin(prefixes(fixture)) },
    Case { name: "a plugin cannot keep more than its share", body: |fixture| Box::pin(limits(fixture)) },
];

async fn apart(fixture: Fixture) {
    let store = &fixture.store;
    let (a, b) = (fixture.session("a").await, fixture.session("b").await);
    let scopes = [StateScope::Shared, StateScope::Session(a), StateScope::Session(b)];
    let mut kept = Vec::new();
    for plugin in ["p", "q"] {
        for scope in scopes {
            assert_eq!(store.state(plugin, scope, "k").await.unwrap(), None);
            let value = format!("{plugin} {scope:?} \0\u{ff}").into_bytes();
            store.set_state(plugin, scope, "k", b"before").await.unwrap();
            store.set_state(plugin, scope, "k", &value).await.unwrap();
            kept.push((plugin, scope, value));
        }
    }
    for (plugin, scope, value) in &kept {
        assert_eq!(store.state(plugin, *scope, "k").await.unwrap().as_ref(), Some(value));
    }
    store.delete_state("p", StateScope::Session(a), "k").await.unwrap();
    store.delete_state("p", StateScope::Session(a), "k").await.unwrap();
    assert_eq!(store.state("p", StateScope::Session(a), "k").await.unwrap(), None);
    store.delete(b).await.unwrap();
    for (plugin, scope, value) in &kept {
        if *scope == StateScope::Shared || (*plugin, *scope) == ("q", StateScope::Session(a)) {
            assert_eq!(store.state(plugin, *scope, "k").await.unwrap().as_ref(), Some(value));
        }
    }
}

async fn prefixes(fixture: Fixture) {
    let store = &fixture.store;
    for key in ["b", "a/2", "a/1", "a", "A", "", "a%", "é"] {
        store.set_state("p", StateScope::Shared, key, b"").await.unwrap();
    }
    let keys = async |prefix: &str| store.state_keys("p", StateScope::Shared, prefix).await.unwrap();
    assert_eq!(keys("").await, ["", "A", "a", "a%", "a/1", "a/2", "b", "é"]);
    assert_eq!(keys("a/").await, ["a/1", "a/2"]);
    assert_eq!(keys("a%").await, ["a%"]);
    assert_eq!(keys("z").await, Vec::<String>::new());
    assert_eq!(store.state_keys("q", StateScope::Shared, "").await.unwrap(), Vec::<String>::new());
}

async fn limits(fixture: Fixture) {
    let store = &fixture.store;
    let limits = StateLimits::default();
    let bytes = |count: u64| vec![0; usize::try_from(count).unwrap()];
    let too_large = |error: &StoreError| matches!(error, StoreError::TooLarge { .. });
    let long_key = "k".repeat(usize::try_from(limits.key).unwrap() + 1);
    let error = store.set_state("p", StateScope::Shared, &long_key, b"").await.unwrap_err();
    assert!(too_large(&error), "{error:?}");
    let error = store.set_state("p", StateScope::Shared, "k", &bytes(limits.value + 1)).await.unwrap_err();
    assert!(too_large(&error), "{error:?}");

    let whole_values = limits.total / limits.value;
    for number in 0..whole_values - 1 {
        store.set_state("p", StateScope::Shared, &format!("{number}"), &bytes(limits.value)).await.unwrap();
    }
    let error = store.set_state("p", StateScope::Shared, "last", &bytes(limits.value)).await.unwrap_err();
    assert!(too_large(&error), "{error:?}");
    assert_eq!(store.state("p", StateScope::Shared, "last").await.unwrap(), None);
    // In place of another it fits, and what others keep does not count.
    store.set_state("p", StateScope::Shared, "0", &bytes(limits.value)).await.unwrap();
    store.set_state("q", StateScope::Shared, "last", &bytes(limits.value)).await.unwrap();
    store.delete_state("p", StateScope::Shared, "0").await.unwrap();
    store.set_state("p", StateScope::Shared, "last", &bytes(limits.value)).await.unwrap();
}
