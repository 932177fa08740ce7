use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use wasmtime::Store;
use wasmtime::component::{Component, Instance as ComponentInstance, InstancePre};

use super::call::{self, Call, Watch};
use super::convert;
use super::error::{CallError, LoadError};
use super::guests::{Indices, signature};
use super::host::{Access, HostState, Services};
use super::inspect::{self, Inspected};
use super::instance::Instance;
use super::limits::{Limits, LoadOptions};
use super::runtime::Runtime;
use super::schema;
use crate::hooks::{Description, Hook, Service, Tool};
use crate::services::Folders;
use crate::tokens::TokenCounter;

/// Begins the ids under which the host itself writes. No plugin can have one.
pub const RESERVED_PREFIX: &str = "builtin:";

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
    tools: Vec<Tool>,
    hash: String,
    options: LoadOptions,
    access: Access,
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
        let (description, tools) = try_out(runtime, &pre, &indices, &options).await?;
        let access = Access {
            plugin: Arc::from(description.id.as_str()),
            grants: options.grants.clone(),
            folders: Arc::new(
                Folders::new(options.folders.iter().cloned())
                    .map_err(|reason| LoadError::Folders { plugin: description.id.clone(), reason })?,
            ),
            warned: Arc::default(),
        };
        let (runtime, hooks) = (runtime.clone(), inspected.hooks);
        Ok(Self { inner: Arc::new(Inner { runtime, pre, indices, hooks, description, tools, hash, options, access }) })
    }

    /// What the plugin says of itself.
    pub fn description(&self) -> &Description {
        &self.inner.description
    }

    /// What it can own: the hooks that it exports.
    pub fn hooks(&self) -> &[Hook] {
        &self.inner.hooks
    }

    /// The tools that it offers; empty unless it exports `toolbox`.
    pub fn tools(&self) -> &[Tool] {
        &self.inner.tools
    }

    /// Whether it is the same component with the same configuration, limits and grants, loaded once or twice.
    pub fn is_same(&self, other: &Plugin) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
            || (self.inner.hash == other.inner.hash && self.inner.options == other.inner.options)
    }

    /// SHA-256 of the component, as hexadecimal digits.
    pub fn component_hash(&self) -> &str {
        &self.inner.hash
    }

    /// What each of its instances may use.
    pub fn limits(&self) -> &Limits {
        &self.inner.options.limits
    }

    /// The services that it may use.
    pub fn grants(&self) -> &BTreeSet<Service> {
        &self.inner.options.grants
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

    pub(super) fn access(&self) -> &Access {
        &self.inner.access
    }

    pub(super) fn indices(&self) -> &Indices {
        &self.inner.indices
    }

    pub(super) async fn instantiate(&self, store: &mut Store<HostState>) -> Result<ComponentInstance, CallError> {
        instantiate(&self.inner.pre, store, self.limits()).await
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
/// needs, does it accept its configuration, and which tools does it offer?
async fn try_out(
    runtime: &Runtime,
    pre: &InstancePre<HostState>,
    indices: &Indices,
    options: &LoadOptions,
) -> Result<(Description, Vec<Tool>), LoadError> {
    let limits = &options.limits;
    let services = Services::new(Arc::new(RoughCounter));
    let access = Access::none(Arc::from("being loaded"));
    let mut store = call::new_store(runtime, HostState::new(access, services, limits));
    let instance = instantiate(pre, &mut store, limits).await.map_err(LoadError::Describe)?;
    let guests = indices.load(&mut store, &instance)?;

    let watch = Watch::start(&mut store, Call::Describe, limits);
    let answer = watch.wait(guests.plugin.call_describe(&mut store)).await;
    let description = answer.map_err(|broken| LoadError::Describe(watch.explain(store.data(), broken)))?;
    let description = convert::description(description);
    check_description(&description)?;
    check_grants(&description, options)?;
    check_config(&description, &options.config)?;

    let watch = Watch::start(&mut store, Call::Configure, limits);
    let answer = watch.wait(guests.plugin.call_configure(&mut store, &options.config)).await;
    match answer {
        Ok(Ok(())) => {}
        Ok(Err(reason)) => return Err(LoadError::Config { plugin: description.id, reason }),
        Err(broken) => {
            let error = watch.explain(store.data(), broken);
            return Err(LoadError::Configure { plugin: description.id, error });
        }
    }
    let Ok(toolbox) = guests.toolbox() else { return Ok((description, Vec::new())) };
    let watch = Watch::start(&mut store, Call::Tools, limits);
    let answer = watch.wait(toolbox.call_tools(&mut store)).await;
    let tools = answer.map_err(|broken| LoadError::Describe(watch.explain(store.data(), broken)))?;
    let tools: Vec<Tool> = tools.into_iter().map(convert::tool).collect();
    check_tools(&description.id, &tools)?;
    Ok((description, tools))
}

/// What providers take: a name of letters, digits, `_` and `-`, an object as parameters, and each name once.
fn check_tools(id: &str, tools: &[Tool]) -> Result<(), LoadError> {
    let wrong = |reason: String| Err(LoadError::Description { reason });
    let mut names = BTreeSet::new();
    for Tool { name, parameters, .. } in tools {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > MAX_ID || !name.bytes().all(letter) {
            let shown: String = name.chars().take(MAX_ID).collect();
            return wrong(format!(
                "`{id}` offers a tool called {shown:?}, and the name of a tool is made of letters, digits, `_` and \
                 `-`, at most {MAX_ID} together"
            ));
        }
        if !names.insert(name) {
            return wrong(format!("`{id}` offers two tools called `{name}`"));
        }
        if !matches!(serde_json::from_str(parameters), Ok(serde_json::Value::Object(_))) {
            return wrong(format!(
                "the parameters of the tool `{name}` of `{id}` are no JSON Schema, which is an object"
            ));
        }
    }
    Ok(())
}

fn check_description(description: &Description) -> Result<(), LoadError> {
    let wrong = |reason: String| Err(LoadError::Description { reason });
    let id = &description.id;
    let letter = |byte: u8| byte.is_ascii_lowercase();
    if id.starts_with(RESERVED_PREFIX) {
        return wrong(format!("its id is {id:?}, and ids that begin with `{RESERVED_PREFIX}` are the host's own"));
    }
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

/// The ABI promises a JSON object to the plugin, and the plugin publishes what is in it.
fn check_config(description: &Description, config: &str) -> Result<(), LoadError> {
    let plugin = || description.id.clone();
    let config = match serde_json::from_str::<serde_json::Value>(config) {
        Ok(config @ serde_json::Value::Object(_)) => config,
        Ok(_) => {
            return Err(LoadError::Config { plugin: plugin(), reason: "it is JSON, but not an object".to_owned() });
        }
        Err(error) => return Err(LoadError::Config { plugin: plugin(), reason: format!("it is not JSON: {error}") }),
    };
    let violations = schema::check(&description.config_schema, &config).map_err(|reason| LoadError::Description {
        reason: format!("the schema of the configuration of `{}` is no JSON Schema: {reason}", description.id),
    })?;
    if violations.is_empty() { Ok(()) } else { Err(LoadError::ConfigSchema { plugin: plugin(), violations }) }
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
