//! Exact names: what is useless when it is nearly right. Found by form, word by word.
//!
//! The forms are those of the host's gate, so that what is appended here is what the gate asks for.

use std::collections::BTreeMap;

use crate::escape::masked;

/// The names of a text, in order, each once.
pub(crate) fn identifiers(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for name in words(text) {
        if (4..=200).contains(&name.len()) && kind(name).is_some() && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Whether a text holds a name: as it is spelled, hexadecimal names in any case.
pub(crate) fn holds(text: &str, name: &str) -> bool {
    text.contains(name) || (is_hex(name) && text.to_ascii_lowercase().contains(&name.to_ascii_lowercase()))
}

/// A name that may be repeated in a summary.
pub(crate) fn is_public(name: &str) -> bool {
    masked(name) == name
}

/// Kinds of names, in the order of an index. The first four and the caps are Hermes'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Issues,
    Commits,
    Branches,
    Files,
    Errors,
    Handles,
    Urls,
    Others,
}

impl Kind {
    const ALL: [(Kind, &'static str, usize); 8] = [
        (Kind::Issues, "issues", 120),
        (Kind::Commits, "commits", 40),
        (Kind::Branches, "branches", 40),
        (Kind::Files, "files", 80),
        (Kind::Errors, "errors", 40),
        (Kind::Handles, "handles", 40),
        (Kind::Urls, "urls", 30),
        (Kind::Others, "other", 40),
    ];
}

/// An index of the names of texts: one line a kind, the most frequent first, then the newest.
pub(crate) fn index<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut seen: BTreeMap<(Kind, &str), (usize, usize)> = BTreeMap::new();
    let mut at = 0;
    for text in texts {
        for name in words(text).filter(|name| (4..=200).contains(&name.len())) {
            if let Some(kind) = kind_in_index(name) {
                at += 1;
                let entry = seen.entry((kind, name)).or_default();
                *entry = (entry.0 + 1, at);
            }
        }
    }
    let line = |(kind, label, cap): &(Kind, &str, usize)| {
        let mut names: Vec<(&str, usize, usize)> = seen
            .iter()
            .filter(|((of, _), _)| of == kind)
            .map(|((_, name), (times, last))| (*name, *times, *last))
            .collect();
        names.sort_by_key(|(_, times, last)| std::cmp::Reverse((*times, *last)));
        let names: Vec<String> = names
            .into_iter()
            .filter(|(name, ..)| is_public(name))
            .take(*cap)
            .map(|(name, times, _)| if times > 1 { format!("{name} (×{times})") } else { name.to_owned() })
            .collect();
        (!names.is_empty()).then(|| format!("{label}: {}", names.join(", ")))
    };
    Kind::ALL.iter().filter_map(line).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let edge = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '|' | '=' | ',');
    text.split(edge).map(|word| {
        word.trim_start_matches(['(', '[', '{', '*', '_'])
            .trim_end_matches([')', ']', '}', '.', ';', ':', '!', '?', '*', '_'])
    })
}

/// The kind of a name that the gate knows.
fn kind(name: &str) -> Option<Kind> {
    type Form = fn(&str) -> bool;
    let forms: [(Kind, Form); 8] = [
        (Kind::Urls, is_url),
        (Kind::Files, is_path),
        (Kind::Commits, is_hex),
        (Kind::Others, is_host_and_port),
        (Kind::Issues, is_issue),
        (Kind::Errors, is_code),
        (Kind::Others, is_uuid),
        (Kind::Others, is_long_number),
    ];
    forms.into_iter().find(|(_, is)| is(name)).map(|(kind, _)| kind)
}

/// An index lists branches and handles too; the gate does not ask for them, as `fix/it` may be two words.
fn kind_in_index(name: &str) -> Option<Kind> {
    let further = || {
        let forms = [(Kind::Branches, is_branch(name)), (Kind::Handles, is_handle(name))];
        forms.into_iter().find(|(_, is)| *is).map(|(kind, _)| kind)
    };
    kind(name).or_else(further)
}

fn is_url(name: &str) -> bool {
    ["http://", "https://", "ssh://", "git@"]
        .iter()
        .any(|scheme| name.len() > scheme.len() + 3 && name.starts_with(scheme))
}

/// `fix/parser`: the beginnings are Hermes'.
fn is_branch(name: &str) -> bool {
    ["fix/", "feat/", "docs/", "refactor/", "chore/", "salvage/", "ent/"].iter().any(|kind| name.starts_with(kind))
        && name.matches('/').count() == 1
        && !name.contains('.')
}

