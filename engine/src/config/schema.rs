//! A JSON Schema of the file, for editors. Made from the table of keys that files are checked with, so that the two
//! cannot say different things.

use serde_json::{Map, Value as Json, json};

use super::keys::{Key, Kind, Preset, ROOT};

/// The schema, in JSON Schema 2020-12. `plugins` are ids with the schemas that those plugins publish; others take any
/// table as their configuration.
pub fn schema(plugins: &[(String, Json)]) -> Json {
    let mut schema = table(&ROOT);
    let own = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ContextEngine",
        "description": "Configuration of ContextEngine: contextengine.toml of a project, or config.toml of a user."
    });
    if let (Json::Object(schema), Json::Object(mut head)) = (&mut schema, own) {
        head.append(schema);
        *schema = head;
    }
    let Some(tables) = schema.pointer_mut("/properties/plugins") else { return schema };
    let any = tables.get("additionalProperties").cloned().unwrap_or(Json::Bool(true));
    let mut known = Map::new();
    for (id, config) in plugins {
        let mut table = any.clone();
        if let Some(slot) = table.pointer_mut("/properties/config") {
            *slot = embedded(id, config);
        }
        known.insert(id.clone(), table);
    }
    if let Json::Object(tables) = tables
        && !known.is_empty()
    {
        tables.insert("properties".to_owned(), Json::Object(known));
    }
    schema
}

/// A schema within the schema. References in it mean itself, so it gets a name of its own where it has any.
fn embedded(id: &str, config: &Json) -> Json {
    let mut config = config.clone();
    let refers = has_reference(&config);
    if let Json::Object(schema) = &mut config {
        schema.remove("$schema");
        if refers {
            schema.insert("$id".to_owned(), Json::from(format!("urn:contextengine:plugin:{id}")));
        }
    }
    config
}

/// No deeper than a JSON text can be.
fn has_reference(schema: &Json) -> bool {
    match schema {
        Json::Object(table) => table.contains_key("$ref") || table.values().any(has_reference),
        Json::Array(items) => items.iter().any(has_reference),
        _ => false,
    }
}

fn table(keys: &'static [Key]) -> Json {
    let properties: Map<String, Json> = keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn property(key: &Key) -> Json {
    let mut schema = of_kind(&key.kind);
    if let Json::Object(schema) = &mut schema {
        let about = match key.preset {
            Preset::Depends(on) => format!("{} Default: {on}.", key.about),
            _ => key.about.to_owned(),
        };
        schema.insert("description".to_owned(), Json::from(about));
        if let Preset::Is(value) = key.preset {
            schema.insert("default".to_owned(), value());
        }
    }
    schema
}

/// A number and a unit; how large it may be only the host can say.
const SIZE: &str = r"^\s*[0-9_]+(\.[0-9]{1,3})?\s*([kK][iI]?|[mM][iI]?|[gG][iI]?)?[bB]\s*$";
const TIME: &str = r"^\s*[0-9_]+(\.[0-9]{1,3})?\s*([hH]|[mM][iI][nN]|[mM]?[sS])\s*$";

fn of_kind(kind: &Kind) -> Json {
    let text = json!({ "type": "string", "minLength": 1 });
    match kind {
        Kind::Table(keys) => table(keys),
        Kind::Map { of, keys } => {
            let mut map = json!({ "type": "object", "additionalProperties": table(keys) });
            if *of == "plugin" {
                map["propertyNames"] = json!({ "pattern": "^[a-z][a-z0-9-]*$" });
            } else {
                map["additionalProperties"]["required"] = json!(["window"]);
            }
            map
        }
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Integer { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Text | Kind::Path => text,
        Kind::Choice { names, .. } => json!({ "enum": names() }),
        Kind::Choices { names, .. } => json!({ "type": "array", "items": { "enum": names() } }),
        Kind::Threshold => json!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": u32::MAX },
            { "type": "string", "pattern": r"^\s*(window\s*-\s*reserve|[0-9_]+\s*%?)\s*$" }
        ] }),
        Kind::Size { .. } => json!({ "type": "string", "pattern": SIZE }),
        Kind::Time { .. } => json!({ "type": "string", "pattern": TIME }),
        Kind::Plugins { one: true } => json!({ "anyOf": [text, { "type": "array", "items": text, "maxItems": 1 }] }),
        Kind::Plugins { one: false } => json!({ "anyOf": [text, { "type": "array", "items": text }] }),
        Kind::Texts | Kind::Paths => json!({ "type": "array", "items": text }),
        Kind::Sha256 => json!({ "type": "string", "pattern": "^[0-9a-fA-F]{64}$" }),
        Kind::Variable => json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }),
        Kind::Url => json!({ "type": "string", "pattern": "^https?://" }),
        Kind::Headers => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Kind::Plugin => json!({ "type": "object" }),
    }
}
