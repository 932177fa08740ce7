//! Search over the whole session. It is not granted yet, so nothing is found.

use super::HostState;
use crate::plugin::bindings::contextengine::plugin::recall::{Hit, Host};

impl Host for HostState {
    async fn search(&mut self, _query: String, _limit: u32) -> wasmtime::Result<Vec<Hit>> {
        Ok(Vec::new())
    }

    async fn fetch(&mut self, _id: String, _limit: Option<u32>) -> wasmtime::Result<Option<String>> {
        Ok(None)
    }
}
