use std::{collections::BTreeMap, path::Path};

use crate::{root, sources};

/// The published layers are modules that do not depend on each other, so each is read alone; half of
/// their lines is documentation.
const MAX_LINES_OF_A_LAYER: usize = 5_000;

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
