//! Headers that authorise.

use std::ops::Range;

use super::assigned::{self, Quote};

/// The longest value that is looked at.
const LONGEST: usize = 8 << 10;

/// How much of a value is searched for what shows that it is no word of prose.
const NEAR: usize = 128;

/// Schemes that stand before the credentials.
const SCHEMES: [&str; 6] = ["bearer", "basic", "token", "apikey", "digest", "negotiate"];

/// What is secret behind a word that ends at `end`, if the word is `Bearer`, `Basic`, or the name of a header whose
/// value authorises.
pub(super) fn value(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let (name, end) = (&text[word.clone()], word.end);
    // Most words are none of the names, by their length alone.
    if !matches!(name.len(), 5 | 6 | 10 | 13 | 19) {
        return None;
    }
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    if is("bearer") || is("basic") {
        return credentials(text, end);
    }
    let cookie = is("cookie") || is("set-cookie");
    if !cookie && !is("authorization") && !is("proxy-authorization") {
        return None;
    }
    let bytes = text.as_bytes();
    let (at, _) = assigned::quote(bytes, end);
    if !matches!(bytes.get(at), Some(b':' | b'=')) {
        return None;
    }
    let at = assigned::spaces(bytes, at + 1);
    let (at, quote) = assigned::quote(bytes, at);
    let at = scheme(text, at).unwrap_or(at);
    let sign = |byte: &u8| if cookie { *byte == b'=' } else { byte.is_ascii_digit() };
    let shown = matches!(bytes.get(at), None | Some(b'$' | b'{' | b'<' | b'*' | b'`' | b'['));
    let near = bytes.get(at..)?.iter().take(NEAR).take_while(|byte| !matches!(byte, b'\n' | b'"'));
    if shown || !near.clone().any(sign) {
        return None;
    }
    let secret = text[at..text.floor_char_boundary(line_value(bytes, at, quote))].trim_end();
    (secret.len() >= 8).then(|| at..at + secret.len())
}

/// Credentials behind `Bearer` or `Basic` and a space: one word that is no word of prose.
fn credentials(text: &str, end: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = assigned::spaces(bytes, end);
    if start == end {
        return None;
    }
    let written =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'~' | b'+' | b'/' | b'=' | b'-' | b':' | b'|');
    let length = bytes[start..].iter().take_while(|byte| written(byte)).count();
    let value = text[start..start + length].trim_end_matches(['.', ':']);
    let mixed = value.bytes().any(|b| b.is_ascii_digit() || b == b'=')
        || (value.bytes().any(|b| b.is_ascii_lowercase()) && value.bytes().skip(1).any(|b| b.is_ascii_uppercase()));
    (value.len() >= 12 && mixed || value.len() >= 24 && !value.contains('/')).then(|| start..start + value.len())
}

/// Behind a scheme and its space, if one stands at `at`.
fn scheme(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let scheme =
        SCHEMES.iter().find(|scheme| rest.get(..scheme.len()).is_some_and(|word| word.eq_ignore_ascii_case(scheme)))?;
    let end = at + scheme.len();
    let start = assigned::spaces(text.as_bytes(), end);
    (start > end).then_some(start)
}

/// Where the value of a header ends: with its quote, or with the line.
fn line_value(bytes: &[u8], at: usize, quote: Option<Quote>) -> usize {
    let ends = |index: usize| match (bytes[index], quote) {
        (b'\n' | b'\r', _) => true,
        (byte, Some(quote)) => byte == quote.byte || (byte == b'\\' && bytes.get(index + 1) == Some(&quote.byte)),
        // Within a quoted argument (`-H 'Authorization: …'`), or a string of JSON.
        (byte, None) => {
            matches!(byte, b'"' | b'\'' | b'`')
                || (byte == b'\\' && bytes.get(index + 1).is_some_and(|b| b"nr\"".contains(b)))
        }
    };
    (at..bytes.len().min(at + LONGEST)).find(|index| ends(*index)).unwrap_or_else(|| bytes.len().min(at + LONGEST))
}
