//! The strategy `result-reducer` on the engine's own views.
