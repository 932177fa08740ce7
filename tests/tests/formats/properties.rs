use proptest::prelude::*;

use super::*;

/// A message of a generated session: who speaks, and how many calls.
#[derive(Debug, Clone)]
enum Said {
    User(String),
    Assistant(String, Vec<String>),
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{1,20}", "\\PC{1,12}", Just("\"\\\n\u{0}😀\u{2028}".to_owned())]
}

fn session() -> impl Strategy<Value = Vec<Said>> {
    let said = prop_oneof![
        words().prop_map(Said::User),
        (words(), prop::collection::vec(words(), 0..3)).prop_map(|(text, results)| Said::Assistant(text, results)),
    ];
    (words(), prop::collection::vec(said, 0..10)).prop_map(|(first, rest)| {
        let mut all = vec![Said::User(first)];
        all.extend(rest);
        all
    })
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The session in a format, as that format's own program would write it, more or less.
fn written(session: &[Said], format: Format) -> String {
    let mut out = Vec::new();
    let mut calls = 0;
    for said in session {
        match said {
            Said::User(text) => out.push(("user", json(text), Vec::new(), String::new())),
            Said::Assistant(text, results) => {
                let ids: Vec<String> = results
                    .iter()
                    .map(|_| {
                        calls += 1;
                        format!("c{calls}")
                    })
                    .collect();
                out.push(("assistant", json(text), ids.clone(), String::new()));
                for (id, result) in ids.into_iter().zip(results) {
                    out.push(("result", json(result), Vec::new(), id));
                }
            }
        }
    }
    let lines = out.iter().enumerate().map(|(at, (role, text, calls, id))| match format {
        Format::OpenAiChat => {
            let calls: Vec<String> = calls.iter().map(|id| format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#)).collect();
            match *role {
                "result" => format!(r#"{{"role":"tool","tool_call_id":"{id}","content":{text}}}"#),
                "assistant" => format!(r#"{{"role":"assistant","content":{text},"tool_calls":[{}]}}"#, calls.join(", ")),
                role => format!(r#"{{"role":"{role}",  "content":{text}}}"#),
            }
        }
        Format::Pi => {
            let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e{at}\""));
            let calls: String = calls.iter().map(|id| format!(r#",{{"type":"toolCall","id":"{id}","name":"f","arguments":{{}}}}"#)).collect();
            let message = match *role {
                "result" => format!(r#""role":"toolResult","toolCallId":"{id}","toolName":"f","content":[{{"type":"text","text":{text}}}],"isError":false"#),
                "assistant" => format!(r#""role":"assistant","content":[{{"type":"text","text":{text}}}{calls}],"stopReason":"stop""#),
                role => format!(r#""role":"{role}","content":{text}"#),
            };
            format!(r#"{{"type":"message","id":"e{at}","parentId":{parent},"message":{{{message}}}}}"#)
        }
        _ => {
            let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e{at}\""));
            let calls: String = calls.iter().map(|id| format!(r#",{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#)).collect();
            let (kind, content) = match *role {
                "result" => ("user", format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":{text}}}]"#)),
                "assistant" => ("assistant", format!(r#"[{{"type":"text","text":{text}}}{calls}]"#)),
                role => (role, text.clone()),
            };
            format!(r#"{{"parentUuid":{parent},"isSidechain":false,"sessionId":"s","type":"{kind}","message":{{"role":"{kind}","content":{content}}},"uuid":"e{at}"}}"#)
        }
    });
    match format {
        Format::OpenAiChat => format!("[{}]", lines.collect::<Vec<_>>().join(",\n")),
        Format::Pi => {
            format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}\n", lines.collect::<Vec<_>>().join("\n"))
        }
        _ => format!("{}\n", lines.collect::<Vec<_>>().join("\n")),
    }
}

fn formats() -> impl Strategy<Value = Format> {
    prop::sample::select(Format::ALL.to_vec())
}

/// What is asked of each entry of a generated compaction, by index.
fn compacted(old: &[Arc<Entry>], cut: usize, choices: &[u8]) -> Vec<Arc<Entry>> {
    let mut cut = cut % (old.len() + 1);
    // Between a call and its result no host cuts.
    while old.get(cut).is_some_and(|entry| entry.tool_result().is_some()) {
        cut += 1;
    }
    let mut new = vec![summary("A summary.\nWith two lines.", &old[..cut])];
    for (at, entry) in old.iter().enumerate().skip(cut) {
        match choices.get(at).copied().unwrap_or(0) {
            1 if entry.tool_result().is_some() => new.push(reduced(entry, "shortened")),
            2 if entry.tool_result().is_none() && entry.tool_calls().next().is_none() => {}
            _ => new.push(entry.clone()),
        }
    }
    new
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reading_and_writing_changes_no_byte(session in session(), format in formats(), crlf: bool, mark: bool) {
        let mut text = written(&session, format);
        if crlf { text = text.replace('\n', "\r\n"); }
        if mark { text.insert(0, '\u{FEFF}'); }
        prop_assert_eq!(Format::recognise(&text), Ok(format));
        let document = read(&text);
        prop_assert!(document.problems().is_empty());
        let out = document.write(document.context(), &FACTS).unwrap();
        prop_assert_eq!(out.text(), text);
    }

    #[test]
    fn what_is_written_is_read_back(
        session in session(), format in formats(), cut in 0_usize..20, choices in prop::collection::vec(0_u8..3, 40)
    ) {
        let document = read(&written(&session, format));
        let mut new = compacted(document.context(), cut, &choices);
        new.push(note("note", "a note"));
        let out = document.write(&new, &FACTS).unwrap();
        let again = Document::read_bytes(&out.bytes, None).unwrap();
        prop_assert_eq!(show(again.context()), show(&new));
        prop_assert!(again.problems().is_empty(), "{:?}", again.problems());
        // A second compaction covers at least the summary of the first.
        let newer = compacted(again.context(), (cut % again.context().len()).max(1), &choices);
        let out = again.write(&newer, &FACTS).unwrap();
        let third = Document::read_bytes(&out.bytes, None).unwrap();
        prop_assert_eq!(show(third.context()), show(&newer));
        prop_assert!(third.problems().is_empty(), "{:?}", third.problems());
    }

    #[test]
    fn any_session_becomes_one_of_any_format(session in session(), from in formats(), to in formats()) {
        let document = read(&written(&session, from));
        let out = convert(document.context(), to).unwrap();
        let again = Document::read_bytes(&out.bytes, Some(to)).unwrap();
        prop_assert_eq!(show(again.context()), show(document.context()));
    }

    #[test]
    fn garbage_is_never_fatal(bytes in prop::collection::vec(any::<u8>(), 0..300), format in formats()) {
        let _ = Format::recognise(&String::from_utf8_lossy(&bytes));
        if let Ok(document) = Document::read_bytes(&bytes, Some(format)) {
            prop_assert_eq!(document.write(document.context(), &FACTS).unwrap().bytes, bytes);
        }
    }

    #[test]
    fn a_damaged_session_is_never_fatal(
        session in session(), format in formats(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in 0_usize..20
    ) {
        let mut bytes = written(&session, format).into_bytes();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(document) = Document::read_bytes(&bytes, Some(format)) {
            prop_assert_eq!(&document.write(document.context(), &FACTS).unwrap().bytes, &bytes);
            let new = compacted(document.context(), cut, &[]);
            if let Ok(out) = document.write(&new, &FACTS) {
                let again = Document::read_bytes(&out.bytes, Some(format)).unwrap();
                prop_assert_eq!(again.context().iter().filter(|e| e.kind == EntryKind::Summary).count(), 1);
            }
            for to in Format::ALL {
                let out = convert(document.context(), to).unwrap();
                prop_assert!(out.bytes.is_empty() || Document::read_bytes(&out.bytes, Some(to)).is_ok());
            }
        }
    }
}
