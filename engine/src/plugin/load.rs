use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use wasmtime::Store;
use wasmtime::component::{Component, Instance as ComponentInstance, InstancePre};

use super::bindings::exports::contextengine::plugin::{
    branch_summarizer, compressor, observer, plugin, reducer, selector, toolbox,
};
use super::call::{self, Call, Watch};
use super::convert;
use super::error::{CallError, LoadError};
use super::host::{HostState, Services};
use super::inspect::{self, API_VERSION, Inspected};
use super::instance::Instance;
use super::limits::{Limits, LoadOptions};
use super::runtime::Runtime;
use crate::hooks::{Description, Hook, Service};
use crate::tokens::TokenCounter;

/// Characters of an id: it is written in configurations and shown in tables.
const MAX_ID: usize = 64;

/// Bytes of a page of WebAssembly memory.
const PAGE: u64 = 64 << 10;

/// A plugin that was loaded: compiled, linked, described, and its configuration accepted. A clone is the same plugin.
#[derive(Clone)]
pub struct Plugin {
    inner: Arc<Inner>,
}

struct Inner {
    runtime: Runtime,
    pre: InstancePre<HostState>,
    indices: Indices,
    hooks: Vec<Hook>,
    description: Description,
    hash: String,
    options: LoadOptions,
}

/// Where the functions of the exported interfaces are. The other hooks are checked when loading; no call needs
/// them yet.
pub(super) struct Indices {
    pub(super) plugin: plugin::GuestIndices,
    pub(super) compressor: Option<compressor::GuestIndices>,
    pub(super) selector: Option<selector::GuestIndices>,
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin")
            .field("id", &self.inner.description.id)
            .field("version", &self.inner.description.version)
            .field("hooks", &self.inner.hooks)
            .field("hash", &self.inner.hash)
            .finish_non_exhaustive()
    }
}

impl Plugin {
    /// Loads a component. Compiling takes some hundred milliseconds the first time, a few if the runtime has a cache.
    ///
    /// What the plugin is may be checked, compiled and asked for a description without any trust in it: it gets
    /// nothing but its configuration, under its limits. Must be awaited in a tokio runtime of either kind that has its
    /// clock enabled.
    pub async fn load(runtime: &Runtime, bytes: &[u8], options: LoadOptions) -> Result<Self, LoadError> {
        let Prepared { inspected, component, hash } = prepare(runtime, bytes).await?;
        check_memory(&component, &options.limits)?;
        let pre = runtime.linker().instantiate_pre(&component).map_err(|error| unlinkable(&inspected, &error))?;
        let indices = Indices::find(&pre, &inspected.hooks)?;
        let description = try_out(runtime, &pre, &indices, &inspected.hooks, &options).await?;
        let (runtime, hooks) = (runtime.clone(), inspected.hooks);
        Ok(Self { inner: Arc::new(Inner { runtime, pre, indices, hooks, description, hash, options }) })
    }

    /// What the plugin says of itself.
    pub fn description(&self) -> &Description {
        &self.inner.description
    }

    /// What it can own: the hooks that it exports.
    pub fn hooks(&self) -> &[Hook] {
        &self.inner.hooks
    }

    /// SHA-256 of the component, as hexadecimal digits.
    pub fn component_hash(&self) -> &str {
        &self.inner.hash
    }

    /// What each of its instances may use.
    pub fn limits(&self) -> &Limits {
        &self.inner.options.limits
    }

    /// Starts an instance, for one session and one turn.
    pub async fn instance(&self, services: Services) -> Result<Instance, CallError> {
        Instance::start(self, services).await
    }

    pub(super) fn runtime(&self) -> &Runtime {
        &self.inner.runtime
    }

    pub(super) fn config(&self) -> &str {
        &self.inner.options.config
    }

    pub(super) fn indices(&self) -> &Indices {
        &self.inner.indices
    }

    pub(super) async fn instantiate(&self, store: &mut Store<HostState>) -> Result<ComponentInstance, CallError> {
        instantiate(&self.inner.pre, store, self.limits()).await
    }
}

