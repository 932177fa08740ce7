//! A summary as headings and what stands below them: read from the model's text, put in order, completed.
//!
//! Headings are recognised with other marks too (`**Goal**`, `1. Goal:`), so that no model call is spent on
//! punctuation. What counts as content is what the host's gate counts.

use crate::config::Section;

/// A text, by headings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Body {
    /// What stands before the first heading.
    pub(crate) opening: String,
    /// One text for each section that was asked for, in their order; empty where there is none.
    pub(crate) texts: Vec<String>,
}

impl Body {
    /// Reads a text. Lines of the template are left out: they say nothing.
    pub(crate) fn read(text: &str, sections: &[Section]) -> Self {
        let mut body = Self { opening: String::new(), texts: vec![String::new(); sections.len()] };
        let mut current: Option<usize> = None;
        let mut fence: Option<(char, usize)> = None;
        for line in text.trim().lines() {
            let inside = fence.is_some();
            step(&mut fence, line);
            if !inside && fence.is_none() {
                if let Some(found) = heading(line, sections) {
                    current = Some(found);
                    continue;
                }
                if echoes(line, sections) {
                    continue;
                }
            }
            let target = match current {
                Some(at) => &mut body.texts[at],
                None => &mut body.opening,
            };
            let deeper =
                current.filter(|_| !inside && fence.is_none()).map(|at| below(line, level(&sections[at].heading)));
            target.push_str(deeper.as_deref().unwrap_or(line));
            target.push('\n');
        }
        body.opening = opening(&body.opening);
        for text in &mut body.texts {
            *text = text.trim().to_owned();
        }
        body
    }

    /// Required sections without content, neither their own nor in a section below them.
    pub(crate) fn missing(&self, sections: &[Section]) -> Vec<usize> {
        (0..sections.len()).filter(|&at| sections[at].required && !self.has_content(at, sections)).collect()
    }

    /// Whether a section, or one below it, says something.
    pub(crate) fn has_content(&self, at: usize, sections: &[Section]) -> bool {
        let own = level(&sections[at].heading);
        let below = sections[at + 1..].iter().take_while(|section| level(&section.heading) > own).count();
        self.texts[at..=at + below].iter().any(|text| says_something(text))
    }

