use super::*;

#[test]
fn every_shape_of_a_chat_message_is_read() {
    let document = read(&fixture("openai-request.json"));
    assert_eq!(
        show(document.context()),
        [
            "System pinned | You are a careful engineer.",
            "System pinned | Answer in English.",
            "User | Look at this:  | [image/png AAAA] | <input_audio>",
            r#"Assistant | call_1=read({"path": "a.rs"}) | call_2=read({"path":"b.rs"})"#,
            r"ToolResult | read→call_1 fn a() {}\n",
            "ToolResult | read→call_2 fn b() {}",
            "Assistant | Both are empty. | I will not run them.",
            "User | Now list the folder ü😀.",
            "Assistant | function-ls=ls({})",
            "ToolResult | ls→function-ls a.rs b.rs",
            "Assistant | Two files.",
        ]
    );
    assert_eq!(document.problems(), []);
    assert_eq!(document.record_count(), 11);
    assert_eq!(document.earlier(), 0);
}

#[test]
fn a_compaction_keeps_messages_and_the_rest_of_the_body_byte_for_byte() {
    let text = fixture("openai-request.json");
    let document = read(&text);
    let old = document.context();
    let mut new = old[..2].to_vec();
    new.push(summary("They read two files.", &old[2..7]));
    new.push(note("n", "Mind the budget."));
    new.extend_from_slice(&old[7..]);
    let written = document.write(&new, &FACTS).unwrap();
    let out = written.text();
    assert!(out.starts_with("{\n  \"model\": \"gpt-x\",   \"temperature\": 0.20,\n  \"messages\": [\n{\"role\""));
    assert!(out.ends_with("],\n  \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"read\"}}]\n}\n"));
    assert!(out.contains(",\n{\"role\": \"user\", \"content\": \"Now list the folder \\u00fc\\ud83d\\ude00.\"},\n"));
    assert!(written.remarks[0].contains("details"));
    let again = read(&out);
    assert_eq!(show(again.context()), show(&new));
    assert_eq!(again.context()[1].id, old[1].id, "a kept message keeps its id");
    assert_eq!(again.context()[2].role, Role::User);
}

#[test]
fn a_result_is_shortened_in_place() {
    let document = read(&fixture("openai-request.json"));
    let mut new = document.context().to_vec();
    new[4] = reduced(&new[4], "short \"a\"");
    new[5] = reduced(&new[5], "short b");
    let out = document.write(&new, &FACTS).unwrap();
    let text = out.text();
    assert!(text.contains(r#"{"role": "tool", "tool_call_id": "call_1", "content": "short \"a\""}"#));
    assert!(text.contains(r#""tool_call_id": "call_2", "content": [{"type":"text","text":"short b"}]}"#));
    assert_eq!(show(read(&text).context()), show(&new));
}

#[test]
fn odd_messages_are_kept_and_reported_with_their_line() {
    let text = "[\n{\"role\":\"user\",\"content\":\"hi\"},\n17,\n{\"role\":\"robot\",\"content\":\"beep\"},\n{\"role\":\"user\",\
        \"content\":5},\n{\"role\":\"assistant\",\"tool_calls\":{}},\n{\"role\":\"tool\",\"content\":null},\n{\"role\":\
        \"assistant\",\"reasoning_content\":\"so\",\"content\":[{\"type\":\"new\"}, 3],\"tool_calls\":[{\"type\":\"x\"}]},\n\
        {\"role\":\"user\",\"content\":\"\\ud800 and \\u0000\"}\n]";
    let document = read(text);
    assert_eq!(
        show(document.context()),
        [
            "User | hi",
            "Note | <robot>",
            "User | <content>",
            "Assistant",
            "ToolResult | → ",
            "Assistant | (thinks:so) | <new> | <> | <x>",
            "User | \u{FFFD} and \0",
        ]
    );
    let lines: Vec<u32> = document.problems().iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [3, 4, 5, 6, 7, 8, 8]);
    assert_unchanged(text.as_bytes(), Format::OpenAiChat);
    let out = document.write(&document.context()[1..], &FACTS).unwrap();
    assert_eq!(out.text(), text.replace("{\"role\":\"user\",\"content\":\"hi\"},\n", ""), "17 stays where it stood");
}

#[test]
fn repeated_messages_have_different_ids() {
    let document = read(r#"[{"role":"user","content":"go on"},{"role":"user","content":"go on"}]"#);
    assert_ne!(document.context()[0].id, document.context()[1].id);
}

#[test]
fn an_edit_of_a_message_without_content_gives_it_some() {
    let document = read(r#"[{"role":"tool","tool_call_id":"c"}]"#);
    let new = [reduced(&document.context()[0], "x")];
    let out = document.write(&new, &FACTS).unwrap();
    assert_eq!(out.text(), "[\n{\"content\":\"x\",\"role\":\"tool\",\"tool_call_id\":\"c\"}\n]");
}

#[test]
fn a_context_can_become_empty() {
    let document = read(r#"{"messages":[{"role":"user","content":"hi"}],"n":1}"#);
    assert_eq!(document.write(&[], &FACTS).unwrap().text(), r#"{"messages":[],"n":1}"#);
}
