//! Values that are set under a name which says that they are secret: in shells, configuration, JSON, YAML, XML, code,
//! options of commands, addresses and plain sentences.

use std::ops::Range;

use super::{MASK, private_key};

/// The longest value that is looked at. Work is bounded by it where a quote has no end.
const LONGEST: usize = 8 << 10;

/// Space between a name, a sign and a value that is looked over.
const GAP: usize = 16;

/// The longest part of a name that is read; what comes before does not matter.
const NAME: usize = 40;

/// Names of what people choose: any value may be one, plain words too.
const CHOSEN: [&str; 5] = ["password", "passwd", "passphrase", "passcode", "pwd"];

/// Names of what machines make: a value is no plain word. Compared without `_` and `-`, by the end of the name.
const MADE: [&str; 24] = [
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authkey",
    "encryptionkey",
    "signingkey",
    "accountkey",
    "masterkey",
    "sharedkey",
    "servicekey",
    "licensekey",
    "subscriptionkey",
    "appkey",
    "applicationkey",
    "deploykey",
    "sessionkey",
    "credential",
    "credentials",
    "secretvalue",
    "amzsignature",
    "googsignature",
];

/// Names that end as one of these and are not secret: tokens of a vocabulary and of pages of a list.
const NOT_SECRET: [&str; 13] = [
    "nexttoken",
    "pagetoken",
    "continuationtoken",
    "bostoken",
    "eostoken",
    "padtoken",
    "unktoken",
    "septoken",
    "clstoken",
    "masktoken",
    "pertoken",
    "stoptoken",
    "cancellationtoken",
];

/// How the names of the lists end.
const ENDINGS: [[u8; 2]; 11] = [*b"rd", *b"wd", *b"se", *b"de", *b"et", *b"en", *b"ey", *b"al", *b"ls", *b"ue", *b"re"];

/// Values that are types, defaults and words of a description.
const PLACEHOLDERS: [&str; 26] = [
    "none",
    "null",
    "nil",
    "undefined",
    "true",
    "false",
    "string",
    "str",
    "bytes",
    "text",
    "bool",
    "boolean",
    "int",
    "integer",
    "number",
    "any",
    "optional",
    "required",
    "object",
    "unknown",
    "flag",
    "option",
    "argument",
    "empty",
    "missing",
    "redacted",
];

/// A quote and how many backslashes stand before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quote {
    pub(super) byte: u8,
    escapes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Chosen,
    Made,
}

/// How a value stands to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// `name=value`.
    Tight,
    /// `name = value`, `name := value`, `name => value`.
    Spaced,
    /// `name: value`.
    Colon,
    /// `?name=value&`.
    Query,
    /// `<name>value<`.
    Element,
    /// `--name value`.
    Flag,
    /// `name value`, `name is value`.
    Words,
}

/// The secret behind the name that ends where `word` does, if there is one. `word` is a run of letters, digits, `_`
/// and `-`.
pub(super) fn value(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let kind = kind(&bytes[word.clone()])?;
    let (sign, at) = sign(bytes, &word)?;
    let (start, opened) = quote(bytes, at);
    if let Some(opened) = opened
        && let Some(end) = closing(bytes, start, opened)
    {
        let value = &text[start..end];
        return is_quoted_secret(kind, sign, value).then_some(start..end);
    }
    let start = if opened.is_some() { start } else { at };
    let end = open_end(bytes, start, sign, is_setting(bytes, &word, sign));
    let end = text.floor_char_boundary(end);
    let value = text[start..end].trim_end_matches(['.', ',', ';', ':']);
    let end = start + value.len();
    is_open_secret(bytes, &word, kind, sign, start..end, value).then_some(start..end)
}

