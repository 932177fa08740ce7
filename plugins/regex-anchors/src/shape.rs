//! Decides what a candidate is, or that it is noise.
//!
//! Everything here looks at the candidate and at most at the few bytes around it, so the cost of a pass is that of
//! the regular expression. The rules were found by reading what real sessions put into the index.

use crate::anchors::{Kind, Origin};
use crate::paths::{has_extension, is_bare_file, is_piece_of_wide_path, path};

const BRANCH_NAMES: &[&str] = &["main", "master", "develop", "dev", "trunk", "staging", "production"];

/// Upper-case words with a number that are standards and not tickets.
const NOT_TICKETS: &[&str] = &[
    "AES", "API", "ASCII", "BASE", "COVID", "CP", "CRC", "ECMA", "ED", "ES", "GB", "GPT", "HTTP", "IEEE", "IPV", "ISO",
    "LATIN", "MD", "MP", "MPEG", "PKCS", "PR", "RSA", "SHA", "TLS", "UCS", "UTF", "WINDOWS", "WPA", "X",
];

/// Names of `errno`, which are words of any capitals otherwise.
const ERRNO: &[&str] = &[
    "EACCES",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
    "EAGAIN",
    "EBADF",
    "EBUSY",
    "ECONNABORTED",
    "ECONNREFUSED",
    "ECONNRESET",
    "EEXIST",
    "EHOSTUNREACH",
    "EINTR",
    "EINVAL",
    "EISDIR",
    "ELOOP",
    "EMFILE",
    "ENETUNREACH",
    "ENOENT",
    "ENOMEM",
    "ENOSPC",
    "ENOTDIR",
    "ENOTEMPTY",
    "ENOTFOUND",
    "EPERM",
    "EPIPE",
    "ERESOLVE",
    "EROFS",
    "ETIMEDOUT",
    "EXDEV",
];

/// Prefixes of ids with an underscore that services hand out.
const ID_PREFIXES: &[&str] = &[
    "acct", "call", "ch", "cus", "evt", "file", "in", "job", "msg", "order", "org", "pi", "plan", "price", "prod",
    "proj", "req", "resp", "run", "sess", "session", "span", "sub", "task", "thread", "toolu", "trace", "txn", "user",
    "ws",
];

/// Hands the name behind a candidate to `found`, if there is one. Answers where the search goes on.
pub(crate) fn name_of(
    text: &str,
    start: usize,
    end: usize,
    origin: Origin,
    mut found: impl FnMut(Kind, &str),
) -> usize {
    let candidate = &text[start..end];
    let before = Before { text, start };
    let first = candidate.as_bytes().first().copied().unwrap_or(0);
    if candidate.starts_with("-----BEGIN ") {
        return pem_end(text, end);
    }
    if candidate.contains("://") {
        if let Some(url) = url(candidate) {
            found(Kind::Urls, url);
        }
        return end;
    }
    if let Some(branch) = branch_after_word(candidate) {
        let known = BRANCH_NAMES.contains(&branch) || branch.contains(['/', '-']) || origin.git;
        if known
            && !has_extension(branch)
            && branch.bytes().any(|b| b.is_ascii_alphabetic())
            && !is_word_after_branch(branch)
        {
            found(Kind::Branches, branch);
            return end;
        }
        // `checkout src/main.rs`: a path may begin behind the word.
        return start + candidate.len() - branch.len();
    }
    if let Some(name) = env_name(candidate) {
        found(Kind::Env, name);
        let secret =
            ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL"].iter().any(|word| name.contains(word));
        return if secret { skip_value(text, end) } else { end };
    }
    if candidate.contains(['/', '\\']) {
        if is_piece_of_wide_path(candidate, before, &text[end..]) {
            return end;
        }
        if let Some((kind, name)) = path(candidate, before, origin) {
            found(kind, name);
        }
        return end;
    }
    if let Some((kind, name)) = with_word(candidate) {
        match name.get(..4) {
            // `Port 8080` and `port 8080` are one.
            Some(word) if word.eq_ignore_ascii_case("port") => found(kind, &name.to_ascii_lowercase()),
            _ => found(kind, name),
        }
        return end;
    }
    match first {
        b'#' | b'G' if candidate.starts_with(['#', 'G']) && candidate.starts_with("GH-") | (first == b'#') => {
            if is_issue(candidate, before, &text[end..], origin) {
                found(Kind::Issues, candidate);
            }
        }
        b'@' => {
            let alone = before.last().is_none_or(|b| b.is_ascii_whitespace() || b == b'(');
            let ends = !text[end..].starts_with(['/', '.', '(', '@', ':', '=']);
            if origin.prose && alone && ends {
                found(Kind::Handles, candidate);
            }
        }
        _ => plain(candidate, before, &text[end..], origin, found),
    }
    end
}

/// What stands before a candidate.
#[derive(Clone, Copy)]
pub(crate) struct Before<'t> {
    text: &'t str,
    start: usize,
}

