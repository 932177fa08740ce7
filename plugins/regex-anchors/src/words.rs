//! Finds sentences that oblige, decide or report, and takes them word for word.
//!
//! Languages: English in full; German, French, Spanish, Chinese and Japanese by their commonest forms. A sentence too
//! many costs a few tokens; a rule that was lost costs the user's trust. So the user's side errs towards taking, within
//! its budget, and the assistant's side (decisions) towards leaving.

use crate::pattern::Matcher;

/// The longest sentence that is taken as a constraint or a decision, in bytes. Longer ones are pasted text.
const MAX_SENTENCE: usize = 600;

/// Forms that oblige. ASCII word boundaries; where a word alone is too common, a form around it.
const CONSTRAINT: &[&str] = &[
    // English
    r"\bmust(?:n't|nt)?\b",
    r"\bnever\b",
    r"\balways\b",
    r"(?:^|[.,;:(!] ?|\b(?:please|just|and|but|so|also|then|you|we) )(?:do not|don't|dont)\b",
    r"\b(?:should|shall|may|can|will) (?:not|never|only|always)\b",
    r"\b(?:shouldn't|can't|cannot|won't) (?:use|touch|change|break|depend|rely|exceed)\b",
    r"(?:^|\bplease |\band |, )only\b",
    r"\b(?:use|change|edit|modify|touch|run|allow|keep|support|write|add)s? only\b",
    r"\bonly (?:use|change|edit|modify|touch|run|allow|write|add|in|when|if|after|with)\b",
    r"\bprefer(?:ably|s)?\b",
    r"\bmake sure\b",
    r"\bensure\b",
    r"\bwithout\b",
    r"\bavoid\b",
    r"\b(?:is|are) (?:required|forbidden|mandatory|not allowed|off[- ]limits|prohibited)\b",
    r"\bhas to\b|\bhave to\b",
    r"(?:^|\bplease |\band |\bto |[,:;] ?|\bbut |\bso )use \S+",
    r"\binstead of\b|\brather than\b",
    r"\bno (?:more|longer|need)\b",
    r"\b(?:stick to|stick with|leave .{1,60} alone|as[- ]is\b|off[- ]limits|hands off)",
    r"\b(?:at most|at least|no more than|not more than|no later than)\b",
    r"\bfrom now on\b|\bgoing forward\b|\bmake it\b",
    r"\byou (?:may|can) now\b",
    r"\bremember (?:to|that)\b",
    r"(?:^|[,;] )no [a-z]",
    // German
    r"\b(?:muss|musst|m\x{fc}ssen|darf|darfst|d\x{fc}rfen|soll|sollst|sollen) ",
    r"\b(?:niemals|immer|keinesfalls|ausschlie\x{df}lich|bevorzug|vermeide|stattdessen|unbedingt)",
    r"\bbitte (?:kein|nicht|nur)|^(?:kein|nicht|nur|nie)|\bohne\b|\bstell(?:e|t)? sicher|\b(?:verwende|benutze|nutze|nimm)\b",
    // French
    r"\b(?:dois|doit|doivent|devez|il faut|jamais|toujours|uniquement|seulement|sans|\x{e9}vite|pr\x{e9}f\x{e8}re|assure-toi|assurez-vous)\b",
    r"\bn(?:e |')\S+ (?:pas|jamais|rien)\b|\butilise[rz]?\b",
    // Spanish
    r"\b(?:debe|debes|deben|hay que|nunca|siempre|solamente|\x{fa}nicamente|sin|evita|prefiero|prefiere)\b",
    r"(?:^|[,.;] ?|\x{a1})(?:solo|s\x{f3}lo|no (?:uses|toques|cambies|modifiques|borres|hagas)|usa|aseg\x{fa}rate)\b",
    // Chinese
    "不要|必须|务必|禁止|不能|不得|不许|不准|只能|只用|始终|总是|请用|请使用|优先|确保|一定要|别再|避免|而不是|改用",
    // Japanese
    "必ず|しないで|ないでください|してはいけない|禁止|のみ|だけ(?:を|に|で|使)|絶対|常に|避けて|使ってください|べきではない",
];

