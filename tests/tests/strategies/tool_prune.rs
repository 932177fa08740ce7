//! The strategy `tool-prune` on the engine's own views.
