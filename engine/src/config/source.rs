//! Texts that settings are read from, and places in them.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::secrets;
use crate::slots::Origin;

/// Where settings come from. A later one goes before an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Layer {
    /// What the host does by itself.
    Default,
    /// The user's own file.
    User,
    /// The file of a project.
    Project,
    /// A file that was named instead of the two.
    Named,
    /// The command line.
    Argument,
}

impl Layer {
    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Default => "default",
            Layer::User => "user",
            Layer::Project => "project",
            Layer::Named => "named",
            Layer::Argument => "argument",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A place in a file or in an argument, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// File, line and key; or the argument.
    pub origin: Origin,
    /// Column of the first character that is meant, from 1, in characters.
    pub column: u32,
    /// How many characters are meant, at least 1. Never goes past the end of the line.
    pub width: u32,
    /// The line as it is written, with what looks like a secret struck out; not there for arguments.
    pub excerpt: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::File { path, line, key } => {
                write!(f, "{}:{line}:{}", path.display(), self.column)?;
                if key.is_empty() { Ok(()) } else { write!(f, ", key `{key}`") }
            }
            other => other.fmt(f),
        }
    }
}

/// What a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    File(PathBuf),
    /// The argument as it is shown, as in `--set trigger.at=…`.
    Argument(String),
}

/// A text that settings are read from.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) name: Name,
    pub(super) layer: Layer,
    pub(super) text: String,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl Source {
    pub(super) fn new(name: Name, layer: Layer, text: String) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Self { name, layer, text, lines }
    }

    /// The folder that relative paths start from; none for arguments, where it is the working folder.
    pub(super) fn folder(&self) -> Option<&Path> {
        match &self.name {
            Name::File(path) => path.parent(),
            Name::Argument(_) => None,
        }
    }

    /// The line that a byte is in, from 0.
    fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// The text of a line, without its end.
    pub(super) fn line_text(&self, at: usize) -> &str {
        let line = self.line(at);
        let start = self.lines.get(line).copied().unwrap_or(0);
        let end = self.lines.get(line + 1).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }

    pub(super) fn origin(&self, at: usize, key: &str) -> Origin {
        match &self.name {
            Name::Argument(argument) => Origin::Argument(argument.clone()),
            Name::File(path) => {
                let line = u32::try_from(self.line(at) + 1).unwrap_or(u32::MAX);
                // Whole: a key is not cut, but no secret is shown that stands where a key should.
                let key = if secrets::is_secret(key) { secrets::shown(key) } else { key.to_owned() };
                Origin::File { path: path.clone(), line, key }
            }
        }
    }

    pub(super) fn place(&self, span: &Range<usize>, key: &str) -> Place {
        let origin = self.origin(span.start, key);
        if matches!(origin, Origin::Argument(_)) {
            return Place { origin, column: 1, width: 1, excerpt: None };
        }
        let start = self.lines.get(self.line(span.start)).copied().unwrap_or(0);
        let line = self.line_text(span.start);
        let from = line.floor_char_boundary(span.start.saturating_sub(start));
        let to = line.floor_char_boundary(span.end.saturating_sub(start).max(from));
        let count = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        Place {
            origin,
            column: count(&line[..from]).saturating_add(1),
            width: count(&line[from..to]).max(1),
            excerpt: Some(secrets::without(line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Source {
        Source::new(Name::File("c.toml".into()), Layer::User, text.to_owned())
    }

    #[test]
    fn places_count_lines_and_characters() {
        let source = file("a = 1\r\nä = \"ö\"\n");
        let at = source.text.find("\"ö").unwrap_or(0);
        let place = source.place(&(at..at + 4), "ä");
        assert_eq!(place.to_string(), "c.toml:2:5, key `ä`");
        assert_eq!((place.width, place.excerpt.as_deref()), (3, Some("ä = \"ö\"")));
    }

    #[test]
    fn a_place_beyond_the_text_is_at_its_end() {
        for (text, span) in [("", 0..9), ("a", 5..9), ("a\n", 2..2), ("ä", 1..2)] {
            let place = file(text).place(&span, "");
            assert!(place.column >= 1 && place.width == 1, "{text:?} {place:?}");
        }
    }

    #[test]
    fn what_goes_over_lines_is_shown_on_its_first_one() {
        let place = file("a = [\n1]\n").place(&(4..8), "a");
        assert_eq!((place.column, place.width), (5, 1));
    }
}