impl Indices {
    fn find(pre: &InstancePre<HostState>, hooks: &[Hook]) -> Result<Self, LoadError> {
        let plugin = plugin::GuestIndices::new(pre).map_err(|error| signature("plugin", &error))?;
        let compressor = hooks
            .contains(&Hook::Compressor)
            .then(|| compressor::GuestIndices::new(pre))
            .transpose()
            .map_err(|error| signature(Hook::Compressor.interface(), &error))?;
        let selector = hooks
            .contains(&Hook::Selector)
            .then(|| selector::GuestIndices::new(pre))
            .transpose()
            .map_err(|error| signature(Hook::Selector.interface(), &error))?;
        Ok(Self { plugin, compressor, selector })
    }
}

/// What is known of a component before it runs.
struct Prepared {
    inspected: Inspected,
    component: Component,
    hash: String,
}

/// Reads and compiles on a thread for that: it takes long, and a defect of a parser or compiler must not take the host
/// with it.
async fn prepare(runtime: &Runtime, bytes: &[u8]) -> Result<Prepared, LoadError> {
    let internal = |reason: &str| LoadError::Internal { reason: reason.to_owned() };
    let tokio = tokio::runtime::Handle::try_current()
        .map_err(|_| internal("Plugin::load was awaited outside of a tokio runtime"))?;
    let engine = runtime.engine().clone();
    let bytes = bytes.to_vec();
    let prepared = tokio.spawn_blocking(move || {
        let inspected = inspect::inspect(&bytes)?;
        let component = Component::from_binary(&engine, &bytes)
            .map_err(|error| LoadError::Compile { reason: compile_advice(format!("{error:#}")) })?;
        let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Prepared { inspected, component, hash })
    });
    prepared.await.unwrap_or_else(|join| {
        Err(if join.is_panic() {
            let reason = "the compiler itself broke off, which is a defect of it; report the component".to_owned();
            LoadError::Compile { reason }
        } else {
            internal("the tokio runtime is shutting down")
        })
    })
}

fn compile_advice(reason: String) -> String {
    if reason.contains("component model async") {
        return format!("{reason}; build it for synchronous calls (jco: --backend-qjs-disable-async)");
    }
    reason
}

/// Finds out before anything is allocated that there cannot be enough memory.
fn check_memory(component: &Component, limits: &Limits) -> Result<(), LoadError> {
    let pages = component.resources_required().and_then(|resources| resources.max_initial_memory_size);
    match pages.map(|pages| pages.saturating_mul(PAGE)) {
        Some(required) if required > limits.memory_bytes => {
            Err(LoadError::Memory { required, limit: limits.memory_bytes })
        }
        _ => Ok(()),
    }
}

/// The names fitted, so it is a type, or a function of WASI, that does not.
fn unlinkable(inspected: &Inspected, error: &wasmtime::Error) -> LoadError {
    let detail = format!("{error:#}");
    let import = inspected.imports.iter().find(|name| detail.contains(&format!("`{name}`")));
    match import {
        Some(import) if import.starts_with("wasi:") => {
            LoadError::UnknownImport { import: import.clone(), reason: detail }
        }
        Some(import) => signature(import, error),
        None => signature("imports", error),
    }
}

fn signature(interface: &str, error: &wasmtime::Error) -> LoadError {
    LoadError::Signature { interface: interface.to_owned(), detail: format!("{error:#}"), host: API_VERSION }
}

async fn instantiate(
    pre: &InstancePre<HostState>,
    store: &mut Store<HostState>,
    limits: &Limits,
) -> Result<ComponentInstance, CallError> {
    let watch = Watch::start(store, Call::Start, limits);
    let instance = watch.wait(pre.instantiate_async(&mut *store)).await;
    instance.map_err(|broken| watch.explain(store.data(), broken))
}

