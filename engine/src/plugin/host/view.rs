//! The `view` resource: a borrowed look at the host's own snapshot.
//!
//! Every position and range that a plugin names is cut to what is there. Nothing loops over more than the view has,
//! and nothing builds a text that the plugin could not hold.

use wasmtime::component::Resource;

use super::HostState;
use crate::plugin::bindings::contextengine::plugin::types::{
    Block, CompactionRecord, EntryInfo, Host, HostView, Span, Texts,
};
use crate::plugin::convert;
use crate::view::View;

/// The positions of a range that the view has.
fn within(view: &View, range: Span) -> std::ops::Range<u32> {
    let end = range.end.min(view.len());
    range.start.min(end)..end
}

/// The same, as indices.
fn indices(range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}

impl HostState {
    fn view(&self, handle: &Resource<View>) -> wasmtime::Result<&View> {
        Ok(self.table.get(handle)?)
    }

    /// Refuses, before it is built, a text that would not fit into the plugin's memory.
    fn check_fits(&mut self, bytes: u64) -> wasmtime::Result<()> {
        if bytes > self.allowance.limit() {
            self.allowance.deny(bytes);
            wasmtime::bail!("a text of {bytes} bytes does not fit into the memory of the plugin");
        }
        Ok(())
    }
}

impl Host for HostState {}

impl HostView for HostState {
    fn len(&mut self, view: Resource<View>) -> wasmtime::Result<u32> {
        Ok(self.view(&view)?.len())
    }

    fn entries(&mut self, view: Resource<View>, range: Span) -> wasmtime::Result<Vec<EntryInfo>> {
        let view = self.view(&view)?;
        let infos = view.infos().get(indices(&within(view, range))).unwrap_or_default();
        Ok(infos.iter().map(convert::entry_info).collect())
    }

    fn tools(&mut self, view: Resource<View>) -> wasmtime::Result<Vec<String>> {
        Ok(self.view(&view)?.tools().to_vec())
    }

    fn text(&mut self, view: Resource<View>, at: u32, limit: Option<u32>) -> wasmtime::Result<String> {
        Ok(self.view(&view)?.text(at, limit).into_owned())
    }

    fn text_range(&mut self, view: Resource<View>, at: u32, start: u32, end: u32) -> wasmtime::Result<String> {
        Ok(self.view(&view)?.text_range(at, start, end.max(start)).into_owned())
    }

    fn texts(&mut self, view: Resource<View>, range: Span, limit: Option<u32>) -> wasmtime::Result<Texts> {
        let found = self.view(&view)?;
        let range = within(found, range);
        let infos = found.infos().get(indices(&range)).unwrap_or_default();
        let limit_bytes = limit.unwrap_or(u32::MAX);
        let total = infos.iter().map(|info| u64::from(info.bytes.min(limit_bytes))).sum();
        self.check_fits(total)?;
        let found = self.view(&view)?;
        let mut joined = String::with_capacity(usize::try_from(total).unwrap_or(0));
        let mut ends = Vec::with_capacity(range.len());
        for at in range {
            joined.push_str(&found.text(at, limit));
            ends.push(u32::try_from(joined.len()).unwrap_or(u32::MAX));
        }
        Ok(Texts { joined, ends })
    }

    fn blocks(&mut self, view: Resource<View>, at: u32) -> wasmtime::Result<Vec<Block>> {
        Ok(self.view(&view)?.blocks(at).iter().map(convert::block).collect())
    }

    fn original(&mut self, view: Resource<View>, at: u32, limit: Option<u32>) -> wasmtime::Result<Option<String>> {
        // A summary can cover more than fits; a plugin that gives no limit gets what it could hold.
        let most = u32::try_from(self.allowance.limit()).unwrap_or(u32::MAX);
        let limit = limit.unwrap_or(u32::MAX).min(most);
        Ok(self.view(&view)?.original(at, Some(limit)))
    }

    fn last_compaction(&mut self, view: Resource<View>) -> wasmtime::Result<Option<CompactionRecord>> {
        Ok(self.view(&view)?.last_compaction().map(convert::last_compaction))
    }

    fn attribute(&mut self, view: Resource<View>, at: u32, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.view(&view)?.attribute(at, &key))
    }

    fn drop(&mut self, view: Resource<View>) -> wasmtime::Result<()> {
        // Plugins are only lent views, so none can be given back; a table that disagrees has its own error.
        self.table.delete(view)?;
        Ok(())
    }
}
