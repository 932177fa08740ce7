//! The documentation says what is so: links lead somewhere, commands exist, quoted answers are the host's own words.
//!
//! The Rust snippets of the pages are documentation tests of this crate (`src/lib.rs`).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

mod strategies;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contextengine::format::Document;
use contextengine::hooks::{Trigger, Urgency};
use contextengine::plan::{Dropped, Note, Plan, Rewrite, Rules, Segment, Span, Summary, verify};
use contextengine::plugin::LoadOptions;
use contextengine::tokens::{EntryCounter, TiktokenCounter, Vocabulary};
use contextengine::transcript::{Block, Entry, EntryKind, Role, Timestamp, ToolCall, ToolResult};
use contextengine::view::{View, ViewOptions};
use contextengine::{CompactOptions, Compacted, Engine, Window};
use contextengine_sdk::memory::TestHost;
use contextengine_sdk::{self as sdk, Compressor as _, Plugin as _};
use contextengine_tests::component;
use contextengine_tests::native::{NativeView, compress_request};
use keep_recent::KeepRecent;
use wit_parser::{Docs, Resolve, TypeDefKind};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// README.md, docs/*.md and the plugins' README.md.
fn pages() -> Vec<PathBuf> {
    let files = |folder: &str| fs::read_dir(root().join(folder)).unwrap().map(|file| file.unwrap().path());
    let mut pages = vec![root().join("README.md")];
    pages.extend(files("docs").filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    pages.extend(files("plugins").map(|plugin| plugin.join("README.md")).filter(|path| path.is_file()));
    assert!(pages.len() > 5, "{pages:?}");
    pages
}

/// A page without its fenced blocks, and the blocks as language and text.
fn parts(page: &str) -> (String, Vec<(String, String)>) {
    let (mut prose, mut blocks) = (String::new(), Vec::new());
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => open = Some((language.to_owned(), String::new())),
            (None, Some((_, text))) => *text += &format!("{line}\n"),
            (None, None) => prose += &format!("{line}\n"),
        }
    }
    assert!(open.is_none(), "a fenced block has no end");
    (prose, blocks)
}

