use super::*;

fn document() -> Document {
    read(&fixture("claude-code.jsonl"))
}

fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let rest = line.split(&format!("\"{name}\":\"")).nth(1).unwrap_or_else(|| panic!("no {name} in {line}"));
    rest.split('"').next().unwrap()
}

#[test]
fn the_context_follows_the_last_boundary_in_file_order() {
    let document = document();
    assert_eq!(
        show(document.context()),
        [
            "Summary | This session is being continued from a previous conversation.",
            "Note | Caveat: local commands follow.",
            r"Note | <command-name>/model</command-name>\n<command-args></command-args>",
            "User | read both files",
            r#"Assistant | (signed:I read them in parallel.) | Reading. | toolu_1=Read({"file_path":"a"}) | toolu_2=Read({"file_path":"b"})"#,
            "ToolResult | Read→toolu_1 a holds 1",
            "ToolResult | Read→toolu_2 FAILED no such file",
            r#"Assistant | toolu_3=Bash({"command":"ls"}) | toolu_4=Bash({"command":"pwd"})"#,
            "ToolResult | Bash→toolu_3 a b",
            "ToolResult | Bash→toolu_4 /home/dev/app",
            "User | and hurry up | [image/png AAAA]",
            "Assistant | Done.",
        ]
    );
    assert_eq!(document.problems(), []);
    assert_eq!(document.earlier(), 2);
    assert_eq!(document.record_count(), 21);
    assert_eq!(document.context()[4].source.len(), 4);
    assert_eq!(document.context()[9].source[0].blocks, Some(1..2));
    assert_eq!(document.context()[0].compaction.as_ref().unwrap().tokens_before, 155_250);
}

