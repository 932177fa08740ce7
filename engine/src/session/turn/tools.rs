//! Tools of plugins for the agent's model.

use super::Turn;
use crate::events::EventKind;
use crate::hooks::Tool;
use crate::plugin::Instance;
use crate::slots::Slot;

/// What the model reads as the result of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// The result, or what went wrong.
    pub text: String,
    /// Something went wrong.
    pub failed: bool,
}

impl Turn {
    /// The tools that the agent can offer to its model. Always the same under one setup, so that they can stand in a
    /// prompt that is cached.
    pub fn tools(&self) -> Vec<Tool> {
        self.bindings(Slot::Tools).iter().flat_map(|binding| binding.plugin().tools()).cloned().collect()
    }

    /// Whether a tool of this name is one of [`Turn::tools`].
    pub fn has_tool(&self, name: &str) -> bool {
        self.bindings(Slot::Tools).iter().any(|binding| binding.plugin().tools().iter().any(|tool| tool.name == name))
    }

    /// Runs a tool; `arguments` is the JSON object that the model wrote. Whatever goes wrong, there is a result for the
    /// model, which says so.
    pub async fn call_tool(&self, name: &str, arguments: &str) -> ToolOutcome {
        let offers = |binding: &&crate::slots::Binding| binding.plugin().tools().iter().any(|tool| tool.name == name);
        let Some(owner) = self.bindings(Slot::Tools).iter().find(offers) else {
            let names: Vec<String> = self.tools().into_iter().map(|tool| tool.name).collect();
            let there = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
            return self.tool_failed(name, None, format!("there is no tool `{name}`; tools: {there}"));
        };
        if !matches!(serde_json::from_str(arguments), Ok(serde_json::Value::Object(_))) {
            let reason = "its arguments are not a JSON object; write them again".to_owned();
            return self.tool_failed(name, Some(owner.id()), reason);
        }
        let view = self.session.view();
        let question = async |instance: &mut Instance| instance.call_tool(name, arguments, &view).await;
        match self.ask(Slot::Tools, owner, "call", question).await {
            Ok(text) => ToolOutcome { text, failed: false },
            Err(error) => self.tool_failed(name, Some(owner.id()), error.to_string()),
        }
    }

    fn tool_failed(&self, tool: &str, plugin: Option<&str>, reason: String) -> ToolOutcome {
        let text = format!("The tool `{tool}` failed: {reason}");
        self.tell(EventKind::ToolFailed { tool: tool.to_owned(), plugin: plugin.map(str::to_owned), reason });
        ToolOutcome { text, failed: true }
    }
}
