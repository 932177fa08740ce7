//! The digest of a branch, and the canonical bytes behind it.

use std::sync::Arc;

use contextengine::transcript::{
    Block, Digest, Entry, EntryId, EntryKind, Image, ImageSource, Opaque, Reasoning, Role, SourcePart, Timestamp,
    ToolCall, ToolResult, canonical_bytes,
};
use proptest::prelude::*;
use serde_json::Value;
use sha2::Digest as _;

const DOCUMENT: &str = include_str!("../../../docs/canonical-bytes.md");

#[test]
fn the_vectors_of_the_document_are_right() {
    let json = DOCUMENT.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let vectors: Vec<Value> = serde_json::from_str(json).unwrap();
    assert!(vectors.len() >= 8);
    let mut parent = Digest::ROOT;
    for vector in vectors {
        let role: Role = serde_json::from_value(vector["entry"]["role"].clone()).unwrap();
        let blocks: Vec<Block> = serde_json::from_value(vector["entry"]["blocks"].clone()).unwrap();
        let entry = entry(role, blocks);
        assert_eq!(vector["parent"], parent.to_string(), "{vector}");
        assert_eq!(vector["canonical"], hex(&canonical_bytes(&entry)), "{vector}");
        parent = parent.then(&entry);
        assert_eq!(vector["digest"], parent.to_string(), "{vector}");
    }
}

#[test]
fn a_digest_reads_as_it_is_written_and_nothing_else_does() {
    let digest = Digest::ROOT.then(&Entry::text("e", EntryKind::User, "x"));
    let text = digest.to_string();
    assert_eq!(text.parse(), Ok(digest));
    assert_eq!(text.to_uppercase().parse(), Ok(digest));
    assert_eq!(serde_json::from_str::<Digest>(&format!("\"{text}\"")).unwrap(), digest);
    for wrong in ["", "00", &text[1..], &format!("{text}0"), &text.replace(&text[..1], "g"), &"ä".repeat(32)] {
        let error = wrong.parse::<Digest>().unwrap_err();
        assert!(error.to_string().contains("64 hexadecimal digits"), "{error}");
    }
}

#[test]
fn ids_times_and_marks_are_not_in_a_digest() {
    let plain = Entry::text("a", EntryKind::User, "the same");
    let mut other = Entry::text("b", EntryKind::Note, "the same");
    other.parent = Some(EntryId::new("p"));
    other.role = plain.role;
    other.at = Some(Timestamp(5));
    other.pinned = true;
    other.source = vec![SourcePart { record: 1, blocks: None }];
    other.replaces = vec![Arc::new(Entry::text("c", EntryKind::User, "was"))];
    other.compaction = Some(Box::default());
    assert_eq!(Digest::ROOT.then(&plain), Digest::ROOT.then(&other));
}

fn entry(role: Role, blocks: Vec<Block>) -> Entry {
    let mut entry = Entry::new("e", EntryKind::User, blocks);
    entry.role = role;
    entry
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads canonical bytes back. That this is possible is why no two entries have the same.
struct Decoder<'a>(&'a [u8]);

