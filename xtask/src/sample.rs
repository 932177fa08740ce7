//! stub
use crate::workspace::Workspace;
use anyhow::Result;
pub(crate) const FILE: &str = "examples/coding-session.jsonl";
pub(crate) fn write(_w: &Workspace) -> Result<()> {
    Ok(())
}
