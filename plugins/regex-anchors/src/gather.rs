//! Walks over the entries that are folded and gathers what the summary says.
//!
//! One pass, in order. What is kept is looked at as well, but only to learn whether the user took something back,
//! answered a question, or was answered; its text is not copied. Everything copied is masked first.

use contextengine_sdk::{Block, EntryInfo, EntryKind, Marks, Position, Span, View, rules};

use crate::anchors::{Finder, Index, Origin};
use crate::calls::{Deed, cut, deed};
use crate::config::Config;
use crate::deeds::Deeds;
use crate::parse::{Parsed, parse};
use crate::secrets::Secrets;
use crate::summary::{OpenKind, Summary, clean_block, clean_line};
use crate::supersede::{Rules, Statement};
use crate::text::{floor, focus_words, head_and_tail, mentions, without_synthetic};
use crate::words::{self, Words};

/// Texts fetched at once: at most this many entries …
const PAGE: u32 = 256;
/// … and, by what `entries` says, about this many bytes.
const PAGE_BYTES: u64 = 4 << 20;

/// The longest single line that is carried of an error, a task or a question, in bytes.
pub(crate) const MAX_LINE: usize = 300;

/// The compiled patterns of an instance.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) finder: Finder,
    pub(crate) secrets: Secrets,
    pub(crate) words: Words,
}

impl Tools {
    pub(crate) fn new(config: &Config) -> Result<Self, String> {
        Ok(Self {
            finder: Finder::new(&config.anchors)?,
            secrets: Secrets::new()?,
            words: Words::new(&config.constraint_words)?,
        })
    }
}

/// What a walk found.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// Everything, not yet cut to a budget.
    pub(crate) summary: Summary,
    /// All files, for the details.
    pub(crate) read_files: Vec<String>,
    pub(crate) modified_files: Vec<String>,
}

/// A walk in progress.
pub(crate) struct Gather<'a> {
    view: &'a dyn View,
    config: &'a Config,
    pub(crate) tools: &'a Tools,
    focus: Vec<String>,
    pub(crate) summary: Summary,
    pub(crate) rules: Rules,
    pub(crate) index: Index,
    pub(crate) deeds: Deeds,
    pub(crate) tasks: Option<Vec<String>>,
    pub(crate) todos: Vec<String>,
    /// The newest question of the assistant that no message of the user followed.
    pub(crate) question: Option<String>,
    /// Requests that were folded and that no answer with content followed yet.
    pub(crate) unanswered: Vec<String>,
    pub(crate) pending: Vec<(String, String, Deed)>,
}

impl<'a> Gather<'a> {
    pub(crate) fn new(view: &'a dyn View, config: &'a Config, tools: &'a Tools, focus: Option<&str>) -> Self {
        let mut summary = Summary::default();
        let focus = focus.map(str::trim).filter(|focus| !focus.is_empty());
        summary.focus = focus.map(|focus| clean_block(&tools.secrets.mask(focus)));
        Self {
            view,
            config,
            tools,
            focus: focus.map(focus_words).unwrap_or_default(),
            summary,
            rules: Rules::default(),
            index: Index::default(),
            deeds: Deeds::default(),
            tasks: None,
            todos: Vec::new(),
            question: None,
            unanswered: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Walks over the view; `folded[at]` says whether an entry is folded.
    pub(crate) fn walk(&mut self, infos: &[EntryInfo], folded: &[bool]) {
        let names = self.view.tools();
        let mut at = 0_usize;
        while at < infos.len() {
            let page = self.page(infos, folded, at);
            let texts = if page.iter().any(|&folded| folded) {
                Some(self.view.texts(Span::new(at as u32, (at + page.len()) as u32), Some(self.config.scan_head_bytes)))
            } else {
                None
            };
            for (offset, &is_folded) in page.iter().enumerate() {
                let position = at + offset;
                let Some(info) = infos.get(position) else { continue };
                let text = texts.as_ref().map_or("", |texts| texts.get(offset));
                if is_folded {
                    let calls = has_calls(infos, position);
                    self.folded(position as Position, info, text, calls, &names);
                } else {
                    self.kept(position as Position, info);
                }
            }
            at += page.len();
        }
    }

    /// The next entries that are fetched together: all folded or all kept.
    fn page<'f>(&self, infos: &[EntryInfo], folded: &'f [bool], at: usize) -> &'f [bool] {
        let mut bytes = 0_u64;
        let limit = u64::from(self.config.scan_head_bytes);
        let rest = &folded[at..];
        let mut len = 0;
        for (info, is_folded) in infos[at..].iter().zip(rest) {
            bytes += u64::from(info.bytes).min(limit);
            if len > 0 && (*is_folded != rest[0] || len == PAGE as usize || bytes > PAGE_BYTES) {
                break;
            }
            len += 1;
        }
        &rest[..len.max(1).min(rest.len())]
    }

