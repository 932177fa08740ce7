//! What tests of other rooms count with.

use super::TokenCounter;

/// A token a byte, so that figures can be read off.
#[derive(Debug)]
pub(crate) struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len()).unwrap_or(u32::MAX)
    }
}
