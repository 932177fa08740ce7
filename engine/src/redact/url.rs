//! Passwords and keys in addresses.

use std::ops::Range;

/// The longest part between `://` and `@` that is looked at. A password longer than that is not one that people set.
const USER_INFO: usize = 512;

/// Addresses whose path is the key.
const SECRET_PATHS: [&str; 4] =
    ["hooks.slack.com/services/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "api.telegram.org/bot"];

/// What is secret behind the `://` that stands before `at`: the password of `user:password@`, a long user without one,
/// or a path that is a key.
pub(super) fn credentials(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    for path in SECRET_PATHS {
        if let Some(key) = rest.strip_prefix(path) {
            let length =
                key.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b':'));
            let start = at + path.len();
            return Some(start..start + length.count()).filter(|key| key.len() >= 16);
        }
    }
    let stops =
        |b: &u8| b.is_ascii_whitespace() || matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\');
    let length = rest.as_bytes().iter().take(USER_INFO).take_while(|byte| !stops(byte)).count();
    let user_info = &rest[..rest.floor_char_boundary(length)];
    // A password may hold an `@` itself; the last one ends it.
    let user_info = &user_info[..user_info.rfind('@')?];
    let secret = match user_info.find(':') {
        Some(colon) => at + colon + 1..at + user_info.len(),
        None if is_key(user_info) => at..at + user_info.len(),
        None => return None,
    };
    let value = &text[secret.clone()];
    let shown = value.is_empty() || value == super::MASK || value.starts_with(['$', '{', '<', '*', '%']);
    (!shown).then_some(secret)
}

/// Is a user that has no password a key, such as those in addresses of packages and of error reports?
fn is_key(user: &str) -> bool {
    user.len() >= 20
        && user.bytes().any(|byte| byte.is_ascii_digit())
        && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
