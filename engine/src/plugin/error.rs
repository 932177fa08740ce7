//! What can go wrong with a plugin, in words for the people who have to act on it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::schema::Violation;
use crate::hooks::{Failure, Hook, Service};

/// Why a [`Runtime`](super::Runtime) could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The folder for compiled code cannot be trusted: its contents are run as native code.
    #[error("the folder for compiled plugins, {}, is not used: {reason}; {advice}", path.display())]
    UnsafeCacheDir {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// What to do.
        advice: String,
    },
    /// The folder for compiled code cannot be made, read or written.
    #[error("the folder for compiled plugins, {}, cannot be used: {reason}; name another one, or none", path.display())]
    CacheDir {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// WebAssembly cannot run on this machine.
    #[error("the WebAssembly engine cannot start: {reason}")]
    Engine {
        /// What the engine said.
        reason: String,
    },
}

/// Why a plugin could not be loaded. Nothing of it has been run, unless the variant says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file is something else than WebAssembly.
    #[error("not a plugin: {what}; {advice}")]
    NotWasm {
        /// What it is.
        what: String,
        /// What to do.
        advice: String,
    },
    /// A core module: what a compiler writes before it is made a component.
    #[error(
        "not a plugin: a core WebAssembly module, not a component; build it for `wasm32-wasip2`, or encode it \
         with `wasm-tools component new`"
    )]
    CoreModule,
    /// The file is broken.
    #[error("the component is damaged at byte {offset}: {reason}; copy or build it again")]
    Malformed {
        /// Where.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// The plugin speaks another version of the plugin API.
    #[error(
        "the plugin uses plugin API {plugin}, this host serves {host}. For users: {}. For authors: build against \
         contextengine-sdk {host}.",
        if *newer { "update this program, or get an older release of the plugin" } else { "get a newer release of the plugin" }
    )]
    ApiVersion {
        /// The version that the plugin was built for.
        plugin: String,
        /// The version that this host serves.
        host: &'static str,
        /// The plugin is the newer one.
        newer: bool,
    },
    /// The component does not say who it is.
    #[error(
        "the component does not export `contextengine:plugin/plugin`, which every plugin must; {}",
        if exports.is_empty() { "it exports nothing".to_owned() } else { format!("it exports {}", exports.join(", ")) }
    )]
    NoPlugin {
        /// What it exports instead.
        exports: Vec<String>,
    },
    /// The component exports no hook, so there is nothing that it could own.
    #[error(
        "the plugin exports no hook; export at least one of compressor, selector, reducer, branch-summarizer, \
             observer and toolbox (in Rust: name it in `export!`)"
    )]
    NoHook,
    /// It wants something that this host does not offer to plugins.
    #[error("the plugin imports `{import}`, which this host does not offer: {reason}")]
    UnknownImport {
        /// Name of the import.
        import: String,
        /// Why not, and what to do.
        reason: String,
    },
    /// An interface that it exports lacks a function.
    #[error(
        "the plugin's `{interface}` lacks the function `{function}`; its author must build it against the \
             complete interface, version {host}"
    )]
    MissingFunction {
        /// Name of the interface, as exported.
        interface: String,
        /// Name of the function.
        function: String,
        /// The version that this host serves.
        host: &'static str,
    },
    /// It calls a function that a served interface does not have.
    #[error(
        "the plugin calls `{function}` of `{interface}`, which this host, serving {host}, does not have. For \
             users: update this program. For authors: name {host} as the oldest host, or do without the function."
    )]
    UnknownFunction {
        /// Name of the interface, as imported.
        interface: String,
        /// Name of the function.
        function: String,
        /// The version that this host serves.
        host: &'static str,
    },
    /// A function or type has another shape than in the plugin API.
    #[error(
        "the plugin's `{interface}` has another shape than in plugin API {host}: {detail}; its author must build \
             it against the unchanged WIT files"
    )]
    Signature {
        /// Name of the interface.
        interface: String,
        /// What differs, as the engine says it.
        detail: String,
        /// The version that this host serves.
        host: &'static str,
    },
    /// It needs more memory at start than it may have.
    #[error("the plugin needs {} of memory to start and may have {}; raise `limits = {{ memory = … }}` of this plugin",
            size(*required), size(*limit))]
    Memory {
        /// Bytes that it needs.
        required: u64,
        /// Bytes that it may have.
        limit: u64,
    },
    /// The engine could not make machine code of it.
    #[error("the component cannot be compiled: {reason}")]
    Compile {
        /// What the engine said.
        reason: String,
    },
    /// It ran, and failed at describing itself. Nothing but `describe` has been run.
    #[error("the plugin cannot describe itself: {0}")]
    Describe(#[source] CallError),
    /// What it says of itself is not acceptable.
    #[error("the plugin describes itself wrongly: {reason}")]
    Description {
        /// What is wrong.
        reason: String,
    },
    /// It cannot work without a service that is not granted.
    #[error(
        "plugin `{plugin}` cannot work without {}; if you trust it with that, add to [plugins.{plugin}]: {}",
        service_names(missing),
        grant_line(grants, missing)
    )]
    NotGranted {
        /// Id of the plugin.
        plugin: String,
        /// What it needs and was not granted.
        missing: Vec<Service>,
        /// What was granted.
        grants: Vec<Service>,
    },
    /// A folder that was granted to it cannot be read.
    #[error("plugin `{plugin}`: {reason}")]
    Folders {
        /// Id of the plugin.
        plugin: String,
        /// Which, why, and what to do.
        reason: String,
    },
    /// It does not accept its configuration.
    #[error("plugin `{plugin}` does not accept its configuration: {reason}")]
    Config {
        /// Id of the plugin.
        plugin: String,
        /// What is wrong, in the plugin's words.
        reason: String,
    },
    /// Its configuration is not what the schema asks for that it publishes. It has not been configured.
    #[error(
        "plugin `{plugin}` does not accept its configuration: {}",
        violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    ConfigSchema {
        /// Id of the plugin.
        plugin: String,
        /// What is wrong, in the order of the configuration; at least one.
        violations: Vec<Violation>,
    },
    /// It ran, and failed while it was being configured.
    #[error("plugin `{plugin}` failed while it was being configured: {error}")]
    Configure {
        /// Id of the plugin.
        plugin: String,
        /// How.
        #[source]
        error: CallError,
    },
    /// Something on the host's side.
    #[error("the plugin could not be loaded, through no fault of its own: {reason}")]
    Internal {
        /// What.
        reason: String,
    },
}

