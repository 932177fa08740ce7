//! Configurations that compact as known systems do, one JSON file each.

use serde_json::{Map, Value};

/// Every preset: its name and its file. A file sets every key but `preset`.
pub const PRESETS: [(&str, &str); 8] = [
    ("pi", include_str!("../presets/pi.json")),
    ("codex", include_str!("../presets/codex.json")),
    ("claude-code", include_str!("../presets/claude-code.json")),
    ("opencode", include_str!("../presets/opencode.json")),
    ("hermes", include_str!("../presets/hermes.json")),
    ("openclaw", include_str!("../presets/openclaw.json")),
    ("openhands", include_str!("../presets/openhands.json")),
    ("maka", include_str!("../presets/maka.json")),
];

/// The keys of a preset.
///
/// # Errors
///
/// There is no such preset; the message lists those that there are and names the nearest.
pub fn preset(name: &str) -> Result<Map<String, Value>, String> {
    let Some((_, text)) = PRESETS.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = PRESETS.iter().map(|(known, _)| *known).collect();
        let nearest = known.iter().find(|known| is_near(known, name));
        let hint = nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
        return Err(format!("preset: unknown preset `{name}`, there are {}{hint}", known.join(", ")));
    };
    serde_json::from_str(text).map_err(|error| format!("preset: `{name}` is damaged: {error}"))
}

/// The same letters but for case and punctuation, or the beginning of one another.
fn is_near(known: &str, name: &str) -> bool {
    let letters =
        |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect() };
    let (known, name) = (letters(known), letters(name));
    name.len() >= 2 && (known.starts_with(&name) || name.starts_with(&known))
}
