//! The file of a project comes with a repository that somebody cloned: it gives no plugin what the user did not.

use contextengine::config::{ConfigError, Layers, ProblemKind};
use proptest::prelude::*;

use crate::Folder;

/// A user's file and that of a project in a folder of its own.
fn layers(folder: &Folder, user: &str, project: &str) -> Layers {
    let user = folder.write("user.toml", user);
    folder.write("repo/contextengine.toml", project);
    Layers::new().user(user).project(folder.path("repo"))
}

fn refused(error: &ConfigError) -> Vec<String> {
    let key = |kind: &ProblemKind| match kind {
        ProblemKind::Untrusted { key, .. } => Some(key.clone()),
        _ => None,
    };
    error.problems().iter().filter_map(|problem| key(&problem.kind)).collect()
}

/// What a project may not say, key by key.
const ASKED: [&str; 18] = [
    "plugins.x.path = \"x.wasm\"",
    "plugins.x.sha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"",
    "plugins.x.grant = [\"model\"]",
    "plugins.x.folders = [\"/\"]",
    "plugins.x.limits.memory = \"65 MiB\"",
    "plugins.x.limits.time = \"121 s\"",
    "plugins.x.limits.decision_time = \"2 s\"",
    "plugins.x.limits.observer_time = \"6 s\"",
    "plugins.x.limits.setup_time = \"11 s\"",
    "plugins.x.limits.output = \"17 MiB\"",
    "plugins.x.limits.log = \"65 KiB\"",
    "plugins.x.limits.model_calls = 17",
    "plugins.x.limits.model_tokens = 2_000_001",
    "plugins.x.limits.state = \"2 MiB\"",
    "model.provider = \"openai\"",
    "model.name = \"m\"",
    "model.base_url = \"https://example.com\"",
    "model.api_key_env = \"HOME\"",
];

#[test]
fn a_project_that_nobody_trusts_may_not_load_grant_raise_or_name_a_model() {
    for line in ASKED {
        let folder = Folder::new();
        let error = layers(&folder, "", &format!("{line}\n")).load().expect_err(line);
        let key = line.split(' ').next().unwrap();
        assert!(refused(&error).contains(&key.to_owned()), "{line}: {error}");
        let said = folder.shown(&error);
        assert!(said.starts_with("repo/contextengine.toml:1:"), "{said}");
        assert!(
            said.contains("[trust] projects") && said.contains("user.toml") && said.contains("--trust-project"),
            "{said}"
        );
    }
}

#[test]
fn a_project_that_nobody_trusts_may_choose_configure_and_lower() {
    let folder = Folder::new();
    let project = "
        [window]\ntokens = 64_000
        [trigger]\nat = \"75%\"
        [slots]\ncompress = [\"regex-anchors\"]\nstrict = true
        [gate]\npolicy = \"identifiers\"
        [models.mine]\nwindow = 5_000
        [plugins.regex-anchors]\nbuiltin = true
        [plugins.regex-anchors.config]\nkeep_recent_tokens = 5
        [plugins.regex-anchors.limits]\nmemory = \"64 MiB\"\ntime = \"1 s\"\nmodel_calls = 0
    ";
    let config = layers(&folder, "", project).load().unwrap();
    assert_eq!(config.plugins()["regex-anchors"].limits.model_calls, 0);
    assert!(!config.files()[1].trusted);
}

#[test]
fn a_limit_may_go_up_to_what_the_user_set_and_not_beyond() {
    let folder = Folder::new();
    let user = "[plugins.x.limits]\nmemory = \"128 MiB\"\ntime = \"1 s\"\n";
    for (line, fine) in [
        ("memory = \"128 MiB\"", true),
        ("memory = \"129 MiB\"", false),
        // Below the default, and above what the user set.
        ("time = \"2 s\"", false),
        ("time = \"500 ms\"", true),
    ] {
        let loaded = layers(&folder, user, &format!("[plugins.x.limits]\n{line}\n")).load();
        assert_eq!(loaded.is_ok(), fine, "{line}");
    }
}

#[test]
fn what_the_user_said_already_may_be_said_again() {
    let folder = Folder::new();
    let text = "[plugins.x]\ngrant = [\"recall\"]\n";
    let config = layers(&folder, text, text).load().unwrap();
    assert_eq!(config.plugins()["x"].grants.len(), 1);
    assert!(layers(&folder, text, "[plugins.x]\ngrant = [\"recall\", \"model\"]\n").load().is_err());
}

#[test]
fn the_user_trusts_a_folder_and_all_below_it_by_name_or_for_once() {
    let folder = Folder::new();
    let project = format!("{}\n{}\n", ASKED[0], ASKED[2]);
    let real = folder.path("").canonicalize().unwrap();
    let trusts = |path: &std::path::Path| format!("[trust]\nprojects = [{:?}]\n", path.display().to_string());
    assert!(layers(&folder, "", &project).load().is_err());
    for trusted in [folder.path("repo"), folder.path(""), real.join("repo")] {
        let config = layers(&folder, &trusts(&trusted), &project).load().unwrap();
        assert!(config.files()[1].trusted, "{trusted:?}");
    }
    for other in [folder.path("rep"), folder.path("repo/below"), folder.path("repo2")] {
        assert!(layers(&folder, &trusts(&other), &project).load().is_err(), "{other:?}");
    }
    assert!(layers(&folder, "", &project).trust_project(true).load().is_ok());
}

#[cfg(unix)]
#[test]
fn a_link_in_a_trusted_folder_makes_nothing_trusted() {
    let folder = Folder::new();
    folder.write("foreign/contextengine.toml", format!("{}\n", ASKED[0]));
    std::fs::create_dir_all(folder.path("mine")).unwrap();
    std::os::unix::fs::symlink(folder.path("foreign"), folder.path("mine/link")).unwrap();
    let user =
        folder.write("user.toml", format!("[trust]\nprojects = [{:?}]\n", folder.path("mine").display().to_string()));
    let error = Layers::new().user(user).project(folder.path("mine/link")).load().unwrap_err();
    assert_eq!(refused(&error), ["plugins.x.path"]);
}

#[test]
fn a_project_cannot_trust_itself() {
    for trust in [false, true] {
        let folder = Folder::new();
        let layers = layers(&folder, "", "[trust]\nprojects = [\"/\"]\n").trust_project(trust);
        let error = layers.load().unwrap_err();
        assert!(matches!(error.problems()[0].kind, ProblemKind::NotHere { .. }), "{error}");
    }
}

proptest! {
    /// Whatever lines come together: with a key that is asked for, the file is refused; without, it is not.
    #[test]
    fn no_company_makes_a_line_fine_that_is_not(lines in prop::collection::btree_set(0..ASKED.len(), 0..6), free in any::<bool>()) {
        let folder = Folder::new();
        let mut text: String = lines.iter().map(|line| format!("{}\n", ASKED[*line])).collect();
        if free {
            text += "trigger.at = 5_000\nplugins.x.limits.log = \"1 KiB\"\n".split_once('\n').map_or("", |(first, _)| first);
            text += "\n";
        }
        let loaded = layers(&folder, "", &text).load();
        match loaded {
            Ok(_) => prop_assert!(lines.is_empty()),
            Err(error) => prop_assert_eq!(refused(&error).len(), lines.len(), "{}", error),
        }
    }
}
