//! Components that were built for another plugin API than this host serves.
//!
//! They are made from the WIT files of the repository with one thing changed, and hold no code: a component that does
//! not fit must be refused before any of it runs.

use std::fs;
use std::path::Path;

use contextengine::plugin::{API_VERSION, LoadError, LoadOptions, Plugin};
use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{LiftLowerAbi, ManglingAndAbi, Resolve};

use crate::fixture::{on_both, others_still_work, runtime};

/// What most tests build: one hook and all of the host.
pub(crate) const STRATEGY: &str = "world test { include host; export plugin; export compressor; }";

/// A component without code for this world, with the WIT files of the repository changed by `change`.
pub(crate) fn dummy(world: &str, change: impl Fn(String) -> String) -> Vec<u8> {
    dummy_with_package(world, None, change)
}

/// The same with a package of another name beside the plugin API.
fn dummy_with_package(world: &str, other: Option<&str>, change: impl Fn(String) -> String) -> Vec<u8> {
    build(world, other, change, LiftLowerAbi::Sync)
}

fn build(world: &str, other: Option<&str>, change: impl Fn(String) -> String, abi: LiftLowerAbi) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    for name in ["types.wit", "host.wit", "hooks.wit"] {
        let text = fs::read_to_string(wit.join(name)).unwrap();
        fs::write(folder.path().join(name), change(text)).unwrap();
    }
    let worlds = fs::read_to_string(wit.join("worlds.wit")).unwrap();
    let host = &worlds[worlds.find("world host").unwrap()..worlds.find("// What a plugin exports").unwrap()];
    let text = format!("package contextengine:plugin@{API_VERSION};\n{host}\n{world}\n");
    fs::write(folder.path().join("worlds.wit"), change(text)).unwrap();
    if let Some(other) = other {
        fs::create_dir_all(folder.path().join("deps/other")).unwrap();
        fs::write(folder.path().join("deps/other/other.wit"), other).unwrap();
    }

    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(folder.path()).unwrap();
    let world = resolve.select_world(&[package], Some("test")).unwrap();
    let mut module = dummy_module(&resolve, world, ManglingAndAbi::Legacy(abi));
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

