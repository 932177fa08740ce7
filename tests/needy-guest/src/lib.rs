//! A plugin that cannot work without a model. Its configuration has rules of many kinds, so that tests can see which
//! line of a file is blamed; what the schema cannot say, it refuses by itself.

use contextengine_sdk::{
    CompressRequest, Compressor, Decision, Description, Failure, Host, Outcome, Plugin, Pressure, Service, Tool,
    Toolbox, View,
};

struct Needy;

const SCHEMA: &str = r##"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "preset": { "enum": ["pi", "codex"], "default": "pi" },
    "share": { "type": "number", "minimum": 0, "maximum": 1 },
    "rules": { "type": "array", "items": { "$ref": "#/$defs/rule" } },
    "phrase": { "type": "string" }
  },
  "$defs": {
    "rule": {
      "type": "object",
      "required": ["name"],
      "additionalProperties": false,
      "properties": { "name": { "type": "string", "pattern": "^[a-z]+$" }, "cap": { "type": "integer" } }
    }
  }
}"##;

impl Plugin for Needy {
    const ID: &'static str = "needy-guest";

    fn describe() -> Description {
        Description::new(Self::ID, env!("CARGO_PKG_VERSION"), "Cannot work without a model.")
            .config_schema(SCHEMA)
            .needs([Service::Model])
    }

    fn configure(config: &str) -> Result<Self, String> {
        if config.contains("unspeakable") {
            return Err("`phrase` must not be that".to_owned());
        }
        Ok(Self)
    }
}

impl Compressor for Needy {
    fn should_compress(&self, _: &dyn View, _: &Host, _: &Pressure) -> Decision {
        Decision::wait("never")
    }

    fn compress(&self, _: &dyn View, _: &Host, _: &CompressRequest) -> Result<Outcome, Failure> {
        Ok(Outcome::Unchanged("never".to_owned()))
    }
}

impl Toolbox for Needy {
    fn tools(&self) -> Vec<Tool> {
        vec![Tool {
            name: "ask".to_owned(),
            description: "Asks nobody.".to_owned(),
            parameters: r#"{"type":"object"}"#.to_owned(),
        }]
    }

    fn call(&self, _: &dyn View, _: &Host, _: &str, _: &str) -> Result<String, Failure> {
        Ok("nothing".to_owned())
    }
}

contextengine_sdk::export!(Needy: Compressor, Toolbox);
