use std::{collections::HashSet, fs, path::PathBuf};

use crate::{planned, root, rust_files, sources};

/// The published crates: their users are not in the workspace.
const PUBLISHED: [&str; 6] = [
    "layers",
    "services/mcp",
    "services/mcp-client",
    "services/serve",
    "services/sign-in",
    "services/text",
];

/// The starts of a line that declares something public, in a module or in an `impl`.
const DECLARATIONS: [&str; 9] = [
    "pub async fn ",
    "pub const fn ",
    "pub fn ",
    "pub struct ",
    "pub enum ",
    "pub trait ",
    "pub type ",
    "pub const ",
    "pub static ",
];

/// Returns the identifiers of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|next: char| !next.is_alphanumeric() && next != '_')
}

/// Returns the Rust files of the workspace, each with the identifiers in it.
fn files() -> Vec<(PathBuf, HashSet<String>)> {
    let files = rust_files().into_iter();
    let read = files.map(|path| {
        let text = fs::read_to_string(&path).expect("UTF-8");
        let names = words(&text).map(str::to_owned).collect();
        (path, names)
    });
    read.collect()
}

/// Returns the name that a line declares as public.
pub(crate) fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let start = DECLARATIONS.iter().find(|start| line.starts_with(**start));
    words(&line[start?.len()..]).next()
}

/// Returns the names in the public signatures, fields and variants of a file, and in the examples of
/// its documentation, which are compiled as other crates.
fn in_interface(text: &str) -> HashSet<&str> {
    let mut names = HashSet::new();
    let (mut in_item, mut in_signature, mut in_example) = (false, false, false);
    for line in text.lines() {
        let start = line.trim_start();
        let code = start.split("//").next().unwrap_or_default().trim_end();
        if let Some(comment) = start.strip_prefix("///").or(start.strip_prefix("//!")) {
            in_example ^= comment.trim_start().starts_with("```");
            names.extend(words(comment).filter(|_| in_example));
        }
        in_item |= ["pub enum ", "pub trait "]
            .iter()
            .any(|item| start.starts_with(item));
        in_item &= line != "}";
        in_signature |= ["pub ", "type ", "impl"]
            .iter()
            .any(|item| start.starts_with(item));
        if in_item || in_signature {
            names.extend(words(code).filter(|word| Some(*word) != declared(line)));
        }
        in_signature &= !code.ends_with(['{', ';', '}', ','])
            || code.ends_with(',') && !start.starts_with("pub ");
    }
    names
}

#[test]
fn public_items_are_named_by_another_crate() {
    let files = files();
    let mut unnamed = Vec::new();
    for (_, folder) in planned() {
        if PUBLISHED.contains(&folder) || folder.starts_with("bin/") {
            continue;
        }
        let source = root().join(folder).join("src");
        let others = || files.iter().filter(|(path, _)| !path.starts_with(&source));
        let sources = sources(folder);
        let interface: HashSet<&str> = sources
            .iter()
            .flat_map(|(_, text)| in_interface(text))
            .collect();
        for (path, text) in &sources {
            for name in text.lines().filter_map(declared) {
                if !interface.contains(name) && !others().any(|(_, names)| names.contains(name)) {
                    let path = path.strip_prefix(root()).unwrap_or(path);
                    unnamed.push(format!("{}: {name}", path.display()));
                }
            }
        }
    }
    assert_eq!(unnamed, [""; 0], "these can be `pub(crate)`");
}