impl Before<'_> {
    pub(crate) fn last(self) -> Option<u8> {
        self.start.checked_sub(1).and_then(|at| self.text.as_bytes().get(at)).copied()
    }

    /// The last bytes before the candidate that belong to its line, in lower case.
    pub(crate) fn line(self) -> String {
        const REACH: usize = 48;
        let bytes = &self.text.as_bytes()[self.start.saturating_sub(REACH)..self.start];
        let line = bytes.rsplit(|b| *b == b'\n').next().unwrap_or_default();
        String::from_utf8_lossy(line).to_ascii_lowercase()
    }
}

fn pem_end(text: &str, from: usize) -> usize {
    text[from..].find("-----END ").map_or(text.len(), |footer| from + footer + "-----END ".len())
}

/// Behind the value of a setting: the next white space or quote.
fn skip_value(text: &str, from: usize) -> usize {
    let rest = text[from..].trim_start_matches(['"', '\'', '=', ' ']);
    let value = rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';')).unwrap_or(rest.len());
    text.len() - rest.len() + value
}

fn url(candidate: &str) -> Option<&str> {
    let candidate = candidate.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_']);
    let (scheme, rest) = candidate.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let password = authority.contains('@') && authority.split('@').next().is_some_and(|user| user.contains(':'));
    let signed = ["token=", "key=", "signature=", "sig=", "secret=", "password="]
        .iter()
        .any(|word| rest.to_ascii_lowercase().contains(word));
    if ["example.com", "example.org", "www.w3.org", "json-schema.org"].contains(&host) {
        return None;
    }
    let real = (host.contains('.') || host.starts_with("localhost") || scheme != "http") && host.len() >= 3;
    // Templates such as `https://${host}/` and `http://{}:{}` are not addresses.
    (real && !password && !signed && !candidate.contains(['{', '$', '%']) && !rest.contains("...")).then_some(candidate)
}

fn branch_after_word(candidate: &str) -> Option<&str> {
    const WORDS: [&str; 10] = [
        "On branch ",
        "git:(",
        "checkout -b ",
        "checkout -B ",
        "checkout ",
        "switch -c ",
        "switch -C ",
        "switch ",
        "branch ",
        "HEAD -> ",
    ];
    let rest = WORDS
        .iter()
        .find_map(|word| candidate.strip_prefix(word))
        .or_else(|| candidate.strip_prefix("origin/"))
        .or_else(|| candidate.strip_prefix("origin "))?;
    Some(rest.trim_start_matches(['\'', '"', '`']).trim_end_matches(['.', '/']))
}

/// Words that follow `branch` and the like in prose.
fn is_word_after_branch(word: &str) -> bool {
    const WORDS: [&str; 16] = [
        "and",
        "to",
        "is",
        "the",
        "for",
        "from",
        "of",
        "in",
        "on",
        "with",
        "name",
        "that",
        "protection",
        "up",
        "set",
        "or",
    ];
    WORDS.contains(&word) || word.len() < 3
}

fn env_name(candidate: &str) -> Option<&str> {
    const WORDS: [&str; 7] = ["${", "$", "process.env.", "env::var(\"", "getenv(\"", "environ[\"", "export "];
    let name = match WORDS.iter().find_map(|word| candidate.strip_prefix(word)) {
        Some(name) => name,
        None => candidate.strip_suffix('=')?,
    };
    const EVERYWHERE: [&str; 11] =
        ["HOME", "PATH", "PWD", "USER", "SHELL", "LANG", "TMPDIR", "USERPROFILE", "JSON", "EOF", "TERM"];
    let upper = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    (upper && name.len() >= 3 && !EVERYWHERE.contains(&name)).then_some(name)
}

/// Candidates that carry the word that makes them what they are: ports, ids, HTTP status.
fn with_word(candidate: &str) -> Option<(Kind, &str)> {
    if candidate.starts_with("HTTP ") {
        return Some((Kind::Errors, candidate));
    }
    let split = candidate.rfind([' ', '=', ':', '"', '\'', '`'])?;
    let value = &candidate[split + 1..];
    let head = candidate[..split].trim_end_matches(['"', '\'', '`', ' ', '=', ':']);
    if head.to_ascii_lowercase().trim_end_matches('s').ends_with("port") {
        // Ports by their word, so that the list says what the number is.
        return Some((Kind::Hosts, candidate));
    }
    if head.to_ascii_lowercase().ends_with("id") {
        let digits = value.bytes().filter(u8::is_ascii_digit).count();
        return (digits >= 2 && value.len() >= 6).then_some((Kind::Ids, value));
    }
    let host = &candidate[..split];
    let file = has_extension(host) || host.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let address = host == "localhost" || is_ip(host) || host.rsplit('.').next().is_some_and(|tld| tld.len() >= 2);
    if value.bytes().all(|b| b.is_ascii_digit()) && address && !file {
        return Some((Kind::Hosts, candidate));
    }
    // `main.rs:12`.
    (has_extension(host) && !host.contains(' ')).then_some((Kind::Files, host))
}

fn is_ip(text: &str) -> bool {
    text.split('.').count() == 4 && text.split('.').all(|part| part.parse::<u8>().is_ok())
}

