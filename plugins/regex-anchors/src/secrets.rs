//! Masks what must not travel in a prompt: keys, tokens, passwords, private key blocks.
//!
//! A summary goes out to a model and is kept in the session, so everything that this plugin copies passes through
//! here, the user's own words too. Masking is by shape alone: it knows the prefixes that vendors publish, and values
//! that stand behind a name such as `password=`. It promises that masking twice changes nothing more, and that text
//! without a hit is returned without a copy. It does not promise to find a secret that looks like any other word.

use std::borrow::Cow;

use crate::pattern::{Matcher, Pattern};
use crate::skim;

/// What stands in the place of a secret.
pub(crate) const MASK: &str = "[redacted]";

/// Shapes that vendors publish for their keys. Also used to keep such strings out of the index of anchors.
///
/// In order: OpenAI, Anthropic and Stripe keys, GitHub tokens (old and fine-grained), GitLab, Slack, npm, PyPI,
/// Hugging Face, AWS key ids, Google API keys, JSON Web Tokens.
const TOKEN: &str = r"\b(?:(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{24,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)";

/// The value of a setting whose name says that it is secret: the name, what stands between, the value.
const ASSIGNED: &str = r#"(?i:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)["']?[ \t]*(?:=>|:=|=|:)[ \t]*["']?[!#-&(-+\--:<-~]{6,}"#;

/// How such names begin; no key of a vendor begins so.
const NAMES: [&str; 8] = ["passw", "passphrase", "secret", "token", "api", "access", "private", "credential"];

/// Finds secrets by their shape.
#[derive(Debug)]
pub(crate) struct Secrets {
    all: Pattern,
    token: Matcher,
}

impl Secrets {
    /// Compiles the shapes.
    pub(crate) fn new() -> Result<Self, String> {
        let all = format!(
            "-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----\
             |(?i:\\b(?:bearer|basic))[ \\t]+[A-Za-z0-9._~+/=-]{{16,}}\
             |{TOKEN}\
             |://[A-Za-z0-9._~%-]*:[A-Za-z0-9._~%!$&*+,;=-]+@\
             |{ASSIGNED}"
        );
        Ok(Self { all: Pattern::new(&all)?, token: Matcher::new(TOKEN, false)? })
    }

    /// Is the string, or a part of it, shaped like a vendor's key?
    pub(crate) fn is_token(&self, text: &str) -> bool {
        skim::may_hold_token(text) && self.token.is_match(text)
    }

    /// The text with every secret replaced by [`MASK`].
    pub(crate) fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if skim::may_hold_secret(text) { self.mask_found(text) } else { Cow::Borrowed(text) }
    }

    /// The same without the quick look that spares most texts the search.
    fn mask_found<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = String::new();
        let mut copied = 0;
        let mut at = 0;
        while let Some(found) = self.all.find(text, at..text.len()) {
            let (replacement, end) = replace(text, found.start, found.end);
            if let Some(replacement) = replacement {
                out.push_str(&text[copied..found.start]);
                out.push_str(&replacement);
                copied = end;
            }
            at = end.max(found.start + 1);
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }
}

/// What replaces a match, if anything does, and where to go on.
fn replace(text: &str, start: usize, end: usize) -> (Option<String>, usize) {
    let found = &text[start..end];
    let lower = found.to_ascii_lowercase();
    if found.starts_with("-----BEGIN ") {
        return (Some(MASK.to_owned()), block_end(text, end));
    }
    if let Some(rest) = found.strip_prefix("://") {
        // `://user:password@`
        let user = rest.find(':').map_or(0, |colon| colon + 1);
        return (Some(format!("://{}{MASK}@", &rest[..user])), end);
    }
    if lower.starts_with("bearer") || lower.starts_with("basic") {
        let gap = found.rfind([' ', '\t']).map_or(0, |gap| gap + 1);
        return (Some(format!("{}{MASK}", &found[..gap])), end);
    }
    if !NAMES.iter().any(|name| lower.starts_with(name)) {
        return (Some(MASK.to_owned()), end);
    }
    let Some(sign) = found.find(['=', ':']) else {
        return (None, end);
    };
    let rest = found[sign..].trim_start_matches(['=', ':', '>']);
    let operator = &found[sign..found.len() - rest.len()];
    let rest = rest.trim_start_matches([' ', '\t']);
    let value = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let quoted = value.len() < rest.len();
    let head = found.len() - value.len();
    if is_secret_value(operator, quoted, value) {
        return (Some(format!("{}{MASK}", &found[..head])), end);
    }
    // Go on behind the sign: the value may be the name of another setting.
    (None, start + sign + 1)
}

