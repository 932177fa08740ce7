#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::check;

/// What is wrong, one a line.
fn wrong(schema: &Json, value: &Json) -> String {
    let found = check(&schema.to_string(), value).unwrap();
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_keyword_judges_as_the_standard_says() {
    for (schema, right, not) in [
        (json!(true), json!(1), None),
        (json!({ "type": "integer" }), json!(1.0), Some(json!(1.5))),
        (json!({ "type": ["string", "null"] }), json!(null), Some(json!(1))),
        (json!({ "type": "number" }), json!(1), Some(json!("1"))),
        (json!({ "const": 1 }), json!(1.0), Some(json!(true))),
        (json!({ "enum": ["a", { "b": [1] }] }), json!({ "b": [1.0] }), Some(json!("b"))),
        (json!({ "minimum": 1, "maximum": 2 }), json!(2), Some(json!(3))),
        (json!({ "exclusiveMinimum": 1 }), json!(1.1), Some(json!(1))),
        (json!({ "exclusiveMaximum": 1 }), json!(0), Some(json!(1))),
        (
            json!({ "maximum": 9_007_199_254_740_992_i64 }),
            json!(9_007_199_254_740_992_i64),
            Some(json!(9_007_199_254_740_993_i64)),
        ),
        (json!({ "multipleOf": 0.1 }), json!(0.3), Some(json!(0.35))),
        (json!({ "minLength": 2, "maxLength": 3 }), json!("äöü"), Some(json!("ä"))),
        (json!({ "pattern": "b+" }), json!("abc"), Some(json!("ac"))),
        (json!({ "minItems": 1, "maxItems": 2 }), json!([1]), Some(json!([]))),
        (json!({ "uniqueItems": true }), json!([1, "1"]), Some(json!([[1], [1]]))),
        (json!({ "items": { "type": "string" } }), json!(["a"]), Some(json!(["a", 1]))),
        (json!({ "prefixItems": [{ "type": "string" }], "items": false }), json!(["a"]), Some(json!(["a", 1]))),
        (json!({ "items": [{ "type": "string" }], "additionalItems": false }), json!(["a"]), Some(json!(["a", 1]))),
        (json!({ "contains": { "const": 1 }, "maxContains": 1 }), json!([0, 1]), Some(json!([1, 1]))),
        (json!({ "required": ["a"] }), json!({ "a": null }), Some(json!({}))),
        (json!({ "minProperties": 1, "maxProperties": 1 }), json!({ "a": 1 }), Some(json!({}))),
        (json!({ "propertyNames": { "pattern": "^a" } }), json!({ "ab": 1 }), Some(json!({ "b": 1 }))),
        (
            json!({ "patternProperties": { "^a": { "type": "string" } }, "additionalProperties": false }),
            json!({ "a1": "x" }),
            Some(json!({ "b": 1 })),
        ),
        (json!({ "additionalProperties": { "type": "string" } }), json!({ "a": "x" }), Some(json!({ "a": 1 }))),
        (json!({ "dependentRequired": { "a": ["b"] } }), json!({ "b": 1 }), Some(json!({ "a": 1 }))),
        (
            json!({ "dependentSchemas": { "a": { "maxProperties": 1 } } }),
            json!({ "a": 1 }),
            Some(json!({ "a": 1, "b": 2 })),
        ),
        (json!({ "allOf": [{ "minimum": 1 }, { "maximum": 2 }] }), json!(1), Some(json!(3))),
        (json!({ "anyOf": [{ "type": "string" }, { "minimum": 5 }] }), json!(5), Some(json!(4))),
        (json!({ "oneOf": [{ "minimum": 1 }, { "maximum": 2 }] }), json!(3), Some(json!(1))),
        (json!({ "not": { "type": "string" } }), json!(1), Some(json!("a"))),
        (json!({ "if": { "const": 1 }, "then": true, "else": { "type": "string" } }), json!("a"), Some(json!(2))),
        (json!({ "$ref": "#/$defs/a%2Fb~1c", "$defs": { "a/b/c": { "type": "string" } } }), json!("x"), None),
        (json!({ "$ref": "#/$defs/n", "$defs": { "n": { "type": "string" } } }), json!("x"), Some(json!(1))),
        (json!({ "$ref": "#n", "$defs": { "x": { "$anchor": "n", "type": "string" } } }), json!("x"), Some(json!(1))),
        (
            json!({ "$ref": "#/definitions/n", "definitions": { "n": { "type": "string" } } }),
            json!("x"),
            Some(json!(1)),
        ),
        // What is not judged.
        (
            json!({ "format": "email", "unevaluatedProperties": false, "$ref": "https://example.com/schema" }),
            json!({ "a": 1 }),
            None,
        ),
    ] {
        assert_eq!(wrong(&schema, &right), "", "{schema} {right}");
        if let Some(not) = not {
            assert_ne!(wrong(&schema, &not), "", "{schema} {not}");
        }
    }
    assert_eq!(wrong(&json!(false), &json!(null)), "nothing may stand here");
}

#[test]
fn what_is_wrong_is_said_with_the_way_to_it_and_what_would_be_right() {
    let rule = json!({ "type": "object", "required": ["name"], "additionalProperties": false,
        "properties": { "name": { "type": "string" }, "cap": { "type": "integer", "minimum": 0 } } });
    let schema = json!({ "type": "object", "additionalProperties": false, "properties": {
        "rules": { "type": "array", "items": rule }, "preset": { "enum": ["pi", "codex"] },
        "at": { "anyOf": [{ "type": "integer" }, { "type": "string" }] } } });
    for (value, expected) in [
        (json!({ "rulse": [] }), "`rulse`: there is no key `rulse`; did you mean `rules`?"),
        (json!({ "xyz": [] }), "`xyz`: there is no key `xyz`; there are `rules`, `preset`, `at`"),
        (json!({ "rules": [{}] }), "`rules[0]`: the key `name` is missing"),
        (json!({ "rules": [{ "name": "a", "cap": -1 }] }), "`rules[0].cap`: -1 is out of range; at least 0"),
        (json!({ "rules": {} }), "`rules`: this takes a list, and a table stands here"),
        (json!({ "preset": "codx" }), "`preset`: this takes \"pi\" or \"codex\"; did you mean \"codex\"?"),
        (json!({ "at": true }), "`at`: this takes a whole number or a text, and true stands here"),
        (json!([]), "this takes a table, and a list stands here"),
    ] {
        assert_eq!(wrong(&schema, &value), expected, "{value}");
    }
}

/// The form that was meant is the one that the value goes into the furthest.
#[test]
fn of_several_forms_the_nearest_one_is_spoken_of() {
    let form = |kind: &str, key: &str| {
        json!({ "type": "object", "properties": { "kind": { "const": kind }, "in": { "type": "object",
            "properties": { key: { "type": "integer" } }, "additionalProperties": false } }, "required": ["kind"] })
    };
    let schema = json!({ "oneOf": [form("a", "x"), form("b", "y"), { "type": "string" }] });
    assert_eq!(
        wrong(&schema, &json!({ "kind": "a", "in": { "x": "1" } })),
        "`in.x`: this takes a whole number, and a text stands here"
    );
}

#[test]
fn an_empty_schema_takes_anything_and_what_is_none_is_an_error() {
    assert!(check("", &json!({ "a": 1 })).unwrap().is_empty());
    assert!(check(" \n", &json!({})).unwrap().is_empty());
    for schema in ["{", "1", "[]", "\"x\"", "null"] {
        assert!(check(schema, &json!({})).is_err(), "{schema}");
    }
}

/// Schemas that would keep a validator busy for ever, or exhaust its stack.
#[test]
fn a_hostile_schema_ends_in_time_and_is_left_to_the_plugin() {
    let mut doubling = serde_json::Map::new();
    for level in 0..60 {
        let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
        doubling.insert(format!("l{level}"), json!({ "anyOf": [{ "allOf": [next, next, { "const": 0 }] }, next] }));
    }
    doubling.insert("l60".to_owned(), json!({ "const": 0 }));
    let nested = |open: &str, close: &str| format!("{}true{}", open.repeat(120), close.repeat(120));
    let started = Instant::now();
    for schema in [
        json!({ "$ref": "#" }).to_string(),
        json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }] }).to_string(),
        json!({ "not": { "$ref": "#" } }).to_string(),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } })
            .to_string(),
        json!({ "$ref": "#/$defs/l0", "$defs": doubling }).to_string(),
        json!({ "pattern": "(a{0,1000}){0,1000}" }).to_string(),
        json!({ "properties": { "a": { "pattern": "(a+)+$" } } }).to_string(),
        nested("{\"not\":", "}"),
        nested("{\"allOf\":[", "]}"),
    ] {
        for value in [json!({ "a": "a".repeat(10_000) + "!" }), json!("a".repeat(10_000) + "!"), json!(1)] {
            let _ = check(&schema, &value);
        }
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    // Deeper than a JSON text may be is no JSON.
    assert!(check(&format!("{}true{}", "{\"not\":".repeat(10_000), "}".repeat(10_000)), &json!(1)).is_err());
}

#[test]
fn nothing_is_refused_that_was_not_judged_to_the_end() {
    // The first key is wrong, and then there are more steps than there may be.
    let many: Vec<Json> = (0..200_000).map(|n| json!(n)).collect();
    let schema = json!({ "properties": { "a": { "type": "string" } }, "additionalProperties": { "items": { "type": "integer" } } });
    assert_eq!(wrong(&schema, &json!({ "a": 1, "b": many })), "");
}
