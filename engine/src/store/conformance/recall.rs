use super::{Case, Fixture};
use crate::store::{Hit, Leaf, LogBody, NewRecord, Search, SessionKey};
use crate::transcript::{Block, Entry, EntryId, EntryKind, ToolCall, ToolResult};

pub(super) const CASES: &[Case] = &[
    Case { name: "words are found in texts, calls and results", body: |fixture| Box::pin(words(fixture)) },
    Case { name: "names are found as they are written", body: |fixture| Box::pin(names(fixture)) },
    Case { name: "any part of Chinese, Japanese and Korean is found", body: |fixture| Box::pin(dense(fixture)) },
    Case { name: "entries with all words come before those with some", body: |fixture| Box::pin(all_words(fixture)) },
    Case { name: "hits come best first and no more than asked", body: |fixture| Box::pin(best_first(fixture)) },
    Case { name: "what was compacted or left stays found", body: |fixture| Box::pin(stays(fixture)) },
    Case { name: "a query is only words, whatever is in it", body: |fixture| Box::pin(only_words(fixture)) },
    Case { name: "an index can be made anew in small steps", body: |fixture| Box::pin(anew(fixture)) },
];

/// A session with one entry for each text, `e1` and so on.
async fn session_of(fixture: &Fixture, name: &str, texts: &[&str]) -> SessionKey {
    let session = fixture.session(name).await;
    let mut parent: Option<String> = None;
    for (index, text) in texts.iter().enumerate() {
        let id = format!("e{}", index + 1);
        fixture.store.append(session, vec![fixture.says(&id, parent.as_deref(), text)]).await.unwrap();
        parent = Some(id);
    }
    session
}

async fn hits(fixture: &Fixture, session: SessionKey, text: &str) -> Vec<Hit> {
    let found = fixture.store.search(Search::new(session, text)).await.unwrap();
    assert_eq!(found.unindexed, 0);
    found.hits
}

/// Ids of the hits, in the order of the log.
async fn found(fixture: &Fixture, session: SessionKey, text: &str) -> Vec<String> {
    let mut hits = hits(fixture, session, text).await;
    hits.sort_by_key(|hit| hit.seq);
    hits.into_iter().map(|hit| hit.id.to_string()).collect()
}

const NONE: [&str; 0] = [];

