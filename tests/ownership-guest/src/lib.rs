//! A plugin that exports every hook and behaves in each as its configuration tells it to:
//! `{"compress": "fold", "select": "trap"}`. Without a word for a hook it does nothing there.
//!
//! With `{"seed": 7, "faults": 30}` it misbehaves in about 30 of 100 calls, in a way that only the seed and what it is
//! asked decide.
//!
//! Its id and version stand in [`NAME`], which tests replace in the component's bytes, so that one build gives as many
//! different plugins as are wanted. Its tool tells which calls this very instance has had.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use contextengine_sdk::plan::PlanBuilder;
use contextengine_sdk::{
    BranchRequest, BranchSummarizer, Compaction, CompressRequest, Compressor, Decision, Description, Dropped, Failure,
    Host, Note, NoteRole, Observer, Outcome, Plan, Plugin, Pressure, Prompt, ReduceRequest, Reducer, Reduction,
    Segment, SelectRequest, Selector, Span, Summary, Tool, Toolbox, Trigger, Turn, Urgency, View,
};

/// Id and version, with a slash between them. Tests replace it by another text of the same length.
static NAME: &str = "owner-guest-a/1.0.0";

/// Read from memory each time: a compiler that knew the text would write it as numbers into the code.
fn name() -> (&'static str, &'static str) {
    std::hint::black_box(NAME).split_once('/').unwrap_or(("owner-guest", "0"))
}

struct Owner {
    config: serde_json::Value,
    /// The calls of this instance.
    calls: RefCell<Vec<String>>,
}

impl Plugin for Owner {
    const ID: &'static str = "owner-guest";

    fn describe() -> Description {
        let (id, version) = name();
        Description::new(id, version, "Owns any slot and behaves as it is told to.")
            .config_schema(r#"{"type":"object"}"#)
    }

    fn configure(config: &str) -> Result<Self, String> {
        let config = serde_json::from_str(config).map_err(|error| error.to_string())?;
        Ok(Self { config, calls: RefCell::default() })
    }
}

impl Owner {
    /// What to do in a hook, which is noted as called. `input` makes the difference between calls that are random.
    fn behaviour(&self, hook: &str, input: impl std::hash::Hash, host: &Host) -> Result<String, Failure> {
        self.calls.borrow_mut().push(hook.to_owned());
        let told = self.config.get(hook).and_then(serde_json::Value::as_str).unwrap_or_default();
        let told = match self.random(hook, input) {
            Some(fault) => fault,
            None => told,
        };
        misbehave(told);
        match told {
            "declined" => Err(Failure::declined(format!("{} has no use for it", name().0))),
            "unavailable" => Err(Failure::unavailable("the service is gone", Some(1_500))),
            "failed" => Err(Failure::failed("it has a defect")),
            "ask" | "ask-and-fail" | "ask-then-bad" => {
                let answer = host.complete(&Prompt::new("you summarise", hook, 100));
                if told == "ask-and-fail" {
                    return Err(Failure::failed("asked for nothing"));
                }
                answer.map(|_| told.to_owned()).map_err(|error| Failure::unavailable(format!("{error:?}"), None))
            }
            told => Ok(told.to_owned()),
        }
    }

    /// A fault, where the seed wants one for this input.
    fn random(&self, hook: &str, input: impl std::hash::Hash) -> Option<&'static str> {
        let number = |key: &str| self.config.get(key).and_then(serde_json::Value::as_u64);
        let (seed, faults) = (number("seed")?, number("faults").unwrap_or(10));
        let mut hasher = DefaultHasher::new();
        (seed, hook, name(), self.calls.borrow().len()).hash(&mut hasher);
        input.hash(&mut hasher);
        let chance = hasher.finish();
        // Faults that end an instance are rarer: after one of them nothing more happens in that session.
        let all =
            ["declined", "unavailable", "failed", "declined", "bad-plan", "unavailable", "trap", "oversize", "memory"];
        (chance % 100 < faults).then(|| all[(chance / 100) as usize % all.len()])
    }
}

#[allow(clippy::panic, reason = "a guest that misbehaves on request")]
fn misbehave(told: &str) {
    match told {
        "trap" => panic!("the words of {}", name().0),
        "loop" => loop {
            std::hint::black_box(());
        },
        "memory" => {
            let mut kept = Vec::new();
            loop {
                kept.push(std::hint::black_box(vec![1_u8; 1 << 20]));
            }
        }
        _ => {}
    }
}

/// More than may cross at once.
fn oversize() -> String {
    "x".repeat(40 << 20)
}

/// A plan that speaks of no position.
fn bad_plan() -> Plan {
    Plan { segments: Vec::new() }
}

/// Everything that may be folded but the last turn.
fn fold(view: &dyn View, text: &str) -> Result<Option<Plan>, Failure> {
    let mut plan = PlanBuilder::new(view);
    let old = plan.layout().foldable(Span::new(0, plan.layout().last_turns(1)));
    if old.is_empty() {
        return Ok(None);
    }
    plan.fold(old, text)?;
    Ok(Some(plan.build()))
}

impl Compressor for Owner {
    fn should_compress(&self, view: &dyn View, host: &Host, pressure: &Pressure) -> Decision {
        match self.behaviour("should-compress", (view.len(), pressure.entries), host).as_deref() {
            Ok("hard") => Decision::compress(Urgency::Hard, name().0),
            Ok("soft") => Decision::compress(Urgency::Soft, name().0),
            Ok("oversize") => Decision::wait(oversize()),
            // It cannot fail but by breaking off.
            _ => Decision::wait(name().0),
        }
    }

