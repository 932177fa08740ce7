//! Real sessions, from the folder that `CONTEXTENGINE_CORPUS` names.

use super::*;

fn corpus(name: &str) -> Option<Vec<u8>> {
    let Some(folder) = std::env::var_os("CONTEXTENGINE_CORPUS") else {
        println!("skipped: CONTEXTENGINE_CORPUS does not name a folder with real sessions");
        return None;
    };
    Some(std::fs::read(PathBuf::from(folder).join(name)).unwrap())
}

#[test]
fn real_sessions_are_read_without_problems_and_written_back_unchanged() {
    for (name, format) in [
        ("pi-v1-large.jsonl", Format::Pi),
        ("pi-v3-small.jsonl", Format::Pi),
        ("claude-code-small.jsonl", Format::ClaudeCode),
    ] {
        let Some(bytes) = corpus(name) else { return };
        let document = Document::read_bytes(&bytes, None).unwrap();
        assert_eq!(document.format(), format, "{name}");
        assert_eq!(document.problems(), [], "{name}");
        assert_unchanged(&bytes, format);
        println!("{name}: {} entries, {} earlier", document.context().len(), document.earlier());
    }
}

#[test]
fn real_sessions_survive_a_compaction_at_every_user_turn() {
    for name in ["pi-v1-large.jsonl", "pi-v3-small.jsonl", "claude-code-small.jsonl"] {
        let Some(bytes) = corpus(name) else { return };
        let document = Document::read_bytes(&bytes, None).unwrap();
        let old = document.context();
        for at in (1..old.len()).filter(|at| old[*at].kind == EntryKind::User) {
            let mut new = vec![summary("What was done.", &old[..at])];
            new.extend_from_slice(&old[at..]);
            let written = document.write(&new, &FACTS).unwrap();
            let again = Document::read_bytes(&written.bytes, None).unwrap();
            assert_eq!(show(again.context()), show(&new), "{name} at {at}");
        }
    }
}

#[test]
fn real_sessions_become_sessions_of_every_other_format() {
    for name in ["pi-v1-large.jsonl", "pi-v3-small.jsonl", "claude-code-small.jsonl"] {
        let Some(bytes) = corpus(name) else { return };
        let document = Document::read_bytes(&bytes, None).unwrap();
        for to in Format::ALL {
            let written = convert(document.context(), to).unwrap();
            let again = Document::read_bytes(&written.bytes, None).unwrap();
            assert_eq!((again.format(), again.problems()), (to, &[][..]), "{name} to {to}");
            conversion::assert_paired(again.context());
        }
    }
}
