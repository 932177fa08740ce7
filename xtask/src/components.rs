//! Plugins and test guests as WebAssembly components, in `<target>/components/<package>.wasm`.
//!
//! Two steps: cargo compiles a core module that carries the ABI in a custom section, and wit-component wraps it into
//! a component that says by itself what it imports and exports. A file is written only when its bytes change, so
//! that cargo does not rebuild what embeds it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use wit_component::ComponentEncoder;

use crate::process;
use crate::toolchain::{self, BARE, Toolchain, WASI};
use crate::workspace::{Guest, GuestKind, Workspace};

/// The cargo profile of the workspace for what becomes a component.
const PROFILE: &str = "component";

/// Builds all of them; returns their folder.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    let start = Instant::now();
    if workspace.guests.is_empty() {
        bail!("no member of this workspace is a cdylib, so there is nothing to build");
    }
    let folder = workspace.components();
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let found = toolchain::find(workspace)?;

    let all: Vec<&Guest> = workspace.guests.iter().collect();
    for (guest, file) in compile(workspace, &found.toolchain, BARE, &all)? {
        let component = encode(&read(&file)?).with_context(|| {
            format!("{} is no component (does {} export a hook with contextengine-sdk?)", file.display(), guest.package)
        })?;
        store(workspace, &folder.join(format!("{}.wasm", guest.package)), &component)?;
    }

    let tests: Vec<&Guest> = all.into_iter().filter(|guest| guest.kind == GuestKind::TestGuest).collect();
    let wasi_file = |guest: &Guest| folder.join(format!("{}.wasip2.wasm", guest.package));
    match found.wasi {
        Ok(()) => {
            for (guest, file) in compile(workspace, &Toolchain::Active, WASI, &tests)? {
                store(workspace, &folder.join(format!("{}.wasip2.wasm", guest.package)), &read(&file)?)?;
            }
        }
        Err(why) => {
            eprintln!("skipped the test guests for {WASI}: {why}");
            // What an earlier build left is of other source by now.
            for guest in tests {
                let _ = fs::remove_file(wasi_file(guest));
            }
        }
    }
    warn_of_packaged_copy(workspace);
    eprintln!("components: done in {:.1} s, in {}", start.elapsed().as_secs_f64(), folder.display());
    Ok(folder)
}

/// Compiles `guests` and pairs each with the module that came of it.
fn compile<'a>(
    workspace: &Workspace,
    toolchain: &Toolchain,
    target: &str,
    guests: &[&'a Guest],
) -> Result<Vec<(&'a Guest, PathBuf)>> {
    if guests.is_empty() {
        return Ok(Vec::new());
    }
    let mut command = toolchain.build(workspace, target);
    command.args(["--profile", PROFILE]);
    for guest in guests {
        command.args(["--package", &guest.package]);
    }
    process::run(&mut command)?;
    let output = toolchain.target_dir(workspace).join(target).join(PROFILE);
    Ok(guests.iter().map(|guest| (*guest, output.join(format!("{}.wasm", guest.library)))).collect())
}

/// A core module as a component.
fn encode(module: &[u8]) -> Result<Vec<u8>> {
    ComponentEncoder::default().module(module)?.validate(true).encode()
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Writes whole or not at all, and only what is new: a test that runs meanwhile never sees half a file.
fn store(workspace: &Workspace, file: &Path, bytes: &[u8]) -> Result<()> {
    let size = bytes.len().div_ceil(1024);
    if fs::read(file).is_ok_and(|old| old == bytes) {
        eprintln!("  {} ({size} KiB, unchanged)", workspace.shown(file));
        return Ok(());
    }
    // The process id keeps two runs at the same time apart.
    let temporary = file.with_extension(format!("wasm.{}.tmp", std::process::id()));
    fs::write(&temporary, bytes)
        .and_then(|()| fs::rename(&temporary, file))
        .with_context(|| format!("cannot write {}", file.display()))?;
    eprintln!("  {} ({size} KiB, written)", workspace.shown(file));
    Ok(())
}

/// What was put into the crate for publishing hides what is built here.
fn warn_of_packaged_copy(workspace: &Workspace) {
    let packaged = workspace.root.join("plugins/builtin/components");
    if packaged.exists() {
        eprintln!(
            "warning: {} exists, so contextengine-builtin embeds that and not what was just built; \
             remove it after publishing",
            workspace.shown(&packaged)
        );
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
    use super::*;

    /// A core module's first eight bytes and nothing else.
    const EMPTY_MODULE: &[u8] = b"\0asm\x01\0\0\0";

    #[test]
    fn what_is_no_module_is_no_component() {
        assert!(encode(b"not wasm").is_err());
    }

    #[test]
    fn a_file_is_written_only_when_its_bytes_change() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace { root: folder.path().into(), target: folder.path().into(), guests: Vec::new() };
        let file = folder.path().join("a.wasm");
        store(&workspace, &file, EMPTY_MODULE).unwrap();
        let past = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        fs::File::options().write(true).open(&file).unwrap().set_modified(past).unwrap();

        store(&workspace, &file, EMPTY_MODULE).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), past);
        store(&workspace, &file, b"new").unwrap();
        assert_ne!(fs::metadata(&file).unwrap().modified().unwrap(), past);
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file was left");
    }
}