/// Two segments at least, one of them with a dot or three in all: `and/or` is none.
fn is_path(name: &str) -> bool {
    let windows = name.as_bytes().get(1..3) == Some(b":\\") && name.starts_with(|c: char| c.is_ascii_alphabetic());
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '/' | '\\' | '.' | '_' | '-' | '~' | '@' | '+' | ':');
    if !name.chars().all(allowed) || name.contains("//") {
        return false;
    }
    let segments: Vec<&str> = name.split(['/', '\\']).filter(|segment| !segment.is_empty()).collect();
    let last_has_extension = segments.last().is_some_and(|last| last.trim_start_matches('.').contains('.'));
    windows || (segments.len() >= 2 && last_has_extension) || (name.starts_with(['/', '~']) && segments.len() >= 2)
}

/// Eight digits at least, with a letter and a digit among them: `deadbeef` is a word.
fn is_hex(name: &str) -> bool {
    (8..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_hexdigit())
        && name.bytes().any(|b| b.is_ascii_digit())
        && name.bytes().any(|b| b.is_ascii_alphabetic())
}

fn is_uuid(name: &str) -> bool {
    name.len() == 36
        && name.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn is_host_and_port(name: &str) -> bool {
    let Some((host, port)) = name.rsplit_once(':') else { return false };
    let is_host = host == "localhost" || (host.contains('.') && !host.starts_with('.') && !host.ends_with('.'));
    is_host
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
        && (2..=5).contains(&port.len())
        && port.bytes().all(|b| b.is_ascii_digit())
}

fn is_issue(name: &str) -> bool {
    name.strip_prefix('#').is_some_and(|number| number.len() >= 3 && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Names of `errno` that sessions of agents are about; as words in capitals they cannot be told by their form.
const ERRNO: [&str; 16] = [
    "EACCES",
    "EADDRINUSE",
    "EBUSY",
    "ECONNREFUSED",
    "ECONNRESET",
    "EEXIST",
    "EHOSTUNREACH",
    "EINVAL",
    "EISDIR",
    "EMFILE",
    "ENOENT",
    "ENOSPC",
    "ENOTDIR",
    "EPERM",
    "EPIPE",
    "ETIMEDOUT",
];

/// `E4091`, `ECONNREFUSED`, `TypeError`, `ABC-123`.
fn is_code(name: &str) -> bool {
    let letters = name.bytes().take_while(u8::is_ascii_uppercase).count();
    let rest = &name[letters..];
    let digits = |text: &str, least: usize| text.len() >= least && text.bytes().all(|b| b.is_ascii_digit());
    let numbered = (1..=3).contains(&letters) && digits(rest, 3);
    let ticket = (2..=10).contains(&letters) && rest.strip_prefix('-').is_some_and(|number| digits(number, 2));
    let class = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|b| b.is_ascii_alphanumeric())
        && (name.ends_with("Error") || name.ends_with("Exception"))
        && name.len() > "Exception".len();
    numbered || ticket || ERRNO.contains(&name) || class
}

/// Six digits at least: shorter ones are quantities.
fn is_long_number(name: &str) -> bool {
    name.len() >= 6 && name.bytes().all(|b| b.is_ascii_digit())
}

fn is_handle(name: &str) -> bool {
    name.strip_prefix('@').is_some_and(|handle| {
        (3..=30).contains(&handle.len())
            && handle.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_names_are_found_as_they_are_spelled() {
        let text = "See (src/main.rs), https://x.dev/a. Commit 3f2a9c1d; #482 in `C:\\app\\log.txt`: E4091 at db.local:5432, BRL-0940, 123456 and/or deadbeef v1.2";
        let expected = [
            "src/main.rs",
            "https://x.dev/a",
            "3f2a9c1d",
            "#482",
            "C:\\app\\log.txt",
            "E4091",
            "db.local:5432",
            "BRL-0940",
            "123456",
        ];
        assert_eq!(identifiers(text), expected);
        assert!(holds("at 3F2A9C1D now", "3f2a9c1d") && !holds("SRC/main.rs", "src/main.rs"));
        assert!(!is_public("ghp_0123456789abcdefABCD") && is_public("src/main.rs"));
    }

    #[test]
    fn an_index_has_one_line_a_kind_with_the_most_frequent_first() {
        let lines = index(["#482 src/a.rs src/b.rs @bob", "src/b.rs ENOENT on fix/quotes"]);
        assert_eq!(
            lines,
            [
                "issues: #482",
                "branches: fix/quotes",
                "files: src/b.rs (×2), src/a.rs",
                "errors: ENOENT",
                "handles: @bob"
            ]
        );
    }
}