/// Why a call of a plugin gave no answer. `call` names the function.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The plugin gave a reason, in time and in order. The instance stays usable.
    #[error("{0}")]
    Failed(#[source] Failure),
    /// The plugin broke off: a panic, an abort, a fault.
    #[error("`{call}` broke off: {message}{}", at(backtrace))]
    Trap {
        /// The function.
        call: &'static str,
        /// The plugin's own words where it left any, then the engine's.
        message: String,
        /// The innermost functions, inner first; empty if the engine saw none.
        backtrace: String,
    },
    /// It took too long.
    #[error("`{call}` took longer than {}; raise `limits = {{ {key} = … }}` of this plugin if it needs that", span(*limit))]
    TimeLimit {
        /// The function.
        call: &'static str,
        /// The time that it had.
        limit: Duration,
        /// The key of `limits` that sets it.
        key: &'static str,
    },
    /// It asked for more memory than it may have, and broke off.
    #[error("`{call}` wanted {} of memory and may have {}; raise `limits = {{ memory = … }}` of this plugin if it \
             needs that", size(*requested), size(*limit))]
    MemoryLimit {
        /// The function.
        call: &'static str,
        /// Bytes that it may have.
        limit: u64,
        /// Bytes that it would have had.
        requested: u64,
    },
    /// It passed more data to the host at once than it may.
    #[error("`{call}` passed more than {} to the host at once; raise `limits = {{ output = … }}` of this plugin if it \
             needs that", size(*limit))]
    OutputLimit {
        /// The function.
        call: &'static str,
        /// Bytes that may be passed at once.
        limit: u64,
    },
    /// The caller stopped waiting for an earlier call. Only ever the cause of [`CallError::Retired`].
    #[error("`{call}` was cancelled")]
    Cancelled {
        /// The function.
        call: &'static str,
    },
    /// The instance is not used any more. Make a new one.
    #[error("this instance of the plugin was given up, as an earlier call did not end well: {cause}")]
    Retired {
        /// The first cause.
        #[source]
        cause: Arc<CallError>,
    },
    /// The plugin does not export the hook.
    #[error("the plugin does not export `{}`", hook.interface())]
    NoSuchHook {
        /// The hook.
        hook: Hook,
    },
    /// A new instance does not accept the configuration that an earlier one did.
    #[error("the plugin does not accept its configuration any more: {reason}")]
    Config {
        /// What is wrong, in the plugin's words.
        reason: String,
    },
    /// Something on the host's side.
    #[error("`{call}` could not be run, through no fault of the plugin: {reason}")]
    Internal {
        /// The function.
        call: &'static str,
        /// What.
        reason: String,
    },
}

