use std::ops::Range;

/// Longest word, in characters; of longer ones (hashes, encoded data) the beginning is taken.
const LONGEST: usize = 64;

/// A word of a text and where it stands, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word, in lower case.
    pub text: String,
    /// Where it stands.
    pub at: Range<usize>,
    /// Written without spaces: one or two characters of a run.
    pub dense: bool,
}

/// A script that is written without spaces between words, or whose words are built of parts that one looks for: Han,
/// Hiragana, Katakana, Bopomofo and Hangul.
fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{312f}' | '\u{3130}'..='\u{318f}'
        | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
        && c.is_alphanumeric()
}

/// The words of a text, in order. A run of dense characters `abc` gives `ab`, `bc` and `c`: the last one by itself, so
/// that every character begins a word and pairs of two runs never stand side by side.
pub fn words(text: &str) -> Words<'_> {
    Words { text, at: 0 }
}

/// The words of a text, with spaces between them: what an index of words is given.
pub fn index_text(text: &str) -> String {
    let mut joined = String::with_capacity(text.len() + text.len() / 4);
    for word in words(text) {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(&word.text);
    }
    joined
}

/// The words of a text, one after the other.
#[derive(Debug)]
pub struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        let rest = self.text.get(self.at..)?;
        let (skipped, first) = rest.char_indices().find(|(_, c)| c.is_alphanumeric())?;
        let start = self.at + skipped;
        if is_dense(first) {
            return Some(self.pair(start, first));
        }
        let mut word = String::new();
        let mut end = start;
        let run = self.text[start..].chars().take_while(|&c| c.is_alphanumeric() && !is_dense(c));
        for (index, c) in run.enumerate() {
            if index < LONGEST {
                word.extend(c.to_lowercase());
            }
            end += c.len_utf8();
        }
        self.at = end;
        Some(Word { text: word, at: start..end, dense: false })
    }
}

impl Words<'_> {
    fn pair(&mut self, start: usize, first: char) -> Word {
        self.at = start + first.len_utf8();
        let second = self.text[self.at..].chars().next().filter(|&c| is_dense(c));
        let end = self.at + second.map_or(0, char::len_utf8);
        // Half-width Katakana and the like have no cases: nothing to fold.
        Word { text: self.text[start..end].to_owned(), at: start..end, dense: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        words(text).map(|word| word.text).collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_without_case() {
        assert_eq!(all("Fix src/Parser_2.rs, ÄRGER!"), ["fix", "src", "parser", "2", "rs", "ärger"]);
        assert_eq!(all(" \n--- "), Vec::<String>::new());
    }

    #[test]
    fn dense_scripts_are_cut_into_overlapping_pairs() {
        assert_eq!(all("缓存失效"), ["缓存", "存失", "失效", "效"]);
        assert_eq!(all("修正foo直す。ポート"), ["修正", "正", "foo", "直す", "す", "ポー", "ート", "ト"]);
        assert_eq!(all("캐시 키"), ["캐시", "시", "키"]);
    }

    #[test]
    fn every_word_says_where_it_stands() {
        let text = "aß 缓存 Ünï";
        for word in words(text) {
            assert_eq!(text[word.at].to_lowercase(), word.text);
        }
    }

    #[test]
    fn of_a_very_long_word_the_beginning_is_taken() {
        let words = all(&"x".repeat(10_000));
        assert_eq!(words, ["x".repeat(LONGEST)]);
    }
}
