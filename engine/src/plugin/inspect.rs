//! What a component says of itself before any of it is compiled or run.
//!
//! The whole file is parsed first: a truncated one is found here and not in the compiler. Then its exports and
//! imports are held against the plugin API, down to the types of its functions, and what does not fit is named in
//! words. The engine compares all of it again when it links.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use wasmparser::component_types::{
    ComponentAnyTypeId, ComponentEntityType, ComponentFuncTypeId, ComponentInstanceTypeId, ComponentItem,
    ComponentTypeId,
};
use wasmparser::types::Types;
use wasmparser::{Encoding, Parser, Payload, ValidPayload, Validator, WasmFeatures};
use wasmtime::Engine;

use super::LoadError;
use super::bindings::COMPONENT_TYPE;
use super::shape;
use super::version::Version;
use crate::hooks::Hook;

/// The version of the plugin API that this host serves.
pub const API_VERSION: &str = "0.1.0";

/// Package of the plugin API.
const PACKAGE: &str = "contextengine:plugin/";
/// Custom section in which an SDK writes the API version.
const VERSION_SECTION: &str = "contextengine:api-version";
/// Interfaces of WASI 0.2 that every plugin is given, empty.
const WASI: [&str; 6] = ["cli", "clocks", "filesystem", "io", "random", "sockets"];

/// What the rest of loading needs to know.
#[derive(Debug)]
pub(super) struct Inspected {
    /// The hooks that the component exports, in the order of [`Hook::ALL`].
    pub(super) hooks: Vec<Hook>,
    /// Names of its imports.
    pub(super) imports: Vec<String>,
}

/// Reads a component and refuses one that cannot work with this host.
pub(super) fn inspect(bytes: &[u8]) -> Result<Inspected, LoadError> {
    check_header(bytes)?;
    let component = Parsed::new(bytes)?;
    if let Some(version) = &component.api_version {
        check_version(version)?;
    }
    let host = HostApi::get()?;
    let hooks = check_exports(&component, host)?;
    check_imports(&component, host)?;
    Ok(Inspected { hooks, imports: component.imports })
}

/// Tells what else the file may be.
fn check_header(bytes: &[u8]) -> Result<(), LoadError> {
    let not_wasm =
        |what: &str, advice: &str| Err(LoadError::NotWasm { what: what.to_owned(), advice: advice.to_owned() });
    if bytes.is_empty() {
        return not_wasm("the file is empty", "copy or build it again");
    }
    if Engine::detect_precompiled(bytes).is_some() {
        return not_wasm(
            "machine code that was compiled before (.cwasm)",
            "such code is not taken from plugins, as nothing could confine it; load the .wasm file",
        );
    }
    if bytes.starts_with(b"\x7fELF") || bytes.starts_with(b"MZ") || bytes.starts_with(b"\xcf\xfa\xed\xfe") {
        return not_wasm("a native library or program", "a WebAssembly component is expected");
    }
    if !bytes.starts_with(b"\0asm") {
        let text = bytes.trim_ascii_start();
        return if text.starts_with(b"(") || text.starts_with(b";;") {
            not_wasm("WebAssembly text", "turn it into a binary with `wasm-tools parse`")
        } else {
            not_wasm("not WebAssembly at all", "a WebAssembly component is expected")
        };
    }
    Ok(())
}

/// The outermost level of a component.
struct Parsed {
    types: Types,
    imports: Vec<String>,
    exports: Vec<String>,
    api_version: Option<String>,
}

impl Parsed {
    fn new(bytes: &[u8]) -> Result<Self, LoadError> {
        let malformed = |offset: usize, reason: String| LoadError::Malformed { offset: offset as u64, reason };
        let broken = |error: wasmparser::BinaryReaderError| malformed(error.offset(), error.message().to_owned());
        // What the engine can run is for the engine to say; here everything that is known can be read.
        let mut validator = Validator::new_with_features(WasmFeatures::all());
        let (mut imports, mut exports) = (Vec::new(), Vec::new());
        let (mut api_version, mut types) = (None, None);
        let mut depth = 0_u32;
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.map_err(broken)?;
            match &payload {
                Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => return Err(LoadError::CoreModule),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section.clone() {
                        imports.push(import.map_err(broken)?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section.clone() {
                        exports.push(export.map_err(broken)?.name.name.to_owned());
                    }
                }
                // A core module inside the component carries it there.
                Payload::CustomSection(section) if section.name() == VERSION_SECTION && api_version.is_none() => {
                    api_version = Some(String::from_utf8_lossy(section.data()).trim().to_owned());
                }
                _ => {}
            }
            // Bodies of functions are left to the compiler, which validates them again anyway.
            match validator.payload(&payload).map_err(broken)? {
                ValidPayload::Parser(_) => depth += 1,
                ValidPayload::End(found) if depth == 0 => types = Some(found),
                ValidPayload::End(_) => depth = depth.saturating_sub(1),
                ValidPayload::Ok | ValidPayload::Func(..) => {}
            }
        }
        let types = types.ok_or_else(|| malformed(bytes.len(), "it ends too early".to_owned()))?;
        Ok(Self { types, imports, exports, api_version })
    }

