//! What is said and done in the sample session.

use anyhow::Result;

use super::logs::{git_log, kiosk_log, load_test, test_report};
use super::session::{Dice, Session, bash};

const FILES: &[(&str, &str)] = &[
    ("src/bookings.ts", include_str!("../../sample/src/bookings.ts")),
    ("src/client.ts", include_str!("../../sample/src/client.ts")),
    ("src/config.ts", include_str!("../../sample/src/config.ts")),
    ("src/errors.ts", include_str!("../../sample/src/errors.ts")),
    ("src/idempotency.ts", include_str!("../../sample/src/idempotency.ts")),
    ("src/server.ts", include_str!("../../sample/src/server.ts")),
    ("src/slots.ts", include_str!("../../sample/src/slots.ts")),
    ("src/store.ts", include_str!("../../sample/src/store.ts")),
    ("test/bookings.test.ts", include_str!("../../sample/test/bookings.test.ts")),
    ("docs/api.md", include_str!("../../sample/docs/api.md")),
];

const DST_FAILURE: (&str, &str) = (
    "have 23 hours when summer time begins",
    "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\
     + actual - expected\n\n+ '2026-03-30T00:00:00.000Z'\n- '2026-03-29T23:00:00.000Z'\n\
         at TestContext.<anonymous> (/home/mira/src/ferry-slots/test/slots.test.ts:36:12)\n\
     { code: 'ERR_ASSERTION', generatedMessage: true, operator: 'strictEqual' }",
);

/// When the kiosks open, 06:05, and when the proxy was restarted, 07:40; in milliseconds of the day.
const OPENING: u64 = 21_905_112;
const RESTART: u64 = 27_600_412;

/// The whole session, as text.
pub(super) fn tell() -> Result<String> {
    let mut session = Session::new("/home/mira/src/ferry-slots", FILES);
    let mut dice = Dice::new(20_260_313);
    session.model("coder-large");
    look_around(&mut session, &mut dice)?;
    reproduce(&mut session, &mut dice)?;
    one_booking_per_key(&mut session, &mut dice)?;
    no_overbooking(&mut session, &mut dice)?;
    under_load(&mut session, &mut dice)?;
    short_day(&mut session, &mut dice)?;
    commit(&mut session, &mut dice)?;
    Ok(session.finish())
}

fn look_around(session: &mut Session, dice: &mut Dice) -> Result<()> {
    session.user(
        "Kiosks in Barreiro book bicycles twice: https://git.ferry.example/ferry/ferry-slots/issues/482. Please find \
         out why and fix it. Yesterday's log is logs/kiosk-2026-03-12.log.\n\nRules:\n\
         - Do not touch the public API: the exports of src/client.ts, the paths and the error codes stay as they are. \
         The kiosks pin version 3.\n\
         - No new dependencies.\n\
         - When you start the server, use port 8081, not 8080: 8080 is the staging proxy on this machine.",
    );
    let calls =
        vec![session.read("docs/api.md")?, session.read("src/bookings.ts")?, session.read("src/idempotency.ts")?];
    session.act(
        "The API document probably says what a repeated key must do. I read it with the booking code and the cache.",
        "I start with what the API promises and the code that should keep the promise.",
        calls,
    );
    session.act("", "", vec![bash("git log --oneline | head -12", git_log(dice)), session.read("src/store.ts")?]);
    session.act(
        "Now the log. Look for the same key twice with different bookings.",
        "",
        vec![bash("head -190 logs/kiosk-2026-03-12.log", kiosk_log(dice, OPENING, 190))],
    );
    let twins = "kiosk-3 key=k3-91c0e7ad25 2 bookings, 4 ms apart\nkiosk-5 key=k5-0b7f3e6612 2 bookings, 7 ms apart\n\
                 kiosk-1 key=k1-d2a94c08ff 2 bookings, 2 ms apart\nkiosk-3 key=k3-77e1b05c9a 2 bookings, 8 ms apart\n\
                 total: 31 keys with 2 bookings of 4,118; longest gap 9 ms\n";
    session.act(
        "",
        "",
        vec![
            bash("node tools/twins.mjs logs/kiosk-2026-03-12.log | tail -5", twins),
            bash("npm test", test_report(dice, false, &[DST_FAILURE])).failed(),
        ],
    );
    session.answer(
        "Two findings.\n\n\
         1. **The double booking (#482).** `IdempotencyCache.once` looks the key up, awaits the action, and only then \
         stores the answer. A second request with the same key that arrives in between finds nothing and books again. \
         The log agrees: 31 keys with two bookings, never more than 9 ms apart. docs/api.md promises that the second \
         waits for the first.\n\
         2. **An unrelated failing test**: \"have 23 hours when summer time begins\" in test/slots.test.ts fails on \
         `main` too. `dayBounds` adds 24 hours to local midnight.\n\n\
         I suspect a third: `insertHold` reads what is taken and inserts in two steps with an await between, so two \
         different riders could overbook the last slot. I want to prove that before touching it. Shall I write the \
         failing tests first?",
    );
    Ok(())
}

