//! Reading the operator's configuration.

use serde::de::DeserializeOwned;

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