async fn words(fixture: Fixture) {
    let session = session_of(&fixture, "a", &["The Cache is keyed by path", "nothing of note"]).await;
    let call =
        ToolCall { id: "c".to_owned(), name: "bash".to_owned(), arguments: r#"{"cmd":"grep zebra"}"#.to_owned() };
    let result = ToolResult {
        call_id: "c".to_owned(),
        name: "bash".to_owned(),
        text: "ÄRGER at line 7".to_owned(),
        failed: true,
    };
    for (id, parent, kind, block) in [
        ("call", "e2", EntryKind::Assistant, Block::ToolCall(call)),
        ("result", "call", EntryKind::ToolResult, Block::ToolResult(result)),
    ] {
        let mut entry = Entry::new(id, kind, vec![block]);
        entry.parent = Some(EntryId::new(parent));
        fixture.store.append(session, vec![NewRecord::entry(&entry, fixture.now())]).await.unwrap();
    }
    assert_eq!(found(&fixture, session, "cache").await, ["e1"]);
    assert_eq!(found(&fixture, session, "CACHE path").await, ["e1"]);
    assert_eq!(found(&fixture, session, "zebra").await, ["call"]);
    assert_eq!(found(&fixture, session, "ärger").await, ["result"]);
    assert_eq!(found(&fixture, session, "cach").await, NONE);
    assert_eq!(found(&fixture, session, "giraffe").await, NONE);
    let hit = hits(&fixture, session, "Keyed").await.remove(0);
    assert_eq!((hit.session, hit.seq.0, hit.id.as_str(), hit.kind), (session, 1, "e1", EntryKind::User));
    assert_eq!(hit.snippet, "The Cache is keyed by path");
}

async fn names(fixture: Fixture) {
    let texts = ["see src/parser.rs:12", "the rs of parser in src", "max_tokens = 4", "tokens at max", "E0308 at f00d"];
    let session = session_of(&fixture, "a", &texts).await;
    assert_eq!(found(&fixture, session, "src/parser.rs").await, ["e1"]);
    assert_eq!(found(&fixture, session, "max_tokens").await, ["e3"]);
    assert_eq!(found(&fixture, session, "src parser rs").await, ["e1", "e2"]);
    assert_eq!(found(&fixture, session, "e0308").await, ["e5"]);
}

async fn dense(fixture: Fixture) {
    let texts =
        ["缓存按内容键控，必须一致", "ポートは8080を使うこと", "캐시가 만료되었습니다", "存缓 とーポ", "𠮷野家"];
    let session = session_of(&fixture, "a", &texts).await;
    for (query, expected) in [
        ("缓存", vec!["e1"]),
        ("按内容键", vec!["e1"]),
        ("键", vec!["e1"]),
        ("控", vec!["e1"]),
        ("控必", vec![]),
        ("存缓", vec!["e4"]),
        ("ポート", vec!["e2"]),
        ("を使う", vec!["e2"]),
        ("8080", vec!["e2"]),
        ("만료", vec!["e3"]),
        ("시가", vec!["e3"]),
        ("되었", vec!["e3"]),
        ("缓存 一致", vec!["e1"]),
        ("ポートは8080", vec!["e2"]),
        ("𠮷野", vec!["e5"]),
    ] {
        assert_eq!(found(&fixture, session, query).await, expected, "{query}");
    }
    assert!(hits(&fixture, session, "内容").await[0].snippet.contains("按内容键控"));
}

async fn all_words(fixture: Fixture) {
    let session = session_of(&fixture, "a", &["red apple", "green apple", "red pear", "blue plum"]).await;
    assert_eq!(found(&fixture, session, "red apple").await, ["e1"]);
    assert_eq!(found(&fixture, session, "green pear").await, ["e2", "e3"]);
    assert_eq!(found(&fixture, session, "plum giraffe").await, ["e4"]);
}

async fn best_first(fixture: Fixture) {
    let long = format!("zebra {}", "other words ".repeat(60));
    let filler = "nothing here at all";
    let texts = [long.as_str(), filler, "zebra zebra zebra", filler, "zebra once in this text", filler, filler, filler];
    let session = session_of(&fixture, "a", &texts).await;
    let best = hits(&fixture, session, "zebra").await;
    assert_eq!(best.iter().map(|hit| hit.id.as_str()).collect::<Vec<_>>(), ["e3", "e5", "e1"]);
    assert!(best.windows(2).all(|pair| pair[0].score >= pair[1].score), "{best:?}");
    let search = |limit| fixture.store.search(Search::new(session, "zebra").with_limit(limit));
    assert_eq!(search(2).await.unwrap().hits, best[..2]);
    assert_eq!(search(0).await.unwrap().hits, []);
}

async fn stays(fixture: Fixture) {
    let session = session_of(&fixture, "a", &["the zebra", "the lion", "the okapi"]).await;
    session_of(&fixture, "b", &["another zebra"]).await;
    let lease = fixture.lease(session).await;
    let commit = fixture.compaction(session, &lease).await;
    fixture.commit(session, "c1", commit).await.unwrap();
    let leaf = LogBody::Leaf(Leaf { to: Some(EntryId::new("e1")), compaction: None });
    fixture.store.append(session, vec![fixture.other("leaf", leaf)]).await.unwrap();
    assert_eq!(found(&fixture, session, "zebra").await, ["e1"]);
    assert_eq!(found(&fixture, session, "okapi").await, ["e3"]);
    let everywhere = fixture.store.search(Search::everywhere("zebra")).await.unwrap();
    assert_eq!(everywhere.hits.len(), 2);
}

async fn only_words(fixture: Fixture) {
    let session = session_of(&fixture, "a", &["one and two or not three", "words: near"]).await;
    for query in ["", "   ", "\"", "*", "()", "- ^ :", "\0", "\u{301}"] {
        assert_eq!(found(&fixture, session, query).await, NONE, "{query:?}");
    }
    assert_eq!(found(&fixture, session, "one AND three").await, ["e1"]);
    assert_eq!(found(&fixture, session, "NOT three").await, ["e1"]);
    assert_eq!(found(&fixture, session, "words:near \"*").await, ["e2"]);
    let long = "word ".repeat(5_000) + &"x".repeat(100_000);
    found(&fixture, session, &long).await;
}

async fn anew(fixture: Fixture) {
    let session = fixture.session("a").await;
    fixture.fill(session, 30).await;
    assert_eq!(found(&fixture, session, "17").await, ["e17"]);
    fixture.store.reset_index().await.unwrap();
    let mut steps = 0;
    while fixture.store.index_pending(7).await.unwrap().pending > 0 {
        steps += 1;
        assert!(steps <= 30, "no progress");
    }
    assert_eq!(found(&fixture, session, "17").await, ["e17"], "once, not twice");
    fixture.fill(session, 1).await;
    assert_eq!(found(&fixture, session, "31").await, ["e31"], "the newest is found at once");
}
