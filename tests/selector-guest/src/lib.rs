//! A selector that shapes a request as its configuration tells it to: `{"behaviour": "last-turn"}`.

use contextengine_sdk::plan::PlanBuilder;
use contextengine_sdk::{
    Description, Failure, Host, Note, NoteRole, Plan, Plugin, Segment, SelectRequest, Selector, Span, View,
};

struct Shaper {
    behaviour: String,
}

impl Plugin for Shaper {
    const ID: &'static str = "selector-guest";

    fn describe() -> Description {
        Description::new(Self::ID, env!("CARGO_PKG_VERSION"), "Shapes a request as it is told to.")
            .config_schema(r#"{"type":"object","properties":{"behaviour":{"type":"string"}}}"#)
    }

    fn configure(config: &str) -> Result<Self, String> {
        let config: serde_json::Value = serde_json::from_str(config).map_err(|error| error.to_string())?;
        let behaviour = config.get("behaviour").and_then(serde_json::Value::as_str).unwrap_or("unchanged");
        Ok(Self { behaviour: behaviour.to_owned() })
    }
}

impl Selector for Shaper {
    #[allow(clippy::panic, reason = "a guest that misbehaves on request")]
    fn select_context(&self, view: &dyn View, _: &Host, request: &SelectRequest) -> Result<Option<Plan>, Failure> {
        match self.behaviour.as_str() {
            "last-turn" => {
                let mut plan = PlanBuilder::new(view);
                let old = plan.layout().foldable(Span::new(0, plan.layout().last_turns(1)));
                plan.drop(old, "an earlier turn")?;
                Ok(Some(plan.build()))
            }
            "note" => Ok(Some(with_note(view, format!("about: {}", request.incoming.as_deref().unwrap_or("nothing"))))),
            "long-note" => Ok(Some(with_note(view, "word ".repeat(100_000)))),
            "drop-everything" => Ok(Some(Plan {
                segments: vec![Segment::Drop(contextengine_sdk::Dropped {
                    range: Span::new(0, view.len()),
                    reason: "all of it".to_owned(),
                })],
            })),
            "declined" => Err(Failure::declined("this is not for me")),
            "panic" => panic!("the words of the selector"),
            _ => Ok(None),
        }
    }
}

/// Everything stays, and a note stands first.
fn with_note(view: &dyn View, text: String) -> Plan {
    let note = Note { role: NoteRole::User, text, source: "tests".to_owned() };
    Plan { segments: vec![Segment::Note(note), Segment::Keep(Span::new(0, view.len()))] }
}

contextengine_sdk::export!(Shaper: Selector);
