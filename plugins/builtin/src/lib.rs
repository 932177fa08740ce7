//! The strategies that ship with ContextEngine, compiled into the program.
//!
//! For programs that must work without a folder of plugins beside them, like `ctxe`. What is embedded are
//! ordinary components: they are loaded, limited and checked like anybody else's.
//!
//! ```
//! for name in contextengine_builtin::names() {
//!     let component = contextengine_builtin::component(name).unwrap_or_default();
//!     assert!(component.starts_with(b"\0asm"), "{name} is no WebAssembly");
//! }
//! ```
//!
//! Assumes that the plugins were compiled before this crate: `cargo xtask components` in a checkout; a published
//! crate brings them. A debug build without them embeds none, with a warning; a release build fails. `build.rs`
//! says where they are looked for and why it does not compile them itself.
#![deny(missing_docs)]

/// Name and component, sorted by name; written by `build.rs`.
static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The compiled component of a strategy, like `regex-anchors`; `None` where none of this name is embedded.
pub fn component(name: &str) -> Option<&'static [u8]> {
    EMBEDDED.iter().find(|(known, _)| *known == name).map(|(_, component)| *component)
}

/// The names of the embedded strategies, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First bytes of a component: the magic number, then version 13 in layer 1 (a core module is layer 0).
    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

    #[test]
    fn every_name_gives_a_component_and_no_other_name_does() {
        for name in names() {
            assert!(component(name).is_some_and(|bytes| bytes.starts_with(COMPONENT)), "{name}");
        }
        assert_eq!(component("no-such-strategy"), None);
        assert_eq!(component(""), None);
    }

    #[test]
    fn names_are_sorted_and_no_test_guest_is_among_them() {
        assert!(names().is_sorted());
        assert!(!names().any(|name| name.contains("guest") || name.contains("wasip2")));
    }

    /// Only `cargo xtask` and CI say where the components are; then they must have been built.
    #[test]
    fn the_plugins_of_the_checkout_are_embedded_when_they_were_built() {
        if option_env!("CTXE_COMPONENTS").is_some() {
            assert!(component("regex-anchors").is_some(), "only these are embedded: {:?}", names().collect::<Vec<_>>());
        }
    }
}