/// Forms that say nothing though they look obliging.
const NOT_CONSTRAINT: &[&str] = &[
    r"\bnever ?mind\b",
    r"\bmust (?:have been|be (?:a|the|because|something))\b",
    r"\b(?:i|we|it|they|that|this|he|she) (?:really |still |just )?(?:do not|don't|dont|doesn't) (?:understand|think|know|see|get|care|mind|like|believe)\b",
    r"\b(?:i've|i have|have) never\b",
    r"^(?:no|nope)[,.!]? (?:that|that's|thats|it|it's|i|you|problem|idea|worries|wait|they|the|this|we)\b",
];

/// Sentences of the assistant that settle something.
const DECISION_STRONG: &[&str] = &[
    r"\bi(?:'ll| will| have| 've|'ve|'m going to)? (?:decided?|chose|choose|opted?|went with|go with|switch(?:ed)? to)\b",
    r"\b(?:decided|decision|we agreed)\b",
    r"\broot cause\b",
    r"\b(?:the|real|actual) (?:problem|issue|bug|culprit|reason|cause) (?:is|was|lies|turned out)\b",
    r"\bturns out\b",
    r"\bthe fix (?:is|was)\b",
    r"\bi(?:'ll| will) use\b.{0,80}\b(?:instead|because|rather|so that)\b",
    r"\bi found (?:the|that)\b",
    r"\bentschieden|\bgrund (?:ist|war)|\bursache\b|d\x{e9}cid\x{e9}|\bcause (?:est|racine)|\bdecidi|decid\x{ed}|\bcausa ra\x{ed}z",
    "决定|根本原因|原因是|改用|決定|根本的な原因|原因は",
];
const DECISION_WEAK: &[&str] = &[
    r"\bi(?:'ll| will) use\b",
    r"\blet's (?:use|go with|keep|switch)\b",
    r"\binstead of\b|\brather than\b",
    r"\bbecause\b",
    r"\bgoing (?:with|forward with)\b",
    r"\bweil\b|\bstattdessen\b|\bparce que\b|\bau lieu\b|\bporque\b|\ben lugar de\b",
    "因为|なぜなら|代わりに",
];

/// Lines of output that report an error.
const ERROR_LINE: &[&str] = &[
    r"\b[A-Za-z]*(?:Error|Exception)\b ?(?:\[[\w]+\])?(?::|\()",
    r"^npm (?:ERR!|error) (?:code|Missing)",
    r"^\W{0,3}(?:error|fatal|panic|failed|failure|fail)\b[^a-z]{0,3}[:\[ ]",
    r"\berror(?:\[E\d{4}\]| TS\d+|:)",
    r"\bpanicked at\b|^Traceback \(most|\bSegmentation fault\b|\bcommand not found\b|\bpermission denied\b",
    r"\bno such file or directory\b|\bcannot find\b|\bcould not (?:find|resolve|compile|connect)\b|\bunable to\b",
    r"\bE(?:NOENT|ACCES|ADDRINUSE|CONNREFUSED|CONNRESET|TIMEDOUT|PERM|EXIST|NOSPC|NOTFOUND)\b|\bSIG(?:KILL|SEGV|ABRT)\b",
    r"^\W{0,3}(?:--- FAIL|FAIL(?:ED)?\b|not ok \d)|\bassertion .{0,40}failed\b",
];

/// Tasks that a text names.
const TODO: &[&str] = &[
    r"^[-*] \[ \] \S",
    r"\b(?:TODO|FIXME)\b",
    r"\b(?:still (?:need|needs|have|has) to|remains to be|remaining (?:work|tasks?|steps?) ?:|not yet (?:done|implemented|finished))\b",
];

/// The compiled forms.
#[derive(Debug)]
pub(crate) struct Words {
    constraint: Matcher,
    not_constraint: Matcher,
    decision_strong: Matcher,
    decision_weak: Matcher,
    error_line: Matcher,
    todo: Matcher,
}

fn any(forms: &[&str]) -> Result<Matcher, String> {
    Matcher::new(&forms.join("|"), true)
}

