use std::{collections::BTreeMap, path::Path};

use crate::{planned, root, sources};

/// The size up to which a crate can be read in an afternoon, in lines.
const MAX_LINES: usize = 10_000;

/// Parts of a crate that are a feature and a folder of their own, so each is read alone.
const READ_ALONE: [&str; 3] = [
    "services/mcp/src/client",
    "services/mcp/src/http_server",
    "services/mcp/src/streamable",
];

/// The published layers are modules that do not depend on each other, so each is read alone; half of
/// their lines is documentation.
const MAX_LINES_OF_A_LAYER: usize = 5_000;

#[test]
fn no_crate_is_too_large_to_be_read() {
    for (_, folder) in planned() {
        if folder == "layers" {
            continue;
        }
        let (mut lines, mut alone) = (0, 0);
        for (path, text) in sources(folder) {
            // The module is a file beside its folder.
            let module = path.with_extension("");
            let is_alone = READ_ALONE
                .iter()
                .any(|part| module.starts_with(root().join(part)));
            *(if is_alone { &mut alone } else { &mut lines }) += text.lines().count();
        }
        assert!(lines <= MAX_LINES, "{folder} has {lines} lines");
        assert!(
            alone <= MAX_LINES,
            "the parts of {folder} have {alone} lines"
        );
    }
}

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
