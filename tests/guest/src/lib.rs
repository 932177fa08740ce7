//! A plugin that misbehaves as its configuration tells it to: `{"behaviour": "loop-forever"}`.
//!
//! One behaviour per way in which a plugin can go wrong, so that a test can say what the host makes of it. Without a
//! configuration it is well behaved and changes nothing.

use std::cell::Cell;

use contextengine_sdk::{
    CompressRequest, Compressor, Decision, Description, Dropped, Failure, Host, Level, Outcome, Plan, Plugin, Pressure,
    Prompt, Rewrite, Scope, Segment, Span, Summary, Unavailable, Urgency, View,
};

/// More than any default limit allows at once.
const HUNDRED_MB: usize = 100 << 20;

struct Hostile {
    behaviour: String,
    /// The hook in which it happens; the other one behaves.
    hook: String,
    calls: Cell<u32>,
}

impl Plugin for Hostile {
    const ID: &'static str = "hostile-guest";

    fn describe() -> Description {
        Description::new(Self::ID, env!("CARGO_PKG_VERSION"), "Misbehaves as it is told to.")
            .config_schema(r#"{"type":"object","properties":{"behaviour":{"type":"string"},"in":{"type":"string"}}}"#)
    }

    fn configure(config: &str) -> Result<Self, String> {
        let config: serde_json::Value = serde_json::from_str(config).map_err(|error| error.to_string())?;
        let text = |key: &str, default: &str| match config.get(key) {
            None => Ok(default.to_owned()),
            Some(serde_json::Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(format!("`{key}` is {other}, and a string is expected")),
        };
        // In its own words, whatever they are.
        if let Some(serde_json::Value::String(words)) = config.get("refuse") {
            return Err(words.clone());
        }
        let behaviour = text("behaviour", "unchanged")?;
        // What no schema says.
        if behaviour == "unspeakable" {
            return Err("`behaviour` must not be that".to_owned());
        }
        let hook = text("in", "compress")?;
        if hook == "configure" {
            misbehave(&behaviour);
        }
        Ok(Self { behaviour, hook, calls: Cell::new(0) })
    }
}

impl Compressor for Hostile {
    fn should_compress(&self, view: &dyn View, host: &Host, pressure: &Pressure) -> Decision {
        self.calls.set(self.calls.get() + 1);
        if self.hook == "should-compress" {
            if self.behaviour == "impure" {
                return Decision::wait(impure(host));
            }
            log_much(&self.behaviour, host);
            look_everywhere(&self.behaviour, view);
            misbehave(&self.behaviour);
        }
        if pressure.entries > pressure.budget {
            Decision::compress(Urgency::Hard, format!("call {}", self.calls.get()))
        } else {
            Decision::wait(format!("call {}", self.calls.get()))
        }
    }

    fn compress(&self, view: &dyn View, host: &Host, request: &CompressRequest) -> Result<Outcome, Failure> {
        self.calls.set(self.calls.get() + 1);
        if self.hook != "compress" {
            return Ok(Outcome::Unchanged("behaves here".to_owned()));
        }
        log_much(&self.behaviour, host);
        look_everywhere(&self.behaviour, view);
        misbehave(&self.behaviour);
        match self.behaviour.as_str() {
            "declined" => Err(Failure::Declined("this is not for me".to_owned())),
            "failed" => Err(Failure::Failed("a defect".to_owned())),
            "unavailable" => {
                Err(Failure::Unavailable(Unavailable { reason: "no model".to_owned(), retry_after_ms: Some(1_500) }))
            }
            "huge-answer" => Ok(Outcome::Unchanged("x".repeat(HUNDRED_MB))),
            "many-segments" => Ok(keep(vec![Span::new(0, 1); 4_000_000])),
            "reversed-span" => Ok(keep(vec![Span::new(3, 1)])),
            "huge-span" => Ok(keep(vec![Span::new(0, u32::MAX), Span::new(u32::MAX, u32::MAX)])),
            "overlapping-spans" => Ok(keep(vec![Span::new(0, 3), Span::new(1, 4), Span::new(0, 3)])),
            "every-segment" => Ok(Outcome::Compressed(every_segment(view.len()))),
            "services" => Ok(Outcome::Unchanged(services(host))),
            "echo" => Ok(Outcome::Unchanged(format!("{request:?}"))),
            "hoard" => Ok(Outcome::Unchanged(hoard(host))),
            "stderr" => Ok(Outcome::Unchanged(chatter())),
            "surroundings" => Ok(Outcome::Unchanged(surroundings())),
            "read" => Ok(Outcome::Unchanged(read(view))),
            "remember" => Ok(Outcome::Unchanged(format!("call {}", self.calls.get()))),
            _ => Ok(Outcome::Unchanged("nothing to do".to_owned())),
        }
    }
}

/// The ways to end a call badly.
fn misbehave(behaviour: &str) {
    match behaviour {
        "loop-forever" => loop {
            std::hint::black_box(());
        },
        "memory-bomb" => {
            let mut kept = Vec::new();
            loop {
                kept.push(std::hint::black_box(vec![1_u8; 1 << 20]));
            }
        }
        #[allow(clippy::panic, reason = "panicking is the point")]
        "panic" => panic!("the words of the guest"),
        "abort" => std::process::abort(),
        "sleep" => std::thread::sleep(std::time::Duration::from_secs(3_600)),
        "exit" => std::process::exit(3),
        "endless-recursion" => {
            std::hint::black_box(recurse(1));
        }
        _ => {}
    }
}

/// Needs a frame of its own for every step, so that it cannot become a loop.
#[inline(never)]
#[allow(unconditional_recursion, reason = "running out of stack is the point")]
fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 16]);
    recurse(depth + 1) + frame[(depth % 16) as usize]
}

