//! The committed files of the console, held against their manifest and against their sources, and the
//! copies of its look.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

const MANIFEST: &str = "manifest.json";

/// The documents from which the build makes types.
const DOCUMENTS: [&str; 2] = ["openapi/ziggurat-rag.json", "openapi/ziggurat-tools.json"];

#[derive(Deserialize)]
struct Manifest {
    /// Digest over everything that the build reads.
    inputs: String,
    /// Digests of the files, by their path below `dist`.
    files: BTreeMap<String, String>,
    /// Digests of what the build writes elsewhere, by the path in the repository.
    copies: BTreeMap<String, String>,
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn repository() -> PathBuf {
    let root = folder().join("../..");
    root.canonicalize().expect("the repository")
}

fn manifest() -> Manifest {
    let text = fs::read_to_string(folder().join("dist").join(MANIFEST)).expect("a manifest");
    serde_json::from_str(&text).expect("JSON of this form")
}

/// Returns the digest of a file in hexadecimal digits.
fn digest(path: &Path) -> String {
    hex(&Sha256::digest(fs::read(path).expect("a file")))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("memory");
        digits
    })
}

/// Returns the paths of all files below a folder, but for installed packages.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.file_name().is_some_and(|name| name == "node_modules") {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Returns a path below a folder as the build writes it.
fn below(folder: &Path, path: &Path) -> String {
    let path = path.strip_prefix(folder).expect("below");
    path.to_str().expect("UTF-8").replace('\\', "/")
}

#[test]
fn the_manifest_names_every_file_with_its_digest() {
    let dist = folder().join("dist");
    let found = files(&dist).into_iter();
    let found = found.map(|path| (below(&dist, &path), digest(&path)));
    let mut found: BTreeMap<_, _> = found.collect();
    found.remove(MANIFEST);
    assert_eq!(found, manifest().files);
}

#[test]
fn the_files_are_made_from_the_sources_that_are_here() {
    let root = repository();
    let mut inputs = files(&root.join("services/console/web"));
    inputs.extend(DOCUMENTS.map(|document| root.join(document)));
    let inputs = inputs.iter().map(|path| (below(&root, path), digest(path)));
    // Sorted by path.
    let inputs: BTreeMap<_, _> = inputs.collect();
    let lines = inputs
        .iter()
        .fold(String::new(), |mut lines, (path, digest)| {
            writeln!(lines, "{digest}  {path}").expect("memory");
            lines
        });
    assert_eq!(
        hex(&Sha256::digest(lines)),
        manifest().inputs,
        "run `npm run build` in services/console/web, and commit dist"
    );
}

#[test]
fn the_pages_of_the_browser_sign_in_have_the_look_of_the_console() {
    let copies = manifest().copies;
    let style = "services/sign-in/src/look.css";
    assert!(copies.contains_key(style), "{copies:?}");
    for (path, expected) in copies {
        assert_eq!(
            digest(&repository().join(&path)),
            expected,
            "{path}: change services/console/web/look, and run `npm run build` there"
        );
    }
}