impl Decoder<'_> {
    fn take(&mut self, count: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken.to_vec()
    }

    fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn number(&mut self) -> usize {
        let bytes: [u8; 8] = self.take(8).try_into().unwrap();
        usize::try_from(u64::from_be_bytes(bytes)).unwrap()
    }

    fn text(&mut self) -> String {
        let length = self.number();
        String::from_utf8(self.take(length)).unwrap()
    }

    fn flag(&mut self) -> bool {
        match self.byte() {
            0 => false,
            1 => true,
            other => panic!("flag {other}"),
        }
    }

    fn block(&mut self) -> Block {
        match self.byte() {
            1 => Block::Text(self.text()),
            2 => Block::Reasoning(Reasoning { text: self.text(), signed: self.flag() }),
            3 => Block::ToolCall(ToolCall { id: self.text(), name: self.text(), arguments: self.text() }),
            4 => Block::ToolResult(ToolResult {
                call_id: self.text(),
                name: self.text(),
                text: self.text(),
                failed: self.flag(),
            }),
            5 => {
                let media_type = self.text();
                let source = match self.byte() {
                    0 => ImageSource::Base64(Arc::from(hex(&self.take(32)))),
                    1 => ImageSource::Url(self.text()),
                    2 => ImageSource::Unknown,
                    other => panic!("source {other}"),
                };
                Block::Image(Image { media_type, source })
            }
            6 => Block::Opaque(Opaque { type_name: self.text(), json: self.text() }),
            other => panic!("block {other}"),
        }
    }

    fn entry(mut self) -> (Role, Vec<Block>) {
        let role = [Role::System, Role::User, Role::Assistant, Role::Tool][usize::from(self.byte())];
        let count = self.number();
        let blocks = (0..count).map(|_| self.block()).collect();
        assert!(self.0.is_empty(), "{} bytes are left", self.0.len());
        (role, blocks)
    }
}

/// The blocks as the bytes can tell them: of an image in the session, the hash of its data.
fn as_told(blocks: &[Block]) -> Vec<Block> {
    let mut blocks = blocks.to_vec();
    for block in &mut blocks {
        if let Block::Image(Image { source: ImageSource::Base64(data), .. }) = block {
            *data = Arc::from(hex(&sha2::Sha256::digest(data.as_bytes())));
        }
    }
    blocks
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-c\u{0}\u{1}]{0,4}", "\\PC{0,12}"]
}

fn any_block() -> impl Strategy<Value = Block> {
    let source = prop_oneof![
        any_text().prop_map(|data| ImageSource::Base64(Arc::from(data))),
        any_text().prop_map(ImageSource::Url),
        Just(ImageSource::Unknown),
    ];
    prop_oneof![
        any_text().prop_map(Block::Text),
        (any_text(), any::<bool>()).prop_map(|(text, signed)| Block::Reasoning(Reasoning { text, signed })),
        (any_text(), any_text(), any_text()).prop_map(|(id, name, arguments)| Block::ToolCall(ToolCall {
            id,
            name,
            arguments
        })),
        (any_text(), any_text(), any_text(), any::<bool>()).prop_map(|(call_id, name, text, failed)| {
            Block::ToolResult(ToolResult { call_id, name, text, failed })
        }),
        (any_text(), source).prop_map(|(media_type, source)| Block::Image(Image { media_type, source })),
        (any_text(), any_text()).prop_map(|(type_name, json)| Block::Opaque(Opaque { type_name, json })),
    ]
}

pub(crate) fn any_entry() -> impl Strategy<Value = Entry> {
    let role = prop_oneof![Just(Role::System), Just(Role::User), Just(Role::Assistant), Just(Role::Tool)];
    (role, prop::collection::vec(any_block(), 0..5)).prop_map(|(role, blocks)| entry(role, blocks))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases(2_000)))]

    #[test]
    fn canonical_bytes_can_be_read_back(entry in any_entry()) {
        let (role, blocks) = Decoder(&canonical_bytes(&entry)).entry();
        prop_assert_eq!(role, entry.role);
        prop_assert_eq!(blocks, as_told(&entry.blocks));
    }

    #[test]
    fn entries_that_look_different_have_different_bytes(a in any_entry(), b in any_entry()) {
        let same = a.role == b.role && a.blocks == b.blocks;
        prop_assert_eq!(canonical_bytes(&a) == canonical_bytes(&b), same);
        prop_assert_eq!(Digest::ROOT.then(&a) == Digest::ROOT.then(&b), same);
    }

    #[test]
    fn the_order_of_entries_matters(a in any_entry(), b in any_entry()) {
        let same = a.role == b.role && a.blocks == b.blocks;
        let (ab, ba) = (Digest::ROOT.then(&a).then(&b), Digest::ROOT.then(&b).then(&a));
        prop_assert_eq!(ab == ba, same);
        prop_assert_ne!(ab, Digest::ROOT.then(&a));
    }
}
