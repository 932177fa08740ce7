//! For any text: shorter, within the limits, the same again, and in time.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::time::{Duration, Instant};

use common::{plugin, reduce, request};
use contextengine_sdk::memory::{TestHost, quarter_of_bytes};
use contextengine_sdk::{Reducer, Reduction};
use proptest::prelude::*;

const TOKENS: u32 = 300;

fn small(keep: &str) -> String {
    format!(
        r#"{{"max_tokens": {TOKENS}, "max_lines": 60, "max_bytes": 2000, "keep": "{keep}", "clean_over_tokens": 20,
        "blob_over_bytes": 128, "max_line_bytes": 200, "reserve_tokens": 24, "reserve_bytes": 96}}"#
    )
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,60}",
        (0..60_u32, 0..3_usize)
            .prop_map(|(n, kind)| format!("12:00:{n:02} {} served {n}", ["INFO", "WARN", "ERROR"][kind])),
        Just("waiting for the lock of the build folder".to_owned()),
        Just("error[E0308]: mismatched types".to_owned()),
        "[A-Za-z0-9+/]{0,300}",
        "(\u{1b}\\[[0-9]{1,2}m|\r|[a-z]{1,9}|\u{8}){0,20}",
        (1..9_usize).prop_map(|n| "长行与表情😀".repeat(n * 9)),
        Just(String::new()),
        Just("[... 3 lines, 12 bytes left out ...]".to_owned()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let lines = prop::collection::vec((line(), 1..12_usize), 0..60);
    let structured = lines.prop_map(|lines| {
        let lines: Vec<String> = lines.into_iter().flat_map(|(line, times)| vec![line; times]).collect();
        lines.join("\n")
    });
    let json = prop::collection::vec((".{0,90}", any::<i64>(), prop::collection::vec(any::<u8>(), 0..30)), 0..40)
        .prop_map(|rows| serde_json::to_string_pretty(&rows).unwrap());
    prop_oneof![4 => structured, 2 => json, 1 => "(.|\n){0,4000}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_gets_shorter_within_the_limits_and_then_stays(
        text in text(), failed in any::<bool>(), keep in prop::sample::select(vec!["auto", "head", "tail", "ends"]),
    ) {
        let plugin = plugin(&small(keep));
        let over = quarter_of_bytes(&text) > TOKENS || text.len() > 2_000 || text.lines().count() > 60;
        match reduce(&plugin, &text, failed) {
            None => prop_assert!(!over, "too long, and kept: {} bytes", text.len()),
            Some(short) => {
                prop_assert!(short.len() < text.len() && !short.is_empty());
                prop_assert!(quarter_of_bytes(&short) <= TOKENS - 24 && short.len() <= 1_904, "{} bytes", short.len());
                prop_assert!(short.split_inclusive('\n').count() <= 58);
                prop_assert_eq!(reduce(&plugin, &short, failed), None, "again: {}", short);
                let with_the_hosts_line = format!("{short}\n[Shortened from 5000 to 300 tokens. All of it can be recalled by the id e17]");
                let again = reduce(&plugin, &with_the_hosts_line, failed);
                prop_assert!(again.is_none(), "{} -> {:?}", with_the_hosts_line, again);
            }
        }
    }

    #[test]
    fn json_that_is_shortened_is_still_json(rows in prop::collection::vec((any::<u32>(), ".{0,90}"), 30..200)) {
        let text = serde_json::to_string(&rows).unwrap();
        if let Some(short) = reduce(&plugin(&small("auto")), &text, false) {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&short).is_ok(), "{}", short);
        }
    }
}

#[test]
fn a_text_below_the_limits_without_noise_is_kept() {
    let text = "fn main() {\n    println!(\"hello\");\n}\n".repeat(3);
    assert_eq!(reduce(&plugin("{}"), &text, false), None);
}

#[test]
fn a_failed_result_keeps_more_of_its_end() {
    let text: String = (0..4_000).map(|n| format!("step {n} of the build\n")).collect();
    let tail = |failed| {
        let short = reduce(&plugin("{}"), &text, failed).unwrap();
        short.lines().rev().take_while(|line| line.starts_with("step")).count()
    };
    assert!(tail(true) > 500 && tail(false) == 0, "{} {}", tail(true), tail(false));
}

#[test]
fn the_smaller_of_share_and_absolute_limit_counts() {
    let text: String = (0..9_000).map(|n| format!("line {n} fills the window\n")).collect();
    let tokens = |window| match plugin("{}").reduce(&TestHost::new(), &request(&text, false, window)).unwrap() {
        Reduction::Replace(short) => quarter_of_bytes(&short),
        Reduction::Keep => u32::MAX,
    };
    assert!(tokens(20_000) <= 2_000 && tokens(20_000) > 1_000);
    assert!(tokens(1_000_000) <= 8_000);
}

/// A text of about so many bytes.
type Shape = fn(usize) -> String;

/// Texts that make careless code slow. A text twice as long may take twice the time and some.
#[test]
fn hostile_texts_take_time_in_proportion_to_their_length() {
    let plugin = plugin("{}");
    let shapes: [(&str, Shape); 9] = [
        ("escapes", |n| "\u{1b}]".repeat(n / 2)),
        ("returns", |n| "\r".repeat(n)),
        ("backspaces", |n| "a\u{8}\u{8}".repeat(n / 3)),
        ("breaks", |n| "\n".repeat(n)),
        ("brackets", |n| format!("{}{}", "[".repeat(n / 2), "]".repeat(n / 2))),
        ("quotes", |n| format!("[{}]", "\"\\\"\",".repeat(n / 5))),
        ("data", |n| "A".repeat(n)),
        ("errors", |n| "error\n".repeat(n / 6)),
        ("lines", |n| (0..n / 9).map(|line| format!("{line:08}\n")).collect()),
    ];
    for (name, shape) in shapes {
        let time = |bytes: usize| {
            let text = shape(bytes);
            let runs = (0..3).map(|_| {
                let start = Instant::now();
                let _ = reduce(&plugin, &text, false);
                start.elapsed()
            });
            runs.min().unwrap()
        };
        let (short, long) = (time(60_000), time(240_000));
        let most = short.max(Duration::from_millis(5)) * 12;
        assert!(long < most, "{name}: {short:?} for 60,000 bytes, {long:?} for four times as many");
    }
}
