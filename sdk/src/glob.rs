//! Names by pattern: `*` is any text, `?` any one character, everything else itself.

/// Whether a whole name matches. Takes at most the product of the two lengths, and as a rule their sum.
///
/// ```
/// use contextengine_sdk::glob::matches;
/// assert!(matches("mcp__*__read", "mcp__files__read") && !matches("read", "read_file"));
/// ```
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut read) = (0, 0);
    // The last star, and how much of the name it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == name[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                at = place + 1;
                read = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|&left| left == '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::matches;

    #[test]
    fn stars_and_question_marks_stand_for_text() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("read", "read", true),
            ("read", "read_file", false),
            ("read*", "read_file", true),
            ("mcp__*__list_?", "mcp__files__list_x", true),
            ("*a*b*", "xxaxxbxx", true),
            ("?", "ä", true),
            ("?", "", false),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    /// The definition, slow and plain.
    fn by_definition(pattern: &[char], name: &[char]) -> bool {
        match (pattern.first(), name.first()) {
            (None, first) => first.is_none(),
            (Some('*'), first) => {
                by_definition(&pattern[1..], name) || (first.is_some() && by_definition(pattern, &name[1..]))
            }
            (Some(_), None) => false,
            (Some(wanted), Some(found)) => {
                (*wanted == '?' || wanted == found) && by_definition(&pattern[1..], &name[1..])
            }
        }
    }

    proptest! {
        #[test]
        fn a_pattern_matches_what_its_definition_says(pattern in "[ab*?]{0,7}", name in "[abc]{0,8}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&pattern, &name), by_definition(&chars(&pattern), &chars(&name)));
        }
    }
}
