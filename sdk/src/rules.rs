//! Rules of the user that an earlier summary carries on, so that a new one does not forget them.
//!
//! Strategies take turns: one fails, and its successor folds its summary, and is folded by it in the next round. What a
//! user ruled must survive that. So a strategy stores the rules that it knows in the details of its summary, in the
//! user's words, as a list `constraints`, and reads those of others.

use serde_json::Value;

use crate::types::Position;
use crate::view::View;

/// Key of details under which the list stands.
pub const KEY: &str = "constraints";

/// The longest and the shortest rule, in bytes: a longer one is pasted text, a shorter one says nothing.
const BYTES: std::ops::RangeInclusive<usize> = 4..=400;

/// The most rules that are read: far more than a summary has room for.
const MOST: usize = 200;

/// The list in the details of a summary; nothing where they are not such JSON.
///
/// ```
/// use contextengine_sdk::rules::from_details;
/// assert_eq!(from_details(r#"{"constraints": ["Never push."]}"#), ["Never push."]);
/// assert!(from_details("no JSON").is_empty());
/// ```
pub fn from_details(details: &str) -> Vec<String> {
    let details: Value = serde_json::from_str(details).unwrap_or_default();
    let items = details[KEY].as_array().map(Vec::as_slice).unwrap_or_default();
    bounded(items.iter().filter_map(Value::as_str))
}

/// Items of lists below headings that speak of constraints or rules. Whose words they are no one knows: a model may have
/// written them.
///
/// ```
/// use contextengine_sdk::rules::from_text;
/// assert_eq!(from_text("## Constraints\n- Never push.\n- none\n\n## Open\n- Not this one."), ["Never push."]);
/// ```
pub fn from_text(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut is_listed = |line: &&str| {
        // A quoted heading is escaped.
        let is_heading = line.trim_start_matches('\\').starts_with('#');
        if is_heading {
            let heading = line.to_lowercase();
            inside = heading.contains("constraint") || heading.contains("rules");
        }
        inside && !is_heading
    };
    let listed = text.lines().filter(|line| is_listed(line)).filter_map(|line| line.trim().strip_prefix("- "));
    bounded(listed)
}

/// What the summary at a position stores, in its details.
pub fn recorded(view: &dyn View, at: Position) -> Vec<String> {
    view.details(at).map(|details| from_details(&details)).unwrap_or_default()
}

fn bounded<'a>(rules: impl Iterator<Item = &'a str>) -> Vec<String> {
    let says = |rule: &&str| BYTES.contains(&rule.len()) && !rule.eq_ignore_ascii_case("none");
    rules.map(str::trim).filter(says).take(MOST).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryView;

    #[test]
    fn what_is_no_rule_is_left_out() {
        let long = "x".repeat(401);
        let details = serde_json::json!({ "constraints": ["No.", "none", long, 7, " Use tabs. "] }).to_string();
        assert_eq!(from_details(&details), ["Use tabs."]);
        assert!(from_details(r#"{"constraints": "Use tabs."}"#).is_empty());
        let many: Vec<String> = (0..500).map(|at| format!("rule {at}")).collect();
        assert_eq!(from_details(&serde_json::json!({ "constraints": many }).to_string()).len(), MOST);
    }

    #[test]
    fn headings_that_were_quoted_are_headings() {
        assert_eq!(from_text("\\## House rules\n- Use tabs.\n\\## Next\n- test it"), ["Use tabs."]);
    }

    #[test]
    fn details_of_an_entry_in_a_view_are_read() {
        let view = MemoryView::new().summary("s").attributed("details", r#"{"constraints": ["Use tabs."]}"#);
        assert_eq!(recorded(&view, 0), ["Use tabs."]);
        assert!(recorded(&view, 1).is_empty());
    }
}
