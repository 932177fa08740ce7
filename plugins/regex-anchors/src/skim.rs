//! Skips quickly over what holds no name and no secret, so that the automata see only what might.
//!
//! Most of a session is words, numbers and punctuation. One pass over the bytes, with a table of classes, tells runs of
//! letters that could begin a name from those that cannot; only the former are searched. It assumes the patterns of
//! [`crate::anchors`], [`crate::secrets`] and the rules of [`crate::shape`], and promises that whatever they find in a
//! text they also find where this module sends them: when in doubt, it sends them. A rule that is changed there must
//! be looked for here.

use std::ops::Range;

use crate::paths::is_extension;

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const UNDERSCORE: u8 = 8;
const DOT: u8 = 16;
const DASH: u8 = 32;
/// `@`, `+`, `~`, `$`: may stand in the first part of a path.
const SIGN: u8 = 64;
/// `/`, `\`, `#`: may begin a name themselves.
const START: u8 = 128;

const WORD: u8 = LOWER | UPPER | DIGIT | UNDERSCORE;
/// What a name runs through without a closer look.
const RUN: u8 = WORD | DOT | DASH | SIGN;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut at = 0;
    while at < 256 {
        class[at] = match at as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'.' => DOT,
            b'-' => DASH,
            b'@' | b'+' | b'~' | b'$' => SIGN,
            b'/' | b'\\' | b'#' => START,
            _ => 0,
        };
        at += 1;
    }
    class
};

/// By the letter's place in the alphabet: words that introduce a name begin so; see [`introduces`].
const INTRODUCES: [bool; 32] = {
    let mut table = [false; 32];
    let mut at = 0;
    let letters = b"bcegops";
    while at < letters.len() {
        table[(letters[at] & 31) as usize] = true;
        at += 1;
    }
    table
};

fn class(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).map_or(0, |b| CLASS[usize::from(*b)])
}

/// The next part of `range` that might hold a name, if any does: no name begins before it, and one that begins in it
/// ends in it or, as no name crosses a line, at the end of its line.
pub(crate) fn next_part(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let bytes = &text.as_bytes()[..range.end];
    let mut at = range.start;
    while at < bytes.len() {
        let first = class(bytes, at);
        if first & RUN == 0 {
            if first == START && starts(bytes, at) {
                return Some(at..line_end(bytes, at));
            }
            at += 1;
            continue;
        }
        let mut end = at + 1;
        let mut seen = first;
        while end < bytes.len() {
            let class = CLASS[usize::from(bytes[end])];
            if class & RUN == 0 {
                break;
            }
            seen |= class;
            end += 1;
        }
        // Most runs are a word that nothing follows which could belong to a name.
        if seen == LOWER
            && bytes.get(end) == Some(&b' ')
            && !INTRODUCES[usize::from(bytes[at] & 31)]
            && bytes[end - 1] != b'd'
        {
            at = end;
            continue;
        }
        if is_open(bytes, at, end, seen) {
            return Some(at..line_end(bytes, end));
        }
        if is_closed(&bytes[at..end], seen) {
            return Some(at..end);
        }
        at = end;
    }
    None
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |at| from + at)
}

/// Could `/`, `\` or `#` begin a name here?
fn starts(bytes: &[u8], at: usize) -> bool {
    let next = class(bytes, at + 1);
    match bytes[at] {
        b'#' => next == DIGIT,
        _ => next & RUN != 0 || matches!(bytes.get(at + 1), Some(b'=' | b'%')),
    }
}

/// Could a name begin in the run and go on behind it?
fn is_open(bytes: &[u8], start: usize, end: usize, seen: u8) -> bool {
    let run = &bytes[start..end];
    let next = bytes.get(end).copied().unwrap_or(b'\n');
    let after = bytes.get(end + 1).copied().unwrap_or(b'\n');
    let ends = match next {
        b'/' | b'\\' => starts(bytes, end),
        b':' => match after {
            b'/' | b'\\' => true,
            b'0'..=b'9' if seen & DOT != 0 || run.ends_with(b"localhost") => true,
            // `host:owner/repository#7` is one name, from its beginning.
            _ => class(bytes, end + 1) & RUN != 0 && has_path_ahead(&bytes[end + 1..]),
        },
        b'=' => seen & UPPER != 0 && seen & UNDERSCORE != 0,
        b'{' => run.ends_with(b"$"),
        b' ' => (seen & UPPER != 0 && run.ends_with(b"HEAD")) || (seen & DASH != 0 && run.ends_with(b"-----BEGIN")),
        _ => false,
    };
    ends || (matches!(next, b'"' | b'\'' | b' ' | b'=' | b':') && ends_in_id(run)) || introduces(run, seen)
}

