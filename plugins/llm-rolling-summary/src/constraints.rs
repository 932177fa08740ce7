//! The user's constraints, word for word: sentences that oblige, found by the words in them.
//!
//! A model that summarises a summary loses rules one by one. So they are carried beside the text, and after each
//! answer it is checked, without a model, which of them the text still holds. What a sentence means nobody knows
//! here: a rule that was taken back stays in the list, oldest first, and the later words hold.

/// The most bytes of one sentence; longer ones are pasted text, of which the beginning and the end stay.
const SENTENCE: usize = 400;
/// The most sentences that are carried. Budgets of tokens are far below it.
const CARRIED: usize = 200;

/// Words that oblige, in lower case; matched as whole words.
const WORDS: [&str; 46] = [
    "must",
    "never",
    "don't",
    "dont",
    "do not",
    "always",
    "only",
    "make sure",
    "without",
    "prefer",
    "avoid",
    "ensure",
    "required",
    "forbidden",
    "not allowed",
    "under no circumstances",
    "at most",
    "at least",
    "no longer",
    "from now on",
    "keep it",
    "stick to",
    "instead of",
    "should not",
    "shouldn't",
    "may not",
    "cannot change",
    "muss",
    "müssen",
    "nie",
    "niemals",
    "immer",
    "darf nicht",
    "dürfen nicht",
    "ausschließlich",
    "jamais",
    "toujours",
    "n'utilise pas",
    "doit",
    "nunca",
    "siempre",
    "no uses",
    "no debes",
    "rule:",
    "rules:",
    "constraint",
];

/// Before these words `don't` tells what is, not what ought to be.
const SUBJECTS: [&str; 7] = ["i", "we", "you", "they", "it", "that", "which"];

/// Words that oblige in a question too.
const STRONG: [&str; 4] = ["must", "never", "make sure", "under no circumstances"];

/// The same in scripts that put no blanks between words.
const PARTS: [&str; 10] =
    ["不要", "必须", "禁止", "务必", "只能", "不得", "必ず", "しないで", "してはいけない", "絶対に"];

/// Words that announce a list of constraints, before a colon.
const ANNOUNCING: [&str; 10] =
    ["rules", "constraints", "requirements", "conditions", "regeln", "vorgaben", "règles", "reglas", "规则", "ルール"];

/// Constraints in a text of the user, in order.
pub(crate) fn find(text: &str, further: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        let text = contextengine_sdk::budget::ends_bytes(text, SENTENCE, 70);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !found.contains(&text) {
            found.push(text);
        }
    };
    let mut in_fence = false;
    let mut announced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
            continue;
        }
        if in_fence {
            continue;
        }
        if announces(line) {
            announced = true;
            continue;
        }
        match item(line) {
            // The whole of it: what does not oblige says why.
            Some(item) if announced => add(item),
            _ => {
                announced &= line.trim().is_empty();
                sentences(line).into_iter().filter(|sentence| obliges(sentence, further)).for_each(&mut add);
            }
        }
    }
    found
}

/// Whether a line says that a list of constraints follows.
fn announces(line: &str) -> bool {
    let lower = line.trim().to_lowercase();
    let words = lower.strip_suffix([':', '：']);
    words.is_some_and(|words| ANNOUNCING.iter().any(|word| words.ends_with(word)))
}

/// What a line says as an item of a list.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest =
        line.strip_prefix(['-', '*', '•']).or_else(|| number.strip_prefix(['.', ')']).filter(|_| number != line));
    rest.filter(|rest| rest.starts_with(char::is_whitespace)).map(str::trim).filter(|rest| !rest.is_empty())
}

/// Adds what was said later; each sentence once, in the place of its first mention.
pub(crate) fn extend(carried: &mut Vec<String>, later: Vec<String>) {
    for sentence in later {
        if !carried.iter().any(|known| plain(known) == plain(&sentence)) {
            carried.push(sentence);
        }
    }
    // Both ends: the first rules frame the work, the last are the freshest.
    if carried.len() > CARRIED {
        let surplus = carried.len() - CARRIED;
        carried.drain(CARRIED / 2..CARRIED / 2 + surplus);
    }
}

/// Those that a text does not hold word for word, however it is spaced, quoted or emphasised.
pub(crate) fn missing<'a>(carried: &'a [String], text: &str) -> Vec<&'a str> {
    let text = plain(text);
    carried.iter().filter(|sentence| !text.contains(&plain(sentence))).map(String::as_str).collect()
}

