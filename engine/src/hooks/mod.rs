//! What the host asks of a strategy and what it may answer, in the host's own types.
//!
//! These mirror the plugin ABI (`wit/hooks.wit`) one to one. The loaders translate; nothing else knows the ABI.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::transcript::{Timestamp, ToolResult};

/// What a plugin can own: one per interface that it exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Hook {
    /// `compressor`: replaces older entries for good.
    Compressor,
    /// `selector`: shapes one request.
    Selector,
    /// `reducer`: shortens a tool result before it enters the view.
    Reducer,
    /// `branch-summarizer`: summarises a branch that is being left.
    BranchSummarizer,
    /// `observer`: changes nothing.
    Observer,
    /// `toolbox`: tools for the agent's model.
    Toolbox,
}

impl Hook {
    /// Every hook.
    pub const ALL: [Hook; 6] =
        [Hook::Compressor, Hook::Selector, Hook::Reducer, Hook::BranchSummarizer, Hook::Observer, Hook::Toolbox];

    /// Name of the interface in the plugin ABI.
    pub fn interface(self) -> &'static str {
        match self {
            Hook::Compressor => "compressor",
            Hook::Selector => "selector",
            Hook::Reducer => "reducer",
            Hook::BranchSummarizer => "branch-summarizer",
            Hook::Observer => "observer",
            Hook::Toolbox => "toolbox",
        }
    }
}

/// A service that an operator grants by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Service {
    /// Completions.
    Model,
    /// Search over the whole session.
    Recall,
    /// Read-only folders.
    Files,
}

impl Service {
    /// Every service.
    pub const ALL: [Service; 3] = [Service::Model, Service::Recall, Service::Files];

    /// The name that configuration uses.
    pub fn name(self) -> &'static str {
        match self {
            Service::Model => "model",
            Service::Recall => "recall",
            Service::Files => "files",
        }
    }
}

/// What a plugin says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The name that configuration uses.
    pub id: String,
    /// Version of the plugin.
    pub version: String,
    /// One sentence for people.
    pub summary: String,
    /// JSON Schema of its configuration.
    pub config_schema: String,
    /// What it cannot work without.
    pub needs: Vec<Service>,
    /// Further facts by name.
    pub extras: Vec<(String, String)>,
}

/// What made the host ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Trigger {
    /// Before the first model call of a turn.
    PreTurn,
    /// Between tool results and the next model call.
    MidTurn,
    /// After a turn ended.
    PostTurn,
    /// The provider refused the request as too long.
    Overflow,
    /// The model call timed out on a large prompt.
    Timeout,
    /// A person or a program asked for it.
    Manual,
    /// The next model has a smaller window.
    ModelSwitch,
    /// Nobody is waiting.
    Idle,
}

/// How badly a compaction is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Urgency {
    /// Worth doing; the host may wait.
    Soft,
    /// The next request will not fit.
    Hard,
}

/// What the provider's prompt cache holds of this session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheState {
    /// Tokens of the prompt prefix that it holds.
    pub cached_tokens: u32,
    /// When it lets go of them, if known.
    pub expires_at: Option<Timestamp>,
    /// Price of a token read from the cache, as a multiple of an uncached input token.
    pub read_price: f32,
    /// Price of a token written to the cache, in the same unit.
    pub write_price: f32,
    /// Price of an output token, in the same unit.
    pub output_price: f32,
}

/// Token figures of the request that would go out now. `None` is unknown, never 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Pressure {
    /// Why the host asks.
    pub trigger: Trigger,
    /// The model's window.
    pub window: u32,
    /// Held back for the reply.
    pub reserve: u32,
    /// System prompt and tool schemas.
    pub overhead: u32,
    /// Sum of the entries' tokens.
    pub entries: u32,
    /// Input tokens that the provider counted for the last request.
    pub measured: Option<u32>,
    /// The provider's cache, if known.
    pub cache: Option<CacheState>,
    /// The time of the call.
    pub now: Timestamp,
    /// Further facts by name.
    pub extras: Vec<(String, String)>,
}

impl Pressure {
    /// What is left for entries: window less reserve less overhead.
    pub fn budget(&self) -> u32 {
        self.window.saturating_sub(self.reserve).saturating_sub(self.overhead)
    }
}

/// The answer to `should-compress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Not now.
    Wait,
    /// Now.
    Compress(Urgency),
}

/// A verdict and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence for people.
    pub reason: String,
}

/// What the host wants of `compress`.
#[derive(Debug, Clone, PartialEq)]
pub struct CompressRequest {
    /// Where the session stands.
    pub pressure: Pressure,
    /// Tokens that the entries should take afterwards.
    pub target: u32,
    /// What the person asked to keep in focus.
    pub focus: Option<String>,
    /// What observers saved just before.
    pub memory: Vec<String>,
    /// Defects that the host found in the previous proposal of this attempt.
    pub corrections: Vec<String>,
    /// Further wishes by name.
    pub extras: Vec<(String, String)>,
}

/// What the host wants of `select-context`.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectRequest {
    /// Where the session stands.
    pub pressure: Pressure,
    /// Text of the entry that is being answered, for relevance.
    pub incoming: Option<String>,
}

/// A tool result that has just arrived, and what the host wants to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReduceRequest {
    /// The result.
    pub result: ToolResult,
    /// Tokens of its text.
    pub tokens: u32,
    /// The model's window, in tokens.
    pub window: u32,
}

/// What the model will see of a tool result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reduction {
    /// All of it.
    Keep,
    /// This text. The host keeps the original and adds how to get it back.
    Replace(String),
}

/// What the host wants of `summarize-branch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchRequest {
    /// The longest summary to write, in tokens.
    pub budget: u32,
    /// What the person asked to keep in focus.
    pub focus: Option<String>,
}

/// Tokens of a turn, by the provider's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Not from the cache.
    pub input_tokens: u32,
    /// Written by the model.
    pub output_tokens: u32,
    /// Read from the cache.
    pub cache_read_tokens: u32,
    /// Written to the cache.
    pub cache_write_tokens: u32,
}

/// A turn that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnEnd {
    /// Its number in the session, from 0.
    pub index: u32,
    /// What it took, if the provider said.
    pub usage: Option<Usage>,
    /// The person stopped it.
    pub interrupted: bool,
    /// When it ended.
    pub at: Timestamp,
}

/// A compaction that has been recorded, as observers are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionNotice {
    /// Id of the plugin that proposed it.
    pub owner: String,
    /// Why it ran.
    pub trigger: Trigger,
    /// Tokens of the entries before.
    pub tokens_before: u32,
    /// Tokens of the entries after.
    pub tokens_after: u32,
    /// Text of the summary, if there is one.
    pub summary: Option<String>,
}

/// A tool as the agent's model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Unique over all plugins of a host.
    pub name: String,
    /// What it is for, for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: String,
}

/// The answer to `compress`.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Nothing to do, and why.
    Unchanged(String),
    /// The proposal.
    Compressed(Plan),
}

/// Why a hook has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// It cannot do it with this input; the host goes on to the next owner.
    #[error("declined: {0}")]
    Declined(String),
    /// A service that it needs failed.
    #[error("a service it needs is unavailable: {reason}")]
    Unavailable {
        /// What failed.
        reason: String,
        /// After how long it may work again.
        retry_after: Option<Duration>,
    },
    /// A defect; counts against the plugin.
    #[error("failed: {0}")]
    Failed(String),
}
