//! Exact names in a text: what is useless when it is nearly right.

/// The names of a text, in order, each once: addresses, paths, hashes and ids, `host:port`, issue numbers, error codes,
/// long numbers.
pub fn identifiers(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '|' | '=' | ','));
    for word in words {
        let name = bare(word);
        // Beyond a line's length it is a blob, not a name.
        if (4..=200).contains(&name.len()) && is_identifier(name) && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Whether a text holds a name: as it is spelled, hexadecimal names in any case.
pub(super) fn holds(text: &str, name: &str) -> bool {
    text.contains(name) || (is_hex(name) && text.to_ascii_lowercase().contains(&name.to_ascii_lowercase()))
}

/// Without the brackets and the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_start_matches(['(', '[', '{', '*', '_'])
        .trim_end_matches([')', ']', '}', '.', ';', ':', '!', '?', '*', '_'])
}

fn is_identifier(name: &str) -> bool {
    is_url(name)
        || is_path(name)
        || is_hex(name)
        || is_host_and_port(name)
        || is_issue(name)
        || is_code(name)
        || is_uuid(name)
        || is_long_number(name)
}

fn is_url(name: &str) -> bool {
    ["http://", "https://", "ssh://", "git@"]
        .iter()
        .any(|scheme| name.len() > scheme.len() + 3 && name.starts_with(scheme))
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

/// The names of `errno` that sessions of agents are about; as words in capitals they cannot be told by their form.
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
    let errno = ERRNO.contains(&name);
    let class = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|b| b.is_ascii_alphanumeric())
        && (name.ends_with("Error") || name.ends_with("Exception"))
        && name.len() > "Exception".len();
    numbered || ticket || errno || class
}

/// Six digits at least: shorter ones are quantities.
fn is_long_number(name: &str) -> bool {
    name.len() >= 6 && name.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_names_are_found_as_they_are_spelled() {
        let text = "See (src/main.rs), https://x.dev/a?b=1. Commit 3f2a9c1d; #482 in `C:\\app\\log.txt`: E4091 and \
                    ECONNREFUSED at db.local:5432, TypeErrorException, BRL-0940, /etc/hosts, 123456, \
                    0191d1e6-52f0-7c4e-9a4e-2f3b1c0d9e8f";
        assert_eq!(
            identifiers(text),
            [
                "src/main.rs",
                "https://x.dev/a?b",
                "3f2a9c1d",
                "#482",
                "C:\\app\\log.txt",
                "E4091",
                "ECONNREFUSED",
                "db.local:5432",
                "TypeErrorException",
                "BRL-0940",
                "/etc/hosts",
                "123456",
                "0191d1e6-52f0-7c4e-9a4e-2f3b1c0d9e8f",
            ]
        );
    }

    #[test]
    fn words_are_no_names() {
        for word in
            ["and/or", "deadbeef", "#1", "12:30", "e.g.", "I/O", "EVERY", "Error", "2026", "v1.2", "a.b", "...:80"]
        {
            assert!(identifiers(word).is_empty(), "{word}");
        }
    }

    #[test]
    fn hexadecimal_names_are_held_in_any_case() {
        assert!(holds("at 3F2A9C1D now", "3f2a9c1d"));
        assert!(!holds("SRC/main.rs", "src/main.rs"));
    }
}
