//! The store that a command works on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use contextengine::format::Format;
use contextengine::session::{Session, SessionError};
use contextengine::store::{SessionInfo, SqliteOptions, SqliteStore, Store, StoreError};
use contextengine::view::ViewOptions;
use contextengine::{CompactError, Engine};

use crate::alike::alike;
use crate::failure::Failure;
use crate::harmless;
use crate::time;

/// Names the file of the store.
const VARIABLE: &str = "CTXE_STORE";
/// Names that are proposed for one that is not there.
const PROPOSED: usize = 3;
/// Characters of a name that are shown in an error.
const NAME: usize = 200;

/// A store that is open.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    /// The file, as people read it.
    pub(crate) place: String,
}

/// Whether a store that is not there is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Make,
    Refuse,
}

/// Opens the store that the arguments name, or else the environment, or else the user's own.
pub(crate) async fn open(named: Option<&Path>, missing: Missing) -> Result<Opened, Failure> {
    let file = match named.map(Path::to_owned).or_else(|| set(VARIABLE)) {
        Some(file) => file,
        None => own(missing)?,
    };
    let place = file.display().to_string();
    if missing == Missing::Refuse && !file.exists() {
        let why = anyhow!("there is no store {place}; `ctxe session import FILE` makes one");
        return Err(Failure::File(why));
    }
    crate::files::check_place(&file)?;
    let opened = SqliteStore::open(&file, SqliteOptions::default()).await;
    let store = opened.with_context(|| format!("store {place}")).map_err(Failure::File)?;
    Ok(Opened { store: Arc::new(store), place })
}

fn set(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The user's own store. Its folder is made if need be, for the user alone.
fn own(missing: Missing) -> Result<PathBuf, Failure> {
    // A relative path is to be ignored, says the XDG base directory specification.
    let data = set("XDG_DATA_HOME").filter(|folder| folder.is_absolute());
    let data = data.or_else(|| set("HOME").map(|home| home.join(".local").join("share")));
    let Some(data) = data else {
        return Err(Failure::Usage(anyhow!(
            "neither XDG_DATA_HOME nor HOME says where your files are; name the store with --store or {VARIABLE}"
        )));
    };
    let folder = data.join("contextengine");
    if missing == Missing::Make {
        make_private(&folder)
            .with_context(|| format!("cannot make the folder of the store, {}", folder.display()))
            .map_err(Failure::File)?;
    }
    Ok(folder.join("sessions.db"))
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

impl Opened {
    /// What the store knows of a session.
    pub(crate) async fn info(&self, name: &str) -> Result<SessionInfo, Failure> {
        match self.store.open(name).await {
            Err(StoreError::NotFound { what: "session", .. }) => Err(self.no_such(name).await),
            found => found.map_err(|error| self.failed(error)),
        }
    }

    /// A session to work with.
    pub(crate) async fn session(
        &self,
        engine: &Engine,
        name: &str,
        options: ViewOptions,
    ) -> Result<(SessionInfo, Session), Failure> {
        let info = self.info(name).await?;
        let session = Session::open(engine.clone(), Arc::clone(&self.store), name, options).await;
        Ok((info, session.map_err(|error| self.session_failed(name, error))?))
    }

    async fn no_such(&self, name: &str) -> Failure {
        let all = match self.store.list().await {
            Ok(all) => all,
            Err(error) => return self.failed(error),
        };
        let names: Vec<&str> = all.iter().map(|info| info.name.as_str()).collect();
        let near: Vec<String> = alike(name, &names, PROPOSED).into_iter().map(quoted).collect();
        let hint = if names.is_empty() {
            "it holds none yet; `ctxe session import FILE` adds one".to_owned()
        } else if near.is_empty() {
            "`ctxe session list` shows those that are there".to_owned()
        } else {
            format!("did you mean {}?", near.join(" or "))
        };
        Failure::File(anyhow!("there is no session {} in store {}; {hint}", quoted(name), self.place))
    }

    /// Why a store failed. Every failure is one of the file, but for names that are taken.
    pub(crate) fn failed(&self, error: StoreError) -> Failure {
        let why = match &error {
            StoreError::Busy { holder, until } => {
                let holder = harmless::short_line(holder, NAME);
                let until = time::minute(*until);
                anyhow!("`{holder}` is compacting this session, until {until} at the latest; try again then")
            }
            StoreError::Exists { what: "session", name } => {
                anyhow!("session {} exists already; give this one another name with --name", quoted(name))
            }
            _ => anyhow::Error::new(error),
        };
        Failure::File(why.context(format!("store {}", self.place)))
    }

    /// Why a session did not do what it was asked.
    pub(crate) fn session_failed(&self, name: &str, error: SessionError) -> Failure {
        match error {
            SessionError::Compact(error) => compaction_failed(error),
            error @ SessionError::Strict { .. } => Failure::Strategy(error.into()),
            SessionError::Store(error) | SessionError::Busy(error) => self.failed(error),
            SessionError::Stale(error) => {
                let why = anyhow::Error::new(error);
                Failure::File(why.context(format!("session {} changed meanwhile; run the command again", quoted(name))))
            }
            error => Failure::File(anyhow::Error::new(error).context(format!("session {}", quoted(name)))),
        }
    }
}

/// Why there is no new context. Where only one strategy was asked, it is the one to speak of.
pub(crate) fn compaction_failed(error: CompactError) -> Failure {
    Failure::Strategy(match error {
        CompactError::NoneLeft { mut tried } if tried.len() == 1 => tried.remove(0).into(),
        error => error.into(),
    })
}

fn quoted(name: &str) -> String {
    format!("`{}`", harmless::short_line(name, NAME))
}

/// The format that a session was read from, if this program knows it.
pub(crate) fn format_of(info: &SessionInfo) -> Option<Format> {
    info.format.as_deref().and_then(|name| name.parse().ok())
}

#[cfg(test)]
mod tests {
    use contextengine::store::MemoryStore;
    use contextengine::transcript::{Digest, Timestamp};

    use super::*;

    #[test]
    fn what_somebody_else_did_is_said_with_what_to_do() {
        let opened = Opened { store: Arc::new(MemoryStore::new()), place: "s.db".to_owned() };
        let stale = StoreError::Stale { reason: "it was switched".to_owned(), leaf: None, digest: Digest::ROOT };
        let failure = opened.session_failed("a", stale.into());
        assert_eq!(failure.exit_code(), 3);
        let said = failure.to_string();
        assert!(
            said.starts_with("session `a` changed meanwhile; run the command again: the branch has changed"),
            "{said}"
        );
        let busy = StoreError::Busy { holder: "agent\u{1b}\nctxe".to_owned(), until: Timestamp(1_783_632_479_733) };
        let failure = opened.session_failed("a", busy.into());
        assert_eq!(failure.exit_code(), 3);
        assert_eq!(
            failure.to_string(),
            "store s.db: `agent\u{fffd} ctxe` is compacting this session, until 2026-07-09 21:27 UTC at the latest; try again then"
        );
    }
}