/// What kind of name it is, if it is one: by its end, without digits, `_`, `-` and case.
fn kind(name: &[u8]) -> Option<Kind> {
    let last = name.iter().rposition(|byte| !byte.is_ascii_digit())?;
    // No name of the lists ends otherwise; most words stop here.
    let before = name.get(last.wrapping_sub(1)).map(u8::to_ascii_lowercase)?;
    if !ENDINGS.contains(&[before, name[last].to_ascii_lowercase()]) {
        return None;
    }
    let mut plain = [0u8; NAME];
    let mut length = 0;
    for byte in name[..=last].iter().rev().filter(|byte| !matches!(byte, b'_' | b'-')).take(NAME) {
        plain[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    let plain = &mut plain[..length];
    plain.reverse();
    let plain: &[u8] = plain;
    let ends = |known: &&str| plain.ends_with(known.as_bytes());
    // `PWD` of a shell is a folder.
    if CHOSEN.iter().any(&ends) && name != b"PWD" && plain != b"oldpwd" {
        return Some(Kind::Chosen);
    }
    (MADE.iter().any(&ends) && !NOT_SECRET.iter().any(&ends)).then_some(Kind::Made)
}

/// What stands between the name and its value, and where the value begins, its quote included.
fn sign(bytes: &[u8], word: &Range<usize>) -> Option<(Sign, usize)> {
    let before = word.start.checked_sub(1).map(|at| bytes[at]);
    let (after_name, _) = quote(bytes, word.end);
    let at = spaces(bytes, after_name);
    match bytes.get(at)? {
        b'>' if before == Some(b'<') => Some((Sign::Element, at + 1)),
        b'=' | b':' => {
            let signs = bytes[at..].iter().take(3).take_while(|byte| matches!(byte, b'=' | b':' | b'>')).count();
            let start = spaces(bytes, at + signs);
            let tight = start == at + 1 && at == word.end;
            let sign = match bytes[at] {
                // A path of code: `token::Kind`.
                b':' if bytes.get(at + 1) == Some(&b':') => return None,
                b':' if signs == 1 => Sign::Colon,
                _ if tight && matches!(before, Some(b'?' | b'&')) => Sign::Query,
                _ if tight => Sign::Tight,
                _ => Sign::Spaced,
            };
            Some((sign, start))
        }
        _ if at == word.end => None,
        _ if bytes[word.start..].starts_with(b"--") => Some((Sign::Flag, at)),
        _ => {
            let verb = [&b"is "[..], b"was "].into_iter().find(|verb| bytes[at..].starts_with(verb));
            Some((Sign::Words, spaces(bytes, at + verb.map_or(0, <[u8]>::len))))
        }
    }
}

/// Is it a line `NAME=value` of its own, so that the value goes on to the next space, whatever is in it?
fn is_setting(bytes: &[u8], word: &Range<usize>, sign: Sign) -> bool {
    let upper = !bytes[word.clone()].iter().any(u8::is_ascii_lowercase);
    let begins = word.start == 0 || matches!(bytes[word.start - 1], b'\n' | b' ' | b'\t' | b'"' | b'\'');
    sign == Sign::Tight && upper && begins
}

/// Where a value without quotes ends.
fn open_end(bytes: &[u8], start: usize, sign: Sign, setting: bool) -> usize {
    let stops = |index: usize| match bytes[index] {
        b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'<' => true,
        // A break or a quote in a string of JSON.
        b'\\' => bytes.get(index + 1).is_some_and(|next| b"nrt\"'\\".contains(next)),
        b'-' => bytes[index..].starts_with(private_key::BEGIN),
        b'&' | b'#' => sign == Sign::Query,
        b',' | b';' | b')' | b'}' | b']' | b'|' | b'>' => !setting,
        _ => false,
    };
    let limit = bytes.len().min(start + LONGEST);
    (start..limit).find(|index| stops(*index)).unwrap_or(limit)
}

/// Is a value in quotes a secret, rather than a variable, a placeholder or a word?
fn is_quoted_secret(kind: Kind, sign: Sign, value: &str) -> bool {
    let least = if kind == Kind::Chosen { 3 } else { 6 };
    if value.len() < least || is_shown(value) || value.contains("${") || value.contains("{{") {
        return false;
    }
    if kind == Kind::Chosen {
        // A sentence about passwords: `"password": "must be at least 8 characters"`.
        return value.split_ascii_whitespace().count() <= 6 && !(sign == Sign::Words && is_word(value));
    }
    !value.contains([' ', '\n']) && sign != Sign::Words && !is_short_word(value)
}

/// A word that no machine would make for a key.
fn is_short_word(value: &str) -> bool {
    value.len() < 12 && is_word(value)
}

/// Is a value without quotes a secret, rather than a type, a variable, a number or the next word of a sentence?
fn is_open_secret(bytes: &[u8], word: &Range<usize>, kind: Kind, sign: Sign, at: Range<usize>, value: &str) -> bool {
    let setting = is_setting(bytes, word, sign);
    let least = if kind == Kind::Chosen { 4 } else { 6 };
    let Some(first) = value.bytes().next() else { return false };
    if value.len() < least || is_shown(value) || (sign == Sign::Flag && first == b'-') {
        return false;
    }
    // What may begin a password but in code begins something else.
    let punctuated = matches!(first, b'$' | b'<' | b'{' | b'[' | b'(' | b'%' | b'&' | b'*' | b'@' | b'!' | b'/' | b'=');
    if punctuated && !(setting && kind == Kind::Chosen && first != b'$') {
        return false;
    }
    if !setting && (value.contains(['(', '[', '{']) || value.contains("::") || value.contains("->")) {
        return false;
    }
    if ["env.", "self.", "this."].iter().any(|code| value.contains(code)) {
        return false;
    }
    let number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if number {
        let least = if kind == Kind::Chosen { 6 } else { 8 };
        return value.len() >= least && (kind == Kind::Chosen && sign != Sign::Words || sign == Sign::Tight);
    }
    if !is_word(value) {
        // Prose has no such words, but it has versions: `the token v2.1`.
        return sign != Sign::Words || (kind == Kind::Chosen && value.bytes().any(|byte| byte.is_ascii_digit()));
    }
    let line_ends = matches!(bytes.get(at.end), None | Some(b'\n' | b'\r'));
    let simple = value.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match (kind, sign) {
        (_, Sign::Words) => false,
        (_, Sign::Element | Sign::Query) => true,
        (Kind::Chosen, Sign::Tight) => simple || setting,
        (Kind::Chosen, Sign::Flag) => simple,
        // A line of a configuration; in code something follows, or the name has a point or a `_`.
        (Kind::Chosen, Sign::Colon | Sign::Spaced) => simple && line_ends,
        (Kind::Made, Sign::Tight) => simple && value.len() >= 8,
        (Kind::Made, _) => false,
    }
}

/// Letters, and what joins them to names and sentences.
fn is_word(value: &str) -> bool {
    value
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'.' | b',' | b'_' | b'-' | b';' | b'?' | b'!' | b' '))
}