fn reproduce(session: &mut Session, dice: &mut Dice) -> Result<()> {
    session.user(
        "はい、まずテストを書いてください。同じキーで同時に来た2つ目のリクエストは、最初の結果を待って、同じ応答を返すこと。\
         409にはしないでください。\n\n(Also: leave the summer time test for the end, it is not urgent before 2026-03-29.)",
    );
    let calls = vec![session.read("test/bookings.test.ts")?, session.read("src/config.ts")?];
    session.act("Tests first, in the style of those that are there.", "", calls);
    let race = "import assert from \"node:assert/strict\";\nimport { describe, it } from \"node:test\";\n\
        import { Bookings } from \"../src/bookings.js\";\nimport { loadConfig } from \"../src/config.js\";\n\
        import { IdempotencyCache } from \"../src/idempotency.js\";\nimport { addSailing, memoryStore } from \"./support.js\";\n\n\
        const NOW = new Date(\"2026-03-14T09:00:00Z\");\n\nfunction setUp(capacity: number) {\n  const store = memoryStore();\n  \
        addSailing(store, { id: \"BRL-0940\", departsAt: \"2026-03-14T12:40:00Z\", capacity });\n  \
        const cache = new IdempotencyCache(900_000);\n  \
        return { store, bookings: new Bookings(store, cache, loadConfig({}), () => NOW) };\n}\n\n\
        describe(\"two requests at the same time\", () => {\n  it(\"with one key are one booking\", async () => {\n    \
        const { store, bookings } = setUp(4);\n    const request = { sailingId: \"BRL-0940\", rider: \"ana\", bicycles: 1 };\n    \
        const [first, second] = await Promise.all([bookings.hold(request, \"k\"), bookings.hold(request, \"k\")]);\n    \
        assert.equal(second.id, first.id);\n    assert.equal(await store.taken(\"BRL-0940\", NOW.toISOString()), 1);\n  });\n\n  \
        it(\"with two keys never overbook a sailing\", async () => {\n    const { store, bookings } = setUp(1);\n    \
        const hold = (rider: string) => bookings.hold({ sailingId: \"BRL-0940\", rider, bicycles: 1 }, `k-${rider}`);\n    \
        const results = await Promise.allSettled([hold(\"ana\"), hold(\"rui\"), hold(\"健太\")]);\n    \
        assert.equal(results.filter((result) => result.status === \"fulfilled\").length, 1);\n    \
        assert.equal(await store.taken(\"BRL-0940\", NOW.toISOString()), 1);\n  });\n});\n";
    let write = session.write("test/race.test.ts", race);
    session.act(
        "The user wants: the second request waits and gets the same answer, no 409. Tests first.",
        "",
        vec![write],
    );
    let failures = [
        DST_FAILURE,
        (
            "with one key are one booking",
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n'6f1d2c08-…' !== '0c44b9e1-…'\n\n    at TestContext.<anonymous> (/home/mira/src/ferry-slots/test/race.test.ts:24:12)",
        ),
        (
            "with two keys never overbook a sailing",
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n3 !== 1\n\n    at TestContext.<anonymous> (/home/mira/src/ferry-slots/test/race.test.ts:32:12)",
        ),
    ];
    session.act("", "", vec![bash("npm test", test_report(dice, true, &failures)).failed()]);
    session.answer(
        "Both fail, so the third suspicion was right as well: three riders got the one slot that was left. I fix the \
         idempotency first, then the overbooking, each with its own test.",
    );
    Ok(())
}