/// Is there a `/` or `\\` in what goes on without a blank? Looks no further than a name goes.
fn has_path_ahead(rest: &[u8]) -> bool {
    const FAR: usize = 200;
    rest.iter().take(FAR).take_while(|b| !b.is_ascii_whitespace()).any(|b| matches!(b, b'/' | b'\\'))
}

/// `id`, `user_id`, `request-ID`.
fn ends_in_id(run: &[u8]) -> bool {
    if !matches!(run.last(), Some(b'd' | b'D')) {
        return false;
    }
    let Some(head) = [b"id", b"ID", b"Id"].iter().find_map(|id| run.strip_suffix(*id)) else {
        return false;
    };
    head.last().is_none_or(|b| !b.is_ascii_alphanumeric())
}

/// Does a word of the run introduce a name, as `branch` and `port` do?
fn introduces(run: &[u8], seen: u8) -> bool {
    let introduces = |word: &[u8]| match word.first() {
        Some(b'b') => word.starts_with(b"branch"),
        Some(b'c') => word.starts_with(b"checkout"),
        Some(b'e') => word.starts_with(b"export") || word.starts_with(b"env"),
        Some(b'g') => word == b"git" || word == b"getenv",
        Some(b'o') => word.starts_with(b"origin"),
        Some(b'p') => word.starts_with(b"port") || word == b"process",
        Some(b's') => word.starts_with(b"switch"),
        Some(b'H') => word == b"HTTP",
        Some(b'O') => word == b"On",
        Some(b'P') => word.starts_with(b"Port") || word == b"PORT",
        _ => false,
    };
    if seen & !WORD == 0 { introduces(run) } else { words(run).any(introduces) }
}

fn words(run: &[u8]) -> impl Iterator<Item = &[u8]> {
    run.split(|b| CLASS[usize::from(*b)] & WORD == 0).filter(|word| !word.is_empty())
}

/// Could a name lie within the run?
fn is_closed(run: &[u8], seen: u8) -> bool {
    if seen & !LOWER == 0 || seen & (DOT | DASH | SIGN) == 0 && seen & LOWER == 0 && seen & UPPER == 0 {
        // Letters alone and digits alone are no names.
        return false;
    }
    let dots = |run: &[u8]| run.iter().filter(|b| **b == b'.').count();
    seen & SIGN != 0 && has_sign(run)
        || seen & DIGIT != 0 && seen & UNDERSCORE != 0
        || seen & DIGIT != 0 && seen & DOT != 0 && dots(run) >= 2
        || seen & DOT != 0 && has_file(run)
        || seen & UPPER != 0 && has_capital_name(run, seen)
        || seen & DASH != 0 && run.len() >= 36
        || seen & DIGIT != 0 && words(run).any(is_hex)
}

/// `@name` or `$NAME`.
fn has_sign(run: &[u8]) -> bool {
    run.windows(2).any(|pair| match pair[0] {
        b'@' => pair[1].is_ascii_alphabetic(),
        b'$' => pair[1].is_ascii_uppercase(),
        _ => false,
    })
}

/// A known extension behind a dot.
fn has_file(run: &[u8]) -> bool {
    run.split(|b| *b == b'.').skip(1).any(|part| {
        let end = part.iter().position(|b| CLASS[usize::from(*b)] & WORD == 0).unwrap_or(part.len());
        is_extension(&part[..end])
    })
}

