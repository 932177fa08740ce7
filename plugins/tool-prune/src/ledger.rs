//! What was pruned before, kept in the session's state so that it stays pruned in the same words.
//!
//! One value holds all of it: the rules, each once, and ten bytes for each result. A result is known by a hash of the
//! host's id of its entry, of its tool and of its length, and not by its position, which changes with every
//! compaction. Its text is not hashed: that would mean to read every text in every request.

use contextengine_sdk::{Host, Scope};
use serde::{Deserialize, Serialize};

use crate::words::Template;

/// Where it is kept.
const KEY: &str = "pruned";

/// Version of the form.
const VERSION: u32 = 1;

/// Bytes of one record: a hash and the index of a rule.
const RECORD: usize = 10;

/// At this many records those that are not in the view any more go. 200,000 bytes: a host allows 256 KiB a value.
const MAX_RECORDS: usize = 20_000;

/// How a result is pruned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rule {
    /// Head and tail stay.
    Trim { head: u32, tail: u32, text: Template },
    /// A pointer stands for it.
    Clear { text: Template },
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    version: u32,
    rules: Vec<Rule>,
}

/// Whether the host keeps state for this plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// It does.
    Kept,
    /// It does not: every decision has to follow from the view alone.
    None,
}

/// What was pruned.
#[derive(Debug)]
pub(crate) struct Ledger {
    memory: Memory,
    rules: Vec<Rule>,
    /// Sorted by hash.
    records: Vec<(u64, u16)>,
    changed: bool,
}

impl Ledger {
    /// Reads it; empty where there is none or where it cannot be read.
    pub(crate) fn load(host: &Host) -> Self {
        let stored = host.state_get(Scope::Session, KEY);
        let known = stored.as_deref().and_then(parse);
        let memory = match (&stored, &known) {
            (Some(_), Some(_)) => Memory::Kept,
            // Whether anything is kept is found out by keeping it.
            _ if host.state_set(Scope::Session, KEY, &write(&[], &[])).is_ok() => Memory::Kept,
            _ => Memory::None,
        };
        let (rules, records) = known.unwrap_or_default();
        Self { memory, rules, records, changed: false }
    }

