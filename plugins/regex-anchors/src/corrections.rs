//! What the host found wrong with the last proposal, and what is done about it.

use std::borrow::Cow;

/// Defects that this strategy can do something about; the others are not made by it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Corrections {
    /// Names that the summary must hold (`lost-identifiers:a,b`).
    pub(crate) lost: Vec<String>,
    /// Headings that it must have (`missing-section:X`).
    pub(crate) missing_sections: Vec<String>,
    /// How often it was too long (`over-target`).
    too_long: u32,
    /// It saved too little (`not-smaller`, `no-progress`): more must be folded.
    too_little: u32,
    /// Its text was taken for something else (`truncated`, `tool-markup`, `template-echo`).
    misread: bool,
}

impl Corrections {
    /// Reads the defects. What follows the first colon names what is meant.
    pub(crate) fn read(corrections: &[String]) -> Self {
        let mut read = Self::default();
        for correction in corrections {
            let (defect, rest) = correction.split_once(':').unwrap_or((correction, ""));
            match defect.trim() {
                "lost-identifiers" => {
                    let names = rest.split(|c: char| c == ',' || c.is_whitespace());
                    let names = names.map(|name| name.trim_matches(['"', '\'', '`'])).filter(|name| !name.is_empty());
                    read.lost.extend(names.map(str::to_owned));
                }
                "missing-section" => {
                    let heading = rest.trim().trim_start_matches(['#', ' ']);
                    if !heading.is_empty() && !heading.contains('\n') {
                        read.missing_sections.push(heading.to_owned());
                    }
                }
                "over-target" => read.too_long += 1,
                "not-smaller" | "no-progress" => read.too_little += 1,
                "truncated" | "tool-markup" | "template-echo" => read.misread = true,
                _ => {}
            }
        }
        read
    }

    /// The limit of the summary: a quarter less for each time that it was too long.
    pub(crate) fn tighten(&self, limit: u32) -> u32 {
        (0..self.too_long.min(8)).fold(limit, |limit, _| limit - limit / 4)
    }

    /// The recent tokens that are kept: half for each time that too little was saved.
    pub(crate) fn keep_less(&self, keep: u32) -> u32 {
        keep >> (self.too_little + self.too_long).min(31)
    }

    /// The text without what was misread: code fences and tags, which come from the quoted messages.
    pub(crate) fn defuse(&self, text: String) -> String {
        if !self.misread {
            return text;
        }
        let mut out = String::with_capacity(text.len());
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                out.push('\n');
            }
            out.push_str(&defuse_line(line));
        }
        out
    }
}

fn defuse_line(line: &str) -> Cow<'_, str> {
    let body = line.trim_start_matches([' ', '-']);
    let fence = body.starts_with("```") || body.starts_with("~~~") && !body.starts_with("~~~~ replaced");
    let tag = line.contains('<');
    if !fence && !tag {
        return Cow::Borrowed(line);
    }
    let line = if fence { line.replace("```", "'''").replace("~~~", "'''") } else { line.to_owned() };
    Cow::Owned(line.replace('<', "‹").replace('>', "›"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defects_are_read_with_what_they_name() {
        let read = Corrections::read(&[
            "lost-identifiers:src/a.rs, 3f2a9c1".to_owned(),
            "missing-section: ## Next Steps".to_owned(),
            "over-target".to_owned(),
            "truncated: open fence".to_owned(),
            "split-group".to_owned(),
        ]);
        assert_eq!(read.lost, ["src/a.rs", "3f2a9c1"]);
        assert_eq!(read.missing_sections, ["Next Steps"]);
        assert_eq!(read.tighten(1000), 750);
        assert_eq!(read.keep_less(1000), 500);
        assert_eq!(read.defuse("- a\n  ```rs\n  <tool_call>".to_owned()), "- a\n  '''rs\n  ‹tool_call›");
    }
}
