//! Whatever is in a file, reading it ends with a configuration or with errors.

use contextengine::config::{Layers, as_json, as_toml};
use proptest::prelude::*;

use crate::{Folder, load};

/// Pieces of files, so that what is made of them is nearly one.
const PIECES: [&str; 48] = [
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\n",
    "\r\n",
    " ",
    "\t",
    "#",
    "\"",
    "'",
    "\"\"\"",
    "\\",
    "\\u0000",
    "\u{feff}",
    "window",
    "tokens",
    "model",
    "trigger",
    "at",
    "slots",
    "compress",
    "ingest",
    "plugins",
    "x",
    "limits",
    "memory",
    "config",
    "grant",
    "trust",
    "projects",
    "builtin:",
    "api_key",
    "1",
    "-1",
    "1.5",
    "inf",
    "true",
    "1979-05-27",
    "\"64 MiB\"",
    "[]",
    "{ a = 1 }",
    "\u{e4}\u{1f600}",
];

fn holds(text: &[u8]) {
    let folder = Folder::new();
    let file = folder.write("c.toml", text);
    match load(&file) {
        Ok(config) => {
            let settings = config.settings();
            let again = load(&folder.write("again.toml", as_toml(&settings, &|_| Some("\n".to_owned()))));
            assert_eq!(as_json(&again.unwrap().settings()), as_json(&settings));
        }
        Err(error) => {
            assert!(!error.problems().is_empty() && !error.to_string().is_empty());
            for place in error.problems().iter().filter_map(|problem| problem.place.as_ref()) {
                assert!(place.column >= 1 && place.width >= 1);
            }
        }
    }
    // The same as the file of a project, and as an argument.
    folder.write("p/contextengine.toml", text);
    let _ = Layers::new().project(folder.path("p")).load();
    let _ = Layers::new().set(String::from_utf8_lossy(text)).load();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        holds(&bytes);
    }

    #[test]
    fn any_text_of_toml_pieces_is_read_without_a_panic(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40)) {
        holds(pieces.concat().as_bytes());
    }

    #[test]
    fn any_lines_of_toml_pieces_are_read_without_a_panic(
        lines in prop::collection::vec((prop::sample::select(&PIECES[20..38]), prop::sample::select(&PIECES[20..38]), prop::sample::select(&PIECES[38..])), 0..12)
    ) {
        let text: String = lines.iter().map(|(table, key, value)| format!("{table}.{key} = {value}\n")).collect();
        holds(text.as_bytes());
    }
}

#[test]
fn what_is_nested_without_end_is_an_error() {
    let deep = 50_000;
    for text in [
        format!("a = {}", "[".repeat(deep)),
        format!("a = {}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("a = {}1{}", "{ a = ".repeat(deep), " }".repeat(deep)),
        format!("{} = 1", vec!["a"; deep].join(".")),
        format!("[{}]", vec!["a"; deep].join(".")),
        format!("plugins.x.config.{} = 1", vec!["a"; deep].join(".")),
        "[a]\n".repeat(deep),
        "[[plugins]]\n".repeat(deep),
    ] {
        holds(text.as_bytes());
    }
    // Within what the parser reads, all of it is walked.
    holds(format!("plugins.x.config.{} = 1", vec!["a"; 70].join(".")).as_bytes());
}