fn log_much(behaviour: &str, host: &Host) {
    match behaviour {
        "log-at-once" => host.log(Level::Info, &"x".repeat(HUNDRED_MB)),
        "log-in-lines" => {
            let line = "x".repeat(1 << 10);
            for _ in 0..(HUNDRED_MB >> 10) {
                host.log(Level::Info, &line);
            }
        }
        "progress" => {
            for done in 0..10_000 {
                host.progress(done, 10_000, "counting");
            }
        }
        _ => {}
    }
}

/// Positions and ranges that no view has.
fn look_everywhere(behaviour: &str, view: &dyn View) {
    match behaviour {
        "many-view-calls" => {
            for call in 0..200_000_u32 {
                std::hint::black_box(view.text(call, Some(1)));
            }
        }
        "impossible-ranges" => {
            let spans =
                [Span::new(0, u32::MAX), Span::new(u32::MAX, 0), Span::new(u32::MAX, u32::MAX), Span::new(5, 2)];
            for span in spans {
                std::hint::black_box((view.entries(span), view.texts(span, Some(u32::MAX))));
            }
            for at in [view.len(), u32::MAX] {
                assert_eq!(view.text(at, None), "");
                assert_eq!(view.text_range(at, u32::MAX, 0), "");
                assert!(view.blocks(at).is_empty());
                assert_eq!(view.original(at, Some(0)), None);
                assert_eq!(view.attribute(at, "id"), None);
            }
            assert_eq!(view.text_range(0, u32::MAX, 0), "");
            assert_eq!(view.text_range(0, 3, 1), "");
        }
        _ => {}
    }
}

fn keep(spans: Vec<Span>) -> Outcome {
    Outcome::Compressed(Plan { segments: spans.into_iter().map(Segment::Keep).collect() })
}

/// A plan with one segment of each kind but `note`, over a view of at least four entries.
fn every_segment(len: u32) -> Plan {
    Plan {
        segments: vec![
            Segment::Summary(Summary {
                covers: vec![Span::new(0, 1)],
                text: "what was said: äöü €".to_owned(),
                details: Some("{}".to_owned()),
            }),
            Segment::Drop(Dropped { range: Span::new(1, 2), reason: "old".to_owned() }),
            Segment::Rewrite(Rewrite { at: 2, text: "short".to_owned(), reason: "long".to_owned() }),
            Segment::Keep(Span::new(3, len)),
        ],
    }
}

/// What each service answers when nothing is granted.
fn services(host: &Host) -> String {
    let prompt = Prompt::new("you summarise", "summarise", 100);
    let answers = (
        host.complete(&prompt),
        host.complete_all(&[prompt.clone(), prompt.clone()]),
        host.model_window(),
        host.state_get(Scope::Session, "key"),
        host.state_set(Scope::Session, "key", b"value"),
        host.state_keys(Scope::Session, ""),
        host.recall_search("parser", 3).iter().map(|hit| host.recall_fetch(&hit.id, Some(20))).collect::<Vec<_>>(),
        host.file_read("docs/guide.md", Some(5)),
        host.file_read("/etc/passwd", None),
        host.file_entries(""),
        (host.count("four words of text"), host.count_all(&["one".to_owned()]), host.fit("some text", 1)),
    );
    format!("{answers:?}")
}

/// Keeps as much as it is let, and says what it was told then.
fn hoard(host: &Host) -> String {
    let value = [b'x'; 4 << 10];
    for key in 0..1_000 {
        if let Err(reason) = host.state_set(Scope::Session, &key.to_string(), &value) {
            return format!("{key} values, then: {reason}");
        }
    }
    "no limit".to_owned()
}

fn impure(host: &Host) -> String {
    let model = host.complete(&Prompt::new("you summarise", "summarise", 100));
    format!(
        "{:?} {:?} {model:?}",
        host.state_set(Scope::Session, "key", b"value"),
        host.state_delete(Scope::Shared, "k")
    )
}

/// Writes more to standard error than a host would keep.
fn chatter() -> String {
    use std::io::Write as _;
    let line = [b'x'; 1 << 10];
    for _ in 0..256 {
        if let Err(error) = std::io::stderr().write_all(&line) {
            return error.to_string();
        }
    }
    "nothing to do".to_owned()
}

/// What a component that was built for WASI finds around it.
fn surroundings() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let file = if std::fs::read_dir("/").is_ok() { "a folder" } else { "no file" };
    let epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!(
        "{} variables, {} arguments, {file}, epoch +{:?}, random {}",
        std::env::vars().count(),
        std::env::args().count(),
        epoch.unwrap_or_default(),
        RandomState::new().hash_one(0),
    )
}

/// The whole view, as a plugin sees it.
fn read(view: &dyn View) -> String {
    let all = Span::new(0, view.len());
    let texts = view.texts(all, None);
    let one_by_one: Vec<String> = all.positions().map(|at| view.text(at, None)).collect();
    assert!(texts.iter().eq(one_by_one.iter().map(String::as_str)), "texts and text must agree");
    assert_eq!(view.entries(all).len(), one_by_one.len());
    format!("{} entries, tools {:?}: {}", view.len(), view.tools(), one_by_one.join("|"))
}

contextengine_sdk::export!(Hostile: Compressor);