impl Words {
    /// Compiles the forms; `extra` are words of the operator that oblige too.
    pub(crate) fn new(extra: &[String]) -> Result<Self, String> {
        let mut constraint: Vec<String> = CONSTRAINT.iter().map(|&form| utf8(form)).collect();
        constraint.extend(extra.iter().filter(|word| !word.trim().is_empty()).map(|word| escape(word.trim())));
        let own = |forms: &[&str]| forms.iter().map(|&form| utf8(form)).collect::<Vec<_>>();
        let compile = |forms: Vec<String>| any(&forms.iter().map(String::as_str).collect::<Vec<_>>());
        Ok(Self {
            constraint: compile(constraint)?,
            not_constraint: any(NOT_CONSTRAINT)?,
            decision_strong: compile(own(DECISION_STRONG))?,
            decision_weak: any(DECISION_WEAK)?,
            error_line: any(ERROR_LINE)?,
            todo: any(TODO)?,
        })
    }

    /// Does the user's sentence oblige?
    pub(crate) fn is_constraint(&self, sentence: &str) -> bool {
        let question = sentence.ends_with(['?', '？']);
        !question && self.constraint.is_match(sentence) && !self.not_constraint.is_match(sentence)
    }

    /// How firmly the assistant's sentence decides: 2, 1, or 0 for not at all.
    pub(crate) fn decision(&self, sentence: &str) -> u8 {
        // `The problem is clear.` decides nothing.
        const SAYS_SOMETHING: usize = 32;
        if sentence.ends_with(['?', '？', ':']) || sentence.len() < SAYS_SOMETHING && sentence.is_ascii() {
            0
        } else if self.decision_strong.is_match(sentence) {
            2
        } else {
            u8::from(self.decision_weak.is_match(sentence))
        }
    }

    /// Does the line of output report an error?
    pub(crate) fn is_error(&self, line: &str) -> bool {
        // npm repeats in five lines that a script failed; what failed stands above them.
        if (line.starts_with("npm err") || line.starts_with("npm ERR"))
            && !line.contains(" code ")
            && !line.contains("Missing")
        {
            return false;
        }
        self.error_line.is_match(line)
    }

    /// Does the line name a task that is not done?
    pub(crate) fn is_todo(&self, line: &str) -> bool {
        self.todo.is_match(line)
    }
}

/// The word as a pattern that matches just it.
fn escape(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Spells `\x{e9}` as the letter itself: without Unicode classes an escape would be a single byte.
fn utf8(form: &str) -> String {
    let mut out = String::with_capacity(form.len());
    let mut rest = form;
    while let Some((before, after)) = rest.split_once(r"\x{") {
        let Some((code, tail)) = after.split_once('}') else {
            break;
        };
        out.push_str(before);
        out.extend(u32::from_str_radix(code, 16).ok().and_then(char::from_u32));
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// The sentences of a text, in order, without the white space and list marks around them. Code blocks, quotes and
/// lines that look like output are left out: what stands there was not said by the one who pasted it.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        if fenced || trimmed.starts_with(['>', '$', '|', '+']) || is_output(line) {
            continue;
        }
        split(without_mark(trimmed), &mut found);
    }
    found
}

/// The line without a mark such as `- `, `* ` or `2. `.
fn without_mark(line: &str) -> &str {
    for mark in ["- [ ] ", "- ", "* ", "• ", "# ", "## ", "### "] {
        if let Some(rest) = line.strip_prefix(mark) {
            return rest.trim_start();
        }
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line.as_bytes().get(digits) {
        Some(b'.' | b')') if digits > 0 && line[digits + 1..].starts_with(' ') => line[digits + 2..].trim_start(),
        _ => line,
    }
}

/// Does the line look like code or output rather than like words?
fn is_output(line: &str) -> bool {
    let mut letters = 0_usize;
    let mut others = 0_usize;
    for c in line.chars() {
        if c.is_alphabetic() {
            letters += 1;
        } else if !c.is_alphanumeric() && !c.is_whitespace() {
            others += 1;
        }
    }
    let code = line.trim_end().ends_with([';', '{', '}']) || line.trim_start().starts_with("at ");
    others * 2 > letters || (code && others * 5 > letters)
}

fn split<'t>(line: &'t str, found: &mut Vec<&'t str>) {
    let mut start = 0;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let ends = match c {
            '。' | '！' | '？' | '；' => true,
            '.' | '!' | '?' | ';' => {
                chars.peek().is_none_or(|(_, next)| next.is_whitespace()) && !is_abbreviation(&line[start..end])
            }
            _ => false,
        };
        if ends {
            push(&line[start..end], found);
            start = end;
        }
    }
    push(&line[start..], found);
}

