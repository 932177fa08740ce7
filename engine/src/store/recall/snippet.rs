use super::Query;
use super::words::{Word, words};

/// Bytes of text before and after the match.
const AROUND: usize = 80;

/// The words around the first match of any term, on one line; the beginning of the text where nothing matches.
pub fn snippet(query: &Query, text: &str) -> String {
    let found: Vec<Word> = words(text).collect();
    let texts: Vec<&str> = found.iter().map(|word| word.text.as_str()).collect();
    let place = (0..texts.len()).find_map(|at| {
        let term = query.terms.iter().find(|term| term.stands_at(at, &texts))?;
        Some(found[at].at.start..found[at + term.words.len() - 1].at.end)
    });
    let place = place.unwrap_or(0..0);
    let start = text.ceil_char_boundary(place.start.saturating_sub(AROUND));
    let end = text.floor_char_boundary(place.end.saturating_add(AROUND).min(text.len()).min(place.start + 3 * AROUND));
    let mut line = String::with_capacity(end.saturating_sub(start) + 6);
    if start > 0 {
        line.push('…');
    }
    for (index, piece) in text.get(start..end).unwrap_or_default().split_whitespace().enumerate() {
        if index > 0 {
            line.push(' ');
        }
        line.push_str(piece);
    }
    if end < text.len() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_the_match_on_one_line_with_what_is_around_it() {
        let text = format!("{}the cache\n\tis keyed by path{}", "before ".repeat(40), " after".repeat(40));
        let shown = snippet(&Query::parse("KEYED"), &text);
        assert!(shown.contains("the cache is keyed by path"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…') && shown.len() < 200, "{shown}");
    }

    #[test]
    fn a_snippet_of_dense_script_ends_at_characters() {
        let text = "缓存按内容键控必须一致".repeat(30);
        assert!(snippet(&Query::parse("键控"), &text).contains("键控"));
    }
}
