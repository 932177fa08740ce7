//! The plugin ABI as Rust types and traits, generated from `wit/`.
//!
//! The world has every hook; a plugin exports some of them. So the generated struct of the whole world is not used:
//! each exported interface is looked up by itself, where it is there.
#![allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    unused_qualifications,
    dead_code,
    elided_lifetimes_in_paths,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code; the wrapper of each typed function is built without a second check of its type"
)]

wasmtime::component::bindgen!({
    path: "wit",
    world: "everything",
    imports: {
        "contextengine:plugin/model": async | trappable,
        "contextengine:plugin/state": async | trappable,
        "contextengine:plugin/recall": async | trappable,
        "contextengine:plugin/files": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    with: { "contextengine:plugin/types.view": crate::view::View },
    include_component_type: true,
});