/// Without case, emphasis, quotation marks and the punctuation at the end; blanks are one.
fn plain(text: &str) -> String {
    let kept: String =
        text.chars().filter(|c| !matches!(c, '*' | '_' | '`' | '"' | '\'' | '“' | '”' | '‘' | '’' | '>')).collect();
    let words: Vec<String> = kept.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ").trim_end_matches(['.', '!', '。', '！', ';', ',']).to_owned()
}

/// Sentences of a line. A full stop ends one only before a blank or the end, so that names of files stay whole.
fn sentences(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next_is_blank = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if matches!(c, '。' | '！' | '？') || (matches!(c, '.' | '!' | '?') && next_is_blank) {
            found.push(&line[start..at + c.len_utf8()]);
            start = at + c.len_utf8();
        }
    }
    found.push(&line[start..]);
    let bare = |text: &'_ str| text.trim().trim_start_matches(['-', '*', '>', ' ']).len() >= 4;
    found
        .into_iter()
        .map(|text| text.trim().trim_start_matches(['-', '*', '>', ' ']))
        .filter(|text| bare(text))
        .collect()
}

fn obliges(sentence: &str, further: &[String]) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    let is_word = |word: &str| {
        lower.match_indices(word).any(|(at, _)| {
            let before = lower[..at].chars().next_back();
            let after = lower[at + word.len()..].chars().next();
            let goes_on = after.is_some_and(char::is_alphanumeric) && word.ends_with(char::is_alphanumeric);
            !(goes_on || before.is_some_and(char::is_alphanumeric) || (is_negation(word) && has_subject(&lower[..at])))
        })
    };
    let asks = lower.ends_with(['?', '？']);
    if asks {
        return STRONG.iter().any(|word| is_word(word)) || further.iter().any(|word| is_word(&word.to_lowercase()));
    }
    WORDS.iter().any(|word| is_word(word))
        || PARTS.iter().any(|part| lower.contains(part))
        || further.iter().any(|word| is_word(&word.to_lowercase()))
}

fn is_negation(word: &str) -> bool {
    matches!(word, "don't" | "dont" | "do not")
}

fn has_subject(before: &str) -> bool {
    before.split_whitespace().next_back().is_some_and(|word| SUBJECTS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_that_oblige_are_found_word_for_word() {
        let text = "Please fix src/lib.rs. Never change the public API in src/lib.rs!\n- use tabs only\n```\nmust not\n```\n不要改数据库。好的。";
        assert_eq!(find(text, &[]), ["Never change the public API in src/lib.rs!", "use tabs only", "不要改数据库。"]);
        assert!(find("The mustard is lonely. What next?", &[]).is_empty());
        assert_eq!(find("House rule four eyes", &["house rule".to_owned()]).len(), 1);
    }

    #[test]
    fn a_list_that_is_announced_is_taken_whole_with_what_says_why() {
        let text = "Fix it.\nRules:\n- No new dependencies.\n- Port 8081, not 8080: 8080 is taken. Ask me else.\n\n2. Tabs\n\
                    That is all.\n- a list of something else";
        assert_eq!(
            find(text, &[]),
            ["No new dependencies.", "Port 8081, not 8080: 8080 is taken. Ask me else.", "Tabs"]
        );
        assert!(find("These are my rules: none.\n- an item", &[]).len() <= 1);
    }

    #[test]
    fn what_is_told_or_asked_is_no_constraint() {
        for text in ["I don't understand it.", "wait, do we only have one color?", "They do not match."] {
            assert!(find(text, &[]).is_empty(), "{text}");
        }
        for text in ["Please don't touch it.", "Can you make sure it never fails?", "don't push"] {
            assert_eq!(find(text, &[]).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_constraint_is_held_however_it_is_spaced_and_quoted() {
        let rules = vec!["Never change the API.".to_owned(), "use tabs only".to_owned()];
        assert_eq!(missing(&rules, "- \"**never** change\n  the `API`\" (user)"), ["use tabs only"]);
    }

    #[test]
    fn each_sentence_is_carried_once_and_both_ends_stay() {
        let mut carried = vec!["Never push.".to_owned()];
        extend(&mut carried, vec!["never push".to_owned()]);
        assert_eq!(carried.len(), 1);
        extend(&mut carried, (0..300).map(|at| format!("always {at}")).collect());
        assert_eq!(carried.len(), CARRIED);
        assert_eq!(carried[0], "Never push.");
        assert_eq!(carried[CARRIED - 1], "always 299");
    }
}
