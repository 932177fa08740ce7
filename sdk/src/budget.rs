//! Fitting text and lists into a budget.
//!
//! Cuts are at character boundaries, always. The functions without a host count bytes; those with one count tokens by
//! the host's tokenizer, and what they return never counts more than the budget.

use std::borrow::Cow;

use crate::host::Host;

/// Bytes per token to begin the search for a tail with; only the speed depends on it.
const BYTES_PER_TOKEN: usize = 4;

/// The longest prefix of at most `max` bytes.
///
/// ```
/// use contextengine_sdk::budget::head_bytes;
/// assert_eq!(head_bytes("aä", 2), "a");
/// assert_eq!(head_bytes("aä", 3), "aä");
/// ```
pub fn head_bytes(text: &str, max: usize) -> &str {
    if max >= text.len() {
        return text;
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The longest suffix of at most `max` bytes.
///
/// ```
/// use contextengine_sdk::budget::tail_bytes;
/// assert_eq!(tail_bytes("äz", 2), "z");
/// ```
pub fn tail_bytes(text: &str, max: usize) -> &str {
    let mut start = text.len().saturating_sub(max);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// What stands between a head and a tail.
pub fn marker(left_out: usize) -> String {
    format!("\n[... {left_out} bytes left out ...]\n")
}

/// Head and tail of a text with a [`marker`] between, at most `max` bytes in all; `head_percent` of the room goes to
/// the head. Where not even the marker fits, the head alone.
///
/// ```
/// use contextengine_sdk::budget::ends_bytes;
/// let log = format!("{}ERROR", "line\n".repeat(100));
/// let short = ends_bytes(&log, 60, 50);
/// assert!(short.len() <= 60 && short.starts_with("line") && short.ends_with("ERROR"));
/// assert!(short.contains("bytes left out"));
/// ```
pub fn ends_bytes(text: &str, max: usize, head_percent: u32) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    // The marker is longest where everything is left out.
    let Some(room) = max.checked_sub(marker(text.len()).len()).filter(|&room| room > 0) else {
        return Cow::Borrowed(head_bytes(text, max));
    };
    let head = head_bytes(text, share(room, head_percent));
    let tail = tail_bytes(text, room - head.len());
    Cow::Owned(joined(text, head, tail))
}

/// The longest prefix that fits `budget` tokens.
pub fn head<'a>(host: &Host, text: &'a str, budget: u32) -> &'a str {
    head_bytes(text, host.fit(text, budget) as usize)
}

/// A suffix that fits `budget` tokens, as long as the search finds.
///
/// The search costs in proportion to the budget, not to the text.
///
/// ```
/// use contextengine_sdk::{budget, memory::TestHost};
/// assert_eq!(budget::tail(&TestHost::new(), "aaaabbbbcccc", 1), "cccc");
/// ```
pub fn tail<'a>(host: &Host, text: &'a str, budget: u32) -> &'a str {
    let fits = |bytes: usize| host.count(tail_bytes(text, bytes)) <= budget;
    let mut fit = 0;
    let mut over = (budget as usize).saturating_mul(BYTES_PER_TOKEN).clamp(1, text.len().max(1));
    while fits(over) {
        if over >= text.len() {
            return text;
        }
        fit = over;
        over = over.saturating_mul(2).min(text.len());
    }
    while fit + 1 < over {
        let middle = fit + (over - fit) / 2;
        if fits(middle) {
            fit = middle;
        } else {
            over = middle;
        }
    }
    tail_bytes(text, fit)
}

/// Head and tail of a text with a [`marker`] between that says how many bytes were left out, at most `budget` tokens
/// in all; `head_percent` of the room goes to the head. Where not even the marker fits, the head alone.
///
/// ```
/// use contextengine_sdk::{budget, memory::TestHost};
/// let host = TestHost::new();
/// let text = "word ".repeat(1000);
/// let short = budget::ends(&host, &text, 100, 70);
/// assert!(host.count(&short) <= 100 && short.contains("bytes left out"));
/// assert_eq!(budget::ends(&host, "short", 100, 70), "short");
/// # use contextengine_sdk::Services;
/// ```
pub fn ends<'a>(host: &Host, text: &'a str, budget: u32, head_percent: u32) -> Cow<'a, str> {
    if host.fit(text, budget) as usize >= text.len() {
        return Cow::Borrowed(text);
    }
    // Parts joined can take more tokens than the sum of their counts; then the room shrinks until they fit.
    let mut room = budget.saturating_sub(host.count(&marker(text.len())));
    while room > 0 {
        let head_room = u32::try_from(share(room as usize, head_percent)).unwrap_or(room);
        let head = head(host, text, head_room);
        let tail = tail(host, &text[head.len()..], room - head_room);
        let whole = joined(text, head, tail);
        let taken = host.count(&whole);
        if taken <= budget {
            return Cow::Owned(whole);
        }
        room = room.saturating_sub(taken - budget);
    }
    Cow::Borrowed(head(host, text, budget))
}

