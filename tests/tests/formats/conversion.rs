use super::*;

/// Every call has one result, right behind it, and there are no other results.
pub(super) fn assert_paired(entries: &[Arc<Entry>]) {
    let mut open: Vec<String> = Vec::new();
    for entry in entries {
        if let Some(result) = entry.tool_result() {
            let place = open.iter().position(|id| *id == result.call_id);
            open.remove(place.unwrap_or_else(|| panic!("a result without a call: {}", show_entry(entry))));
        } else {
            assert!(open.is_empty(), "calls without a result: {open:?}");
            open.extend(entry.tool_calls().map(|call| call.id.clone()));
        }
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
}

#[test]
fn every_fixture_becomes_a_session_of_every_format() {
    for name in ["openai-request.json", "pi-v1.jsonl", "pi-v3.jsonl", "claude-code.jsonl"] {
        let document = read(&fixture(name));
        for to in Format::ALL {
            let written = convert(document.context(), to).unwrap();
            assert_eq!(written, convert(document.context(), to).unwrap(), "the same bytes every time");
            let again = read(&written.text());
            assert_eq!((again.format(), again.problems()), (to, &[][..]), "{name} to {to}");
            assert_paired(again.context());
            let words = |entries: &[Arc<Entry>]| {
                let users = entries.iter().filter(|entry| entry.kind == EntryKind::User);
                users.map(|entry| show_entry(entry).replace(" | <input_audio>", "")).collect::<Vec<_>>()
            };
            assert_eq!(words(again.context()), words(document.context()), "{name} to {to}");
        }
    }
}

#[test]
fn a_summary_with_details_stays_a_summary() {
    let entries = [
        Arc::new(Entry::text("s", EntryKind::System, "Be brief.")),
        summary("Much was done.", &[]),
        Arc::new(Entry::text("u", EntryKind::User, "go on")),
        summary("More was done.", &[]),
    ];
    for to in Format::ALL {
        let again = read(&convert(&entries, to).unwrap().text());
        let summaries: Vec<String> =
            again.context().iter().filter(|e| e.kind == EntryKind::Summary).map(|e| show_entry(e)).collect();
        assert_eq!(summaries, ["Summary | Much was done.", "Summary | More was done."], "{to}");
        assert!(show(again.context()).iter().any(|line| line.contains("Be brief.")), "{to}");
    }
}

#[test]
fn calls_and_results_are_made_to_pair() {
    let text = r#"[
{"role":"user","content":"go"},
{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"not json"}},{"id":"d","type":"function","function":{"name":"read","arguments":"{}"}}]},
{"role":"user","content":"wait"},
{"role":"tool","tool_call_id":"c","content":"late"},
{"role":"tool","tool_call_id":"c","content":"twice"},
{"role":"tool","tool_call_id":"nobody","content":"orphan"},
{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"c","content":"second turn"}
]"#;
    let document = read(text);
    for to in Format::ALL {
        let written = convert(document.context(), to).unwrap();
        let again = read(&written.text());
        assert_paired(again.context());
        let results: Vec<String> = again.context().iter().filter_map(|e| Some(e.tool_result()?.text.clone())).collect();
        assert_eq!(results, ["late", "(no result was recorded for this call)", "second turn"], "{to}");
        let remarks = written.remarks.join("\n");
        for what in ["1 call(s) without a result", "2 result(s) left out", "1 result(s) moved", "1 call(s) renamed"] {
            assert!(remarks.contains(what), "{to}: {what} in {remarks}");
        }
        assert_eq!(remarks.contains("arguments that are no JSON object"), to != Format::OpenAiChat, "{to}: {remarks}");
    }
}

#[test]
fn what_a_format_cannot_carry_is_named() {
    let document = read(&fixture("pi-v3.jsonl"));
    let remarks = convert(document.context(), Format::OpenAiChat).unwrap().remarks.join("\n");
    assert!(remarks.contains("2 block(s) of reasoning left out"), "{remarks}");
    assert!(remarks.contains("no longer say that the tool failed"), "{remarks}");
    let remarks = convert(document.context(), Format::ClaudeCode).unwrap().remarks.join("\n");
    assert!(remarks.contains("system messages are notes"), "{remarks}");
}

#[test]
fn claude_code_gets_plain_ids_and_a_user_first() {
    let text = r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"call|1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call|1","content":""}]"#;
    let again = read(&convert(read(text).context(), Format::ClaudeCode).unwrap().text());
    assert_eq!(
        show(again.context()),
        ["Note | (the conversation begins here)", "Assistant | call_1=f({})", "ToolResult | f→call_1 "]
    );
}

#[test]
fn a_branch_summary_and_notes_keep_their_kind() {
    let document = read(&fixture("pi-v3.jsonl"));
    let kinds = |entries: &[Arc<Entry>]| {
        let of =
            |kind| entries.iter().filter(|entry| entry.kind == kind).map(|entry| show_entry(entry)).collect::<Vec<_>>();
        (of(EntryKind::BranchSummary), of(EntryKind::Note))
    };
    for to in [Format::OpenAiChat, Format::Pi] {
        let again = read(&convert(document.context(), to).unwrap().text());
        assert_eq!(kinds(again.context()), kinds(document.context()), "{to}");
    }
    let again = read(&convert(document.context(), Format::ClaudeCode).unwrap().text());
    assert_eq!(kinds(again.context()).0, kinds(document.context()).0);
}

#[test]
fn a_call_that_never_got_an_answer_is_answered_before_the_next_message() {
    let text = r#"[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]"#;
    for to in Format::ALL {
        let again = read(&convert(read(text).context(), to).unwrap().text());
        assert_paired(again.context());
        assert_eq!(again.context().len(), 3, "{to}");
    }
}
