use std::{collections::BTreeMap, path::Path};

use crate::{root, rust_files, sources};

/// The published layers are modules that do not depend on each other, so each is read alone; half of
/// their lines is documentation.
const MAX_LINES_OF_A_LAYER: usize = 5_000;

/// A reader sees at a glance what so many files are about. Files beside the code that only tests
/// need are not counted.
const MAX_FILES_OF_A_FOLDER: usize = 20;

/// The larger folders, in which all files are equals, so a reader goes straight to one of them.
const FOLDERS_OF_EQUALS: [&str; 3] = [
    // Each file tests one subject of the server from outside.
    "bin/tools/tests/black_box",
    // Each file is one published layer.
    "layers/src",
    // Each file is one fuzz target.
    "tests/fuzz/targets",
];

#[test]
fn no_layer_is_too_large_to_be_read() {
    let folder = root().join("layers/src");
    let mut lines = BTreeMap::<String, usize>::new();
    for (path, text) in sources("layers") {
        let inside = path.strip_prefix(&folder).expect("a file of the layers");
        let module = inside
            .components()
            .next()
            .map(|name| Path::new(&name).with_extension(""));
        let module = module.expect("a file name").display().to_string();
        *lines.entry(module).or_default() += text.lines().count();
    }
    for (module, lines) in lines {
        assert!(lines <= MAX_LINES_OF_A_LAYER, "{module} has {lines} lines");
    }
}

#[test]
fn only_folders_of_equals_have_many_files() {
    let mut files = BTreeMap::<String, usize>::new();
    for path in rust_files() {
        let path = path.strip_prefix(root()).expect("a file of the workspace");
        let is_counted = !path.ends_with("tests.rs") && !path.ends_with("fixture.rs");
        if let (Some(folder), true) = (path.parent(), is_counted) {
            *files.entry(folder.display().to_string()).or_default() += 1;
        }
    }
    files.retain(|_, count| *count > MAX_FILES_OF_A_FOLDER);
    let folders: Vec<_> = files.into_keys().collect();
    assert_eq!(folders, FOLDERS_OF_EQUALS, "group the files by subject");
}