/// Where the newest items begin whose sum stays within `budget`: `costs[start..]` fits, one more would not.
///
/// ```
/// use contextengine_sdk::budget::newest;
/// assert_eq!(newest(&[50, 10, 10], 25), 1);
/// assert_eq!(newest(&[50, 10, 30], 25), 3, "the newest alone is too large");
/// ```
pub fn newest(costs: &[u32], budget: u32) -> usize {
    let mut left = budget;
    for (index, &cost) in costs.iter().enumerate().rev() {
        match left.checked_sub(cost) {
            Some(rest) => left = rest,
            None => return index + 1,
        }
    }
    0
}

/// Indices of the items that fit, newest first in choosing and ascending in the answer; one that is too large is
/// passed over.
///
/// ```
/// use contextengine_sdk::budget::newest_that_fit;
/// assert_eq!(newest_that_fit(&[10, 90, 5, 10], 25), [0, 2, 3]);
/// ```
pub fn newest_that_fit(costs: &[u32], budget: u32) -> Vec<usize> {
    let mut left = budget;
    let mut chosen: Vec<usize> = Vec::new();
    for (index, &cost) in costs.iter().enumerate().rev() {
        if let Some(rest) = left.checked_sub(cost) {
            left = rest;
            chosen.push(index);
        }
    }
    chosen.reverse();
    chosen
}

/// How many items from the front fit within `budget`, for lists that are ordered by importance.
pub fn leading(costs: &[u32], budget: u32) -> usize {
    let mut left = budget;
    for (index, &cost) in costs.iter().enumerate() {
        match left.checked_sub(cost) {
            Some(rest) => left = rest,
            None => return index,
        }
    }
    costs.len()
}

/// Names behind a label, as many from the front as fit `budget` tokens, then how many more there are. Empty where not
/// one fits, or there is none.
///
/// ```
/// use contextengine_sdk::{budget, memory::TestHost};
/// let paths = ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs", "f.rs"].map(str::to_owned);
/// assert_eq!(budget::list(&TestHost::new(), "- read: ", &paths[..2], 10), "- read: a.rs, b.rs");
/// assert_eq!(budget::list(&TestHost::new(), "- read: ", &paths, 8), "- read: a.rs, b.rs and 4 more");
/// assert_eq!(budget::list(&TestHost::new(), "- read: ", &paths, 2), "");
/// ```
pub fn list(host: &Host, label: &str, names: &[String], budget: u32) -> String {
    let line = |shown: usize| match names.len() - shown {
        0 => format!("{label}{}", names.join(", ")),
        more => format!("{label}{} and {more} more", names[..shown].join(", ")),
    };
    if names.is_empty() || budget == 0 {
        return String::new();
    }
    let mut shown = names.len().min(budget as usize);
    if shown < names.len() || host.count(&line(shown)) > budget {
        let each: Vec<String> = names[..shown].iter().map(|name| format!(", {name}")).collect();
        shown = leading(&host.count_all(&each), budget);
    }
    while shown > 0 && host.count(&line(shown)) > budget {
        shown -= (shown / 16).max(1);
    }
    if shown == 0 { String::new() } else { line(shown) }
}

/// Shares `whole` among items that want so much and weigh so much: each gets what it wants or its part by weight, and
/// what one does not want goes to the others. The sum is never more than `whole`.
///
/// ```
/// use contextengine_sdk::budget::shares;
/// assert_eq!(shares(&[10, 500, 500], &[1, 1, 3], 410), [10, 100, 300]);
/// assert_eq!(shares(&[10, 20], &[1, 1], 400), [10, 20]);
/// ```
pub fn shares(wants: &[u32], weights: &[u32], whole: u32) -> Vec<u32> {
    let weight = |index: usize| u64::from(weights.get(index).copied().unwrap_or(1));
    let mut grants: Vec<u32> = vec![0; wants.len()];
    let mut open: Vec<usize> = (0..wants.len()).collect();
    let mut left = whole;
    loop {
        let sum: u64 = open.iter().map(|&index| weight(index)).sum();
        let part = |index: usize, left: u32| {
            let part = u64::from(left) * weight(index) / sum.max(1);
            u32::try_from(part).unwrap_or(left)
        };
        let (content, rest): (Vec<usize>, Vec<usize>) =
            open.iter().copied().partition(|&index| wants[index] <= part(index, left));
        if content.is_empty() {
            rest.iter().for_each(|&index| grants[index] = part(index, left));
            return grants;
        }
        for index in content {
            grants[index] = wants[index];
            left -= wants[index];
        }
        open = rest;
    }
}

