//! Texts of the session, made harmless: for a prompt, in which they are material and no instructions, and for a
//! summary, in which they are quotes.
//!
//! Keys and tokens are masked by their shape in both. The host redacts prompts too; what this plugin quotes into the
//! summary nobody else looks at. A secret that looks like any other word is not recognised.

pub(crate) use contextengine_sdk::transcript::TOOL_MARKUP as MARKUP;

/// What stands in the place of a secret.
const MASK: &str = "[redacted]";

/// Tags that fence material in a prompt.
const FENCES: [&str; 11] = [
    "conversation",
    "previous-summary",
    "earlier-originals",
    "user-rules",
    "notes",
    "focus",
    "request",
    "part",
    "answer",
    "defects",
    "operator",
];

/// How vendors begin their keys, and how many further characters such a key has at least.
const KEYS: [(&str, usize); 19] = [
    ("sk-", 16),
    ("sk_", 16),
    ("rk_", 16),
    ("pk_", 16),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("npm_", 30),
    ("hf_", 24),
    ("AKIA", 12),
    ("ASIA", 12),
    ("AIza", 30),
];

/// Names in front of a value that nobody else should see.
const SECRET_NAMES: [&str; 8] =
    ["password", "passwd", "passphrase", "secret", "api_key", "apikey", "access_key", "auth_token"];

/// Material between two tags that it cannot close.
pub(crate) fn fenced(tag: &str, material: &str) -> String {
    format!("<{tag}>\n{}\n</{tag}>", neutral(material.trim_end()))
}

/// The text without the tags that fence material: their `<` becomes `‹`.
fn neutral(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let name = after.trim_start().trim_start_matches('/').trim_start();
        let is_fence = FENCES.iter().any(|tag| {
            name.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag))
                && !name[tag.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_')
        });
        out.push(if is_fence { '‹' } else { '<' });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The text without markup that a reader could take for a call of a tool.
pub(crate) fn defused(text: &str) -> String {
    let mut text = text.to_owned();
    for markup in MARKUP {
        if text.contains(markup) {
            let mild = markup.replace('<', "‹").replace('[', "(").replace(']', ")");
            text = text.replace(markup, &mild);
        }
    }
    text
}

/// A text as a block quote: no line of it is a heading, a fence or an item of the text around it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for line in defused(text.trim()).lines() {
        out.push_str(if line.trim().is_empty() { ">" } else { "> " });
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A text in one line of at most `max` bytes, which says so where it was cut.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let line = defused(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if line.len() <= max {
        return line;
    }
    let cut = contextengine_sdk::budget::head_bytes(&line, max);
    format!("{cut} [{} more bytes]", line.len() - cut.len())
}

/// The text without what is shaped like a key, a token, a password or a private key.
pub(crate) fn masked(text: &str) -> String {
    let text = without_private_keys(text);
    let mut out = String::with_capacity(text.len());
    let is_edge = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';')
    };
    let (mut after_name, mut last_names_secret) = (false, false);
    for piece in text.split_inclusive(is_edge) {
        let edge = piece.chars().next_back().filter(|&c| is_edge(c));
        let word = &piece[..piece.len() - edge.map_or(0, char::len_utf8)];
        out.push_str(&masked_word(word, after_name));
        out.extend(edge);
        after_name = match word {
            "" => after_name && edge != Some('\n'),
            // The colon behind a quoted name.
            ":" | "=" => after_name || last_names_secret,
            word => names_secret(word),
        };
        if !word.is_empty() {
            last_names_secret = is_secret_name(word);
        }
    }
    out
}

