//! A session as it grows: entries chained by id, a clock, and the files of the imagined repository.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

/// 2026-03-13T08:12:04Z, in milliseconds: a working day.
const START: u64 = 1_773_389_524_000;
const DAY: u64 = 86_400_000;
/// What the agent's own instructions and tools take before the first message, in tokens.
const OVERHEAD: usize = 3_900;

/// A small generator of plausible numbers (xorshift64*): the same every time, on every machine.
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From `low` to `high`, without `high`.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + (self.next() >> 16) % (high - low)
    }

    pub(super) fn hex(&mut self, digits: usize) -> String {
        (0..digits).map(|_| char::from(b"0123456789abcdef"[(self.next() >> 40) as usize % 16])).collect()
    }

    pub(super) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[(self.next() >> 16) as usize % from.len()]
    }
}

/// A call to a tool and what it gave.
#[derive(Debug)]
pub(super) struct Call {
    name: &'static str,
    arguments: Value,
    result: String,
    is_error: bool,
}

pub(super) fn bash(command: &str, result: impl Into<String>) -> Call {
    Call { name: "bash", arguments: json!({"command": command}), result: result.into(), is_error: false }
}

impl Call {
    /// The tool says that it failed.
    pub(super) fn failed(self) -> Self {
        Self { is_error: true, ..self }
    }
}

#[derive(Debug)]
pub(super) struct Session {
    lines: String,
    parent: Option<String>,
    now: u64,
    dice: Dice,
    /// Bytes of all that was said: a fourth of it is the usage that an assistant message reports.
    said: usize,
    files: BTreeMap<String, String>,
}

impl Session {
    pub(super) fn new(cwd: &str, files: &[(&str, &str)]) -> Self {
        let mut session = Self {
            lines: String::new(),
            parent: None,
            now: START,
            dice: Dice::new(482),
            said: 0,
            files: files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect(),
        };
        let [a, b, c, d, e] = [8, 4, 3, 3, 12].map(|digits| session.dice.hex(digits));
        let id = format!("{a}-{b}-4{c}-9{d}-{e}");
        session.line(&json!({"type": "session", "version": 3, "id": id, "timestamp": iso(START), "cwd": cwd}));
        session
    }

    /// The finished file.
    pub(super) fn finish(self) -> String {
        self.lines
    }

    pub(super) fn model(&mut self, id: &str) {
        self.entry("model_change", json!({"provider": "local", "modelId": id}));
    }

    pub(super) fn user(&mut self, text: &str) {
        self.wait(40_000, 300_000);
        self.said += text.len();
        self.message(json!({"role": "user", "content": [{"type": "text", "text": text}]}));
    }

    /// A command that the user runs, not the agent.
    pub(super) fn user_runs(&mut self, command: &str, output: &str) {
        self.wait(20_000, 60_000);
        self.said += command.len() + output.len();
        self.message(json!({
            "role": "bashExecution", "command": command, "output": output,
            "exitCode": 0, "cancelled": false, "truncated": false,
        }));
    }

    /// The agent ends its turn.
    pub(super) fn answer(&mut self, text: &str) {
        self.assistant(&[json!({"type": "text", "text": text})], "stop");
    }

    /// The agent thinks, says something (or nothing), and calls tools, in parallel when there are several.
    pub(super) fn act(&mut self, thinking: &str, text: &str, calls: Vec<Call>) {
        let mut blocks = Vec::new();
        if !thinking.is_empty() {
            blocks.push(json!({"type": "thinking", "thinking": thinking, "thinkingSignature": "reasoning_content"}));
        }
        if !text.is_empty() {
            blocks.push(json!({"type": "text", "text": text}));
        }
        let ids: Vec<String> = calls.iter().map(|_| format!("call_{}", self.dice.hex(24))).collect();
        for (id, call) in ids.iter().zip(&calls) {
            blocks.push(json!({"type": "toolCall", "id": id, "name": call.name, "arguments": call.arguments}));
        }
        self.assistant(&blocks, "toolUse");
        for (id, call) in ids.iter().zip(calls) {
            self.wait(30, 2_500);
            self.said += call.result.len();
            self.message(json!({
                "role": "toolResult", "toolCallId": id, "toolName": call.name,
                "content": [{"type": "text", "text": call.result}], "isError": call.is_error,
            }));
        }
    }

    /// Reads a file as it is now.
    pub(super) fn read(&self, path: &str) -> Result<Call> {
        let text = self.files.get(path).with_context(|| format!("the story reads {path}, which is not there"))?;
        Ok(Call { name: "read", arguments: json!({"path": path}), result: text.clone(), is_error: false })
    }

    pub(super) fn write(&mut self, path: &str, text: &str) -> Call {
        self.files.insert(path.to_owned(), text.to_owned());
        let result = format!("Successfully wrote {} bytes to {path}", text.len());
        Call { name: "write", arguments: json!({"path": path, "content": text}), result, is_error: false }
    }

    /// Replaces what occurs exactly once.
    pub(super) fn edit(&mut self, path: &str, old: &str, new: &str) -> Result<Call> {
        let text = self.files.get_mut(path).with_context(|| format!("the story edits {path}, which is not there"))?;
        ensure!(text.matches(old).count() == 1, "the story edits what is not once in {path}: {old}");
        *text = text.replacen(old, new, 1);
        let result = format!("Successfully replaced 1 block in {path}.");
        let arguments = json!({"path": path, "oldText": old, "newText": new});
        Ok(Call { name: "edit", arguments, result, is_error: false })
    }

    fn assistant(&mut self, blocks: &[Value], stop: &str) {
        self.wait(2_000, 14_000);
        let output: usize = blocks.iter().map(|block| block.to_string().len()).sum();
        let (cached, input, output_tokens) = (OVERHEAD + self.said / 5, self.said / 4 - self.said / 5, output / 4);
        self.said += output;
        let total = cached + input + output_tokens;
        let response = self.dice.hex(20);
        self.message(json!({
            "role": "assistant", "content": blocks, "api": "openai-completions", "provider": "local",
            "model": "coder-large",
            "usage": {
                "input": input, "output": output_tokens, "cacheRead": cached, "cacheWrite": 0, "totalTokens": total,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
            },
            "stopReason": stop, "responseId": format!("chatcmpl-{response}"),
        }));
    }

    fn message(&mut self, mut message: Value) {
        message["timestamp"] = json!(self.now);
        self.entry("message", json!({ "message": message }));
    }

    fn entry(&mut self, kind: &str, fields: Value) {
        let id = self.dice.hex(8);
        let mut entry = json!({"type": kind, "id": id, "parentId": self.parent, "timestamp": iso(self.now)});
        if let (Value::Object(entry), Value::Object(fields)) = (&mut entry, fields) {
            entry.extend(fields);
        }
        self.line(&entry);
        self.parent = Some(id);
    }

    fn line(&mut self, entry: &Value) {
        self.lines.push_str(&entry.to_string());
        self.lines.push('\n');
    }

    fn wait(&mut self, low: u64, high: u64) {
        self.now += self.dice.between(low, high);
    }
}

/// Milliseconds since 1970 as ISO 8601. Only for the day on which the story plays.
fn iso(ms: u64) -> String {
    let of_day = ms % DAY;
    let (hours, minutes) = (of_day / 3_600_000, of_day / 60_000 % 60);
    format!("2026-03-13T{hours:02}:{minutes:02}:{:02}.{:03}Z", of_day / 1000 % 60, of_day % 1000)
}
