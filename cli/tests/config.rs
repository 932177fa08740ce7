//! `ctxe config`: what it finds wrong, what it shows, and what it ends with.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use std::path::Path;

use serde_json::Value;

use common::{Folder, Run, golden, hostile_guest};

/// A file of the user and one of a project, with some of everything.
fn project(folder: &Folder) {
    std::fs::create_dir_all(folder.path("config/contextengine")).unwrap();
    folder.write(
        "config/contextengine/config.toml",
        "[window]\nmodel = \"gpt-5\"\n\n[slots]\ncompress = [\"regex-anchors\"]\nstrict = true\n\n\
         [plugins.regex-anchors.config]\nkeep_recent_tokens = 10_000\n",
    );
    folder.write(
        "contextengine.toml",
        "[window]\ntokens = 64_000\n\n[trigger]\nat = \"75%\"\n\n[plugins.regex-anchors.config.budgets]\ngoal = 700\n",
    );
}

/// As a user whose own files are in the folder.
fn run(folder: &Folder, arguments: &[&str]) -> Run {
    let mut command = folder.command(arguments);
    command.env("XDG_CONFIG_HOME", folder.path("config"));
    Run::of(command.output().unwrap())
}

#[test]
fn check_shows_who_owns_what_and_where_that_is_configured() {
    let folder = Folder::new();
    project(&folder);
    let checked = run(&folder, &["config", "check"]).ends(0);
    assert_eq!(checked.err, "");
    golden("config-check.txt", &checked.out);
    let report = run(&folder, &["config", "check", "--json"]).ends(0).json();
    assert_eq!(report["right"], true);
    assert_eq!(report["slots"]["compress"][0]["plugin"], "regex-anchors");
    assert_eq!(report["slots"]["compress"][0]["configured"], "config/contextengine/config.toml:5");
}

#[test]
fn check_shows_every_error_with_its_line_and_ends_with_2() {
    let folder = Folder::new();
    folder.write(
        "contextengine.toml",
        "[window]\ntokns = 200_000\ntokens = \"many\"\n\n[slots]\ningest = \"a\"\ningest = \"b\"\n\n\
         [plugins.a]\npath = \"a.wasm\"\n\n[model]\n\tapi_key = \"hunter2\"\n",
    );
    let checked = run(&folder, &["config", "check"]).ends(2);
    assert_eq!(checked.out, "");
    assert!(!checked.err.contains("hunter2"), "{}", checked.err);
    // The folder to trust is named in full.
    let here = folder.path("").canonicalize().unwrap();
    golden("config-wrong.txt", &checked.err.replace(here.to_str().unwrap().trim_end_matches('/'), "HERE"));
    let report = run(&folder, &["config", "check", "--json"]).ends(2).json();
    assert_eq!(report["right"], false);
    let problems = report["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 5, "{report:#}");
    assert_eq!(problems[0]["place"]["line"], 2);
    assert_eq!(problems[0]["place"]["key"], "window.tokns");
    // Nothing that is wrong is shown as if it held.
    run(&folder, &["config", "show"]).fails(2, &["tokns", "the configuration has 5 errors"]);
}

#[test]
fn check_blames_the_line_of_a_plugins_configuration() {
    let folder = Folder::new();
    folder.write(
        "contextengine.toml",
        "[slots]\ncompress = [\"regex-anchors\", \"regex-ankers\"]\n\n[plugins.regex-anchors.config]\nkeep_recent_tokns = 5\n\n\
         [plugins.regex-anchors.config.budgets]\ngoal = \"x\"\n",
    );
    let checked = run(&folder, &["config", "check"]).ends(2);
    golden("config-wrong-plugin.txt", &checked.err);
}

#[test]
fn show_prints_a_file_that_says_the_same() {
    let folder = Folder::new();
    project(&folder);
    let arguments = ["config", "show", "--set", "trigger.target=5_000"];
    let shown = run(&folder, &arguments).ends(0);
    golden("config-show.txt", &shown.out);
    let json = run(&folder, &["config", "show", "--set", "trigger.target=5_000", "--json"]).ends(0);
    golden("config-show.json", &json.out);
    folder.write("again.toml", &shown.out);
    let again = run(&folder, &["config", "show", "--config-file", "again.toml", "--json"]).ends(0).json();
    assert_eq!(again["settings"], json.json()["settings"]);
}

#[test]
fn the_defaults_are_a_file_that_is_right() {
    let folder = Folder::new();
    project(&folder);
    let shown = run(&folder, &["config", "show", "--defaults"]).ends(0);
    golden("config-defaults.txt", &shown.out);
    folder.write("defaults.toml", &shown.out);
    run(&folder, &["config", "check", "--config-file", "defaults.toml"]).ends(0);
}

#[test]
fn a_project_that_nobody_trusts_is_told_what_it_may_not_and_how_to_be_trusted() {
    let folder = Folder::new();
    let guest = hostile_guest();
    folder.write(
        "contextengine.toml",
        format!("[slots]\ncompress = \"hostile-guest\"\n[plugins.hostile-guest]\npath = {guest:?}\n"),
    );
    let refused = run(&folder, &["config", "check"]).ends(2);
    for words in ["a project may not set `plugins.hostile-guest.path` by itself", "[trust] projects", "--trust-project"]
    {
        assert!(refused.err.contains(words), "{}", refused.err);
    }
    run(&folder, &["config", "check", "--trust-project"]).ends(0);
    std::fs::create_dir_all(folder.path("config/contextengine")).unwrap();
    let here = folder.path("").display().to_string();
    folder.write("config/contextengine/config.toml", format!("[trust]\nprojects = [{here:?}]\n"));
    let checked = run(&folder, &["config", "check"]).ends(0);
    assert!(checked.out.contains("contextengine.toml (trusted)"), "{}", checked.out);
}

#[test]
fn path_says_which_files_are_read() {
    let folder = Folder::new();
    run(&folder, &["config", "path", "project"]).fails(2, &["this folder has no contextengine.toml"]);
    project(&folder);
    let user = run(&folder, &["config", "path", "user"]).ends(0).out;
    assert_eq!(Path::new(user.trim_end()), folder.path("config/contextengine/config.toml"));
    let project = run(&folder, &["config", "path", "project"]).ends(0).out;
    assert!(project.ends_with("/contextengine.toml\n"), "{project}");
    let both = run(&folder, &["config", "path"]).ends(0).out;
    assert_eq!(both.lines().count(), 2, "{both}");
}

#[test]
fn the_schema_knows_the_configurations_of_the_built_in_plugins() {
    let folder = Folder::new();
    let schema = run(&folder, &["config", "schema"]).ends(0).json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let of_plugin =
        "/properties/plugins/properties/regex-anchors/properties/config/properties/max_summary_tokens/default";
    assert_eq!(schema.pointer(of_plugin), Some(&Value::from(12_000)));
}

#[test]
fn the_example_is_right() {
    let folder = Folder::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/contextengine.toml");
    let checked = run(&folder, &["config", "check", "--config-file", example.to_str().unwrap()]).ends(0);
    assert!(checked.out.contains("The configuration is right."), "{}", checked.out);
}

#[test]
fn words_of_files_do_not_steer_the_terminal() {
    let folder = Folder::new();
    folder.write("contextengine.toml", "[window]\n\"\\u001b[2J\" = 1\n[gate]\npolicy = \"\u{202e}off\"\n");
    let checked = run(&folder, &["config", "check"]).ends(2);
    assert!(!checked.err.contains('\u{1b}') && !checked.err.contains('\u{202e}'), "{:?}", checked.err);
}
