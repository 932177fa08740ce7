//! Walks schema and value together.

use std::cmp::Ordering;
use std::collections::HashSet;

use regex::RegexBuilder;
use serde_json::{Map, Number, Value as Json};

use super::words::{either, short, type_words, what};
use super::{Step, Violation};
use crate::alike::nearest;

/// Steps that one check may take: each is a keyword, or a value that one looks at. The largest schema of a plugin that
/// was looked at takes some hundred.
const STEPS: u32 = 100_000;
/// Steps that a pattern costs: it has to be compiled.
const PATTERN_STEPS: u32 = 500;
/// Bytes that a compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;
/// Schemas within schemas, followed through references.
const DEPTH: u32 = 100;
/// Violations that are reported; nobody reads more.
const MOST: usize = 20;

/// It took too many steps, or went too deep. What was found until then counts.
struct GaveUp;

type Checked = Result<(), GaveUp>;

pub(super) fn check(schema: &Json, value: &Json) -> Vec<Violation> {
    let mut checker = Checker { root: schema, steps: STEPS, depth: 0 };
    let mut found = Found { path: Vec::new(), violations: Vec::new() };
    if checker.check(schema, value, &mut found).is_err() {
        // Some of it may come of an alternative that was not finished; the plugin judges by itself.
        return Vec::new();
    }
    found.violations
}

struct Found {
    path: Vec<Step>,
    violations: Vec<Violation>,
}

impl Found {
    fn wrong(&mut self, reason: impl Into<String>) {
        self.push(reason.into(), false);
    }

    /// The key that the path ends with is wrong.
    fn wrong_key(&mut self, reason: String) {
        self.push(reason, true);
    }

    fn push(&mut self, reason: String, is_key: bool) {
        if self.violations.len() < MOST {
            self.violations.push(Violation { path: self.path.clone(), is_key, reason });
        }
    }

    /// The same place, with nothing found yet.
    fn apart(&self) -> Self {
        Self { path: self.path.clone(), violations: Vec::new() }
    }
}

struct Checker<'s> {
    root: &'s Json,
    steps: u32,
    depth: u32,
}

impl<'s> Checker<'s> {
    fn step(&mut self, steps: u32) -> Checked {
        self.steps = self.steps.checked_sub(steps).ok_or(GaveUp)?;
        Ok(())
    }

    fn check(&mut self, schema: &'s Json, value: &Json, found: &mut Found) -> Checked {
        self.step(1)?;
        if self.depth >= DEPTH {
            return Err(GaveUp);
        }
        self.depth += 1;
        let checked = match schema {
            Json::Bool(false) => {
                found.wrong("nothing may stand here");
                Ok(())
            }
            Json::Object(schema) => self.object_schema(schema, value, found),
            _ => Ok(()),
        };
        self.depth -= 1;
        checked
    }

    fn object_schema(&mut self, schema: &'s Map<String, Json>, value: &Json, found: &mut Found) -> Checked {
        self.step(u32::try_from(schema.len()).unwrap_or(u32::MAX))?;
        if let Some(target) = schema.get("$ref").and_then(Json::as_str).and_then(|target| self.resolve(target)) {
            self.check(target, value, found)?;
        }
        if !is_of_type(schema.get("type"), value) {
            let names = match schema.get("type") {
                Some(Json::Array(names)) => {
                    names.iter().filter_map(Json::as_str).map(|n| type_words(n).to_owned()).collect()
                }
                Some(Json::String(name)) => vec![type_words(name).to_owned()],
                _ => Vec::new(),
            };
            found.wrong(format!("this takes {}, and {} stands here", either(&names), what(value)));
            // Whatever else is said of another type would only repeat that.
            return Ok(());
        }
        self.fixed(schema, value, found);
        match value {
            Json::Number(number) => range(schema, number, found),
            Json::String(text) => self.text(schema, text, found)?,
            Json::Array(items) => self.list(schema, items, found)?,
            Json::Object(table) => self.table(schema, table, found)?,
            _ => {}
        }
        self.combined(schema, value, found)
    }