fn one_booking_per_key(session: &mut Session, dice: &mut Dice) -> Result<()> {
    session.user("Good. Go on. Where else is `once` or `taken` used? I do not want a second surprise.");
    let uses = "src/bookings.ts:38:    return this.idempotency.once(idempotencyKey, request, () => this.insertHold(request));\n\
                src/bookings.ts:68:    const taken = await this.store.taken(sailing.id, now.toISOString());\n\
                src/idempotency.ts:23:  async once<T>(key: string | undefined, request: unknown, action: () => Promise<T>): Promise<T> {\n\
                src/slots.ts:42:  const taken = await store.taken(sailing.id, now.toISOString());\n\
                src/store.ts:67:  async taken(sailingId: string, now: string): Promise<number> {\n";
    let calls = vec![
        bash("rg -n '\\.?(once|taken)\\b[<(]' src", uses),
        session.read("src/server.ts")?,
        session.read("src/slots.ts")?,
    ];
    session.act("", "", calls);
    let edits = vec![
        session.edit("src/idempotency.ts", "  response: unknown;\n", "  /** A promise, so that a request which arrives meanwhile waits for the same answer. */\n  response: Promise<unknown>;\n")?,
        session.edit(
            "src/idempotency.ts",
            "      return known.response as T;\n    }\n    const response = await action();\n    this.entries.set(key, { fingerprint, response, expiresAt: this.now() + this.ttlMs });\n    return response;\n",
            "      return known.response as Promise<T>;\n    }\n    const response = action();\n    this.entries.set(key, { fingerprint, response, expiresAt: this.now() + this.ttlMs });\n    return response;\n",
        )?,
    ];
    session.act(
        "Store the promise before awaiting. JavaScript runs to the next await without interruption, so look-up and \
         insertion cannot be separated.",
        "`taken` is only read in two places, and `slots.ts` only shows it. The cache now stores the promise at once:",
        edits,
    );
    let failures = [
        DST_FAILURE,
        (
            "with two keys never overbook a sailing",
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n3 !== 1\n\n    at TestContext.<anonymous> (/home/mira/src/ferry-slots/test/race.test.ts:32:12)",
        ),
        (
            "with one key fail together, and a retry is tried again",
            "ApiError: E5031: The store is busy, try again\n    at Store.retry (/home/mira/src/ferry-slots/src/store.ts:103:43)\n    at IdempotencyCache.once (/home/mira/src/ferry-slots/src/idempotency.ts:35:14) {\n  code: 'E5031',\n  retryAfterSeconds: 1,\n  status: 503\n}",
        ),
    ];
    let third = session.edit(
        "test/race.test.ts",
        "    assert.equal(results.filter((result) => result.status === \"fulfilled\").length, 1);\n    assert.equal(await store.taken(\"BRL-0940\", NOW.toISOString()), 1);\n  });\n});\n",
        "    assert.equal(results.filter((result) => result.status === \"fulfilled\").length, 1);\n    assert.equal(await store.taken(\"BRL-0940\", NOW.toISOString()), 1);\n  });\n\n  it(\"with one key fail together, and a retry is tried again\", async () => {\n    const { store, bookings } = setUp(4);\n    const request = { sailingId: \"BRL-0940\", rider: \"ana\", bicycles: 1 };\n    store.failNext(\"E5031\");\n    await Promise.allSettled([bookings.hold(request, \"k\"), bookings.hold(request, \"k\")]);\n    assert.equal((await bookings.hold(request, \"k\")).state, \"held\");\n  });\n});\n",
    )?;
    session.act(
        "What if the action fails? Then a rejected promise stays for 15 minutes. A test for that.",
        "",
        vec![third],
    );
    session.act("", "", vec![bash("npm test", test_report(dice, true, &failures)).failed()]);
    let forget = session.edit(
        "src/idempotency.ts",
        "    const response = action();\n    this.entries.set",
        "    const response = action();\n    // A failure is not an answer: the next retry must be able to succeed.\n    response.catch(() => this.entries.delete(key));\n    this.entries.set",
    )?;
    session.act(
        "As feared: after an E5031, every retry with the key gets the old E5031. Forget failures.",
        "One trap found by the third test: a failure was remembered for 15 minutes, so a kiosk that retries after \
         503/E5031 would get E5031 again. Failures are now forgotten:",
        vec![forget],
    );
    let calls =
        vec![session.read("src/idempotency.ts")?, bash("npm test", test_report(dice, true, &failures[..2])).failed()];
    session.act("", "", calls);
    Ok(())
}

