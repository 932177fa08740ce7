#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Instant;

use proptest::prelude::*;

use super::{MASK, redact, redact_known};

/// What is masked, with what stands around it. `«…»` is what must go. None of them is a real one.
const MASKED: &[&str] = &[
    "key «sk-proj-abcdefghijklmnop1234» end",
    "(«sk-ant-api03-abcdefghijklmnop-1234_XYZ»)",
    "«ghp_0123456789abcdefABCD»",
    "x=«github_pat_0123456789abcdefghij», then",
    "«glpat-abcdefghijklmnopqrst»",
    "«AKIAIOSFODNN7EXAMPLE», then",
    "old_key_«AIzaSyA0123456789abcdefghijklmnopqrstu»",
    "see «eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_123».",
    "a\n«-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/=\nabc=\n-----END RSA PRIVATE KEY-----»\nb",
    "«-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk»\n then the log goes on",
    "\"key\": \"«-----BEGIN PRIVATE KEY-----\\nMIIE\\nabc\\n-----END PRIVATE KEY-----»\\n\"",
    "«-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\nlQOY\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----»",
    "Authorization: Bearer «abcdef.ghijkl1mnopqr»",
    "-H 'authorization: token «abc12345def»'",
    "curl -H \"X-Api-Key: «0a1b2c3d4e5f»\" https://x.example",
    "{\"Authorization\": \"Basic «dXNlcjpwYXNzd29yZA==»\"}",
    "{\\\"authorization\\\": \\\"Bearer «abcDEFghiJKL123»\\\", \\\"x\\\": 1}",
    "Cookie: «session=abc123; theme=dark»\nAccept: */*",
    "postgres://me:«p@ss:w0rd»@db:5432/app",
    "https://«0123456789abcdef0123456789abcdef»@o1.ingest.example/2",
    "https://«ghp_0123456789abcdefABCD»:«x-oauth-basic»@github.com/a/b",
    "https://hooks.slack.com/services/«T0000/B0000/abcdefABCDEF0123»",
    "password=«hunter22»",
    "DB_PASSWORD: '«hunter22»'",
    "export PGPASSWORD=«letmein»",
    "PASSWORD=«a&b;c)d»\nNEXT=1",
    "\"api_key\": \"«abc123def»\"",
    "{\\\"password\\\": \\\"«hunter2»\\\", \\\"user\\\": \\\"me\\\"}",
    "\"text\": \"A=1\\nAPI_TOKEN=«0123456789»\\nB=2\"",
    "?page=2&access_token=«abcdef01»&sort=up",
    "password: «letmein»\nuser: me",
    "password = «letmein»",
    "<password>«letmein»</password>",
    "mysql --password «hunter2» -h db",
    "tool --api-key=«abcdefgh12»",
    "machine x login me password «hunter2hunter2»",
    "my password is «hunter22».",
    "https://b.s3.example/k?x=1&X-Amz-Signature=«0123456789abcdef»&y=2",
    "SG.abc «SG.abcdefghijklmnopqrstuv.wxyz0123456789abcdefghij» hvs.x «hvs.abcdefghijklmnopqrstuvwxyz»",
    "AccountName=x;AccountKey=«abc/def+012==»;Suffix=y",
    "aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY»",
    "const apiKey = \"«0123456789abcdef»\";",
    "let password = \"«correct horse»\";",
    "client_secret: \"«abcDEF123»\"",
    "//registry.example/:_authToken=«0123456789abcdef»",
];

/// What stays, although it looks like one from afar.
const KEPT: &[&str] = &[
    "",
    "truncated token: string is the type",
    "const token = process.env.TOKEN",
    "password: must be long",
    "token=$TOKEN and token=${TOKEN}",
    "let secret = load(path)",
    "use the token counter",
    "max_tokens = 4096, max_output_tokens: 16384",
    "\"total_tokens\": 123456, \"token_count\": 7",
    "next_page_token: \"abcdef0123456789\"",
    "bos_token=151643",
    "PWD=/home/me/src/app OLDPWD=/tmp/x1y2z3",
    "git clone ssh://git@github.com/a/b and https://example.org:8080/x@y",
    "the sk-learn-style-of-estimators task-force",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "Bearer tokens are short-lived; basic authentication is not",
    "Basic validation/printing/parsing of arguments",
    "authorization: required for all routes",
    "fn token(&self) -> Token::Kind { self.token }",
    "\"signature\": \"EoICCkYICxgCKkDyCAiEbJ8tV5Xo\", \"thinkingSignature\": \"reasoning_content\"",
    "if token == other { password: String }",
    "secret: <your secret>, password: ********, token: [redacted]",
    "password=[redacted] api_key=\"[redacted]\"",
    "the password, the token and the secret were rotated",
    "session_id: 0199aa11-2233, call_id=call_abc123DEF",
    "パスワード: 忘れました 🦀",
];

fn without_marks(text: &str) -> String {
    text.replace(['«', '»'], "")
}

fn expected(text: &str) -> String {
    let mut parts = text.split('«');
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (_, rest) = part.split_once('»').unwrap();
        out += MASK;
        out += rest;
    }
    out
}

