//! The exported interfaces of a plugin: where they are in the component, and in an instance of it.

use wasmtime::Store;
use wasmtime::component::{Instance as ComponentInstance, InstancePre};

use super::bindings::exports::contextengine::plugin::{
    branch_summarizer, compressor, observer, plugin, reducer, selector, toolbox,
};
use super::error::{CallError, LoadError};
use super::host::HostState;
use super::inspect::API_VERSION;
use crate::hooks::Hook;

/// Declares [`Indices`] and [`Guests`], one field each for an interface.
macro_rules! interfaces {
    ($($field:ident: $module:ident, $hook:ident;)*) => {
        /// Where the functions of the exported interfaces are.
        pub(super) struct Indices {
            plugin: plugin::GuestIndices,
            $($field: Option<$module::GuestIndices>,)*
        }

        /// The functions of one instance. Those of a hook that is not exported are missing.
        pub(super) struct Guests {
            pub(super) plugin: plugin::Guest,
            $($field: Option<$module::Guest>,)*
        }

        impl Indices {
            pub(super) fn find(pre: &InstancePre<HostState>, hooks: &[Hook]) -> Result<Self, LoadError> {
                let plugin = plugin::GuestIndices::new(pre).map_err(|error| signature("plugin", &error))?;
                $(let $field = hooks
                    .contains(&Hook::$hook)
                    .then(|| $module::GuestIndices::new(pre))
                    .transpose()
                    .map_err(|error| signature(Hook::$hook.interface(), &error))?;)*
                Ok(Self { plugin, $($field,)* })
            }

            /// Finds the functions in an instance and compares their types with those of the plugin API.
            pub(super) fn load(
                &self,
                store: &mut Store<HostState>,
                instance: &ComponentInstance,
            ) -> Result<Guests, LoadError> {
                let plugin = self.plugin.load(&mut *store, instance).map_err(|error| signature("plugin", &error))?;
                $(let $field = self
                    .$field
                    .as_ref()
                    .map(|indices| indices.load(&mut *store, instance))
                    .transpose()
                    .map_err(|error| signature(Hook::$hook.interface(), &error))?;)*
                Ok(Guests { plugin, $($field,)* })
            }
        }

        impl Guests {
            $(pub(super) fn $field(&self) -> Result<$module::Guest, CallError> {
                self.$field.clone().ok_or(CallError::NoSuchHook { hook: Hook::$hook })
            })*
        }
    };
}

interfaces! {
    compressor: compressor, Compressor;
    selector: selector, Selector;
    reducer: reducer, Reducer;
    branch_summarizer: branch_summarizer, BranchSummarizer;
    observer: observer, Observer;
    toolbox: toolbox, Toolbox;
}

/// A function or type of an interface has another shape than in the plugin API.
pub(super) fn signature(interface: &str, error: &wasmtime::Error) -> LoadError {
    LoadError::Signature { interface: interface.to_owned(), detail: format!("{error:#}"), host: API_VERSION }
}
