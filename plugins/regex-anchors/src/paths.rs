//! Tells paths, and what looks like paths: branches, packages, references to issues, words with a slash.

use crate::anchors::{Kind, Origin};
use crate::shape::Before;

/// Extensions of files that people name. Two lists by how they are used: the second ones are also members of objects
/// (`console.log`) or ends of words, and count only behind a slash or in prose.
const EXTENSIONS: &[&str] = &[
    "adoc",
    "bash",
    "bat",
    "cc",
    "cfg",
    "conf",
    "cpp",
    "cs",
    "css",
    "csv",
    "cjs",
    "dart",
    "ex",
    "exs",
    "fish",
    "go",
    "gradle",
    "graphql",
    "hpp",
    "hs",
    "htm",
    "html",
    "ini",
    "ipynb",
    "java",
    "jpeg",
    "jpg",
    "js",
    "json",
    "json5",
    "jsonl",
    "jsx",
    "kt",
    "less",
    "lua",
    "md",
    "mdx",
    "mjs",
    "ml",
    "pdf",
    "php",
    "pl",
    "png",
    "properties",
    "proto",
    "ps1",
    "py",
    "pyi",
    "rb",
    "rs",
    "rst",
    "scala",
    "scss",
    "sh",
    "sql",
    "svelte",
    "svg",
    "swift",
    "tex",
    "tf",
    "toml",
    "ts",
    "tsv",
    "tsx",
    "txt",
    "vue",
    "wasm",
    "wit",
    "xml",
    "yaml",
    "yml",
    "zig",
    "zsh",
];

const WEAK_EXTENSIONS: &[&str] = &[
    "bin", "c", "db", "diff", "env", "gif", "gz", "h", "lock", "log", "m", "map", "patch", "r", "snap", "so", "tar",
    "zip",
];

/// First folders that make a path of two words without an extension (`src/auth`) a path.
const ROOTS: &[&str] = &[
    ".github", "app", "apps", "bin", "cmd", "config", "crates", "docs", "examples", "internal", "lib", "libs",
    "packages", "pkg", "plugins", "scripts", "src", "test", "tests", "tools",
];

/// First parts of branch names, beside those that are also folders.
const BRANCH_PREFIXES: &[&str] =
    &["bugfix", "chore", "feat", "feature", "fix", "hotfix", "perf", "refactor", "release", "salvage", "spike", "wip"];

/// First parts of media types, which look like paths.
const MEDIA: &[&str] = &["application", "text", "image", "audio", "video", "multipart", "font"];

fn extension(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && !stem.ends_with('/')).then_some(extension)
}

/// Both lists, each extension as a number, in order: most words behind a dot are none, and are told so in seven steps.
const BY_NUMBER: [u128; EXTENSIONS.len() + WEAK_EXTENSIONS.len()] = {
    let mut numbers = [0; EXTENSIONS.len() + WEAK_EXTENSIONS.len()];
    let mut filled = 0;
    while filled < numbers.len() {
        let extension =
            if filled < EXTENSIONS.len() { EXTENSIONS[filled] } else { WEAK_EXTENSIONS[filled - EXTENSIONS.len()] };
        let number = as_number(extension.as_bytes());
        let mut at = filled;
        while at > 0 && numbers[at - 1] > number {
            numbers[at] = numbers[at - 1];
            at -= 1;
        }
        numbers[at] = number;
        filled += 1;
    }
    numbers
};

/// The bytes of a word of at most 16 bytes as one number.
const fn as_number(word: &[u8]) -> u128 {
    let mut number = 0;
    let mut at = 0;
    while at < word.len() {
        number = (number << 8) | word[at] as u128;
        at += 1;
    }
    number
}

/// Is it an extension of files that people name?
pub(crate) fn is_extension(extension: &[u8]) -> bool {
    extension.len() <= 10 && BY_NUMBER.binary_search(&as_number(extension)).is_ok()
}

pub(crate) fn has_extension(name: &str) -> bool {
    extension(name).is_some_and(|extension| is_extension(extension.as_bytes()))
}

pub(crate) fn is_bare_file(candidate: &str, before: Before<'_>, after: &str, origin: Origin) -> bool {
    let Some(extension) = extension(candidate) else {
        return false;
    };
    // A call, a member of a member, a piece of a longer word.
    if after.starts_with('(') || matches!(before.last(), Some(b'.' | b'$' | b'@' | b'*' | b'/' | b'\\')) {
        return false;
    }
    let stem = candidate.split('.').next().unwrap_or_default();
    // `Node.js` is a program.
    if stem.len() < 2
        || (extension == "js" && ["node", "next", "vue", "nuxt", "three", "d3"].contains(&&*stem.to_ascii_lowercase()))
    {
        return false;
    }
    EXTENSIONS.contains(&extension)
        || (origin.prose
            && WEAK_EXTENSIONS.contains(&extension)
            && !matches!(stem, "console" | "process" | "this" | "self"))
}

