//! Which compiler makes WebAssembly here.
//!
//! A plain toolchain has no standard library for `wasm32-unknown-unknown`. It is looked for in this order: installed
//! in the active toolchain; added by rustup; or built from the source that Debian packages beside its own newer
//! compiler, for machines that reach Debian's packages but not rustup's downloads. What was taken, and why, is said.
//!
//! Promises: a download that hangs ends; nothing installed is removed; without a way, the error says what to install.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::process;
use crate::workspace::Workspace;

/// The target of every plugin: no WASI, so a component imports nothing but what it calls.
pub(crate) const BARE: &str = "wasm32-unknown-unknown";
/// A target that makes components by itself, with WASI imports: what other toolchains' plugins look like.
pub(crate) const WASI: &str = "wasm32-wasip2";

/// Forces a way: `rustup` or `debian`.
const OVERRIDE: &str = "CTXE_WASM_TOOLCHAIN";
/// A target is some 20 MB.
const RUSTUP_LIMIT: Duration = Duration::from_secs(300);
/// [`WASI`] is only for tests: without a network, nobody should wait long for it on every build.
const OPTIONAL_LIMIT: Duration = Duration::from_secs(60);
/// The three packages are some 100 MB, with what they need.
const APT_LIMIT: Duration = Duration::from_secs(600);
/// Debian's newer compiler (which browsers are built with), its cargo, and the source of the standard library.
const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
/// Where these packages put what is used of them.
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// A way to compile for [`BARE`].
#[derive(Debug)]
pub(crate) enum Toolchain {
    /// The cargo that runs us; its toolchain has the target.
    Active,
    /// Debian's packages, building the standard library themselves; linked by `linker`.
    Debian { linker: PathBuf },
}

/// What [`find`] learnt.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) toolchain: Toolchain,
    /// Whether [`WASI`] components can be built as well; otherwise why not.
    pub(crate) wasi: Result<(), String>,
}

/// Finds a way, installing what is missing, and says which it is.
pub(crate) fn find(workspace: &Workspace) -> Result<Found> {
    let forced = std::env::var(OVERRIDE).ok();
    match forced.as_deref() {
        None | Some("") => either(workspace),
        Some("rustup") => match rustup(workspace, BARE, RUSTUP_LIMIT) {
            Ok(how) => Ok(active(workspace, &format!("{how}, as {OVERRIDE}=rustup wants it"))),
            Err(why) => bail!("{OVERRIDE}=rustup, but {why}"),
        },
        Some("debian") => match debian(workspace) {
            Ok(toolchain) => Ok(from_debian(toolchain, &format!("{OVERRIDE}=debian"))),
            Err(why) => bail!("{OVERRIDE}=debian, but {why}"),
        },
        Some(other) => bail!("{OVERRIDE} is `{other}`; it can be `rustup` or `debian`"),
    }
}

fn either(workspace: &Workspace) -> Result<Found> {
    let no_rustup = match rustup(workspace, BARE, RUSTUP_LIMIT) {
        Ok(how) => return Ok(active(workspace, how)),
        Err(why) => why,
    };
    let no_debian = match debian(workspace) {
        Ok(toolchain) => return Ok(from_debian(toolchain, &no_rustup)),
        Err(why) => why,
    };
    bail!(
        "no compiler for {BARE} here\n  rustup: {no_rustup}\n  Debian: {no_debian}\n\
         Install one of these and try again:\n  rustup target add {BARE}\n  apt-get install {}",
        DEBIAN_PACKAGES.join(" ")
    )
}

fn active(workspace: &Workspace, how: &str) -> Found {
    eprintln!("WebAssembly compiler: the active toolchain ({how})");
    Found { toolchain: Toolchain::Active, wasi: rustup(workspace, WASI, OPTIONAL_LIMIT).map(drop) }
}

fn from_debian(toolchain: Toolchain, why: &str) -> Found {
    let version = process::quiet(Command::new(DEBIAN_RUSTC).arg("--version")).unwrap_or_default();
    eprintln!("WebAssembly compiler: Debian's {version}, with a standard library built from source ({why})");
    Found { toolchain, wasi: Err("Debian's packages cannot build for it".to_owned()) }
}

impl Toolchain {
    /// Where this compiler builds: apart, since two compilers in one folder undo each other's work.
    pub(crate) fn target_dir(&self, workspace: &Workspace) -> PathBuf {
        match self {
            Self::Active => workspace.target.clone(),
            Self::Debian { .. } => workspace.target.join("debian"),
        }
    }

    /// `cargo build` for `target`, without packages or profile.
    pub(crate) fn build(&self, workspace: &Workspace, target: &str) -> Command {
        let mut command = match self {
            Self::Active => workspace.cargo(),
            Self::Debian { linker } => debian_cargo(workspace, linker),
        };
        command.args(["build", "--target", target, "--target-dir"]).arg(self.target_dir(workspace));
        if let Self::Debian { .. } = self {
            // The lock file is what the active cargo made of it; an older one must not rewrite it.
            command.args(["--locked", "-Zbuild-std=std,panic_abort"]);
        }
        command
    }
}

