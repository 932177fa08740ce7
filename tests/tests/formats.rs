//! Sessions in and out: what is read from files as agents write them, and that what is written is read back.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contextengine::format::{Document, Format, FormatError, WriteFacts, convert};
use contextengine::transcript::{Block, Compaction, Entry, EntryKind, ImageSource, Role, Timestamp};

#[path = "formats/claude.rs"]
mod claude;
#[path = "formats/conversion.rs"]
mod conversion;
#[path = "formats/corpus.rs"]
mod corpus;
#[path = "formats/openai.rs"]
mod openai;
#[path = "formats/pi.rs"]
mod pi;
#[path = "formats/properties.rs"]
mod properties;

const FACTS: WriteFacts = WriteFacts { now: Timestamp(1_800_000_000_123), tokens_before: 9_000, tokens_after: 800 };

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/formats").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn read(text: &str) -> Document {
    Document::read(text, None).unwrap()
}

/// One line an entry: its kind, what is special about it, and its blocks.
fn show(entries: &[Arc<Entry>]) -> Vec<String> {
    entries.iter().map(|entry| show_entry(entry)).collect()
}

fn show_entry(entry: &Entry) -> String {
    let mut line = format!("{:?}", entry.kind);
    if entry.pinned {
        line.push_str(" pinned");
    }
    for block in &entry.blocks {
        line.push_str(" | ");
        line.push_str(&match block {
            Block::Text(text) => text.replace('\n', "\\n"),
            Block::Reasoning(reasoning) => {
                format!("({}{})", if reasoning.signed { "signed:" } else { "thinks:" }, reasoning.text)
            }
            Block::ToolCall(call) => format!("{}={}({})", call.id, call.name, call.arguments),
            Block::ToolResult(result) => format!(
                "{}→{} {}{}",
                result.name,
                result.call_id,
                if result.failed { "FAILED " } else { "" },
                result.text.replace('\n', "\\n")
            ),
            Block::Image(image) => match &image.source {
                ImageSource::Base64(data) => format!("[{} {data}]", image.media_type),
                source => format!("[{source:?}]"),
            },
            Block::Opaque(opaque) => format!("<{}>", opaque.type_name),
            other => format!("{other:?}"),
        });
    }
    line
}

fn summary(text: &str, covered: &[Arc<Entry>]) -> Arc<Entry> {
    let mut entry = Entry::text("new-summary", EntryKind::Summary, text);
    entry.replaces = covered.to_vec();
    entry.compaction = Some(Box::new(Compaction {
        plugin: "test-plugin".to_owned(),
        details: Some("{\n  \"readFiles\": [\"a\"],\n  \"n\": 1.50\n}".to_owned()),
        tokens_before: FACTS.tokens_before,
        tokens_after: FACTS.tokens_after,
    }));
    Arc::new(entry)
}

fn note(id: &str, text: &str) -> Arc<Entry> {
    Arc::new(Entry::text(id, EntryKind::Note, text))
}

/// The entry with another text of its result.
fn reduced(entry: &Arc<Entry>, text: &str) -> Arc<Entry> {
    let mut edited = Entry::clone(entry);
    edited.replaces = vec![entry.clone()];
    for block in &mut edited.blocks {
        if let Block::ToolResult(result) = block {
            text.clone_into(&mut result.text);
        }
    }
    Arc::new(edited)
}

fn assert_unchanged(bytes: &[u8], format: Format) {
    let document = Document::read_bytes(bytes, Some(format)).unwrap();
    let written = document.write(document.context(), &FACTS).unwrap();
    assert!(written.bytes == bytes, "{format}: writing what was read changed the file");
    assert!(written.remarks.is_empty());
}

