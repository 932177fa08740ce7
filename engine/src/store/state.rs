//! State that plugins keep.

use super::{SessionKey, StoreError};

/// Who else sees a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StateScope {
    /// The plugin in this session only. Goes with the session.
    Session(SessionKey),
    /// The plugin in all sessions.
    Shared,
}

/// How much a plugin may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateLimits {
    /// Longest key, in bytes.
    pub key: u64,
    /// Longest value, in bytes.
    pub value: u64,
    /// All keys and values of one plugin in one scope, in bytes.
    pub total: u64,
}

impl Default for StateLimits {
    /// Keys of 256 bytes, values of 256 KiB, 4 MiB in all: enough for notes and counters, too little to keep a second
    /// transcript.
    fn default() -> Self {
        Self { key: 256, value: 256 << 10, total: 4 << 20 }
    }
}

impl StateLimits {
    /// Refuses a pair that is too long by itself.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooLarge`].
    pub fn check_pair(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        within("the key", key.len() as u64, self.key)?;
        within("the value", value.len() as u64, self.value)
    }

    /// Refuses a total of all keys and values that is too large.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooLarge`].
    pub fn check_total(&self, plugin: &str, total: u64) -> Result<(), StoreError> {
        within(&format!("the state of `{plugin}`"), total, self.total)
    }
}

fn within(what: &str, found: u64, limit: u64) -> Result<(), StoreError> {
    if found > limit {
        return Err(StoreError::TooLarge { what: what.to_owned(), found, limit });
    }
    Ok(())
}
