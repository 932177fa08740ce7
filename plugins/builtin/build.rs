//! Finds the compiled plugins and lists them for `src/lib.rs`.
//!
//! Cargo cannot build a dependency for another target with another profile, and a build script that ran cargo would
//! wait for the lock that its own cargo holds, or build everything twice. So `cargo xtask components` builds the
//! plugins beforehand, and this script only looks for the result, in this order:
//!
//! 1. `components/` of this crate: only a published crate has it, filled before packaging;
//! 2. the folder named by `CTXE_COMPONENTS`;
//! 3. `components/` of the target folder that this build uses.
//!
//! Test guests lie in the same folder as the plugins. In a checkout, the plugins are therefore the folders beside
//! this crate that are a `cdylib`; a component by another name is left alone.
//!
//! A debug build without components embeds none and warns, so that the rest of the workspace can be worked on. A
//! release build fails: a `ctxe` that ships without strategies helps nobody.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "CTXE_COMPONENTS";

/// The compiled plugins: their names, sorted, and where they are or should be.
struct Components {
    folder: PathBuf,
    /// What must be there. A published crate ships what it ships.
    names: Vec<String>,
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    if let Err(error) = embed() {
        println!("cargo::error=cannot embed the plugins: {error}");
    }
}

fn embed() -> io::Result<()> {
    let crate_folder = variable("CARGO_MANIFEST_DIR")?;
    let out = variable("OUT_DIR")?;
    let components = match packaged(&crate_folder) {
        Some(components) => components,
        None => Components { folder: components_folder(&crate_folder, &out), names: plugins_beside(&crate_folder)? },
    };
    // An existing folder can be watched; cargo takes a missing one for a change on every build.
    let _ = fs::create_dir_all(&components.folder);
    println!("cargo::rerun-if-changed={}", components.folder.display());

    let file_of = |name: &String| components.folder.join(format!("{name}.wasm"));
    let (found, missing): (Vec<_>, Vec<_>) = components.names.iter().partition(|name| file_of(name).is_file());
    let mut list = String::from("&[\n");
    for name in found {
        // Copied, so that rustc reads what was found now and not what another build put there since.
        fs::copy(file_of(name), out.join(format!("{name}.wasm")))?;
        let _ = writeln!(list, "    ({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.wasm\"))),");
    }
    list.push_str("]\n");
    fs::write(out.join("embedded.rs"), list)?;

    if !missing.is_empty() {
        let names = missing.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        let folder = components.folder.display();
        report(&format!("no compiled {names} in {folder}: run `cargo xtask components`, then build again"));
    }
    Ok(())
}

/// A warning in a debug build, an error in any other.
fn report(message: &str) {
    let debug = env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    println!("cargo::{}={message}", if debug { "warning" } else { "error" });
}

/// The components that a published crate brings.
fn packaged(crate_folder: &Path) -> Option<Components> {
    let folder = crate_folder.join("components");
    let files = fs::read_dir(&folder).ok()?;
    let mut names: Vec<String> =
        files.filter_map(|file| file.ok()?.file_name().to_str()?.strip_suffix(".wasm").map(str::to_owned)).collect();
    names.sort();
    (!names.is_empty()).then_some(Components { folder, names })
}

/// The plugins of a checkout. Empty outside of one, where the neighbours are other people's crates.
fn plugins_beside(crate_folder: &Path) -> io::Result<Vec<String>> {
    let in_checkout = crate_folder.join("../../wit/worlds.wit").is_file();
    let Some(plugins) = crate_folder.parent().filter(|_| in_checkout) else {
        return Err(io::Error::other("this copy of the crate has no `components` folder; take a published one"));
    };
    let mut names = Vec::new();
    for folder in fs::read_dir(plugins)? {
        let folder = folder?;
        let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap_or_default();
        if manifest.lines().any(|line| line.starts_with("crate-type") && line.contains("\"cdylib\"")) {
            names.extend(folder.file_name().into_string());
        }
    }
    names.sort();
    Ok(names)
}

/// Where `cargo xtask components` puts its work.
fn components_folder(crate_folder: &Path, out: &Path) -> PathBuf {
    if let Some(folder) = env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        return folder.into();
    }
    // Cargo marks the root of its target folder with this file. With a build folder of its own, OUT_DIR is not in
    // the target folder at all; then what is left is the variable, if absolute, and the default.
    let marked = out.ancestors().filter(|folder| folder.join("CACHEDIR.TAG").is_file()).map(Path::to_path_buf);
    let named = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let default = crate_folder.join("../../target");
    let candidates: Vec<PathBuf> =
        marked.chain(named).chain([default]).map(|target| target.join("components")).collect();
    let existing = candidates.iter().find(|folder| folder.is_dir());
    existing.or(candidates.first()).cloned().unwrap_or_default()
}

/// A variable that cargo always sets, as a path.
fn variable(name: &str) -> io::Result<PathBuf> {
    env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(format!("cargo did not set {name}")))
}