/// Runs the plugin once, outside of any session: do its functions have the right types, who is it, may it have what it
/// needs, and does it accept its configuration?
async fn try_out(
    runtime: &Runtime,
    pre: &InstancePre<HostState>,
    indices: &Indices,
    hooks: &[Hook],
    options: &LoadOptions,
) -> Result<Description, LoadError> {
    let limits = &options.limits;
    let services = Services::new(Arc::new(RoughCounter));
    let mut store = call::new_store(runtime, HostState::new(Arc::from("being loaded"), services, limits));
    let instance = instantiate(pre, &mut store, limits).await.map_err(LoadError::Describe)?;
    let guest =
        indices.plugin.load(&mut store, &instance).map_err(|error| signature("contextengine:plugin/plugin", &error))?;
    for hook in hooks {
        check_types(*hook, pre, &mut store, &instance).map_err(|error| signature(hook.interface(), &error))?;
    }

    let watch = Watch::start(&mut store, Call::Describe, limits);
    let answer = watch.wait(guest.call_describe(&mut store)).await;
    let description = answer.map_err(|broken| LoadError::Describe(watch.explain(store.data(), broken)))?;
    let description = convert::description(description);
    check_description(&description)?;
    check_grants(&description, options)?;
    check_is_object(&description, &options.config)?;

    let watch = Watch::start(&mut store, Call::Configure, limits);
    let answer = watch.wait(guest.call_configure(&mut store, &options.config)).await;
    match answer {
        Ok(Ok(())) => Ok(description),
        Ok(Err(reason)) => Err(LoadError::Config { plugin: description.id, reason }),
        Err(broken) => Err(LoadError::Configure { plugin: description.id, error: watch.explain(store.data(), broken) }),
    }
}

/// Compares the types of a hook's functions with those of the plugin API.
fn check_types(
    hook: Hook,
    pre: &InstancePre<HostState>,
    store: &mut Store<HostState>,
    instance: &ComponentInstance,
) -> wasmtime::Result<()> {
    match hook {
        Hook::Compressor => compressor::GuestIndices::new(pre)?.load(store, instance).map(drop),
        Hook::Selector => selector::GuestIndices::new(pre)?.load(store, instance).map(drop),
        Hook::Reducer => reducer::GuestIndices::new(pre)?.load(store, instance).map(drop),
        Hook::BranchSummarizer => branch_summarizer::GuestIndices::new(pre)?.load(store, instance).map(drop),
        Hook::Observer => observer::GuestIndices::new(pre)?.load(store, instance).map(drop),
        Hook::Toolbox => toolbox::GuestIndices::new(pre)?.load(store, instance).map(drop),
    }
}

fn check_description(description: &Description) -> Result<(), LoadError> {
    let wrong = |reason: String| Err(LoadError::Description { reason });
    let id = &description.id;
    let letter = |byte: u8| byte.is_ascii_lowercase();
    let well_formed = id.bytes().next().is_some_and(letter)
        && id.bytes().all(|byte| letter(byte) || byte.is_ascii_digit() || byte == b'-');
    if !well_formed || id.len() > MAX_ID {
        let shown: String = id.chars().take(MAX_ID).collect();
        return wrong(format!(
            "its id is {shown:?}, and an id is a small letter, then small letters, digits and hyphens, at most \
             {MAX_ID} together"
        ));
    }
    if description.version.trim().is_empty() {
        return wrong(format!("`{id}` gives no version, so nobody could tell which one wrote a summary"));
    }
    Ok(())
}

fn check_grants(description: &Description, options: &LoadOptions) -> Result<(), LoadError> {
    let missing: Vec<Service> =
        description.needs.iter().copied().filter(|service| !options.grants.contains(service)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(LoadError::NotGranted {
        plugin: description.id.clone(),
        missing,
        grants: options.grants.iter().copied().collect(),
    })
}

/// The ABI promises a JSON object to the plugin.
fn check_is_object(description: &Description, config: &str) -> Result<(), LoadError> {
    let reason = match serde_json::from_str::<serde_json::Value>(config) {
        Ok(serde_json::Value::Object(_)) => return Ok(()),
        Ok(_) => "it is JSON, but not an object".to_owned(),
        Err(error) => format!("it is not JSON: {error}"),
    };
    Err(LoadError::Config { plugin: description.id.clone(), reason })
}

/// For `configure` while loading, before there is a session with a model: four bytes a token.
#[derive(Debug)]
struct RoughCounter;

impl TokenCounter for RoughCounter {
    fn name(&self) -> &'static str {
        "bytes/4"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
    }
}
