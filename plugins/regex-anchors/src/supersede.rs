//! Finds out which earlier statement of the user a later one takes back.
//!
//! Conservative on purpose: a rule that is wrongly struck out is worse than one that is carried on too long. A
//! statement is struck out only if the later one bears a mark of change ("actually", "instead", "no longer", "you may
//! now", …) and is about the same thing: it names what it replaces, shares the subject, or gives another value of the
//! same kind. The later statement itself is always kept word for word.

use crate::summary::{Replaced, Set};
use std::collections::BTreeSet;

/// What a sentence says, as far as it matters for taking back another one.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    /// The sentence, word for word.
    pub(crate) text: String,
    /// The same in lower case.
    lower: String,
    subject: BTreeSet<String>,
    values: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Value {
    kind: ValueKind,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Number,
    Version,
    Unit,
}

/// Marks that something changes, and those that only add.
const CHANGE: &[&str] = &[
    "actually",
    "instead",
    "no longer",
    "not anymore",
    "anymore",
    "any more",
    "scratch that",
    "correction",
    "rather",
    "switch to",
    "make it",
    "make that",
    "on second thought",
    "i changed my mind",
    "from now on",
    "update:",
    "replace",
    "stop using",
    "doch",
    "stattdessen",
    "nicht mehr",
    "ab jetzt",
    "plutôt",
    "finalement",
    "désormais",
    "en vez",
    "mejor",
    "ya no",
    "en realidad",
    "改成",
    "改用",
    "改为",
    "不再",
    "其实",
    "やっぱり",
    "代わりに",
    "変更",
];
const ADDITION: &[&str] =
    &["also", "too", "as well", "additionally", "in addition", "both", "auch", "aussi", "también", "也", "还", "も"];
const PERMISSION: &[&str] = &[
    "you may now",
    "you can now",
    "you are allowed",
    "you're allowed",
    "it's ok to",
    "its ok to",
    "it is ok to",
    "it's fine to",
    "feel free to",
    "ok to ",
    "okay to ",
    "no problem to",
    "you may ",
    "du darfst jetzt",
    "tu peux maintenant",
    "ahora puedes",
    "现在可以",
    "してもいい",
];
const PROHIBITION: &[&str] = &[
    "never",
    "not ",
    "don't",
    "dont",
    "mustn't",
    "without",
    "avoid",
    "no ",
    "nicht",
    "kein",
    "nie",
    "ne ",
    "n'",
    "jamais",
    "nunca",
    "不",
    "禁止",
    "ないで",
    "いけない",
    "off limits",
    "off-limits",
];
const FORGET: &[&str] = &[
    "forget about ",
    "forget the ",
    "forget what i said about ",
    "forget ",
    "never mind about ",
    "nevermind the ",
    "never mind the ",
    "ignore what i said about ",
    "ignore the ",
    "scratch the ",
    "drop the ",
    "no need for ",
    "no need to ",
    "we no longer need ",
    "vergiss ",
    "oublie ",
    "olvida ",
    "忘了",
    "忘记",
];

/// Words that say nothing about the subject.
const STOP: &[&str] = &[
    "the", "and", "for", "that", "this", "with", "you", "use", "using", "used", "not", "don't", "dont", "never",
    "always", "only", "must", "should", "have", "has", "are", "was", "will", "can", "may", "now", "actually",
    "instead", "please", "make", "sure", "it's", "its", "from", "into", "than", "then", "but", "all", "any", "our",
    "your", "just", "also", "need", "want", "let", "let's", "lets", "more", "longer", "anymore", "rather", "prefer",
    "without", "about", "what", "said", "forget", "switch", "keep", "set", "put", "it", "to", "of", "in", "on", "at",
    "is", "be", "do", "no", "we", "an", "as", "or", "if", "so", "by", "me", "my", "ok", "okay", "free", "feel",
    "allowed", "touch", "avoid", "stop", "ignore", "drop", "mind", "second", "thought", "going", "forward", "i", "a",
];

impl Statement {
    /// A sentence of a message.
    pub(crate) fn new(text: &str) -> Self {
        let mut subject = BTreeSet::new();
        let mut values = Vec::new();
        for word in
            text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '"' | '`' | '\'' | '!' | '?'))
        {
            let word = word.trim_matches(|c: char| matches!(c, '.' | ':' | '=' | '*'));
            if let Some(value) = value(word) {
                values.push(value);
            } else {
                let lower = word.to_lowercase();
                if lower.chars().count() >= 2 && !STOP.contains(&lower.as_str()) {
                    subject.insert(stem(&lower));
                }
            }
        }
        Self { text: text.to_owned(), lower: text.to_lowercase(), subject, values }
    }
}