    /// A reference within the schema: a pointer, or an anchor of a definition.
    fn resolve(&self, target: &str) -> Option<&'s Json> {
        let fragment = target.strip_prefix('#')?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&decoded(fragment));
        }
        let of = |key: &str| self.root.get(key).and_then(Json::as_object);
        let definitions = of("$defs").into_iter().chain(of("definitions")).flat_map(Map::values);
        definitions.into_iter().find(|schema| schema.get("$anchor").and_then(Json::as_str) == Some(fragment))
    }

    fn fixed(&self, schema: &Map<String, Json>, value: &Json, found: &mut Found) {
        if let Some(only) = schema.get("const").filter(|only| !same(only, value)) {
            found.wrong(format!("this takes {} only", short(only)));
        }
        let Some(Json::Array(allowed)) = schema.get("enum") else { return };
        if allowed.iter().any(|allowed| same(allowed, value)) {
            return;
        }
        let near = value.as_str().and_then(|text| nearest(text, allowed.iter().filter_map(Json::as_str)));
        let hint = near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
        let all: Vec<String> = allowed.iter().take(MOST).map(short).collect();
        found.wrong(format!("this takes {}{hint}", either(&all)));
    }

    fn text(&mut self, schema: &Map<String, Json>, text: &str, found: &mut Found) -> Checked {
        let length = text.chars().count() as u64;
        size(schema, ["minLength", "maxLength"], length, "characters", found);
        if let Some(pattern) = schema.get("pattern").and_then(Json::as_str)
            && self.matches(pattern, text)? == Some(false)
        {
            found.wrong(format!("this is not of the form `{pattern}`"));
        }
        Ok(())
    }

    /// Whether a pattern is in a text; not known for a pattern that is not one here.
    fn matches(&mut self, pattern: &str, text: &str) -> Result<Option<bool>, GaveUp> {
        self.step(PATTERN_STEPS)?;
        let compiled = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES).build();
        Ok(compiled.ok().map(|pattern| pattern.is_match(text)))
    }

    fn list(&mut self, schema: &'s Map<String, Json>, items: &[Json], found: &mut Found) -> Checked {
        size(schema, ["minItems", "maxItems"], items.len() as u64, "items", found);
        let (first, rest) = match (schema.get("prefixItems"), schema.get("items")) {
            (Some(Json::Array(first)), rest) => (first.as_slice(), rest),
            // Draft 7.
            (None, Some(Json::Array(first))) => (first.as_slice(), schema.get("additionalItems")),
            (_, rest) => (&[][..], rest),
        };
        for (at, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(at).or(rest) {
                found.path.push(Step::Item(at));
                let checked = self.check(schema, item, found);
                found.path.pop();
                checked?;
            }
        }
        if schema.get("uniqueItems") == Some(&Json::Bool(true)) {
            let mut seen = HashSet::new();
            if let Some(twice) = items.iter().find(|item| !seen.insert(item.to_string())) {
                found.wrong(format!("{} is there twice", short(twice)));
            }
        }
        let Some(wanted) = schema.get("contains") else { return Ok(()) };
        let mut count = 0;
        for item in items {
            let mut apart = found.apart();
            self.check(wanted, item, &mut apart)?;
            count += u64::from(apart.violations.is_empty());
        }
        let least = schema.get("minContains").and_then(Json::as_u64).unwrap_or(1);
        let most = schema.get("maxContains").and_then(Json::as_u64).unwrap_or(u64::MAX);
        if count < least || count > most {
            found.wrong(format!("{count} items of this list are of the kind that the schema asks for in it"));
        }
        Ok(())
    }

    fn table(&mut self, schema: &'s Map<String, Json>, table: &Map<String, Json>, found: &mut Found) -> Checked {
        size(schema, ["minProperties", "maxProperties"], table.len() as u64, "keys", found);
        if let Some(Json::Array(required)) = schema.get("required") {
            self.required(required, table, found)?;
        }
        for (name, needed) in schema.get("dependentRequired").and_then(Json::as_object).into_iter().flatten() {
            if let (true, Json::Array(needed)) = (table.contains_key(name), needed) {
                self.required(needed, table, found)?;
            }
        }
        let none = Map::new();
        let properties = schema.get("properties").and_then(Json::as_object);
        let patterns = schema.get("patternProperties").and_then(Json::as_object).unwrap_or(&none);
        for (name, value) in table {
            self.step(1)?;
            let mut known = false;
            found.path.push(Step::Name(name.clone()));
            let own = properties.and_then(|properties| properties.get(name));
            if let Some(schema) = own {
                known = true;
                self.check(schema, value, found)?;
            }
            // Borrowed from the schema, so that it lives as long.
            if let Some(Json::Object(of_patterns)) = schema.get("patternProperties") {
                for (pattern, schema) in of_patterns {
                    match self.matches(pattern, name)? {
                        Some(true) => {
                            known = true;
                            self.check(schema, value, found)?;
                        }
                        Some(false) => {}
                        // A pattern that cannot be judged may mean this name.
                        None => known = true,
                    }
                }
            }
            match schema.get("additionalProperties") {
                Some(Json::Bool(false)) if !known => unknown(name, properties, patterns, found),
                Some(schema) if !known => self.check(schema, value, found)?,
                _ => {}
            }
            if let Some(names) = schema.get("propertyNames") {
                let mut apart = found.apart();
                self.check(names, &Json::from(name.as_str()), &mut apart)?;
                for violation in apart.violations {
                    found.wrong_key(violation.reason);
                }
            }
            found.path.pop();
        }
        for (name, schema) in schema.get("dependentSchemas").and_then(Json::as_object).into_iter().flatten() {
            if table.contains_key(name) {
                self.check(schema, &Json::Object(table.clone()), found)?;
            }
        }
        Ok(())
    }

    fn required(&mut self, names: &[Json], table: &Map<String, Json>, found: &mut Found) -> Checked {
        for name in names.iter().filter_map(Json::as_str) {
            self.step(1)?;
            if !table.contains_key(name) {
                found.wrong(format!("the key `{name}` is missing"));
            }
        }
        Ok(())
    }

    fn combined(&mut self, schema: &'s Map<String, Json>, value: &Json, found: &mut Found) -> Checked {
        for part in schema.get("allOf").and_then(Json::as_array).into_iter().flatten() {
            self.check(part, value, found)?;
        }
        if let Some(Json::Array(forms)) = schema.get("anyOf") {
            self.one_of(forms, value, false, found)?;
        }
        if let Some(Json::Array(forms)) = schema.get("oneOf") {
            self.one_of(forms, value, true, found)?;
        }
        if let Some(not) = schema.get("not") {
            let mut apart = found.apart();
            self.check(not, value, &mut apart)?;
            if apart.violations.is_empty() {
                found.wrong(format!("{} is what must not stand here", short(value)));
            }
        }
        if let Some(condition) = schema.get("if") {
            let mut apart = found.apart();
            self.check(condition, value, &mut apart)?;
            let then = if apart.violations.is_empty() { "then" } else { "else" };
            if let Some(schema) = schema.get(then) {
                self.check(schema, value, found)?;
            }
        }
        Ok(())
    }

    /// One of several forms; only one where `exactly`. Where none fits, what is said is about the form that was
    /// probably meant: the one whose violations are deepest inside.
    fn one_of(&mut self, forms: &'s [Json], value: &Json, exactly: bool, found: &mut Found) -> Checked {
        let (mut fits, mut best) = (0_usize, None::<(usize, Vec<Violation>)>);
        let mut types = Vec::new();
        for form in forms {
            let mut apart = found.apart();
            self.check(form, value, &mut apart)?;
            if apart.violations.is_empty() {
                fits += 1;
                if !exactly {
                    return Ok(());
                }
                continue;
            }
            let depth = apart.violations.iter().map(|violation| violation.path.len()).max().unwrap_or(0);
            if !is_of_type(form.get("type"), value) {
                types.extend(form.get("type").and_then(Json::as_str).map(|name| type_words(name).to_owned()));
            } else if best.as_ref().is_none_or(|(known, _)| depth > *known) {
                best = Some((depth, apart.violations));
            }
        }
        match (fits, best) {
            (1, _) => {}
            (0, Some((_, violations))) => {
                let room = MOST.saturating_sub(found.violations.len());
                found.violations.extend(violations.into_iter().take(room));
            }
            (0, None) if types.len() == forms.len() => {
                found.wrong(format!("this takes {}, and {} stands here", either(&types), what(value)));
            }
            (0, None) => found.wrong("this is in none of the forms that the schema allows"),
            _ => found.wrong("this is in more than one of the forms that exclude each other"),
        }
        Ok(())
    }
}

