//! What is in the checkout: its root, its target folder, and the crates that become components.
//!
//! Found by asking cargo, so that a new plugin needs no line here.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::process;

/// The checkout that `cargo xtask` was called in.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The folder of the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Where cargo builds: `CARGO_TARGET_DIR`, cargo's configuration, or `target`.
    pub(crate) target: PathBuf,
    /// The crates that compile to WebAssembly, in cargo's order.
    pub(crate) guests: Vec<Guest>,
}

/// A crate that compiles to a component: every workspace member that is a `cdylib`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    /// Package name, and file name of the component.
    pub(crate) package: String,
    /// Library name, by which cargo names its output: dashes are underscores.
    pub(crate) library: String,
    pub(crate) kind: GuestKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuestKind {
    /// Below `plugins/`: shipped, built into `ctxe`.
    Plugin,
    /// Anywhere else: only for tests, and built for more targets than a plugin.
    TestGuest,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        let mut metadata = cargo();
        metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
        // `cargo run` says whose xtask this is, wherever it was called from.
        if let Some(here) = std::env::var_os("CARGO_MANIFEST_DIR") {
            metadata.current_dir(here);
        }
        let output = metadata.output().context("cannot start cargo")?;
        if !output.status.success() {
            bail!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        let metadata = serde_json::from_slice(&output.stdout).context("cargo metadata gave no JSON")?;
        Self::from_metadata(&metadata)
    }

    fn from_metadata(metadata: &Value) -> Result<Self> {
        let root = PathBuf::from(string(metadata, "workspace_root")?);
        let target = PathBuf::from(string(metadata, "target_directory")?);
        let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
        let mut guests = Vec::new();
        for package in packages {
            guests.extend(Guest::from_package(package, &root)?);
        }
        Ok(Self { root, target, guests })
    }

    /// Where the components are put.
    pub(crate) fn components(&self) -> PathBuf {
        self.target.join("components")
    }

    /// The cargo that runs us, in the root, told where the components are.
    ///
    /// Every command passes the folder, since cargo rebuilds what embeds them when the variable comes or goes.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = cargo();
        command.current_dir(&self.root).env("CTXE_COMPONENTS", self.components());
        command
    }

    /// A path as a person in the root would write it.
    pub(crate) fn shown<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}

impl Guest {
    /// `None` for a package that is no `cdylib`.
    fn from_package(package: &Value, root: &Path) -> Result<Option<Self>> {
        let targets = package["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
        // The kind, not the crate types: an example can be a cdylib too, and is not what a package builds to.
        let is_cdylib =
            |target: &&Value| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "cdylib"));
        let Some(library) = targets.iter().find(is_cdylib) else {
            return Ok(None);
        };
        let name = string(package, "name")?;
        let manifest = Path::new(string(package, "manifest_path")?);
        let folder = manifest.parent().unwrap_or(manifest);
        let kind = if folder.starts_with(root.join("plugins")) { GuestKind::Plugin } else { GuestKind::TestGuest };
        // The crate that embeds the plugins looks for a component by the name of the plugin's folder.
        if kind == GuestKind::Plugin && folder.file_name().is_none_or(|folder| folder != name) {
            bail!("{}: a plugin's folder and package have one name, but the package is `{name}`", manifest.display());
        }
        let library = string(library, "name")?.replace('-', "_");
        Ok(Some(Self { package: name.to_owned(), library, kind }))
    }
}

/// The cargo that runs us, or the one in `PATH`.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn string<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key].as_str().with_context(|| format!("cargo metadata has no `{key}`"))
}

/// Whether cargo has this subcommand, like `deny`.
pub(crate) fn has_subcommand(workspace: &Workspace, name: &str) -> bool {
    process::quiet(workspace.cargo().args([name, "--version"])).is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
    use super::*;
    use serde_json::json;

    fn package(name: &str, manifest: &str, kinds: &[&str]) -> Value {
        json!({
            "name": name, "manifest_path": manifest,
            "targets": [
                {"name": "try", "kind": ["example"], "crate_types": ["cdylib"]},
                {"name": name, "kind": kinds, "crate_types": kinds},
            ],
        })
    }

    #[test]
    fn every_cdylib_is_a_guest_and_only_those_below_plugins_are_plugins() {
        let metadata = json!({
            "workspace_root": "/w", "target_directory": "/t",
            "packages": [
                package("engine", "/w/engine/Cargo.toml", &["lib"]),
                package("tool-prune", "/w/plugins/tool-prune/Cargo.toml", &["cdylib", "rlib"]),
                package("builtin", "/w/plugins/builtin/Cargo.toml", &["lib"]),
                package("bad-guest", "/w/tests/guest/Cargo.toml", &["cdylib"]),
            ],
        });
        let found = Workspace::from_metadata(&metadata).unwrap().guests;
        let guest = |package: &str, library: &str, kind| Guest {
            package: package.to_owned(),
            library: library.to_owned(),
            kind,
        };
        let expected = vec![
            guest("tool-prune", "tool_prune", GuestKind::Plugin),
            guest("bad-guest", "bad_guest", GuestKind::TestGuest),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_plugin_whose_folder_has_another_name_is_an_error() {
        let metadata = json!({
            "workspace_root": "/w", "target_directory": "/t",
            "packages": [package("tool-prune", "/w/plugins/prune/Cargo.toml", &["cdylib"])],
        });
        let error = Workspace::from_metadata(&metadata).unwrap_err().to_string();
        assert!(error.contains("plugins/prune") && error.contains("tool-prune"), "{error}");
    }
}
