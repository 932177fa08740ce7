//! Where the type of a function differs from the plugin API.
//!
//! The engine compares types too, and has the last word; this finds the place, before anything is compiled. Only as
//! much of a plugin's type is looked at as the API's own type is deep, so a plugin cannot make it long.

use wasmparser::component_types::{ComponentDefinedType, ComponentFuncType, ComponentValType};
use wasmparser::types::Types;

/// A type, and the component that it is from.
#[derive(Clone, Copy)]
struct Of<'a, T>(&'a Types, T);

/// The first place where a function of a plugin differs from that of the host, as in `result.reason`.
pub(super) fn difference(plugin: (&Types, &ComponentFuncType), host: (&Types, &ComponentFuncType)) -> Option<String> {
    let ((plugin_types, plugin), (host_types, host)) = (plugin, host);
    if plugin.async_ != host.async_ {
        return Some("whether it is asynchronous".to_owned());
    }
    if plugin.params.len() != host.params.len() {
        return Some(format!("its {} parameters, which should be {}", plugin.params.len(), host.params.len()));
    }
    for ((_, theirs), (name, ours)) in plugin.params.iter().zip(&host.params) {
        if let Some(place) = value(Of(plugin_types, *theirs), Of(host_types, *ours)) {
            return Some(format!("{name}{place}"));
        }
    }
    optional(Of(plugin_types, plugin.result), Of(host_types, host.result)).map(|place| format!("result{place}"))
}

/// Where two optional types differ; the empty path is here.
fn optional(plugin: Of<'_, Option<ComponentValType>>, host: Of<'_, Option<ComponentValType>>) -> Option<String> {
    match (plugin.1, host.1) {
        (None, None) => None,
        (Some(theirs), Some(ours)) => value(Of(plugin.0, theirs), Of(host.0, ours)),
        _ => Some(String::new()),
    }
}

fn value(plugin: Of<'_, ComponentValType>, host: Of<'_, ComponentValType>) -> Option<String> {
    match (resolve(plugin), resolve(host)) {
        (Some(theirs), Some(ours)) => defined(Of(plugin.0, theirs), Of(host.0, ours)),
        // One primitive type, written in two ways or not.
        (None, None) => (primitive(plugin) != primitive(host)).then(String::new),
        _ => Some(String::new()),
    }
}

/// What a type is made of; none for a primitive one.
fn resolve(of: Of<'_, ComponentValType>) -> Option<&ComponentDefinedType> {
    match of.1 {
        ComponentValType::Primitive(_) => None,
        ComponentValType::Type(id) => match &of.0[id] {
            ComponentDefinedType::Primitive(_) => None,
            other => Some(other),
        },
    }
}

fn primitive(of: Of<'_, ComponentValType>) -> Option<wasmparser::PrimitiveValType> {
    match of.1 {
        ComponentValType::Primitive(primitive) => Some(primitive),
        ComponentValType::Type(id) => match &of.0[id] {
            ComponentDefinedType::Primitive(primitive) => Some(*primitive),
            _ => None,
        },
    }
}

fn defined(plugin: Of<'_, &ComponentDefinedType>, host: Of<'_, &ComponentDefinedType>) -> Option<String> {
    use ComponentDefinedType as D;
    let (p, h) = (plugin.0, host.0);
    let here = |same: bool| (!same).then(String::new);
    let inner = |theirs: ComponentValType, ours: ComponentValType| value(Of(p, theirs), Of(h, ours));
    match (plugin.1, host.1) {
        (D::Record(theirs), D::Record(ours)) => named(
            theirs.fields.iter().map(|(name, ty)| (name.as_str(), Some(*ty))),
            ours.fields.iter().map(|(name, ty)| (name.as_str(), Some(*ty))),
            (p, h),
        ),
        (D::Variant(theirs), D::Variant(ours)) => named(
            theirs.cases.iter().map(|(name, case)| (name.as_str(), case.ty)),
            ours.cases.iter().map(|(name, case)| (name.as_str(), case.ty)),
            (p, h),
        ),
        (D::Flags(theirs), D::Flags(ours)) | (D::Enum(theirs), D::Enum(ours)) => here(theirs.iter().eq(ours.iter())),
        (D::Tuple(theirs), D::Tuple(ours)) if theirs.types.len() == ours.types.len() => {
            theirs.types.iter().zip(&ours.types).find_map(|(theirs, ours)| inner(*theirs, *ours))
        }
        (D::List { element: theirs, .. }, D::List { element: ours, .. })
        | (D::Option { ty: theirs, .. }, D::Option { ty: ours, .. }) => inner(*theirs, *ours),
        (D::Result { ok, err, .. }, D::Result { ok: our_ok, err: our_err, .. }) => {
            let ok = optional(Of(p, *ok), Of(h, *our_ok)).map(|place| format!(".ok{place}"));
            ok.or_else(|| optional(Of(p, *err), Of(h, *our_err)).map(|place| format!(".err{place}")))
        }
        // The API has one resource; whether it is that one, the engine finds out.
        (D::Own(_), D::Own(_)) | (D::Borrow(_), D::Borrow(_)) => None,
        _ => Some(String::new()),
    }
}

/// Where fields or cases differ: the same names in the same order, each with the same type.
fn named<'a>(
    theirs: impl ExactSizeIterator<Item = (&'a str, Option<ComponentValType>)>,
    ours: impl ExactSizeIterator<Item = (&'a str, Option<ComponentValType>)>,
    (plugin, host): (&Types, &Types),
) -> Option<String> {
    if theirs.len() != ours.len() {
        return Some(String::new());
    }
    theirs.zip(ours).find_map(|((name, theirs), (our_name, ours))| {
        if name != our_name {
            return Some(String::new());
        }
        optional(Of(plugin, theirs), Of(host, ours)).map(|place| format!(".{our_name}{place}"))
    })
}