    pub(crate) fn memory(&self) -> Memory {
        self.memory
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Index of the rule under which a result was pruned.
    pub(crate) fn find(&self, key: u64) -> Option<u16> {
        let at = self.records.binary_search_by_key(&key, |record| record.0).ok()?;
        Some(self.records[at].1)
    }

    pub(crate) fn rule(&self, index: u16) -> Option<&Rule> {
        self.rules.get(usize::from(index))
    }

    /// What tells the rules apart, in their order.
    pub(crate) fn prints(&self) -> Vec<u64> {
        let print = |rule: &Rule| fnv(&serde_json::to_vec(rule).unwrap_or_default());
        self.rules.iter().map(print).collect()
    }

    /// The index of a rule, which is added if it is new. `None` where there are too many.
    pub(crate) fn index_of(&mut self, rule: &Rule) -> Option<u16> {
        let known = self.rules.iter().position(|known| known == rule);
        let index = known.unwrap_or_else(|| {
            self.rules.push(rule.clone());
            self.rules.len() - 1
        });
        u16::try_from(index).ok()
    }

    /// Remembers what was pruned now; `seen` are the keys of all results in the view.
    pub(crate) fn add(&mut self, new: impl IntoIterator<Item = (u64, u16)>, seen: impl Fn() -> Vec<u64>) {
        let mut records = std::mem::take(&mut self.records);
        // The newer record of a key stands first, and only the first stays.
        let mut all: Vec<(u64, u16)> = new.into_iter().collect();
        all.append(&mut records);
        all.sort_by_key(|record| record.0);
        all.dedup_by_key(|record| record.0);
        if all.len() > MAX_RECORDS {
            let mut seen = seen();
            seen.sort_unstable();
            all.retain(|record| seen.binary_search(&record.0).is_ok());
        }
        self.records = all;
        self.changed = true;
    }

    /// Stores it, if it changed and there is where.
    pub(crate) fn save(&self, host: &Host) -> Result<(), String> {
        if !self.changed || self.memory == Memory::None {
            return Ok(());
        }
        host.state_set(Scope::Session, KEY, &write(&self.rules, &self.records))
    }
}

/// The key of a result.
pub(crate) fn key(id: &str, tool: &str, bytes: u32) -> u64 {
    fnv([id.as_bytes(), &[0xff], tool.as_bytes(), &[0xff], &bytes.to_le_bytes()].into_iter().flatten())
}

/// FNV-1a. Ids are the host's own and rules the operator's: nobody chooses them to collide.
fn fnv<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.into_iter().fold(OFFSET, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

fn write(rules: &[Rule], records: &[(u64, u16)]) -> Vec<u8> {
    let header = Header { version: VERSION, rules: rules.to_vec() };
    // Texts and numbers always have a JSON form.
    let mut bytes = serde_json::to_vec(&header).unwrap_or_default();
    bytes.reserve(records.len() * RECORD + 1);
    bytes.push(b'\n');
    for (key, rule) in records {
        bytes.extend_from_slice(&key.to_le_bytes());
        bytes.extend_from_slice(&rule.to_le_bytes());
    }
    bytes
}

type Known = (Vec<Rule>, Vec<(u64, u16)>);

fn parse(bytes: &[u8]) -> Option<Known> {
    // Line breaks within texts are escaped in JSON, so the first one ends the header.
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let header: Header = serde_json::from_slice(&bytes[..end]).ok()?;
    let body = &bytes[end + 1..];
    if header.version != VERSION || body.len() % RECORD != 0 {
        return None;
    }
    let mut records = Vec::with_capacity(body.len() / RECORD);
    for record in body.chunks_exact(RECORD) {
        let (key, rule) = record.split_at(8);
        records.push((u64::from_le_bytes(key.try_into().ok()?), u16::from_le_bytes(rule.try_into().ok()?)));
    }
    records.is_sorted_by_key(|record| record.0).then_some((header.rules, records))
}

#[cfg(test)]
mod tests {
    use contextengine_sdk::Services;
    use contextengine_sdk::memory::TestHost;
    use proptest::prelude::*;

    use super::*;

    fn rules() -> Vec<Rule> {
        let text = Template::of("[{bytes} bytes\nof {tool}]");
        vec![Rule::Trim { head: 3, tail: 4, text: text.clone() }, Rule::Clear { text }]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(keys in prop::collection::btree_map(any::<u64>(), 0_u16..2, 0..50)) {
            let records: Vec<(u64, u16)> = keys.into_iter().collect();
            prop_assert_eq!(parse(&write(&rules(), &records)), Some((rules(), records)));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = parse(&bytes);
            let mut after_a_header = write(&rules(), &[]);
            after_a_header.extend(bytes);
            let _ = parse(&after_a_header);
        }
    }

    #[test]
    fn a_later_rule_for_a_result_takes_the_place_of_the_earlier_one() {
        let host = TestHost::new();
        let mut ledger = Ledger::load(&host);
        let (trim, clear) = (ledger.index_of(&rules()[0]), ledger.index_of(&rules()[1]));
        assert_eq!((trim, clear), (Some(0), Some(1)));
        ledger.add([(7, 0), (9, 0)], Vec::new);
        ledger.add([(7, 1)], Vec::new);
        assert_eq!(ledger.save(&host), Ok(()));
        let ledger = Ledger::load(&host);
        assert_eq!((ledger.find(7), ledger.find(9), ledger.find(8)), (Some(1), Some(0), None));
        assert_eq!(ledger.rule(1), Some(&rules()[1]));
    }

    #[test]
    fn a_full_ledger_forgets_what_is_not_in_the_view_any_more() {
        let mut ledger = Ledger { memory: Memory::Kept, rules: rules(), records: Vec::new(), changed: false };
        ledger.add((0..MAX_RECORDS as u64).map(|key| (key, 0)), || vec![1]);
        assert_eq!(ledger.records.len(), MAX_RECORDS);
        ledger.add([(u64::MAX, 0)], || vec![1, u64::MAX]);
        assert_eq!(ledger.records, [(1, 0), (u64::MAX, 0)]);
    }

    #[test]
    fn a_value_that_cannot_be_read_counts_as_none() {
        let host = TestHost::new();
        assert_eq!(host.state_set(Scope::Session, KEY, b"{\"version\":2,\"rules\":[]}\n"), Ok(()));
        let ledger = Ledger::load(&host);
        assert!(ledger.is_empty() && ledger.memory() == Memory::Kept);
    }
}