/// A block ends at its footer; one that was cut off ends with the text.
fn block_end(text: &str, from: usize) -> usize {
    const FOOTER: &str = "-----END ";
    let Some(footer) = text[from..].find(FOOTER) else {
        return text.len();
    };
    let line = from + footer + FOOTER.len();
    text[line..].find("-----").map_or(text.len(), |dashes| line + dashes + "-----".len())
}

/// Is what stands behind a name such as `token:` a value, rather than a type, a variable or the next word?
fn is_secret_value(operator: &str, quoted: bool, value: &str) -> bool {
    if value.starts_with(['$', '<', '{', '[', '(', '*']) || value.contains('(') || value.contains("env.") {
        return false;
    }
    let plain_word = value.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'.' | b',' | b'_' | b'-' | b';'));
    // `token: string` and `secret: must` are types and prose; `password=letmein` is not.
    !plain_word || quoted || (operator == "=" && value.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    /// Secrets, their pieces, and what stands around them, to be put together in any way. None of them is a real one.
    const PIECES: [&str; 40] = [
        "sk-proj-abcdefghijklmnop1234",
        "sk_live_0123456789abcdef",
        "ghp_0123456789abcdefABCD",
        "github_pat_0123456789abcdefghij",
        "glpat-abcdefghijklmnopqrst",
        "xoxb-1234567890-abcdef",
        "npm_0123456789012345678901234567890123",
        "hf_abcdefghijklmnopqrstuvwxyz",
        "pypi-AgEIcHlwaS5vcmcabcdefghijklmnopqrstuv",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA0123456789abcdefghijklmnopqrstu",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
        "Bearer",
        "basic",
        "abcdef.ghijkl.mnopqr+/=",
        "password",
        "Passwd",
        "secret",
        "client_secret",
        "token",
        "api_key",
        "apiKey",
        "access-key",
        "private_key",
        "credentials",
        "hunter2hunter2",
        "s3cr3t!x",
        "https://mira:hunter2@db.local/x",
        "postgres://u:p%40ss@h",
        "-----BEGIN RSA PRIVATE KEY-----",
        "MIIEow",
        "-----END RSA PRIVATE KEY-----",
        "the",
        "word",
        "漢字",
        "é",
        "12345678901234567890",
        "keyboard",
        "tokens",
        "_",
    ];

    const BETWEEN: [&str; 16] =
        [" ", "", "\n", ": ", "=", "=>", ":=", " = ", "\"", "\": \"", "'", ",", "/", ".", "\t", "-"];

    fn any_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            8 => prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
            1 => "[a-zA-Z0-9_./:@-]{1,24}",
        ];
        prop::collection::vec((piece, prop::sample::select(BETWEEN.to_vec())), 0..10)
            .prop_map(|parts| parts.into_iter().map(|(piece, between)| piece + between).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn what_the_quick_look_lets_pass_holds_no_secret(text in any_text()) {
            let secrets = Secrets::new().unwrap();
            prop_assert_eq!(secrets.mask(&text), secrets.mask_found(&text));
        }
    }

    #[test]
    fn secrets_are_masked_and_their_surroundings_are_not() {
        let secrets = Secrets::new().unwrap();
        for (text, masked) in [
            ("key sk-proj-abcdefghijklmnop1234 end", "key [redacted] end"),
            ("ghp_0123456789abcdefABCD", "[redacted]"),
            ("AKIAIOSFODNN7EXAMPLE, then", "[redacted], then"),
            ("Authorization: Bearer abcdef.ghijkl.mnopqr", "Authorization: Bearer [redacted]"),
            ("password=hunter22", "password=[redacted]"),
            ("DB_PASSWORD: 'hunter22'", "DB_PASSWORD: '[redacted]'"),
            ("\"api_key\": \"abc123def\"", "\"api_key\": \"[redacted]\""),
            ("postgres://me:pw@db:5432/x", "postgres://me:[redacted]@db:5432/x"),
            ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n[redacted]\nb"),
            ("-----BEGIN PRIVATE KEY-----\nMIIE cut", "[redacted]"),
        ] {
            assert_eq!(secrets.mask(text), masked);
        }
    }

    #[test]
    fn prose_types_and_variables_stay() {
        let secrets = Secrets::new().unwrap();
        for text in [
            "truncated token: string is the type",
            "const token = process.env.TOKEN",
            "password: must be long",
            "token=$TOKEN",
            "let secret = load(path)",
            "use the token counter",
            "",
        ] {
            assert_eq!(secrets.mask(text), text);
        }
    }

    #[test]
    fn masking_twice_changes_nothing_more() {
        let secrets = Secrets::new().unwrap();
        for text in ["token=abc12345 secret: \"x1y2z3w4\"", "https://u:p@h/ Bearer 0123456789abcdef0123"] {
            let once = secrets.mask(text).into_owned();
            assert_eq!(secrets.mask(&once), once);
        }
    }
}
