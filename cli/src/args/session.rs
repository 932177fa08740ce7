//! What `ctxe session` takes.

use std::path::PathBuf;

use clap::{Args as Arguments, Subcommand};
use contextengine::format::Format;

use super::{FileArgs, TokenizerArgs, after_help, parse, tokens};

const SESSION_EXAMPLES: &str = "\
Examples:
  ctxe session import session.jsonl --name parser
  ctxe compact --session parser --window 128k
  ctxe session log parser
  ctxe session search 'quoted rows' --session parser
  ctxe session undo parser
  ctxe session export parser --out session.jsonl";

const STORE: &str = "\
The store is one file: the one that --store names, or else the environment
variable CTXE_STORE, or else contextengine/sessions.db in $XDG_DATA_HOME or
~/.local/share.";

pub(crate) fn help() -> String {
    after_help(&format!("{SESSION_EXAMPLES}\n\n{STORE}"))
}

/// Where sessions are kept.
#[derive(Debug, Arguments)]
pub(crate) struct StoreArgs {
    /// Store to use [default: that of CTXE_STORE, or else your own].
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

/// For commands that count nothing.
#[derive(Debug, Arguments)]
pub(crate) struct PlainArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,

    /// Print the report as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// For commands that count tokens.
#[derive(Debug, Arguments)]
pub(crate) struct CountingArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,

    #[command(flatten)]
    pub(crate) tokenizer: TokenizerArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Take a session from a file into the store.
    ///
    /// The file is kept in the store byte for byte, so that it can be had back.
    Import(ImportArgs),
    /// List the sessions of the store.
    List(PlainArgs),
    /// Show what the model sees of a session now, as `ctxe inspect` does of a file.
    Show(ShowArgs),
    /// Show the compactions of a session, newest first: when, who, why, and what they did.
    Log(LogArgs),
    /// Find what was said, also what was compacted away.
    ///
    /// Found are messages that hold all words; where there is none, those with any. Chinese, Japanese and Korean are
    /// found within a word, too.
    Search(SearchArgs),
    /// Take the compaction in force back: the model sees what it saw before, and what came since.
    Undo(UndoArgs),
    /// Write a session as the model sees it now to a file.
    ///
    /// In its own format, the file that was imported comes back, with what compactions changed; without any, byte for
    /// byte. A session to which messages were added in the store is written as a fresh one of the format.
    Export(ExportArgs),
}

#[derive(Debug, Arguments)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) file: FileArgs,

    /// Name of the session in the store [default: the file's name without its ending].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) of: CountingArgs,
}

#[derive(Debug, Arguments)]
pub(crate) struct ShowArgs {
    /// Name of the session; see `ctxe session list`.
    pub(crate) name: String,

    /// Window of the model, in tokens, to show shares of.
    #[arg(long, short, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) window: Option<u32>,

    /// How many of the largest entries to list.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) largest: usize,

    #[command(flatten)]
    pub(crate) of: CountingArgs,
}

#[derive(Debug, Arguments)]
pub(crate) struct LogArgs {
    /// Name of the session; see `ctxe session list`.
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) of: PlainArgs,
}

#[derive(Debug, Arguments)]
pub(crate) struct SearchArgs {
    /// Words to look for.
    pub(crate) text: String,

    /// Session to search [default: all].
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,

    /// Most hits to show.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: u32,

    #[command(flatten)]
    pub(crate) of: PlainArgs,
}

#[derive(Debug, Arguments)]
pub(crate) struct UndoArgs {
    /// Name of the session; see `ctxe session list`.
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) of: CountingArgs,
}

#[derive(Debug, Arguments)]
pub(crate) struct ExportArgs {
    /// Name of the session; see `ctxe session list`.
    pub(crate) name: String,

    /// Format to write, if not the session's own: pi, claude-code or openai-chat.
    #[arg(long, value_name = "FORMAT", value_parser = parse::<Format>)]
    pub(crate) to: Option<Format>,

    /// File to write [default: standard output, and the report goes to standard error].
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) of: CountingArgs,
}
