//! What was done: files, commands with their outcome, errors and whether they went away.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::anchors::Index;
use crate::calls::{Deed, core, cut};
use crate::secrets::Secrets;
use crate::summary::{Command, Counted, ErrorLine, Map, Status, Summary, clean_line, clean_source, is_listable};
use crate::words::Words;

/// The longest error line that is carried, in bytes.
const MAX_ERROR: usize = 240;

/// Error lines taken from one result: the first says what is wrong, and few further ones say more.
const ERRORS_PER_RESULT: usize = 2;

/// Errors that went away and are shown nevertheless, as their cure may be undone.
const RESOLVED_SHOWN: usize = 8;

/// Files, commands and errors that are remembered. Far above what a summary shows; bounds memory and details.
const MAX_REMEMBERED: usize = 5_000;

/// Files, commands and errors of a session, in the order of their last use.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    files: Map<String, FileUse>,
    commands: Map<String, (Command, u64)>,
    errors: Map<(String, String), (ErrorLine, u64)>,
    /// Errors by what would resolve them.
    by_core: Map<String, Vec<(String, String)>>,
    clock: u64,
}

#[derive(Debug, Clone, Copy)]
struct FileUse {
    modified: bool,
    last: u64,
    /// Mentions that an earlier summary counted.
    earlier: u32,
}

impl Deeds {
    /// A call has its result. `report` is the end of what the tool printed.
    pub(crate) fn done(
        &mut self,
        tool: &str,
        deed: &Deed,
        failed: bool,
        report: &str,
        words: &Words,
        secrets: &Secrets,
    ) {
        self.clock += 1;
        if !failed {
            self.touch(deed, secrets);
        }
        let source = clean_source(&cut(&source_of(tool, deed), MAX_ERROR));
        let mut errors = Vec::new();
        // A command that only looks prints other people's errors; a filter behind a pipe hides the exit status.
        if !deed.looks_only && (failed || deed.command.is_some()) {
            errors = error_lines(report, failed, words);
        }
        if errors.is_empty() && !failed {
            self.resolve(&source);
        }
        let status = if failed || !errors.is_empty() { Status::Failed } else { Status::Ok };
        if let Some(command) = deed.command.as_ref().filter(|_| !deed.looks_only) {
            self.ran(command, status, 1);
        }
        for line in errors {
            let line = cut(&clean_line(&secrets.mask(&line)), MAX_ERROR);
            self.error(ErrorLine { resolved: false, count: 1, source: source.clone(), line });
        }
    }

    /// Calls that no result followed.
    pub(crate) fn no_result(&mut self, calls: Vec<(String, String, Deed)>) {
        for (_, _, deed) in calls {
            self.clock += 1;
            if let Some(command) = deed.command.as_ref().filter(|_| !deed.looks_only) {
                self.ran(command, Status::Unknown, 1);
            }
        }
    }

    fn touch(&mut self, deed: &Deed, secrets: &Secrets) {
        for (path, modified) in
            deed.read.iter().map(|path| (path, false)).chain(deed.modified.iter().map(|path| (path, true)))
        {
            if secrets.mask(path) == path.as_str() {
                self.file(path, modified, 0);
            }
        }
    }

    fn file(&mut self, path: &str, modified: bool, earlier: u32) {
        let last = self.clock;
        if let Some(file) = self.files.get_mut(path) {
            file.modified |= modified;
            file.last = last;
            file.earlier = file.earlier.saturating_add(earlier);
        } else if self.files.len() < MAX_REMEMBERED {
            self.files.insert(path.to_owned(), FileUse { modified, last, earlier });
        }
    }

    fn ran(&mut self, line: &str, status: Status, count: u32) {
        let clock = self.clock;
        if let Some((command, last)) = self.commands.get_mut(line) {
            command.status = status;
            command.count = command.count.saturating_add(count);
            *last = clock;
        } else if self.commands.len() < MAX_REMEMBERED {
            self.commands.insert(line.to_owned(), (Command { status, count, line: line.to_owned() }, clock));
        }
    }

    fn error(&mut self, error: ErrorLine) {
        if error.line.is_empty() {
            return;
        }
        let source = if error.source.is_empty() { "?".to_owned() } else { error.source.clone() };
        let key = (source.clone(), error.line.clone());
        let clock = self.clock;
        if let Some((known, last)) = self.errors.get_mut(&key) {
            known.count = known.count.saturating_add(error.count);
            known.resolved = error.resolved;
            *last = clock;
        } else if self.errors.len() < MAX_REMEMBERED {
            self.by_core.entry(core(&source).to_owned()).or_default().push(key.clone());
            self.errors.insert(key, (ErrorLine { source, ..error }, clock));
        }
    }

    fn resolve(&mut self, source: &str) {
        // Each error is marked once and then forgotten here, so that the work stays linear.
        for key in self.by_core.get(core(source)).into_iter().flatten() {
            if let Some((error, _)) = self.errors.get_mut(key) {
                error.resolved = true;
            }
        }
    }