fn unknown(name: &str, properties: Option<&Map<String, Json>>, patterns: &Map<String, Json>, found: &mut Found) {
    let known: Vec<&str> = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() && patterns.is_empty() => "it takes none".to_owned(),
        None if known.is_empty() => {
            let forms: Vec<String> = patterns.keys().map(|pattern| format!("`{pattern}`")).collect();
            format!("keys are of the form {}", either(&forms))
        }
        None => {
            let names: Vec<String> = known.iter().take(MOST).map(|name| format!("`{name}`")).collect();
            let more = if known.len() > MOST { ", …" } else { "" };
            format!("there are {}{more}", names.join(", "))
        }
    };
    let shown: String = name.chars().take(60).collect();
    found.wrong_key(format!("there is no key `{shown}`; {hint}"));
}

fn is_of_type(types: Option<&Json>, value: &Json) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_number().is_some_and(is_whole),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        // Not a type of this standard.
        _ => true,
    };
    match types {
        Some(Json::String(name)) => is(name),
        Some(Json::Array(names)) => names.is_empty() || names.iter().filter_map(Json::as_str).any(is),
        _ => true,
    }
}

fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// Equal as JSON Schema says it: 1 and 1.0 are one number.
fn same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Number(one), Json::Number(other)) => compare(one, other) == Some(Ordering::Equal),
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Json::Object(one), Json::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        _ => one == other,
    }
}