    fn folded(&mut self, at: Position, info: &EntryInfo, text: &str, calls: bool, names: &[String]) {
        self.index.next_entry();
        match info.kind {
            EntryKind::User => self.user(at, info, text),
            EntryKind::Assistant if calls => self.assistant_with_calls(at),
            EntryKind::Assistant => self.assistant(text),
            EntryKind::ToolResult => self.result(at, info, text, names),
            EntryKind::Summary | EntryKind::BranchSummary => self.earlier(at),
            EntryKind::Note | EntryKind::System => self.scan(text, Origin { prose: true, git: false }),
        }
        self.summary.entries += u64::from(!matches!(info.kind, EntryKind::Summary));
    }

    /// An entry that stays: only what it says about older ones matters.
    fn kept(&mut self, at: Position, info: &EntryInfo) {
        match info.kind {
            EntryKind::User => {
                let text = self.view.text(at, Some(self.config.scan_head_bytes));
                let text = self.tools.secrets.mask(&text).into_owned();
                self.question = None;
                self.hear(&text, false);
            }
            EntryKind::Assistant if info.bytes > 0 => self.answered(),
            _ => {}
        }
    }

    /// Names in a text. It is masked first, so that no part of a secret is taken for a name.
    fn scan(&mut self, text: &str, origin: Origin) {
        let text = &*self.tools.secrets.mask(text);
        self.tools.finder.scan(text, origin, &self.tools.secrets, &mut self.index);
    }

    /// The part of a long text behind its head that is read as well.
    fn tail(&self, at: Position, info: &EntryInfo) -> Option<String> {
        let head = self.config.scan_head_bytes;
        (info.bytes > head).then(|| {
            let start = head.max(info.bytes.saturating_sub(self.config.scan_tail_bytes));
            self.view.text_range(at, start, info.bytes)
        })
    }

    fn user(&mut self, at: Position, info: &EntryInfo, text: &str) {
        let tail = self.tail(at, info);
        let said = without_synthetic(text);
        self.question = None;
        self.scan(&said, Origin { prose: true, git: false });
        if let Some(tail) = &tail {
            self.scan(tail, Origin { prose: true, git: false });
        }
        if words::is_trivial(&said) {
            self.summary.messages_left_out += u64::from(!said.trim().is_empty() || info.bytes > 0);
            return;
        }
        let masked = self.tools.secrets.mask(&said).into_owned();
        self.hear(&masked, true);
        let total = if tail.is_some() { info.bytes as usize } else { masked.len() };
        let limit = self.config.max_message_tokens as usize * 4;
        let tail = tail.map(|tail| self.tools.secrets.mask(&tail).into_owned());
        let message = clean_block(&head_and_tail(&masked, tail.as_deref(), total, limit));
        if message.is_empty() {
            return;
        }
        self.unanswered.push(cut(&clean_line(&message), MAX_LINE));
        if self.summary.goal.is_none() && self.config.budgets.goal > 0 {
            let limit = self.config.budgets.goal as usize * 4;
            self.summary.goal = Some(clean_block(&head_and_tail(&message, None, message.len(), limit)));
        } else {
            self.summary.messages.push(message);
        }
    }

