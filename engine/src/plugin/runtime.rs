use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Cache, Config, Engine};

use super::bindings::Everything;
use super::cache;
use super::error::RuntimeError;
use super::host::HostState;

/// How often running plugins are looked at: whether their time is up, and to let other tasks run. A tenth of a
/// second would be felt by a server; a millisecond would cost every plugin a tenth of its speed.
const TICK: Duration = Duration::from_millis(10);

/// What WebAssembly plugins run on. One per process is enough; a clone is the same runtime.
///
/// It owns the thread that ends calls which take too long. There is no runtime without it, and the thread ends when
/// the last plugin and instance are gone.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    linker: Linker<HostState>,
    cache: Option<Cache>,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("cache_dir", &self.inner.cache.as_ref().map(Cache::directory))
            .finish_non_exhaustive()
    }
}

/// How often compiled code was found in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheUse {
    /// Plugins that were there.
    pub hits: usize,
    /// Plugins that were compiled and stored.
    pub misses: usize,
}

impl Runtime {
    /// A runtime with every default changed that you name.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// What the cache did so far; all 0 without one.
    pub fn cache_use(&self) -> CacheUse {
        self.inner
            .cache
            .as_ref()
            .map_or_else(CacheUse::default, |cache| CacheUse { hits: cache.cache_hits(), misses: cache.cache_misses() })
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    pub(super) fn linker(&self) -> &Linker<HostState> {
        &self.inner.linker
    }
}

/// Makes a [`Runtime`].
#[derive(Debug, Clone, Default)]
pub struct RuntimeBuilder {
    cache_dir: Option<PathBuf>,
}

impl RuntimeBuilder {
    /// Keeps compiled plugins in this folder, so that a plugin is compiled once and not at every start. Default: none
    /// are kept; see [`default_cache_dir`](super::default_cache_dir) for the usual place.
    ///
    /// The folder is made, readable for this user alone, if it is not there. One that another user could write to is
    /// refused: its contents are run.
    #[must_use]
    pub fn cache_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(path.into());
        self
    }

    /// Starts the engine.
    pub fn build(self) -> Result<Runtime, RuntimeError> {
        let cache = self.cache_dir.as_deref().map(cache::open).transpose()?;
        let failed = |error: wasmtime::Error| RuntimeError::Engine { reason: format!("{error:#}") };
        let engine = Engine::new(&config(cache.clone())).map_err(failed)?;
        let linker = linker(&engine).map_err(failed)?;
        start_ticker(&engine).map_err(|error| RuntimeError::Engine { reason: error.to_string() })?;
        Ok(Runtime { inner: Arc::new(Inner { engine, linker, cache }) })
    }
}

fn config(cache: Option<Cache>) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        // The ABI is synchronous; without it a call costs a fifth.
        .concurrency_support(false)
        // The same input gives the same plan on every machine.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .cache(cache);
    config
}

/// Everything a plugin may import. All of it is linked for all: what is not granted answers so.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<HostState>> {
    let mut linker = Linker::new(engine);
    Everything::add_to_linker::<HostState, HasSelf<HostState>>(&mut linker, |state| state)?;
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    Ok(linker)
}

/// A thread of its own, as tasks of an async runtime would stand still with it. It holds the engine only while it
/// ticks.
fn start_ticker(engine: &Engine) -> std::io::Result<()> {
    let engine = engine.weak();
    thread::Builder::new().name("contextengine-ticker".to_owned()).spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(TICK);
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::time::Instant;

    use super::*;

    #[test]
    fn the_clock_runs_as_long_as_the_runtime_and_no_longer() {
        let runtime = Runtime::builder().build().unwrap();
        let engine = runtime.engine().weak();
        drop(runtime);
        let start = Instant::now();
        while engine.upgrade().is_some() {
            assert!(start.elapsed() < Duration::from_secs(10), "something still holds the engine");
            thread::sleep(TICK);
        }
    }

    #[test]
    fn plugins_and_instances_can_go_from_thread_to_thread() {
        fn sendable<T: Send>() {}
        fn shareable<T: Send + Sync>() {}
        shareable::<Runtime>();
        shareable::<crate::plugin::Plugin>();
        sendable::<crate::plugin::Instance>();
    }
}
