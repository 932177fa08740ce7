//! Summaries inside the branch: they stand for entries that nobody sees any more, so what they say must not be lost.

use contextengine_sdk::transcript::defused;
use contextengine_sdk::{Position, View};

/// A summary of older entries, or of another branch, that lies in the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Earlier {
    pub(crate) at: Position,
    /// Its words without its lists of files, which are merged with those of the branch, and without the head that this
    /// strategy writes.
    pub(crate) text: String,
}

impl Earlier {
    pub(crate) fn read(view: &dyn View, at: Position) -> Self {
        Self { at, text: words(&view.text(at, None)) }
    }
}

/// Lines that this strategy writes around a summary; they say nothing of the branch.
pub(crate) const HEAD: &str = "# Summary of a branch that was left (branch-summary 1)";
pub(crate) const RETURNED: &str =
    "The conversation came back from that branch; what was done to files there may still be in place.";
pub(crate) const BY_RULES: &str = "Taken from its entries by rules; no model wrote it.";
/// The heading below which earlier summaries are carried on.
pub(crate) const HEADING: &str = "## Earlier summaries";

fn words(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut skip = Skip::No;
    for line in text.lines() {
        let bare = line.trim();
        match skip {
            Skip::Tag(end) => {
                if bare == end {
                    skip = Skip::No;
                }
                continue;
            }
            Skip::Section if !bare.starts_with("## ") => continue,
            _ => skip = Skip::No,
        }
        match bare {
            "<read-files>" => skip = Skip::Tag("</read-files>"),
            "<modified-files>" => skip = Skip::Tag("</modified-files>"),
            "## Files" => skip = Skip::Section,
            HEAD | RETURNED | BY_RULES => {}
            _ => lines.push(line),
        }
    }
    // A tag that is never closed was no list: then the text stays as it is.
    let text = if matches!(skip, Skip::Tag(_)) { text.to_owned() } else { lines.join("\n") };
    text.trim().to_owned()
}

#[derive(Clone, Copy)]
enum Skip {
    No,
    /// Up to this line.
    Tag(&'static str),
    /// Up to the next heading.
    Section,
}

/// All of them as one text, oldest first, headings lowered so that they stay below [`HEADING`], and without what could
/// be taken for a call or open a block of code: the text may be cut.
pub(crate) fn joined(earlier: &[Earlier]) -> String {
    let texts: Vec<String> = earlier.iter().filter(|one| !one.text.is_empty()).map(|one| lowered(&one.text)).collect();
    defused(&texts.join("\n\n---\n\n"))
}

/// Headings two levels lower, six being the lowest; in a block of code too, as no line of it may end a section.
fn lowered(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let level = line.bytes().take_while(|&byte| byte == b'#').count();
        if level == 0 || !line[level..].starts_with(' ') {
            return line.to_owned();
        }
        format!("{}{}", "#".repeat((level + 2).min(6)), &line[level..])
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Exact names in a text, each once, in order: paths, names with digits, dots or underscores, whatever stands between
/// backquotes. Ordinary words are none.
pub(crate) fn names(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let breaks = |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | ')' | '<' | '>' | ',' | ';');
    for word in text.split(breaks) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_' | '#' | '~'));
        let inner = word.trim_matches(['#', '~', '/']);
        let exact = inner.contains(['/', '_', '.', ':', '@']) || word.starts_with('#') && !inner.is_empty();
        let coded = inner.bytes().any(|b| b.is_ascii_digit()) && inner.bytes().any(|b| b.is_ascii_alphabetic());
        // Single letters with dots are an abbreviation.
        let spelled = inner.split(['.', ' ']).any(|part| part.len() >= 2);
        if word.len() >= 3 && spelled && (exact || coded) && !names.contains(&word) {
            names.push(word);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_files_and_the_head_are_left_out_and_other_words_stay() {
        let text = format!(
            "{HEAD}\n{RETURNED}\n\n## Goal\nPort it.\n\n## Files\n- read: a.rs\n\n## Next Steps\nTest.\n<read-files>\nb.rs\n</read-files>"
        );
        assert_eq!(words(&text), "## Goal\nPort it.\n\n## Next Steps\nTest.");
        assert_eq!(words("<read-files>\nnever closed"), "<read-files>\nnever closed");
    }

    #[test]
    fn headings_stay_below_the_one_they_are_put_under() {
        let earlier = |text: &str| Earlier { at: 0, text: text.to_owned() };
        let text = joined(&[earlier("## Goal\na #tag\n##### deep"), earlier(""), earlier("b")]);
        assert_eq!(text, "#### Goal\na #tag\n###### deep\n\n---\n\nb");
    }

    #[test]
    fn names_are_what_has_to_be_spelled_exactly() {
        let text =
            "The parser (src/parse.rs:88) fails with E0308, see #482. Use `make_it` on v2, e.g. at 3pm - or not/";
        assert_eq!(names(text), ["src/parse.rs:88", "E0308", "#482", "make_it", "3pm"]);
    }
}
