//! Keys that say by their first letters whose they are.

use super::private_key;

use Alphabet::{Alnum, Dotted, Hex, Upper, Word};

/// What the rest of a key is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    /// Letters and digits.
    Alnum,
    /// Digits and a to f.
    Hex,
    /// Capital letters and digits.
    Upper,
    /// Letters, digits, `_` and `-`.
    Word,
    /// The same and `.`.
    Dotted,
}

impl Alphabet {
    fn has(self, byte: u8) -> bool {
        match self {
            Alnum => byte.is_ascii_alphanumeric(),
            Hex => byte.is_ascii_hexdigit(),
            Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
        }
    }
}

/// How a vendor's keys begin, how long the rest is at least, and what it is written in.
///
/// The sources are the vendors' own pages and the published rules of scanners (GitHub's secret scanning, gitleaks). The
/// lengths are below those that vendors use now, as they change.
#[rustfmt::skip]
const PREFIXES: &[(&str, usize, Alphabet)] = &[
    // Models: OpenAI, Anthropic, OpenRouter, DeepSeek and others; then each its own.
    ("sk-", 20, Word),
    ("gsk_", 40, Alnum), ("xai-", 40, Alnum), ("pplx-", 40, Alnum), ("nvapi-", 40, Word), ("hf_", 28, Alnum),
    ("r8_", 30, Alnum), ("fw_", 20, Alnum), ("tgp_v1_", 30, Word), ("jina_", 40, Alnum), ("pcsk_", 40, Word),
    ("tvly-", 20, Word), ("lsv2_pt_", 30, Word), ("lsv2_sk_", 30, Word), ("e2b_", 40, Hex),
    // Code and packages: GitHub, GitLab, npm, PyPI, RubyGems, crates.io, Clojars, Docker, Postman.
    ("ghp_", 16, Alnum), ("gho_", 16, Alnum), ("ghu_", 16, Alnum), ("ghs_", 16, Alnum), ("ghr_", 16, Alnum),
    ("github_pat_", 16, Word), ("glpat-", 16, Dotted), ("gldt-", 16, Word), ("glrt-", 16, Dotted),
    ("glcbt-", 16, Word), ("glptt-", 16, Word), ("glft-", 16, Word), ("glagent-", 16, Word), ("gloas-", 16, Word),
    ("glsoat-", 16, Word), ("glimt-", 16, Word), ("npm_", 30, Alnum), ("pypi-", 30, Word), ("rubygems_", 32, Hex),
    ("cio", 32, Alnum), ("CLOJARS_", 40, Alnum), ("dckr_pat_", 20, Word), ("dckr_oat_", 20, Word), ("PMAK-", 40, Word),
    // Clouds: AWS, Google, DigitalOcean, Alibaba, Databricks, Pulumi, HashiCorp Vault, Terraform, Supabase, Tailscale.
    ("AKIA", 12, Upper), ("ASIA", 12, Upper), ("ABIA", 12, Upper), ("ACCA", 12, Upper), ("AIza", 30, Word),
    ("ya29.", 20, Word), ("GOCSPX-", 20, Word), ("dop_v1_", 40, Hex), ("doo_v1_", 40, Hex), ("dor_v1_", 40, Hex),
    ("LTAI", 14, Alnum), ("dapi", 32, Hex), ("pul-", 40, Hex), ("hvs.", 24, Word), ("hvb.", 24, Word),
    ("hvr.", 24, Word), ("atlasv1.", 40, Word), ("sbp_", 40, Hex), ("sb_secret_", 20, Word), ("tskey-", 16, Word),
    // Messages and mail: Slack, SendGrid, Mailgun, Twilio.
    ("xoxa-", 10, Word), ("xoxb-", 10, Word), ("xoxe-", 10, Word), ("xoxo-", 10, Word), ("xoxp-", 10, Word),
    ("xoxr-", 10, Word), ("xoxs-", 10, Word), ("xapp-", 10, Word), ("SG.", 40, Dotted), ("key-", 32, Hex),
    ("SK", 32, Hex),
    // Money: Stripe, Square, Shopify.
    ("sk_live_", 16, Alnum), ("sk_test_", 16, Alnum), ("rk_live_", 16, Alnum), ("rk_test_", 16, Alnum),
    ("whsec_", 20, Alnum), ("sq0atp-", 22, Word), ("sq0csp-", 22, Word), ("shpat_", 32, Hex), ("shpss_", 32, Hex),
    ("shpca_", 32, Hex), ("shppa_", 32, Hex),
    // Tools: Linear, Notion, Sentry, Grafana, Atlassian, Figma, PostHog, 1Password, age.
    ("lin_api_", 30, Alnum), ("lin_oauth_", 30, Alnum), ("ntn_", 40, Alnum), ("secret_", 40, Alnum),
    ("sntrys_", 40, Word), ("sntryu_", 40, Hex), ("glsa_", 30, Word), ("glc_", 32, Word), ("ATATT3", 50, Word),
    ("ATCTT3", 50, Word), ("ATBB", 24, Alnum), ("figd_", 30, Word), ("phx_", 30, Alnum), ("ops_eyJ", 50, Word),
    ("AGE-SECRET-KEY-1", 50, Upper),
];

