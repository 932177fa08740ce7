//! What somebody may have meant.

/// How like a known name an unknown one must be to be taken for a slip of the fingers, from 0 to 1.
const ALIKE: f64 = 0.8;

/// The known name that is most like this one, if one is.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Comparing costs the product of the lengths; nobody means a name by a thousand letters.
    const LONGEST: usize = 100;
    // One or two letters are like everything.
    const SHORTEST: usize = 3;
    if !(SHORTEST..=LONGEST).contains(&name.len()) {
        return None;
    }
    let likeness = |known: &&str| strsim::jaro_winkler(name, known);
    let alike = known.into_iter().filter(|known| likeness(known) >= ALIKE);
    alike.max_by(|one, other| likeness(one).total_cmp(&likeness(other))).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_meant_and_another_word_means_nothing() {
        let known = ["keep_recent", "target", "at"];
        assert_eq!(nearest("keep_recnt", known).as_deref(), Some("keep_recent"));
        assert_eq!(nearest("tagret", known).as_deref(), Some("target"));
        assert_eq!(nearest("weather", known), None);
        assert_eq!(nearest(&"target".repeat(1_000), known), None);
    }
}
