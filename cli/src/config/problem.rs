//! Errors of the configuration, shown as compilers do: what, where, and the line with what is meant underlined.

use std::fmt::Write as _;
use std::path::{MAIN_SEPARATOR, Path};

use contextengine::config::{ConfigError, Place, Problem};
use contextengine::slots::Origin;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::{origin_words, shown};
use crate::harmless;

/// Characters of a message that are shown: a plugin may say more than anybody reads.
const MESSAGE: usize = 1_000;
/// Columns of a line that are shown.
const COLUMNS: usize = 160;

/// All of them, each set apart by an empty line.
pub(super) fn for_people(error: &ConfigError) -> String {
    error.problems().iter().map(|problem| one(problem) + "\n").collect()
}

fn one(problem: &Problem) -> String {
    let mut text = format!("error: {}\n", message(problem));
    if let Some(place) = &problem.place {
        text += &place_lines(place, "");
    }
    if let Some((place, how)) = &problem.other {
        text += &place_lines(place, how);
    }
    text
}

/// What is wrong; files below the working folder by their way from there, as everywhere in the report.
fn message(problem: &Problem) -> String {
    let message = problem.kind.to_string();
    let here = std::env::current_dir().unwrap_or_default();
    let below = |message: String, folder: &Path| match folder.parent() {
        Some(_) => message.replace(&format!("{}{MAIN_SEPARATOR}", folder.display()), ""),
        // The root is part of every path.
        None => message,
    };
    let real = here.canonicalize().unwrap_or_default();
    harmless::short_line(&below(below(message, &here), &real), MESSAGE)
}

fn place_lines(place: &Place, how: &str) -> String {
    let Origin::File { line, key, .. } = &place.origin else {
        return format!("  --> {}\n", origin_words(&place.origin));
    };
    let gutter = line.to_string();
    let blank = " ".repeat(gutter.len());
    let of_key = if key.is_empty() { String::new() } else { format!(", key `{}`", harmless::line(key)) };
    let mut text = format!("{blank}--> {}:{}{of_key}\n", origin_words(&place.origin), place.column);
    let Some(excerpt) = &place.excerpt else { return text };
    let excerpt: String = excerpt.chars().take(COLUMNS).map(|c| if c == '\t' { ' ' } else { c }).collect();
    // A harmful character is replaced by one that is as wide, or by none that is wider.
    let safe = harmless::text(&excerpt);
    let before: String = safe.chars().take(place.column as usize - 1).collect();
    let meant: String = safe.chars().skip(place.column as usize - 1).take(place.width as usize).collect();
    let underline = "^".repeat(meant.width().max(1));
    let how = if how.is_empty() { String::new() } else { format!(" {how}") };
    let _ = writeln!(text, "{blank} |");
    let _ = writeln!(text, "{gutter} | {}", safe.trim_end());
    let _ = writeln!(text, "{blank} | {}{underline}{how}", " ".repeat(before.width()));
    text
}

pub(super) fn for_programs(error: &ConfigError) -> Vec<Value> {
    let place = |place: &Place| match &place.origin {
        Origin::File { path, line, key } => json!({
            "file": shown(path), "line": line, "column": place.column, "width": place.width, "key": key
        }),
        other => json!({ "argument": origin_words(other) }),
    };
    let problem = |problem: &Problem| {
        json!({
            "message": message(problem),
            "place": problem.place.as_ref().map(place),
            "other_place": problem.other.as_ref().map(|(other, _)| place(other)),
        })
    };
    error.problems().iter().map(problem).collect()
}
