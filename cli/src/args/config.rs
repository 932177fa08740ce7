//! What `ctxe config` takes.

use std::path::PathBuf;

use clap::{Args as Arguments, Subcommand, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  ctxe config check
  ctxe config check --config-file ./other.toml --set trigger.at=75%
  ctxe config show --defaults
  ctxe config schema > contextengine.schema.json";

const LAYERS: &str = "\
A later one goes before an earlier one, key by key:
  1. the defaults
  2. your own file: contextengine/config.toml in $XDG_CONFIG_HOME or ~/.config
  3. the file of the project: contextengine.toml, in this folder or above it, up
     to the root of the repository
  4. --set
The file of a project may not load plugins, grant services, raise limits or set
[model], unless [trust] of your own file names its folder.

Exit codes:
  0  done
  1  the plugin runtime cannot start
  2  wrong arguments, or the configuration is wrong
  3  the report cannot be written";

pub(crate) fn help() -> String {
    format!("{EXAMPLES}\n\n{LAYERS}")
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Load everything as an agent would, and say what is wrong with it.
    ///
    /// Plugins are loaded, with their configurations; nothing else of them runs. All errors are shown, each with its
    /// line. Where nothing is wrong: who owns what, and where that is configured.
    #[command(after_help = help())]
    Check(CheckArgs),
    /// Show the settings that hold, and where each comes from.
    ///
    /// The output is a file of settings itself.
    #[command(after_help = help())]
    Show(ShowConfigArgs),
    /// Print a JSON Schema of the file, for editors.
    ///
    /// It knows the configurations of the built-in plugins too.
    #[command(after_help = help())]
    Schema(SchemaArgs),
    /// Print which files are read.
    #[command(after_help = help())]
    Path(PathArgs),
}

/// Which settings.
#[derive(Debug, Arguments)]
pub(crate) struct LayerArgs {
    /// Read this file instead of your own and the project's.
    #[arg(long, value_name = "FILE")]
    pub(crate) config_file: Option<PathBuf>,

    /// Set a key, as in trigger.at=75%; may be given more than once.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Let the file of the project say everything, this time.
    #[arg(long)]
    pub(crate) trust_project: bool,
}

#[derive(Debug, Arguments)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) layers: LayerArgs,

    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    /// Compile plugins anew instead of taking them from the cache.
    #[arg(long)]
    pub(crate) no_cache: bool,
}

#[derive(Debug, Arguments)]
pub(crate) struct ShowConfigArgs {
    #[command(flatten)]
    pub(crate) layers: LayerArgs,

    /// Print the settings as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    /// Show the defaults alone, as if there were no files.
    #[arg(long, conflicts_with_all = ["config_file", "set", "trust_project"])]
    pub(crate) defaults: bool,
}

#[derive(Debug, Arguments)]
pub(crate) struct SchemaArgs {
    /// Compile plugins anew instead of taking them from the cache.
    #[arg(long)]
    pub(crate) no_cache: bool,
}

#[derive(Debug, Arguments)]
pub(crate) struct PathArgs {
    /// Print the path of this one only.
    pub(crate) which: Option<Which>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    /// Your own file, there or not.
    User,
    /// The file of the project; it is an error if there is none.
    Project,
}
