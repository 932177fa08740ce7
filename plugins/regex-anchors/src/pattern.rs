//! Regular expressions that compile to one lazy automaton.
//!
//! The automata of the `regex` crate, without the engines beside them: there are no groups and no Unicode classes
//! here (`\w` is `[0-9A-Za-z_]`), and the component is a third smaller. Searching is linear in the text, whatever the
//! pattern; a search that the automaton gives up, which it never does as configured, finds nothing.

use std::cell::RefCell;
use std::ops::Range;

use regex_automata::hybrid::{dfa, regex};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Input, hybrid::BuildError};

/// A compiled pattern with the part of its automaton that was needed so far.
pub(crate) struct Pattern {
    regex: regex::Regex,
    cache: RefCell<regex::Cache>,
}

impl std::fmt::Debug for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pattern").finish_non_exhaustive()
    }
}

impl Pattern {
    /// Compiles a pattern.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        Self::build(pattern)
    }

    fn build(pattern: &str) -> Result<Self, String> {
        let regex = regex::Regex::builder()
            .syntax(syntax_config(false))
            .thompson(thompson_config())
            .dfa(dfa_config())
            .build(pattern)
            .map_err(|error| reason(&error))?;
        let cache = RefCell::new(regex.create_cache());
        Ok(Self { regex, cache })
    }

    /// The first match that lies in a range of the text. What stands around the range is seen by `\b`.
    pub(crate) fn find(&self, text: &str, range: Range<usize>) -> Option<Range<usize>> {
        let input = Input::new(text).range(range);
        let found = self.regex.try_search(&mut self.cache.borrow_mut(), &input);
        found.ok().flatten().map(|found| found.range())
    }
}

/// A pattern that is only asked whether it matches: half an automaton, as the start of a match does not matter.
pub(crate) struct Matcher {
    forward: dfa::DFA,
    cache: RefCell<dfa::Cache>,
}

impl std::fmt::Debug for Matcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Matcher").finish_non_exhaustive()
    }
}

impl Matcher {
    /// Compiles a pattern; `ignore_case` concerns ASCII letters.
    pub(crate) fn new(pattern: &str, ignore_case: bool) -> Result<Self, String> {
        let forward = dfa::DFA::builder()
            .syntax(syntax_config(ignore_case))
            .thompson(thompson_config())
            .configure(dfa_config())
            .build(pattern)
            .map_err(|error| reason(&error))?;
        let cache = RefCell::new(forward.create_cache());
        Ok(Self { forward, cache })
    }

    /// Does it match anywhere?
    pub(crate) fn is_match(&self, text: &str) -> bool {
        let input = Input::new(text).earliest(true);
        matches!(self.forward.try_search_fwd(&mut self.cache.borrow_mut(), &input), Ok(Some(_)))
    }
}

/// The largest compiled pattern, in bytes. Keeps a plugin within the memory that a host grants it.
const SIZE_LIMIT: usize = 4 << 20;

fn syntax_config(ignore_case: bool) -> syntax::Config {
    syntax::Config::new().unicode(false).utf8(false).case_insensitive(ignore_case)
}

fn thompson_config() -> thompson::Config {
    thompson::Config::new().utf8(false).nfa_size_limit(Some(SIZE_LIMIT))
}

fn dfa_config() -> dfa::Config {
    dfa::Config::new().skip_cache_capacity_check(true)
}

/// The parser's own words, which stand behind two wrappers that say nothing.
fn reason(error: &BuildError) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
