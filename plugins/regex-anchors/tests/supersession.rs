//! What the user takes back is not carried on as in force; everything else is.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{eager, pad, plan, request, section, summary, summary_of};
use contextengine_sdk::memory::MemoryView;

fn said(messages: &[&str]) -> MemoryView {
    let mut view = pad(MemoryView::new().user("Build the importer for the web shop.").assistant("I will look at it."));
    for message in messages {
        view = view.user(*message).assistant("Understood, and done as you said.");
    }
    view.user("what is next?").assistant("The tests.")
}

#[test]
fn a_statement_is_struck_out_on_evidence() {
    for (old, new) in [
        ("use port 8080", "actually make it 9090"),
        ("Use port 8080 for the server.", "Actually, change the server port to 9090."),
        ("use npm for everything", "no, use pnpm instead of npm"),
        ("Always use tabs for indentation.", "use spaces rather than tabs"),
        ("never touch the API", "you may now touch the API"),
        ("Don't change the database schema.", "it's ok to change the database schema now"),
        ("make sure the importer supports CSV", "forget about CSV"),
        ("The retry limit must be 3.", "on second thought the retry limit should be 5."),
        ("the build must use webpack", "we no longer need webpack, switch to vite, not webpack"),
        ("timeout must be 30s", "make it 60s instead"),
        ("必须使用 npm", "改用 pnpm,而不是 npm"),
    ] {
        let text = summary_of(&said(&[old, new]));
        let (rules, gone) = (section(&text, "Constraints"), section(&text, "No longer in force"));
        let line = |rules: &str, said: &str| rules.lines().any(|line| line == format!("- {said}"));
        assert!(!line(&rules, old), "{old:?} is still in force after {new:?}:\n{rules}");
        assert!(gone.contains(old), "{old:?} is not listed as replaced by {new:?}:\n{gone}");
        assert!(rules.contains(new.trim_end_matches('。')), "{new:?} is not in force:\n{rules}");
    }
}

#[test]
fn the_sentence_before_a_pronoun_says_which_number_is_replaced() {
    let old = "When you start the server, use port 8081, not 8080: 8080 is the staging proxy.";
    let new =
        |number: u32| format!("One correction: {number} is taken by the metrics exporter. Actually make it 9090.");
    let gone = |number| section(&summary_of(&said(&[old, &new(number)])), "No longer in force").to_owned();
    assert!(gone(8081).contains(old), "{}", gone(8081));
    // The rule forbids 8080, and says nothing about 7070.
    assert!(!gone(8080).contains(old), "{}", gone(8080));
    assert!(!gone(7070).contains(old), "{}", gone(7070));
}

#[test]
fn a_statement_stays_without_evidence() {
    for (old, new) in [
        ("use port 8080 for the server", "use 9090 for the metrics too"),
        ("never touch the API", "the API is slow"),
        ("never touch the API", "you may now change the tests"),
        ("always use tabs", "actually the page is broken"),
        ("the limit must be 3", "actually there are 5 files"),
        ("do not delete the logs", "should we no longer keep the logs?"),
        ("prefer pnpm over npm", "also use node 22"),
        ("make sure the importer supports CSV and JSON", "forget about the dashboard"),
        ("must work on Windows", "change the title to Windows of the soul"),
        ("never use port 8080", "actually also never use port 9090"),
    ] {
        let text = summary_of(&said(&[old, new]));
        let rules = section(&text, "Constraints");
        assert!(rules.contains(old), "{old:?} was struck out by {new:?}:\n{text}");
    }
}

#[test]
fn a_rule_from_an_earlier_summary_can_be_taken_back() {
    let first = summary(&plan(&eager(), &said(&["use port 8080"]), &request(20_000)));
    assert!(section(&first.text, "Constraints").contains("use port 8080"));
    let view = pad(MemoryView::new().summary(first.text))
        .user("actually make it 9090")
        .assistant("The server listens on 9090 now.")
        .user("and next?")
        .assistant("Tests.");
    let text = summary_of(&view);
    assert!(!section(&text, "Constraints").contains("8080"), "{text}");
    assert!(section(&text, "Constraints").contains("actually make it 9090"), "{text}");
}

#[test]
fn words_that_are_kept_can_take_back_what_is_folded() {
    let view = said(&["use port 8080"]).user("actually make it 9090").assistant("done, it listens on 9090");
    let text = summary_of(&view);
    assert!(!section(&text, "Constraints").contains("- use port 8080"), "{text}");
    assert!(section(&text, "No longer in force").contains("~~use port 8080~~ replaced by: actually make it 9090"));
}

#[test]
fn a_rule_that_is_said_again_is_in_force_again() {
    let text = summary_of(&said(&["use port 8080", "actually make it 9090", "use port 8080"]));
    assert!(section(&text, "Constraints").contains("use port 8080"), "{text}");
    assert!(!section(&text, "No longer in force").contains("~~use port 8080~~"), "{text}");
}