    /// Rules in a message, and what they take back.
    fn hear(&mut self, text: &str, folded: bool) {
        let mut before = "";
        for sentence in words::sentences(text) {
            let obliges = folded && self.tools.words.is_constraint(sentence);
            if obliges || crate::supersede::may_replace(sentence) {
                self.rules.hear(Statement::new(&clean_line(sentence)), obliges, before);
            }
            before = sentence;
        }
    }

    /// Something with content was answered: the model saw every request before it. Requests that an earlier summary
    /// left open are answered too.
    fn answered(&mut self) {
        self.unanswered.clear();
    }

    fn assistant(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.answered();
        self.scan(text, Origin { prose: true, git: false });
        let masked = self.tools.secrets.mask(text).into_owned();
        self.question = None;
        let mut todos = Vec::new();
        for sentence in words::sentences(&masked) {
            let line = clean_line(sentence);
            if self.tools.words.decision(sentence) > 0 {
                self.summary.decisions.push(line.clone());
            }
            if !self.focus.is_empty() && mentions(sentence, &self.focus) {
                self.summary.focus_notes.push(line.clone());
            }
            if sentence.ends_with(['?', '？']) {
                self.question = Some(cut(&line, MAX_LINE));
            } else if self.tools.words.is_todo(sentence) {
                todos.push(cut(&line, MAX_LINE));
            }
        }
        for line in masked.lines().map(str::trim) {
            if let Some(task) = line.strip_prefix("- [ ] ").or_else(|| line.strip_prefix("* [ ] ")) {
                todos.push(cut(&clean_line(task), MAX_LINE));
            }
        }
        if !todos.is_empty() {
            self.todos = todos;
        }
        const SAYS_SOMETHING: usize = 40;
        if masked.trim().len() >= SAYS_SOMETHING {
            let limit = self.config.budgets.state as usize * 4;
            let words = clean_block(&head_and_tail(masked.trim(), None, masked.trim().len(), limit));
            self.summary.state.push(words);
            if self.summary.state.len() > 2 {
                self.summary.state.remove(0);
            }
        }
    }

    fn assistant_with_calls(&mut self, at: Position) {
        self.answered();
        self.deeds.no_result(std::mem::take(&mut self.pending));
        for block in self.view.blocks(at) {
            match block {
                Block::Text(text) => self.assistant(floor(&text, self.config.scan_head_bytes as usize)),
                Block::ToolCall(call) => {
                    let mut deed = deed(&call.name, &call.arguments);
                    let words = std::mem::take(&mut deed.words);
                    let limit = (self.config.scan_head_bytes as usize).min(words.len());
                    self.scan(floor(&words, limit), Origin { prose: false, git: deed.git });
                    self.mask_deed(&mut deed);
                    if let Some(tasks) = deed.tasks.take() {
                        self.tasks = Some(tasks);
                    }
                    self.pending.push((call.id, call.name, deed));
                }
                _ => {}
            }
        }
    }

    fn mask_deed(&self, deed: &mut Deed) {
        let mask = |text: &String| self.tools.secrets.mask(text).into_owned();
        deed.command = deed.command.as_ref().map(mask);
        deed.tasks = deed.tasks.as_ref().map(|tasks| tasks.iter().map(mask).collect());
    }

    fn result(&mut self, at: Position, info: &EntryInfo, text: &str, names: &[String]) {
        let name = info.tool.and_then(|tool| names.get(tool as usize)).map_or("", String::as_str);
        let deed = self.call_of(at, name);
        let git = deed.as_ref().is_some_and(|deed| deed.git);
        let origin = Origin { prose: false, git };
        self.scan(text, origin);
        let tail = self.tail(at, info);
        if let Some(tail) = &tail {
            self.scan(tail, origin);
        }
        let Some(deed) = deed else { return };
        let failed = info.marks.contains(Marks::FAILED);
        let report = tail.as_deref().unwrap_or(text);
        self.deeds.done(name, &deed, failed, report, &self.tools.words, &self.tools.secrets);
    }

