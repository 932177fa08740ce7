//! Masks what must not travel in a prompt: keys, tokens, passwords, private key blocks.
//!
//! A summary goes out to a model and is kept in the session, so everything that this plugin copies passes through
//! here, the user's own words too. Masking is by shape alone: it knows the prefixes that vendors publish, and values
//! that stand behind a name such as `password=`. It promises that masking twice changes nothing more, and that text
//! without a hit is returned without a copy. It does not promise to find a secret that looks like any other word.

use std::borrow::Cow;

use regex::{Captures, Regex};

/// What stands in the place of a secret.
pub(crate) const MASK: &str = "[redacted]";

/// Shapes that vendors publish for their keys. Also used to keep such strings out of the index of anchors.
///
/// In order: OpenAI, Anthropic and Stripe keys, GitHub tokens (old and fine-grained), GitLab, Slack, npm, PyPI,
/// Hugging Face, AWS key ids, Google API keys, JSON Web Tokens.
const TOKEN: &str = r"\b(?:(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{24,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)";

/// The value of a setting whose name says that it is secret: the name, what stands between, the value.
const ASSIGNED: &str = r#"(?P<name>(?i:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)["']?)(?P<sep>[ \t]*(?:=>|:=|=|:)[ \t]*)(?P<quote>["']?)(?P<value>[!#-&(-+\--:<-~]{6,})"#;

/// Finds secrets by their shape.
#[derive(Debug)]
pub(crate) struct Secrets {
    all: Regex,
    token: Regex,
}

impl Secrets {
    /// Compiles the shapes.
    pub(crate) fn new() -> Result<Self, regex::Error> {
        let all = format!(
            "(?-u)(?P<pem>-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----)\
             |(?P<auth>(?i:\\b(?:bearer|basic)))(?P<gap>[ \\t]+)(?P<credential>[A-Za-z0-9._~+/=-]{{16,}})\
             |(?P<token>{TOKEN})\
             |(?P<scheme>://[A-Za-z0-9._~%-]*:)(?P<userinfo>[A-Za-z0-9._~%!$&*+,;=-]+)(?P<at>@)\
             |{ASSIGNED}"
        );
        Ok(Self { all: Regex::new(&all)?, token: Regex::new(&format!("(?-u){TOKEN}"))? })
    }

    /// Is the string, or a part of it, shaped like a vendor's key?
    pub(crate) fn is_token(&self, text: &str) -> bool {
        self.token.is_match(text)
    }

    /// The text with every secret replaced by [`MASK`].
    pub(crate) fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = String::new();
        let mut copied = 0;
        let mut at = 0;
        while let Some(found) = self.all.captures_at(text, at) {
            let Some(whole) = found.get(0) else { break };
            let (replacement, end) = replace(text, &found, whole.end());
            if let Some(replacement) = replacement {
                out.push_str(&text[copied..whole.start()]);
                out.push_str(&replacement);
                copied = end;
            }
            at = end.max(whole.start() + 1);
            while !text.is_char_boundary(at) {
                at += 1;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }
}

/// What replaces a match, if anything does, and where to go on.
fn replace(text: &str, found: &Captures<'_>, end: usize) -> (Option<String>, usize) {
    let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
    if let Some(begin) = found.name("pem") {
        // The block ends at its footer; one that was cut off ends with the text.
        let body = &text[begin.end()..];
        let end = match body.find("-----END ") {
            Some(footer) => {
                let line = begin.end() + footer + "-----END ".len();
                text[line..].find("-----").map_or(text.len(), |dashes| line + dashes + "-----".len())
            }
            None => text.len(),
        };
        return (Some(MASK.to_owned()), end);
    }
    if found.name("token").is_some() {
        return (Some(MASK.to_owned()), end);
    }
    if found.name("credential").is_some() {
        return (Some(format!("{}{}{MASK}", part("auth"), part("gap"))), end);
    }
    if found.name("userinfo").is_some() {
        return (Some(format!("{}{MASK}@", part("scheme"))), end);
    }
    let (sep, quote, value) = (part("sep"), part("quote"), part("value"));
    if is_secret_value(sep, quote, value) {
        return (Some(format!("{}{sep}{quote}{MASK}", part("name"))), end);
    }
    // Go on behind the name: the value may be the name of another setting.
    (None, found.name("sep").map_or(end, |sep| sep.end()))
}

/// Is what stands behind a name such as `token:` a value, rather than a type, a variable or the next word?
fn is_secret_value(sep: &str, quote: &str, value: &str) -> bool {
    if value.starts_with(['$', '<', '{', '[', '(', '*']) || value.contains('(') || value.contains("env.") {
        return false;
    }
    let plain_word = value.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'.' | b',' | b'_' | b'-' | b';'));
    // `token: string` and `secret: must` are types and prose; `password=letmein` is not.
    !plain_word || !quote.is_empty() || (sep == "=" && value.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

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
