//! Files that are no plugins, or only parts of one.

use contextengine::plugin::{LoadError, LoadOptions, Plugin};
use contextengine_tests::component;

use crate::abi::{STRATEGY, dummy, refused};
use crate::fixture::{limits, load, on_both, others_still_work, runtime};

#[test]
fn other_files_are_called_what_they_are() {
    on_both(|| async {
        for (bytes, words) in [
            (&b""[..], "the file is empty"),
            (b"(component)", "WebAssembly text; turn it into a binary with `wasm-tools parse`"),
            (b";; a comment\n(module)", "WebAssembly text"),
            (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0", "a native library or program"),
            (b"#!/bin/sh\n", "not WebAssembly at all"),
            (&[0xff; 4096], "not WebAssembly at all"),
        ] {
            let error = refused(bytes).await;
            assert!(matches!(error, LoadError::NotWasm { .. }), "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
    });
}

#[test]
fn a_core_module_is_told_how_to_become_a_component() {
    on_both(|| async {
        let error = refused(b"\0asm\x01\0\0\0").await;
        assert_eq!(error, LoadError::CoreModule);
        assert!(error.to_string().contains("wasm-tools component new"), "{error}");
    });
}

#[test]
fn a_component_that_was_cut_anywhere_is_refused() {
    on_both(|| async {
        let whole = dummy(STRATEGY, |text| text);
        // Every byte of the beginning, then every seventh: the parser sees the same kinds of places again.
        for length in (0..200).chain((200..whole.len()).step_by(7)) {
            let error = Plugin::load(&runtime(), &whole[..length], LoadOptions::default()).await.unwrap_err();
            assert!(
                matches!(
                    error,
                    LoadError::NotWasm { .. }
                        | LoadError::Malformed { .. }
                        | LoadError::NoPlugin { .. }
                        | LoadError::NoHook
                        | LoadError::Describe(_)
                ),
                "{length} of {}: {error:?}",
                whole.len()
            );
        }
        others_still_work().await;
    });
}

#[test]
fn a_real_component_that_was_cut_is_refused() {
    on_both(|| async {
        let whole = component("hostile-guest");
        // The last sections hold names: without them it is still a component.
        for length in (0..whole.len() * 9 / 10).step_by(997) {
            let error = Plugin::load(&runtime(), &whole[..length], LoadOptions::default()).await.unwrap_err();
            assert!(
                matches!(error, LoadError::NotWasm { .. } | LoadError::Malformed { .. } | LoadError::NoPlugin { .. }),
                "{length} of {}: {error:?}",
                whole.len()
            );
        }
        others_still_work().await;
    });
}

#[test]
fn a_component_with_a_damaged_byte_loads_or_is_refused_but_breaks_nothing() {
    on_both(|| async {
        let whole = dummy(STRATEGY, |text| text);
        for at in (0..whole.len()).step_by(37) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x15;
            // It holds no code, so it cannot get further than `describe`.
            Plugin::load(&runtime(), &damaged, LoadOptions::default()).await.unwrap_err();
        }
        others_still_work().await;
    });
}

#[test]
fn damage_is_reported_with_its_place() {
    on_both(|| async {
        let whole = component("hostile-guest");
        let error = refused(&whole[..whole.len() / 2]).await;
        let LoadError::Malformed { offset, .. } = error else { panic!("{error}") };
        assert!(offset > 0 && offset <= whole.len() as u64, "{offset}");
    });
}

#[test]
fn the_api_version_that_an_sdk_wrote_is_read_before_anything_is_compiled() {
    on_both(|| async {
        let name = b"contextengine:api-version";
        let mut bytes = component("hostile-guest");
        let at = bytes.windows(name.len()).position(|window| window == name).expect("the SDK writes it");
        let version = at + name.len()..at + name.len() + 5;
        assert_eq!(&bytes[version.clone()], b"0.1.0");
        bytes[version].copy_from_slice(b"0.3.0");
        let error = refused(&bytes).await;
        assert!(matches!(&error, LoadError::ApiVersion { plugin, newer: true, .. } if plugin == "0.3.0"), "{error}");
    });
}

#[test]
fn a_plugin_that_needs_more_memory_than_it_may_have_is_not_started() {
    on_both(|| async {
        let little = LoadOptions::default().limits(limits(|limits| limits.memory_bytes = 512 << 10));
        let error = load(little).await.unwrap_err();
        let LoadError::Memory { required, limit } = error else { panic!("{error}") };
        assert!(required > limit && limit == 512 << 10, "{required}");
        assert!(error.to_string().contains("may have 512 KiB; raise `limits = { memory = … }`"), "{error}");
    });
}