fn share(room: usize, percent: u32) -> usize {
    room / 100 * percent.min(100) as usize + room % 100 * percent.min(100) as usize / 100
}

fn joined(text: &str, head: &str, tail: &str) -> String {
    format!("{head}{}{tail}", marker(text.len().saturating_sub(head.len() + tail.len())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may")]

    use proptest::prelude::*;

    use super::*;
    use crate::host::Services;
    use crate::memory::TestHost;

    /// A tokenizer whose parts can count less than their whole, as real ones do at joints.
    fn words(text: &str) -> u32 {
        u32::try_from(text.split_whitespace().count() + text.matches('\n').count()).unwrap()
    }

    proptest! {
        #[test]
        fn a_text_cut_to_bytes_fits_and_says_what_is_missing(text in ".{0,400}", max in 0usize..300, percent in 0u32..120) {
            let short = ends_bytes(&text, max, percent);
            prop_assert!(short.len() <= max || short == text.as_str() && text.len() <= max);
            if let Some(at) = short.find("\n[... ").filter(|_| short != text.as_str()) {
                let (head, rest) = short.split_at(at);
                let (number, rest) = rest["\n[... ".len()..].split_once(' ').unwrap();
                let tail = rest.split_once("...]\n").unwrap().1;
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
                prop_assert_eq!(number.parse::<usize>().unwrap() + head.len() + tail.len(), text.len());
            }
        }

        #[test]
        fn a_text_cut_to_tokens_never_counts_more(text in "[a-zä \n]{0,600}", budget in 0u32..200, percent in 0u32..=100) {
            for host in [TestHost::new(), TestHost::new().count_with(words)] {
                prop_assert!(host.count(&ends(&host, &text, budget, percent)) <= budget);
                prop_assert!(host.count(head(&host, &text, budget)) <= budget);
                let last = tail(&host, &text, budget);
                prop_assert!(host.count(last) <= budget && text.ends_with(last));
            }
        }

        #[test]
        fn the_newest_items_fit_and_one_more_would_not(costs in prop::collection::vec(0u32..50, 0..30), budget in 0u32..500) {
            let start = newest(&costs, budget);
            prop_assert!(costs[start..].iter().sum::<u32>() <= budget);
            if start > 0 {
                prop_assert!(costs[start - 1..].iter().sum::<u32>() > budget);
            }
            let end = leading(&costs, budget);
            prop_assert!(costs[..end].iter().sum::<u32>() <= budget);
            prop_assert!(end == costs.len() || costs[..=end].iter().sum::<u32>() > budget);
            let chosen = newest_that_fit(&costs, budget);
            prop_assert!(chosen.iter().map(|&index| costs[index]).sum::<u32>() <= budget);
            prop_assert!(chosen.is_sorted());
        }
    }

    proptest! {
        #[test]
        fn a_list_never_counts_more_than_its_budget(names in prop::collection::vec("[a-z ä]{1,12}", 0..40), budget in 0u32..80) {
            for host in [TestHost::new(), TestHost::new().count_with(words)] {
                prop_assert!(host.count(&list(&host, "- read: ", &names, budget)) <= budget);
            }
        }

        #[test]
        fn shares_give_no_one_more_than_wanted_and_waste_nothing_that_is_wanted(
            items in prop::collection::vec((0u32..100, 0u32..9), 0..8), whole in 0u32..400,
        ) {
            let (wants, weights): (Vec<u32>, Vec<u32>) = items.into_iter().unzip();
            let grants = shares(&wants, &weights, whole);
            let sum: u32 = grants.iter().sum();
            prop_assert!(sum <= whole);
            prop_assert!(grants.iter().zip(&wants).all(|(grant, want)| grant <= want));
            let wanted: u32 = wants.iter().zip(&weights).filter(|(_, weight)| **weight > 0).map(|(want, _)| *want).sum();
            let rounding = u32::try_from(wants.len()).unwrap();
            prop_assert!(sum + rounding >= wanted.min(whole), "{grants:?}");
        }
    }

    #[test]
    fn a_tail_is_as_long_as_the_budget_allows() {
        assert_eq!(tail(&TestHost::new(), &"x".repeat(1000), 10).len(), 40);
        assert_eq!(tail(&TestHost::new(), "", 10), "");
        assert_eq!(tail(&TestHost::new(), "abc", 0), "");
    }

    #[test]
    fn a_budget_too_small_for_the_marker_gets_the_head() {
        assert_eq!(ends_bytes(&"x".repeat(100), 5, 50), "xxxxx");
        assert_eq!(ends(&TestHost::new(), &"x".repeat(100), 2, 50), "x".repeat(8));
    }
}
