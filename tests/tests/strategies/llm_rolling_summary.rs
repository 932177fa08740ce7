//! The strategy `llm-rolling-summary` on the engine's own views.