/// Replaces a part of the WIT files; it must be there.
fn replace(from: &'static str, to: &'static str) -> impl Fn(String) -> String {
    let files = ["types.wit", "host.wit", "hooks.wit"]
        .map(|name| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit").join(name)).unwrap());
    assert!(files.iter().any(|text| text.contains(from)), "{from} is in no WIT file");
    move |text| text.replace(from, to)
}

pub(crate) async fn refused(bytes: &[u8]) -> LoadError {
    let error = Plugin::load(&runtime(), bytes, LoadOptions::default()).await.unwrap_err();
    others_still_work().await;
    error
}

#[test]
fn a_component_that_fits_gets_as_far_as_being_run() {
    on_both(|| async {
        let error = refused(&dummy(STRATEGY, |text| text)).await;
        assert!(matches!(error, LoadError::Describe(_)), "{error}");
        assert!(error.to_string().contains("cannot describe itself: `describe` broke off"), "{error}");
    });
}

#[test]
fn another_version_of_the_api_is_named_for_users_and_for_authors() {
    on_both(|| async {
        let newer: fn(String) -> String = |text| text.replace("@0.1.0", "@0.2.0");
        let older: fn(String) -> String = |text| text.replace("@0.1.0", "@0.0.9");
        let major: fn(String) -> String = |text| text.replace("@0.1.0", "@1.0.0");
        for (change, version, advice) in [
            (newer, "0.2.0", "For users: update this program"),
            (major, "1.0.0", "For users: update this program"),
            (older, "0.0.9", "For users: get a newer release of the plugin"),
        ] {
            let error = refused(&dummy(STRATEGY, change)).await;
            assert!(matches!(&error, LoadError::ApiVersion { plugin, .. } if plugin == version), "{error}");
            let text = error.to_string();
            assert!(text.contains(&format!("uses plugin API {version}, this host serves 0.1.0")), "{text}");
            assert!(text.contains(advice), "{text}");
            assert!(text.contains("For authors: build against contextengine-sdk 0.1.0"), "{text}");
        }
    });
}

#[test]
fn a_later_version_of_the_same_line_is_served_as_long_as_it_asks_for_nothing_new() {
    on_both(|| async {
        let error = refused(&dummy(STRATEGY, |text| text.replace("@0.1.0", "@0.1.7"))).await;
        assert!(matches!(error, LoadError::Describe(_)), "{error}");

        let later = |text: String| {
            text.replace("@0.1.0", "@0.1.7")
                .replace("interface log {", "interface log {\n  metrics: func(name: string);")
        };
        let error = refused(&dummy(STRATEGY, later)).await;
        let LoadError::UnknownFunction { interface, function, .. } = &error else { panic!("{error}") };
        assert_eq!((interface.as_str(), function.as_str()), ("contextengine:plugin/log@0.1.7", "metrics"));
        assert!(error.to_string().contains("For users: update this program"), "{error}");
    });
}

#[test]
fn a_pre_release_fits_no_host() {
    on_both(|| async {
        let error = refused(&dummy(STRATEGY, |text| text.replace("@0.1.0", "@0.1.0-rc.1"))).await;
        assert!(matches!(&error, LoadError::ApiVersion { plugin, .. } if plugin == "0.1.0-rc.1"), "{error}");
    });
}

#[test]
fn an_interface_without_one_of_its_functions_is_refused_by_name() {
    on_both(|| async {
        let change = replace("compress: func(view: borrow<view>, request: request) -> result<outcome, failure>;", "");
        let error = refused(&dummy(STRATEGY, change)).await;
        let LoadError::MissingFunction { interface, function, .. } = &error else { panic!("{error}") };
        assert_eq!((interface.as_str(), function.as_str()), ("contextengine:plugin/compressor@0.1.0", "compress"));
        assert!(error.to_string().contains("lacks the function `compress`"), "{error}");
    });
}

#[test]
fn a_function_of_another_shape_is_refused_with_the_place_that_differs() {
    on_both(|| async {
        for (from, to, interface, place) in [
            ("pressure: pressure) -> decision;", "pressure: pressure) -> bool;", "compressor", "result"),
            ("describe: func() -> description;", "describe: func() -> string;", "plugin", "result"),
            ("configure: func(config: string) ->", "configure: func() ->", "plugin", "its 0 parameters"),
            ("target: u32,", "target: u64,", "compressor", "request.target"),
            ("target: u32,", "target: u32, more: u32,", "compressor", "request"),
            ("  /// Nobody is waiting.\n    idle,", "", "compressor", "trigger"),
            ("declined(string),", "declined(u32),", "compressor", "result.err.declined"),
            ("count: func(text: string) -> u32;", "count: func(text: string) -> string;", "tokens", "result"),
            ("reduced,\n  }", "reduced, seen,\n  }", "types", "result.marks"),
            ("fetch: func(id: string, limit: option<u32>)", "fetch: func(id: string, limit: u32)", "recall", "limit"),
        ] {
            let error = refused(&dummy(STRATEGY, replace(from, to))).await;
            let LoadError::Signature { interface: found, detail, .. } = &error else { panic!("{to}: {error}") };
            assert_eq!(*found, format!("contextengine:plugin/{interface}@0.1.0"), "{error}");
            assert!(detail.ends_with(place) || detail.contains(place), "{place}: {error}");
            assert!(error.to_string().contains("another shape than in plugin API 0.1.0"), "{error}");
        }
    });
}

#[test]
fn a_component_that_is_no_plugin_is_told_what_it_lacks() {
    on_both(|| async {
        let error = refused(&dummy("world test { export compressor; }", |text| text)).await;
        assert!(matches!(error, LoadError::NoPlugin { .. }), "{error}");
        assert!(error.to_string().contains("it exports contextengine:plugin/compressor@0.1.0"), "{error}");

        let error = refused(&dummy("world test { export run: func(); }", |text| text)).await;
        assert!(error.to_string().contains("does not export `contextengine:plugin/plugin`"), "{error}");
        assert!(error.to_string().contains("it exports run"), "{error}");

        let error = refused(&dummy("world test { export plugin; }", |text| text)).await;
        assert!(matches!(error, LoadError::NoHook), "{error}");
        assert!(error.to_string().contains("exports no hook; export at least one of compressor"), "{error}");
    });
}

#[test]
fn exports_of_other_toolchains_are_ignored() {
    on_both(|| async {
        let world = "world test { include host; export plugin; export compressor; export init: func(); \
                     export exports: interface { more: func() -> string; } }";
        let error = refused(&dummy(world, |text| text)).await;
        assert!(matches!(error, LoadError::Describe(_)), "{error}");
    });
}

#[test]
fn an_import_that_no_plugin_is_given_is_refused_with_the_reason() {
    on_both(|| async {
        for (package, import, words) in [
            ("wasi:http@0.2.0", "wasi:http/things@0.2.0", "plugins have no network"),
            ("wasi:cli@0.3.0", "wasi:cli/things@0.3.0", "only version 0.2 is served, not 0.3.0"),
            ("wasi:cli@0.2.0", "wasi:cli/things@0.2.0", "wasi:cli/things@0.2.0"),
            ("acme:tools@1.0.0", "acme:tools/things@1.0.0", "interfaces of contextengine:plugin and of WASI 0.2"),
        ] {
            let world = format!("world test {{ import {import}; export plugin; export compressor; }}");
            let other = format!("package {package};\ninterface things {{ act: func(); }}");
            let error = refused(&dummy_with_package(&world, Some(&other), |text| text)).await;
            assert!(matches!(&error, LoadError::UnknownImport { import: found, .. } if found == import), "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
    });
}

#[test]
fn an_interface_that_the_api_does_not_have_is_refused() {
    on_both(|| async {
        let change =
            |text: String| text.replace("interface log {", "interface network { connect: func(); }\ninterface log {");
        let world = "world test { import network; export plugin; export compressor; }";
        let error = refused(&dummy(world, change)).await;
        assert!(error.to_string().contains("plugin API 0.1.0 has no interface `network`"), "{error}");
    });
}

#[test]
fn a_component_that_was_built_for_asynchronous_calls_is_told_how_to_build_it() {
    on_both(|| async {
        let error = refused(&build(STRATEGY, None, |text| text, LiftLowerAbi::AsyncCallback)).await;
        assert!(matches!(error, LoadError::Compile { .. }), "{error:?}");
        assert!(error.to_string().contains("build it for synchronous calls"), "{error}");
    });
}
