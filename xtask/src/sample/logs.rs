//! What the imagined repository's programs print: test reports, server logs, load tests, version control.

use std::fmt::Write as _;

use super::session::Dice;

/// The tests of the service, by file.
const TESTS: &[(&str, &[&str])] = &[
    (
        "configuration",
        &[
            "has a default for everything",
            "takes the port from FERRY_PORT",
            "refuses a port that is no whole number",
            "refuses a port above 65535",
            "reads defaults from the file named by FERRY_CONFIG",
            "lets the environment win over the file",
            "names the key and the value in its errors",
        ],
    ),
    (
        "holding a slot",
        &[
            "takes bicycles off what is free",
            "is refused with E4091 when the sailing is full",
            "is refused with E4221 twenty minutes before departure",
            "answers a repeated key with the first booking",
            "refuses a key that was used for another request",
            "forgets a key after its time",
            "gives the slot back when the hold expires",
        ],
    ),
    (
        "confirming and cancelling",
        &[
            "makes a hold a booking",
            "is the same when done twice",
            "is refused with E4093 after the hold expired",
            "is refused with E4005 for an unknown booking",
            "gives cancelled bicycles back",
        ],
    ),
    (
        "the days at the pier",
        &[
            "begin at local midnight in winter",
            "begin at local midnight in summer",
            "have 23 hours when summer time begins",
            "have 25 hours when summer time ends",
            "show the wall clock of the pier",
            "list sailings in the order of departure",
        ],
    ),
    (
        "the HTTP server",
        &[
            "answers the health check",
            "answers an unknown path with 404",
            "refuses a body over 16 KiB",
            "refuses a body that is not JSON",
            "says when to try again while the store is busy",
            "logs one line per request",
            "hides the store's errors from the caller",
        ],
    ),
    (
        "the public client",
        &[
            "sends the idempotency key",
            "throws FerrySlotsError with status and code",
            "returns nothing for 204",
            "keeps the signatures of version 3",
        ],
    ),
    (
        "two requests at the same time",
        &[
            "with one key are one booking",
            "with two keys never overbook a sailing",
            "with one key fail together, and a retry is tried again",
        ],
    ),
];

/// A report of all tests but those of the last suite when `with_race` is false. `failures` are test names with what
/// went wrong.
pub(super) fn test_report(dice: &mut Dice, with_race: bool, failures: &[(&str, &str)]) -> String {
    let mut text = String::from("> ferry-slots@3.4.1 test\n> node --test --import tsx 'test/**/*.test.ts'\n\n");
    let (mut passed, mut failed, mut total_ms) = (0, 0, 0.0);
    let suites = if with_race { TESTS } else { &TESTS[..TESTS.len() - 1] };
    for (suite, tests) in suites {
        let _ = writeln!(text, "▶ {suite}");
        let mut suite_ms = 0.0;
        for test in *tests {
            let ms = dice.between(2_000, 90_000) as f64 / 10_000.0;
            suite_ms += ms;
            let mark = if failures.iter().any(|(name, _)| name == test) { "✖" } else { "✔" };
            let _ = writeln!(text, "  {mark} {test} ({ms:.4}ms)");
            if mark == "✔" { passed += 1 } else { failed += 1 }
        }
        total_ms += suite_ms;
        let mark = if tests.iter().any(|test| failures.iter().any(|(name, _)| name == test)) { "✖" } else { "✔" };
        let _ = writeln!(text, "{mark} {suite} ({suite_ms:.4}ms)");
    }
    let _ = write!(
        text,
        "ℹ tests {}\nℹ suites {}\nℹ pass {passed}\nℹ fail {failed}\nℹ cancelled 0\nℹ skipped 0\nℹ duration_ms {:.3}\n",
        passed + failed,
        suites.len(),
        total_ms + 212.0
    );
    if !failures.is_empty() {
        text.push_str("\n✖ failing tests:\n");
        for (name, why) in failures {
            let _ = writeln!(text, "\ntest at test/{}\n✖ {name}\n  {}", place(name), why.replace('\n', "\n  "));
        }
        text.push_str("\nCommand exited with code 1");
    }
    text
}

fn place(test: &str) -> &'static str {
    if test.contains("hours") { "slots.test.ts:31:3" } else { "race.test.ts:24:3" }
}

