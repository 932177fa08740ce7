//! Durable state of plugins, as the host keeps it for them.

use std::fmt;

use super::ServiceFuture;

/// Who else sees a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reach {
    /// The plugin in this session only.
    Session,
    /// The plugin in all sessions.
    Shared,
}

/// Keeps what plugins want to remember. One value of this type serves one session; the plugin is named at each call, by
/// the host, so that none sees what another one keeps.
///
/// The errors are for the plugin's author and the operator: they say why not, and what to do.
pub trait PluginState: fmt::Debug + Send + Sync {
    /// The value of a key, if it has one.
    fn get<'a>(
        &'a self,
        plugin: &'a str,
        reach: Reach,
        key: &'a str,
    ) -> ServiceFuture<'a, Result<Option<Vec<u8>>, String>>;

    /// Stores a value in place of what the key had.
    fn set<'a>(
        &'a self,
        plugin: &'a str,
        reach: Reach,
        key: &'a str,
        value: &'a [u8],
    ) -> ServiceFuture<'a, Result<(), String>>;

    /// Removes a key; not an error if there is none.
    fn delete<'a>(&'a self, plugin: &'a str, reach: Reach, key: &'a str) -> ServiceFuture<'a, Result<(), String>>;

    /// Keys that begin with `prefix`, in the order of their bytes.
    fn keys<'a>(
        &'a self,
        plugin: &'a str,
        reach: Reach,
        prefix: &'a str,
    ) -> ServiceFuture<'a, Result<Vec<String>, String>>;
}
