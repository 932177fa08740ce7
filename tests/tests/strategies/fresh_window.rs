//! The strategy `fresh-window` on the engine's own views.
