use std::{collections::BTreeMap, path::Path};

use crate::{root, sources, visibility::declared};

/// The published crate: every public item has an example.
const PUBLISHED: &str = "layers";

/// The items without an example, by file, each with the reason.
///
/// Variants, fields and associated types are not items of their own: the example of their type
/// shows them. Methods of a trait in an `impl` have the example of the trait.
const EXCEPTIONS: [(&str, &str, &str); 0] = [];

/// An item that other crates can name.
#[derive(Debug, PartialEq)]
struct Item {
    name: String,
    has_example: bool,
}

/// Returns the public items of a file, in their order. The lint `unreachable_pub` makes sure that
/// other crates can name all `pub` items.
fn items(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let (mut has_example, mut in_trait) = (false, false);
    for line in text.lines() {
        let start = line.trim_start();
        if start.starts_with("///") {
            has_example |= start.starts_with("/// ```");
            continue;
        }
        in_trait = match line {
            "}" => false,
            line => in_trait || line.starts_with("pub trait "),
        };
        let name = declared(line).or_else(|| {
            let is_member = in_trait && line.starts_with("    ") && !line.starts_with("     ");
            let member = start.strip_prefix("fn ").or(start.strip_prefix("const "));
            member.filter(|_| is_member)?.split(['(', '<', ':']).next()
        });
        if let Some(name) = name {
            let name = name.to_owned();
            items.push(Item { name, has_example });
        }
        // Attributes and comments stand between an item and its documentation.
        has_example &= ["#", "//", ")]", "feature", "not("]
            .iter()
            .any(|between| start.starts_with(between));
    }
    items
}

/// Returns whether the documentation of a module, at the start of its file, has an example.
fn module_has_example(text: &str) -> bool {
    let docs = text.lines().take_while(|line| line.starts_with("//!"));
    docs.into_iter().any(|line| line.starts_with("//! ```"))
}

/// Returns the files of the modules that other crates can name, from the one with the crate.
fn public_modules(files: &BTreeMap<&Path, &str>, file: &Path) -> Vec<std::path::PathBuf> {
    let folder = match file.file_name() {
        Some(name) if name == "lib.rs" => file.with_file_name(""),
        _ => file.with_extension(""),
    };
    let declared = files[file]
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let mut modules = vec![file.to_owned()];
    for name in declared {
        modules.extend(public_modules(
            files,
            &folder.join(name).with_extension("rs"),
        ));
    }
    modules
}

#[test]
fn every_public_item_of_the_published_crate_has_an_example() {
    let sources = sources(PUBLISHED);
    let source = root().join(PUBLISHED).join("src");
    let files: BTreeMap<&Path, &str> = sources
        .iter()
        .map(|(path, text)| (path.as_path(), text.as_str()))
        .collect();
    let modules = public_modules(&files, &source.join("lib.rs"));
    assert!(modules.len() > 10, "only {modules:?}");

    let mut missing = Vec::new();
    for (path, text) in &files {
        let file = path.strip_prefix(&source).unwrap_or(path).display();
        let file = file.to_string();
        if modules.iter().any(|module| module == path) && !module_has_example(text) {
            missing.push(format!("{file}: the module"));
        }
        let is_exception = |name: &str| {
            let mut exceptions = EXCEPTIONS.iter();
            exceptions.any(|(in_file, item, _)| *in_file == file && *item == name)
        };
        for item in items(text) {
            if !item.has_example && !is_exception(&item.name) {
                missing.push(format!("{file}: {}", item.name));
            }
        }
    }
    assert_eq!(missing, [""; 0], "these have no example");
}

#[test]
fn items_and_their_examples_are_found() {
    let text = "\
/// Documented.
///
/// ```
/// example();
/// ```
#[must_use]
pub struct Shown;

/// Documented only.
pub trait Bare {
    /// Has an example.
    ///
    /// ```
    /// ```
    const ONE: u8;

    /// Has none.
    fn two(&self) {
        fn inner() {}
    }
}

pub(crate) fn private() {}

impl Shown {
    /// ```
    /// ```
    // Comment.
    pub const fn three() {}
    pub fn four() {}
}
";
    let found: Vec<_> = items(text)
        .into_iter()
        .map(|item| (item.name, item.has_example))
        .collect();
    let expected = [
        ("Shown", true),
        ("Bare", false),
        ("ONE", true),
        ("two", false),
        ("three", true),
        ("four", false),
    ];
    let expected = expected.map(|(name, has)| (name.to_owned(), has));
    assert_eq!(found, expected);
}
