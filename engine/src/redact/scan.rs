//! The one pass over a text.

use std::ops::Range;

use super::{assigned, header, prefixes, private_key, url};

/// Where the secrets of a text are, in order and apart from each other.
pub(super) fn secrets(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_run(bytes[at]) {
            let secret = bytes[at..].starts_with(b"://").then(|| url::credentials(text, at + 3)).flatten();
            let Some(secret) = secret else {
                at += 1;
                continue;
            };
            // The user before a password may be a key itself; it is short, and no address is in it.
            let user = at + 3;
            found.extend(secrets(&text[user..secret.start]).into_iter().map(|key| user + key.start..user + key.end));
            at = secret.end;
            found.push(secret);
            continue;
        }
        // `\n` of a JSON string is no part of the word behind it.
        let escaped = at > 0 && bytes[at - 1] == b'\\' && matches!(bytes[at], b'n' | b'r' | b't');
        let start = at + usize::from(escaped);
        let end = start + run(&bytes[start..]);
        let secret = in_word(text, start..end);
        at = secret.as_ref().map_or(end.max(at + 1), |secret| secret.end);
        found.extend(secret);
    }
    found
}

/// The first secret that a word is, holds, or introduces.
fn in_word(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if bytes[word.start..].starts_with(private_key::BEGIN) {
        return private_key::block(text, word.start);
    }
    if let Some(end) = prefixes::web_token(bytes, word.start) {
        return Some(word.start..end);
    }
    // The rest of a key is long, or goes on behind a point.
    let dotted = bytes.get(word.end) == Some(&b'.');
    let begins = |at: &usize| *at == word.start || matches!(bytes[at - 1], b'-' | b'_');
    let long = word.len() >= prefixes::SHORTEST || dotted;
    let key = word.clone().filter(|at| long && begins(at)).find_map(|at| prefixes::key(bytes, at).map(|end| at..end));
    key.or_else(|| header::value(text, word.clone())).or_else(|| assigned::value(text, word))
}

/// Bytes of the word that the bytes begin with. A block of a key that is glued to it is a word of its own.
fn run(bytes: &[u8]) -> usize {
    let glued = |at: &usize| *at > 0 && bytes[*at] == b'-' && bytes[*at..].starts_with(private_key::BEGIN);
    let length = bytes.iter().take_while(|byte| is_run(**byte)).count();
    (0..length).find(glued).unwrap_or(length)
}

fn is_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