fn debian_cargo(workspace: &Workspace, linker: &Path) -> Command {
    let mut command = Command::new(DEBIAN_CARGO);
    command.current_dir(&workspace.root);
    // What `cargo run` and rustup set is about the active toolchain.
    for variable in ["CARGO", "LD_LIBRARY_PATH", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    command.env("RUSTC", DEBIAN_RUSTC);
    // Building the standard library is an unstable flag; this is how a released compiler takes it.
    command.env("RUSTC_BOOTSTRAP", "1");
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    command
}

/// Makes sure that the active toolchain has `target`. How, or why not.
fn rustup(workspace: &Workspace, target: &str, limit: Duration) -> Result<&'static str, String> {
    let installed = || sysroot(workspace).is_some_and(|root| library(&root, target).is_dir());
    if installed() {
        return Ok("it has the target");
    }
    if process::quiet(Command::new("rustup").arg("--version")).is_none() {
        return Err(format!("the active toolchain lacks {target}, and there is no rustup to add it"));
    }
    let mut add = Command::new("rustup");
    add.current_dir(&workspace.root).args(["target", "add", target]);
    process::run_within(&mut add, limit).map_err(|error| format!("{error:#}"))?;
    // rustup may have added it to another toolchain than the one whose cargo runs us.
    if installed() { Ok("the target was added by rustup") } else { Err("rustup added it elsewhere".to_owned()) }
}

/// Makes sure that Debian's packages and a linker are there. Why not, where they cannot be had.
fn debian(workspace: &Workspace) -> Result<Toolchain, String> {
    let missing: Vec<&str> = DEBIAN_PACKAGES.into_iter().filter(|package| !is_installed(package)).collect();
    if !missing.is_empty() {
        apt_install(&missing)?;
    }
    for tool in [DEBIAN_CARGO, DEBIAN_RUSTC] {
        if process::quiet(Command::new(tool).arg("--version")).is_none() {
            return Err(format!("{tool} does not run though {} are installed", DEBIAN_PACKAGES.join(", ")));
        }
    }
    match linker(workspace) {
        Some(linker) => Ok(Toolchain::Debian { linker }),
        None => Err("no linker for WebAssembly: neither rust-lld in the toolchain nor wasm-ld; \
                     apt-get install lld"
            .to_owned()),
    }
}

fn is_installed(package: &str) -> bool {
    let query = process::quiet(Command::new("dpkg-query").args(["-W", "-f=${Status}", package]));
    query.is_some_and(|status| status == "install ok installed")
}

fn apt_install(packages: &[&str]) -> Result<(), String> {
    let uid = process::quiet(Command::new("id").arg("-u"));
    let prefix: &[&str] = if uid.as_deref() == Some("0") {
        &[]
    } else if process::quiet(Command::new("sudo").args(["-n", "true"])).is_some() {
        &["sudo", "-n"]
    } else {
        return Err("neither root nor sudo without a password".to_owned());
    };
    if process::quiet(Command::new("apt-get").arg("--version")).is_none() {
        return Err("there is no apt-get".to_owned());
    }
    let apt = |arguments: &[&str]| {
        let words: Vec<&str> =
            prefix.iter().chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]).copied().collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(arguments);
        process::run_within(&mut command, APT_LIMIT).map_err(|error| format!("{error:#}"))
    };
    let known = |package: &&str| {
        let policy = process::quiet(Command::new("apt-cache").args(["policy", package])).unwrap_or_default();
        policy.contains("Candidate:") && !policy.contains("Candidate: (none)")
    };
    if !packages.iter().all(known) {
        apt(&["update", "-q"])?;
    }
    // They conflict with Debian's older compiler: who works with that must not lose it to us.
    let install = ["install", "-qq", "-y", "-o=Dpkg::Use-Pty=0", "--no-install-recommends", "--no-remove"];
    let install: Vec<&str> = install.iter().chain(packages).copied().collect();
    // A list of packages that is days old names versions that are gone: once more with a new one.
    apt(&install).or_else(|_| apt(&["update", "-q"]).and_then(|()| apt(&install)))
}

/// `rust-lld` of the active toolchain, or LLVM's own `wasm-ld`.
fn linker(workspace: &Workspace) -> Option<PathBuf> {
    let bundled =
        sysroot(workspace).zip(host(workspace)).map(|(root, host)| library(&root, &host).join("bin/rust-lld"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join("wasm-ld"));
    bundled.into_iter().chain(in_path).find(|candidate| candidate.is_file())
}

/// The active toolchain's rustc: the one beside its cargo, as cargo would take it.
fn rustc(workspace: &Workspace) -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.current_dir(&workspace.root);
    command
}

fn sysroot(workspace: &Workspace) -> Option<PathBuf> {
    process::quiet(rustc(workspace).args(["--print", "sysroot"])).map(PathBuf::from)
}

fn host(workspace: &Workspace) -> Option<String> {
    let version = process::quiet(rustc(workspace).arg("-vV"))?;
    version.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}

/// Where a toolchain keeps what belongs to one target.
fn library(sysroot: &Path, target: &str) -> PathBuf {
    sysroot.join("lib/rustlib").join(target)
}
