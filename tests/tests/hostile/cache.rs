//! The folder for compiled code: what is in it is run, so it is trusted only if nobody else can write to it.

use std::fs;
use std::path::{Path, PathBuf};

use contextengine::hooks::Outcome;
use contextengine::plugin::{LoadOptions, Plugin, Runtime, RuntimeError};
use contextengine_tests::component;

use crate::fixture::{request, services, view};

fn runtime_in(folder: &Path) -> Result<Runtime, RuntimeError> {
    Runtime::builder().cache_dir(folder).build()
}

/// Loads the guest and runs it once.
fn use_guest(runtime: &Runtime) {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    tokio.block_on(async {
        let plugin = Plugin::load(runtime, &component("hostile-guest"), LoadOptions::default()).await.unwrap();
        let mut instance = plugin.instance(services()).await.unwrap();
        let outcome = instance.compress(&view(), &request()).await;
        assert_eq!(outcome, Ok(Outcome::Unchanged("nothing to do".to_owned())));
    });
}

/// The files of compiled code.
fn compiled(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                // Statistics and files on their way.
                Some(_) => {}
                None => found.push(path),
            }
        }
    }
    found
}

#[test]
fn a_plugin_is_compiled_once_and_found_again_by_another_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("new/components");
    let first = runtime_in(&cache).unwrap();
    use_guest(&first);
    assert_eq!((first.cache_use().hits, first.cache_use().misses), (0, 1));
    let second = runtime_in(&cache).unwrap();
    use_guest(&second);
    assert_eq!((second.cache_use().hits, second.cache_use().misses), (1, 0));
}

#[test]
fn a_damaged_file_in_the_cache_is_compiled_anew_and_replaced() {
    let damage: [fn(Vec<u8>) -> Vec<u8>; 4] = [
        |_| Vec::new(),
        |_| b"not compiled code".to_vec(),
        |bytes| bytes[..bytes.len() / 2].to_vec(),
        |bytes| bytes.into_iter().map(|byte| byte ^ 0x5a).collect(),
    ];
    for (case, damage) in damage.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("components");
        use_guest(&runtime_in(&cache).unwrap());
        let files = compiled(&cache);
        assert_eq!(files.len(), 1, "{files:?}");
        let bytes = fs::read(&files[0]).unwrap();
        fs::write(&files[0], damage(bytes)).unwrap();

        let runtime = runtime_in(&cache).unwrap();
        use_guest(&runtime);
        assert_eq!((runtime.cache_use().hits, runtime.cache_use().misses), (0, 1), "case {case}");
        let runtime = runtime_in(&cache).unwrap();
        use_guest(&runtime);
        assert_eq!((runtime.cache_use().hits, runtime.cache_use().misses), (1, 0), "case {case}");
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_new_folder_is_private_and_nothing_is_left_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("components");
        let _runtime = runtime_in(&cache).unwrap();
        assert_eq!(fs::metadata(&cache).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        for mode in [0o777, 0o770, 0o702] {
            let folder = tempfile::tempdir().unwrap();
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            let error = runtime_in(folder.path()).unwrap_err();
            assert!(matches!(error, RuntimeError::UnsafeCacheDir { .. }), "{error}");
            assert!(error.to_string().contains(&format!("others may write to it (mode {mode:03o})")), "{error}");
            assert!(error.to_string().contains("chmod 700"), "{error}");
        }
    }

    #[test]
    fn a_symbolic_link_and_a_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link, file) = (folder.path().join("real"), folder.path().join("link"), folder.path().join("file"));
        fs::create_dir(&real).unwrap();
        symlink(&real, &link).unwrap();
        fs::write(&file, "").unwrap();
        for (path, words) in [(link, "it is a symbolic link"), (file, "it is not a folder")] {
            let error = runtime_in(&path).unwrap_err();
            assert!(matches!(error, RuntimeError::UnsafeCacheDir { .. }), "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        // Only root can give a folder away, and only then is there anything to test.
        if std::os::unix::fs::chown(folder.path(), Some(12_345), None).is_err() {
            return;
        }
        let error = runtime_in(folder.path()).unwrap_err();
        assert!(matches!(error, RuntimeError::UnsafeCacheDir { .. }), "{error}");
        assert!(error.to_string().contains("it belongs to user 12345"), "{error}");
    }
}
