//! The strategy `branch-summary` on the engine's own views.