/// What follows `](` up to the bracket.
fn links(prose: &str) -> impl Iterator<Item = &str> {
    prose.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// Anchors of the headings of a page, as GitHub makes them.
fn anchors(page: &str) -> Vec<String> {
    let (prose, _) = parts(page);
    let headings = prose.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let letters = |heading: &str| -> String {
        let kept = |c: char| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c => c.is_alphanumeric().then_some(c),
        };
        heading.to_lowercase().chars().filter_map(kept).collect()
    };
    headings.map(letters).collect()
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&parts(&text).0).filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let found = target.exists()
                && (anchor.is_empty() || anchors(&fs::read_to_string(&target).unwrap()).iter().any(|a| a == anchor));
            if !found {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_xtask_that_a_page_names_exists() {
    let commands = read("xtask/src/main.rs");
    let mut seen = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for rest in text.split("cargo xtask ").skip(1) {
            let name: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
            assert!(commands.contains(&format!("name: \"{name}\"")), "{}: cargo xtask {name}", page.display());
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn every_snippet_of_rust_is_compiled() {
    let crate_root = read("tests/src/lib.rs");
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let file = page.strip_prefix(root()).unwrap().display().to_string();
        let has_rust = parts(&text).1.iter().any(|(language, _)| language.starts_with("rust"));
        assert!(!has_rust || crate_root.contains(&format!("include_str!(\"../../{file}\")")), "{file}");
    }
}

#[test]
fn the_guide_shows_the_example_as_it_is() {
    let example = read("sdk/examples/keep_recent.rs");
    let code = example.split_once("\n\n").unwrap().1;
    let blocks = parts(&read("docs/plugin-authors.md")).1;
    assert!(
        blocks.iter().any(|(_, text)| text == code),
        "copy sdk/examples/keep_recent.rs into docs/plugin-authors.md"
    );
}

#[test]
fn the_design_explains_every_defect() {
    let source = read("engine/src/plan/defect.rs");
    let names = source.lines().filter_map(|line| line.split_once("=> \"")?.1.strip_suffix("\","));
    let names: Vec<&str> = names.collect();
    assert!(names.contains(&"split-group") && names.len() > 10, "{names:?}");
    let design = read("docs/design.md");
    let missing: Vec<_> = names.iter().filter(|name| !design.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The strategy of the guide, natively.
#[path = "../../../sdk/examples/keep_recent.rs"]
#[allow(unreachable_pub, reason = "the file is the root of a crate")]
mod keep_recent;

#[test]
fn the_host_accepts_what_the_example_plans_for_a_real_session() {
    let counter = EntryCounter::new(TiktokenCounter::new(Vocabulary::default()));
    let document = Document::read(&read("examples/coding-session.jsonl"), None).unwrap();
    let view = View::new(document.context().to_vec(), &counter, ViewOptions::default());
    let request = compress_request(&Window::new(32_000).pressure(&view, Trigger::Manual, Timestamp(0)), 12_000);
    for keep_recent in [1, 1_000, 5_000, 20_000] {
        let plugin = KeepRecent::configure(&format!(r#"{{"keep_recent":{keep_recent}}}"#)).unwrap();
        let outcome = plugin.compress(&NativeView(view.clone()), &TestHost::new(), &request).unwrap();
        let sdk::Outcome::Compressed(plan) = outcome else { panic!("{outcome:?}") };
        let span = |span: &sdk::Span| Span::new(span.start, span.end);
        let segments = plan.segments.iter().map(|segment| match segment {
            sdk::Segment::Keep(range) => Segment::Keep(span(range)),
            sdk::Segment::Summary(summary) => Segment::Summary(Summary {
                covers: summary.covers.iter().map(span).collect(),
                text: summary.text.clone(),
                details: None,
            }),
            other => panic!("the example does not do this: {other:?}"),
        });
        let plan = Plan { segments: segments.collect() };
        let verified = verify(plan, KeepRecent::ID, &view, &Rules::new(12_000), &counter);
        assert!(verified.is_ok(), "keeping {keep_recent}: {}", verified.unwrap_err());
    }
}

#[tokio::test]
async fn the_demo_is_quoted_as_it_is() {
    let engine = Engine::builder().build().unwrap();
    let plugin = engine.load(&component("regex-anchors"), LoadOptions::default()).await.unwrap();
    let document = Document::read(&read("examples/coding-session.jsonl"), None).unwrap();
    let window = Window::new(32_000);
    let options = ViewOptions::default().with_loop_limit(window.target());
    let view = engine.view(document.context().to_vec(), options);
    let options = CompactOptions::new(window.pressure(&view, Trigger::Manual, Timestamp(0)), window.target());
    let compacted = engine.compact(&plugin, &view, &options, engine.services()).await.unwrap();
    let Compacted::Done(compaction) = compacted else { panic!("{compacted:?}") };

    let thousands = |n: u32| format!("{},{:03}", n / 1_000, n % 1_000);
    let line = format!("\n{} → {} tokens", thousands(view.tokens()), thousands(compaction.view().tokens()));
    for page in ["README.md", "docs/operators.md"] {
        assert!(read(page).contains(&line), "{page}: copy what `cargo xtask demo` prints; it says{line}");
    }
}

/// The session of the guide's section on refusals.
fn session() -> Vec<Arc<Entry>> {
    let call = |id: &str| {
        let (id, name, arguments) = (id.to_owned(), "bash".to_owned(), r#"{"command":"make"}"#.to_owned());
        Block::ToolCall(ToolCall { id, name, arguments })
    };
    let text = "make: *** No rule to make target 'parser.o'.\n".repeat(20);
    let result = ToolResult { call_id: "1".to_owned(), name: "bash".to_owned(), text, failed: true };
    let mut rules = Entry::text("0", EntryKind::System, "Answer in English.");
    rules.pinned = true;
    let entries = [
        rules,
        Entry::text("1", EntryKind::User, "Why does the build fail?"),
        Entry::new("2", EntryKind::Assistant, vec![call("1")]),
        Entry::new("3", EntryKind::ToolResult, vec![Block::ToolResult(result)]),
        Entry::text("4", EntryKind::Assistant, "The rule for parser.o is missing."),
        Entry::text("5", EntryKind::User, "Add it, then build again."),
        Entry::new("6", EntryKind::Assistant, vec![call("2")]),
    ];
    entries.into_iter().map(Arc::new).collect()
}

/// Reads `keep 0..1, summary 1..5, keep 5..7`. A summary may cover `nothing` and have the text "".
fn plan(notation: &str) -> Plan {
    let span = |text: &str| {
        let (start, end) = text.split_once("..").unwrap_or_else(|| panic!("{text:?} is no range"));
        Span::new(start.parse().unwrap(), end.parse().unwrap())
    };
    let segment = |text: &str| {
        let (what, of) = text.split_once(' ').unwrap_or((text, ""));
        match what {
            "keep" => Segment::Keep(span(of)),
            "drop" => Segment::Drop(Dropped { range: span(of), reason: "old".to_owned() }),
            "rewrite" => {
                Segment::Rewrite(Rewrite { at: of.parse().unwrap(), text: "…".to_owned(), reason: "long".to_owned() })
            }
            "note" => Segment::Note(Note { role: Role::User, text: "Mind it.".to_owned(), source: "me".to_owned() }),
            "summary" => {
                let (of, text) = of.strip_suffix(" \"\"").map_or((of, "A rule was missing."), |of| (of, ""));
                let covers = if of == "nothing" { Vec::new() } else { vec![span(of)] };
                Segment::Summary(Summary { covers, text: text.to_owned(), details: None })
            }
            _ => panic!("{text:?} is no segment"),
        }
    };
    Plan { segments: notation.split(", ").map(segment).collect() }
}

#[test]
fn every_refusal_in_the_guide_is_what_the_host_says() {
    let counter = EntryCounter::new(TiktokenCounter::new(Vocabulary::default()));
    let view = View::new(session(), &counter, ViewOptions::default());
    let blocks = parts(&read("docs/plugin-authors.md")).1;
    let refusals: Vec<&String> =
        blocks.iter().filter(|(language, _)| language == "plan").map(|(_, text)| text).collect();
    assert!(refusals.len() > 10, "{} refusals", refusals.len());
    for block in refusals {
        let (notation, answer) = block.trim_end().split_once('\n').unwrap();
        let (notation, rules) = match notation.strip_prefix("target 10, hard: ") {
            Some(rest) => (rest, Rules::new(10).with_urgency(Urgency::Hard)),
            None => (notation, Rules::new(1_000)),
        };
        let said = match verify(plan(notation), "guide", &view, &rules, &counter) {
            Ok(_) => "accepted".to_owned(),
            Err(refused) => refused.corrections().join("\n"),
        };
        assert_eq!(said, answer, "{notation}");
    }
}

/// Whatever the ABI names has a sentence that says what it is.
#[test]
fn every_item_of_the_plugin_api_is_documented() {
    let mut resolve = Resolve::default();
    resolve.push_dir(root().join("wit")).unwrap();
    let mut bare = Vec::new();
    let mut check = |docs: &Docs, name: String| {
        if docs.contents.as_deref().is_none_or(|text| text.trim().is_empty()) {
            bare.push(name);
        }
    };
    for (_, package) in &resolve.packages {
        check(&package.docs, package.name.to_string());
    }
    for (_, world) in &resolve.worlds {
        check(&world.docs, world.name.clone());
    }
    for (_, interface) in &resolve.interfaces {
        let of = interface.name.clone().unwrap();
        check(&interface.docs, of.clone());
        for (name, function) in &interface.functions {
            check(&function.docs, format!("{of}.{name}"));
        }
        for (name, id) in &interface.types {
            let ty = &resolve.types[*id];
            // What `use` brings in is documented where it comes from.
            if matches!(ty.kind, TypeDefKind::Type(wit_parser::Type::Id(_))) {
                continue;
            }
            check(&ty.docs, format!("{of}.{name}"));
            let parts: Vec<(&str, &Docs)> = match &ty.kind {
                TypeDefKind::Record(record) => record.fields.iter().map(|f| (f.name.as_str(), &f.docs)).collect(),
                TypeDefKind::Variant(variant) => variant.cases.iter().map(|c| (c.name.as_str(), &c.docs)).collect(),
                TypeDefKind::Enum(cases) => cases.cases.iter().map(|c| (c.name.as_str(), &c.docs)).collect(),
                TypeDefKind::Flags(flags) => flags.flags.iter().map(|f| (f.name.as_str(), &f.docs)).collect(),
                _ => Vec::new(),
            };
            for (part, docs) in parts {
                check(docs, format!("{of}.{name}.{part}"));
            }
        }
    }
    assert!(resolve.interfaces.len() > 10);
    assert!(bare.is_empty(), "{bare:#?}");
}
