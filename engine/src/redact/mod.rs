//! Masks secrets in text that leaves the host: prompts to a model, words of a provider, log lines.
//!
//! By shape alone, so that the same text always gives the same answer: private key blocks, the prefixes that vendors
//! publish for their keys, JSON Web Tokens, headers that authorise, passwords in URLs, and values that are set under a
//! name such as `password`, `DB_TOKEN` or `apiKey`. One pass over the text; the work grows with its length and with
//! nothing else.
//!
//! Promises: everything but a masked value stays as it was, byte for byte; masking twice changes nothing more; a text
//! without a hit is handed back without a copy. It does not promise to find a secret that looks like any other word
//! and stands under no name.

mod assigned;
mod header;
mod prefixes;
mod private_key;
mod scan;
#[cfg(test)]
mod tests;
mod url;

use std::borrow::Cow;
use std::ops::Range;

/// What stands in the place of a secret.
pub const MASK: &str = "[redacted]";

/// The text with every secret in it replaced by [`MASK`].
///
/// ```
/// use contextengine::redact::redact;
///
/// assert_eq!(redact("export DB_PASSWORD=hunter22 # staging"), "export DB_PASSWORD=[redacted] # staging");
/// assert_eq!(redact("max_tokens = 4096"), "max_tokens = 4096");
/// ```
pub fn redact(text: &str) -> Cow<'_, str> {
    masked(text, &scan::secrets(text))
}

/// The same for a text in which these exact values may stand as well, such as the key that a request was made with.
/// Values shorter than eight bytes are not looked for: they could be any word.
#[cfg(any(feature = "providers", test))]
pub(crate) fn redact_known<'t>(text: &'t str, known: &[&str]) -> Cow<'t, str> {
    let mut found = scan::secrets(text);
    for value in known.iter().filter(|value| value.len() >= 8) {
        found.extend(text.match_indices(*value).map(|(at, _)| at..at + value.len()));
    }
    found.sort_unstable_by_key(|range| range.start);
    masked(text, &found)
}

/// Replaces these parts, which are in order and may overlap.
fn masked<'t>(text: &'t str, secrets: &[Range<usize>]) -> Cow<'t, str> {
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for secret in secrets {
        if secret.start >= copied {
            out.push_str(&text[copied..secret.start]);
            out.push_str(MASK);
        }
        copied = copied.max(secret.end);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}
