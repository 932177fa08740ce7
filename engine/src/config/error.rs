//! What can be wrong with a configuration, each with its place.

use std::fmt;
use std::path::PathBuf;

use super::source::Place;
use crate::hooks::Service;
use crate::plugin::LoadError;
use crate::slots::{ClaimError, Origin};

/// Everything that is wrong with a configuration: not the first thing only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<Problem>,
}

impl ConfigError {
    /// In the order of the files and of the lines in them.
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        let key = |problem: &Problem| match problem.place.as_ref().map(|place| (&place.origin, place.column)) {
            Some((Origin::File { path, line, .. }, column)) => (0, path.clone(), *line, column),
            _ => (1, PathBuf::new(), 0, 0),
        };
        problems.sort_by_key(key);
        problems.dedup();
        Self { problems }
    }

    /// `Ok` where there is no problem.
    pub(super) fn none_of(problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self::new(problems)) }
    }

    /// These and others.
    #[must_use]
    pub fn and(mut self, other: ConfigError) -> Self {
        self.problems.extend(other.problems);
        Self::new(self.problems)
    }

    /// What is wrong; at least one problem.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            let newline = if at == 0 { "" } else { "\n" };
            write!(f, "{newline}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// What.
    pub kind: ProblemKind,
    /// Where; not known for a file that cannot be read.
    pub place: Option<Place>,
    /// A second place that it has to do with, and how: `it is owned here`.
    pub other: Option<(Place, &'static str)>,
}

impl Problem {
    pub(super) fn new(kind: ProblemKind, place: Place) -> Self {
        Self { kind, place: Some(place), other: None }
    }

    pub(super) fn nowhere(kind: ProblemKind) -> Self {
        Self { kind, place: None, other: None }
    }

    pub(super) fn and(mut self, other: Place, how: &'static str) -> Self {
        self.other = Some((other, how));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.kind)?,
            None => write!(f, "{}", self.kind)?,
        }
        match &self.other {
            // A refused claim names both places itself.
            Some(_) if matches!(self.kind, ProblemKind::Claim(_)) => Ok(()),
            Some((place, how)) => write!(f, " ({how}: {place})"),
            None => Ok(()),
        }
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said, and what to do.
        reason: String,
    },
    /// It is no TOML.
    #[error("{reason}")]
    Syntax {
        /// In the parser's words.
        reason: String,
    },
    /// A key is there twice.
    #[error("`{key}` is there twice; leave one out")]
    Twice {
        /// The key.
        key: String,
    },
    /// A number that cannot be used.
    #[error("this number cannot be used: {reason}")]
    NoSuchNumber {
        /// Why.
        reason: String,
    },
    /// There is no such key.
    #[error("there is no key `{name}` in {table}; {}", meant(suggestion.as_deref(), known))]
    UnknownKey {
        /// The name.
        name: String,
        /// The table, as in `[window]`.
        table: String,
        /// What may have been meant.
        suggestion: Option<String>,
        /// The keys that there are.
        known: Vec<&'static str>,
    },
    /// A value of another type than the key takes.
    #[error("this takes {expected}, and {found} stands here")]
    WrongType {
        /// What it takes.
        expected: String,
        /// What is there.
        found: &'static str,
    },
    /// A value that is too small or too large.
    #[error("{found} is out of range; at least {least}, at most {most}")]
    OutOfRange {
        /// What is there.
        found: String,
        /// The least.
        least: String,
        /// The most.
        most: String,
    },
    /// A text that is not what the key takes.
    #[error("`{found}` is not {expected}")]
    Malformed {
        /// What is there.
        found: String,
        /// What it takes, with an example.
        expected: String,
    },
    /// A name that is none of those that there are.
    #[error("there is no {what} `{found}`; {}", choices(suggestion.as_deref(), known))]
    NotAChoice {
        /// What is named.
        what: &'static str,
        /// The name.
        found: String,
        /// What may have been meant.
        suggestion: Option<String>,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A secret in the file.
    #[error("a secret does not belong in a configuration file; {advice}")]
    Secret {
        /// Where it belongs.
        advice: &'static str,
    },
    /// A key that the file of a project may not set.
    #[error(
        "a project may not set `{key}` by itself: {why}; if you trust {}, add it to `[trust] projects` of your own \
         file{}, or say --trust-project",
        folder.display(), user_file.as_ref().map_or(String::new(), |file| format!(", {}", file.display()))
    )]
    Untrusted {
        /// The key.
        key: String,
        /// What it could do with it.
        why: &'static str,
        /// The folder of the project.
        folder: PathBuf,
        /// Where the user says what is trusted.
        user_file: Option<PathBuf>,
    },
    /// A key that has its effect in another file only.
    #[error("`{key}` belongs in your own file only: a project cannot say that it is to be trusted")]
    NotHere {
        /// The key.
        key: String,
    },
    /// Two keys of which only one can be said.
    #[error("`{one}` and `{other}` exclude each other; leave one out")]
    Exclusive {
        /// The one.
        one: &'static str,
        /// The other.
        other: &'static str,
    },
    /// A key that has to be there.
    #[error("`{key}` is missing: {why}")]
    Missing {
        /// The key.
        key: String,
        /// Why it has to be there.
        why: String,
    },
    /// Values that do not go together.
    #[error("{reason}")]
    Contradiction {
        /// Which, and what to do.
        reason: String,
    },
    /// A model whose window is not known.
    #[error(
        "the window of the model `{name}` is not known{}; write tokens = … instead, or add [models.{}] with window = …",
        suggestion.as_ref().map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)")), super::node::quoted(name)
    )]
    UnknownModel {
        /// The model.
        name: String,
        /// What may have been meant.
        suggestion: Option<String>,
    },
    /// A name that is the host's own.
    #[error(
        "names that begin with `builtin:` mean what ships with the host and cannot be given to another plugin; {advice}"
    )]
    Reserved {
        /// What to write instead.
        advice: String,
    },
    /// No plugin of this name.
    #[error("there is no plugin `{name}`{}; {advice}", suggestion.as_ref().map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)")))]
    UnknownPlugin {
        /// The name.
        name: String,
        /// What may have been meant.
        suggestion: Option<String>,
        /// What to do.
        advice: String,
    },
    /// The key of the table is not what the plugin is called.
    #[error("the plugin in {} calls itself `{described}`; write [plugins.{described}]{}", path.display(),
            if *in_slots { format!(", and `{described}` in [slots]") } else { String::new() })]
    OtherId {
        /// The file, or `the embedded component`.
        path: PathBuf,
        /// What it is called.
        described: String,
        /// Whether a slot names it.
        in_slots: bool,
    },
    /// The component is another one than the pinned one.
    #[error(
        "the component is not the pinned one: its SHA-256 is {found}; if you meant to update it, write sha256 = \"{found}\""
    )]
    OtherComponent {
        /// The digest that it has.
        found: String,
    },
    /// A plugin needs what it is not granted.
    #[error(
        "the plugin `{plugin}` cannot work without {}; if you trust it with that, write grant = [{}] in [plugins.{plugin}]",
        list(missing.iter().map(|service| format!("`{}`", service.name()))),
        line.iter().map(|service| format!("\"{}\"", service.name())).collect::<Vec<_>>().join(", ")
    )]
    NotGranted {
        /// Its id.
        plugin: String,
        /// What it needs.
        missing: Vec<Service>,
        /// What the line would grant: that, and what is granted already.
        line: Vec<Service>,
    },
    /// A plugin's configuration is not what its schema asks for.
    #[error("the plugin `{plugin}` does not take this: {reason}")]
    PluginConfig {
        /// Its id.
        plugin: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A plugin cannot be loaded.
    #[error("{0}")]
    Load(#[source] LoadError),
    /// A slot cannot be bound.
    #[error("{0}")]
    Claim(#[source] ClaimError),
    /// The model for plugins cannot be had.
    #[error("{reason}")]
    Model {
        /// Why, and what to do.
        reason: String,
    },
}

fn meant(suggestion: Option<&str>, known: &[&str]) -> String {
    match suggestion {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "it has none".to_owned(),
        None => format!("there are {}", list(known.iter().map(|name| format!("`{name}`")))),
    }
}

fn choices(suggestion: Option<&str>, known: &[String]) -> String {
    let all = list(known.iter().map(|name| format!("`{name}`")));
    match suggestion {
        Some(name) => format!("did you mean `{name}`? There are {all}"),
        None => format!("there are {all}"),
    }
}

/// `a, b and c`.
pub(super) fn list(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => "none".to_owned(),
    }
}
