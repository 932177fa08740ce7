use std::fmt::Write as _;

use super::words::{Word, words};

/// Words that must stand one behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The words.
    pub words: Vec<String>,
    /// The last word need only begin so: a single character of a dense script.
    pub prefix: bool,
}

impl Term {
    /// Whether the term stands at this place of a text's words.
    pub fn stands_at<T: AsRef<str>>(&self, at: usize, text: &[T]) -> bool {
        let Some(text) = text.get(at..at + self.words.len()) else { return false };
        let last = self.words.len().saturating_sub(1);
        self.words.iter().zip(text).enumerate().all(|(index, (word, found))| {
            let found = found.as_ref();
            found == word || (self.prefix && index == last && found.starts_with(word.as_str()))
        })
    }
}

/// What a search looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// All that is looked for.
    pub terms: Vec<Term>,
}

/// Most terms that are looked for, and most words of one; further ones are left out. Nobody asks for so many, a program
/// might.
const MOST: usize = 32;

impl Query {
    /// Reads a query. Nothing in it is an operator.
    pub fn parse(text: &str) -> Self {
        let mut terms: Vec<Term> = Vec::new();
        for chunk in text.split_whitespace() {
            let found: Vec<Word> = words(chunk).collect();
            for run in found.chunk_by(|a, b| a.dense == b.dense && (!a.dense || b.at.start < a.at.end)) {
                terms.extend(Self::term(run).filter(|term| !terms.contains(term)));
            }
        }
        terms.truncate(MOST);
        Self { terms }
    }

    fn term(run: &[Word]) -> Option<Term> {
        let (last, before) = run.split_last()?;
        let words = |run: &[Word]| run.iter().take(MOST).map(|word| word.text.clone()).collect();
        Some(match (last.dense, before.is_empty()) {
            (true, true) => Term { words: words(run), prefix: true },
            // The last character by itself only ends a run in the index; what is looked for may go on.
            (true, false) => Term { words: words(before), prefix: false },
            (false, _) => Term { words: words(run), prefix: false },
        })
    }

    /// The query in the language of SQLite's FTS5. Words hold letters and digits alone, so nothing needs escaping.
    pub fn fts5(&self, operator: &str) -> String {
        let mut query = String::new();
        for (index, term) in self.terms.iter().enumerate() {
            if index > 0 {
                let _ = write!(query, " {operator} ");
            }
            let _ = write!(query, "\"{}\"{}", term.words.join(" "), if term.prefix { "*" } else { "" });
        }
        query
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_phrases_and_other_words_stand_alone() {
        assert_eq!(Query::parse("src/parser.rs  MAX").fts5("AND"), r#""src parser rs" AND "max""#);
    }

    #[test]
    fn dense_runs_are_phrases_of_pairs_and_a_single_character_is_a_beginning() {
        assert_eq!(Query::parse("缓存失效").fts5("OR"), r#""缓存 存失 失效""#);
        assert_eq!(Query::parse("键").fts5("OR"), r#""键"*"#);
        assert_eq!(Query::parse("修正foo").fts5("AND"), r#""修正" AND "foo""#);
        assert_eq!(Query::parse("缓存，失效").fts5("AND"), r#""缓存" AND "失效""#);
    }

    #[test]
    fn operators_and_quotes_are_only_words() {
        assert_eq!(Query::parse(r#"a" OR NEAR(b) -c *"#).fts5("AND"), r#""a" AND "or" AND "near b" AND "c""#);
        assert!(Query::parse("\" * ( ) ^").terms.is_empty());
    }
}
