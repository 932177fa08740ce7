//! The numbers of each preset, held against what is known of the system.
//!
//! The places cited are sections of the project's fact sheets: `pi` is Pi 1.6.0 (npm), `opencode` OpenCode 1.18.34,
//! `codex` codex-rs of 2026-08-12, `claude-code` the public transcript format and a real file of 2.1.x, `hermes`
//! Hermes Agent 0.22.2, `openclaw` OpenClaw 2026.4 to 2026.8, `openhands` software-agent-sdk 611629e69, `maka` Apache
//! Maka f19eede03 and later.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::request;
use contextengine_sdk::memory::{MemoryView, TestHost};
use contextengine_sdk::{Compressor, Plugin, Urgency, Verdict};
use llm_rolling_summary::{Config, FilesStyle, KeepOf, KeepRule, LlmRollingSummary, Staging};

fn preset(name: &str) -> Config {
    Config::from_json(&format!(r#"{{"preset": "{name}"}}"#)).unwrap()
}

fn headings(config: &Config) -> Vec<&str> {
    config.sections.iter().map(|section| section.heading.as_str()).collect()
}

fn required(config: &Config) -> Vec<&str> {
    config.sections.iter().filter(|section| section.required).map(|section| section.heading.as_str()).collect()
}

/// Whether a preset asks for a compaction in a window of 200,000 tokens without any reserve of the host's.
fn asks(name: &str, used: u32, entries: u32) -> bool {
    let plugin = LlmRollingSummary::configure(&format!(r#"{{"preset": "{name}"}}"#)).unwrap();
    let mut pressure = request(0).pressure;
    (pressure.window, pressure.budget, pressure.overhead, pressure.entries) = (200_000, 200_000, 0, used);
    let view = (0..entries).fold(MemoryView::new(), |view, _| view.user("x"));
    let verdict = plugin.should_compress(&view, &TestHost::new(), &pressure).verdict;
    assert_ne!(verdict, Verdict::Compress(Urgency::Hard), "it fits");
    verdict == Verdict::Compress(Urgency::Soft)
}

#[test]
fn pi_has_the_numbers_of_pi() {
    let config = preset("pi");
    // pi-opencode-codex.md 1.2: reserve 16384, keepRecent 20000, strictly greater.
    assert_eq!((config.reserve_tokens, config.keep_recent_tokens), (Some(16_384), Some(20_000)));
    assert!(!asks("pi", 183_616, 1) && asks("pi", 183_617, 1));
    // 1.3, step 4: the first valid cut at or after the entry with which enough is kept; step 7: split turns.
    assert_eq!(config.keep_recent_rule, KeepRule::NearestAfter);
    assert!(config.split_turns);
    // 1.4: results cut to 2000; arguments and words whole; reasoning left out; one call after the other.
    assert_eq!((config.result_bytes, config.call_bytes, config.words_bytes), (2_000, u32::MAX, None));
    assert!(!config.reasoning);
    assert_eq!(config.staging, Staging::Sequence);
    // 1.4: 0.8 and 0.5 of the reserve as in 0.58.3; later versions take the model's own limit.
    assert_eq!((config.max_summary_tokens, config.max_prefix_tokens), (16_384 * 8 / 10, 16_384 / 2));
    assert_eq!(config.files_style, FilesStyle::Tags);
    // 1.4: sections in order.
    assert_eq!(
        headings(&config),
        [
            "## Goal",
            "## Constraints & Preferences",
            "## Progress",
            "### Done",
            "### In Progress",
            "### Blocked",
            "## Key Decisions",
            "## Next Steps",
            "## Critical Context"
        ]
    );
    let prefix: Vec<&str> = config.prefix_sections.iter().map(|section| section.heading.as_str()).collect();
    assert_eq!(prefix, ["### Original Request", "### Progress So Far", "### Context Needed to Continue"]);
    assert!(config.prefix_heading.contains("Turn Context (split turn)"));
}

#[test]
fn codex_has_the_numbers_of_codex() {
    let config = preset("codex");
    // pi-opencode-codex.md 3.2: min(limit, 0.9 of the window), reached at equality.
    assert_eq!((config.at_percent, config.reserve_tokens), (Some(90.0), None));
    assert!(!asks("codex", 179_999, 1) && asks("codex", 180_000, 1));
    // 3.3: COMPACT_USER_MESSAGE_MAX_TOKENS 20000, messages first, summary last; everything else is gone.
    assert_eq!((config.user_messages_tokens, config.user_messages_first), (20_000, true));
    assert_eq!((config.keep_recent_tokens, config.keep_recent_turns, config.keep_first_entries), (Some(0), 0, 0));
    // 3.3: a handover in free form.
    assert!(config.sections.is_empty() && config.prefix_sections.is_empty());
    assert_eq!(config.files_tokens, 0);
}

#[test]
fn claude_code_has_the_nine_sections_of_its_transcripts() {
    let config = preset("claude-code");
    // pi-opencode-codex.md 4.1: boundaries at 155,241 to 156,699 tokens of a window of 200,000.
    assert!(!asks("claude-code", 154_999, 1) && asks("claude-code", 155_241, 1));
    // 4.1: after the boundary nothing but the summary stands, in the files seen.
    assert_eq!((config.keep_recent_tokens, config.keep_recent_turns), (Some(0), 0));
    // The headings as a compaction summary of a real 2.1 transcript numbers them.
    assert_eq!(
        headings(&config),
        [
            "## 1. Primary Request and Intent",
            "## 2. Key Technical Concepts",
            "## 3. Files and Code Sections",
            "## 4. Errors and fixes",
            "## 5. Problem Solving",
            "## 6. All user messages",
            "## 7. Pending Tasks",
            "## 8. Current Work",
            "## 9. Optional Next Step"
        ]
    );
    assert_eq!(required(&config).len(), 9);
}

#[test]
fn opencode_has_the_numbers_of_opencode() {
    let config = preset("opencode");
    // pi-opencode-codex.md 2.2: reserved = min(20000, maxOut).
    assert_eq!(config.reserve_tokens, Some(20_000));
    // 2.4, step 3: min(15000, max(2000, a quarter of what is usable)), turns while they fit, the first may be split.
    assert_eq!((config.keep_recent_percent, config.keep_recent_of), (Some(25.0), KeepOf::Budget));
    assert_eq!((config.keep_recent_min, config.keep_recent_max), (2_000, 15_000));
    assert_eq!((config.keep_recent_rule, config.split_turns), (KeepRule::AtMost, true));
    // 2.4, step 4: results cut at 2000, reasoning is read; the headings.
    assert_eq!((config.result_bytes, config.reasoning), (2_000, true));
    assert_eq!(
        headings(&config),
        [
            "## Objective",
            "## Important Details",
            "## Work State",
            "### Completed",
            "### Active",
            "### Blocked",
            "## Next Move",
            "## Relevant Files"
        ]
    );
    // 2.4, v2 core: summaries of at most 4096 tokens.
    assert_eq!(config.max_summary_tokens, 4_096);
}

#[test]
fn hermes_has_the_numbers_of_hermes() {
    let config = preset("hermes");
    // hermes.md 2.1: windows below 512,000 are floored at 0.75.
    assert_eq!((config.at_percent, config.reserve_tokens), (Some(75.0), None));
    // 2.3: protect_first_n 3 without the system prompt, none after the first compaction; lean tail 2.5 % of the
    // window, 10,000 to 25,000; a floor of max(3, min(20, 8)) messages.
    assert_eq!((config.keep_first_entries, config.keep_first_counts_system, config.keep_first_once), (3, false, true));
    assert_eq!((config.keep_recent_percent, config.keep_recent_of), (Some(2.5), KeepOf::Window));
    assert_eq!((config.keep_recent_min, config.keep_recent_max, config.keep_recent_entries), (10_000, 25_000, 8));
    // 2.5: 6,000 characters a message, 1,500 of arguments; summaries of at most min(5 % of the window, 10,000).
    assert_eq!((config.result_bytes, config.words_bytes, config.call_bytes), (6_000, Some(6_000), 1_500));
    assert_eq!(config.max_summary_tokens, 10_000);
    // 2.5: messages 24,000 characters in all and 4,000 each, an index of 7,000; focus of three requests of 260.
    assert_eq!((config.user_messages_tokens, config.user_message_tokens), (24_000 / 4, 4_000 / 4));
    assert_eq!(config.anchors_tokens, 7_000 / 4);
    assert_eq!((config.auto_focus_turns, config.auto_focus_bytes), (3, 260));
    // 2.5: the sections in order; the last two only where there is something.
    assert_eq!(
        headings(&config),
        [
            "## Historical Task Snapshot",
            "## Goal",
            "## Constraints & Preferences",
            "## Completed Actions",
            "## Active State",
            "## Blocked",
            "## Key Decisions",
            "## Errors & Fixes",
            "## Resolved Questions",
            "## Relevant Files",
            "## Critical Context",
            "## Detailed Session Log",
            "## Pruned Skills"
        ]
    );
    assert_eq!(required(&config).len(), 11);
}

#[test]
fn openclaw_has_the_numbers_of_the_safeguard() {
    let config = preset("openclaw");
    // openclaw.md 2.1 and 2.2: a floor of 20,000 for the reserve, keepRecentTokens 20,000; 2.3: Pi's cut.
    assert_eq!((config.reserve_tokens, config.keep_recent_tokens), (Some(20_000), Some(20_000)));
    assert_eq!(config.keep_recent_rule, KeepRule::NearestAfter);
    // 2.4: the five headings, all required, in this order.
    let five =
        ["## Decisions", "## Open TODOs", "## Constraints/Rules", "## Pending user asks", "## Exact identifiers"];
    assert_eq!((headings(&config), required(&config)), (five.to_vec(), five.to_vec()));
    // 2.4: a cap of 16,000 characters, a split turn at most half of it; failures 8 of 240; file section 2,000;
    // recent turns 3 of 600.
    assert_eq!((config.max_summary_tokens, config.max_prefix_tokens), (16_000 / 4, 16_000 / 4 / 2));
    assert_eq!((config.failures, config.failure_bytes, config.files_tokens), (8, 240, 2_000 / 4));
    assert_eq!((config.recent_turns, config.recent_turn_bytes), (3, 600));
    // 2.5: 12 identifiers of the last 10 messages, the latest ask, one retry.
    assert_eq!((config.identifiers, config.identifier_entries), (12, 10));
    assert!(config.audit_latest_ask);
    assert_eq!(config.repair_attempts, 1);
    // 2.6: staged summarisation.
    assert_eq!((config.chunk_ratio, config.min_chunk_ratio, config.safety_margin), (0.4, 0.15, 1.2));
    assert_eq!((config.overhead_tokens, config.oversized_share), (4_096, 0.5));
    assert_eq!((config.staging, config.result_bytes), (Staging::Parallel, 2_000));
}

#[test]
fn openhands_has_the_numbers_of_its_condenser() {
    let config = preset("openhands");
    // maka-openhands-others.md 2.2: max_size 240 events (more than), keep_first 2, minimum_progress 0.1, half kept.
    assert_eq!((config.max_entries, config.keep_first_entries), (Some(240), 2));
    assert!(!asks("openhands", 1_000, 240) && asks("openhands", 1_000, 241));
    // The first events are the system prompt and the first message.
    assert!(config.keep_first_counts_system && config.halve_entries);
    assert_eq!(config.min_progress_entries, 0.1);
    // 2.2: the topics of the prompt; V0's structured summary requires three of them.
    assert_eq!(
        headings(&config),
        [
            "## USER_CONTEXT",
            "## TASK_TRACKING",
            "## COMPLETED",
            "## PENDING",
            "## CURRENT_STATE",
            "## CODE_STATE",
            "## TESTS",
            "## CHANGES",
            "## DEPS",
            "## VERSION_CONTROL_STATUS"
        ]
    );
    assert_eq!(required(&config), ["## USER_CONTEXT", "## COMPLETED", "## PENDING"]);
    // 2.2, V0: max_event_length 10,000.
    assert_eq!((config.result_bytes, config.words_bytes), (10_000, Some(10_000)));
}

#[test]
fn maka_has_the_numbers_of_sections_v1() {
    let config = preset("maka");
    // maka-openhands-others.md 1.0: exactly the latest complete turn stays; 1.8: reserve 16,384, unknown window 32,000.
    assert_eq!((config.keep_recent_turns, config.keep_recent_tokens, config.split_turns), (1, Some(0), false));
    assert_eq!((config.reserve_tokens, config.fallback_window), (Some(16_384), 32_000));
    // 1.6: the headings; Key Decisions and the two below Progress are optional; 200 tokens for more than 10,000.
    assert_eq!(
        headings(&config),
        [
            "## Goal",
            "## Progress",
            "### Done",
            "### In Progress",
            "## Key Decisions",
            "## Next Steps",
            "## Critical Context"
        ]
    );
    assert_eq!(required(&config), ["## Goal", "## Progress", "## Next Steps", "## Critical Context"]);
    assert_eq!((config.least_summary_tokens, config.large_fold_tokens), (200, 10_000));
    // 1.7: 8,000 tokens of output, one repair, one retreat when the input is too long.
    assert_eq!((config.max_summary_tokens, config.output_factor), (8_000, 1.0));
    assert_eq!((config.repair_attempts, config.too_long_retries), (1, 1));
}

#[test]
fn every_preset_keeps_the_safety_of_staging_and_of_the_users_rules() {
    for (name, _) in llm_rolling_summary::PRESETS {
        let config = preset(name);
        assert_eq!((config.min_saving, config.constraints_tokens), (0.1, 1_500), "{name}");
        assert_eq!((config.chunk_ratio, config.oversized_share), (0.4, 0.5), "{name}");
    }
}