fn compare(one: &Number, other: &Number) -> Option<Ordering> {
    let whole = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

fn range(schema: &Map<String, Json>, number: &Number, found: &mut Found) {
    let bound = |key: &str| schema.get(key).and_then(Json::as_number);
    for (key, refused, words) in [
        ("minimum", &[Ordering::Less][..], "at least"),
        ("exclusiveMinimum", &[Ordering::Less, Ordering::Equal], "more than"),
        ("maximum", &[Ordering::Greater], "at most"),
        ("exclusiveMaximum", &[Ordering::Greater, Ordering::Equal], "less than"),
    ] {
        let Some(bound) = bound(key) else { continue };
        if compare(number, bound).is_some_and(|order| refused.contains(&order)) {
            found.wrong(format!("{number} is out of range; {words} {bound}"));
        }
    }
    let Some(step) = bound("multipleOf").and_then(Number::as_f64).filter(|step| *step > 0.0) else { return };
    // A thousandth is not exact in binary; that must not make 0.3 no multiple of 0.1.
    let times = number.as_f64().map_or(0.0, |number| number / step);
    if (times - times.round()).abs() > 1e-9 * times.abs().max(1.0) {
        found.wrong(format!("{number} is not a multiple of {step}"));
    }
}

fn size(schema: &Map<String, Json>, [least, most]: [&str; 2], size: u64, of: &str, found: &mut Found) {
    let bound = |key: &str| schema.get(key).and_then(Json::as_u64);
    if let Some(least) = bound(least).filter(|least| size < *least) {
        found.wrong(format!("this has {size} {of}; at least {least}"));
    }
    if let Some(most) = bound(most).filter(|most| size > *most) {
        found.wrong(format!("this has {size} {of}; at most {most}"));
    }
}

/// A fragment of a URL without its escapes.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = escaped.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        rest = if byte.is_some() { &after[2..] } else { after };
        bytes.push(byte.unwrap_or(*first));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
