//! What must not stand in a configuration file: keys and passwords belong in the environment.

use std::borrow::Cow;

use crate::redact::redact;

/// Words that, as a whole word of a name, say that its value is a secret.
const WORDS: [&str; 9] =
    ["secret", "password", "passwd", "passphrase", "credential", "credentials", "authorization", "cookie", "bearer"];

/// Names that say it as a whole or by their end, as in `openai_api_key`. `token` alone is one; `max_tokens` and
/// `token_budget` are not.
const NAMES: [&str; 9] = [
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "access_token",
    "auth_token",
    "api_token",
    "bearer_token",
    "refresh_token",
];

/// Whether a key of this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = snake_case(name);
    // `api_key_env` names a variable, and that is what is asked for.
    let names_place = ["_env", "_file", "_path"].iter().any(|end| name.ends_with(end));
    !names_place && speaks_of_secret(&name)
}

/// `apiKey` and `API-KEY` as `api_key`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            snake.push('_');
        }
        snake.push(if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
        before = c;
    }
    snake
}

fn speaks_of_secret(name: &str) -> bool {
    let is_one = |known: &&str| name.strip_suffix(*known).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    name == "token" || NAMES.iter().any(is_one) || name.split('_').any(|word| WORDS.contains(&word))
}

/// Whether a value is a secret by its shape, or holds one.
pub(super) fn is_secret(value: &str) -> bool {
    matches!(redact(value), Cow::Owned(_))
}

/// A line of a file, fit to be shown: what follows a name of a secret is struck out, and so is the whole value part of
/// a line that holds one.
pub(super) fn without(line: &str) -> String {
    const STRUCK: &str = "[not shown]";
    let letter = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    // Behind the name of a variable the key itself may stand.
    let names = |word: &str| speaks_of_secret(snake_case(word).trim_end_matches("_env"));
    let names_one = line.split(|c: char| !letter(c)).any(names);
    if !is_secret(line) && !names_one {
        return line.to_owned();
    }
    match line.split_once('=') {
        Some((name, _)) if !is_secret(name) => format!("{name}= {STRUCK}"),
        _ => STRUCK.to_owned(),
    }
}

/// A value, fit to be shown in a message: short, and no secret.
pub(super) fn shown(value: &str) -> String {
    const MOST: usize = 60;
    if is_secret(value) {
        return "[not shown]".to_owned();
    }
    match value.char_indices().nth(MOST) {
        None => value.to_owned(),
        Some((end, _)) => format!("{}…", &value[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No key of anybody.
    fn key() -> String {
        format!("ghp_{}", "a1B2".repeat(9))
    }

    #[test]
    fn names_of_secrets_are_known_and_names_of_counts_are_not() {
        for name in [
            "api_key",
            "apiKey",
            "API-KEY",
            "x-api-key",
            "openai_api_key",
            "token",
            "access_token",
            "client_secret",
            "Authorization",
            "db_password",
            "Cookie",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "max_tokens",
            "tokens",
            "token_budget",
            "api_key_env",
            "password_file",
            "key",
            "keep_recent",
            "monkey",
            "secretary",
            "tokenizer",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn secrets_are_known_by_their_shape() {
        let key = key();
        assert!(is_secret(&key) && is_secret(&format!("Bearer {key}.")));
        assert!(is_secret("https://me:pass@host/v1") && !is_secret("https://host/v1@2:3"));
        for plain in ["sk-", "task-aaaaaaaaaaaaaaaaaaaaaaaa", "http://localhost:8080/v1", "AKIA"] {
            assert!(!is_secret(plain), "{plain}");
        }
    }

    #[test]
    fn a_line_is_shown_without_its_secret() {
        let key = key();
        assert_eq!(without(&format!("api_key = \"{key}\"")), "api_key = [not shown]");
        assert_eq!(without(&format!("x = [\"{key}\"]")), "x = [not shown]");
        assert_eq!(without(&key), "[not shown]");
        assert_eq!(without("headers = { token = \"abc\" }"), "headers = [not shown]");
        assert_eq!(without("max_tokens = 5"), "max_tokens = 5");
        assert_eq!(shown(&key), "[not shown]");
    }
}
