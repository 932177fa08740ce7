//! Counting entries, each content once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::TokenCounter;
use crate::transcript::{Block, Entry, Image};

/// Tokens that framing costs per message and per call: 3, as OpenAI's cookbook counts messages for its chat models.
const FRAMING: u32 = 3;

/// Texts shorter than this are counted again rather than looked up: hashing them costs as much.
const CACHED_FROM: usize = 32;

/// At this many remembered texts the cache starts over; 24 bytes each.
const CACHE_LIMIT: usize = 1 << 20;

/// First half of the SHA-256 of a text.
type Key = [u8; 16];

/// Counts entries with one vocabulary and remembers the counts by content. Cheap to clone; clones share the memory.
#[derive(Debug, Clone)]
pub struct EntryCounter {
    counter: Arc<dyn TokenCounter>,
    counted: Arc<Mutex<HashMap<Key, u32>>>,
}

impl EntryCounter {
    /// Counts with the given vocabulary.
    pub fn new(counter: impl TokenCounter + 'static) -> Self {
        Self { counter: Arc::new(counter), counted: Arc::default() }
    }

    /// The counter underneath, for texts that are not entries.
    pub fn counter(&self) -> &Arc<dyn TokenCounter> {
        &self.counter
    }

    /// Tokens that an entry takes in a request: its texts, calls and reasoning, 3 for framing a message and each
    /// call, and [`Image::TOKENS`] an image.
    pub fn entry(&self, entry: &Entry) -> u32 {
        entry.blocks.iter().map(|block| self.block(block)).fold(FRAMING, u32::saturating_add)
    }

    /// Tokens of a text, looked up if it was counted before.
    pub fn text(&self, text: &str) -> u32 {
        if text.len() < CACHED_FROM {
            return self.counter.count(text);
        }
        let key = key(text);
        if let Some(&tokens) = self.lock().get(&key) {
            return tokens;
        }
        // Counted without the lock, so that several threads can count at once.
        let tokens = self.counter.count(text);
        let mut counted = self.lock();
        if counted.len() >= CACHE_LIMIT {
            counted.clear();
        }
        counted.insert(key, tokens);
        tokens
    }

    fn block(&self, block: &Block) -> u32 {
        match block {
            Block::Text(text) => self.text(text),
            Block::Reasoning(reasoning) => self.text(&reasoning.text),
            Block::ToolCall(call) => {
                FRAMING.saturating_add(self.text(&call.name)).saturating_add(self.text(&call.arguments))
            }
            Block::ToolResult(result) => self.text(&result.text),
            Block::Image(_) => Image::TOKENS,
            Block::Opaque(opaque) => self.text(&opaque.json),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, u32>> {
        // A cache of pure results is right whatever a panicking holder was doing.
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(text: &str) -> Key {
    let digest = Sha256::digest(text.as_bytes());
    let mut key = Key::default();
    key.copy_from_slice(&digest[..16]);
    key
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::transcript::{EntryKind, ToolCall};

    #[derive(Debug, Default)]
    struct Spy(Arc<AtomicUsize>);

    impl TokenCounter for Spy {
        fn name(&self) -> &str {
            "spy"
        }

        fn count(&self, text: &str) -> u32 {
            self.0.fetch_add(1, Ordering::Relaxed);
            u32::try_from(text.len()).unwrap_or(u32::MAX)
        }
    }

    #[test]
    fn the_same_content_is_counted_once() {
        let spy = Spy::default();
        let calls = Arc::clone(&spy.0);
        let counter = EntryCounter::new(spy);
        let text = "the same words, again and again and again";
        for id in ["a", "b", "c"] {
            assert_eq!(counter.entry(&Entry::text(id, EntryKind::User, text)), 3 + 41);
        }
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn every_kind_of_block_is_counted() {
        let counter = EntryCounter::new(Spy::default());
        let call = ToolCall { id: "1".into(), name: "read".into(), arguments: "{}".into() };
        let blocks = vec![
            Block::Text("ab".into()),
            Block::ToolCall(call),
            Block::Image(Image { media_type: "image/png".into(), source: crate::transcript::ImageSource::Unknown }),
        ];
        assert_eq!(counter.entry(&Entry::new("e", EntryKind::Assistant, blocks)), 3 + 2 + (3 + 4 + 2) + 1_200);
    }
}
