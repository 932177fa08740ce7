//! Which tools touch files, and how their arguments name them.

/// What a tool does to the files that its arguments name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// Reads them.
    Read,
    /// Writes, edits, moves or deletes them.
    Modify,
    /// Applies a patch, whose text names them.
    Patch,
    /// Reads or modifies, as the argument `command` says: `view` reads.
    Editor,
    /// Runs a command.
    Run,
}

/// Names of the tools of well-known agents. Compared without case, underscores, hyphens and namespaces, so that
/// `read_file` stands for `ReadFile` and `mcp__fs__read_file` too.
const TOOLS: [(Effect, &[&str]); 5] = [
    (
        Effect::Read,
        &[
            "read",
            "readfile",
            "readtextfile",
            "readmanyfiles",
            "readmultiplefiles",
            "view",
            "viewfile",
            "viewimage",
            "cat",
            "open",
            "openfile",
            "notebookread",
            "getfile",
        ],
    ),
    (
        Effect::Modify,
        &[
            "write",
            "writefile",
            "writetofile",
            "create",
            "createfile",
            "newfile",
            "save",
            "savefile",
            "edit",
            "editfile",
            "multiedit",
            "strreplace",
            "replace",
            "replaceinfile",
            "searchreplace",
            "insert",
            "insertedit",
            "notebookedit",
            "delete",
            "deletefile",
            "removefile",
            "movefile",
            "renamefile",
            "rename",
        ],
    ),
    (Effect::Patch, &["applypatch", "patch", "applydiff"]),
    (Effect::Editor, &["strreplaceeditor", "strreplacebasededittool", "texteditor", "fileeditor"]),
    (
        Effect::Run,
        &[
            "bash",
            "shell",
            "sh",
            "exec",
            "execcommand",
            "execute",
            "executecommand",
            "executebash",
            "run",
            "runcommand",
            "runterminalcmd",
            "runinterminal",
            "runshellcommand",
            "localshell",
            "terminal",
            "powershell",
            "cmd",
        ],
    ),
];

const PATH_KEYS: [&str; 13] = [
    "path",
    "file_path",
    "filePath",
    "file",
    "filename",
    "file_name",
    "absolute_path",
    "target_file",
    "notebook_path",
    "paths",
    "files",
    "source",
    "destination",
];

const COMMAND_KEYS: [&str; 5] = ["command", "cmd", "script", "commandLine", "code"];

/// Which tools do what, and which arguments hold paths and commands.
///
/// ```
/// use contextengine_sdk::files::{Effect, Rules};
/// let rules = Rules::default().tool("slurp", Effect::Read).path_key("where");
/// assert_eq!(rules.effect("my__Slurp"), Some(Effect::Read));
/// assert_eq!(rules.effect("str_replace_based_edit_tool"), Some(Effect::Editor));
/// assert_eq!(rules.effect("web_search"), None);
/// ```
#[derive(Debug, Clone)]
pub struct Rules {
    tools: Vec<(String, Effect)>,
    pub(super) path_keys: Vec<String>,
    pub(super) command_keys: Vec<String>,
}

impl Default for Rules {
    fn default() -> Self {
        let tools = TOOLS.iter().flat_map(|(effect, names)| names.iter().map(|name| ((*name).to_owned(), *effect)));
        Self {
            tools: tools.collect(),
            path_keys: PATH_KEYS.map(str::to_owned).to_vec(),
            command_keys: COMMAND_KEYS.map(str::to_owned).to_vec(),
        }
    }
}

impl Rules {
    /// No tool, no key.
    pub fn none() -> Self {
        Self { tools: Vec::new(), path_keys: Vec::new(), command_keys: Vec::new() }
    }

    /// A further tool; takes precedence over what was known of its name.
    #[must_use]
    pub fn tool(mut self, name: &str, effect: Effect) -> Self {
        self.tools.insert(0, (plain(name), effect));
        self
    }

    /// A further argument that holds a path, a list of paths, or a list of objects with a path.
    #[must_use]
    pub fn path_key(mut self, key: impl Into<String>) -> Self {
        self.path_keys.push(key.into());
        self
    }

    /// A further argument that holds a command, as a string or a list of words.
    #[must_use]
    pub fn command_key(mut self, key: impl Into<String>) -> Self {
        self.command_keys.push(key.into());
        self
    }

    /// What a tool does, if it is known. The whole name is looked up first, then what follows its last namespace.
    pub fn effect(&self, name: &str) -> Option<Effect> {
        let known = |name: &str| {
            let name = plain(name);
            self.tools.iter().find(|(tool, _)| *tool == name).map(|(_, effect)| *effect)
        };
        known(name).or_else(|| known(last_part(name)))
    }
}

/// What follows the last `__`, `.`, `:` or `/`.
fn last_part(name: &str) -> &str {
    let name = name.rsplit_once("__").map_or(name, |(_, last)| last);
    name.rsplit(['.', ':', '/']).next().unwrap_or(name)
}

fn plain(name: &str) -> String {
    name.chars().filter(|sign| !matches!(sign, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}
