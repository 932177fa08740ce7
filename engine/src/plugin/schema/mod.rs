//! Is a configuration what the schema asks for that a plugin publishes?
//!
//! **Assumed**: nothing about the schema. It is written by the plugin, so it may refer to itself without end, try every
//! combination of a hundred alternatives, or hold patterns that take for ever. A general validator would follow it.
//!
//! **Promised**: checking ends after a bounded number of steps, with what is wrong in words for the operator: where,
//! what would be right, and what may have been meant. It never refuses what the schema allows. What cannot be judged in
//! that many steps, or by the keywords that are known here, is left to the plugin's own `configure`, which has the last
//! word anyway.
//!
//! Known of JSON Schema 2020-12 (and of draft 7, where it says the same otherwise): everything that judges by itself,
//! and references within the schema. Not known: `unevaluatedProperties` and `unevaluatedItems`, `$dynamicRef`,
//! references to other documents; `format` and the `content…` keywords judge nothing by default.

mod check;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;

use serde_json::Value as Json;

/// A part of a configuration that is not what the schema asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The way to it, from the outside.
    pub path: Vec<Step>,
    /// Whether it is the key at the end of the path that is wrong, and not its value.
    pub is_key: bool,
    /// What is wrong, and what would be right.
    pub reason: String,
}

/// A step into a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Into the value of this name.
    Name(String),
    /// Into the item at this place, from 0.
    Item(usize),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.reason);
        }
        f.write_str("`")?;
        for (at, step) in self.path.iter().enumerate() {
            match step {
                Step::Name(name) if at == 0 => f.write_str(name)?,
                Step::Name(name) => write!(f, ".{name}")?,
                Step::Item(item) => write!(f, "[{item}]")?,
            }
        }
        write!(f, "`: {}", self.reason)
    }
}

/// What is wrong with a configuration; empty where nothing is. A plugin that publishes no schema takes anything.
///
/// # Errors
///
/// The schema is none.
pub fn check(schema: &str, config: &Json) -> Result<Vec<Violation>, String> {
    if schema.trim().is_empty() {
        return Ok(Vec::new());
    }
    let schema: Json = serde_json::from_str(schema).map_err(|error| format!("it is not JSON: {error}"))?;
    if !matches!(schema, Json::Object(_) | Json::Bool(_)) {
        return Err("a schema is an object, or true or false".to_owned());
    }
    Ok(check::check(&schema, config))
}