/// A candidate with slashes: a path, a branch, a package, a reference to an issue, or words.
pub(crate) fn path<'c>(candidate: &'c str, before: Before<'_>, origin: Origin) -> Option<(Kind, &'c str)> {
    if let Some((repository, number)) = candidate.split_once('#') {
        let reference =
            repository.split('/').count() == 2 && !number.is_empty() && !repository.starts_with(['.', '/', '~']);
        return reference.then_some((Kind::Issues, candidate));
    }
    let mut name = candidate.trim_end_matches(['.', '/', '\\', '=', '-', '+', '%', '~']);
    if origin.git
        && (before.line().starts_with("diff --git")
            || before.line().starts_with("--- ")
            || before.line().starts_with("+++ "))
    {
        name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
    }
    if name.contains('\\') {
        return windows_path(name).then_some((Kind::Files, name));
    }
    // A closing tag, a regular expression, a piece of a glob or of a template.
    if matches!(before.last(), Some(b'<' | b'}' | b'*' | b':' | b'$' | b'^' | b'%' | b')' | b']')) || name.contains('$')
    {
        return None;
    }
    let segments: Vec<&str> = name.split('/').filter(|segment| !segment.is_empty()).collect();
    let first = segments.first().copied()?;
    let last = segments.last().copied()?;
    if segments.iter().any(|segment| is_opaque(segment)) || !name.bytes().any(|b| b.is_ascii_alphabetic()) {
        return None;
    }
    if name.starts_with('@') {
        let package = segments.len() == 2 && first.len() > 1 && !has_extension(last);
        return package.then_some((Kind::Packages, name));
    }
    if MEDIA.contains(&first) && segments.len() == 2 {
        return None;
    }
    let dotted = has_extension(last);
    if !dotted && segments.len() >= 2 && BRANCH_PREFIXES.contains(&first) && last.len() >= 3 {
        return Some((Kind::Branches, name));
    }
    if is_domain(first) && !name.starts_with(['/', '.', '~']) {
        // In code they are imports.
        return (segments.len() >= 2 && origin.prose).then_some((Kind::Urls, name));
    }
    if !origin.prose && (name.starts_with("./") || name.starts_with("../") || name.contains("node_modules/")) {
        // Imports between files; the files have names of their own.
        return None;
    }
    let rooted = name.starts_with(['/', '~']) || name.starts_with("./") || name.starts_with("../");
    let real = match segments.len() {
        1 => dotted && rooted,
        2 => dotted || (ROOTS.contains(&first) && !ROOTS.contains(&last)) || (rooted && first.len() > 1),
        _ => dotted || rooted || ROOTS.contains(&first),
    };
    (real && !name.starts_with("/dev/") && !name.starts_with("//")).then_some((Kind::Files, name))
}

/// The candidate is the ASCII part of a path with other letters, as in `src/数据/a.sql`: a name is never cut, so it is not
/// listed. Words in front of a path without a space, and behind its extension, are not part of it.
pub(crate) fn is_piece_of_wide_path(candidate: &str, before: Before<'_>, after: &str) -> bool {
    let wide = |b: Option<u8>| b.is_some_and(|b| !b.is_ascii());
    let begins = candidate.starts_with(['/', '.', '-', '_']) && wide(before.last());
    let letter = after.chars().next().is_some_and(|c| !c.is_ascii() && c.is_alphanumeric());
    begins || (letter && !has_extension(candidate))
}

fn windows_path(name: &str) -> bool {
    let bytes = name.as_bytes();
    let drive = bytes.len() > 3 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'\\';
    drive && name.split('\\').skip(1).all(|part| !part.is_empty())
}

fn is_domain(text: &str) -> bool {
    text.rsplit_once('.').is_some_and(|(host, tld)| {
        !host.is_empty() && ["com", "org", "net", "io", "dev", "ai", "app", "edu", "gov"].contains(&tld)
    })
}

/// A piece of base64 or of another encoding rather than a name that people gave.
fn is_opaque(segment: &str) -> bool {
    let has = |test: fn(&u8) -> bool| segment.as_bytes().iter().any(test);
    segment.len() > 100
        || (segment.len() >= 20
            && !segment.contains(['-', '_', '.'])
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase))
}