#[test]
fn a_compaction_puts_a_boundary_and_a_summary_ahead_of_what_is_kept() {
    let before = fixture("claude-code.jsonl");
    let document = document();
    let old = document.context();
    let mut new = vec![summary("Both files were read.", &old[..7])];
    new.extend_from_slice(&old[7..]);
    let written = document.write(&new, &FACTS).unwrap();
    let out = written.text().into_owned();
    let lines: Vec<&str> = out.lines().collect();
    let [boundary, anchor] = [lines[0], lines[1]];
    assert!(boundary.starts_with(r#"{"parentUuid":null,"logicalParentUuid":"a7","isSidechain":false,"userType":"external","cwd":"/home/dev/app","sessionId":"s-1","version":"2.1.7","gitBranch":"main","type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"timestamp":"2027-01-15T08:00:00.123Z","uuid":""#), "{boundary}");
    let uuid = field(anchor, "uuid");
    assert!(boundary.contains(&format!(
        r#""compactMetadata":{{"trigger":"manual","preTokens":9000,"postTokens":800,"preservedMessages":{{"anchorUuid":"{uuid}","uuids":["a5","a6","r3","a7"]}},"contextengine":{{"plugin":"test-plugin","details":"#
    )));
    assert!(anchor.starts_with(&format!(r#"{{"parentUuid":"{}""#, field(boundary, "uuid"))));
    assert!(anchor.contains(r#""isVisibleInTranscriptOnly":true,"isCompactSummary":true"#));
    // Kept lines are the old ones, but for parents that are gone.
    for line in &lines[2..] {
        let original = before.lines().find(|old| {
            old.split("\"isSidechain\"").nth(1).unwrap_or(old) == line.split("\"isSidechain\"").nth(1).unwrap_or(line)
        });
        assert!(original.is_some(), "not a line of the file: {line}");
    }
    assert!(written.remarks.iter().any(|remark| remark.starts_with("2 lines ahead of the last compaction")));
    let again = read(&out);
    assert_eq!(show(again.context()), show(&new));
    assert_eq!(again.problems(), []);
    let known = again.context()[0].compaction.clone().unwrap();
    assert_eq!((known.plugin.as_str(), known.tokens_before, known.tokens_after), ("test-plugin", 9000, 800));
    assert_eq!(again.earlier(), 0);
}

/// Every message of the output can be reached by `parentUuid` from some line, and every walk ends at the boundary.
fn assert_walks_end_at_the_boundary(out: &str) {
    let lines: Vec<&str> = out.lines().filter(|line| line.starts_with("{\"parentUuid\"")).collect();
    let find = |uuid: &str| lines.iter().find(|line| field(line, "uuid") == uuid).copied();
    for line in lines.iter().filter(|line| !line.contains("\"isSidechain\":true")) {
        let mut at = *line;
        let mut steps = 0;
        while !at.starts_with("{\"parentUuid\":null") {
            let parent = field(at, "parentUuid");
            at = find(parent).unwrap_or_else(|| panic!("{parent} is not in the file"));
            steps += 1;
            assert!(steps < 100);
        }
        assert!(at.contains("compact_boundary"), "a walk ends at {at}");
    }
}

#[test]
fn a_walk_by_parents_ends_at_the_boundary() {
    let document = document();
    let old = document.context();
    for from in (1..old.len()).filter(|from| old[*from].tool_result().is_none()) {
        let mut new = vec![summary("S", &old[..from])];
        new.extend_from_slice(&old[from..]);
        assert_walks_end_at_the_boundary(&document.write(&new, &FACTS).unwrap().text());
        let mut ahead = vec![old[3].clone(), summary("S", &old[..from])];
        ahead.extend_from_slice(&old[from.max(4)..]);
        let written = document.write(&ahead, &FACTS).unwrap();
        assert_walks_end_at_the_boundary(&written.text());
        assert!(written.remarks.iter().any(|remark| remark.contains("comes after it")));
        ahead.swap(0, 1);
        assert_eq!(show(read(&written.text()).context()), show(&ahead));
    }
}

#[test]
fn a_session_without_a_boundary_gets_one() {
    let text = fixture("claude-code.jsonl");
    let first: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    let document = read(&first);
    let old = document.context();
    let new = [old[0].clone(), summary("S", &old[1..])];
    let written = document.write(&new, &FACTS).unwrap();
    assert_walks_end_at_the_boundary(&written.text());
    assert_eq!(show(read(&written.text()).context()), ["Summary | S", "User | an old request"]);
}

#[test]
fn results_are_shortened_and_parts_of_a_line_left_out_in_place() {
    let document = document();
    let old = document.context();
    let mut new = old.to_vec();
    new[5] = reduced(&new[5], "a: 1");
    new[8] = reduced(&new[8], "(list)");
    new.remove(9);
    let written = document.write(&new, &FACTS).unwrap();
    let out = written.text();
    assert!(
        out.contains(r#""content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"a: 1"}]},"uuid":"r1""#)
    );
    assert!(out.contains(r#""content":[{"type":"tool_result","tool_use_id":"toolu_3","content":[{"type":"text","text":"(list)"}]},{"type":"text","text":"and hurry up"},{"type":"image","source""#), "{out}");
    assert_eq!(out.lines().count(), 21, "no line is lost");
    assert_eq!(show(read(&out).context()), show(&new));
    assert!(written.remarks.is_empty());
}

#[test]
fn dropped_messages_leave_no_dangling_parent() {
    let document = document();
    let mut new = document.context().to_vec();
    new.drain(4..7);
    let out = document.write(&new, &FACTS).unwrap().text().into_owned();
    assert!(out.contains(r#"{"parentUuid":"u1","isSidechain":false,"userType":"external","cwd":"/home/dev/app","sessionId":"s-1","version":"2.1.7","gitBranch":"main","type":"system","subtype":"stop_hook_summary""#));
    assert!(out.starts_with("{\"parentUuid\":null") && out.lines().count() == 15);
    assert_eq!(show(read(&out).context()), show(&new));
}

#[test]
fn a_kept_summary_keeps_its_boundary_and_later_ones_stand_in_place() {
    let document = document();
    let old = document.context();
    let mut new = vec![old[0].clone(), summary("Later.", &old[1..7]), note("n", "Mind the budget.")];
    new.extend_from_slice(&old[7..]);
    let written = document.write(&new, &FACTS).unwrap();
    assert_eq!(written.text().matches("compact_boundary").count(), 1);
    assert_walks_end_at_the_boundary(&written.text());
    assert_eq!(show(read(&written.text()).context()), show(&new));
}

#[test]
fn preserved_messages_ahead_of_the_boundary_are_seen() {
    let text = fixture("claude-code.jsonl").replace(
        r#""preTokens":155250"#,
        r#""preTokens":155250,"preservedMessages":{"anchorUuid":"s1","uuids":["u0","a0","gone"]}"#,
    );
    let document = read(&text);
    assert_eq!(show(&document.context()[1..3]), ["User | an old request", "Assistant | an old answer"]);
    assert_eq!(document.earlier(), 0);
    let mut new = vec![summary("S", &document.context()[..1])];
    new.extend_from_slice(&document.context()[1..]);
    let written = document.write(&new, &FACTS).unwrap();
    assert_walks_end_at_the_boundary(&written.text());
    assert_eq!(show(read(&written.text()).context()), show(&new));
}

#[test]
fn odd_lines_are_kept_and_reported() {
    let mut text = fixture("claude-code.jsonl");
    text.push_str(
        "{\"type\":\"user\",\"uuid\":\"q\",\"sessionId\":\"s-1\",\"message\":{\"role\":\"user\",\"content\":null}}\n",
    );
    text.push_str(
        "{\"type\":\"user\",\"uuid\":\"q\"}\n{\"type\":\"whatever\"}\n{\"type\":\"whatever\"}\n[]\n{\"type\":\"assis",
    );
    let document = read(&text);
    let lines: Vec<u32> = document.problems().iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [23, 23, 24, 26, 27]);
    assert_eq!(document.context().len(), 13);
    assert_unchanged(text.as_bytes(), Format::ClaudeCode);
    let old = document.context();
    let new = [summary("S", &old[..12]), old[12].clone(), note("n", "the end")];
    let written = document.write(&new, &FACTS).unwrap();
    assert!(written.text().contains("[]\n{\"type\":\"assis\n{"), "a broken last line gets its end");
    assert_eq!(show(read(&written.text()).context()), show(&new));
}
