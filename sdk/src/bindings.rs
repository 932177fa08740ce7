//! The generated bindings: one world for what a plugin imports, one more per interface that it can export.
//!
//! Nothing here is for plugin authors. The worlds are private to this crate; they exist so that a plugin exports
//! exactly the interfaces it implements (each has an export macro of its own) while all of them share one set of
//! types (`with`). Unused imports vanish when the component is encoded; an unused export could not.
//!
//! On other targets than WebAssembly the imported functions are `unreachable!()`; only the guest adapters call them,
//! and those only run inside a component.

#![allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unsafe_code,
    unused_qualifications,
    elided_lifetimes_in_paths,
    unused_imports,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::semicolon_if_nothing_returned,
    clippy::needless_pass_by_value,
    clippy::uninlined_format_args,
    clippy::manual_let_else,
    reason = "generated code"
)]

/// What a plugin may import.
pub mod imports {
    wit_bindgen::generate!({
        inline: "
            package contextengine:sdk-imports;
            world contextengine-imports {
                include contextengine:plugin/host@0.1.0;
            }
        ",
        path: "wit",
        world: "contextengine:sdk-imports/contextengine-imports",
        additional_derives: [PartialEq],
        additional_derives_ignore: ["view"],
        generate_all,
        generate_unused_types: true,
    });
}

/// Every plugin exports this one.
pub mod plugin {
    wit_bindgen::generate!({
        inline: "
            package contextengine:sdk-plugin;
            world contextengine-plugin {
                export contextengine:plugin/plugin@0.1.0;
            }
        ",
        path: "wit",
        world: "contextengine:sdk-plugin/contextengine-plugin",
        with: { "contextengine:plugin/types@0.1.0": crate::bindings::imports::contextengine::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_plugin",
        default_bindings_module: "contextengine_sdk::__rt::bindings::plugin",
    });
}

/// Slot `compress`.
pub mod compressor {
    wit_bindgen::generate!({
        inline: "
            package contextengine:sdk-compressor;
            world contextengine-compressor {
                export contextengine:plugin/compressor@0.1.0;
            }
        ",
        path: "wit",
        world: "contextengine:sdk-compressor/contextengine-compressor",
        with: { "contextengine:plugin/types@0.1.0": crate::bindings::imports::contextengine::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_compressor",
        default_bindings_module: "contextengine_sdk::__rt::bindings::compressor",
    });
}

/// Slot `select`.
pub mod selector {
    wit_bindgen::generate!({
        inline: "
            package contextengine:sdk-selector;
            world contextengine-selector {
                export contextengine:plugin/selector@0.1.0;
            }
        ",
        path: "wit",
        world: "contextengine:sdk-selector/contextengine-selector",
        with: { "contextengine:plugin/types@0.1.0": crate::bindings::imports::contextengine::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_selector",
        default_bindings_module: "contextengine_sdk::__rt::bindings::selector",
    });
}

/// Slot `ingest`.
pub mod reducer {
    wit_bindgen::generate!({
        inline: "
            package contextengine:sdk-reducer;
            world contextengine-reducer {
                export contextengine:plugin/reducer@0.1.0;
            }
        ",
        path: "wit",
        world: "contextengine:sdk-reducer/contextengine-reducer",
        with: { "contextengine:plugin/types@0.1.0": crate::bindings::imports::contextengine::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_reducer",
        default_bindings_module: "contextengine_sdk::__rt::bindings::reducer",
    });
}

/// Slot `branch`.
pub mod branch_summarizer {
    wit_bindgen::generate!({
        inline: "
            package contextengine:sdk-branch-summarizer;
            world contextengine-branch-summarizer {
                export contextengine:plugin/branch-summarizer@0.1.0;
            }
        ",
        path: "wit",
        world: "contextengine:sdk-branch-summarizer/contextengine-branch-summarizer",
        with: { "contextengine:plugin/types@0.1.0": crate::bindings::imports::contextengine::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_branch_summarizer",
        default_bindings_module: "contextengine_sdk::__rt::bindings::branch_summarizer",
    });
}

/// Observers.
pub mod observer {
    wit_bindgen::generate!({
        inline: "
            package contextengine:sdk-observer;
            world contextengine-observer {
                export contextengine:plugin/observer@0.1.0;
            }
        ",
        path: "wit",
        world: "contextengine:sdk-observer/contextengine-observer",
        with: { "contextengine:plugin/types@0.1.0": crate::bindings::imports::contextengine::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_observer",
        default_bindings_module: "contextengine_sdk::__rt::bindings::observer",
    });
}

/// Tools.
pub mod toolbox {
    wit_bindgen::generate!({
        inline: "
            package contextengine:sdk-toolbox;
            world contextengine-toolbox {
                export contextengine:plugin/toolbox@0.1.0;
            }
        ",
        path: "wit",
        world: "contextengine:sdk-toolbox/contextengine-toolbox",
        with: { "contextengine:plugin/types@0.1.0": crate::bindings::imports::contextengine::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_toolbox",
        default_bindings_module: "contextengine_sdk::__rt::bindings::toolbox",
    });
}