/// The log of the kiosks from `start` on, in milliseconds of the day: `lines` requests, and now and then a pair that came at the same time with one key.
pub(super) fn kiosk_log(dice: &mut Dice, start: u64, lines: u64) -> String {
    const RIDERS: &[&str] = &["ana", "rui", "joão", "inês", "tiago", "marta", "sofia", "duarte", "健太", "leonor"];
    const SAILINGS: &[&str] = &["BRL-0715", "BRL-0820", "BRL-0940", "CAC-0705", "CAC-0830", "TRF-0755"];
    let mut text = String::new();
    let mut ms = start;
    for number in 0..lines {
        ms += dice.between(400, 46_000);
        let kiosk = dice.between(1, 8);
        let (sailing, rider) = (dice.pick(SAILINGS), dice.pick(RIDERS));
        let key = format!("k{kiosk}-{}", dice.hex(10));
        let (path, status) = match dice.between(0, 10) {
            0..5 => ("/v1/bookings", "201"),
            5 => ("/v1/bookings", dice.pick(&["409 E4091", "422 E4221", "503 E5031"])),
            6..8 => ("/v1/routes/barreiro/days/2026-03-12/slots", "200"),
            _ => ("/v1/bookings/…/confirm", "200"),
        };
        let mut line = |at: u64, took: u64, booking: &str| {
            let (hour, minute, second) = (at / 3_600_000, at / 60_000 % 60, at / 1000 % 60);
            let _ = write!(
                text,
                "2026-03-12T{hour:02}:{minute:02}:{second:02}.{:03}Z kiosk-{kiosk} {path} {status}",
                at % 1000
            );
            if path == "/v1/bookings" {
                let _ = write!(text, " key={key} sailing={sailing} rider={rider} booking={booking}");
            }
            let _ = writeln!(text, " {took}ms");
        };
        let booking = if status == "201" { dice.hex(8) } else { "-".to_owned() };
        line(ms, dice.between(3, 60), &booking);
        if number % 11 == 7 && path == "/v1/bookings" && status == "201" {
            // The double booking: the same key, milliseconds later, another booking.
            let twin = dice.hex(8);
            line(ms + dice.between(1, 9), dice.between(3, 60), &twin);
        }
    }
    text
}

/// A run of `tools/load.mjs`.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) report: String,
    pub(super) requests: u64,
    /// Answers that say that the store is busy.
    pub(super) busy: u64,
}

impl Load {
    pub(super) fn percent_busy(&self) -> f64 {
        100.0 * self.busy as f64 / self.requests as f64
    }
}

/// What `tools/load.mjs` prints: a line a second, then the verdict. The sailing is full in the first second.
pub(super) fn load_test(dice: &mut Dice, port: u16, seconds: u64, often_busy: bool) -> Load {
    let report =
        format!("load: 64 connections against http://127.0.0.1:{port}, {seconds} s, sailing BRL-0940 (capacity 24)\n");
    let mut load = Load { report, requests: 0, busy: 0 };
    for second in 1..=seconds {
        let requests = dice.between(1_830, 2_460);
        let busy = if often_busy { dice.between(18, 140) } else { u64::from(second % 7 == 3) };
        let booked = if second == 1 { 24 } else { 0 };
        let _ = writeln!(
            load.report,
            "t={second:>2}s  {requests} req/s  201: {booked}  409/E4091: {}  503/E5031: {busy}  p50 {}.{}ms  p99 {}ms",
            requests - booked - busy,
            dice.between(11, 16),
            dice.between(0, 10),
            dice.between(28, if often_busy { 190 } else { 47 })
        );
        load.requests += requests;
        load.busy += busy;
    }
    let percent = load.percent_busy();
    let verdict = if percent > 0.1 { "ALARM: above 0.1 %" } else { "ok: below 0.1 %" };
    let _ = writeln!(
        load.report,
        "total {} requests; 24 booked, capacity 24: no overbooking\n503/E5031: {} ({percent:.3} %)  {verdict}",
        load.requests, load.busy
    );
    load
}

/// `git log --oneline` of the imagined repository.
pub(super) fn git_log(dice: &mut Dice) -> String {
    const SUBJECTS: &[&str] = &[
        "Release 3.4.1",
        "Answer 503 with Retry-After while the store is busy (#471)",
        "Kiosks send an Idempotency-Key with every hold (#466)",
        "Show the wall clock of the pier, not of the server (#459)",
        "Release 3.4.0",
        "Holds expire after FERRY_HOLD_SECONDS (#447)",
        "Move the store to node:sqlite, drop better-sqlite3 (#440)",
        "Refuse bodies over 16 KiB (#438)",
        "Add the route Trafaria (#431)",
        "Log one line per request (#425)",
        "Publish the client as its own package (#419)",
        "Retire E4003, never to be given again (#411)",
    ];
    SUBJECTS.iter().map(|subject| format!("{} {subject}\n", dice.hex(9))).collect()
}