    fn compress(&self, view: &dyn View, host: &Host, request: &CompressRequest) -> Result<Outcome, Failure> {
        let told = self.behaviour("compress", (view.len(), request.pressure.entries), host)?;
        if let Some(wish) = request.keep_recent() {
            self.calls.borrow_mut().push(format!("keep_recent {wish}"));
        }
        for memory in &request.memory {
            self.calls.borrow_mut().push(format!("memory {memory}"));
        }
        let corrected = told == "bad-then-fold" && !request.corrections.is_empty();
        match told.as_str() {
            "bad-plan" | "bad-then-fold" | "ask-then-bad" if !corrected => Ok(Outcome::Compressed(bad_plan())),
            "bad-then-unchanged" if request.corrections.is_empty() => Ok(Outcome::Compressed(bad_plan())),
            "bad-then-unchanged" => Ok(Outcome::Unchanged("it gave up".to_owned())),
            "oversize" => Ok(Outcome::Unchanged(oversize())),
            "fold" | "ask" | "bad-then-fold" => match fold(view, &format!("folded by {}", name().0))? {
                Some(plan) => Ok(Outcome::Compressed(plan)),
                None => Ok(Outcome::Unchanged("nothing to fold".to_owned())),
            },
            _ => Ok(Outcome::Unchanged(format!("{} leaves it", name().0))),
        }
    }
}

impl Selector for Owner {
    fn select_context(&self, view: &dyn View, host: &Host, request: &SelectRequest) -> Result<Option<Plan>, Failure> {
        let told = self.behaviour("select", (view.len(), request.pressure.entries), host)?;
        match told.as_str() {
            "note" => {
                let text = format!("noted by {}: {}", name().0, request.incoming.as_deref().unwrap_or("nothing"));
                let note = Note { role: NoteRole::User, text, source: "tests".to_owned() };
                Ok(Some(Plan { segments: vec![Segment::Note(note), Segment::Keep(Span::new(0, view.len()))] }))
            }
            "bad-plan" => Ok(Some(Plan {
                segments: vec![Segment::Drop(Dropped { range: Span::new(0, view.len()), reason: "all".to_owned() })],
            })),
            "oversize" => Err(Failure::declined(oversize())),
            _ => Ok(None),
        }
    }
}

impl Reducer for Owner {
    fn reduce(&self, host: &Host, request: &ReduceRequest) -> Result<Reduction, Failure> {
        let told = self.behaviour("reduce", (&request.tool_result.text, request.tokens), host)?;
        Ok(match told.as_str() {
            "short" => Reduction::Replace(format!("shortened by {}", name().0)),
            "empty" => Reduction::Replace(String::new()),
            "long" => Reduction::Replace(request.tool_result.text.repeat(3)),
            "oversize" => Reduction::Replace(oversize()),
            _ => Reduction::Keep,
        })
    }
}

impl BranchSummarizer for Owner {
    fn summarize_branch(&self, view: &dyn View, host: &Host, request: &BranchRequest) -> Result<Summary, Failure> {
        let told = self.behaviour("branch", (view.len(), request.budget), host)?;
        let text = match told.as_str() {
            "empty" => String::new(),
            "oversize" => oversize(),
            "long" => "word ".repeat(100_000),
            _ => format!("{} entries, summarised by {}", view.len(), name().0),
        };
        let covers = match told.as_str() {
            "bad-plan" => vec![Span::new(1, view.len())],
            _ => vec![Span::new(0, view.len())],
        };
        Ok(Summary { covers, text, details: Some(r#"{"of":"the branch"}"#.to_owned()) })
    }
}

impl Observer for Owner {
    fn on_turn_complete(&self, view: &dyn View, host: &Host, turn: &Turn) -> Result<(), Failure> {
        self.behaviour("on-turn-complete", (view.len(), turn.index), host).map(drop)
    }

    fn before_compress(&self, view: &dyn View, host: &Host, _: Trigger) -> Result<Option<String>, Failure> {
        let told = self.behaviour("before-compress", view.len(), host)?;
        Ok(match told.as_str() {
            "remember" | "ask" => Some(format!("remembered by {}", name().0)),
            "oversize" => Some(oversize()),
            _ => None,
        })
    }

    fn after_compress(&self, host: &Host, compaction: &Compaction) -> Result<(), Failure> {
        let told = self.behaviour("after-compress", compaction.tokens_before, host)?;
        let summary = compaction.summary.as_deref().unwrap_or("no summary");
        self.calls.borrow_mut().push(format!("told of {}: {summary}", compaction.owner));
        if told == "oversize" { Err(Failure::declined(oversize())) } else { Ok(()) }
    }
}

impl Toolbox for Owner {
    fn tools(&self) -> Vec<Tool> {
        vec![Tool {
            name: format!("calls-of-{}", name().0),
            description: "Tells which calls this instance has had.".to_owned(),
            parameters: r#"{"type":"object"}"#.to_owned(),
        }]
    }

    fn call(&self, view: &dyn View, host: &Host, _: &str, arguments: &str) -> Result<String, Failure> {
        let told = self.behaviour("call", (view.len(), arguments), host)?;
        if told == "oversize" {
            return Ok(oversize());
        }
        Ok(self.calls.borrow().join("; "))
    }
}

contextengine_sdk::export!(Owner: Compressor, Selector, Reducer, BranchSummarizer, Observer, Toolbox);