fn no_overbooking(session: &mut Session, dice: &mut Dice) -> Result<()> {
    session.answer(
        "The key race is closed. Left: the overbooking. Two ways:\n\n\
         - a mutex per sailing in the process: simple, but staging and production run **two** processes on one database;\n\
         - one SQL statement that inserts only while there is room: SQLite serialises writers, so it holds across \
         processes.\n\nI would take the second.",
    );
    session.user(
        "Decision: the SQL statement. Keep `insertBooking` for the importer (tools/import.mjs uses it), add a new method \
         next to it. And E4091 must still say how many are left, the kiosks show that text.",
    );
    let calls = vec![session.read("src/store.ts")?, session.read("src/errors.ts")?];
    session.act("", "", calls);
    let edits = vec![
        session.edit(
            "src/store.ts",
            "  async booking(id: string)",
            "  /**\n   * Inserts unless the sailing would be overbooked; whether it did. One statement, since SQLite lets one writer at a\n   * time in, also from another process; asking first and inserting then does not hold.\n   */\n  async insertBookingIfFree(row: BookingRow, now: string): Promise<boolean> {\n    const sql = `INSERT INTO bookings (id, sailing_id, rider, bicycles, state, hold_expires_at, created_at)\n      SELECT ?1, s.id, ?3, ?4, ?5, ?6, ?7 FROM sailings s\n      WHERE s.id = ?2 AND s.capacity >= ?4 + (SELECT COALESCE(SUM(b.bicycles), 0) FROM bookings b\n        WHERE b.sailing_id = s.id AND (b.state = 'confirmed' OR (b.state = 'held' AND b.hold_expires_at > ?8)))`;\n    const { id, sailing_id, rider, bicycles, state, hold_expires_at, created_at } = row;\n    const result = await this.retry(() =>\n      this.db.prepare(sql).run(id, sailing_id, rider, bicycles, state, hold_expires_at, created_at, now),\n    );\n    return result.changes === 1;\n  }\n\n  async booking(id: string)",
        )?,
        session.edit(
            "src/bookings.ts",
            "    const taken = await this.store.taken(sailing.id, now.toISOString());\n    if (taken + request.bicycles > sailing.capacity) {\n      throw new ApiError(\"E4091\", `${sailing.capacity - taken} left`);\n    }\n",
            "",
        )?,
        session.edit(
            "src/bookings.ts",
            "    await this.store.insertBooking(row);\n    return toBooking(row);\n",
            "    if (!(await this.store.insertBookingIfFree(row, now.toISOString()))) {\n      const taken = await this.store.taken(sailing.id, now.toISOString());\n      throw new ApiError(\"E4091\", `${Math.max(0, sailing.capacity - taken)} left`);\n    }\n    return toBooking(row);\n",
        )?,
    ];
    session.act("Keep insertBooking, add insertBookingIfFree; E4091 counts only for its text.", "", edits);
    let calls = vec![bash("npx tsc --noEmit", ""), bash("npm test", test_report(dice, true, &[DST_FAILURE])).failed()];
    session.act("", "", calls);
    session.answer("Only the summer time test is red now. Before I call it done I want load on it from two processes.");
    Ok(())
}