fn is_issue(candidate: &str, before: Before<'_>, after: &str, origin: Origin) -> bool {
    if candidate.starts_with("GH-") {
        return true;
    }
    let digits = candidate.len() - 1;
    // `#333` in a style sheet, `&#39;` in a page, `#include`-like words and anchors of links.
    let glued = before.last().is_some_and(|b| !b.is_ascii_whitespace() && !matches!(b, b'(' | b'[' | b','));
    if glued || after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        return false;
    }
    let line = before.line();
    let told = ["pr", "pull", "issue", "fix", "close", "resolve", "merge", "bug", "see", "gh ", "ticket"]
        .iter()
        .any(|word| line.contains(word));
    let colour =
        ["color", "colour", "bg", "green", "red", "gray", "grey", "background"].iter().any(|word| line.contains(word));
    match digits {
        _ if colour => false,
        6 => told,
        1 => told,
        _ => told || origin.git || (origin.prose && digits != 3) || before.last() == Some(b'('),
    }
}

/// Candidates without a slash, a mark or a word.
fn plain(candidate: &str, before: Before<'_>, after: &str, origin: Origin, mut found: impl FnMut(Kind, &str)) {
    let bytes = candidate.as_bytes();
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = bytes.iter().filter(|b| b.is_ascii_alphabetic()).count();
    if is_uuid(candidate) {
        found(Kind::Ids, candidate);
    } else if candidate.starts_with("CVE-") {
        found(Kind::Tickets, candidate);
    } else if let Some((word, number)) = candidate.split_once('-').filter(|(word, number)| is_ticket(word, number)) {
        if !NOT_TICKETS.contains(&word) && !after.starts_with(['-', '.', '_']) && !number.is_empty() {
            found(Kind::Tickets, candidate);
        }
    } else if ERRNO.contains(&candidate) || is_error_code(candidate) || is_error_name(candidate) {
        found(Kind::Errors, candidate);
    } else if bytes.iter().all(u8::is_ascii_hexdigit) {
        if digits > 0 && letters > 0 && is_commit(candidate, before, origin) {
            found(if bytes.len() > 40 { Kind::Ids } else { Kind::Commits }, candidate);
        }
    } else if let Some((prefix, rest)) = candidate.split_once('_').filter(|(prefix, _)| ID_PREFIXES.contains(prefix)) {
        let mixed = rest.bytes().any(|b| b.is_ascii_digit()) && !rest.contains('_') && !prefix.is_empty();
        if mixed {
            found(Kind::Ids, candidate);
        }
    } else if let Some(version) = version(candidate) {
        if is_ip(version) {
            found(Kind::Hosts, version);
        } else if !before.last().is_some_and(|b| matches!(b, b'.' | b'-' | b'/' | b':')) {
            found(Kind::Versions, version);
        }
    } else if is_bare_file(candidate, before, after, origin) {
        found(Kind::Files, candidate);
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn is_ticket(word: &str, number: &str) -> bool {
    word.len() >= 2
        && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
}

fn is_error_code(text: &str) -> bool {
    let number = |prefix: &str| {
        text.strip_prefix(prefix).is_some_and(|rest| rest.len() >= 4 && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let signal = ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGABRT", "SIGINT", "SIGPIPE", "SIGBUS", "SIGILL", "SIGHUP"];
    text.starts_with("ERR_") || number("TS") || number("E") || signal.contains(&text)
}

fn is_error_name(text: &str) -> bool {
    let stem = text.strip_suffix("Error").or_else(|| text.strip_suffix("Exception"));
    stem.is_some_and(|stem| stem.len() >= 2 && stem.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Forty digits are a commit anywhere; fewer need git around them, as colours, digests and timestamps look the same.
fn is_commit(candidate: &str, before: Before<'_>, origin: Origin) -> bool {
    if candidate.bytes().any(|b| b.is_ascii_uppercase()) || matches!(before.last(), Some(b'#' | b'-' | b'_' | b'.')) {
        return false;
    }
    let line = before.line();
    if candidate.len() > 40 {
        return candidate.len() == 64 && line.contains("sha256");
    }
    let words =
        ["commit", "merge", "head", "revert", "cherry", "rebase", "sha", "checkout", "git ", "reset", "tag ", "rev "];
    candidate.len() == 40 || origin.git || words.iter().any(|word| line.contains(word))
}

fn version(candidate: &str) -> Option<&str> {
    let numbers = candidate.strip_prefix('v').unwrap_or(candidate);
    let core = numbers.split('-').next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    let digits =
        parts.iter().all(|part| !part.is_empty() && part.len() <= 5 && part.bytes().all(|b| b.is_ascii_digit()));
    if !(3..=4).contains(&parts.len()) || !digits {
        return None;
    }
    // `01.48.00` is a time of day: versions have no leading zeros.
    if parts.iter().any(|part| part.len() > 1 && part.starts_with('0')) {
        return None;
    }
    let value = |at: usize| parts.get(at).and_then(|part| part.parse::<u32>().ok()).unwrap_or(0);
    // 2024.11.02 and 21.01.2025 are days.
    let day =
        (1970..2100).contains(&value(0)) || ((1970..2100).contains(&value(2)) && value(0) <= 31 && value(1) <= 12);
    (!day).then_some(candidate)
}
