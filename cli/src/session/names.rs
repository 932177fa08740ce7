//! Under which ids the entries of a file are kept: their own, where those are unique and not of the store's making.

use std::collections::HashSet;
use std::sync::Arc;

use contextengine::transcript::{Entry, EntryId};

/// What the ids of records begin with that the store itself writes.
const RESERVED: [&str; 3] = ["compaction-", "leaf-", "undo-"];

/// The id of each entry in the store. The same entries always give the same ids, so that an export finds them again.
pub(super) fn stored_ids(entries: &[Arc<Entry>]) -> Vec<EntryId> {
    let own: HashSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let mut used: HashSet<EntryId> = HashSet::with_capacity(entries.len());
    let mut ids = Vec::with_capacity(entries.len());
    for entry in entries {
        let wanted = entry.id.as_str();
        let reserved = wanted.is_empty() || RESERVED.iter().any(|prefix| wanted.starts_with(prefix));
        let mut id = if reserved { EntryId::new(format!("entry-{wanted}")) } else { entry.id.clone() };
        let mut count = 2u64;
        while used.contains(&id) || (id != entry.id && own.contains(id.as_str())) {
            id = EntryId::new(format!("entry-{wanted}-{count}"));
            count += 1;
        }
        used.insert(id.clone());
        ids.push(id);
    }
    ids
}

#[cfg(test)]
mod tests {
    use contextengine::transcript::EntryKind;

    use super::*;

    #[test]
    fn ids_stay_as_they_are_unless_they_repeat_or_are_those_of_the_store() {
        let entries: Vec<Arc<Entry>> = ["a", "a", "entry-a-2", "compaction-1", "b", "a", ""]
            .iter()
            .map(|id| Arc::new(Entry::text(id, EntryKind::User, "text")))
            .collect();
        let ids: Vec<String> = stored_ids(&entries).iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["a", "entry-a-3", "entry-a-2", "entry-compaction-1", "b", "entry-a-4", "entry-"]);
    }
}
