//! Sessions of any size, always the same for the same size.
//!
//! They look like the work of a coding agent: a user who asks and states rules, turns of reads, edits and commands,
//! parallel calls, code, logs and JSON as results, some Chinese and Japanese. Words vary, so that counting tokens
//! and searching for names costs what it costs on real sessions.

use std::fmt::Write as _;

use contextengine::transcript::{Block, Entry, EntryKind, ToolCall, ToolResult};

/// A session of about `entries` entries whose texts have about `bytes` bytes.
pub fn session(entries: usize, bytes: usize) -> Vec<Entry> {
    // Three of ten entries are results, and results hold nearly everything.
    let result_bytes = (bytes / entries.max(1)).saturating_sub(40) * 2;
    let mut session = Generator { random: Random(0x5eed), entries: Vec::with_capacity(entries), result_bytes };
    while session.entries.len() < entries {
        session.turn();
    }
    session.entries.truncate(entries);
    // The last turn may have lost a result: what awaits nothing is easier to compare.
    while session.entries.last().is_some_and(|entry| entry.kind != EntryKind::User) {
        session.entries.pop();
    }
    session.entries
}

/// The session of the published comparison of compaction libraries: 2,000 messages, about 880,000 tokens.
pub fn comparison_session() -> Vec<Entry> {
    session(2_000, 3_020_000)
}

struct Generator {
    random: Random,
    entries: Vec<Entry>,
    result_bytes: usize,
}

impl Generator {
    fn turn(&mut self) {
        let (file, issue) = (self.file(), self.random.below(9_000) + 100);
        let request = match self.random.below(4) {
            0 => format!(
                "Please fix #{issue} in {file}. Never change the public API, and run the tests after each edit."
            ),
            1 => format!("{file} を直してください。ポートは {} を使うこと。", 3_000 + self.random.below(6_000)),
            2 => format!(
                "Now look at {file}: the build fails with E{:04}. Use commit {:09x} as the base.",
                issue,
                self.random.next()
            ),
            _ => format!("Continue with {file}, but only the parser."),
        };
        self.say(EntryKind::User, request);
        for _ in 0..3 + self.random.below(4) {
            let parallel = if self.random.below(7) == 0 { 2 + self.random.below(2) } else { 1 };
            self.calls(parallel);
        }
        let closing =
            format!("Root cause found in {file}: the cache is keyed by path only. I decided to key it by content.");
        self.say(EntryKind::Assistant, closing);
    }

    fn say(&mut self, kind: EntryKind, text: String) {
        self.entries.push(Entry::text(format!("e{}", self.entries.len()), kind, text));
    }

    fn calls(&mut self, count: u64) {
        let calls: Vec<ToolCall> = (0..count).map(|_| self.call()).collect();
        let id = format!("e{}", self.entries.len());
        let mut blocks = vec![Block::Text("Let me look.".to_owned())];
        blocks.extend(calls.iter().cloned().map(Block::ToolCall));
        self.entries.push(Entry::new(id, EntryKind::Assistant, blocks));
        for call in calls {
            let text = self.result(&call.name);
            let result = ToolResult { call_id: call.id, name: call.name, text, failed: self.random.below(12) == 0 };
            let id = format!("e{}", self.entries.len());
            self.entries.push(Entry::new(id, EntryKind::ToolResult, vec![Block::ToolResult(result)]));
        }
    }

    fn call(&mut self) -> ToolCall {
        let file = self.file();
        let (name, arguments) = match self.random.below(3) {
            0 => ("read", format!(r#"{{"path":"{file}"}}"#)),
            1 => ("edit", format!(r#"{{"path":"{file}","oldText":"let a = 1;","newText":"let a = 2;"}}"#)),
            _ => ("bash", format!(r#"{{"command":"cargo test --package {}"}}"#, self.random.word())),
        };
        ToolCall { id: format!("call_{:016x}", self.random.next()), name: name.to_owned(), arguments }
    }

    fn result(&mut self, tool: &str) -> String {
        let mut text = String::with_capacity(self.result_bytes + 120);
        while text.len() < self.result_bytes {
            let (a, b, n) = (self.random.word(), self.random.word(), self.random.below(100_000));
            let _ = match (tool, self.random.below(8)) {
                ("bash", 0) => writeln!(text, "error[E{:04}]: mismatched types in `{a}::{b}`", n % 1_000),
                ("bash", 1) => writeln!(text, "  --> crates/{a}/src/{b}.rs:{}:{}", n % 900, n % 80),
                ("bash", _) => {
                    writeln!(text, "2026-03-{:02}T12:{:02}:07Z INFO {a} served {b} in {n} us", n % 28 + 1, n % 60)
                }
                (_, 0) => writeln!(text, "    /// Returns the {a} of the {b}, or the default of {n}."),
                (_, 1) => writeln!(text, "    {{\"{a}\": {n}, \"{b}\": [\"{a}\", null, true]}},"),
                (_, 2) => writeln!(text, "// 缓存按内容键控：{a} 与 {b} 必须一致。"),
                (_, _) => writeln!(text, "    let {a}_{b} = {a}.get({n}).map(|{b}| {b}.len() + {});", n % 77),
            };
        }
        text
    }

    fn file(&mut self) -> String {
        format!("crates/{}/src/{}.rs", self.random.word(), self.random.word())
    }
}

/// A small deterministic generator: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn word(&mut self) -> &'static str {
        const WORDS: [&str; 24] = [
            "account", "balance", "cursor", "decoder", "entry", "filter", "gateway", "handler", "index", "journal",
            "kernel", "ledger", "mapper", "node", "observer", "parser", "queue", "router", "session", "token",
            "updater", "vector", "worker", "zone",
        ];
        WORDS[usize::try_from(self.below(24)).unwrap_or_default()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contextengine::tokens::{EntryCounter, TiktokenCounter, Vocabulary};

    #[test]
    fn the_comparison_session_has_the_size_that_it_claims() {
        let session = comparison_session();
        let counter = EntryCounter::new(TiktokenCounter::new(Vocabulary::O200kBase));
        let tokens: u32 = session.iter().map(|entry| counter.entry(entry)).sum();
        assert!((1_980..=2_000).contains(&session.len()), "{} entries", session.len());
        assert!((860_000..900_000).contains(&tokens), "{tokens} tokens");
    }

    #[test]
    fn a_session_is_the_same_each_time() {
        assert_eq!(session(300, 100_000), session(300, 100_000));
    }
}
