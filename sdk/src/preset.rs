//! Named sets of configuration: `{"preset": "NAME", …}` sets every key as another system does; keys beside it override.
//!
//! A plugin embeds one JSON object per preset and hands them to [`parse`] in the place of
//! [`config::parse`](crate::config::parse).

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::config;

/// The key that names a preset.
const KEY: &str = "preset";

/// Reads the operator's configuration, on top of the preset that it names. `presets` are names and JSON objects.
///
/// The type needs no field `preset`. A key that the preset and the operator both give is replaced whole.
///
/// ```
/// # use serde::Deserialize;
/// #[derive(Debug, Default, Deserialize)]
/// #[serde(default, deny_unknown_fields)]
/// struct Config {
///     turns: u32,
///     tokens: u32,
/// }
///
/// let presets = [("small", r#"{"turns": 1, "tokens": 100}"#), ("large", r#"{"turns": 9, "tokens": 900}"#)];
/// let config: Config = contextengine_sdk::preset::parse(r#"{"preset": "small", "turns": 2}"#, &presets)?;
/// assert_eq!((config.turns, config.tokens), (2, 100));
/// let error = contextengine_sdk::preset::parse::<Config>(r#"{"preset": "huge"}"#, &presets).unwrap_err();
/// assert_eq!(error, "preset: unknown preset `huge`; write one of `small`, `large`");
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// What [`config::parse`] says; and a preset that is not there, with those that are.
pub fn parse<T: DeserializeOwned>(json: &str, presets: &[(&str, &str)]) -> Result<T, String> {
    let mut given: Map<String, Value> = config::parse(json)?;
    let Some(preset) = given.remove(KEY) else { return config::parse(json) };
    let names = || presets.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let Value::String(name) = preset else {
        return Err(format!("{KEY}: {preset} is not a name; write one of {}", names()));
    };
    let Some((_, base)) = presets.iter().find(|(known, _)| *known == name) else {
        return Err(format!("{KEY}: unknown preset `{name}`; write one of {}", names()));
    };
    let mut merged: Map<String, Value> = config::parse(base).map_err(|error| format!("preset `{name}`: {error}"))?;
    merged.extend(given);
    config::parse(&Value::Object(merged).to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Config {
        turns: u32,
    }

    const PRESETS: [(&str, &str); 1] = [("one", r#"{"turns": 1}"#)];

    #[test]
    fn without_a_preset_the_configuration_is_read_as_it_is() {
        assert_eq!(parse(r#"{"turns": 3}"#, &PRESETS), Ok(Config { turns: 3 }));
        assert!(parse::<Config>(r#"{"turn": 3}"#, &PRESETS).unwrap_err().contains("unknown field `turn`"));
    }

    #[test]
    fn a_mistyped_key_beside_a_preset_is_an_error() {
        let error = parse::<Config>(r#"{"preset": "one", "turn": 3}"#, &PRESETS).unwrap_err();
        assert!(error.contains("unknown field `turn`, expected `turns`"), "{error}");
    }

    #[test]
    fn a_preset_is_named_by_a_text_and_a_configuration_is_an_object() {
        assert!(parse::<Config>(r#"{"preset": 1}"#, &PRESETS).unwrap_err().contains("1 is not a name"));
        assert!(parse::<Config>("[]", &PRESETS).is_err());
    }
}
