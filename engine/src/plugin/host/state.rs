//! Durable state. This host keeps none yet; a question that must be pure may not write in any case.

use super::{Activity, HostState};
use crate::plugin::bindings::contextengine::plugin::state::{Host, Scope};

impl HostState {
    fn refusal(&self) -> String {
        match self.activity {
            Activity::Decision => "`should-compress` must not change state".to_owned(),
            Activity::Setup => "there is no session yet, so there is no state to change".to_owned(),
            Activity::Hook => "this host keeps no plugin state".to_owned(),
        }
    }
}

impl Host for HostState {
    fn get(&mut self, _scope: Scope, _key: String) -> wasmtime::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn set(&mut self, _scope: Scope, _key: String, _value: Vec<u8>) -> wasmtime::Result<Result<(), String>> {
        Ok(Err(self.refusal()))
    }

    fn delete(&mut self, _scope: Scope, _key: String) -> wasmtime::Result<Result<(), String>> {
        Ok(Err(self.refusal()))
    }

    fn keys(&mut self, _scope: Scope, _prefix: String) -> wasmtime::Result<Vec<String>> {
        Ok(Vec::new())
    }
}