fn under_load(session: &mut Session, dice: &mut Dice) -> Result<()> {
    session.user("Yes, do that. 30 seconds are enough. Watch the 503s: the harbour's alarm goes off above 0.1 %.");
    let first = load_test(dice, 8081, 30, true);
    let (busy, percent) = (first.busy, first.percent_busy());
    session.act(
        "Port 8081 as the user said.",
        "",
        vec![
            bash("FERRY_PORT=8081 node --import tsx src/server.ts >/tmp/ferry-a.log 2>&1 & sleep 1; head -1 /tmp/ferry-a.log", "{\"level\":\"info\",\"message\":\"listening on 0.0.0.0:8081\"}"),
            bash("node tools/load.mjs --port 8081 --seconds 30 --processes 2", first.report),
        ],
    );
    session.act(
        "Every refused hold is a write transaction now. Check the log.",
        &format!("No overbooking, but {percent:.2} % of the answers are 503/E5031: a refused hold now asks for the write lock."),
        vec![bash(
            "grep -c E5031 /tmp/ferry-a.log; grep E5031 /tmp/ferry-a.log | head -40",
            busy_log(dice, busy / 2),
        )],
    );
    let cheap = session.edit(
        "src/bookings.ts",
        "    const row: BookingRow = {",
        "    // Most refusals are seen here, without the write lock; the insertion below is what decides.\n    const seen = await this.store.taken(sailing.id, now.toISOString());\n    if (seen + request.bicycles > sailing.capacity) throw new ApiError(\"E4091\", `${Math.max(0, sailing.capacity - seen)} left`);\n    const row: BookingRow = {",
    )?;
    session.act("Read first to refuse cheaply, then the statement decides.", "", vec![cheap]);
    session.user(
        "Stop, one correction: 8081 is taken by the metrics exporter on the kiosk host, and I want to run the same command \
         there. Actually make it 9090. Everything else stays.",
    );
    let second = load_test(dice, 9090, 30, false);
    let (requests, rest, small) = (second.requests, second.busy, second.percent_busy());
    session.act(
        "The port is 9090 from now on.",
        "",
        vec![
            bash("kill %1; FERRY_PORT=9090 node --import tsx src/server.ts >/tmp/ferry-b.log 2>&1 & sleep 1; head -1 /tmp/ferry-b.log", "{\"level\":\"info\",\"message\":\"listening on 0.0.0.0:9090\"}"),
            bash("curl -si http://127.0.0.1:9090/healthz", "HTTP/1.1 200 OK\ncontent-type: application/json\ncontent-length: 11\n\n{\"ok\":true}"),
            bash("node tools/load.mjs --port 9090 --seconds 30 --processes 2", second.report),
        ],
    );
    let calls = vec![
        session.read("src/bookings.ts")?,
        session.read("src/client.ts")?,
        bash("npm test", test_report(dice, true, &[DST_FAILURE])).failed(),
    ];
    session.act("Check once more that client.ts is untouched and read what bookings.ts looks like now.", "", calls);
    session.answer(&format!(
        "On port 9090, two processes, 30 s: 24 of 24 booked, never more, and 503/E5031 fell from {percent:.2} % to \
             {small:.3} % ({rest} of {requests} requests). src/client.ts and the codes in src/errors.ts are unchanged."
    ));
    Ok(())
}

fn short_day(session: &mut Session, dice: &mut Dice) -> Result<()> {
    session.user("Great. Now the summer time test, then one commit per bug. Mention #482 in the first.");
    let day = session.edit(
        "src/slots.ts",
        "  const midnightUtc = new Date(`${day}T00:00:00Z`);\n  const offset = offsetMinutes(timeZone, midnightUtc);\n  const from = new Date(midnightUtc.getTime() - offset * 60_000);\n  return { from, to: new Date(from.getTime() + 24 * 3_600_000) };\n}\n",
        "  const next = new Date(Date.parse(`${day}T00:00:00Z`) + 24 * 3_600_000);\n  return { from: midnight(new Date(`${day}T00:00:00Z`), timeZone), to: midnight(next, timeZone) };\n}\n\n/** Local midnight of a date that is given as midnight in UTC. */\nfunction midnight(utc: Date, timeZone: string): Date {\n  const guess = new Date(utc.getTime() - offsetMinutes(timeZone, utc) * 60_000);\n  // The clock may change between the two midnights, so the offset is asked again at the guess.\n  return new Date(utc.getTime() - offsetMinutes(timeZone, guess) * 60_000);\n}\n",
    )?;
    session.act("A day ends at the next local midnight, which is 23 or 25 hours later twice a year.", "", vec![day]);
    let calls = vec![session.read("src/slots.ts")?, bash("npm test", test_report(dice, true, &[]))];
    session.act("", "", calls);
    session.user_runs(
        "git status --short",
        " M src/bookings.ts\n M src/idempotency.ts\n M src/slots.ts\n M src/store.ts\n?? test/race.test.ts\n",
    );
    Ok(())
}