/// Is it masked already, or only a placeholder?
fn is_shown(value: &str) -> bool {
    let first = value.as_bytes().first();
    value.starts_with(MASK)
        || value.bytes().all(|byte| Some(&byte) == first)
        || value.starts_with("...")
        || (value.starts_with('<') && value.ends_with('>'))
        || (value.starts_with('%') && value.ends_with('%'))
        || (value.starts_with('$') && !value.bytes().any(|byte| byte.is_ascii_lowercase()))
        || value.starts_with("***")
        || PLACEHOLDERS.iter().any(|known| value.eq_ignore_ascii_case(known))
}

/// Behind the quote at `at`, if there is one, with its backslashes.
pub(super) fn quote(bytes: &[u8], at: usize) -> (usize, Option<Quote>) {
    let escapes = bytes[at.min(bytes.len())..].iter().take(7).take_while(|byte| **byte == b'\\').count();
    match bytes.get(at + escapes) {
        Some(byte @ (b'"' | b'\'')) => (at + escapes + 1, Some(Quote { byte: *byte, escapes })),
        // A mark of Markdown around a name or a value.
        Some(b'`') if escapes == 0 => (at + 1, Some(Quote { byte: b'`', escapes })),
        _ => (at, None),
    }
}

/// Where the value ends that this quote opened, on its line.
fn closing(bytes: &[u8], start: usize, opened: Quote) -> Option<usize> {
    let mut escapes = 0;
    for (index, byte) in bytes.iter().enumerate().skip(start).take(LONGEST) {
        match *byte {
            b'\\' => escapes += 1,
            b'\n' => return None,
            byte if byte == opened.byte && closes(escapes, opened.escapes) => {
                return Some(index - escapes.min(opened.escapes));
            }
            _ => escapes = 0,
        }
    }
    None
}

/// Does a quote behind so many backslashes end a text that began behind `opened` of them?
fn closes(escapes: usize, opened: usize) -> bool {
    if opened == 0 { escapes.is_multiple_of(2) } else { escapes <= opened }
}

/// Behind the spaces at `at`.
pub(super) fn spaces(bytes: &[u8], at: usize) -> usize {
    at + bytes.iter().skip(at).take(GAP).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}
