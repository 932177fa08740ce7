//! An agent that keeps a transcript of its own: it asks a plugin whether to compact, compacts, and writes back.
//!
//! ```sh
//! cargo xtask components
//! cargo run --example compact -- target/components/regex-anchors.wasm
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use contextengine::hooks::{Trigger, Urgency, Verdict};
use contextengine::plugin::{LoadOptions, Plugin};
use contextengine::transcript::{Block, Compaction, Entry, EntryKind, Timestamp, ToolCall, ToolResult};
use contextengine::view::{View, ViewOptions};
use contextengine::{CompactError, CompactOptions, Compacted, Engine, Window};

/// A message as this agent keeps it.
#[derive(Debug, Clone)]
enum Message {
    System(String),
    User(String),
    Assistant {
        text: String,
        calls: Vec<Call>,
    },
    Tool {
        call_id: String,
        text: String,
        failed: bool,
    },
    /// Of a compaction. Sent as the user's, but kept apart: a strategy carries its own summary on.
    Summary {
        text: String,
        compaction: Option<Box<Compaction>>,
    },
    /// Text that a strategy added.
    Note(String),
}

#[derive(Debug, Clone)]
struct Call {
    id: String,
    tool: String,
    arguments: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a plugin: target/components/regex-anchors.wasm")?;

    // Once per process. Both can be shared by all sessions and threads.
    let engine = Engine::builder().build()?;
    let plugin = engine.load(&std::fs::read(path)?, LoadOptions::default()).await?;

    // Once per turn, or wherever the agent wants to know.
    let mut messages = session();
    let window = Window::new(32_000);
    messages = compact_if_needed(&engine, &plugin, window, messages).await?;
    println!("the agent goes on with {} messages", messages.len());
    Ok(())
}

/// The messages that the next request should hold: the same ones, if nothing is to be done or nothing could be done.
async fn compact_if_needed(
    engine: &Engine,
    plugin: &Plugin,
    window: Window,
    messages: Vec<Message>,
) -> Result<Vec<Message>, Box<dyn Error>> {
    let entries = messages.iter().enumerate().map(|(at, message)| Arc::new(entry(at, message))).collect();
    let view = engine.view(entries, ViewOptions::default().with_loop_limit(window.target()));
    let pressure = window.pressure(&view, Trigger::PreTurn, now());
    println!("{} messages, {} tokens of {}", messages.len(), view.tokens(), pressure.budget());

    let mut instance = plugin.instance(engine.services()).await?;
    let decision = instance.should_compress(&view, &pressure).await?;
    println!("{}", decision.reason);
    let urgency = match decision.verdict {
        Verdict::Wait => return Ok(messages),
        Verdict::Compress(urgency) => urgency,
    };

    let options = CompactOptions::new(pressure, window.target()).with_urgency(urgency);
    match engine.compact(plugin, &view, &options, engine.services()).await {
        Ok(Compacted::Done(compaction)) => {
            let record = compaction.record();
            let tally = record.tally;
            println!(
                "{} {} made {} tokens of {}: {} entries kept, {} summarised, {} dropped",
                record.owner,
                record.owner_version,
                record.tokens_after,
                record.tokens_before,
                tally.kept,
                tally.covered,
                tally.dropped
            );
            Ok(write_back(&messages, compaction.view()))
        }
        Ok(Compacted::Unchanged { reason }) => {
            println!("nothing to do: {reason}");
            Ok(messages)
        }
        Err(error) => go_on_without(&error, urgency, messages),
    }
}

/// The history is as it was. Whether the agent can go on with it depends on whether the next request still fits.
fn go_on_without(
    error: &CompactError,
    urgency: Urgency,
    messages: Vec<Message>,
) -> Result<Vec<Message>, Box<dyn Error>> {
    match urgency {
        Urgency::Soft => {
            println!("not compacted: {error}");
            Ok(messages)
        }
        Urgency::Hard => Err(format!("the next request does not fit, and {error}").into()),
    }
}

/// A message as the host knows it. Its id has to be unique in the view: here its index, else the agent's own id.
fn entry(at: usize, message: &Message) -> Entry {
    let id = format!("m{at}");
    match message {
        Message::System(text) => {
            let mut entry = Entry::text(id, EntryKind::System, text.as_str());
            entry.pinned = true;
            entry
        }
        Message::User(text) => Entry::text(id, EntryKind::User, text.as_str()),
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| {
                Block::ToolCall(ToolCall {
                    id: call.id.clone(),
                    name: call.tool.clone(),
                    arguments: call.arguments.clone(),
                })
            });
            Entry::new(id, EntryKind::Assistant, std::iter::once(Block::Text(text.clone())).chain(calls).collect())
        }
        Message::Tool { call_id, text, failed } => {
            // Without a name the host takes that of the call.
            let (call_id, name, text) = (call_id.clone(), String::new(), text.clone());
            let result = ToolResult { call_id, name, text, failed: *failed };
            Entry::new(id, EntryKind::ToolResult, vec![Block::ToolResult(result)])
        }
        Message::Summary { text, compaction } => {
            let mut entry = Entry::text(id, EntryKind::Summary, text.as_str());
            entry.compaction.clone_from(compaction);
            entry
        }
        Message::Note(text) => Entry::text(id, EntryKind::Note, text.as_str()),
    }
}

/// The agent's messages for a new context. What was kept is the agent's own message, untouched.
fn write_back(messages: &[Message], view: &View) -> Vec<Message> {
    let new = view.entries().iter().zip(0u32..).map(|(entry, at)| {
        let own = entry.id.as_str().strip_prefix('m').and_then(|at| messages.get(at.parse::<usize>().ok()?));
        match (own, entry.tool_result()) {
            (Some(Message::Tool { call_id, failed, .. }), Some(result)) if entry.is_edited() => {
                Message::Tool { call_id: call_id.clone(), text: result.text.clone(), failed: *failed }
            }
            // A request that was too long to be kept whole.
            (Some(Message::User(_)), _) if entry.is_edited() => Message::User(view.text(at, None).into_owned()),
            (Some(message), _) => message.clone(),
            (None, _) if entry.kind == EntryKind::Summary => {
                Message::Summary { text: view.text(at, None).into_owned(), compaction: entry.compaction.clone() }
            }
            // The plugin's note; `entry.role` says under which role it is meant.
            (None, _) => Message::Note(view.text(at, None).into_owned()),
        }
    });
    new.collect()
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A session of 32 turns, each with a call that printed a lot.
fn session() -> Vec<Message> {
    let mut messages = vec![Message::System("You are a careful engineer.".to_owned())];
    for turn in 1..=32 {
        let (id, path) = (format!("call-{turn}"), format!("src/stage_{turn}.rs"));
        messages.push(Message::User(format!("Please check {path}. Never touch the public API.")));
        messages.push(Message::Assistant {
            text: format!("I read {path}."),
            calls: vec![Call { id: id.clone(), tool: "read".to_owned(), arguments: format!(r#"{{"path":"{path}"}}"#) }],
        });
        let text = (0..100).map(|line| format!("let value_{line} = stage({turn}, {line});\n")).collect();
        messages.push(Message::Tool { call_id: id, text, failed: false });
        messages.push(Message::Assistant { text: format!("{path} is fine."), calls: Vec::new() });
    }
    messages
}
