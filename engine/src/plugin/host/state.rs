//! Durable state, private to the plugin. A question that must be pure may read it, not write it.

use super::{Activity, HostState};
use crate::plugin::bindings::contextengine::plugin::state::{Host, Scope};
use crate::services::{PluginState, Reach};

/// How much a plugin keeps, and how much it may.
#[derive(Debug)]
pub(super) struct Kept {
    limit: u64,
    /// Bytes of keys and values, once they were looked at.
    session: Option<u64>,
    shared: Option<u64>,
}

impl Kept {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, session: None, shared: None }
    }

    fn of(&mut self, reach: Reach) -> &mut Option<u64> {
        match reach {
            Reach::Session => &mut self.session,
            Reach::Shared => &mut self.shared,
        }
    }
}

fn reach(scope: Scope) -> Reach {
    match scope {
        Scope::Session => Reach::Session,
        Scope::Shared => Reach::Shared,
    }
}

/// Bytes that a pair counts for.
fn size(key: &str, value: &[u8]) -> u64 {
    (key.len() + value.len()) as u64
}

impl HostState {
    /// Why nothing can be changed now, if so.
    fn refusal(&self) -> Option<String> {
        match self.activity {
            Activity::Decision => Some("`should-compress` must not change state".to_owned()),
            Activity::Setup => Some("there is no session yet, so there is no state to change".to_owned()),
            Activity::Hook | Activity::Observation if self.state.is_none() => {
                Some("this host keeps no plugin state".to_owned())
            }
            Activity::Hook | Activity::Observation => None,
        }
    }

    async fn write(&mut self, reach: Reach, key: &str, value: &[u8]) -> Result<(), String> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let Some(state) = self.state.clone() else { return Ok(()) };
        let plugin = self.access.plugin.clone();
        let total = match *self.kept.of(reach) {
            Some(total) => total,
            None => measure(&*state, &plugin, reach).await?,
        };
        let before = state.get(&plugin, reach, key).await?.map_or(0, |old| size(key, &old));
        let after = total.saturating_sub(before).saturating_add(size(key, value));
        if after > self.kept.limit {
            let limit = self.kept.limit;
            *self.kept.of(reach) = Some(total);
            return Err(format!(
                "the state of `{plugin}` would take {after} bytes and may take {limit} (`limits.state`)"
            ));
        }
        // Looked at anew if the store says no after all.
        *self.kept.of(reach) = None;
        state.set(&plugin, reach, key, value).await?;
        *self.kept.of(reach) = Some(after);
        Ok(())
    }

    async fn remove(&mut self, reach: Reach, key: &str) -> Result<(), String> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let Some(state) = self.state.clone() else { return Ok(()) };
        *self.kept.of(reach) = None;
        state.delete(&self.access.plugin, reach, key).await
    }

    /// Whether there is state to read: before any session there is none.
    fn readable(&self) -> Option<std::sync::Arc<dyn PluginState>> {
        self.state.clone().filter(|_| self.activity != Activity::Setup)
    }
}

/// Bytes of all keys and values of a plugin.
async fn measure(state: &dyn PluginState, plugin: &str, reach: Reach) -> Result<u64, String> {
    let mut total = 0;
    for key in state.keys(plugin, reach, "").await? {
        let value = state.get(plugin, reach, &key).await?.unwrap_or_default();
        total += size(&key, &value);
    }
    Ok(total)
}

impl Host for HostState {
    async fn get(&mut self, scope: Scope, key: String) -> wasmtime::Result<Option<Vec<u8>>> {
        let Some(state) = self.readable() else { return Ok(None) };
        let answer = state.get(&self.access.plugin, reach(scope), &key).await;
        Ok(answer.unwrap_or_else(|reason| {
            self.log.warn(&format!("the state `{key}` could not be read: {reason}"));
            None
        }))
    }

    async fn set(&mut self, scope: Scope, key: String, value: Vec<u8>) -> wasmtime::Result<Result<(), String>> {
        Ok(self.write(reach(scope), &key, &value).await)
    }

    async fn delete(&mut self, scope: Scope, key: String) -> wasmtime::Result<Result<(), String>> {
        Ok(self.remove(reach(scope), &key).await)
    }

    async fn keys(&mut self, scope: Scope, prefix: String) -> wasmtime::Result<Vec<String>> {
        let Some(state) = self.readable() else { return Ok(Vec::new()) };
        let answer = state.keys(&self.access.plugin, reach(scope), &prefix).await;
        Ok(answer.unwrap_or_else(|reason| {
            self.log.warn(&format!("the keys of the state could not be read: {reason}"));
            Vec::new()
        }))
    }
}
