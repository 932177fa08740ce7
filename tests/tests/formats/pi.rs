use super::*;

fn v3() -> Document {
    read(&fixture("pi-v3.jsonl"))
}

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-09-20T10:00:00.000Z","cwd":"/"}"#;

/// A session of version 3 in which every message follows the one before.
fn linear(messages: &[(&str, &str)]) -> String {
    let mut text = format!("{HEADER}\n");
    for (index, (id, body)) in messages.iter().enumerate() {
        let parent = index.checked_sub(1).map_or("null".to_owned(), |before| format!("\"{}\"", messages[before].0));
        text.push_str(&format!("{{\"id\":\"{id}\",\"parentId\":{parent},{body}}}\n"));
    }
    text
}

fn user(text: &str) -> String {
    format!(r#""type":"message","message":{{"role":"user","content":"{text}"}}"#)
}

fn assistant(text: &str) -> String {
    format!(
        r#""type":"message","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"stopReason":"stop"}}"#
    )
}

fn compaction(summary: &str, first_kept: &str) -> String {
    format!(r#""type":"compaction","summary":"{summary}","firstKeptEntryId":"{first_kept}","tokensBefore":7"#)
}

fn lines_added(document: &Document, new: &[Arc<Entry>], before: &str) -> Vec<String> {
    let written = document.write(new, &FACTS).unwrap();
    let text = written.text().into_owned();
    let added = text.strip_prefix(before).unwrap_or_else(|| panic!("the file changed:\n{text}"));
    added.lines().map(str::to_owned).collect()
}

#[test]
fn the_context_of_a_tree_with_edits_is_what_pi_shows() {
    let document = v3();
    assert_eq!(
        show(document.context()),
        [
            "System pinned | You are Pi. | none | gone soon | <toolsAdded>",
            "User | look at the picture | [image/png AAAA]",
            r#"Assistant | (thinks:hm) | (signed:) | c1=read({"path": "a"}) | c2=read({})"#,
            "ToolResult | read→c1 shortened",
            "ToolResult | read→c2 FAILED no such file",
            "BranchSummary | The branch led nowhere.",
            r"Note | Ran `ls`\n```\na b\n```\n\nCommand exited with code 2\n\n[Output truncated. Full output: /tmp/out]",
            "System pinned | Be brief. | <toolsRemoved>",
            "Note | the plan",
            "User | go on",
            "Assistant | done",
        ]
    );
    assert_eq!(document.problems(), []);
    assert_eq!(document.record_count(), 18);
    assert!(document.context()[3].is_edited());
    assert_eq!(show(&document.context()[3].replaces), [r"ToolResult | read→c1 one\ntwo"]);
    assert_eq!(document.earlier(), 1, "the message on the other branch");
    assert_eq!(document.context()[1].at, Some(Timestamp(1_789_898_402_000)));
}

#[test]
fn version_1_counts_lines_that_can_be_read() {
    let document = read(&fixture("pi-v1.jsonl"));
    assert_eq!(
        show(document.context()),
        [
            "Summary | The first request was answered.",
            "User | second request",
            r#"Assistant | c1=read({"path":"x"})"#,
            "ToolResult | read→c1 x holds 1",
            "User | third request",
            "Assistant | third answer",
        ]
    );
    assert_eq!(document.context()[1].id.as_str(), "line-5");
    assert_eq!(document.context()[0].compaction.as_ref().unwrap().tokens_before, 1000);
    let broken = fixture("pi-v1.jsonl").replacen("\n{\"type\":\"thinking", "\n{broken\nnull\n{\"type\":\"thinking", 1);
    let with_broken = read(&broken);
    assert_eq!(show(with_broken.context()), show(document.context()), "broken lines and null have no index");
    assert_eq!(with_broken.problems().iter().map(|problem| problem.line).collect::<Vec<_>>(), [4, 5]);
}

#[test]
fn a_compaction_is_appended_as_pi_records_it() {
    let before = fixture("pi-v3.jsonl");
    let document = read(&before);
    let old = document.context();
    let mut new = vec![old[0].clone(), old[7].clone(), summary("Files were read.", &old[1..7])];
    new.extend_from_slice(&old[8..]);
    let added = lines_added(&document, &new, &before);
    assert_eq!(added.len(), 1);
    let id = added[0].strip_prefix(r#"{"type":"compaction","id":""#).unwrap()[..8].to_owned();
    assert_eq!(
        added[0],
        format!(
            concat!(
                r#"{{"type":"compaction","id":"{}","parentId":"00000011","timestamp":"2027-01-15T08:00:00.123Z","#,
                r#""summary":"Files were read.","firstKeptEntryId":"0000000b","tokensBefore":9000,"#,
                r#""details":{{   "readFiles": ["a"],   "n": 1.50 }},"systemMessage":{{"role":"system","#,
                r#""content":"You are Pi.\n\nBe brief.","sections":{{"skills":"none"}},"#,
                r#""toolsAdded":[{{"name":"read","description":"reads"}}],"timestamp":1800000000123}}}}"#
            ),
            id
        )
    );
    let again = read(&document.write(&new, &FACTS).unwrap().text());
    assert_eq!(
        show(again.context()),
        [
            "System pinned | You are Pi.\\n\\nBe brief. | none | <toolsAdded>",
            "Summary | Files were read.",
            "Note | the plan",
            "User | go on",
            "Assistant | done",
        ]
    );
    let known = again.context()[1].compaction.clone().unwrap();
    assert_eq!((known.tokens_before, known.plugin.as_str()), (9000, ""));
    assert!(known.details.unwrap().contains("1.50"));
}

#[test]
fn version_1_gets_an_index_and_a_missing_last_line_end() {
    let before = fixture("pi-v1.jsonl");
    let before = before.trim_end();
    let document = read(before);
    let old = document.context();
    let new = [summary("All so far.", &old[..4]), old[4].clone(), old[5].clone()];
    let added = lines_added(&document, &new, &format!("{before}\n"));
    assert_eq!(added.len(), 1);
    assert!(added[0].starts_with(r#"{"type":"compaction","timestamp":"2027-01-15T08:00:00.123Z","summary":"All so far.","firstKeptEntryIndex":9,"tokensBefore":9000"#), "{}", added[0]);
    let again = read(&document.write(&new, &FACTS).unwrap().text());
    assert_eq!(show(again.context()), show(&new));
    let nothing_kept = [summary("All.", old)];
    let added = lines_added(&document, &nothing_kept, &format!("{before}\n"));
    assert!(added[0].contains(r#""firstKeptEntryIndex":11,"#), "the index after the last: {}", added[0]);
    let again = read(&document.write(&nothing_kept, &FACTS).unwrap().text());
    assert_eq!(show(again.context()), ["Summary | All."]);
}

#[test]
fn keeping_nothing_is_said_with_the_own_id() {
    let document = v3();
    let new = [document.context()[0].clone(), summary("All.", document.context())];
    let added = lines_added(&document, &new, &fixture("pi-v3.jsonl"));
    let id = &added[0][r#"{"type":"compaction","id":""#.len()..][..8];
    assert!(added[0].contains(&format!(r#""firstKeptEntryId":"{id}""#)));
    let again = read(&document.write(&new, &FACTS).unwrap().text());
    assert_eq!(again.context().len(), 2);
    assert_eq!(again.earlier(), 15, "every message and the branch summary");
}

#[test]
fn a_request_kept_ahead_is_carried_at_the_end_of_the_summary() {
    let text = linear(&[
        ("u1", &user("the long request")),
        ("a1", &assistant("step 1")),
        ("a2", &assistant("step 2")),
        ("a3", &assistant("step 3")),
    ]);
    let document = read(&text);
    let old = document.context();
    let new = [old[0].clone(), summary("Steps 1 and 2 are done.", &old[1..3]), old[3].clone()];
    let written = document.write(&new, &FACTS).unwrap();
    assert!(written.remarks.iter().any(|remark| remark.contains("## Kept verbatim")), "{:?}", written.remarks);
    assert_eq!(
        show(read(&written.text()).context()),
        [r"Summary | Steps 1 and 2 are done.\n\n## Kept verbatim\n\nthe long request", "Assistant | step 3"]
    );
}

#[test]
fn other_entries_kept_ahead_stay_and_edits_take_out_what_lies_between() {
    let document = v3();
    let old = document.context();
    // Kept: the system messages, the picture, the two calls with one result shortened again, and the last answer.
    let mut new = vec![old[0].clone(), old[1].clone(), old[2].clone(), reduced(&old[3], "tiny"), old[4].clone()];
    new.extend([old[7].clone(), summary("The rest.", &old[5..10]), old[10].clone()]);
    let added = lines_added(&document, &new, &fixture("pi-v3.jsonl"));
    let targets: Vec<&str> =
        added[1..].iter().map(|line| line.split("\"targetId\":").nth(1).unwrap().trim_end_matches('}')).collect();
    assert_eq!(
        targets,
        [
            r#""00000004","replacement":{"content":[{"type":"text","text":"tiny"}]"#,
            r#""00000006","replacement":null"#,
            r#""00000007","replacement":null"#,
            r#""0000000b","replacement":null"#,
            r#""0000000e","replacement":null"#,
        ]
    );
    for pair in added.windows(2) {
        let id = pair[0].split("\"id\":\"").nth(1).unwrap();
        assert!(pair[1].contains(&format!(r#""parentId":"{}""#, &id[..8])), "a chain: {}", pair[1]);
    }
    let again = read(&document.write(&new, &FACTS).unwrap().text());
    assert_eq!(
        show(&again.context()[1..]),
        [
            "Summary | The rest.",
            "User | look at the picture | [image/png AAAA]",
            r#"Assistant | (thinks:hm) | (signed:) | c1=read({"path": "a"}) | c2=read({})"#,
            "ToolResult | read→c1 tiny",
            "ToolResult | read→c2 FAILED no such file",
            "Assistant | done",
        ]
    );
    assert_eq!(again.problems(), []);
}

#[test]
fn edits_alone_append_no_compaction() {
    let document = v3();
    let mut new = document.context().to_vec();
    new[4] = reduced(&new[4], "gone");
    new.remove(8);
    new.push(note("n", "Mind the budget."));
    let added = lines_added(&document, &new, &fixture("pi-v3.jsonl"));
    assert_eq!(added.iter().filter(|line| line.contains("\"context_edit\"")).count(), 2);
    assert!(added[2].starts_with(
        r#"{"type":"custom_message","customType":"contextengine","content":"Mind the budget.","display":true,"id":""#
    ));
    let again = read(&document.write(&new, &FACTS).unwrap().text());
    assert_eq!(show(again.context()), show(&new));
}

#[test]
fn version_1_says_what_it_cannot() {
    let document = read(&fixture("pi-v1.jsonl"));
    let old = document.context();
    let refused = |new: &[Arc<Entry>]| document.write(new, &FACTS).unwrap_err().to_string();
    let mut new = old.to_vec();
    new[3] = reduced(&new[3], "short");
    assert!(refused(&new).contains("version 1 and 2 cannot leave out or change"));
    new[0] = summary("S", &old[..1]);
    assert!(refused(&new).contains("cannot"));
    assert!(refused(&old[1..]).contains("only go when a new one takes its place"));
    let ahead = [old[2].clone(), old[3].clone(), summary("S", &old[4..5]), old[5].clone()];
    assert!(refused(&ahead).contains("only keep the end"));
    assert!(refused(&[summary("S", old), note("n", "x")]).contains("no notes"));
}

#[test]
fn a_second_compaction_covers_the_first_and_its_tail() {
    let text = linear(&[
        ("u1", &user("one")),
        ("a1", &assistant("two")),
        ("u2", &user("three")),
        ("a2", &assistant("four")),
        ("c1", &compaction("first", "u2")),
        ("u4", &user("five")),
        ("a4", &assistant("six")),
    ]);
    let document = read(&text);
    assert_eq!(
        show(document.context()),
        ["Summary | first", "User | three", "Assistant | four", "User | five", "Assistant | six"]
    );
    let old = document.context();
    // From inside the tail of the first compaction, so its own record lies in the range that is kept.
    let new = [summary("second", &old[..2]), old[2].clone(), old[3].clone(), old[4].clone()];
    let again = read(&document.write(&new, &FACTS).unwrap().text());
    assert_eq!(show(again.context()), show(&new));
    assert_eq!(again.earlier(), 3);
    let both = [old[0].clone(), summary("second", &old[1..3]), old[3].clone(), old[4].clone()];
    let written = document.write(&both, &FACTS).unwrap();
    assert!(written.remarks[0].contains("2 summaries become one"));
    assert_eq!(show(&read(&written.text()).context()[..1]), [r"Summary | first\n\nsecond"]);
}

#[test]
fn an_unknown_first_kept_id_keeps_nothing() {
    for first in ["", "nowhere", "c1", "late"] {
        let text = linear(&[("u1", &user("one")), ("c1", &compaction("S", first)), ("late", &user("two"))]);
        assert_eq!(show(read(&text).context()), ["Summary | S", "User | two"], "{first:?}");
    }
}

#[test]
fn the_path_ends_at_a_missing_parent_and_at_a_cycle() {
    let message = user("x");
    let missing = format!(
        "{HEADER}\n{{\"id\":\"a\",\"parentId\":null,{message}}}\n{{\"id\":\"b\",\"parentId\":\"gone\",{message}}}\n"
    );
    let document = read(&missing);
    assert_eq!((document.context().len(), document.earlier()), (1, 1));
    assert!(document.problems()[0].reason.contains("`gone`"));
    let cycle = format!(
        "{HEADER}\n{{\"id\":\"a\",\"parentId\":\"b\",{message}}}\n{{\"id\":\"b\",\"parentId\":\"a\",{message}}}\n"
    );
    let document = read(&cycle);
    assert_eq!(document.context().len(), 2);
    assert!(document.problems()[0].reason.contains("descends from it"));
}

#[test]
fn lines_that_cannot_be_read_are_reported_and_stay() {
    let message = user("x");
    let deep = format!(
        "{{\"type\":\"custom\",\"id\":\"d\",\"parentId\":\"a\",\"data\":{}{}}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let text = format!(
        "{HEADER}\r\n{{\"id\":\"a\",\"parentId\":null,{message}}}\r\n{{\"type\":\"mess\r\n[1]\r\n{{\"type\":\"message\"}}\r\n\
         {{\"type\":\"novel\",\"id\":\"n\",\"parentId\":\"a\"}}\r\n{{\"id\":\"a\",\"parentId\":null,{message}}}\r\n{deep}\r\n\
         {{\"type\":\"message\",\"id\":\"e\",\"parentId\":\"d\"}}\r\n\0\0\0"
    );
    let document = read(&text);
    assert_eq!(show(document.context()), ["User | x"]);
    let lines: Vec<u32> = document.problems().iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [3, 4, 5, 6, 7, 9, 10]);
    assert_unchanged(text.as_bytes(), Format::Pi);
    let added = lines_added(&document, &[summary("S", document.context())], &format!("{text}\r\n"));
    assert!(added[0].contains(r#""parentId":"e""#), "the last line that is an entry is the leaf: {}", added[0]);
}

#[test]
fn a_header_alone_can_take_a_compaction() {
    let document = read(HEADER);
    assert_eq!(document.context(), []);
    let added = lines_added(&document, &[summary("S", &[])], &format!("{HEADER}\n"));
    assert!(added[0].contains(r#""parentId":null"#));
}

#[test]
fn version_2_has_ids_and_notes_but_no_edits() {
    let text = format!(
        "{}\n{{\"id\":\"a\",\"parentId\":null,{}}}\n{{\"id\":\"b\",\"parentId\":\"a\",\"type\":\"message\",\
         \"message\":{{\"role\":\"hookMessage\",\"content\":\"hooked\"}}}}\n{{\"id\":\"c\",\"parentId\":\"b\",{}}}\n",
        HEADER.replace("\"version\":3", "\"version\":2"),
        user("one"),
        assistant("two")
    );
    let document = read(&text);
    let old = document.context();
    assert_eq!(show(old), ["User | one", "Note | hooked", "Assistant | two"]);
    let new = [summary("S", &old[..1]), old[1].clone(), old[2].clone(), note("n", "Mind the budget.")];
    let added = lines_added(&document, &new, &text);
    assert!(added[0].contains(r#""firstKeptEntryId":"b""#), "{}", added[0]);
    let again = read(&document.write(&new, &FACTS).unwrap().text());
    assert_eq!(show(again.context()), show(&new));
    let error = document.write(&[old[0].clone(), old[2].clone()], &FACTS).unwrap_err();
    assert!(matches!(error, FormatError::Inexpressible { format: Format::Pi, .. }), "{error}");
}

#[test]
fn a_label_or_a_model_change_ahead_of_the_tail_is_not_what_is_pointed_at() {
    let text = linear(&[
        ("u1", &user("one")),
        ("l1", r#""type":"label","targetId":"u1","label":"x""#),
        ("m1", r#""type":"model_change","provider":"p","modelId":"m""#),
        ("u2", &user("two")),
        ("l2", r#""type":"label","targetId":"u2","label":"y""#),
    ]);
    let document = read(&text);
    let old = document.context();
    let added = lines_added(&document, &[summary("S", &old[..1]), old[1].clone()], &text);
    assert!(added[0].contains(r#""parentId":"l2""#) && added[0].contains(r#""firstKeptEntryId":"u2""#), "{}", added[0]);
}

#[test]
fn a_request_with_an_image_kept_ahead_stays_a_message() {
    let document = v3();
    let old = document.context();
    let new = [old[0].clone(), old[1].clone(), old[7].clone(), summary("S", &old[2..10]), old[10].clone()];
    let again = read(&document.write(&new, &FACTS).unwrap().text());
    assert_eq!(
        show(&again.context()[1..]),
        ["Summary | S", "User | look at the picture | [image/png AAAA]", "Assistant | done"]
    );
}

#[test]
fn details_that_are_not_json_are_left_out_with_a_remark() {
    let document = v3();
    let mut broken = Entry::clone(&summary("S", document.context()));
    broken.compaction.as_mut().unwrap().details = Some("{oops".to_owned());
    let written = document.write(&[Arc::new(broken)], &FACTS).unwrap();
    assert!(written.remarks.iter().any(|remark| remark.contains("not JSON")), "{:?}", written.remarks);
    assert!(written.remarks.iter().any(|remark| remark.contains("system messages stay")), "{:?}", written.remarks);
    assert_eq!(read(&written.text()).problems(), []);
}
