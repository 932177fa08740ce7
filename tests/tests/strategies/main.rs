//! The strategies that ship, held against the engine's own verifier: whatever the view, a plan that it accepts or a
//! reasoned decline, and over many rounds nothing that is lost without a word.

mod branch_summary;
mod fresh_window;
mod llm_rolling_summary;
mod result_reducer;
mod tool_prune;
