//! What the tests share: a request, a plan applied, sessions.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic, reason = "tests")]

use contextengine_sdk::memory::{MemoryView, TestHost, pressure, quarter_of_bytes};
use std::cell::Cell;

use contextengine_sdk::{
    CacheState, Completion, EntryKind, Hit, Host, Level, Marks, ModelError, Plan, Plugin, Pressure, Prompt, Scope,
    Segment, SelectRequest, Selector, Services, View,
};
use tool_prune::ToolPrune;

/// An instance.
pub fn plugin(config: &str) -> ToolPrune {
    ToolPrune::configure(config).unwrap()
}

/// A request in a window of so many tokens.
pub fn request(view: &MemoryView, window: u32) -> SelectRequest {
    SelectRequest { pressure: pressure(view, window), incoming: None }
}

/// The same, with a provider that holds so many tokens at Anthropic's prices.
pub fn warm(view: &MemoryView, window: u32, cached: u32) -> SelectRequest {
    let cache = CacheState {
        cached_tokens: cached,
        expires_at: Some(300_000.0),
        read_price: 0.1,
        write_price: 1.25,
        output_price: 5.0,
    };
    SelectRequest { pressure: Pressure { cache: Some(cache), ..pressure(view, window) }, incoming: None }
}

/// What the plugin makes of a view.
pub fn select(plugin: &ToolPrune, host: &Host, view: &MemoryView, request: &SelectRequest) -> Option<Plan> {
    plugin.select_context(view, host, request).unwrap()
}

/// The texts that go out, whatever the plan; checks on the way that the plan is one that a host accepts.
pub fn sent(view: &MemoryView, plan: Option<&Plan>) -> Vec<String> {
    let entries = view.all();
    let mut texts: Vec<String> = (0..view.len()).map(|at| view.text(at, None)).collect();
    let Some(plan) = plan else { return texts };
    let mut next = 0;
    for segment in &plan.segments {
        match segment {
            Segment::Keep(span) => {
                assert!(span.start == next && span.end > span.start, "{span:?} at {next}");
                next = span.end;
            }
            Segment::Rewrite(rewrite) => {
                assert_eq!(rewrite.at, next);
                next += 1;
                let entry = &entries[rewrite.at as usize];
                assert_eq!(entry.kind, EntryKind::ToolResult);
                assert!(!entry.marks.intersects(Marks::PINNED | Marks::IN_FLIGHT), "{rewrite:?}");
                assert!(!rewrite.text.trim().is_empty() && rewrite.text.len() < entry.bytes as usize, "{rewrite:?}");
                texts[rewrite.at as usize] = rewrite.text.clone();
            }
            other => panic!("{other:?} is not a step of this strategy"),
        }
    }
    assert_eq!(next, view.len(), "every position is accounted for");
    texts
}

/// Positions whose text is another one.
pub fn pruned(view: &MemoryView, plan: Option<&Plan>) -> Vec<u32> {
    let texts = sent(view, plan);
    (0..view.len()).filter(|&at| texts[at as usize] != view.text(at, None)).collect()
}

/// Tokens of what goes out, by the host's count of the texts.
pub fn tokens(texts: &[String]) -> u32 {
    texts.iter().map(|text| quarter_of_bytes(text)).sum()
}

/// One turn: a request, a call and its result of so many bytes, an answer. Entries have ids, as a host gives them.
pub fn turn(view: MemoryView, number: u32, tool: &str, bytes: usize) -> MemoryView {
    let id = format!("c{number}");
    let line = format!("line {number} of a result\n");
    view.user(format!("request {number}"))
        .attributed("id", format!("u{number}"))
        .assistant("I look.")
        .attributed("id", format!("a{number}"))
        .call(&id, tool, "{}")
        .result(&id, line.repeat(bytes / line.len() + 1))
        .attributed("id", format!("r{number}"))
        .assistant("Done.")
        .attributed("id", format!("d{number}"))
}

/// So many turns with results of so many bytes.
pub fn session(turns: u32, bytes: usize) -> MemoryView {
    (0..turns).fold(MemoryView::new().system("rules").pinned(), |view, number| turn(view, number, "read", bytes))
}

/// A host that stores so many values and then no more.
pub struct Forgetful {
    inner: TestHost,
    writes: Cell<u32>,
}

impl Forgetful {
    pub fn after(writes: u32) -> Self {
        Self { inner: TestHost::new(), writes: Cell::new(writes) }
    }

    pub fn logged(&self) -> Vec<(Level, String)> {
        self.inner.logged()
    }
}

impl Services for Forgetful {
    fn state_set(&self, scope: Scope, key: &str, value: &[u8]) -> Result<(), String> {
        let left = self.writes.get().checked_sub(1).ok_or("the store is full")?;
        self.writes.set(left);
        self.inner.state_set(scope, key, value)
    }

    fn count(&self, text: &str) -> u32 {
        self.inner.count(text)
    }
    fn count_all(&self, texts: &[String]) -> Vec<u32> {
        self.inner.count_all(texts)
    }
    fn fit(&self, text: &str, budget: u32) -> u32 {
        self.inner.fit(text, budget)
    }
    fn log(&self, level: Level, message: &str) {
        self.inner.log(level, message);
    }
    fn progress(&self, done: u32, total: u32, label: &str) {
        self.inner.progress(done, total, label);
    }
    fn model_window(&self) -> Option<u32> {
        self.inner.model_window()
    }
    fn complete(&self, prompt: &Prompt) -> Result<Completion, ModelError> {
        self.inner.complete(prompt)
    }
    fn complete_all(&self, prompts: &[Prompt]) -> Vec<Result<Completion, ModelError>> {
        self.inner.complete_all(prompts)
    }
    fn state_get(&self, scope: Scope, key: &str) -> Option<Vec<u8>> {
        self.inner.state_get(scope, key)
    }
    fn state_delete(&self, scope: Scope, key: &str) -> Result<(), String> {
        self.inner.state_delete(scope, key)
    }
    fn state_keys(&self, scope: Scope, prefix: &str) -> Vec<String> {
        self.inner.state_keys(scope, prefix)
    }
    fn recall_search(&self, query: &str, limit: u32) -> Vec<Hit> {
        self.inner.recall_search(query, limit)
    }
    fn recall_fetch(&self, id: &str, limit: Option<u32>) -> Option<String> {
        self.inner.recall_fetch(id, limit)
    }
    fn file_read(&self, path: &str, limit: Option<u32>) -> Result<String, String> {
        self.inner.file_read(path, limit)
    }
    fn file_entries(&self, path: &str) -> Result<Vec<String>, String> {
        self.inner.file_entries(path)
    }
}