    /// Adds lines to a section; where it said that there is nothing, they replace it.
    pub(crate) fn add(&mut self, at: usize, lines: &str) {
        let text = &mut self.texts[at];
        if text.trim_matches(['-', '*', ' ', '.', '`']).eq_ignore_ascii_case("none") {
            text.clear();
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(lines.trim_end());
    }

    /// The text: every section that says something, in the order asked for.
    pub(crate) fn write(&self, sections: &[Section]) -> String {
        let mut out = self.opening.clone();
        for (at, section) in sections.iter().enumerate() {
            if self.has_content(at, sections) {
                if !out.is_empty() {
                    out.push_str("\n\n");
                }
                out.push_str(&section.heading);
                if !self.texts[at].is_empty() {
                    out.push('\n');
                    out.push_str(&self.texts[at]);
                }
            }
        }
        out
    }
}

/// The line of the template below a heading.
pub(crate) fn hint(section: &Section) -> Option<String> {
    (!section.about.is_empty()).then(|| format!("({})", section.about))
}

/// Whether a line is one of the template.
pub(crate) fn echoes(line: &str, sections: &[Section]) -> bool {
    let body = line.trim().trim_start_matches(['-', '*', ' ']);
    !body.is_empty() && sections.iter().filter_map(hint).any(|hint| hint == body)
}

/// Some line is neither blank nor a rule, a heading or a fence.
pub(crate) fn says_something(text: &str) -> bool {
    let mut fence = None;
    text.lines().any(|line| {
        let was_open = fence.is_some();
        let is_fence = step(&mut fence, line);
        let body = line.trim();
        let is_rule = body.len() >= 3
            && ['-', '*', '_'].iter().any(|mark| body.chars().all(|c| c == *mark || c == ' ') && body.contains(*mark));
        !is_fence && !body.is_empty() && (was_open || !(is_rule || is_heading(body)))
    })
}

/// Whether the text ends within a code block.
pub(crate) fn ends_in_fence(text: &str) -> bool {
    let mut fence = None;
    for line in text.lines() {
        step(&mut fence, line);
    }
    fence.is_some()
}

pub(crate) fn level(heading: &str) -> usize {
    heading.chars().take_while(|c| *c == '#').count()
}

fn is_heading(body: &str) -> bool {
    (1..=6).contains(&level(body)) && body.trim_start_matches('#').starts_with(' ')
}

/// Which section a line is the heading of.
fn heading(line: &str, sections: &[Section]) -> Option<usize> {
    let body = line.trim();
    let marked = body.starts_with('#') || body.starts_with("**") || body.ends_with(':') || body.ends_with(":**");
    let numbered = body.starts_with(|c: char| c.is_ascii_digit());
    if !marked && !numbered || body.len() > 120 {
        return None;
    }
    sections.iter().position(|section| section.heading == body).or_else(|| {
        let name = name(body);
        sections.iter().position(|section| self::name(&section.heading) == name)
    })
}

/// The words of a heading, without marks, numbers and case.
fn name(heading: &str) -> String {
    let bare = heading.trim_matches(|c: char| matches!(c, '#' | '*' | ':' | ' ' | '_'));
    let bare = match bare.split_once(['.', ')']) {
        Some((number, rest)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => rest.trim(),
        _ => bare,
    };
    bare.trim_matches(|c: char| matches!(c, '*' | ':' | ' ')).to_lowercase().replace('&', "and")
}

/// A foreign heading inside a section, made deeper than the section's: else the section would end there.
fn below(line: &str, section: usize) -> String {
    let body = line.trim();
    if is_heading(body) && level(body) <= section {
        let words = body.trim_start_matches('#').trim();
        return if section >= 6 { format!("**{words}**") } else { format!("{} {words}", "#".repeat(section + 1)) };
    }
    line.trim_end().to_owned()
}

/// What a model says before it begins is kept, unless it is but one line of introduction.
fn opening(text: &str) -> String {
    let text = text.trim();
    let introduces = text.lines().count() <= 1 && (text.ends_with(':') || text.len() < 80);
    if introduces || !says_something(text) { String::new() } else { text.to_owned() }
}

/// Whether the line opens or closes a fence; keeps track of the open one. As the host's gate does.
fn step(fence: &mut Option<(char, usize)>, line: &str) -> bool {
    let body = line.trim_start_matches(' ');
    let Some(mark) = body.chars().next().filter(|c| matches!(c, '`' | '~')) else { return false };
    let width = body.chars().take_while(|c| *c == mark).count();
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::config::Config;

    fn sections() -> Vec<Section> {
        Config::default().sections
    }

    #[test]
    fn headings_are_recognised_whatever_their_marks_and_put_in_order() {
        let text = "Here it is:\n**Next steps**\n- run\n# goal\nfix it\n1. Progress:\n### Done\n- a\n## Other\nmore";
        let body = Body::read(text, &sections());
        assert_eq!(
            body.write(&sections()),
            "## Goal\nfix it\n\n## Progress\n\n### Done\n- a\n#### Other\nmore\n\n## Next steps\n- run"
        );
        let missing: Vec<String> =
            body.missing(&sections()).into_iter().map(|at| sections()[at].heading.clone()).collect();
        assert_eq!(missing, ["## Constraints", "## Decisions", "## Critical context"]);
    }

    #[test]
    fn an_echoed_template_has_no_content() {
        let template: String = sections()
            .iter()
            .map(|section| format!("{}\n{}\n", section.heading, hint(section).unwrap_or_default()))
            .collect();
        let body = Body::read(&template, &sections());
        assert!(body.texts.iter().all(String::is_empty));
        assert_eq!(body.write(&sections()), "");
    }

    #[test]
    fn a_heading_in_a_code_block_is_content() {
        let body = Body::read("## Goal\n```\n## Progress\nx\n```\n", &sections());
        assert!(body.texts[0].contains("## Progress"));
        assert!(ends_in_fence("a\n```\nb") && !ends_in_fence("```\nb\n```"));
        assert!(!says_something("---\n\n### Only a heading\n```\n```"));
    }
}