    /// The call that a result answers. Ids are asked for only where the tool's name leaves a choice.
    fn call_of(&mut self, at: Position, name: &str) -> Option<Deed> {
        let same = |(_, tool, _): &&(String, String, Deed)| tool == name;
        let found = match self.pending.iter().filter(same).count() {
            0 if self.pending.len() == 1 => Some(0),
            1 => self.pending.iter().position(|(_, tool, _)| tool == name),
            _ => {
                let id = self.view.blocks(at).into_iter().find_map(|block| match block {
                    Block::ToolResult(result) => Some(result.call_id),
                    _ => None,
                })?;
                self.pending.iter().position(|(call, _, _)| *call == id)
            }
        }?;
        Some(self.pending.remove(found).2)
    }

    /// A summary: its structure if it is one of ours, its words if it is somebody else's.
    fn earlier(&mut self, at: Position) {
        let last = self.view.last_compaction().filter(|last| last.at == at);
        if let Some(details) = last.as_ref().and_then(|last| last.details.as_deref()) {
            self.deeds.take_details(details);
        }
        let text = last.map(|last| last.summary).filter(|text| !text.trim().is_empty());
        let text = text.unwrap_or_else(|| self.view.text(at, None));
        match parse(&text) {
            Some(parsed) => self.take_over(parsed),
            None => {
                for rule in rules::recorded(self.view, at) {
                    self.rules.hear(Statement::new(&clean_line(&self.tools.secrets.mask(&rule))), true, "");
                }
                self.foreign(&text);
            }
        }
    }

    fn foreign(&mut self, text: &str) {
        self.scan(text, Origin { prose: true, git: false });
        let masked = self.tools.secrets.mask(text).into_owned();
        let limit = self.config.budgets.earlier as usize * 4;
        let words = clean_block(&head_and_tail(&masked, None, masked.len(), limit));
        if !words.is_empty() && !self.summary.earlier.contains(&words) {
            self.summary.earlier.push(words);
        }
    }

    fn take_over(&mut self, parsed: Parsed) {
        /// Lines that a host puts around a summary; more than that are somebody's words.
        const WRAPPER: usize = 300;
        let old = parsed.summary;
        if parsed.rest.len() > WRAPPER {
            self.foreign(&parsed.rest);
        }
        let new = &mut self.summary;
        new.entries += old.entries;
        new.rounds += old.rounds;
        new.messages_left_out += old.messages_left_out;
        new.goal = new.goal.take().or(old.goal);
        new.messages.extend(old.messages);
        new.state = old.state;
        new.decisions.extend(old.decisions);
        new.decisions.extend(old.focus_notes);
        new.notes.extend(old.notes);
        for words in old.earlier {
            if !new.earlier.contains(&words) {
                new.earlier.push(words);
            }
        }
        for open in old.open {
            match open.kind {
                OpenKind::Request => self.unanswered.push(open.text),
                OpenKind::Question => self.question = Some(open.text),
                OpenKind::Todo => self.todos.push(open.text),
            }
        }
        for rule in old.constraints {
            self.rules.hear(Statement::new(&rule), true, "");
        }
        self.rules.replaced.extend(old.replaced.into_iter().map(|it| (it.old, it.by)));
        self.index.take_over(&old.anchors);
        self.deeds.take_over(old.modified, old.read, old.commands, old.errors);
    }
}

/// Could an assistant entry hold calls? The host names the tool of a single call; several show by their results.
fn has_calls(infos: &[EntryInfo], at: usize) -> bool {
    let info = &infos[at];
    let next = infos.get(at + 1);
    info.kind == EntryKind::Assistant
        && (info.tool.is_some()
            || info.marks.contains(Marks::IN_FLIGHT)
            || next.is_some_and(|next| next.group == info.group && next.kind == EntryKind::ToolResult))
}
