//! Windows of well-known models.
//!
//! Few, as such a table is old the day after it is written: an operator adds to it with `[models."name"]`, and what
//! stands there goes first.

use crate::alike::nearest;

/// Name and window in tokens, as the providers document them for their API, without options that are not on by
/// default (such as a longer window in beta):
/// OpenAI, the page of each model in the API reference; Anthropic, "Models overview", column "Context window";
/// Google, "Gemini models", "Input token limit". Looked up in 2026.
const KNOWN: [(&str, u32); 18] = [
    ("claude-haiku-4-5", 200_000),
    ("claude-opus-4-1", 200_000),
    ("claude-opus-4-5", 200_000),
    ("claude-opus-4-7", 1_000_000),
    ("claude-sonnet-4-5", 200_000),
    ("claude-sonnet-4-6", 1_000_000),
    ("gemini-2.5-flash", 1_048_576),
    ("gemini-2.5-pro", 1_048_576),
    ("gpt-4.1", 1_047_576),
    ("gpt-4.1-mini", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4o-mini", 128_000),
    ("gpt-5", 400_000),
    ("gpt-5-mini", 400_000),
    ("gpt-5.1", 400_000),
    ("o3", 200_000),
    ("o3-mini", 200_000),
    ("o4-mini", 200_000),
];

/// The window of a model that the host knows; a name with a date behind it, as in `gpt-4o-2024-11-20`, is the same
/// model.
pub(super) fn window(name: &str) -> Option<u32> {
    let is_it = |known: &str| name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || is_date(rest));
    KNOWN.iter().find(|(known, _)| is_it(known)).map(|(_, window)| *window)
}

/// `-20251001` or `-2024-11-20`.
fn is_date(rest: &str) -> bool {
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    rest.starts_with('-') && digits == 8 && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// A known name that is like this one, of the host's or of these.
pub(super) fn like<'a>(name: &str, own: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest(name, own.chain(KNOWN.iter().map(|(known, _)| *known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_behind_a_name_is_the_same_model_and_anything_else_is_not() {
        assert_eq!(window("gpt-4o"), Some(128_000));
        assert_eq!(window("gpt-4o-2024-11-20"), Some(128_000));
        assert_eq!(window("claude-haiku-4-5-20251001"), Some(200_000));
        for other in ["gpt-4o-audio", "gpt-5-chat", "gpt", "", "gpt-4o-2024"] {
            assert_eq!(window(other), None, "{other}");
        }
        assert!(KNOWN.is_sorted(), "in order, so that none is there twice");
        assert_eq!(like("claude-sonet-4-5", std::iter::empty()), Some("claude-sonnet-4-5".to_owned()));
    }
}
