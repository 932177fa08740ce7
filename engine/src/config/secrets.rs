//! What must not stand in a configuration file: keys and passwords belong in the environment.

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

/// How keys of well-known services begin, and how long one is at least: OpenAI and Anthropic, GitHub, GitLab, AWS,
/// Google, Slack, Hugging Face, and keys in PEM.
const BEGINNINGS: [(&str, usize); 14] = [
    ("sk-", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("hf_", 20),
    ("eyJ", 40),
];

const PEM: &str = "-----BEGIN";

/// Whether a key of this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let mut plain = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            plain.push('_');
        }
        plain.push(if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
        before = c;
    }
    // `api_key_env` names a variable, and that is what is asked for.
    if plain.ends_with("_env") || plain.ends_with("_file") || plain.ends_with("_path") {
        return false;
    }
    plain == "token"
        || NAMES.iter().any(|known| plain == *known || plain.strip_suffix(known).is_some_and(|r| r.ends_with('_')))
        || plain.split('_').any(|word| WORDS.contains(&word))
}

/// Whether a value is a key of a well-known service, or holds one.
pub(super) fn is_secret(value: &str) -> bool {
    value.contains(PEM) || value.split(|c: char| !is_key_letter(c)).any(is_key) || has_password(value)
}

fn is_key_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

fn is_key(word: &str) -> bool {
    BEGINNINGS.iter().any(|(beginning, least)| word.starts_with(beginning) && word.len() >= *least)
}

/// `scheme://user:password@host`.
fn has_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

/// A line of a file, fit to be shown: what follows a name of a secret is struck out, and so is the whole value part of
/// a line that holds one.
pub(super) fn without(line: &str) -> String {
    const STRUCK: &str = "[not shown]";
    let names = |text: &str| text.split(|c: char| !is_key_letter(c)).any(is_secret_name);
    if !is_secret(line) && !names(line) {
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
    fn keys_of_services_are_known_by_how_they_begin() {
        let key = format!("sk-{}", "a1".repeat(12));
        assert!(is_secret(&key) && is_secret(&format!("Bearer {key}.")));
        assert!(is_secret("https://me:pass@host/v1") && !is_secret("https://host/v1@2:3"));
        for plain in ["sk-", "task-aaaaaaaaaaaaaaaaaaaaaaaa", "http://localhost:8080/v1", "AKIA"] {
            assert!(!is_secret(plain), "{plain}");
        }
    }

    #[test]
    fn a_line_is_shown_without_its_secret() {
        let key = format!("sk-{}", "a1".repeat(12));
        assert_eq!(without(&format!("api_key = \"{key}\"")), "api_key = [not shown]");
        assert_eq!(without(&format!("x = [\"{key}\"]")), "x = [not shown]");
        assert_eq!(without(&key), "[not shown]");
        assert_eq!(without("headers = { token = \"abc\" }"), "headers = [not shown]");
        assert_eq!(without("max_tokens = 5"), "max_tokens = 5");
        assert_eq!(shown(&key), "[not shown]");
    }
}
