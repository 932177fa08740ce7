//! Runs the built `ctxe` in a folder of its own, on sessions that are made here.

#![allow(dead_code, reason = "every test program uses a part of it")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Small enough that the sessions of these tests have to be folded.
pub(crate) const SMALL: [&str; 6] =
    ["--window", "4000", "--target", "1200", "--config", r#"{"keep_recent_tokens":300,"max_summary_tokens":700}"#];

/// A folder that is gone after the test.
pub(crate) struct Folder(tempfile::TempDir);

/// What is printed is what is in the file of this name. `UPDATE_GOLDEN=1` takes what is printed now.
#[track_caller]
pub(crate) fn golden(name: &str, printed: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&file, printed).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(expected == printed, "{name} differs; if that is right, set UPDATE_GOLDEN=1\n{printed}");
}

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) bytes: Vec<u8>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ctxe"));
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache");
        command.current_dir(self.0.path()).env("CTXE_CACHE_DIR", cache).stdin(Stdio::null()).args(arguments);
        // Never the store of whoever runs the tests.
        command.env("XDG_DATA_HOME", self.path("data")).env_remove("CTXE_STORE");
        // Nor the settings.
        command.env("XDG_CONFIG_HOME", self.path("no-config"));
        command
    }

    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Run {
        Run::of(self.command(arguments).output().unwrap())
    }

    /// Compacts with a small window.
    pub(crate) fn compact(&self, arguments: &[&str]) -> Run {
        self.run(["compact"].iter().chain(arguments).chain(&SMALL))
    }

    /// The store that the commands use unless they are told otherwise.
    pub(crate) fn store(&self) -> PathBuf {
        self.path("data").join("contextengine").join("sessions.db")
    }

    pub(crate) fn run_with_input<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>, input: &[u8]) -> Run {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Run::of(child.wait_with_output().unwrap())
    }
}

impl Run {
    pub(crate) fn of(output: std::process::Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        // No code: it was ended by a signal.
        let code = output.status.code().unwrap_or(-1);
        Self { code, out: text(&output.stdout), err: text(&output.stderr), bytes: output.stdout }
    }