/// By first byte: does any prefix begin so?
const BEGINS: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < PREFIXES.len() {
        table[PREFIXES[at].0.as_bytes()[0] as usize] = true;
        at += 1;
    }
    table
};

/// Prefixes that ordinary names begin with too (`sk-learn-…`, `key-…`); here the rest must have a digit.
const AMBIGUOUS: [&str; 6] = ["sk-", "fw_", "cio", "secret_", "whsec_", "SK"];

/// No key is shorter that has no point in it.
pub(super) const SHORTEST: usize = 14;

const _: () = {
    let mut at = 0;
    while at < PREFIXES.len() {
        let (prefix, least, _) = PREFIXES[at];
        assert!(prefix.as_bytes()[prefix.len() - 1] == b'.' || prefix.len() + least >= SHORTEST);
        at += 1;
    }
};

/// How far the rest is searched for the digit that makes an ambiguous prefix a key: any key has one by then.
const LOOK: usize = 48;

/// Where the key that begins at `at` ends, if one does. The byte before must not be a letter or digit.
///
/// The work is bounded for a position that holds no key.
pub(super) fn key(bytes: &[u8], at: usize) -> Option<usize> {
    let begins = bytes.get(at).is_some_and(|byte| BEGINS[usize::from(*byte)]);
    if begins { PREFIXES.iter().find_map(|prefix| matches(bytes, at, *prefix)) } else { None }
}

fn matches(bytes: &[u8], at: usize, (prefix, least, alphabet): (&str, usize, Alphabet)) -> Option<usize> {
    let rest = bytes[at..].strip_prefix(prefix.as_bytes())?;
    let head = rest.get(..least)?;
    if !head.iter().all(|byte| alphabet.has(*byte)) {
        return None;
    }
    let near = rest.iter().take(LOOK).take_while(|byte| alphabet.has(**byte));
    if AMBIGUOUS.contains(&prefix) && !near.clone().any(u8::is_ascii_digit) {
        return None;
    }
    let length = rest.iter().take_while(|byte| alphabet.has(**byte)).count();
    let glued = (0..length).find(|at| rest[*at] == b'-' && rest[*at..].starts_with(private_key::BEGIN));
    let length = glued.unwrap_or(length);
    // A full stop ends the sentence, not the key.
    let dots = rest[..length].iter().rev().take_while(|byte| **byte == b'.').count();
    Some(at + prefix.len() + length - dots)
}

/// Where the JSON Web Token that begins at `at` ends, if one does: two or three parts in base64url, the first of which
/// begins with `{"` in that code.
pub(super) fn web_token(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    if !rest.starts_with(b"eyJ") {
        return None;
    }
    let part = |from: usize| rest.iter().skip(from).take_while(|byte| Word.has(**byte)).count();
    let header = part(0);
    if header < 8 || rest.get(header) != Some(&b'.') {
        return None;
    }
    let payload = part(header + 1);
    if payload < 8 {
        return None;
    }
    let mut end = header + 1 + payload;
    if rest.get(end) == Some(&b'.') {
        let signature = part(end + 1);
        end += if signature == 0 { 0 } else { 1 + signature };
    }
    Some(at + end)
}
