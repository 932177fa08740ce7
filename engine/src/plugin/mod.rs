//! x
mod bindings;
