//! JSON by slices: what is read is decoded, what is written back is the slice itself.
//!
//! Nothing here recurses into a value, so depth of nesting costs nothing and cannot overflow. A lone surrogate escape,
//! which no Rust string can hold, is read as U+FFFD; its slice is untouched.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON object whose values are slices of the input.
#[derive(Debug)]
pub(super) struct Object<'a> {
    fields: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// The object that `text` is as a whole; `None` for anything else.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The object that a value is.
    pub(super) fn of(raw: &'a RawValue) -> Option<Self> {
        raw.get().starts_with('{').then(|| Self::parse(raw.get())).flatten()
    }

    /// The value of a field. Where a name repeats, the last counts, as in JavaScript.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.fields.iter().rev().find(|(field, _)| field == name).map(|(_, value)| *value)
    }

    /// The value of a field, unless it is `null`.
    pub(super) fn some(&self, name: &str) -> Option<&'a RawValue> {
        self.get(name).filter(|value| value.get() != "null")
    }

    /// The value of a field that is a string.
    pub(super) fn str(&self, name: &str) -> Option<Cow<'a, str>> {
        string(self.get(name)?)
    }

    /// The value of a field that is an object.
    pub(super) fn object(&self, name: &str) -> Option<Object<'a>> {
        Self::of(self.get(name)?)
    }

    /// The elements of a field that is an array.
    pub(super) fn array(&self, name: &str) -> Option<Vec<&'a RawValue>> {
        array(self.get(name)?)
    }

    /// The field is `true`.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.get() == "true")
    }

    /// The value of a field that is a number, cut to a whole one.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        let raw = self.get(name)?.get();
        // `as` saturates, which is what a nonsensical number deserves.
        raw.parse::<i64>().ok().or_else(|| raw.parse::<f64>().ok().map(|number| number as i64))
    }

    /// The fields in order; names may repeat.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.fields.iter().map(|(name, value)| (name.as_ref(), *value))
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some((Str(name), value)) = map.next_entry::<Str<'de>, &'de RawValue>()? {
                    fields.push((name, value));
                }
                Ok(Object { fields })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// A string that may hold lone surrogates.
struct Str<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Str<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Str<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Str<'de>, E> {
                Ok(Str(match std::str::from_utf8(bytes) {
                    Ok(text) => Cow::Borrowed(text),
                    Err(_) => Cow::Owned(without_surrogates(bytes)),
                }))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Owned(without_surrogates(bytes))))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// Text of bytes in which surrogates may be encoded as if they were characters.
fn without_surrogates(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut clean = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, tail)) = rest.split_first() {
        // U+D800 to U+DFFF: ED, A0 to BF, one more. U+FFFD takes three bytes as well.
        if first == 0xED && tail.first().is_some_and(|second| *second >= 0xA0) && tail.len() >= 2 {
            clean.extend_from_slice("\u{FFFD}".as_bytes());
            rest = &tail[2..];
        } else {
            clean.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&clean).into_owned()
}

/// The text of a JSON string.
pub(super) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let text = raw.get();
    if !text.starts_with('"') {
        return None;
    }
    serde_json::from_str::<Str<'_>>(text).ok().map(|string| string.0)
}

/// The elements of a JSON array.
pub(super) fn array(raw: &RawValue) -> Option<Vec<&RawValue>> {
    raw.get().starts_with('[').then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

/// Where `part` stands in `whole`, of which it is a slice.
pub(super) fn range_in(whole: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    start..start + part.len()
}

/// A JSON string that says `text`.
pub(super) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// `json` on one line. Line breaks in valid JSON stand between tokens only.
pub(super) fn on_one_line(json: &str) -> String {
    json.trim().replace(['\n', '\r'], " ")
}

/// The text is one JSON value.
pub(super) fn is_valid(json: &str) -> bool {
    serde_json::from_str::<&RawValue>(json).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;

    #[test]
    fn a_lone_surrogate_is_read_as_the_replacement_character() {
        let object = Object::parse(r#"{"a":"x\ud800y","b":"\ud83d\ude00","c":"\udfff"}"#).unwrap();
        assert_eq!(object.str("a").unwrap(), "x\u{FFFD}y");
        assert_eq!(object.str("b").unwrap(), "😀");
        assert_eq!(object.str("c").unwrap(), "\u{FFFD}");
    }

    #[test]
    fn nesting_has_no_limit() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(Object::parse(&deep).unwrap().get("a").is_some());
    }

    #[test]
    fn the_last_of_repeated_names_counts() {
        assert_eq!(Object::parse(r#"{"a":1,"a":2}"#).unwrap().number("a"), Some(2));
    }

    #[test]
    fn a_slice_knows_its_place() {
        let text = r#"{"a": [1, 2]}"#;
        let object = Object::parse(text).unwrap();
        assert_eq!(range_in(text, object.get("a").unwrap().get()), 6..12);
    }
}
