//! Finds exact names: paths, hashes, ids, addresses, error names.
//!
//! One regular expression finds candidates in one pass; [`crate::shape`] then decides by shape and surroundings what
//! a candidate is, or that it is noise. A name counts once per entry, so that a log that repeats a line a thousand
//! times does not outrank what is talked about. Names are never cut: one that is too long is not listed.

use crate::config::AnchorPattern;
use crate::pattern::Pattern;
use crate::secrets::Secrets;
use crate::shape;
use crate::skim;
use crate::summary::{Counted, Map, NameList, is_listable};

/// What a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Files,
    Urls,
    Errors,
    Commits,
    Issues,
    Tickets,
    Branches,
    Packages,
    Ids,
    Hosts,
    Env,
    Versions,
    Handles,
}

impl Kind {
    /// All, in the order of the summary.
    pub(crate) const ALL: [Kind; 13] = [
        Kind::Files,
        Kind::Urls,
        Kind::Errors,
        Kind::Commits,
        Kind::Issues,
        Kind::Tickets,
        Kind::Branches,
        Kind::Packages,
        Kind::Ids,
        Kind::Hosts,
        Kind::Env,
        Kind::Versions,
        Kind::Handles,
    ];

    /// How the summary calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Files => "files",
            Kind::Urls => "urls",
            Kind::Errors => "errors",
            Kind::Commits => "commits",
            Kind::Issues => "issues",
            Kind::Tickets => "tickets",
            Kind::Branches => "branches",
            Kind::Packages => "packages",
            Kind::Ids => "ids",
            Kind::Hosts => "hosts",
            Kind::Env => "env",
            Kind::Versions => "versions",
            Kind::Handles => "handles",
        }
    }

    /// How many are listed. Hermes lists 120 issues and 80 files in 7,000 characters; most sessions have few of each
    /// kind, and the budget of the section decides in the end.
    fn cap(self) -> usize {
        match self {
            Kind::Files => 60,
            Kind::Issues => 40,
            Kind::Urls | Kind::Commits | Kind::Tickets | Kind::Errors | Kind::Ids => 25,
            Kind::Branches | Kind::Hosts | Kind::Env | Kind::Packages => 15,
            Kind::Versions | Kind::Handles => 10,
        }
    }
}

/// The list of names that the host asked for (`lost-identifiers`).
pub(crate) const ALSO: &str = "also";

/// How many of those are carried from one compaction to the next.
const ALSO_CAP: usize = 60;

/// The longest name that is listed, in bytes. URLs of trackers and signed links are longer; they are not names.
const MAX_NAME: usize = 200;

/// Distinct names of one kind that are counted. Bounds memory on input made of names; later ones are not counted.
const MAX_DISTINCT: usize = 50_000;

/// Where a text comes from; decides how much of a hint a candidate needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Words of a person or of the model, as opposed to output of a tool.
    pub(crate) prose: bool,
    /// A command of git or a forge, or its output.
    pub(crate) git: bool,
}