fn value(word: &str) -> Option<Value> {
    let bytes = word.as_bytes();
    let digits = bytes.strip_prefix(b"v").unwrap_or(bytes);
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    let kind = if bytes.iter().all(u8::is_ascii_digit) {
        ValueKind::Number
    } else if bytes.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'v')) {
        ValueKind::Version
    } else {
        ValueKind::Unit
    };
    Some(Value { kind, text: word.to_owned() })
}

/// Plural and singular are one subject.
fn stem(word: &str) -> String {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() >= 3 && !stem.ends_with('s') => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// Does a sentence bear a mark of change at all? Cheap; asked of every sentence of the user.
pub(crate) fn may_replace(text: &str) -> bool {
    let lower = text.to_lowercase();
    !text.ends_with(['?', '？'])
        && (changes(&lower) || has_any(&lower, PERMISSION) || has_any(&lower, FORGET) || swap(&lower).is_some())
}

/// `change the port to 9090` replaces; `change the parser` is work.
fn changes(lower: &str) -> bool {
    has_any(lower, CHANGE) || has(lower, "change") && has(lower, "to") && lower.bytes().any(|b| b.is_ascii_digit())
}

fn has_any(text: &str, words: &[&str]) -> bool {
    let pairs = Pairs::of(text);
    words.iter().any(|word| pairs.may_hold(word) && has(text, word))
}

/// Which pairs of bytes a text holds, roughly: most words are not in it, and two letters show that.
struct Pairs([u64; 16]);

impl Pairs {
    fn of(text: &str) -> Self {
        let mut pairs = Self([0; 16]);
        for pair in text.as_bytes().windows(2) {
            let (word, bit) = Self::place(pair[0], pair[1]);
            pairs.0[word] |= 1 << bit;
        }
        pairs
    }

    fn may_hold(&self, word: &str) -> bool {
        word.as_bytes().windows(2).all(|pair| {
            let (word, bit) = Self::place(pair[0], pair[1]);
            self.0[word] & (1 << bit) != 0
        })
    }

    fn place(first: u8, second: u8) -> (usize, u32) {
        // The low five bits tell letters apart.
        (usize::from(first & 15), u32::from(first & 16) * 2 + u32::from(second & 31))
    }
}

/// The words stand in the text, not within a longer word.
fn has(text: &str, words: &str) -> bool {
    let (bytes, wanted) = (text.as_bytes(), words.as_bytes());
    // Sentences are short: comparing at each first letter costs less than preparing a search.
    let Some((first, places)) = wanted.first().zip(bytes.len().checked_sub(wanted.len())) else {
        return false;
    };
    let found = (0..=places).filter(|&at| bytes[at] == *first && bytes[at..].starts_with(wanted));
    found.into_iter().any(|at| {
        let ascii = words.is_ascii();
        let open = text[..at].chars().next_back().is_none_or(|c| !ascii || !c.is_alphanumeric());
        let close = words.ends_with([' ', '\''])
            || text[at + words.len()..].chars().next().is_none_or(|c| !ascii || !c.is_alphanumeric());
        open && close
    })
}

/// `use A instead of B`, `A, not B`, `A rather than B`, `from B to A`: what goes out.
fn swap(lower: &str) -> Option<String> {
    const BEFORE: [&str; 9] = [
        " instead of ",
        " rather than ",
        ", not ",
        " and not ",
        " statt ",
        " au lieu de ",
        " en vez de ",
        " en lugar de ",
        "而不是",
    ];
    let out = BEFORE.iter().find_map(|mark| lower.split_once(mark).map(|(_, out)| out));
    let out =
        out.or_else(|| lower.split_once(" from ").filter(|(_, tail)| tail.contains(" to ")).map(|(_, tail)| tail))?;
    let word = out.split_whitespace().find(|word| !matches!(*word, "the" | "a" | "an" | "using" | "use"))?;
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    (!word.is_empty() && !STOP.contains(&word)).then(|| word.to_owned())
}

/// Does `new` take back `old`? `latest_value` says that `old` is the last statement before `new` with a value.
pub(crate) fn replaces(new: &Statement, old: &Statement, latest_value: bool) -> bool {
    let (new_lower, old_lower) = (new.lower.as_str(), old.lower.as_str());
    if new_lower == old_lower || new.text.ends_with(['?', '？']) {
        return false;
    }
    let shared = new.subject.intersection(&old.subject).count();
    let smaller = new.subject.len().min(old.subject.len()).max(1);
    let same_subject = shared > 0 && shared * 2 >= smaller;
    if let Some(out) = swap(new_lower) {
        // The one that goes out must be what the older sentence asked for, not what it forbade as well.
        let wanted = old.subject.contains(&stem(&out)) || old.values.iter().any(|value| value.text == out);
        if wanted && swap(old_lower).is_none_or(|old_out| old_out != out) && !has_any(old_lower, PROHIBITION) {
            return true;
        }
    }
    if let Some(object) = forgotten(new_lower) {
        let words = Statement::new(object).subject;
        if !words.is_empty() && words.iter().all(|word| old.subject.contains(word)) {
            return true;
        }
    }
    if has_any(new_lower, PERMISSION)
        && !has_any(new_lower, &["not ", "never"])
        && has_any(old_lower, PROHIBITION)
        && same_subject
    {
        return true;
    }
    if !changes(new_lower) || has_any(new_lower, ADDITION) {
        return false;
    }
    let ends = has_any(
        new_lower,
        &["no longer", "anymore", "any more", "not anymore", "stop using", "nicht mehr", "ya no", "不再"],
    );
    if ends && same_subject {
        return true;
    }
    other_value(new, old) && has_any(old_lower, PROHIBITION) == has_any(new_lower, PROHIBITION) && {
        // `make it 9090`: the pronoun stands for what was last given a value.
        let pronoun = ["it", "that", "this"].iter().any(|word| has(new_lower, word));
        same_subject || (pronoun && new.subject.is_empty() && latest_value)
    }
}

/// `8081 is taken. Actually make it 9090`: the pronoun stands for the number in the sentence before, which the older
/// rule asks for.
fn replaces_named(new: &Statement, before: &str, old: &Statement) -> bool {
    let [value] = new.values.as_slice() else {
        return false;
    };
    let pronoun = ["it", "that", "this"].iter().any(|word| has(&new.lower, word));
    if value.kind != ValueKind::Number || !pronoun || !new.subject.is_empty() || !changes(&new.lower) {
        return false;
    }
    let named = Statement::new(before).values;
    let out = swap(&old.lower);
    old.lower != new.lower
        && old.values.first().is_some_and(|asked| {
            asked.kind == ValueKind::Number
                && asked.text.len() >= 2
                && asked.text != value.text
                && out.as_deref() != Some(asked.text.as_str())
                && named.contains(asked)
        })
}

/// Each gives exactly one value, of the same kind, and they differ.
fn other_value(new: &Statement, old: &Statement) -> bool {
    match (new.values.as_slice(), old.values.as_slice()) {
        ([new], [old]) => new.kind == old.kind && new.text != old.text,
        _ => false,
    }
}

impl Statement {
    /// Gives a value that a later sentence could change.
    pub(crate) fn has_value(&self) -> bool {
        !self.values.is_empty()
    }
}

/// Numbers that were taken back and that no statement in force names.
pub(crate) fn values_gone(replaced: &[Replaced], in_force: &[String]) -> Vec<String> {
    let numbers = |text: &str| {
        let values = Statement::new(text).values.into_iter();
        values.filter(|value| value.kind == ValueKind::Number && value.text.len() >= 3).map(|value| value.text)
    };
    let held: BTreeSet<String> = in_force.iter().flat_map(|text| numbers(text)).collect();
    replaced
        .iter()
        .flat_map(|pair| numbers(&pair.old).filter(|value| !numbers(&pair.by).any(|new| new == *value)))
        .filter(|value| !held.contains(value))
        .collect()
}

fn forgotten(lower: &str) -> Option<&str> {
    FORGET.iter().find_map(|mark| {
        let at = lower.find(mark)?;
        let open = lower[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let object = lower[at + mark.len()..].split(['.', ',', ';', '!']).next().unwrap_or_default();
        (open && !object.trim().is_empty()).then_some(object)
    })
}

/// The rules in force and those that were taken back, as the session goes on.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// In force, oldest first.
    pub(crate) in_force: Vec<Statement>,
    /// Taken back: what was said, and what was said later.
    pub(crate) replaced: Vec<(String, String)>,
    known: Set<String>,
}

/// The most rules that are compared with a sentence that bears a mark of change. Bounds the work on a session that
/// is made of rules; the newest are compared.
const MAX_COMPARED: usize = 400;

impl Rules {
    /// Hears a sentence of the user. `obliges` says that it is a rule of its own, `before` is the sentence before it in
    /// the same message.
    pub(crate) fn hear(&mut self, statement: Statement, obliges: bool, before: &str) {
        let key = statement.lower.clone();
        if self.known.contains(&key) {
            // Said again: it holds from now on, and once.
            self.in_force.retain(|old| old.lower != key);
            self.replaced.retain(|(old, _)| old.to_lowercase() != key);
        }
        let mut replaced_any = false;
        if may_replace(&statement.text) {
            let first = self.in_force.len().saturating_sub(MAX_COMPARED);
            let latest = self.in_force.iter().rposition(Statement::has_value);
            let gone: Vec<usize> = (first..self.in_force.len())
                .filter(|&at| {
                    let old = &self.in_force[at];
                    replaces(&statement, old, latest == Some(at)) || replaces_named(&statement, before, old)
                })
                .collect();
            for at in gone.into_iter().rev() {
                let old = self.in_force.remove(at);
                self.replaced.push((old.text, statement.text.clone()));
                replaced_any = true;
            }
        }
        if obliges || replaced_any {
            self.known.insert(key);
            self.in_force.push(statement);
        }
    }
}