    /// The functions of an instance that is imported or exported; none if it is no instance.
    fn functions(&self, item: Option<&ComponentItem>) -> Functions {
        match item.map(|item| item.ty) {
            Some(ComponentEntityType::Instance(id)) => functions(&self.types, id),
            _ => Functions::new(),
        }
    }
}

/// Functions of an interface, by name.
type Functions = BTreeMap<String, ComponentFuncTypeId>;

fn functions(types: &Types, instance: ComponentInstanceTypeId) -> Functions {
    let exports = types[instance].exports.iter();
    exports
        .filter_map(|(name, item)| match item.ty {
            ComponentEntityType::Func(id) => Some((name.clone(), id)),
            _ => None,
        })
        .collect()
}

/// Functions of every interface of the plugin API, as the generated bindings have them.
struct HostApi {
    types: Types,
    imports: BTreeMap<String, Functions>,
    exports: BTreeMap<String, Functions>,
}

impl HostApi {
    fn get() -> Result<&'static Self, LoadError> {
        static API: OnceLock<Option<HostApi>> = OnceLock::new();
        API.get_or_init(Self::read).as_ref().ok_or_else(|| LoadError::Internal {
            reason: "this host does not know its own plugin API; it was built wrongly".to_owned(),
        })
    }

    /// The world is encoded as a component that exports one type, the type of a component that exports the type of
    /// the world.
    fn read() -> Option<Self> {
        let parsed = Parsed::new(COMPONENT_TYPE).ok()?;
        let types = &parsed.types;
        let outer = parsed.exports.iter().find_map(|name| component_type(types.component_item_for_export(name)?.ty))?;
        let world = types[outer].exports.values().find_map(|item| component_type(item.ty))?;
        let interfaces = |items: &mut dyn Iterator<Item = (&String, ComponentEntityType)>| {
            items
                .filter_map(|(name, ty)| match ty {
                    ComponentEntityType::Instance(id) => {
                        let interface = name.strip_prefix(PACKAGE)?.strip_suffix(API_VERSION)?.strip_suffix('@')?;
                        Some((interface.to_owned(), functions(types, id)))
                    }
                    _ => None,
                })
                .collect::<BTreeMap<_, _>>()
        };
        let world = &types[world];
        let imports = interfaces(&mut world.imports.iter().map(|(name, item)| (name, item.ty)));
        let exports = interfaces(&mut world.exports.iter().map(|(name, item)| (name, item.ty)));
        Some(Self { types: parsed.types, imports, exports })
    }
}

fn component_type(ty: ComponentEntityType) -> Option<ComponentTypeId> {
    match ty {
        ComponentEntityType::Component(id)
        | ComponentEntityType::Type { referenced: ComponentAnyTypeId::Component(id), .. } => Some(id),
        _ => None,
    }
}

/// Refuses a version of the plugin API that is not the one served.
fn check_version(text: &str) -> Result<(), LoadError> {
    let host = Version::parse(API_VERSION);
    let version = Version::parse(text);
    match (version, host) {
        (Some(version), Some(host)) if version.serves_with(host) => Ok(()),
        (version, host) => Err(LoadError::ApiVersion {
            plugin: if text.is_empty() { "without a version".to_owned() } else { text.to_owned() },
            host: API_VERSION,
            newer: version.is_some() && version > host,
        }),
    }
}

/// Interface and version of a name such as `contextengine:plugin/compressor@0.1.0`.
fn interface_of<'a>(name: &'a str, package: &str) -> Option<(&'a str, &'a str)> {
    let name = name.strip_prefix(package)?;
    Some(name.split_once('@').unwrap_or((name, "")))
}

