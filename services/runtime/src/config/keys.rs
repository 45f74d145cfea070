//! Keys that a program reads, and the unknown keys of a file.

use std::{collections::BTreeSet, path::Path};

use strsim::osa_distance;

use crate::{config::MAX_NAMED, spelling::is_near, yaml::Node};

/// The known keys, as paths with dots: `http.tls.enabled`, `databases[].name`.
#[derive(Debug, Default)]
pub(super) struct Keys {
    paths: BTreeSet<String>,
    /// Paths below which any key is allowed.
    open: BTreeSet<String>,
}

// === impl Keys ===

impl Keys {
    /// Adds the key at a place of the file.
    pub(super) fn add(&mut self, place: &str) {
        self.paths.insert(pattern(place));
    }

    /// Allows any key below a place of the file.
    pub(super) fn open(&mut self, place: &str) {
        self.open.insert(pattern(place));
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.paths.extend(other.paths);
        self.open.extend(other.open);
    }

    pub(super) fn into_paths(self) -> Vec<String> {
        self.paths.into_iter().collect()
    }

    /// Returns one sentence for each unknown key of a file, and one for each foreign key.
    pub(super) fn unknown(
        &self,
        root: &Node,
        foreign: &[&str],
        path: &Path,
    ) -> (Vec<String>, Vec<String>) {
        let (mut unknown, mut known_elsewhere) = (Vec::new(), Vec::new());
        self.walk(root, "", &mut |place| {
            let list = if foreign.contains(&pattern(place).as_str()) {
                &mut known_elsewhere
            } else {
                &mut unknown
            };
            list.push(place.to_owned());
        });
        let path = path.display();
        let more = unknown.len().saturating_sub(MAX_NAMED);
        let mut problems: Vec<_> = unknown
            .iter()
            .take(MAX_NAMED)
            .map(|place| {
                let written = place.escape_debug();
                match self.meant(place) {
                    Some(meant) => {
                        format!("unknown key '{written}' in {path} (did you mean '{meant}'?)")
                    }
                    None => format!("unknown key '{written}' in {path}"),
                }
            })
            .collect();
        problems.extend((more > 0).then(|| format!("{more} more unknown keys in {path}")));
        let warnings = known_elsewhere.iter().take(MAX_NAMED).map(|place| {
            let key = place.escape_debug();
            format!("the key '{key}' in {path} has no effect here")
        });
        (problems, warnings.collect())
    }

    /// Calls `found` with each unknown key, in the order of the file, but none below another one.
    fn walk(&self, node: &Node, place: &str, found: &mut impl FnMut(&str)) {
        match node {
            Node::List(list) => {
                for (index, node) in list.iter().enumerate() {
                    self.walk(node, &format!("{place}[{index}]"), found);
                }
            }
            Node::Map(map) if !self.open.contains(&pattern(place)) => {
                for (key, node) in map.iter() {
                    let place = join(place, key);
                    if self.paths.contains(&pattern(&place)) {
                        self.walk(node, &place, found);
                    } else {
                        found(&place);
                    }
                }
            }
            Node::Scalar(..) | Node::Map(_) => {}
        }
    }

    /// Returns the key that an unknown one was meant to be, if there is one. A key of the same
    /// section is written with its indexes.
    fn meant(&self, place: &str) -> Option<String> {
        let meant = self.nearest(&pattern(place))?;
        let (section, key) = parts(meant);
        let (written, _) = parts(place);
        Some(if pattern(written) == section {
            join(written, key)
        } else {
            meant.to_owned()
        })
    }

    /// Returns the known key that is most similar to an unknown one: one of the same section with
    /// a few typing errors, or else the same key in another section.
    fn nearest(&self, path: &str) -> Option<&str> {
        let (section, key) = parts(path);
        let sibling = self
            .paths
            .iter()
            .filter(|known| parts(known).0 == section)
            .map(|known| (osa_distance(key, parts(known).1), known))
            .min_by_key(|&(distance, _)| distance)
            .filter(|&(distance, _)| is_near(distance, key));
        let elsewhere = || self.paths.iter().find(|known| parts(known).1 == key);
        let nearest = sibling.map(|(_, known)| known).or_else(elsewhere);
        nearest.map(String::as_str)
    }
}

/// Returns the path of a key in a section.
pub(super) fn join(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}

/// Splits a path into its section and its key.
fn parts(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

/// Returns a place without the indexes of lists.
fn pattern(place: &str) -> String {
    let mut pattern = String::with_capacity(place.len());
    let mut is_index = false;
    for letter in place.chars() {
        is_index = letter == '[' || is_index && letter != ']';
        if !is_index || letter == '[' {
            pattern.push(letter);
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Keys {
        let mut keys = Keys::default();
        for place in ["colour", "leaves", "leaves[0].length", "leaves[0].words"] {
            keys.add(place);
        }
        keys.open("leaves[0].words");
        keys
    }

    #[test]
    fn below_an_open_key_every_key_is_known() {
        let text = "leaves: [{words: {any: {deeper: []}}}, {words2: 1}]";
        let node = crate::config::RULES.read_as_written(text).expect("YAML");
        let (problems, _) = keys().unknown(&node, &[], Path::new("a"));
        let expected =
            "unknown key 'leaves[1].words2' in a (did you mean 'leaves[1].words'?)".to_owned();
        assert_eq!(problems, [expected]);
    }

    #[test]
    fn a_key_with_a_typing_error_finds_the_correct_key() {
        let keys = keys();
        for (path, meant) in [
            ("color", Some("colour")),
            ("leave", Some("leaves")),
            ("leaves[].lenght", Some("leaves[].length")),
            ("leaves[].colour", Some("colour")),
            ("length", Some("leaves[].length")),
            ("tree", None),
            ("leaves[].x", None),
        ] {
            assert_eq!(keys.nearest(path), meant, "{path}");
        }
    }
}
