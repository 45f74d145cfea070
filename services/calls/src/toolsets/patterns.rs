//! Names, and beginnings of names.

use std::collections::BTreeSet;

/// Names that a list has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Patterns {
    names: BTreeSet<String>,
    /// Beginnings, without the `*`.
    beginnings: Vec<String>,
}

// === impl Patterns ===

impl Patterns {
    /// Returns whether a name is in the list.
    pub(crate) fn fit(&self, name: &str) -> bool {
        self.names(name) || self.beginnings.iter().any(|it| name.starts_with(&**it))
    }

    /// Returns whether the list has the name in full.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns whether the list has a text that a template stands for.
    pub(crate) fn fit_template(&self, template: &str) -> bool {
        let mut names = self.names.iter();
        let mut beginnings = self.beginnings.iter();
        names.any(|name| overlap(name, false, template))
            || beginnings.any(|beginning| overlap(beginning, true, template))
    }

    /// Returns the names that are in full.
    pub(crate) fn full_names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Returns each entry as it is written, alone in a list.
    pub(crate) fn each(&self) -> impl Iterator<Item = (String, Self)> {
        let names = self.names.iter().cloned();
        let beginnings = self.beginnings.iter().map(|it| format!("{it}*"));
        let entries = names.chain(beginnings);
        entries.map(|entry| (entry.clone(), Self::from_iter([entry])))
    }
}

impl FromIterator<String> for Patterns {
    fn from_iter<I: IntoIterator<Item = String>>(entries: I) -> Self {
        let mut patterns = Self::default();
        for entry in entries {
            match entry.strip_suffix('*') {
                Some(beginning) => patterns.beginnings.push(beginning.to_owned()),
                None => drop(patterns.names.insert(entry)),
            }
        }
        patterns
    }
}

/// Returns whether a text of a URI template is this name, or may begin with it. A placeholder is
/// one segment of a path, and not empty.
fn overlap(mut name: &str, is_beginning: bool, mut template: &str) -> bool {
    loop {
        let (literal, placeholder) = match template.split_once('{') {
            Some((literal, placeholder)) => (literal, Some(placeholder)),
            None => (template, None),
        };
        let Some(rest) = name.strip_prefix(literal) else {
            return is_beginning && literal.starts_with(name);
        };
        let Some(placeholder) = placeholder else {
            return rest.is_empty();
        };
        let end = rest.find('/').unwrap_or(rest.len());
        if is_beginning && end == rest.len() {
            return true;
        }
        if end == 0 {
            return false;
        }
        name = &rest[end..];
        template = placeholder.split_once('}').map_or("", |(_, rest)| rest);
    }
}
