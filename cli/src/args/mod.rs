//! What the command line can say.

use std::path::PathBuf;

use clap::{Args as Arguments, Parser, Subcommand};
use contextengine::format::Format;
use contextengine::plan::GatePolicy;
use contextengine::tokens::Vocabulary;

mod config;
mod session;

pub(crate) use config::{CheckArgs, ConfigCommand, LayerArgs, PathArgs, SchemaArgs, ShowConfigArgs, Which};
pub(crate) use session::{ExportArgs, ImportArgs, LogArgs, PlainArgs, SearchArgs, SessionCommand, ShowArgs, UndoArgs};

const MAIN_EXAMPLES: &str = "\
Examples:
  ctxe inspect session.jsonl
  ctxe compact session.jsonl --window 128k --out shorter.jsonl
  ctxe session import session.jsonl --name parser";

const COMPACT_EXAMPLES: &str = "\
Examples:
  See what would happen, and the summary:
    ctxe compact session.jsonl --window 128k --show-summary
  Write the shorter session, in another format:
    ctxe compact session.jsonl --window 128k --to openai-chat --out shorter.json
  In a pipe, with a plugin of your own (the report goes to standard error):
    ctxe compact - --strategy ./mine.wasm --config '{\"key\": 1}' --out - \\
      < session.jsonl > shorter.jsonl
  Let a model summarise, and see what it is asked for:
    ctxe compact session.jsonl -s llm-rolling-summary --model openai:gpt-5-mini -v
  Compact a session of the store, where it can be undone:
    ctxe compact --session parser --window 128k";

const INSPECT_EXAMPLES: &str = "\
Examples:
  ctxe inspect session.jsonl --window 200k
  ctxe inspect session.jsonl --json --largest 0";

const FORMATS_AND_CODES: &str = "\
Formats, recognised from the content:
  pi           session of Pi, JSON lines, versions 1 to 3
  claude-code  transcript of Claude Code, JSON lines
  openai-chat  list of chat messages, or a request body with `messages`

Exit codes:
  0  done, or nothing to do
  1  the strategy failed, or its plan was refused; the session is as it was
  2  wrong arguments
  3  a file or the store cannot be read or written";

fn after_help(examples: &str) -> String {
    format!("{examples}\n\n{FORMATS_AND_CODES}")
}

/// Compact and inspect the sessions of language-model agents.
#[derive(Debug, Parser)]
#[command(name = "ctxe", version, after_help = after_help(MAIN_EXAMPLES))]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shorten a session so that it fits the model's window, and say what became of it.
    ///
    /// A strategy decides what is kept, summarised and dropped; its plan is checked before it counts. The file is
    /// not changed unless you say so: without --out or --in-place you only see what would happen. A session of the
    /// store is compacted there; `ctxe session undo` takes that back.
    #[command(
        override_usage = "ctxe compact [OPTIONS] <FILE | --session <NAME>>",
        after_help = after_help(COMPACT_EXAMPLES)
    )]
    Compact(Box<CompactArgs>),
    /// Show what fills the context of a session: kinds of messages, the largest ones, tools.
    ///
    /// The context is what the model would see next: without what earlier compactions replaced, and without other
    /// branches. The beginnings of the largest messages are shown as they are; --largest 0 leaves them out.
    #[command(after_help = after_help(INSPECT_EXAMPLES))]
    Inspect(InspectArgs),
    /// Keep sessions in a store, where nothing is lost: import, list, show, log, search, undo, export.
    #[command(subcommand, after_help = session::help())]
    Session(SessionCommand),
    /// Check and show the configuration: who owns what, with which settings.
    #[command(subcommand, after_help = config::help())]
    Config(ConfigCommand),
}

/// Which session, and how it is read.
#[derive(Debug, Arguments)]
pub(crate) struct FileArgs {
    /// Session to read; `-` is standard input.
    pub(crate) file: PathBuf,

    /// Format of the session, if it is not recognised: pi, claude-code or openai-chat.
    #[arg(long, value_name = "FORMAT", value_parser = parse::<Format>)]
    pub(crate) from: Option<Format>,
}

/// What tokens are counted with, and how that is reported.
#[derive(Debug, Arguments)]
pub(crate) struct TokenizerArgs {
    /// Tokenizer to count with: o200k_base or cl100k_base.
    #[arg(long, value_name = "NAME", default_value_t = Vocabulary::default(), value_parser = parse::<Vocabulary>)]
    pub(crate) tokenizer: Vocabulary,

    /// Print the report as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Arguments)]
pub(crate) struct CompactArgs {
    /// Session to read; `-` is standard input. It, or --session, is needed.
    pub(crate) file: Option<PathBuf>,

    /// Session of the store to compact, instead of FILE. The compaction is recorded there.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["file", "from", "in_place"])]
    pub(crate) session: Option<String>,

