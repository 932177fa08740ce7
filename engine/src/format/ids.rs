//! Ids and times that formats want and a context does not have: always the same for the same input.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::transcript::Timestamp;

/// Hex of a hash over length-prefixed parts.
pub(super) fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A UUID in the shape of version 4, made from a hash.
pub(super) fn uuid(parts: &[&[u8]]) -> String {
    let hash = hash(parts);
    // Version nibble 4, variant bits 10.
    let variant = match hash.as_bytes()[16] % 4 {
        0 => '8',
        1 => '9',
        2 => 'a',
        _ => 'b',
    };
    format!("{}-{}-4{}-{variant}{}-{}", &hash[..8], &hash[8..12], &hash[13..16], &hash[17..20], &hash[20..32])
}

/// Gives names apart from each other: a second use of a name gets `-2`, and so on.
#[derive(Debug, Default)]
pub(super) struct Unique {
    used: HashMap<String, u32>,
}

impl Unique {
    pub(super) fn name(&mut self, wanted: &str) -> String {
        if !self.used.contains_key(wanted) {
            self.used.insert(wanted.to_owned(), 1);
            return wanted.to_owned();
        }
        loop {
            let count = self.used.entry(wanted.to_owned()).or_insert(1);
            *count = count.saturating_add(1);
            let name = format!("{wanted}-{count}");
            if !self.used.contains_key(&name) {
                self.used.insert(name.clone(), 1);
                return name;
            }
        }
    }
}

/// As in `2026-01-31T12:00:00.000Z`; a time that no calendar has is the nearest one that it has.
pub(super) fn iso(at: Timestamp) -> String {
    let time = jiff::Timestamp::from_millisecond(at.0).unwrap_or(if at.0 < 0 {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    });
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// The time that an ISO 8601 text says.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    text.parse::<jiff::Timestamp>().ok().map(|time| Timestamp(time.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_javascript_does() {
        assert_eq!(iso(Timestamp(1_783_632_479_733)), "2026-07-09T21:27:59.733Z");
        assert_eq!(time("2026-07-09T21:27:59.733Z"), Some(Timestamp(1_783_632_479_733)));
        assert_eq!(iso(Timestamp(0)), "1970-01-01T00:00:00.000Z");
        assert!(!iso(Timestamp(i64::MAX)).is_empty() && !iso(Timestamp(i64::MIN)).is_empty());
    }

    #[test]
    fn uuids_have_the_shape_of_version_4() {
        let id = uuid(&[b"a", b"b"]);
        assert_eq!(id.len(), 36);
        assert_eq!(id.as_bytes()[14], b'4');
        assert_eq!(id, uuid(&[b"a", b"b"]));
        assert_ne!(id, uuid(&[b"ab", b""]));
    }

    #[test]
    fn names_are_unique() {
        let mut unique = Unique::default();
        let names: Vec<String> = ["a", "a", "a-2", "a"].iter().map(|name| unique.name(name)).collect();
        assert_eq!(names, ["a", "a-2", "a-2-2", "a-3"]);
    }
}
