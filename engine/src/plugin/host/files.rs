//! Files of granted folders. None is granted yet, and the answer says so.

use super::HostState;
use crate::plugin::bindings::contextengine::plugin::files::Host;

fn not_granted<T>(path: &str) -> wasmtime::Result<Result<T, String>> {
    Ok(Err(format!("`{path}` is not in a folder that is granted to this plugin")))
}

impl Host for HostState {
    async fn read(&mut self, path: String, _limit: Option<u32>) -> wasmtime::Result<Result<String, String>> {
        not_granted(&path)
    }

    async fn entries(&mut self, path: String) -> wasmtime::Result<Result<Vec<String>, String>> {
        not_granted(&path)
    }
}
