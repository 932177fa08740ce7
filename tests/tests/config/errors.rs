//! Every error with its smallest file: file, line, column, key, and what to do.

use contextengine::config::{Layers, ProblemKind};

use crate::{Folder, load, problems};

#[track_caller]
fn says(text: &str, expected: &[&str]) {
    assert_eq!(problems(text).lines().collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn what_is_no_toml_is_shown_where_it_breaks() {
    says("[window\n", &["c.toml:1:8: this is no TOML: unclosed table, expected `]`"]);
    says("tokens 5\n", &["c.toml:1:8: this is no TOML: key with no value, expected `=`"]);
}

#[test]
fn all_errors_of_a_file_are_reported_together_in_their_order() {
    says(
        "[window]\ntokns = 5\ntokens 5\n[trigger]\nat = \"half\"\n[slots]\nstrict = 1\n",
        &[
            "c.toml:2:1, key `window.tokns`: there is no key `tokns` in [window]; did you mean `tokens`?",
            "c.toml:3:8: this is no TOML: key with no value, expected `=`",
            "c.toml:5:6, key `trigger.at`: `half` is not a threshold, as in \"window - reserve\", \"75%\" or 150_000",
            "c.toml:7:10, key `slots.strict`: this takes true or false, and a whole number stands here",
        ],
    );
}

#[test]
fn an_unknown_key_is_an_error_with_the_nearest_one_or_all() {
    says("[windw]\n", &["c.toml:1:2, key `windw`: there is no key `windw` in the file; did you mean `window`?"]);
    says(
        "x = 1\n",
        &["c.toml:1:1, key `x`: there is no key `x` in the file; there are `window`, `trigger`, `slots`, `plugins`, \
           `model`, `gate`, `models` and `trust`"],
    );
    says(
        "[plugins.x.limits]\nmemroy = \"1 MiB\"\n",
        &["c.toml:2:1, key `plugins.x.limits.memroy`: there is no key `memroy` in [plugins.x.limits]; did you mean \
           `memory`?"],
    );
}

#[test]
fn a_wrong_type_says_what_is_there_and_what_would_be_right() {
    let whole = "c.toml:2:10, key `window.tokens`: this takes a whole number, as in 16_384, and";
    for (value, found) in [
        ("\"5\"", "a text"),
        ("1.5", "a number with a point"),
        ("true", "true"),
        ("[1]", "a list"),
        ("{ a = 1 }", "a table"),
        ("1979-05-27", "a date"),
    ] {
        says(&format!("[window]\ntokens = {value}\n"), &[&format!("{whole} {found} stands here")]);
    }
    for (text, expected) in [
        (
            "window = 1\n",
            "c.toml:1:10, key `window`: this takes a table, as in [window], and a whole number stands here",
        ),
        (
            "plugins = 1\n",
            "c.toml:1:11, key `plugins`: this takes a table for each plugin, as in [plugins.name], and a whole number \
             stands here",
        ),
        (
            "[plugins]\nx = 1\n",
            "c.toml:2:5, key `plugins.x`: this takes a table, as in [plugins.x], and a whole number stands here",
        ),
        (
            "[plugins.x]\nconfig = 1\n",
            "c.toml:2:10, key `plugins.x.config`: this takes a table, as in [plugins.x.config], and a whole number \
             stands here",
        ),
        (
            "[plugins.x]\ngrant = \"model\"\n",
            "c.toml:2:9, key `plugins.x.grant`: this takes a list of names of a service, as in [\"model\"], and a text \
             stands here",
        ),
        (
            "[plugins.x.limits]\ntime = 5\n",
            "c.toml:2:8, key `plugins.x.limits.time`: this takes a time with its unit, as in \"2 min\" or \"500 ms\", \
             and a whole number stands here",
        ),
        (
            "[plugins.x.limits]\nmemory = 5\n",
            "c.toml:2:10, key `plugins.x.limits.memory`: this takes a size with its unit, as in \"64 MiB\", and a whole \
             number stands here",
        ),
        (
            "[trigger]\nat = true\n",
            "c.toml:2:6, key `trigger.at`: this takes tokens, or a text like \"75%\" or \"window - reserve\", and true \
             stands here",
        ),
        (
            "[slots]\nselect = [1]\n",
            "c.toml:2:11, key `slots.select[0]`: this takes the name of a plugin, and a whole number stands here",
        ),
        (
            "[slots]\nbranch = \"\"\n",
            "c.toml:2:10, key `slots.branch`: this takes the name of a plugin, or [], and an empty text stands here",
        ),
        (
            "[gate]\nsections = \"a\"\n",
            "c.toml:2:12, key `gate.sections`: this takes a list of texts, as in [\"## Goal\"], and a text stands here",
        ),
    ] {
        says(text, &[expected]);
    }
}

#[test]
fn a_value_out_of_range_says_the_range() {
    for (text, expected) in [
        (
            "[window]\ntokens = 0\n",
            "c.toml:2:10, key `window.tokens`: 0 is out of range; at least 1, at most 4294967295",
        ),
        (
            "[window]\nreserve = -1\n",
            "c.toml:2:11, key `window.reserve`: -1 is out of range; at least 0, at most 4294967295",
        ),
        (
            "[window]\ntokens = 99999999999999999999\n",
            "c.toml:2:10, key `window.tokens`: this number cannot be used: it has more than 64 bits",
        ),
        ("[trigger]\nat = 0\n", "c.toml:2:6, key `trigger.at`: 0 is out of range; at least 1, at most 4294967295"),
        (
            "[plugins.x.limits]\noutput = \"1 B\"\n",
            "c.toml:2:10, key `plugins.x.limits.output`: 1 B is out of range; at least 1 KiB, at most 1 GiB",
        ),
        (
            "[plugins.x.limits]\ntime = \"99 h\"\n",
            "c.toml:2:8, key `plugins.x.limits.time`: 99 h is out of range; at least 1 ms, at most 24 h",
        ),
        (
            "[plugins.x.config]\na = inf\n",
            "c.toml:2:5, key `plugins.x.config.a`: this number cannot be used: it must be a finite one",
        ),
    ] {
        says(text, &[expected]);
    }
}

#[test]
fn a_text_that_is_not_of_its_form_is_shown_with_an_example() {
    for (text, expected) in [
        (
            "[plugins.x.limits]\nmemory = \"64 MBB\"\n",
            "c.toml:2:10, key `plugins.x.limits.memory`: `64 MBB` is not a size, as in \"64 MiB\"",
        ),
        (
            "[plugins.x.limits]\ntime = \"2 minutes\"\n",
            "c.toml:2:8, key `plugins.x.limits.time`: `2 minutes` is not a time, as in \"2 min\", \"1.5 s\" or \"500 ms\"",
        ),
        (
            "[plugins.x]\nsha256 = \"12\"\n",
            "c.toml:2:10, key `plugins.x.sha256`: `12` is not 64 hexadecimal digits, as `sha256sum` prints them",
        ),
        (
            "[plugins.X]\n",
            "c.toml:1:10, key `plugins.X`: `X` is not an id of a plugin, which is a small letter, then small letters, \
             digits and hyphens",
        ),
        (
            "[trust]\nprojects = [\"a\"]\n",
            "c.toml:2:13, key `trust.projects[0]`: `a` is not an absolute path, or one that begins with `~/`",
        ),
        (
            "[model]\nprovider = \"openai\"\nname = \"m\"\nbase_url = \"localhost\"\n",
            "c.toml:4:12, key `model.base_url`: `localhost` is not a URL, as in \"https://example.com/v1\"",
        ),
    ] {
        let said = problems(text);
        assert!(said.lines().any(|line| line == expected), "{said}");
    }
}

#[test]
fn a_name_that_is_none_of_those_that_there_are_comes_with_them() {
    says(
        "[plugins.x]\ngrant = [\"modl\"]\n",
        &[
            "c.toml:2:10, key `plugins.x.grant[0]`: there is no service `modl`; did you mean `model`? There are `model`, \
           `recall` and `files`",
        ],
    );
    says(
        "[gate]\npolicy = \"strct\"\n",
        &["c.toml:2:10, key `gate.policy`: there is no policy `strct`; did you mean `strict`? There are `off`, \
           `identifiers` and `strict`"],
    );
    says(
        "[window]\ntokenizer = \"p50k\"\n",
        &[
            "c.toml:2:13, key `window.tokenizer`: there is no tokenizer `p50k`; there are `o200k_base` and `cl100k_base`",
        ],
    );
    says(
        "[window]\nmodel = \"gpt-4p\"\n",
        &[
            "c.toml:2:9, key `window.model`: the window of the model `gpt-4p` is not known (did you mean `gpt-4o`?); write \
           tokens = … instead, or add [models.gpt-4p] with window = …",
        ],
    );
}

#[test]
fn a_key_that_is_there_twice_is_shown_at_both_places() {
    says(
        "[window]\ntokens = 2000\ntokens = 3000\n",
        &["c.toml:3:1, key `window.tokens`: `window.tokens` is there twice; leave one out (it is there first: \
           c.toml:2:1, key `window.tokens`)"],
    );
}

#[test]
fn a_slot_that_two_claim_is_a_conflict_that_names_both_and_what_to_write() {
    says(
        "[slots]\ningest = \"a\"\ningest = \"b\"\n",
        &["c.toml:3:1, key `slots.ingest`: slot `ingest` is owned by `a` (c.toml:2, key `slots.ingest`), so `b` \
           (c.toml:3, key `slots.ingest`) cannot own it too; write ingest = \"b\" or ingest = \"a\", in one place"],
    );
    says(
        "[slots]\ncompress = \"a\"\ncompress = [\"b\"]\n",
        &[
            "c.toml:3:1, key `slots.compress`: slot `compress` is owned by `a` (c.toml:2, key `slots.compress`), so `b` \
           (c.toml:3, key `slots.compress`) cannot own it too; write compress = [\"a\", \"b\"] for it to succeed the \
           owner on failure, or name one",
        ],
    );
    says(
        "[slots]\nbranch = [\"a\", \"b\"]\n",
        &["c.toml:2:16, key `slots.branch[1]`: slot `branch` is owned by `a` (c.toml:2, key `slots.branch`), so `b` \
           (c.toml:2, key `slots.branch`) cannot own it too; write branch = \"b\" or branch = \"a\", in one place"],
    );
}

#[test]
fn keys_that_exclude_each_other_are_not_said_together() {
    says(
        "[plugins.x]\npath = \"a\"\nbuiltin = true\n",
        &[
            "c.toml:3:1, key `plugins.x.builtin`: `path` and `builtin` exclude each other; leave one out (the other one: \
           c.toml:2:1, key `plugins.x.path`)",
        ],
    );
    says(
        "[window]\nmodel = \"gpt-5\"\ntokens = 5000\n",
        &["c.toml:2:1, key `window.model`: `tokens` and `model` exclude each other; leave one out (the other one: \
           c.toml:3:1, key `window.tokens`)"],
    );
}

#[test]
fn what_does_not_go_together_says_the_figures() {
    for (text, expected) in [
        (
            "[window]\ntokens = 5000\nreserve = 5000\n",
            "c.toml:3:11, key `window.reserve`: a window of 5000 tokens, less a reserve of 5000 and an overhead of 0, \
             leaves nothing for the session",
        ),
        (
            "[trigger]\ntarget = 120_000\n",
            "c.toml:2:10, key `trigger.target`: a compaction that leaves 120000 tokens leaves too much: the window has \
             room for 111616",
        ),
        (
            "[plugins.x]\nfolders = [\"a\"]\n",
            "c.toml:2:11, key `plugins.x.folders`: folders are for plugins that are granted `files`; write grant = \
             [\"files\"] in [plugins.x]",
        ),
    ] {
        says(text, &[expected]);
    }
}

#[test]
fn a_key_that_has_to_be_there_is_missed_with_its_reason() {
    for (text, expected) in [
        (
            "[model]\nname = \"m\"\n",
            "c.toml:1:2, key `model`: `model.provider` is missing: it says whose protocol the model speaks",
        ),
        (
            "[model]\nprovider = \"script\"\n",
            "c.toml:1:2, key `model`: `model.path` is missing: it is the file with the answers",
        ),
        (
            "[models.x]\n",
            "c.toml:1:9, key `models.x`: `models.x.window` is missing: such a table says the window of a model",
        ),
        (
            "[plugins.x]\nbuiltin = false\n",
            "c.toml:2:11, key `plugins.x.builtin`: `plugins.x.path` is missing: a plugin that does not ship with the \
             host is a file",
        ),
    ] {
        says(text, &[expected]);
    }
    // A key that is there and wrong is not missed too.
    says(
        "[model]\nprovider = \"anthropc\"\nname = \"m\"\n",
        &["c.toml:2:12, key `model.provider`: there is no provider `anthropc`; did you mean `anthropic`? There are \
           `openai`, `anthropic` and `script`"],
    );
}

#[test]
fn the_names_of_what_ships_with_the_host_are_reserved() {
    says(
        "[plugins.\"builtin:x\"]\n",
        &[
            "c.toml:1:10, key `plugins.\"builtin:x\"`: names that begin with `builtin:` mean what ships with the host and \
           cannot be given to another plugin; write [plugins.x] to configure the one that ships with the host",
        ],
    );
}

/// A key that nobody has.
fn key() -> String {
    format!("ghp_{}", "a1B2".repeat(9))
}

#[test]
fn a_secret_is_refused_and_never_shown() {
    let key = key();
    let model = "[model]\nprovider = \"openai\"\nname = \"m\"\n";
    for text in [
        format!("[model]\napi_key = \"{key}\"\n"),
        "[model]\napi_key = \"hunter2\"\n".to_owned(),
        format!("{model}api_key_env = \"{key}\"\n"),
        format!("{model}api_key_env = \"hunter2 hunter2\"\n"),
        format!("{model}base_url = \"https://me:hunter2@host/v1\"\n"),
        format!("{model}base_url = \"https://host/v1\"\nheaders = {{ x-title = \"Bearer {key}\" }}\n"),
        format!("{model}base_url = \"https://host/v1\"\nheaders = {{ Authorization = \"hunter2\" }}\n"),
        "[plugins.x.config]\napi_key = \"hunter2\"\n".to_owned(),
        format!("[plugins.x.config.deep]\nwords = [\"{key}\"]\n"),
        format!("[gate]\nsections = [\"{key}\"]\n"),
        // It is in the wrong place, of the wrong type, or the line is no TOML.
        format!("[window]\ntokens = \"{key}\"\n"),
        format!("[window]\ntokenizer = \"{key}\"\n"),
        format!("[plugins.x.limits]\nmemory = \"{key}\"\n"),
        format!("[model]\napi_key = {key}\n"),
        format!("[plugins.{key}]\n"),
        format!("{key} = 1\n"),
        format!("[window]\nmodel = \"{key}\"\n"),
    ] {
        let folder = Folder::new();
        let file = folder.write("c.toml", &text);
        let error = load(&file).expect_err(&text);
        let places = error.problems().iter().filter_map(|problem| problem.place.as_ref());
        let excerpts: Vec<String> = places.filter_map(|place| place.excerpt.clone()).collect();
        for shown in [error.to_string(), excerpts.join("\n")] {
            assert!(!shown.contains(&key) && !shown.contains("hunter2"), "{text}\n{shown}");
        }
    }
    let said = problems(&format!("[model]\napi_key = \"{key}\"\n"));
    assert!(said.contains("put it into an environment variable") && said.contains("api_key_env"), "{said}");
}

#[test]
fn figures_and_switches_with_the_words_of_secrets_are_none() {
    assert_eq!(problems("[plugins.x.config]\nmax_tokens = 5\nredact_password = true\ntoken_budget = 7\n"), "");
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_reason() {
    let folder = Folder::new();
    for (name, content, reason) in [
        ("bytes.toml", &b"a = 1\nb = \"\xff\"\n"[..], "line 2 is not UTF-8; save it as that"),
        (
            "large.toml",
            &vec![b'#'; (1 << 20) + 1][..],
            "it has more than 1048576 bytes, so it is hardly a file of settings",
        ),
    ] {
        let file = folder.write(name, content);
        assert_eq!(folder.shown(load(&file).unwrap_err()), format!("cannot read {name}: {reason}"));
    }
    assert_eq!(
        folder.shown(load(&folder.path("none.toml")).unwrap_err()),
        "cannot read none.toml: there is no such file"
    );
    std::fs::create_dir(folder.path("folder.toml")).unwrap();
    let error = load(&folder.path("folder.toml")).unwrap_err();
    assert_eq!(folder.shown(error), "cannot read folder.toml: it is a folder; name the file in it");
    // The user's own file need not be there.
    assert!(Layers::new().user(folder.path("none.toml")).load().is_ok());
}

#[test]
fn what_is_wrong_with_an_argument_names_the_argument() {
    for (set, expected) in [
        (
            "window.tokns=5000",
            "--set window.tokns on the command line: there is no key `tokns` in [window]; did you mean `tokens`?",
        ),
        (
            "window.tokens=0",
            "--set window.tokens on the command line: 0 is out of range; at least 1, at most 4294967295",
        ),
        ("window", "--set window on the command line: `window` is not KEY=VALUE, as in trigger.at=75%"),
        ("=5", "--set  on the command line: `` is not KEY=VALUE, as in trigger.at=75%"),
        (
            "trust.projects=[]",
            "--set trust.projects on the command line: `trust.projects` belongs in your own file only: a project cannot say that it is to be trusted",
        ),
    ] {
        assert_eq!(Layers::new().set(set).load().unwrap_err().to_string(), expected);
    }
    let twice = Layers::new().set("trigger.at=1000").set("trigger.at=2000").load().unwrap_err();
    assert_eq!(twice.to_string(), "--set trigger.at on the command line: `trigger.at` is there twice; leave one out");
    let held = Layers::new().set("slots.ingest=a").set("slots.ingest=b").load().unwrap_err();
    assert!(matches!(held.problems()[0].kind, ProblemKind::Claim(_)), "{held}");
    // The value of an argument may be a secret in the wrong place.
    let secret = Layers::new().set(format!("gate.policy={}", key())).load().unwrap_err();
    assert!(!secret.to_string().contains(&key()), "{secret}");
}