/// What begins a candidate and what it may hold. Alternatives in order of precedence; all ASCII, so that the
/// automaton needs no Unicode tables and never leaves its fast path.
const CANDIDATE: &str = r##"(?x)
    -----BEGIN\ [A-Z\ ]+-----
  | \b[a-z][a-z0-9+.-]{1,11}://[!\#-&*-;=?-Z_a-z~]+
  | (?:\b[A-Za-z]:)? [\w.@+~$-]* (?:[/\\][\w.@+~$=%-]+)+ /? (?:\#\d+\b)?
  | \b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b
  | (?:\bOn\ branch|\bgit:\(|\bcheckout(?:\ -[bB])?|\bswitch(?:\ -[cC])?|\bbranch|\borigin|HEAD\ ->)\ ?['"`]?\w[\w./-]+
  | (?:\$\{?|\bprocess\.env\.|\benv::var\("|\bgetenv\("|\benviron\["|\bexport\ )[A-Z][A-Z0-9_]{2,}
  | \b[A-Z][A-Z0-9]*_[A-Z0-9_]+=
  | \b(?:[Pp]orts?[\ =:]{1,3}|PORT[=:]\ ?|--port[\ =])\d{2,5}\b
  | \b(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+):\d{2,5}\b
  | \b(?:ERR_[A-Z_]{3,}|SIG[A-Z]{3,5}|E[A-Z]{4,12}|TS\d{4,5}|E\d{4}|HTTP\ [45]\d\d)\b
  | \b[A-Z][A-Za-z0-9]+(?:Error|Exception)\b
  | \bCVE-\d{4}-\d{4,7}\b
  | \b[A-Z][A-Z0-9]{1,9}-\d{1,6}\b
  | (?:\bGH-|\#)\d{1,6}\b
  | \bv?\d+\.\d+\.\d+(?:\.\d+)?(?:-[A-Za-z][\w.]*)?\b
  | \b(?:[A-Za-z]+[_-])?(?:id|ID|Id)["']?[\ =:]{1,3}["'`]?[A-Za-z0-9][\w-]{5,63}\b
  | \b[a-z]{2,10}_[A-Za-z0-9]{8,64}\b
  | \b[0-9a-f]{7,64}\b
  | \b[\w-][\w.-]*\.[a-z][a-z0-9]{0,7}\b
  | @[A-Za-z][\w-]{1,38}\b
"##;

/// Finds names.
#[derive(Debug)]
pub(crate) struct Finder {
    candidate: Pattern,
    extra: Vec<(String, Pattern, usize)>,
}

#[derive(Debug, Clone, Copy)]
struct Stat {
    count: u32,
    /// Greater is later.
    last: u64,
}

/// The names that were found, with how often and when last.
#[derive(Debug, Default)]
pub(crate) struct Index {
    built_in: Map<Kind, Map<String, Stat>>,
    extra: Map<String, Map<String, Stat>>,
    clock: u64,
}

impl Finder {
    /// Compiles the patterns.
    pub(crate) fn new(extra: &[AnchorPattern]) -> Result<Self, String> {
        let extra = extra
            .iter()
            .map(|anchor| Ok((anchor.name.clone(), anchor.compile()?, anchor.cap)))
            .collect::<Result<_, String>>()?;
        Ok(Self { candidate: Pattern::new(CANDIDATE)?, extra })
    }

    /// Adds the names in a text of the entry that the index stands at.
    pub(crate) fn scan(&self, text: &str, origin: Origin, secrets: &Secrets, index: &mut Index) {
        self.scan_built_in(text, origin, secrets, index, |range| self.next(text, range));
        for (kind, pattern, _) in &self.extra {
            let mut at = 0;
            while let Some(found) = pattern.find(text, at..text.len()) {
                at = found.end.max(found.start + 1);
                // A pattern may match within a character; that is no name.
                let name = text.get(found).unwrap_or_default();
                if name.len() <= MAX_NAME && is_listable(name) && secrets.mask(name) == name {
                    index.add_extra(kind, name);
                }
                if at > text.len() {
                    break;
                }
            }
        }
    }

    /// The same for the built-in kinds; `next` finds the next candidate in a range.
    fn scan_built_in(
        &self,
        text: &str,
        origin: Origin,
        secrets: &Secrets,
        index: &mut Index,
        next: impl Fn(std::ops::Range<usize>) -> Option<std::ops::Range<usize>>,
    ) {
        let mut at = 0;
        while at < text.len() {
            let (end, is_piece) = piece(text, at);
            while let Some(found) = next(at..end).filter(|_| is_piece) {
                let next = shape::name_of(text, found.start, found.end, origin, |kind, name| {
                    if name.len() <= MAX_NAME && is_listable(name) && !secrets.is_token(name) {
                        index.add(kind, name);
                    }
                });
                // The next candidate begins behind this one, or behind the secret that it introduced.
                at = next.max(found.start + 1);
                if at >= end {
                    break;
                }
            }
            at = at.max(end);
        }
    }

    /// The next candidate in a range: the leftmost match, as if all of the range had been searched.
    fn next(&self, text: &str, range: std::ops::Range<usize>) -> Option<std::ops::Range<usize>> {
        let mut rest = range;
        while let Some(part) = skim::next_part(text, rest.clone()) {
            if let Some(found) = self.candidate.find(text, part.clone()) {
                return Some(found);
            }
            rest.start = part.end;
        }
        None
    }

    /// The names to list, by kind, each most important first, within the caps.
    pub(crate) fn lists(&self, index: &Index) -> Vec<NameList> {
        let none = Map::default();
        let built_in = Kind::ALL
            .into_iter()
            .map(|kind| ranked(kind.name(), index.built_in.get(&kind).unwrap_or(&none), kind.cap()));
        let extra = self.extra.iter().map(|(name, _, cap)| ranked(name, index.extra.get(name).unwrap_or(&none), *cap));
        let also = std::iter::once(ranked(ALSO, index.extra.get(ALSO).unwrap_or(&none), ALSO_CAP));
        built_in.chain(extra).chain(also).filter(|list| !list.names.is_empty()).collect()
    }
}

/// The end of the piece of text that is searched at once, and whether it is searched at all.
///
/// A piece ends where no name goes on. Without pieces, a long run that might become a path would be walked through
/// again for every short name found in it; so the work stays linear. A run of a whole piece without an end is no name.
fn piece(text: &str, from: usize) -> (usize, bool) {
    const PIECE: usize = 4096;
    let bytes = text.as_bytes();
    let ends = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>' | b',' | b';');
    let Some(window) = bytes.get(from..from + PIECE) else {
        return (text.len(), true);
    };
    if let Some(last) = window.iter().rposition(ends) {
        return (from + last + 1, true);
    }
    // Writing without spaces ends a name at any of its letters.
    let wide = |b: &u8| !b.is_ascii();
    let (end, searched) = match window.iter().rposition(wide) {
        Some(last) => (from + last + 1, true),
        None => (bytes[from..].iter().position(|b| ends(b) || wide(b)).map_or(text.len(), |at| from + at + 1), false),
    };
    let boundary = (end..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    (boundary, searched)
}

/// By how many entries hold it, then by how late, then by spelling: the order never depends on hashing.
fn ranked(kind: &str, names: &Map<String, Stat>, cap: usize) -> NameList {
    let mut order: Vec<(&String, &Stat)> = names.iter().collect();
    let key = |(name, stat): &(&String, &Stat)| (std::cmp::Reverse((stat.count, stat.last)), (*name).clone());
    if order.len() > cap.max(1) * 4 {
        // Only the best are worth sorting by a key that is copied.
        order.select_nth_unstable_by(cap.max(1), |a, b| {
            (b.1.count, b.1.last).cmp(&(a.1.count, a.1.last)).then_with(|| a.0.cmp(b.0))
        });
        order.truncate(cap.max(1));
    }
    order.sort_by_cached_key(key);
    order.truncate(cap);
    let names = order.into_iter().map(|(name, stat)| Counted { name: name.clone(), count: stat.count }).collect();
    NameList { kind: kind.to_owned(), names }
}

impl Index {
    /// From here on names belong to the next entry.
    pub(crate) fn next_entry(&mut self) {
        self.clock += 1;
    }

    fn add(&mut self, kind: Kind, name: &str) {
        let clock = self.clock;
        bump(self.built_in.entry(kind).or_default(), name, clock);
    }

    fn add_extra(&mut self, kind: &str, name: &str) {
        let clock = self.clock;
        if let Some(names) = self.extra.get_mut(kind) {
            bump(names, name, clock);
        } else {
            bump(self.extra.entry(kind.to_owned()).or_default(), name, clock);
        }
    }

    /// Names that the host wants to see in the summary.
    pub(crate) fn demand(&mut self, name: &str) {
        if name.len() <= MAX_NAME && is_listable(name) {
            self.add_extra(ALSO, name);
        }
    }

    /// Takes over the lists of an earlier summary. Within a list an earlier place was a later mention, as far as the
    /// counts are equal.
    pub(crate) fn take_over(&mut self, lists: &[NameList]) {
        let longest = lists.iter().map(|list| list.names.len()).max().unwrap_or(0) as u64;
        let base = self.clock;
        self.clock += longest + 1;
        for list in lists {
            let kind = Kind::ALL.into_iter().find(|kind| kind.name() == list.kind);
            let names = match kind {
                Some(kind) => self.built_in.entry(kind).or_default(),
                None => self.extra.entry(list.kind.clone()).or_default(),
            };
            for (place, counted) in list.names.iter().enumerate() {
                let last = base + longest - place as u64;
                let stat = names.entry(counted.name.clone()).or_insert(Stat { count: 0, last });
                stat.count = stat.count.saturating_add(counted.count.max(1));
                stat.last = stat.last.max(last);
            }
        }
    }

    /// In how many entries a file was named, as far as this index saw it.
    pub(crate) fn file_mentions(&self, path: &str) -> u32 {
        self.built_in.get(&Kind::Files).and_then(|names| names.get(path)).map_or(0, |stat| stat.count)
    }

    /// A file name, or a relative path, that is the end of exactly one longer relative path is that path. Absolute paths
    /// stay beside the relative ones: nobody knows which of them the next command needs.
    pub(crate) fn merge_short_paths(&mut self) {
        let Some(files) = self.built_in.get_mut(&Kind::Files) else {
            return;
        };
        let mut by_end: Map<&str, Option<&str>> = Map::default();
        for path in files.keys() {
            let absolute = path.starts_with(['/', '~']);
            let mut rest = path.as_str();
            while let Some((_, end)) = rest.split_once('/') {
                if !absolute || !end.contains('/') {
                    by_end.entry(end).and_modify(|only| *only = None).or_insert(Some(path));
                }
                rest = end;
            }
        }
        let owner = |name: &String| Some((name.clone(), (*by_end.get(name.as_str())?)?.to_owned()));
        let mut merges: Vec<(String, String)> = files.keys().filter_map(owner).collect();
        // The shortest first, so that what was merged moves on with what it was merged into.
        merges.sort_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        for (name, path) in merges {
            let Some(short) = files.remove(&name) else { continue };
            if let Some(stat) = files.get_mut(&path) {
                // Both may stand in the same entries; the greater count is the one that is sure.
                stat.count = stat.count.max(short.count);
                stat.last = stat.last.max(short.last);
            } else {
                files.insert(name, short);
            }
        }
    }
}

fn bump(names: &mut Map<String, Stat>, name: &str, clock: u64) {
    if let Some(stat) = names.get_mut(name) {
        if stat.last != clock {
            stat.count = stat.count.saturating_add(1);
            stat.last = clock;
        }
    } else if names.len() < MAX_DISTINCT {
        names.insert(name.to_owned(), Stat { count: 1, last: clock });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    /// What names are made of and what stands around them, to be put together in any way.
    const PIECES: [&str; 72] = [
        "src/main.rs",
        "/v1/bookings",
        "C:\\\\app\\log.txt",
        "./a",
        "../b/c.ts",
        "~/.bashrc",
        "and/or",
        "README.md",
        "a.b",
        "https://x.dev/a?b=1",
        "http://localhost:8080/x",
        "git@github.com:o/r.git",
        "ssh://h",
        "example.com",
        "db.local:5432",
        "127.0.0.1:9090",
        "#482",
        "GH-12",
        "PR #77",
        "issue 5",
        "#include",
        "ABC-123",
        "UTF-8",
        "CVE-2024-1234",
        "E4091",
        "ENOENT",
        "TypeError",
        "MyException",
        "ERR_ASSERTION",
        "SIGKILL",
        "TS2724",
        "HTTP 503",
        "HTTP/1.1 404",
        "port 8080",
        "Port=9090",
        "port:",
        "8081",
        "v1.2.3",
        "1.2.3-rc.1",
        "2026-03-12",
        "12:30:07",
        "3f2a9c1d",
        "deadbeef",
        "4f0c2e91d7a35b8864e1c09f7712ab3de5906c4d",
        "0191d1e6-52f0-7c4e-9a4e-2f3b1c0d9e8f",
        "req_a1b2c3d4e5",
        "user_id: abc123def",
        "id=\"order-00017\"",
        "requestId 99ffaa00",
        "origin/main",
        "On branch fix/race",
        "checkout -b feat/x-1",
        "git switch dev",
        "HEAD -> main",
        "$HOME/bin",
        "${CTXE_STORE}",
        "process.env.PORT_A",
        "export FOO_BAR=1",
        "env::var(\"A_B\")",
        "@mira-k",
        "@scope/pkg@0.8.0",
        "word",
        "Word",
        "WORD",
        "the",
        "漢字",
        "é",
        "-----BEGIN RSA PRIVATE KEY-----",
        "const x = 5;",
        "_",
        "--flag",
        "::",
    ];

    const BETWEEN: [&str; 14] = [" ", "", "\n", ": ", ", ", "(", ")", "\"", "'", "`", "/", ".", "=", "\t"];

    fn any_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            8 => prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
            1 => "[a-zA-Z0-9_./:#@$-]{1,24}",
        ];
        prop::collection::vec((piece, prop::sample::select(BETWEEN.to_vec())), 0..12)
            .prop_map(|parts| parts.into_iter().map(|(piece, between)| piece + between).collect())
    }

    fn names(index: &Index) -> Vec<(Kind, String, u32)> {
        let all = index.built_in.iter().flat_map(|(kind, names)| {
            names.iter().map(|(name, stat)| (*kind, name.clone(), stat.count)).collect::<Vec<_>>()
        });
        let mut all: Vec<_> = all.collect();
        all.sort();
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn what_is_skipped_over_holds_no_name(text in any_text(), prose in any::<bool>(), git in any::<bool>()) {
            let finder = Finder::new(&[]).unwrap();
            let secrets = Secrets::new().unwrap();
            let origin = Origin { prose, git };
            let (mut skimmed, mut searched) = (Index::default(), Index::default());
            finder.scan_built_in(&text, origin, &secrets, &mut skimmed, |range| finder.next(&text, range));
            finder.scan_built_in(&text, origin, &secrets, &mut searched, |range| finder.candidate.find(&text, range));
            prop_assert_eq!(names(&skimmed), names(&searched), "{:?}", text);
        }
    }
}
