//! Reading the operator's configuration.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads the JSON object that [`Plugin::configure`](crate::Plugin::configure) is handed.
///
/// Declare the type with `#[serde(default, deny_unknown_fields)]`: an operator who mistypes a key should hear so. The
/// error names the key and what would be right, in serde's words.
///
/// ```
/// # use serde::Deserialize;
/// #[derive(Debug, Deserialize)]
/// #[serde(default, deny_unknown_fields)]
/// struct Config {
///     /// Tokens of recent entries that stay verbatim.
///     keep_recent: u32,
/// }
///
/// impl Default for Config {
///     fn default() -> Self {
///         Self { keep_recent: 20_000 }
///     }
/// }
///
/// let config: Config = contextengine_sdk::config::parse("{}")?;
/// assert_eq!(config.keep_recent, 20_000);
/// let error = contextengine_sdk::config::parse::<Config>(r#"{"keep": 1}"#).unwrap_err();
/// assert!(error.contains("unknown field `keep`, expected `keep_recent`"), "{error}");
/// let error = contextengine_sdk::config::parse::<Config>(r#"{"keep_recent": "all"}"#).unwrap_err();
/// assert!(error.contains("keep_recent: invalid type"), "{error}");
/// # Ok::<(), String>(())
/// ```
pub fn parse<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| format!("the configuration is more than one JSON value: {error}"))?;
    Ok(value)
}

/// Like [`parse`], with presets: `{"preset": "NAME"}` sets the keys of that preset, and keys given beside it override
/// it. `presets` are pairs of a name and a JSON object, usually a file of `presets/` by `include_str!`.
///
/// The type has no key `preset`; objects within objects are merged key by key.
///
/// ```
/// # use serde::Deserialize;
/// #[derive(Debug, Default, Deserialize)]
/// #[serde(default, deny_unknown_fields)]
/// struct Config {
///     keep: u32,
///     reserve: u32,
/// }
///
/// use contextengine_sdk::config::parse_with_presets;
/// let presets = [("pi", r#"{"keep": 20000, "reserve": 16384}"#)];
/// let config: Config = parse_with_presets(r#"{"preset": "pi", "keep": 5}"#, &presets)?;
/// assert_eq!((config.keep, config.reserve), (5, 16_384));
/// let error = parse_with_presets::<Config>(r#"{"preset": "py"}"#, &presets).unwrap_err();
/// assert_eq!(error, "preset: there is no preset `py`; there is `pi`");
/// # Ok::<(), String>(())
/// ```
pub fn parse_with_presets<T: DeserializeOwned>(json: &str, presets: &[(&str, &str)]) -> Result<T, String> {
    let mut given: serde_json::Map<String, Value> = parse(json)?;
    let Some(name) = given.remove("preset") else { return parse(json) };
    let names = || presets.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let Value::String(name) = name else {
        return Err(format!("preset: {name} is not a name; write one of {}, or leave the key out", names()));
    };
    let Some((_, preset)) = presets.iter().find(|(known, _)| *known == name) else {
        return Err(format!("preset: there is no preset `{name}`; there is {}", names()));
    };
    let mut merged: Value = parse(preset).map_err(|error| format!("preset: `{name}` is not readable: {error}"))?;
    merge(&mut merged, Value::Object(given));
    serde_path_to_error::deserialize(merged).map_err(|error| error.to_string())
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_beside_a_preset_override_it_also_within_objects() {
        let presets = [("p", r#"{"a": {"x": 1, "y": 2}, "b": [1]}"#)];
        let merged: Result<Value, String> = parse_with_presets(r#"{"preset": "p", "a": {"y": 3}, "b": []}"#, &presets);
        assert_eq!(merged, Ok(serde_json::json!({"a": {"x": 1, "y": 3}, "b": []})));
        let without: Result<Value, String> = parse_with_presets(r#"{"a": 1}"#, &presets);
        assert_eq!(without, Ok(serde_json::json!({"a": 1})));
    }

    #[test]
    fn a_preset_that_is_no_name_is_an_error_that_lists_the_names() {
        let error = parse_with_presets::<Value>(r#"{"preset": 3}"#, &[("a", "{}"), ("b", "{}")]);
        assert_eq!(error, Err("preset: 3 is not a name; write one of `a`, `b`, or leave the key out".to_owned()));
    }
}
