//! The shape of a summary, as Markdown: headings with content, and whether it ends where it should.

/// A line of the text and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    /// A heading, as it stands there.
    Heading(&'a str),
    Content,
    /// A line of the template.
    Echo(&'a str),
    /// Blank, a rule, a fence.
    Nothing,
}

/// A summary, line by line.
#[derive(Debug)]
pub(super) struct Text<'a> {
    lines: Vec<Line<'a>>,
    in_fence: bool,
    last: &'a str,
}

/// An open code fence: its character and its length.
type Fence = Option<(char, usize)>;

impl<'a> Text<'a> {
    pub(super) fn read(text: &'a str, template: &[String]) -> Self {
        let mut fence: Fence = None;
        let mut lines = Vec::new();
        for line in text.lines() {
            let body = line.trim();
            lines.push(match (step(&mut fence, line), fence) {
                (true, _) => Line::Nothing,
                (false, Some(_)) => Line::Content,
                (false, None) => classify(body, template),
            });
        }
        let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        Self { lines, in_fence: fence.is_some(), last }
    }

    /// The headings that are not there, not in their order, or have no content before the next heading of their level.
    pub(super) fn missing(&self, sections: &[String]) -> Vec<String> {
        let mut from = 0;
        let mut missing = Vec::new();
        for section in sections {
            match self.find(section.trim(), from) {
                Some(after) => from = after,
                None => missing.push(section.trim().to_owned()),
            }
        }
        missing
    }

    /// Where the search goes on behind a section that is there and has content.
    fn find(&self, heading: &str, from: usize) -> Option<usize> {
        let at = from + self.lines.get(from..)?.iter().position(|line| *line == Line::Heading(heading))?;
        let level = level(heading);
        let body = self.lines[at + 1..].iter().take_while(|line| match line {
            Line::Heading(next) => self::level(next) > level,
            _ => true,
        });
        body.into_iter().any(|line| *line == Line::Content).then_some(at + 1)
    }

    /// Why the text seems to be cut off.
    pub(super) fn cut_off(&self) -> Option<String> {
        if self.in_fence {
            return Some("it ends within a code block".to_owned());
        }
        const OPEN: [char; 11] = [':', '：', ',', '，', '、', ';', '；', '…', '(', '（', '—'];
        let open = self.last.ends_with(OPEN) || self.last.ends_with("...");
        open.then(|| format!("it ends in the middle of a sentence: `{}`", tail(self.last)))
    }

    /// The first line that was taken from the template.
    pub(super) fn echo(&self) -> Option<&'a str> {
        self.lines.iter().find_map(|line| match line {
            Line::Echo(line) => Some(*line),
            _ => None,
        })
    }
}

/// Whether the line opens or closes a fence; keeps track of the open one.
fn step(fence: &mut Fence, line: &str) -> bool {
    let body = line.trim_start_matches(' ');
    let Some(mark) = body.chars().next().filter(|c| matches!(c, '`' | '~')) else { return false };
    let width = body.chars().take_while(|c| *c == mark).count();
    // Four blanks make a code block of the line; fewer than three marks are no fence.
    if width < 3 || line.len() - body.len() > 3 {
        return false;
    }
    match *fence {
        None => *fence = Some((mark, width)),
        Some((open, least)) if open == mark && width >= least && body[width..].trim().is_empty() => *fence = None,
        Some(_) => return false,
    }
    true
}

fn classify<'a>(body: &'a str, template: &[String]) -> Line<'a> {
    let is_rule = body.len() >= 3
        && ['-', '*', '_'].iter().any(|mark| body.chars().all(|c| c == *mark || c == ' ') && body.contains(*mark));
    if body.is_empty() || is_rule {
        return Line::Nothing;
    }
    if (1..=6).contains(&level(body)) && body.trim_start_matches('#').starts_with(' ') {
        return Line::Heading(body);
    }
    if template.iter().any(|line| line.trim() == body) {
        return Line::Echo(body);
    }
    Line::Content
}

fn level(heading: &str) -> usize {
    heading.chars().take_while(|c| *c == '#').count()
}

fn tail(line: &str) -> &str {
    let from = line.char_indices().rev().nth(39).map_or(0, |(at, _)| at);
    &line[from..]
}

/// Markup with which models call tools, or end their turn.
pub(super) fn tool_markup(text: &str) -> Option<&'static str> {
    const MARKUP: [&str; 9] = [
        "<function_calls>",
        "<tool_call>",
        "<tool_calls>",
        "<tool_use>",
        "<invoke name=",
        "[TOOL_CALLS]",
        "<|tool_call",
        "<|im_end|>",
        "<|im_start|>",
    ];
    MARKUP.into_iter().find(|markup| text.contains(markup))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTIONS: [&str; 2] = ["## Goal", "## Next Steps"];

    fn missing(text: &str) -> Vec<String> {
        let template = vec!["- [what the user wants]".to_owned()];
        Text::read(text, &template).missing(&SECTIONS.map(str::to_owned))
    }

    #[test]
    fn sections_are_there_in_order_with_content() {
        assert!(missing("## Goal\nfix it\n\n## Next Steps\n### Now\n- run\n").is_empty());
        assert_eq!(missing("## Next Steps\nrun\n## Goal\nfix it"), ["## Next Steps"]);
        assert_eq!(missing("## Goal\n\n---\n## Next Steps\nrun"), ["## Goal"]);
        assert_eq!(missing("## Goals\nfix\n## Next Steps\nrun"), ["## Goal"]);
        assert_eq!(missing("## Goal\n- [what the user wants]\n## Next Steps\nrun"), ["## Goal"]);
    }

    #[test]
    fn a_heading_in_a_code_block_is_content() {
        assert_eq!(missing("## Goal\nfix\n```\n## Next Steps\nrun\n```"), ["## Next Steps"]);
        assert!(
            missing("## Goal\n~~~~\n~~~\n~~~~\n## Next Steps\nrun").is_empty(),
            "a longer fence holds a shorter one"
        );
    }

    #[test]
    fn an_open_end_is_seen_and_a_closed_one_is_not() {
        let cut = |text: &str| Text::read(text, &[]).cut_off().is_some();
        for open in ["and then:", "first,", "…", "so on...", "```rust\nfn main() {", "還有，"] {
            assert!(cut(open), "{open}");
        }
        for closed in ["done.", "- `a.rs`", "```\ncode,\n```", "see `x`", "## Goal\n- fix #482"] {
            assert!(!cut(closed), "{closed}");
        }
    }

    #[test]
    fn markup_of_tools_is_seen() {
        assert_eq!(tool_markup("then <tool_call>{}"), Some("<tool_call>"));
        assert_eq!(tool_markup("a < b and a tool call"), None);
    }
}
