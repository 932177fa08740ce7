//! Search over the whole session. Where it is not granted nothing is found.

use super::{Activity, HostState};
use crate::hooks::Service;
use crate::plugin::bindings::contextengine::plugin::recall::{Hit, Host};

/// Hits of one search, at most.
const MAX_HITS: u32 = 100;

impl Host for HostState {
    async fn search(&mut self, query: String, limit: u32) -> wasmtime::Result<Vec<Hit>> {
        if self.activity == Activity::Setup || !self.granted(Service::Recall) {
            return Ok(Vec::new());
        }
        let Some(recall) = self.recall.clone() else { return Ok(Vec::new()) };
        match recall.search(&query, limit.min(MAX_HITS)).await {
            Ok(found) => {
                let hits = found.into_iter().map(|hit| Hit { id: hit.id, snippet: hit.snippet, score: hit.score });
                Ok(hits.collect())
            }
            Err(reason) => {
                self.log.warn(&format!("a search over the session failed: {reason}"));
                Ok(Vec::new())
            }
        }
    }

    async fn fetch(&mut self, id: String, limit: Option<u32>) -> wasmtime::Result<Option<String>> {
        if self.activity == Activity::Setup || !self.granted(Service::Recall) {
            return Ok(None);
        }
        let Some(recall) = self.recall.clone() else { return Ok(None) };
        match recall.fetch(&id).await {
            Ok(found) => Ok(found.map(|mut text| {
                text.truncate(text.floor_char_boundary(limit.unwrap_or(u32::MAX) as usize));
                text
            })),
            Err(reason) => {
                self.log.warn(&format!("`{id}` could not be fetched from the session: {reason}"));
                Ok(None)
            }
        }
    }
}