    /// Store of that session [default: that of CTXE_STORE, or else your own].
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) store: Option<PathBuf>,

    /// Format of FILE, if it is not recognised: pi, claude-code or openai-chat.
    #[arg(long, value_name = "FORMAT", value_parser = parse::<Format>)]
    pub(crate) from: Option<Format>,

    #[command(flatten)]
    pub(crate) layers: LayerArgs,

    /// Tokenizer to count with: o200k_base or cl100k_base [default: o200k_base].
    #[arg(long, value_name = "NAME", value_parser = parse::<Vocabulary>)]
    pub(crate) tokenizer: Option<Vocabulary>,

    /// Print the report as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    /// Strategy: the name of a built-in one, of one that is configured, or the path of a plugin, as in ./mine.wasm
    /// [default: those of the settings, or else regex-anchors].
    #[arg(long, short, value_name = "NAME|PATH")]
    pub(crate) strategy: Option<String>,

    /// Configuration of that strategy, as a JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) config: Option<String>,

    /// Model that the strategy may ask: openai:NAME, anthropic:NAME, script:FILE with answers for a test, or another
    /// NAME at the configured provider.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Window of the agent's model, in tokens: 128000, 128_000 or 128k [default: 128000].
    #[arg(long, short, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) window: Option<u32>,

    /// Tokens held back for the reply [default: 16384, at most a quarter of the window].
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) reserve: Option<u32>,

    /// Tokens of the system prompt and tool schemas that are not in the session.
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) overhead: Option<u32>,

    /// Tokens that the session should take afterwards [default: half of what the window leaves for it].
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) target: Option<u32>,

    /// Fail (exit code 1) where the result is over the target.
    #[arg(long)]
    pub(crate) hard: bool,

    /// What is asked of the summary: off, identifiers (it holds the newest exact names of what it covers), or strict
    /// (that, and its shape) [default: off].
    #[arg(long, value_name = "POLICY", value_parser = parse::<GatePolicy>)]
    pub(crate) gate: Option<GatePolicy>,

    /// A heading that the summary must have, as in '## Goal'; may be given more than once, in their order. Only asked
    /// for by --gate strict.
    #[arg(long, value_name = "HEADING")]
    pub(crate) section: Vec<String>,

    /// What the summary should not lose, in your words.
    #[arg(long, value_name = "TEXT")]
    pub(crate) focus: Option<String>,

    /// File to write the compacted session to; `-` is standard output. Without it nothing is written.
    #[arg(long, short, value_name = "FILE", conflicts_with = "in_place")]
    pub(crate) out: Option<PathBuf>,

    /// Replace the session by the compacted one. The old file is kept beside it as FILE.before-compaction.
    #[arg(long)]
    pub(crate) in_place: bool,

    /// Format to write, if not the one that was read: pi, claude-code or openai-chat.
    #[arg(long, value_name = "FORMAT", value_parser = parse::<Format>)]
    pub(crate) to: Option<Format>,

    /// Print the text of the summary as well.
    #[arg(long)]
    pub(crate) show_summary: bool,

    /// Compile the strategy anew instead of taking it from the cache.
    #[arg(long)]
    pub(crate) no_cache: bool,

    /// Print what happens meanwhile, everything that the strategy logs, and the text of the summary.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Arguments)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) file: FileArgs,

    #[command(flatten)]
    pub(crate) tokenizer: TokenizerArgs,

    /// Window of the model, in tokens, to show shares of.
    #[arg(long, short, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) window: Option<u32>,

    /// How many of the largest entries to list.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) largest: usize,
}

fn parse<T>(text: &str) -> Result<T, String>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    text.parse::<T>().map_err(|error| error.to_string())
}

/// A count of tokens as people write it: `128000`, `128_000`, `128,000`, `128k`, `1M`.
fn tokens(text: &str) -> Result<u32, String> {
    let plain: String = text.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    let (digits, factor) = match plain.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => match plain.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1_000_000),
            None => (plain.as_str(), 1),
        },
    };
    let count = digits.parse::<u32>().ok().filter(|_| digits.starts_with(|c: char| c.is_ascii_digit()));
    count
        .and_then(|count| count.checked_mul(factor))
        .ok_or_else(|| format!("`{text}` is not a count of tokens; write 128000, 128_000 or 128k"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn tokens_are_read_as_people_write_them() {
        for (text, count) in [("128000", 128_000), ("128_000", 128_000), ("128,000", 128_000), ("128k", 128_000)] {
            assert_eq!(tokens(text), Ok(count));
        }
        assert_eq!(tokens("1M"), Ok(1_000_000));
        for text in ["", "k", "-1", "+1", "1.5k", "many", "5000000000", "5000M"] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }
}
