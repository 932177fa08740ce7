//! What a session lends to plugins out of its store: state and recall.

use std::sync::Arc;

use super::Session;
use crate::plugin::Services;
use crate::services::{Passage, PluginState, Reach, Recall, ServiceFuture};
use crate::store::recall::searchable;
use crate::store::{LogBody, Search, SessionKey, StateScope, Store, StoreError};
use crate::transcript::EntryId;

/// State and recall of one session.
#[derive(Debug)]
struct FromStore {
    store: Arc<dyn Store>,
    session: SessionKey,
}

impl FromStore {
    fn scope(&self, reach: Reach) -> StateScope {
        match reach {
            Reach::Session => StateScope::Session(self.session),
            Reach::Shared => StateScope::Shared,
        }
    }
}

impl PluginState for FromStore {
    fn get<'a>(
        &'a self,
        plugin: &'a str,
        reach: Reach,
        key: &'a str,
    ) -> ServiceFuture<'a, Result<Option<Vec<u8>>, String>> {
        Box::pin(
            async move { self.store.state(plugin, self.scope(reach), key).await.map_err(|error| error.to_string()) },
        )
    }

    fn set<'a>(
        &'a self,
        plugin: &'a str,
        reach: Reach,
        key: &'a str,
        value: &'a [u8],
    ) -> ServiceFuture<'a, Result<(), String>> {
        Box::pin(async move {
            self.store.set_state(plugin, self.scope(reach), key, value).await.map_err(|error| error.to_string())
        })
    }

    fn delete<'a>(&'a self, plugin: &'a str, reach: Reach, key: &'a str) -> ServiceFuture<'a, Result<(), String>> {
        Box::pin(async move {
            self.store.delete_state(plugin, self.scope(reach), key).await.map_err(|error| error.to_string())
        })
    }

    fn keys<'a>(
        &'a self,
        plugin: &'a str,
        reach: Reach,
        prefix: &'a str,
    ) -> ServiceFuture<'a, Result<Vec<String>, String>> {
        Box::pin(async move {
            self.store.state_keys(plugin, self.scope(reach), prefix).await.map_err(|error| error.to_string())
        })
    }
}

impl Recall for FromStore {
    fn search<'a>(&'a self, query: &'a str, limit: u32) -> ServiceFuture<'a, Result<Vec<Passage>, String>> {
        Box::pin(async move {
            let search = Search::new(self.session, query).with_limit(limit);
            let found = self.store.search(search).await.map_err(|error| error.to_string())?;
            let passages = found.hits.into_iter().map(|hit| Passage {
                id: hit.id.as_str().to_owned(),
                snippet: hit.snippet,
                score: hit.score,
            });
            Ok(passages.collect())
        })
    }

    fn fetch<'a>(&'a self, id: &'a str) -> ServiceFuture<'a, Result<Option<String>, String>> {
        Box::pin(async move {
            match self.store.record(self.session, &EntryId::new(id)).await {
                Ok(record) => Ok(match &record.body {
                    LogBody::Entry(entry) => Some(searchable(entry)),
                    _ => None,
                }),
                Err(StoreError::NotFound { .. }) => Ok(None),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}

impl Session {
    /// The services with state and recall of this session, where they bring none of their own.
    #[must_use]
    pub fn lend(&self, mut services: Services) -> Services {
        let store: Arc<FromStore> =
            Arc::new(FromStore { store: Arc::clone(&self.shared.store), session: self.shared.key });
        services.state.get_or_insert_with(|| Arc::clone(&store) as Arc<dyn PluginState>);
        services.recall.get_or_insert(store);
        services
    }
}
