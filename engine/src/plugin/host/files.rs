//! Files below granted folders, read away from the threads that run plugins.

use std::sync::Arc;

use super::{Activity, HostState};
use crate::hooks::Service;
use crate::plugin::bindings::contextengine::plugin::files::Host;
use crate::services::Folders;

impl HostState {
    async fn in_folders<R: Send + 'static>(
        &mut self,
        ask: impl FnOnce(&Folders) -> Result<R, String> + Send + 'static,
    ) -> Result<R, String> {
        if self.activity == Activity::Setup || !self.granted(Service::Files) {
            return Err("not granted: `files` is not among the services that this plugin may use".to_owned());
        }
        let folders = Arc::clone(&self.access.folders);
        let answer = tokio::task::spawn_blocking(move || ask(&folders)).await;
        answer.unwrap_or_else(|_| Err("the host is shutting down".to_owned()))
    }
}

impl Host for HostState {
    async fn read(&mut self, path: String, limit: Option<u32>) -> wasmtime::Result<Result<String, String>> {
        // What does not fit into the plugin's memory would only end it.
        let limit = limit.map_or(u64::MAX, u64::from).min(self.allowance.limit());
        Ok(self.in_folders(move |folders| folders.read(&path, limit)).await)
    }

    async fn entries(&mut self, path: String) -> wasmtime::Result<Result<Vec<String>, String>> {
        Ok(self.in_folders(move |folders| folders.entries(&path)).await)
    }
}
