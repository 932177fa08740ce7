//! The digest of a branch: what the model could see of it, as one hash.
//!
//! A digest is chained: that of an entry is the SHA-256 of the digest of the entry before it and of the entry's
//! canonical bytes. So appending hashes one entry, however long the log is, and whether a prefix is still what it was
//! is one comparison. Canonical bytes hold what the model can see and nothing else, each text with its length before
//! it, so that no two different entries have the same bytes. `docs/canonical-bytes.md` specifies them, with vectors.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::{Block, Entry, ImageSource, Role};

/// Goes into every hash first, so that no other use of SHA-256 can give the same one. The number is the version of
/// the canonical bytes.
const DOMAIN: &[u8] = b"contextengine.digest.v1\0";

/// The hash of everything that the model can see of a branch up to an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of nothing: what the first entry of a branch is chained to.
    pub const ROOT: Digest = Digest([0; 32]);

    /// The digest of this branch with one more entry. Costs the entry's own length.
    pub fn then(&self, entry: &Entry) -> Digest {
        self.then_visible(entry.role, &entry.blocks)
    }

    /// The same, from what the model can see of the entry.
    pub(crate) fn then_visible(&self, role: Role, blocks: &[Block]) -> Digest {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update(self.0);
        write_canonical(role, blocks, &mut |bytes| hash.update(bytes));
        Digest(hash.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a digest: 64 hexadecimal digits are")]
pub struct ParseDigestError {
    found: String,
}

impl FromStr for Digest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let refused = || ParseDigestError { found: text.chars().take(80).collect() };
        if text.len() != 64 {
            return Err(refused());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let (high, low) = (hex_digit(pair[0]), hex_digit(pair[1]));
            *byte = high.zip(low).map(|(high, low)| high << 4 | low).ok_or_else(refused)?;
        }
        Ok(Digest(bytes))
    }
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The canonical bytes of an entry: what [`Digest::then`] hashes after the digest of the entry before.
pub fn canonical_bytes(entry: &Entry) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_canonical(entry.role, &entry.blocks, &mut |part| bytes.extend_from_slice(part));
    bytes
}

/// The kind of an entry is not in it: a model reads a note, a summary and a request alike, as a role and its blocks.
fn write_canonical(role: Role, blocks: &[Block], sink: &mut impl FnMut(&[u8])) {
    sink(&[match role {
        Role::System => 0,
        Role::User => 1,
        Role::Assistant => 2,
        Role::Tool => 3,
    }]);
    write_length(blocks.len(), sink);
    for block in blocks {
        write_block(block, sink);
    }
}

fn write_block(block: &Block, sink: &mut impl FnMut(&[u8])) {
    match block {
        Block::Text(text) => {
            sink(&[1]);
            write_text(text, sink);
        }
        Block::Reasoning(reasoning) => {
            sink(&[2]);
            write_text(&reasoning.text, sink);
            sink(&[u8::from(reasoning.signed)]);
        }
        Block::ToolCall(call) => {
            sink(&[3]);
            write_text(&call.id, sink);
            write_text(&call.name, sink);
            write_text(&call.arguments, sink);
        }
        Block::ToolResult(result) => {
            sink(&[4]);
            write_text(&result.call_id, sink);
            write_text(&result.name, sink);
            write_text(&result.text, sink);
            sink(&[u8::from(result.failed)]);
        }
        Block::Image(image) => {
            sink(&[5]);
            write_text(&image.media_type, sink);
            match &image.source {
                ImageSource::Base64(data) => {
                    sink(&[0]);
                    sink(&Sha256::digest(data.as_bytes()));
                }
                ImageSource::Url(url) => {
                    sink(&[1]);
                    write_text(url, sink);
                }
                ImageSource::Unknown => sink(&[2]),
            }
        }
        Block::Opaque(opaque) => {
            sink(&[6]);
            write_text(&opaque.type_name, sink);
            write_text(&opaque.json, sink);
        }
    }
}

fn write_text(text: &str, sink: &mut impl FnMut(&[u8])) {
    write_length(text.len(), sink);
    sink(text.as_bytes());
}

/// Eight bytes, the highest first.
fn write_length(length: usize, sink: &mut impl FnMut(&[u8])) {
    // A length in memory never exceeds 64 bits.
    sink(&u64::try_from(length).unwrap_or(u64::MAX).to_be_bytes());
}
