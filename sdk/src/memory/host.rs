//! The host.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use super::{limited, quarter_of_bytes};
use crate::host::Services;
use crate::types::{Completion, Finish, Hit, Level, ModelError, Prompt, Scope};

/// A host whose model answers by script, whose state is a map, and which remembers what it was told.
///
/// Unless told otherwise: tokens are a quarter of the bytes, the model is absent, recall finds nothing, there are no
/// files. [`prompts`](Self::prompts), [`logged`](Self::logged) and [`state`](Self::state) tell what happened.
pub struct TestHost {
    count: Box<dyn Fn(&str) -> u32>,
    window: Option<u32>,
    script: RefCell<VecDeque<Result<Completion, ModelError>>>,
    model: Option<Model>,
    documents: Vec<(String, String)>,
    files: BTreeMap<String, String>,
    prompts: RefCell<Vec<Prompt>>,
    logged: RefCell<Vec<(Level, String)>>,
    progress: RefCell<Vec<(u32, u32, String)>>,
    state: RefCell<BTreeMap<(bool, String), Vec<u8>>>,
}

/// What stands in for a model.
type Model = Box<dyn Fn(&Prompt) -> Result<Completion, ModelError>>;

impl fmt::Debug for TestHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestHost").field("prompts", &self.prompts).field("logged", &self.logged).finish_non_exhaustive()
    }
}

impl Default for TestHost {
    fn default() -> Self {
        Self {
            count: Box::new(quarter_of_bytes),
            window: None,
            script: RefCell::default(),
            model: None,
            documents: Vec::new(),
            files: BTreeMap::new(),
            prompts: RefCell::default(),
            logged: RefCell::default(),
            progress: RefCell::default(),
            state: RefCell::default(),
        }
    }
}

impl TestHost {
    /// A host that grants nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts tokens with this function. Default: a quarter of the bytes, rounded up.
    #[must_use]
    pub fn count_with(mut self, count: impl Fn(&str) -> u32 + 'static) -> Self {
        self.count = Box::new(count);
        self
    }

    /// The model's input window. Default: not known.
    #[must_use]
    pub fn window(mut self, tokens: u32) -> Self {
        self.window = Some(tokens);
        self
    }

    /// The model answers with these texts, one a call; after the last one it is absent.
    #[must_use]
    pub fn answers<T: Into<String>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        texts.into_iter().fold(self, |host, text| host.answer(text, Finish::Complete))
    }

    /// The model's next answer, and how it ends.
    #[must_use]
    pub fn answer(self, text: impl Into<String>, finish: Finish) -> Self {
        let text = text.into();
        let output_tokens = (self.count)(&text);
        self.script.borrow_mut().push_back(Ok(Completion { text, finish, input_tokens: 0, output_tokens }));
        self
    }

    /// Once the script is used up the model answers as this function does. Default: it is absent.
    #[must_use]
    pub fn model(mut self, answer: impl Fn(&Prompt) -> Result<Completion, ModelError> + 'static) -> Self {
        self.model = Some(Box::new(answer));
        self
    }

    /// The model's next call fails so.
    #[must_use]
    pub fn fails(self, error: ModelError) -> Self {
        self.script.borrow_mut().push_back(Err(error));
        self
    }

    /// A text that recall finds by any of its words.
    #[must_use]
    pub fn document(mut self, id: impl Into<String>, text: impl Into<String>) -> Self {
        self.documents.push((id.into(), text.into()));
        self
    }

    /// A file that can be read.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.files.insert(path.into(), text.into());
        self
    }

    /// The prompts the model was asked, in order.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.prompts.borrow().clone()
    }

    /// The messages that were logged, in order.
    pub fn logged(&self) -> Vec<(Level, String)> {
        self.logged.borrow().clone()
    }

    /// The progress that was reported: done, total, label.
    pub fn progressed(&self) -> Vec<(u32, u32, String)> {
        self.progress.borrow().clone()
    }

    /// A stored value as text.
    pub fn state(&self, scope: Scope, key: &str) -> Option<String> {
        self.state_get(scope, key).map(|value| String::from_utf8_lossy(&value).into_owned())
    }
}

fn shelf(scope: Scope, key: &str) -> (bool, String) {
    (scope == Scope::Shared, key.to_owned())
}

impl Services for TestHost {
    fn count(&self, text: &str) -> u32 {
        (self.count)(text)
    }

    fn count_all(&self, texts: &[String]) -> Vec<u32> {
        texts.iter().map(|text| self.count(text)).collect()
    }

    fn fit(&self, text: &str, budget: u32) -> u32 {
        let fits = |end: usize| self.count(&text[..end]) <= budget;
        let (mut low, mut high) = (0, text.len());
        while low < high {
            let middle = crate::budget::head_bytes(text, low + (high - low).div_ceil(2)).len();
            if middle <= low {
                // One character is left between them; take it or leave it.
                low = if fits(high) { high } else { low };
                break;
            }
            if fits(middle) {
                low = middle;
            } else {
                high = text[..middle].char_indices().next_back().map_or(0, |(at, _)| at);
            }
        }
        u32::try_from(low).unwrap_or(u32::MAX)
    }

    fn log(&self, level: Level, message: &str) {
        self.logged.borrow_mut().push((level, message.to_owned()));
    }

    fn progress(&self, done: u32, total: u32, label: &str) {
        self.progress.borrow_mut().push((done, total, label.to_owned()));
    }

    fn model_window(&self) -> Option<u32> {
        self.window
    }