impl CallError {
    /// Whether the plugin broke off or reached a limit. Then nothing good can be expected of another call. Not so where
    /// it answered in order that it cannot do it, where the caller stopped waiting, and where the host is to blame.
    pub fn is_fault(&self) -> bool {
        match self {
            CallError::Trap { .. }
            | CallError::TimeLimit { .. }
            | CallError::MemoryLimit { .. }
            | CallError::OutputLimit { .. } => true,
            CallError::Retired { cause } => cause.is_fault(),
            CallError::Failed(_)
            | CallError::Cancelled { .. }
            | CallError::NoSuchHook { .. }
            | CallError::Config { .. }
            | CallError::Internal { .. } => false,
        }
    }
}

fn at(backtrace: &str) -> String {
    if backtrace.is_empty() { String::new() } else { format!(" (in {backtrace})") }
}

/// Bytes as people write them in the configuration.
fn size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match bytes {
        0..KIB => format!("{bytes} bytes"),
        KIB..MIB => format!("{} KiB", bytes.div_ceil(KIB)),
        _ if bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        _ => format!("{}.{} MiB", bytes / MIB, bytes % MIB * 10 / MIB),
    }
}

/// A duration as people write it in the configuration.
fn span(duration: Duration) -> String {
    let millis = duration.as_millis();
    match millis {
        0..1_000 => format!("{millis} ms"),
        _ if millis.is_multiple_of(60_000) => format!("{} min", millis / 60_000),
        _ if millis.is_multiple_of(1_000) => format!("{} s", millis / 1_000),
        _ => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
    }
}

fn service_names(services: &[Service]) -> String {
    let names: Vec<String> = services.iter().map(|service| format!("`{}`", service.name())).collect();
    names.join(" and ")
}

fn grant_line(grants: &[Service], missing: &[Service]) -> String {
    let mut all: Vec<Service> = grants.iter().chain(missing).copied().collect();
    all.sort_unstable();
    all.dedup();
    let names: Vec<String> = all.iter().map(|service| format!("\"{}\"", service.name())).collect();
    format!("grant = [{}]", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_to_add_keeps_what_was_granted() {
        let error = LoadError::NotGranted {
            plugin: "rolling".to_owned(),
            missing: vec![Service::Model],
            grants: vec![Service::Files],
        };
        assert_eq!(
            error.to_string(),
            "plugin `rolling` cannot work without `model`; if you trust it with that, add to [plugins.rolling]: \
             grant = [\"model\", \"files\"]"
        );
    }

    #[test]
    fn sizes_and_durations_read_like_the_configuration() {
        assert_eq!(size(64 << 20), "64 MiB");
        assert_eq!(size(64 << 10), "64 KiB");
        assert_eq!(size((3 << 20) + (1 << 19)), "3.5 MiB");
        assert_eq!(size(12), "12 bytes");
        assert_eq!(span(Duration::from_millis(250)), "250 ms");
        assert_eq!(span(Duration::from_secs(120)), "2 min");
        assert_eq!(span(Duration::from_millis(1_500)), "1.5 s");
    }
}