#[test]
fn secrets_are_masked_and_their_surroundings_are_not() {
    for text in MASKED {
        assert_eq!(redact(&without_marks(text)), expected(text), "{text}");
    }
}

#[test]
fn names_types_prose_and_variables_stay() {
    for text in KEPT {
        assert_eq!(redact(text), *text);
        assert!(matches!(redact(text), std::borrow::Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn a_known_key_is_masked_wherever_it_stands() {
    let known = ["plainlookingkey", "short"];
    assert_eq!(redact_known("xplainlookingkeyx short", &known), "x[redacted]x short");
    assert_eq!(redact_known("token=plainlookingkey1 end", &known), "token=[redacted] end");
}

/// Pieces that are put together in any way, to find what the tables above do not think of.
fn pieces() -> impl Strategy<Value = String> {
    let known: Vec<String> =
        MASKED.iter().map(|text| without_marks(text)).chain(KEPT.iter().map(|&t| t.to_owned())).collect();
    let glue = ["", " ", "\n", ":", "=", "\"", "'", "\\\"", "\\n", "://", "@", "-----BEGIN ", "-", "_", ".", "é", "漢"];
    let piece = prop_oneof![
        3 => prop::sample::select(known),
        4 => prop::sample::select(glue.map(str::to_owned).to_vec()),
        1 => "[a-zA-Z0-9_./:@=-]{1,24}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn masking_twice_changes_nothing_more(text in pieces()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str(), "from {:?}", text);
    }

    #[test]
    fn what_is_not_masked_stays_byte_for_byte(text in pieces()) {
        let masked = redact(&text);
        // Each part between masks stands in the text, in order.
        let mut rest = text.as_str();
        for part in masked.split(MASK) {
            let at = rest.find(part);
            prop_assert!(at.is_some(), "{:?} is not in {:?}", part, rest);
            rest = &rest[at.unwrap_or(0) + part.len()..];
        }
    }

    #[test]
    fn a_planted_secret_does_not_leave_whatever_stands_around_it(
        before in "[ a-z.,:;\n\"'(){}<>é漢]{0,40}",
        after in "[ \n\"'),;<][ a-z.,:;\n\"'(){}<>é漢]{0,40}",
        secret in prop_oneof![
            "sk-[A-Za-z]{10}[0-9][A-Za-z0-9_-]{12,40}",
            "ghp_[A-Za-z0-9]{36}",
            "AKIA[A-Z2-7]{16}",
            "xoxb-[0-9]{10}-[A-Za-z0-9]{12}",
            "glpat-[A-Za-z0-9_-]{20}",
            "eyJ[A-Za-z0-9]{20}\\.[A-Za-z0-9]{20}\\.[A-Za-z0-9]{20}",
        ],
    ) {
        let text = format!("{before} {secret}{after}");
        prop_assert!(!redact(&text).contains(&secret), "{}", redact(&text));
    }

    #[test]
    fn a_value_under_a_secret_name_does_not_leave(
        name in prop::sample::select(vec!["password", "DB_PASSWORD", "apiKey", "API_KEY", "client_secret", "authToken", "--token"]),
        sign in prop::sample::select(vec!["=", ": ", " = ", "=\"", ": '", "\":\"", "\\\": \\\""]),
        secret in "[A-Za-z]{3}[0-9][A-Za-z0-9/+]{8,40}",
    ) {
        let close = sign.trim_start_matches(['\\', '"', ':', ' ', '=']).to_owned();
        let close = if sign.ends_with('"') && !sign.ends_with("\\\"") { "\"".to_owned() } else if sign.ends_with('\'') { "'".to_owned() } else if sign.ends_with("\\\"") { "\\\"".to_owned() } else { close };
        let text = format!("{name}{sign}{secret}{close}\nnext line");
        prop_assert!(!redact(&text).contains(&secret), "{text} -> {}", redact(&text));
        prop_assert!(redact(&text).ends_with("\nnext line"));
    }
}

/// Inputs that make searches with look-ahead go over the same text again and again.
#[test]
fn the_time_grows_with_the_text_and_not_faster() {
    let hostile = [
        "sk-",
        "eyJa-",
        "eyJaaaaaaaaa.",
        "password=",
        "password=\"",
        "password=\\\"",
        "-----BEGIN PRIVATE KEY-----",
        "://",
        "://a:",
        "Bearer ",
        "authorization:",
        "cookie: ",
        "password ",
        "token:",
        "a-",
        "AKIA",
        "-----BEGIN ",
        "ghp_",
        "SG.",
        "password: '",
        "'password' = `",
        "x_token\"\\",
        "sk-sk",
        "_auth=",
    ];
    let time = |text: &str| {
        let start = Instant::now();
        std::hint::black_box(redact(text));
        start.elapsed()
    };
    for piece in hostile {
        let short = piece.repeat(40_000 / piece.len());
        let long = piece.repeat(320_000 / piece.len());
        // Eight times the text; a search that goes back would take 64 times as long. Other programs may get in the way,
        // so one quiet moment of several is enough.
        let ratios = (0..12).map(|_| time(&long).as_secs_f64() / time(&short).as_secs_f64().max(20e-6));
        let quiet = ratios.into_iter().any(|ratio| ratio < 24.0);
        assert!(quiet, "{piece:?} takes more than 24 times as long");
    }
}