    fn complete(&self, prompt: &Prompt) -> Result<Completion, ModelError> {
        self.prompts.borrow_mut().push(prompt.clone());
        let scripted = self.script.borrow_mut().pop_front();
        let modelled = || self.model.as_ref().map_or(Err(ModelError::Absent), |model| model(prompt));
        let answer = scripted.unwrap_or_else(modelled)?;
        let input_tokens = self.count(&prompt.system).saturating_add(self.count(&prompt.user));
        Ok(Completion { input_tokens, ..answer })
    }

    fn complete_all(&self, prompts: &[Prompt]) -> Vec<Result<Completion, ModelError>> {
        prompts.iter().map(|prompt| self.complete(prompt)).collect()
    }

    fn state_get(&self, scope: Scope, key: &str) -> Option<Vec<u8>> {
        self.state.borrow().get(&shelf(scope, key)).cloned()
    }

    fn state_set(&self, scope: Scope, key: &str, value: &[u8]) -> Result<(), String> {
        self.state.borrow_mut().insert(shelf(scope, key), value.to_vec());
        Ok(())
    }

    fn state_delete(&self, scope: Scope, key: &str) -> Result<(), String> {
        self.state.borrow_mut().remove(&shelf(scope, key));
        Ok(())
    }

    fn state_keys(&self, scope: Scope, prefix: &str) -> Vec<String> {
        let state = self.state.borrow();
        let keys = state.keys().filter(|(shared, key)| *shared == (scope == Scope::Shared) && key.starts_with(prefix));
        keys.map(|(_, key)| key.clone()).collect()
    }

    fn recall_search(&self, query: &str, limit: u32) -> Vec<Hit> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let mut hits: Vec<Hit> = Vec::new();
        for (id, text) in &self.documents {
            let lower = text.to_lowercase();
            let found = words.iter().filter(|word| lower.contains(word.as_str())).count();
            if found > 0 {
                hits.push(Hit { id: id.clone(), snippet: limited(text, Some(200)).to_owned(), score: found as f32 });
            }
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(limit as usize);
        hits
    }

    fn recall_fetch(&self, id: &str, limit: Option<u32>) -> Option<String> {
        let (_, text) = self.documents.iter().find(|(known, _)| known == id)?;
        Some(limited(text, limit).to_owned())
    }

    fn file_read(&self, path: &str, limit: Option<u32>) -> Result<String, String> {
        let text = self.files.get(path).ok_or_else(|| format!("{path}: no such file"))?;
        Ok(limited(text, limit).to_owned())
    }

    fn file_entries(&self, path: &str) -> Result<Vec<String>, String> {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let inside = self.files.keys().filter_map(|file| file.strip_prefix(&folder));
        let mut names: Vec<String> =
            inside.map(|rest| rest.split_inclusive('/').next().unwrap_or(rest).to_owned()).collect();
        names.dedup();
        if names.is_empty() { Err(format!("{path}: no such folder")) } else { Ok(names) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may")]

    use super::*;

    #[test]
    fn a_function_answers_once_the_script_is_used_up() {
        let echo = |prompt: &Prompt| {
            let text = prompt.user.clone();
            Ok(Completion { text, finish: Finish::Complete, input_tokens: 0, output_tokens: 0 })
        };
        let host = TestHost::new().model(echo).answers(["scripted"]);
        let answers = host.complete_all(&[Prompt::new("", "a", 9), Prompt::new("", "b", 9)]);
        let texts: Vec<String> = answers.into_iter().map(|answer| answer.unwrap().text).collect();
        assert_eq!(texts, ["scripted", "b"]);
    }

    #[test]
    fn the_model_answers_by_script_and_is_absent_afterwards() {
        let host = TestHost::new().answers(["one"]).fails(ModelError::Timeout);
        let prompt = Prompt::new("system", "user", 10);
        assert_eq!(host.complete(&prompt).unwrap().text, "one");
        assert!(matches!(host.complete(&prompt), Err(ModelError::Timeout)));
        assert!(matches!(host.complete(&prompt), Err(ModelError::Absent)));
        assert_eq!(host.prompts().len(), 3);
    }

    #[test]
    fn state_is_kept_by_scope() {
        let host = TestHost::new();
        host.state_set(Scope::Session, "a/1", b"x").unwrap();
        host.state_set(Scope::Shared, "a/2", b"y").unwrap();
        assert_eq!(host.state_keys(Scope::Session, "a/"), ["a/1"]);
        assert_eq!(host.state(Scope::Shared, "a/2").as_deref(), Some("y"));
        host.state_delete(Scope::Shared, "a/2").unwrap();
        assert_eq!(host.state(Scope::Shared, "a/2"), None);
    }

    #[test]
    fn the_longest_prefix_that_fits_ends_at_a_character() {
        let host = TestHost::new();
        assert_eq!(host.fit("abcdefgh", 1), 4);
        assert_eq!(host.fit("abcääää", 1), 3);
        assert_eq!(host.fit("ääää", 99), 8);
        assert_eq!(host.fit("ääää", 0), 0);
    }

    #[test]
    fn folders_list_their_files_and_folders() {
        let host = TestHost::new().file("notes/a.md", "A").file("notes/deep/b.md", "B").file("notes/deep/c.md", "C");
        assert_eq!(host.file_entries("notes").unwrap(), ["a.md", "deep/"]);
        assert!(host.file_entries("other").unwrap_err().contains("other"));
        assert_eq!(host.file_read("notes/a.md", None).unwrap(), "A");
    }

    #[test]
    fn recall_ranks_by_matching_words() {
        let host = TestHost::new().document("1", "the parser").document("2", "the parser fails");
        let ids: Vec<String> = host.recall_search("parser fails", 5).into_iter().map(|hit| hit.id).collect();
        assert_eq!(ids, ["2", "1"]);
        assert_eq!(host.recall_fetch("1", Some(3)).as_deref(), Some("the"));
    }
}