fn is_abbreviation(text: &str) -> bool {
    ["e.g.", "i.e.", "etc.", "vs.", "cf.", "z.B.", "d.h.", "bzw.", "p. ex.", "approx."]
        .iter()
        .any(|short| text.ends_with(short))
}

fn push<'t>(sentence: &'t str, found: &mut Vec<&'t str>) {
    let sentence = sentence.trim().trim_end_matches(';').trim_end();
    let letters = sentence.chars().filter(|c| c.is_alphabetic()).count();
    if letters >= 4 && sentence.len() <= MAX_SENTENCE {
        found.push(sentence);
    }
}

/// Messages, in lower case and without marks around them, that say nothing to remember.
const TRIVIAL: &[&str] = &[
    "",
    "ok",
    "okay",
    "k",
    "yes",
    "y",
    "yeah",
    "yep",
    "yup",
    "sure",
    "no",
    "n",
    "nope",
    "continue",
    "go",
    "go on",
    "go ahead",
    "proceed",
    "next",
    "keep going",
    "carry on",
    "thanks",
    "thank you",
    "thx",
    "ty",
    "great",
    "nice",
    "cool",
    "good",
    "perfect",
    "done",
    "lgtm",
    "hi",
    "hello",
    "hey",
    "stop",
    "wait",
    "resume",
    "retry",
    "try again",
    "do it",
    "yes please",
    "please continue",
    "please do",
    "ok continue",
    "ja",
    "nein",
    "weiter",
    "danke",
    "oui",
    "non",
    "merci",
    "continuez",
    "sí",
    "si",
    "gracias",
    "sigue",
    "好",
    "好的",
    "继续",
    "是",
    "谢谢",
    "はい",
    "続けて",
    "お願いします",
    "ありがとう",
];

/// Messages that move the work on but say nothing to remember.
pub(crate) fn is_trivial(message: &str) -> bool {
    let words = message.trim().trim_matches(|c: char| c.is_ascii_punctuation() && c != '/' || c == '。' || c == '！');
    let command = words.starts_with('/') && !words[1..].contains(['/', ' ', '\n']);
    command || (words.len() <= 24 && TRIVIAL.contains(&words.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn obliging_sentences_are_found_in_each_language() {
        let words = Words::new(&["Hausregel".to_owned()]).unwrap();
        for sentence in [
            "invalid themes must NEVER explode",
            "omfg use rgb values in the themes, no rgb indices!",
            "Use pnpm, not npm.",
            "please don't modify the theme",
            "don't touch the API",
            "make sure you know to read the README.md",
            "no console logs!",
            "Only change files in src/.",
            "All handlers should never block",
            "the block should stay as is",
            "Bitte nicht die Tests ändern",
            "Du darfst die Schnittstelle nicht ändern",
            "verwende immer Leerzeichen",
            "N'utilise pas de bibliothèque externe",
            "Il faut garder la compatibilité",
            "No uses la base de datos de producción",
            "Nunca borres archivos",
            "不要修改数据库结构",
            "必须使用 TypeScript",
            "テストは必ず実行してください",
            "本番環境に触らないでください",
            "Hausregel: vier Augen",
        ] {
            assert!(words.is_constraint(sentence), "{sentence}");
        }
    }

    #[test]
    fn other_sentences_do_not_oblige() {
        let words = Words::new(&[]).unwrap();
        for sentence in [
            "i don't understand",
            "never mind",
            "no, that's not it",
            "must I restart it?",
            "there's one file left to fix up",
            "that must be a bug",
            "Der Test läuft",
            "ok, make muted a little brighter",
            "这个函数返回什么",
        ] {
            assert!(!words.is_constraint(sentence), "{sentence}");
        }
    }

    #[test]
    fn sentences_leave_out_code_quotes_and_output() {
        let text =
            "Do this. Then e.g. that!\n```\nnever run me\n```\n> must not count\n    at foo (bar.js:1:2)\n- last one";
        assert_eq!(sentences(text), ["Do this.", "Then e.g. that!", "last one"]);
    }

    #[test]
    fn messages_without_content_are_trivial() {
        for message in ["ok", "Continue.", "/mode", "/", "yes!", "好的", "  "] {
            assert!(is_trivial(message), "{message}");
        }
        for message in ["no, use pnpm", "/home/x/y is broken", "f0c674", "delete the file"] {
            assert!(!is_trivial(message), "{message}");
        }
    }
}