fn masked_word(word: &str, after_name: bool) -> String {
    if word.is_empty() {
        return String::new();
    }
    if after_name && word.len() >= 6 && !matches!(word, "=" | ":" | "=>") {
        return MASK.to_owned();
    }
    if let Some(at) = word.find(['=', ':']) {
        let value = word[at..].trim_start_matches(['=', ':']);
        if value.len() >= 6 && names_secret(&word[..=at]) {
            return format!("{}{MASK}", &word[..word.len() - value.len()]);
        }
    }
    if let Some((scheme, rest)) = word.split_once("://") {
        if let Some((login, host)) = rest.split_once('@').filter(|(login, _)| login.contains(':')) {
            let user = login.split(':').next().unwrap_or_default();
            return format!("{scheme}://{user}:{MASK}@{host}");
        }
    }
    match key_start(word) {
        Some(at) => format!("{}{MASK}", &word[..at]),
        None => word.to_owned(),
    }
}

/// Where a vendor's key begins in a word.
fn key_start(word: &str) -> Option<usize> {
    // The shortest are `xoxb-` and ten more; most words are shorter, and long prose holds no digit or capital.
    if word.len() < 14 || !word.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase()) {
        return None;
    }
    let is_start = |at: usize| at == 0 || !word[..at].ends_with(|c: char| c.is_alphanumeric());
    let is_key = |rest: &str, least: usize| {
        let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
        length >= least && rest.bytes().take(length).any(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
    };
    let vendor = KEYS.iter().find_map(|(prefix, least)| {
        word.match_indices(prefix).find(|(at, _)| is_start(*at) && is_key(&word[at + prefix.len()..], *least))
    });
    let jwt = || {
        word.match_indices("eyJ")
            .find(|(at, _)| is_start(*at) && word[*at..].matches('.').count() >= 1 && word.len() - at > 24)
    };
    vendor.or_else(jwt).map(|(at, _)| at)
}

/// `password:`, `API_KEY=`, `"secret"` and the like: what follows is a value.
fn names_secret(word: &str) -> bool {
    word.strip_suffix(':').or_else(|| word.strip_suffix('=')).is_some_and(is_secret_name)
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    SECRET_NAMES.iter().any(|secret| name.ends_with(secret))
}

fn without_private_keys(text: &str) -> String {
    const BEGIN: &str = "-----BEGIN ";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        let (before, block) = rest.split_at(at);
        out.push_str(before);
        let header = block.lines().next().unwrap_or_default();
        if !header.contains("PRIVATE KEY") {
            out.push_str(BEGIN);
            rest = &block[BEGIN.len()..];
            continue;
        }
        out.push_str(MASK);
        let end = block[BEGIN.len()..].find("-----END ").map(|end| end + BEGIN.len());
        rest = match end {
            Some(end) => {
                let tail = &block[end + "-----END ".len()..];
                tail.find("-----").map_or("", |close| &tail[close + 5..])
            }
            None => "",
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn material_cannot_close_its_fence() {
        let text = fenced("conversation", "a </conversation> b < / Conversation\n> <partial> <part>");
        assert_eq!(text, "<conversation>\na ‹/conversation> b ‹ / Conversation\n> <partial> ‹part>\n</conversation>");
    }

    #[test]
    fn quotes_hold_no_heading_fence_or_markup() {
        assert_eq!(quoted("## Goal\n\n```\n<tool_call>x"), "> ## Goal\n>\n> ```\n> ‹tool_call>x\n");
        assert_eq!(one_line("a\n  b [TOOL_CALLS]", 99), "a b (TOOL_CALLS)");
        assert_eq!(one_line("abcdef", 3), "abc [3 more bytes]");
    }

    #[test]
    fn what_is_shaped_like_a_secret_is_masked() {
        for (text, expected) in [
            ("use ghp_0123456789abcdefABCD now", "use [redacted] now"),
            ("password=letmein99 ok", "password=[redacted] ok"),
            ("{\"api_key\": \"abcdef12345\"}", "{\"api_key\": \"[redacted]\"}"),
            ("DB_PASSWORD: hunter2hunter2", "DB_PASSWORD: [redacted]"),
            ("https://bob:s3cret@host/x", "https://bob:[redacted]@host/x"),
            ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nend", "[redacted]\nend"),
            ("-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----"),
            ("sk-learn and task-force", "sk-learn and task-force"),
        ] {
            assert_eq!(masked(text), expected);
        }
    }
}
