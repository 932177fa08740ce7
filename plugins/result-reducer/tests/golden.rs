//! What the model sees of typical results, as files. `UPDATE_GOLDEN=1 cargo test` writes them anew; read the difference.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::{plugin, reduce};

/// Small limits, so that the files can be read.
const SMALL: &str = r#"{"max_tokens": 400, "reserve_tokens": 40}"#;

fn assert_golden(name: &str, config: &str, text: &str, failed: bool) -> String {
    let plugin = plugin(config);
    let found = reduce(&plugin, text, failed).unwrap();
    assert!(found.len() < text.len());
    assert_eq!(reduce(&plugin, &found, failed), None, "{name} is left alone when it comes again");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name} changed; if that is meant, run with UPDATE_GOLDEN=1");
    found
}

#[test]
fn json_stays_json() {
    let order = |n: u32| {
        serde_json::json!({
            "id": format!("ord_{n:05}"), "total": n * 199, "currency": "EUR",
            "lines": (0..n % 5).map(|line| serde_json::json!({"sku": format!("SKU-{line}"), "quantity": line + 1})).collect::<Vec<_>>(),
            "note": "Please leave the parcel with the neighbour on the left if nobody opens the door. ".repeat(3),
        })
    };
    let orders: Vec<_> = (1..=120).map(order).collect();
    let whole = serde_json::json!({"status": "ok", "count": 120, "orders": orders, "next": "/orders?page=2"});
    let text = serde_json::to_string_pretty(&whole).unwrap();
    let short = assert_golden("orders.json", SMALL, &text, false);
    let value: serde_json::Value = serde_json::from_str(&short).unwrap();
    assert_eq!((&value["count"], &value["next"]), (&whole["count"], &whole["next"]));
}

#[test]
fn a_log_keeps_one_of_each_kind_and_what_went_wrong() {
    let mut log = String::new();
    for n in 0..400_u32 {
        let time = format!("2026-03-01T12:{:02}:{:02}.{:03}Z", n / 60, n % 60, n * 7 % 1_000);
        let _ = match n {
            40 => writeln!(log, "{time} WARN pool exhausted, waiting for a connection"),
            210 => writeln!(log, "{time} ERROR request 210 failed: deadline exceeded after 5000 ms"),
            _ if n % 9 == 0 => writeln!(log, "{time} DEBUG cache miss for user:{}", n * 31),
            _ => writeln!(log, "{time} INFO GET /api/bookings/{n} 200 in {} ms", n * 13 % 90),
        };
    }
    let short = assert_golden("server.log", SMALL, &log, false);
    assert!(short.contains("pool exhausted") && short.contains("deadline exceeded"));
}

#[test]
fn a_progress_bar_and_colours_are_what_a_terminal_shows() {
    let mut text = String::from("\u{1b}[1;32m   Downloading\u{1b}[0m crates\n");
    for percent in 0..=100 {
        let _ = write!(text, "\r\u{1b}[K\u{1b}[36m[{:<50}]\u{1b}[0m {percent} %", "=".repeat(percent / 2));
    }
    text.push_str("\r\n\u{1b}[1;32m    Finished\u{1b}[0m in 12.4 s\n");
    assert_golden("progress.txt", "{}", &text, false);
}

#[test]
fn test_output_keeps_the_failure_and_the_sum() {
    let mut text = String::from("\nrunning 240 tests\n");
    for n in 0..240 {
        let outcome = if n == 117 { "FAILED" } else { "ok" };
        let _ = writeln!(text, "test import::tests::case_{n:03}_{} ... {outcome}", ["quotes", "commas", "tabs"][n % 3]);
    }
    text.push_str("\nfailures:\n\n---- import::tests::case_117_quotes stdout ----\n");
    text.push_str("thread 'import::tests::case_117_quotes' panicked at src/import/csv.rs:88:17:\n");
    text.push_str("assertion `left == right` failed\n  left: [\"a\", \"b\"]\n right: [\"a,b\"]\n");
    text.push_str("\n\nfailures:\n    import::tests::case_117_quotes\n\n");
    text.push_str(
        "test result: FAILED. 239 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.31s\n",
    );
    let short = assert_golden("tests.txt", SMALL, &text, true);
    assert!(short.contains("panicked at src/import/csv.rs:88:17") && short.contains("239 passed; 1 failed"));
}

#[test]
fn a_stack_trace_keeps_its_cause_and_its_end() {
    let mut text =
        String::from("Exception in thread \"main\" java.lang.IllegalStateException: booking 77 has no slot\n");
    for n in 0..90 {
        let _ = writeln!(text, "\tat com.example.booking.Handler{}.handle(Handler{}.java:{})", n % 7, n % 7, 40 + n);
    }
    text.push_str("Caused by: java.sql.SQLException: connection refused by db.internal:5432\n");
    for n in 0..40 {
        let _ = writeln!(text, "\tat org.postgresql.Driver.connect(Driver.java:{})", 200 + n);
    }
    text.push_str("\t... 12 more\n");
    let short = assert_golden("stacktrace.txt", SMALL, &text, true);
    assert!(short.contains("IllegalStateException") && short.contains("Caused by: java.sql.SQLException"));
}

#[test]
fn a_diff_keeps_the_names_of_its_files() {
    let mut text = String::new();
    for file in ["src/import/csv.rs", "src/import/mod.rs", "src/server.rs", "tests/import.rs"] {
        let _ =
            writeln!(text, "diff --git a/{file} b/{file}\nindex 3f9c2ab..8d1e004 100644\n--- a/{file}\n+++ b/{file}");
        let _ = writeln!(text, "@@ -10,40 +10,40 @@ fn parse()");
        for n in 0..40 {
            let sign = ["-", "+", " "][n % 3];
            let _ = writeln!(text, "{sign}    let field_{n} = record.next()?;");
        }
    }
    let short = assert_golden("changes.diff", r#"{"max_tokens": 700}"#, &text, false);
    assert_eq!(short.matches("diff --git").count(), 4);
}

#[test]
fn minified_code_keeps_both_ends_of_its_line() {
    let body: String = (0..900).map(|n| format!("function f{n}(a,b){{return a*{n}+b.x[{n}]||null}}")).collect();
    let text =
        format!("/*! shop.js v3.1.4 */!function(){{\"use strict\";{body}}}();\n//# sourceMappingURL=shop.js.map\n");
    let short = assert_golden("shop.min.js", SMALL, &text, false);
    assert!(short.starts_with("/*! shop.js v3.1.4 */") && short.contains("sourceMappingURL"));
}

#[test]
fn data_in_an_answer_becomes_a_note() {
    let data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ".repeat(60);
    let text = format!("<img alt=\"floor plan\" src=\"data:image/png;base64,{data}\">\n<p>Second floor.</p>\n");
    assert_golden("image.html", "{}", &text, false);
}

#[test]
fn the_examples_of_the_readme_are_what_the_code_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for name in ["server.log", "tests.txt"] {
        let golden = std::fs::read_to_string(folder.join("tests/golden").join(name)).unwrap();
        assert!(readme.contains(&format!("```text\n{golden}```")), "{name}");
    }
}

#[test]
fn the_readme_has_a_line_for_every_key() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let keys = serde_json::to_value(result_reducer::Config::default()).unwrap();
    for key in keys.as_object().unwrap().keys() {
        assert!(readme.contains(&format!("`{key}`")), "{key} is not in README.md");
    }
}
