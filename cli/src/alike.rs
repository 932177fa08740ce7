//! What somebody may have meant.

/// How like a known name an unknown one must be to be taken for a slip of the fingers, from 0 to 1.
const ALIKE: f64 = 0.75;

/// The known names that are like this one, nearest first, at most so many.
pub(crate) fn alike<'a>(name: &str, known: &[&'a str], most: usize) -> Vec<&'a str> {
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    let mut alike: Vec<&str> = known.iter().copied().filter(|known| likeness(known) >= ALIKE).collect();
    alike.sort_by(|one, other| likeness(other).total_cmp(&likeness(one)));
    alike.truncate(most);
    alike
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first_and_another_word_not_at_all() {
        let known = ["parser", "parser-2", "weather"];
        assert_eq!(alike("parsr", &known, 3), ["parser", "parser-2"]);
        assert_eq!(alike("parser-3", &known, 1).len(), 1);
        assert!(alike("disk", &known, 3).is_empty());
    }
}