#[test]
fn the_format_is_known_by_the_content_alone() {
    for (name, format) in [
        ("openai-request.json", Format::OpenAiChat),
        ("pi-v1.jsonl", Format::Pi),
        ("pi-v3.jsonl", Format::Pi),
        ("claude-code.jsonl", Format::ClaudeCode),
    ] {
        let text = fixture(name);
        assert_eq!(Format::recognise(&text), Ok(format), "{name}");
        assert_eq!(Format::recognise(&format!("\u{FEFF}\n  \n{text}")), Ok(format), "{name} after a mark and blanks");
        if format != Format::OpenAiChat {
            assert_eq!(Format::recognise(&format!("{{\"broken\": \n{text}")), Ok(format), "{name} after a broken line");
        }
        assert_unchanged(text.as_bytes(), format);
    }
    assert_eq!(Format::recognise("[]"), Ok(Format::OpenAiChat));
    assert_eq!(Format::recognise(r#"[{"role":"user","content":"hi"}]"#), Ok(Format::OpenAiChat));
}

#[test]
fn what_is_no_session_is_refused_with_what_was_seen() {
    for (text, seen) in [
        ("", "empty"),
        ("  \n", "empty"),
        ("# notes\nhello", "not JSON"),
        ("{\"a\":1}\n{\"b\":2}", "none that a known format begins with"),
        ("[1,2]", "no `role`"),
        ("[{\"role\":", "not one JSON list"),
        ("{\n\"messages\": [", "broken"),
    ] {
        let error = Format::recognise(text).unwrap_err();
        assert!(error.to_string().contains(seen), "{text:?}: {error}");
    }
    let error = Document::read("{\"type\":\"message\"}", Some(Format::Pi)).unwrap_err();
    assert!(matches!(error, FormatError::Malformed { format: Format::Pi, line: 1, .. }), "{error}");
    let error = Document::read("{\n\"messages\": [}", Some(Format::OpenAiChat)).unwrap_err();
    assert!(matches!(error, FormatError::Malformed { line: 2, .. }), "{error}");
}

#[test]
fn line_ends_and_marks_and_invalid_bytes_come_back() {
    for name in ["pi-v3.jsonl", "claude-code.jsonl", "openai-request.json"] {
        let text = fixture(name);
        let format = Format::recognise(&text).unwrap();
        assert_unchanged(text.replace('\n', "\r\n").as_bytes(), format);
        assert_unchanged(format!("\u{FEFF}{text}").as_bytes(), format);
        assert_unchanged(text.trim_end().as_bytes(), format);
        let mut bytes = text.into_bytes();
        let at =
            bytes.windows(4).position(|window| window == b"fn a" || window == b"go o" || window == b"read").unwrap();
        bytes.splice(at..at + 1, *b"\xFF\xC3");
        let document = Document::read_bytes(&bytes, None).unwrap();
        assert!(document.problems().iter().any(|problem| problem.reason.contains("UTF-8")), "{name}");
        assert_unchanged(&bytes, format);
    }
}

#[test]
fn an_entry_of_another_session_or_out_of_order_is_refused() {
    let document = read(&fixture("pi-v3.jsonl"));
    let other = read(&fixture("claude-code.jsonl"));
    let refused = |entries: &[Arc<Entry>]| document.write(entries, &FACTS).unwrap_err().to_string();
    assert!(refused(&other.context()[..1]).contains("not in the context"));
    let mut swapped = document.context().to_vec();
    swapped.swap(1, 2);
    assert!(refused(&swapped).contains("twice, or before"));
    let mut forged = Entry::clone(&document.context()[1]);
    forged.blocks = vec![Block::Text("something else".to_owned())];
    assert!(refused(&[Arc::new(forged)]).contains("does not say what it replaces"));
    let new = Arc::new(Entry::text("x", EntryKind::User, "invented"));
    assert!(refused(&[new]).contains("neither a summary nor a note"));
}

#[test]
fn a_note_is_never_read_as_a_request_whatever_its_role() {
    for name in ["openai-request.json", "pi-v3.jsonl", "claude-code.jsonl"] {
        let document = read(&fixture(name));
        let mut new = document.context().to_vec();
        for role in [Role::User, Role::System, Role::Assistant] {
            let mut entry = Entry::text(format!("{role:?}"), EntryKind::Note, format!("as {role:?}"));
            entry.role = role;
            new.push(Arc::new(entry));
        }
        let written = document.write(&new, &FACTS).unwrap();
        let again = read(&written.text());
        assert_eq!(show(again.context()), show(&new), "{name}");
        let roles: Vec<Role> = again.context()[again.context().len() - 3..].iter().map(|entry| entry.role).collect();
        if document.format() == Format::OpenAiChat {
            assert_eq!(roles, [Role::User, Role::System, Role::Assistant]);
        } else {
            assert_eq!(roles, [Role::User; 3], "{name}");
            assert_eq!(written.remarks.len(), 2, "{:?}", written.remarks);
        }
    }
}

#[test]
fn a_very_long_line_and_deep_nesting_are_read() {
    let long = "x".repeat(8 << 20);
    let deep = format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
    let text = format!(
        "[{{\"role\":\"user\",\"content\":\"{long}\"}},{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c\",\
         \"function\":{{\"name\":\"f\",\"arguments\":{deep}}}}}]}}]"
    );
    let document = read(&text);
    assert_eq!(document.problems(), []);
    assert_eq!(document.context()[1].tool_calls().next().unwrap().arguments.len(), deep.len());
    assert_unchanged(text.as_bytes(), Format::OpenAiChat);
    for to in Format::ALL {
        assert!(!convert(document.context(), to).unwrap().bytes.is_empty());
    }
}
