//! Private keys as PEM and OpenPGP write them, and as PuTTY does.

use std::ops::Range;

/// How the first line begins.
pub(super) const BEGIN: &[u8] = b"-----BEGIN ";

/// Lines of letters that stand between the first line of a block and its data.
const FIELDS: [&str; 5] = ["Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:"];

/// The longest first line that is looked at.
const LABEL: usize = 64;

/// The block whose first line begins at `at`, if it is one of a private key.
///
/// A block that was cut off ends where its lines stop looking like the data of a key, so that what follows stays.
pub(super) fn block(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?.strip_prefix("-----BEGIN ")?;
    let label = &rest[..rest.floor_char_boundary(LABEL)];
    let label = &label[..label.find("-----")?];
    if !label.contains("PRIVATE KEY") || label.contains(|c: char| !matches!(c, 'A'..='Z' | '0'..='9' | ' ')) {
        return None;
    }
    let data = at + "-----BEGIN ".len() + label.len() + "-----".len();
    let end = data + data_length(&text[data..]);
    let footer = text[end..].strip_prefix("-----END ").and_then(|footer| {
        let name = &footer[..footer.floor_char_boundary(LABEL)];
        name.find("-----").map(|dashes| end + "-----END ".len() + dashes + "-----".len())
    });
    // Without a footer, the break before what follows is not part of the key.
    let kept = || data + text[data..end].trim_end_matches(['\n', '\r', ' ']).len();
    Some(at..footer.unwrap_or_else(kept))
}

/// Bytes that belong to the data of a key: base64, breaks (also as `\n` in a JSON string), and its few fields.
fn data_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(field) = FIELDS.iter().find(|field| text.is_char_boundary(at) && text[at..].starts_with(**field)) {
            at += field.len();
            at += bytes[at..].iter().take_while(|byte| !matches!(byte, b'\n' | b'\\' | b'"')).count();
            continue;
        }
        let line = bytes[at..].iter().take_while(|byte| is_base64(**byte)).count();
        // Prose is not data: a line of base64 has no space in it.
        if line > 0 && bytes.get(at + line) == Some(&b' ') && bytes.get(at + line + 1) != Some(&b'-') {
            return at;
        }
        at += line;
        match bytes.get(at) {
            Some(b'\n' | b'\r' | b' ' | b'\t') => at += 1,
            Some(b'\\') if matches!(bytes.get(at + 1), Some(b'n' | b'r' | b'\\')) => at += 2,
            // `\\n`: JSON within JSON, the second part.
            Some(b'"' | b'\'' | b'+') if joins_lines(&bytes[at..]) => at += joined(&bytes[at..]),
            _ => return at,
        }
    }
    at
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// A string of code that goes on in the next line: `…" +` and a quote.
fn joins_lines(bytes: &[u8]) -> bool {
    joined(bytes) > 0
}

/// Bytes from the closing quote to behind the opening one.
fn joined(bytes: &[u8]) -> usize {
    let between =
        bytes.iter().skip(1).take(64).take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b'+')).count();
    let opens = bytes.get(1 + between).is_some_and(|byte| matches!(byte, b'"' | b'\''));
    if between > 0 && opens { between + 2 } else { 0 }
}