fn commit(session: &mut Session, dice: &mut Dice) -> Result<()> {
    session.act(
        "",
        "",
        vec![
            bash(
                "git add src/bookings.ts src/idempotency.ts src/store.ts test/race.test.ts && git commit -q -m 'Book once per idempotency key, and never more than there is room for (#482)' && git rev-parse HEAD",
                "4f0c2e91d7a35b8864e1c09f7712ab3de5906c4d",
            ),
            bash(
                "git add src/slots.ts && git commit -q -m 'A day at the pier ends at the next local midnight' && git rev-parse HEAD",
                "b81d60f3a9427ce5518f0e2c6d94ab7710e3f52a",
            ),
            bash("git show --stat HEAD~1 | tail -6", " src/bookings.ts      | 11 +++++++----\n src/idempotency.ts   |  9 ++++++---\n src/store.ts         | 18 ++++++++++++++++++\n test/race.test.ts    | 44 ++++++++++++++++++++++++++++++++++++++++++++\n 4 files changed, 75 insertions(+), 7 deletions(-)"),
        ],
    );
    session.answer(
        "Two commits, nothing pushed:\n\n\
         - `4f0c2e91d7a35b8864e1c09f7712ab3de5906c4d` Book once per idempotency key, and never more than there is room for (#482)\n\
         - `b81d60f3a9427ce5518f0e2c6d94ab7710e3f52a` A day at the pier ends at the next local midnight\n\n\
         All 39 tests pass. Open: with two processes, one key that reaches **both** processes at the same time is still \
         two bookings, since the cache lives in one process. Today the proxy pins a kiosk to a process, so it cannot \
         happen; docs/api.md promises it all the same.",
    );
    session.user("How does the proxy pin them? Look at the last part of the log of 2026-03-12 after the restart at 07:40, I doubt it.");
    session.act(
        "The kiosk log after 07:40.",
        "",
        vec![
            bash("rg -n 'hash|upstream|server ' deploy/proxy.conf", "7:upstream ferry_slots {\n8:  hash $http_x_kiosk consistent;\n9:  server 127.0.0.1:9101 max_fails=2;\n10:  server 127.0.0.1:9102 max_fails=2;\n24:  proxy_next_upstream error timeout http_503;"),
            bash("awk '$1 > \"2026-03-12T07:40\"' logs/kiosk-2026-03-12.log | head -220", kiosk_log(dice, RESTART, 220)),
        ],
    );
    let calls =
        vec![session.read("src/store.ts")?, session.read("src/idempotency.ts")?, session.read("src/server.ts")?];
    session.act("Could the keys live in the store? What would that take?", "", calls);
    session.answer(
        "You are right to doubt. deploy/proxy.conf line 8 hashes `X-Kiosk`, but line 24 has `proxy_next_upstream … \
         http_503`: after a 503/E5031 the proxy repeats the request at the **other** process, and that one does not \
         know the key. With so few busy answers that is rare, but it is the same bug.\n\n\
         The cure is a table `idempotency_keys` in the database, written in the same transaction as the booking. It \
         needs a migration, so I have not started.",
    );
    session.user(
        "Then do that before we push: put the keys into the store (table idempotency_keys, TTL 15 minutes as now), same \
         rules as before: public API untouched, no new dependencies, port 9090. Remove http_503 from deploy/proxy.conf \
         line 24 only after the tests pass. And write the CHANGELOG entry for 3.4.2 with #482 in it.",
    );
    Ok(())
}

/// Lines of the server's own log while the store is busy.
fn busy_log(dice: &mut Dice, count: u64) -> String {
    let line = |dice: &mut Dice| {
        format!(
            "{{\"level\":\"error\",\"requestId\":\"{}\",\"error\":\"E5031: The store is busy, try again\",\"attempts\":6,\"waitedMs\":{}}}\n",
            dice.hex(8),
            dice.between(300, 420)
        )
    };
    (0..40).fold(format!("{count}\n"), |text, _| text + &line(dice))
}