    /// It ended so; answers the run.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(!self.err.contains("panicked at cli/"), "{}", self.err);
        self
    }

    /// It failed so, with nothing on standard output, and says all of this.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) {
        let run = self.ends(code);
        assert!(run.out.is_empty(), "{}", run.out);
        for word in words {
            assert!(run.err.contains(word), "`{word}` is not in: {}", run.err);
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

/// The component of the plugin that misbehaves as it is told to.
pub(crate) fn hostile_guest() -> String {
    let target = Path::new(env!("CARGO_BIN_EXE_ctxe")).ancestors().nth(2).unwrap();
    let folder = std::env::var_os("CTXE_COMPONENTS").map_or(target.join("components"), PathBuf::from);
    let file = folder.join("hostile-guest.wasm");
    assert!(file.is_file(), "{} is missing; run `cargo xtask components`", file.display());
    file.into_os_string().into_string().unwrap()
}

/// A message of a session.
pub(crate) enum Step {
    User(String),
    Says(String),
    /// A call of a tool with these arguments, and its result.
    Tool(&'static str, Value, String),
}

/// Some work on a parser: about 5,000 tokens, of which little matters.
pub(crate) fn steps() -> Vec<Step> {
    let mut steps = vec![Step::User(
        "Fix the CSV importer in src/import/csv.rs: rows with quotes are lost, see issue #482. \
         Never change the public API."
            .to_owned(),
    )];
    for round in 1..=6 {
        let path = format!("src/import/part{round}.rs");
        let lines: Vec<String> = (1..=40)
            .map(|line| format!("    let field_{line} = split(row, {round})?; // column {line} of the row"))
            .collect();
        steps.push(Step::Tool("read", json!({ "path": path }), lines.join("\n")));
        steps.push(Step::Says(format!("The root cause is not in {path}; the splitter ignores quotes.")));
        let test = if round % 2 == 0 { "ok. 12 passed" } else { "error[E0308]: mismatched types in csv.rs" };
        steps.push(Step::Tool("bash", json!({ "command": "cargo test -p importer" }), test.to_owned()));
        steps.push(Step::User(format!("Go on with part {}, and keep the tests green.", round + 1)));
    }
    steps.push(Step::Says("I'll use a small state machine instead of split(',').".to_owned()));
    steps.push(Step::User("Good. Which file comes next?".to_owned()));
    steps
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// A session of Pi, version 3.
pub(crate) fn pi(steps: &[Step]) -> String {
    let mut records = vec![
        json!({"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-01-05T10:00:00.000Z", "cwd": "/app"}),
    ];
    let mut push = |message: Value| {
        let parent = if records.len() > 1 { json!(format!("m{:04}", records.len() - 1)) } else { Value::Null };
        let id = format!("m{:04}", records.len());
        let time = "2026-01-05T10:00:01.000Z";
        records.push(json!({"type": "message", "id": id, "parentId": parent, "timestamp": time, "message": message}));
    };
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::User(text) => push(json!({"role": "user", "content": text, "timestamp": 1})),
            Step::Says(text) => push(json!({"role": "assistant", "content": [{"type": "text", "text": text}],
                "stopReason": "stop", "timestamp": 1})),
            Step::Tool(tool, arguments, result) => {
                let call = json!({"type": "toolCall", "id": format!("c{at}"), "name": tool, "arguments": arguments});
                push(json!({"role": "assistant", "content": [call], "stopReason": "toolUse", "timestamp": 1}));
                push(json!({"role": "toolResult", "toolCallId": format!("c{at}"), "toolName": tool,
                    "content": [{"type": "text", "text": result}], "isError": false, "timestamp": 1}));
            }
        }
    }
    lines(&records)
}

/// A transcript of Claude Code.
pub(crate) fn claude_code(steps: &[Step]) -> String {
    let mut records: Vec<Value> = Vec::new();
    let mut push = |kind: &str, message: Value| {
        let parent = records.len().checked_sub(1).map(|last| format!("u{last:04}"));
        records.push(json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/app",
            "sessionId": "s-1", "version": "2.1.7", "gitBranch": "main", "type": kind, "message": message,
            "uuid": format!("u{:04}", records.len()), "timestamp": "2026-01-05T10:00:01.000Z"}));
    };
    let says = |at: usize, block: Value| {
        json!({"id": format!("msg_{at}"), "type": "message", "role": "assistant", "model": "m",
            "content": [block], "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}})
    };
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::User(text) => push("user", json!({"role": "user", "content": text})),
            Step::Says(text) => push("assistant", says(at, json!({"type": "text", "text": text}))),
            Step::Tool(tool, arguments, result) => {
                let id = format!("toolu_{at}");
                let call = json!({"type": "tool_use", "id": id, "name": tool, "input": arguments});
                push("assistant", says(at, call));
                let result = json!({"type": "tool_result", "tool_use_id": id, "content": result});
                push("user", json!({"role": "user", "content": [result]}));
            }
        }
    }
    lines(&records)
}

/// A request body for OpenAI.
pub(crate) fn openai_chat(steps: &[Step]) -> String {
    let mut messages = vec![json!({"role": "system", "content": "You are a careful engineer."})];
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::User(text) => messages.push(json!({"role": "user", "content": text})),
            Step::Says(text) => messages.push(json!({"role": "assistant", "content": text})),
            Step::Tool(tool, arguments, result) => {
                let id = format!("call_{at}");
                let function = json!({"name": tool, "arguments": arguments.to_string()});
                let call = json!({"id": id, "type": "function", "function": function});
                messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
                messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
            }
        }
    }
    format!("{:#}\n", json!({"model": "gpt-x", "messages": messages}))
}

/// Every format: its name, a file name, and the session of [`steps`].
pub(crate) fn sessions() -> [(&'static str, &'static str, String); 3] {
    let steps = steps();
    [
        ("pi", "pi.jsonl", pi(&steps)),
        ("claude-code", "claude-code.jsonl", claude_code(&steps)),
        ("openai-chat", "openai-chat.json", openai_chat(&steps)),
    ]
}

/// A folder with `session.jsonl`, a session of Pi that a small window makes fold.
pub(crate) fn with_session() -> Folder {
    let folder = Folder::new();
    folder.write("session.jsonl", pi(&steps()));
    folder
}
