//! Whatever a session holds and whatever is done to it: a plan that the host accepts renders to a request in which
//! every call has its result and every result its call.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

use std::sync::Arc;

use contextengine::format::{self, Document, Format};
use contextengine::plan::{Dropped, Note, Plan, Rewrite, Rules, Segment, Span, Summary, verify};
use contextengine::tokens::EntryCounter;
use contextengine::transcript::{Block, Entry, EntryKind, Reasoning, Role, ToolCall, ToolResult};
use contextengine::view::{View, ViewOptions};
use contextengine_tests::request::{check_pairing, messages};
use contextengine_tests::{Bytes, cases, layouts};
use proptest::prelude::*;

fn view(entries: Vec<Entry>) -> View {
    let entries = entries.into_iter().enumerate().map(|(at, mut entry)| {
        entry.id = contextengine::transcript::EntryId::new(format!("e{at}"));
        Arc::new(entry)
    });
    View::new(entries.collect(), &EntryCounter::new(Bytes), ViewOptions::default())
}

fn words(kind: EntryKind, text: &str) -> Entry {
    Entry::text("", kind, format!("{text} {}", "more words ".repeat(4)))
}

fn calls(ids: &[&str], signed: bool) -> Entry {
    let mut blocks: Vec<Block> = Vec::new();
    if signed {
        blocks.push(Block::Reasoning(Reasoning { text: "hm".into(), signed: true }));
    }
    blocks.extend(ids.iter().map(|id| {
        Block::ToolCall(ToolCall { id: (*id).into(), name: "read".into(), arguments: r#"{"path":"a.rs"}"#.into() })
    }));
    Entry::new("", EntryKind::Assistant, blocks)
}

fn result(id: &str) -> Entry {
    let text = "what the tool printed ".repeat(5);
    let result = ToolResult { call_id: id.into(), name: "read".into(), text, failed: false };
    Entry::new("", EntryKind::ToolResult, vec![Block::ToolResult(result)])
}

/// Anything, also what no provider would have let happen: orphans, duplicates, calls that were given up.
fn any_entry() -> impl Strategy<Value = Entry> {
    let ids = prop::sample::subsequence(vec!["1", "2", "3"], 0..=3);
    prop_oneof![
        3 => Just(words(EntryKind::User, "please do this")),
        1 => Just(words(EntryKind::Note, "the program says")),
        1 => Just(words(EntryKind::System, "be good")),
        1 => Just(words(EntryKind::Summary, "what was")),
        5 => (ids, any::<bool>()).prop_map(|(ids, signed)| calls(&ids, signed)),
        6 => prop::sample::select(vec!["1", "2", "3", "4"]).prop_map(result),
    ]
}

/// Half of the sessions are well-formed, half are anything.
fn any_session() -> impl Strategy<Value = Vec<Entry>> {
    let well_formed = prop::sample::select(layouts::all(6)).prop_map(|layout| layouts::entries(&layout));
    prop_oneof![well_formed, prop::collection::vec(any_entry(), 0..14)]
}

/// A plan that accounts for everything; most of them fold a beginning, as strategies do.
fn any_plan(len: usize) -> impl Strategy<Value = Plan> {
    let fates = prop::collection::vec(prop::sample::select(vec!['k', 'k', 's', 's', 's', 'd', 'r']), len);
    let fold = (0..=len).prop_map(move |cut| (0..len).map(|at| if at < cut { 's' } else { 'k' }).collect());
    let note = prop::option::of((0usize..8, prop::sample::select(vec![Role::System, Role::User, Role::Assistant])));
    (prop_oneof![2 => fold.boxed(), 1 => fates.boxed()], note).prop_map(|(fates, note): (Vec<char>, _)| {
        let mut segments = segments(&fates);
        if let Some((at, role)) = note {
            let note = Segment::Note(Note { role, text: "mind".into(), source: "tests".into() });
            segments.insert(at.min(segments.len()), note);
        }
        Plan { segments }
    })
}

fn segments(fates: &[char]) -> Vec<Segment> {
    let mut at = 0;
    let mut segments = Vec::new();
    for run in fates.chunk_by(|a, b| a == b && *a != 'r') {
        let span = Span::new(at, at + u32::try_from(run.len()).unwrap());
        segments.push(match run[0] {
            'k' => Segment::Keep(span),
            's' => Segment::Summary(Summary { covers: vec![span], text: "was".into(), details: None }),
            'd' => Segment::Drop(Dropped { range: span, reason: "tests".into() }),
            _ => Segment::Rewrite(Rewrite { at, text: "r".into(), reason: "tests".into() }),
        });
        at = span.end;
    }
    segments
}

#[test]
fn the_check_of_pairing_sees_what_is_wrong() {
    let call = serde_json::json!({"role": "assistant", "tool_calls": [{"id": "1"}]});
    let result = serde_json::json!({"role": "tool", "tool_call_id": "1"});
    let user = serde_json::json!({"role": "user"});
    assert!(check_pairing(&[call.clone(), result.clone(), user.clone()]).is_ok());
    for wrong in [
        vec![call.clone()],
        vec![result.clone()],
        vec![call.clone(), user, result.clone()],
        vec![call, result.clone(), result],
    ] {
        assert!(check_pairing(&wrong).is_err(), "{wrong:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1_500)))]

    #[test]
    fn an_accepted_plan_renders_to_a_request_with_intact_pairing(
        (entries, plan) in any_session().prop_flat_map(|entries| {
            let len = entries.len();
            (Just(entries), any_plan(len))
        })
    ) {
        let before = view(entries);
        let Ok(verified) = verify(plan, "tests", &before, &Rules::new(1_000), &EntryCounter::new(Bytes)) else {
            return Ok(());
        };
        let applied = verified.apply();
        let messages = messages(applied.view());
        prop_assert_eq!(check_pairing(&messages), Ok(()));
        for to in Format::ALL {
            let written = format::convert(applied.view().entries(), to).unwrap();
            // Claude Code's file has no place for system prompts: where nothing else is left it is empty.
            if !written.bytes.is_empty() {
                let read = Document::read_bytes(&written.bytes, Some(to)).unwrap();
                prop_assert!(read.problems().is_empty(), "{}: {:?}", to, read.problems());
            }
        }
    }
}