    /// Takes over what an earlier summary says.
    pub(crate) fn take_over(
        &mut self,
        modified: Vec<Counted>,
        read: Vec<Counted>,
        commands: Vec<Command>,
        errors: Vec<ErrorLine>,
    ) {
        // The lists begin with what matters most; so the last of them is the oldest.
        for (files, is_modified) in [(read, false), (modified, true)] {
            for file in files.into_iter().rev() {
                self.clock += 1;
                self.file(&file.name, is_modified, file.count);
            }
        }
        for command in commands {
            self.clock += 1;
            self.ran(&command.line, command.status, command.count);
        }
        for error in errors {
            self.clock += 1;
            self.error(error);
        }
    }

    /// Takes over the file lists that a compaction stored beside its summary, whoever wrote it.
    pub(crate) fn take_details(&mut self, details: &str) {
        let Ok(details) = serde_json::from_str::<serde_json::Value>(details) else {
            return;
        };
        for (key, modified) in [("readFiles", false), ("modifiedFiles", true)] {
            for path in details.get(key).and_then(serde_json::Value::as_array).into_iter().flatten() {
                if let Some(path) = path.as_str().filter(|path| !path.is_empty()) {
                    self.file(path, modified, 0);
                }
            }
        }
    }

    /// Files that were only read, and files that were modified, sorted.
    pub(crate) fn files(&self) -> (Vec<String>, Vec<String>) {
        let of = |modified: bool| {
            let files = self.files.iter().filter(|(_, file)| file.modified == modified);
            files.map(|(path, _)| path.clone()).collect::<BTreeSet<_>>().into_iter().collect()
        };
        (of(false), of(true))
    }

    /// Puts everything where it is shown.
    pub(crate) fn into_summary(self, index: &Index, summary: &mut Summary) {
        for (wanted, list) in [(true, &mut summary.modified), (false, &mut summary.read)] {
            let mut files: Vec<(Counted, u64)> = self
                .files
                .iter()
                .filter(|(path, file)| file.modified == wanted && is_listable(path))
                .map(|(path, file)| {
                    let count = index.file_mentions(path).saturating_add(file.earlier).max(1);
                    (Counted { name: path.clone(), count }, file.last)
                })
                .collect();
            files.sort_by(|(a, a_last), (b, b_last)| {
                (b.count, b_last).cmp(&(a.count, a_last)).then_with(|| a.name.cmp(&b.name))
            });
            list.extend(files.into_iter().map(|(file, _)| file));
        }
        let mut commands: Vec<(Command, u64)> = self.commands.into_values().collect();
        commands.sort_by(|(a, a_last), (b, b_last)| a_last.cmp(b_last).then_with(|| a.line.cmp(&b.line)));
        summary.commands.extend(commands.into_iter().map(|(command, _)| command));
        let mut errors: Vec<(ErrorLine, u64)> = self.errors.into_values().collect();
        errors.sort_by(|(a, a_last), (b, b_last)| {
            a_last.cmp(b_last).then_with(|| (&a.source, &a.line).cmp(&(&b.source, &b.line)))
        });
        // What went away matters little: only the newest of it.
        let resolved = errors.iter().filter(|(error, _)| error.resolved).count();
        let mut skip = resolved.saturating_sub(RESOLVED_SHOWN);
        errors.retain(|(error, _)| {
            let old = error.resolved && skip > 0;
            skip -= usize::from(old);
            !old
        });
        summary.errors.extend(errors.into_iter().map(|(error, _)| error));
    }
}

/// The name by which a call is known among errors: what its command does, or its tool and file.
fn source_of(tool: &str, deed: &Deed) -> String {
    match &deed.command {
        Some(command) => core(command).to_owned(),
        None => {
            let file = deed.modified.first().or_else(|| deed.read.first()).map_or("", String::as_str);
            clean_line(&format!("{tool} {file}"))
        }
    }
}

/// The lines of a report that say what went wrong.
fn error_lines(report: &str, failed: bool, words: &Words) -> Vec<String> {
    const LONGEST: usize = 4_000;
    let mut found: Vec<String> = Vec::new();
    for line in report.lines().filter(|line| line.len() <= LONGEST) {
        let line = without_escapes(line.trim());
        if words.is_error(&line) && !found.iter().any(|known| *known == line) {
            found.push(line.into_owned());
            if found.len() == ERRORS_PER_RESULT {
                break;
            }
        }
    }
    if found.is_empty() && failed {
        // No line says `error`: the last one that says anything but the exit status.
        let last = report.lines().rev().map(str::trim).find(|line| {
            let lower = line.to_ascii_lowercase();
            let says = !line.is_empty() && line.len() <= LONGEST;
            says && !["command exited with", "command aborted", "aborted"].iter().any(|end| lower.starts_with(end))
        });
        found.extend(last.map(|line| without_escapes(line).into_owned()));
    }
    found
}

/// The line without the escape sequences that colour it.
fn without_escapes(line: &str) -> Cow<'_, str> {
    if !line.as_bytes().contains(&0x1b) {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // `ESC [ … letter`; anything else is dropped with the character behind it.
            if chars.next() == Some('[') {
                for c in chars.by_ref() {
                    if c.is_ascii_alphabetic() {
                        break;
                    }
                }
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}
