//! The one macro.

/// Makes a component of the crate: exports `plugin` and the named hooks, and nothing else.
///
/// ```ignore
/// contextengine_sdk::export!(KeepRecent: Compressor, Selector);
/// ```
///
/// The type implements [`Plugin`](crate::Plugin) and the named traits, written without a path. Once per crate, in a
/// crate with `crate-type = ["cdylib"]` (add `"rlib"` to test it natively).
///
/// On other targets than WebAssembly it expands to nothing but a check that the traits are implemented. On
/// WebAssembly, to this:
///
/// ```ignore
/// const _: () = {
///     // The instance: made by `configure`, or with `{}` by the first hook that is called before it.
///     thread_local! { static INSTANCE: RefCell<Option<Rc<KeepRecent>>> = const { RefCell::new(None) }; }
///     impl Instance for KeepRecent { /* hands out INSTANCE */ }
///
///     // Translates the calls; also installs the panic hook, which sends message and place to `log`.
///     type Exported = Adapter<KeepRecent>;
///
///     // The exported functions and the description of their types, as wit-bindgen generates them.
///     export_plugin!(Exported with_types_in contextengine_sdk::__rt::bindings::plugin);
///     export_compressor!(Exported with_types_in contextengine_sdk::__rt::bindings::compressor);
///     export_selector!(Exported with_types_in contextengine_sdk::__rt::bindings::selector);
///
///     // Read by the host before it compiles anything.
///     #[used]
///     #[unsafe(link_section = "contextengine:api-version")]
///     static API_VERSION: [u8; 5] = *b"0.1.0";
/// };
/// ```
#[macro_export]
macro_rules! export {
    ($plugin:ty: $($hook:ident),+ $(,)?) => {
        const _: () = {
            $($crate::__implements!($plugin, $hook);)+

            #[cfg(target_arch = "wasm32")]
            #[allow(unsafe_code, reason = "exported functions and custom sections have no safe spelling")]
            mod exported {
                #[allow(unused_imports, reason = "the plugin's type may be written with a full path")]
                use super::*;

                ::std::thread_local! {
                    static INSTANCE: ::core::cell::RefCell<::core::option::Option<::std::rc::Rc<$plugin>>> =
                        const { ::core::cell::RefCell::new(::core::option::Option::None) };
                }

                impl $crate::__rt::Instance for $plugin {
                    fn with_cell<R>(
                        visit: impl ::core::ops::FnOnce(
                            &::core::cell::RefCell<::core::option::Option<::std::rc::Rc<Self>>>,
                        ) -> R,
                    ) -> R {
                        INSTANCE.with(visit)
                    }
                }

                type Exported = $crate::__rt::Adapter<$plugin>;

                $crate::__rt::bindings::plugin::export_plugin!(
                    Exported with_types_in $crate::__rt::bindings::plugin
                );
                $($crate::__export_hook!($hook);)+

                #[used]
                #[unsafe(link_section = "contextengine:api-version")]
                static API_VERSION: [u8; $crate::API_VERSION.len()] = $crate::__rt::API_VERSION_BYTES;
            }
        };
    };
}

/// Fails to compile where a named hook is not implemented.
#[doc(hidden)]
#[macro_export]
macro_rules! __implements {
    ($plugin:ty, $hook:ident) => {
        const _: fn() = || {
            fn implements<P: $crate::$hook>() {}
            implements::<$plugin>();
        };
    };
}

/// The generated macro of one hook.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_hook {
    (Compressor) => {
        $crate::__rt::bindings::compressor::export_compressor!(
            Exported with_types_in $crate::__rt::bindings::compressor
        );
    };
    (Selector) => {
        $crate::__rt::bindings::selector::export_selector!(
            Exported with_types_in $crate::__rt::bindings::selector
        );
    };
    (Reducer) => {
        $crate::__rt::bindings::reducer::export_reducer!(
            Exported with_types_in $crate::__rt::bindings::reducer
        );
    };
    (BranchSummarizer) => {
        $crate::__rt::bindings::branch_summarizer::export_branch_summarizer!(
            Exported with_types_in $crate::__rt::bindings::branch_summarizer
        );
    };
    (Observer) => {
        $crate::__rt::bindings::observer::export_observer!(
            Exported with_types_in $crate::__rt::bindings::observer
        );
    };
    (Toolbox) => {
        $crate::__rt::bindings::toolbox::export_toolbox!(
            Exported with_types_in $crate::__rt::bindings::toolbox
        );
    };
}