fn has_capital_name(run: &[u8], seen: u8) -> bool {
    // `ABC-12`, `CVE-2024-1`, `GH-7`: a word that begins with two capitals, or a capital and a digit, before a dash.
    let begins =
        |pair: &[u8]| pair[0].is_ascii_uppercase() && (pair[1].is_ascii_uppercase() || pair[1].is_ascii_digit());
    let ticket = seen & DASH != 0 && seen & DIGIT != 0 && words(run).any(|word| word.len() >= 2 && begins(word));
    ticket
        || words(run).any(|word| match word {
            [b'E', b'R', b'R', b'_', ..] | [b'S', b'I', b'G', ..] | [b'T', b'S', b'0'..=b'9', ..] => true,
            [b'E', next, ..] if next.is_ascii_uppercase() || next.is_ascii_digit() => true,
            [b'A'..=b'Z', ..] => word.ends_with(b"Error") || word.ends_with(b"Exception"),
            _ => false,
        })
}

fn is_hex(word: &[u8]) -> bool {
    word.len() >= 7
        && word.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && word.iter().any(u8::is_ascii_digit)
}

/// The shortest key of a vendor, in bytes (Slack's `xoxb-` and ten more).
const SHORTEST_TOKEN: usize = 15;

/// Could the text, a name without white space, hold a key of a vendor?
pub(crate) fn may_hold_token(name: &str) -> bool {
    name.len() >= SHORTEST_TOKEN && may_be_token(name.as_bytes(), 0, name.len())
}

/// Could the text hold a secret?
pub(crate) fn may_hold_secret(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut run = 0;
    for (at, b) in bytes.iter().enumerate() {
        let class = CLASS[usize::from(*b)];
        if class & RUN != 0 || *b == b'/' {
            run += 1;
            continue;
        }
        if matches!(b, b'=' | b':') {
            // A name such as `password`, or `://` with an `@` behind it.
            if is_secret_name(&bytes[..at]) || (*b == b':' && has_login(&bytes[at..])) {
                return true;
            }
            // Values in base64 go on behind the sign.
            run += 1;
            continue;
        }
        if run >= SHORTEST_TOKEN && may_be_token(bytes, at - run, at) {
            return true;
        }
        run = 0;
    }
    run >= SHORTEST_TOKEN && may_be_token(bytes, bytes.len() - run, bytes.len())
        || bytes.contains(&b'-') && text.contains("-----BEGIN ")
}

fn is_secret_name(before: &[u8]) -> bool {
    const NAMES: [&[u8]; 8] =
        [b"password", b"passwd", b"passphrase", b"secret", b"token", b"key", b"credential", b"credentials"];
    let mut end = before.len();
    while end > 0 && matches!(before[end - 1], b' ' | b'\t') {
        end -= 1;
    }
    if end > 0 && matches!(before[end - 1], b'"' | b'\'') {
        end -= 1;
    }
    // The last letters tell most words from these at once.
    let last = end.checked_sub(1).map_or(0, |at| before[at].to_ascii_lowercase());
    matches!(last, b'd' | b'e' | b't' | b'n' | b'y' | b'l' | b's')
        && NAMES.iter().any(|name| end >= name.len() && before[end - name.len()..end].eq_ignore_ascii_case(name))
}

/// `://user:password@` in the rest of the word.
fn has_login(rest: &[u8]) -> bool {
    rest.starts_with(b"://") && rest.iter().take_while(|b| !b.is_ascii_whitespace()).any(|b| *b == b'@')
}

fn may_be_token(bytes: &[u8], start: usize, end: usize) -> bool {
    const BEGINNINGS: [&[u8]; 21] = [
        b"sk-",
        b"sk_",
        b"pk-",
        b"pk_",
        b"rk-",
        b"rk_",
        b"ghp_",
        b"gho_",
        b"ghu_",
        b"ghs_",
        b"ghr_",
        b"github_pat_",
        b"glpat-",
        b"xox",
        b"npm_",
        b"pypi-",
        b"hf_",
        b"AKIA",
        b"ASIA",
        b"AIza",
        b"eyJ",
    ];
    let before = bytes[..start].trim_ascii_end();
    let authorization = [b"bearer".as_slice(), b"basic"]
        .iter()
        .any(|word| before.len() >= word.len() && before[before.len() - word.len()..].eq_ignore_ascii_case(word));
    authorization
        || (start..end).any(|at| {
            matches!(bytes[at], b's' | b'p' | b'r' | b'g' | b'x' | b'n' | b'h' | b'A' | b'e')
                && (at == 0 || class(bytes, at - 1) & WORD == 0)
                && BEGINNINGS.iter().any(|beginning| bytes[at..end].starts_with(beginning))
        })
}