fn check_exports(component: &Parsed, host: &HostApi) -> Result<Vec<Hook>, LoadError> {
    let mut found = BTreeSet::new();
    for name in &component.exports {
        let Some((interface, version)) = interface_of(name, PACKAGE) else { continue };
        check_version(version)?;
        // An interface of a later version of the API: nothing here would call it.
        let Some(expected) = host.exports.get(interface) else { continue };
        let item = component.types.component_item_for_export(name);
        let functions = component.functions(item);
        for (function, ours) in expected {
            let Some(theirs) = functions.get(function) else {
                return Err(LoadError::MissingFunction {
                    interface: name.clone(),
                    function: readable(function),
                    host: API_VERSION,
                });
            };
            check_shape(name, function, (component, *theirs), (host, *ours))?;
        }
        found.insert(interface);
    }
    if !found.contains("plugin") {
        return Err(LoadError::NoPlugin { exports: component.exports.clone() });
    }
    let hooks: Vec<Hook> = Hook::ALL.into_iter().filter(|hook| found.contains(hook.interface())).collect();
    if hooks.is_empty() { Err(LoadError::NoHook) } else { Ok(hooks) }
}

/// Refuses a function of another type.
fn check_shape(
    interface: &str,
    function: &str,
    (plugin, theirs): (&Parsed, ComponentFuncTypeId),
    (host, ours): (&HostApi, ComponentFuncTypeId),
) -> Result<(), LoadError> {
    let place = shape::difference((&plugin.types, &plugin.types[theirs]), (&host.types, &host.types[ours]));
    place.map_or(Ok(()), |place| {
        Err(LoadError::Signature {
            interface: interface.to_owned(),
            detail: format!("`{}` differs at {place}", readable(function)),
            host: API_VERSION,
        })
    })
}

fn check_imports(component: &Parsed, host: &HostApi) -> Result<(), LoadError> {
    for name in &component.imports {
        if let Some((interface, version)) = interface_of(name, PACKAGE) {
            check_version(version)?;
            let item = component.types.component_item_for_import(name);
            let known = host.imports.get(interface).ok_or_else(|| LoadError::UnknownImport {
                import: name.clone(),
                reason: format!("plugin API {API_VERSION} has no interface `{interface}`; update this program"),
            })?;
            for (function, theirs) in component.functions(item) {
                let Some(ours) = known.get(&function) else {
                    return Err(LoadError::UnknownFunction {
                        interface: name.clone(),
                        function: readable(&function),
                        host: API_VERSION,
                    });
                };
                check_shape(name, &function, (component, theirs), (host, *ours))?;
            }
        } else if let Err(reason) = check_foreign_import(name) {
            return Err(LoadError::UnknownImport { import: name.clone(), reason });
        }
    }
    Ok(())
}

/// Whether an import of another package is served; the error says why it is not.
fn check_foreign_import(name: &str) -> Result<(), String> {
    let general = "a plugin may import the interfaces of contextengine:plugin and of WASI 0.2";
    let Some((package, rest)) = name.strip_prefix("wasi:").and_then(|name| name.split_once('/')) else {
        return Err(general.to_owned());
    };
    if package == "http" {
        return Err("plugins have no network; ask the operator for the service `model`, or leave HTTP out when \
                    building the component"
            .to_owned());
    }
    let version = rest.split_once('@').map_or("", |(_, version)| version);
    if !WASI.contains(&package) {
        return Err(general.to_owned());
    }
    if !version.starts_with("0.2.") {
        return Err(format!("of WASI only version 0.2 is served, not {version}; build for `wasm32-wasip2`"));
    }
    Ok(())
}

/// A function as its WIT spells it: `[method]view.len` is `view.len`.
fn readable(function: &str) -> String {
    function.split_once(']').map_or(function, |(_, name)| name).to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn the_host_knows_its_own_api() {
        let api = HostApi::get().unwrap();
        for hook in Hook::ALL {
            assert!(api.exports.contains_key(hook.interface()), "{hook:?} ");
        }
        assert!(api.exports["compressor"].contains_key("should-compress"));
        assert!(api.imports["types"].contains_key("[method]view.text-range"));
        assert_eq!(api.imports.len(), 7, "{:?}", api.imports.keys());
        assert_eq!(api.exports.len(), 7, "{:?}", api.exports.keys());
    }

    #[test]
    fn code_that_was_compiled_before_is_not_taken() {
        let engine = Engine::default();
        let compiled = engine.precompile_component(b"\0asm\x0d\0\x01\0").unwrap();
        let error = inspect(&compiled).unwrap_err();
        assert!(error.to_string().contains("machine code that was compiled before (.cwasm)"), "{error}");
    }

    #[test]
    fn only_the_packages_of_wasi_that_are_served_pass() {
        assert!(check_foreign_import("wasi:cli/stderr@0.2.6").is_ok());
        assert!(check_foreign_import("wasi:http/types@0.2.0").unwrap_err().contains("network"));
        assert!(check_foreign_import("wasi:clocks/wall-clock@0.3.0").unwrap_err().contains("0.3.0"));
        assert!(check_foreign_import("wasi:nn/graph@0.2.0").is_err());
        assert!(check_foreign_import("console").is_err());
    }
}
