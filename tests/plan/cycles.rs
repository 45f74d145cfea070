use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use crate::{planned, root, sources, without_comments};

/// The path of a module below the root of its crate.
type Module = Vec<String>;

/// The modules of a crate, each with what it is made of without comments.
struct Crate(BTreeMap<Module, String>);

// === impl Crate ===

impl Crate {
    fn read(folder: &str) -> Self {
        let source = root().join(folder).join("src");
        let files = sources(folder).into_iter();
        Self(
            files
                .map(|(path, text)| (module(&path, &source), without_comments(&text)))
                .collect(),
        )
    }

    /// Returns the folder of a module: its own if it has one, else the folder of its parent.
    fn folder<'a>(&self, module: &'a [String]) -> &'a [String] {
        let has_children = |other: &Module| other.len() > module.len() && other.starts_with(module);
        if self.0.keys().any(has_children) {
            return module;
        }
        module.split_last().map_or(module, |(_, parent)| parent)
    }

    /// Returns the modules that a module names by paths that begin with one of these.
    fn imports(&self, module: &Module, starts: &[&str]) -> BTreeSet<Module> {
        let mut paths = Vec::new();
        let text = &self.0[module];
        for start in starts {
            for (at, _) in text.match_indices(start) {
                let before = text[..at].chars().next_back();
                if !before.is_some_and(|last| last.is_alphanumeric() || "_:".contains(last)) {
                    expand(
                        &mut text[at..].chars().peekable(),
                        &mut Vec::new(),
                        &mut paths,
                    );
                }
            }
        }
        let absolute = paths.into_iter().filter_map(|path| resolve(module, path));
        absolute.map(|path| self.nearest(path)).collect()
    }

    /// Returns the module in which a path ends.
    fn nearest(&self, mut path: Module) -> Module {
        while !self.0.contains_key(&path) && path.pop().is_some() {}
        path
    }

    /// Returns the files that import each other, directly or through others, the root of the crate
    /// left out. The names of children through `self::` are no imports: a file declares them.
    fn circles(&self) -> Vec<BTreeSet<&Module>> {
        let imports: BTreeMap<&Module, BTreeSet<Module>> = self
            .0
            .keys()
            .map(|module| (module, self.imports(module, &["crate::", "super::"])))
            .collect();
        let reached = |start: &Module| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
            while let Some(module) = open.pop() {
                for next in imports[module].iter().filter(|next| !next.is_empty()) {
                    if let Some((next, _)) = imports.get_key_value(next)
                        && seen.insert(*next)
                    {
                        open.push(next);
                    }
                }
            }
            seen
        };
        let reached: BTreeMap<&Module, BTreeSet<&Module>> = imports
            .keys()
            .map(|module| (*module, reached(module)))
            .collect();
        let circle = |module: &&Module| -> BTreeSet<&Module> {
            let others = reached[module].iter().copied();
            others
                .filter(|other| reached[other].contains(module))
                .collect()
        };
        imports.keys().map(circle).collect()
    }

    /// Returns which children of one folder name which others, each with an example.
    fn edges(&self) -> BTreeMap<(Module, Module), String> {
        let mut edges = BTreeMap::new();
        for module in self.0.keys() {
            for import in self.imports(module, &["crate::", "super::", "self::"]) {
                let (from, to) = (self.folder(module), self.folder(&import));
                // A folder and the folders in it are one subject.
                if from.starts_with(to) || to.starts_with(from) {
                    continue;
                }
                let common = from.iter().zip(to).take_while(|(one, other)| one == other);
                let depth = common.count() + 1;
                let pair = (from[..depth].to_vec(), to[..depth].to_vec());
                edges.insert(
                    pair,
                    format!("{} names {}", module.join("::"), import.join("::")),
                );
            }
        }
        edges
    }
}

fn module(path: &Path, source: &Path) -> Module {
    let path = path
        .strip_prefix(source)
        .expect("it is below")
        .with_extension("");
    let path: Module = path
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    match path.as_slice() {
        [root] if root == "lib" || root == "main" => Vec::new(),
        _ => path,
    }
}

/// Reads a path, or the tree of paths of a `use`.
fn expand(
    text: &mut std::iter::Peekable<std::str::Chars<'_>>,
    path: &mut Module,
    paths: &mut Vec<Module>,
) {
    let depth = path.len();
    let mut name = String::new();
    while let Some(&next) = text.peek() {
        match next {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '*' => name.push(next),
            ':' if !name.is_empty() => path.push(std::mem::take(&mut name)),
            ':' => {}
            '{' if name.is_empty() && path.len() > depth => {
                text.next();
                while text.peek().is_some_and(|&next| next != '}') {
                    let before = path.len();
                    expand(text, path, paths);
                    path.truncate(before);
                    while text
                        .peek()
                        .is_some_and(|&next| next == ',' || next.is_whitespace())
                    {
                        text.next();
                    }
                }
                text.next();
                path.truncate(depth);
                return;
            }
            ' ' | '\n' if name.is_empty() && path.len() == depth => {}
            _ => break,
        }
        text.next();
    }
    if !name.is_empty() {
        path.push(name);
    }
    paths.push(path.clone());
    path.truncate(depth);
    // What an import is called here does not matter.
    while text.peek().is_some_and(|next| !",};".contains(*next)) && depth > 0 {
        text.next();
    }
}

/// Returns the path from the root of the crate.
fn resolve(module: &Module, path: Module) -> Option<Module> {
    let mut base = module.clone();
    let mut rest = path.into_iter().peekable();
    match rest.next()?.as_str() {
        "crate" => base.clear(),
        "super" => {
            base.pop()?;
        }
        _ => {}
    }
    while rest.peek().is_some_and(|part| part == "super") {
        rest.next();
        base.pop()?;
    }
    base.extend(rest.filter(|part| part != "self" && part != "*"));
    Some(base)
}

/// Returns the examples of the edges that lead from one folder to another, if any do.
fn way(
    edges: &BTreeMap<(Module, Module), String>,
    from: &Module,
    to: &Module,
    seen: &mut BTreeSet<Module>,
) -> Option<Vec<String>> {
    if !seen.insert(from.clone()) {
        return None;
    }
    let next = edges.iter().filter(|((start, _), _)| start == from);
    for ((_, end), example) in next {
        let rest = if end == to {
            Some(Vec::new())
        } else {
            way(edges, end, to, seen)
        };
        if let Some(mut rest) = rest {
            rest.insert(0, example.clone());
            return Some(rest);
        }
    }
    None
}

#[test]
fn no_folders_of_a_crate_import_each_other_in_a_circle() {
    for (_, folder) in planned() {
        let edges = Crate::read(folder).edges();
        for ((from, to), example) in &edges {
            let back = way(&edges, to, from, &mut BTreeSet::new());
            assert_eq!(back, None, "{folder}: {example}");
        }
    }
}

/// A reader of one of these files has to read all of them.
const MAX_CIRCLE: usize = 3;

#[test]
fn no_more_than_three_files_import_each_other_in_a_circle() {
    for (_, folder) in planned() {
        for circle in Crate::read(folder).circles() {
            assert!(circle.len() <= MAX_CIRCLE, "{folder}: {circle:?}");
        }
    }
}
