//! The problems of a configuration, all of which are collected.

use std::{collections::BTreeSet, fmt};

/// Path of a value in the file, such as `pipelines[0].tables[1].text_column`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(String);

/// A problem with a value or with the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    place: Place,
    message: String,
}

/// Collects problems and warnings.
#[derive(Debug, Default)]
pub(super) struct Findings {
    problems: Vec<Problem>,
    /// Values of the wrong type, reported like a file that is not YAML.
    unreadable: Vec<String>,
    /// Places of unknown values, whose further problems would only follow from that.
    unknown: BTreeSet<Place>,
    warnings: Vec<String>,
}

// === impl Place ===

impl Place {
    /// Returns the place of a section.
    pub(super) fn section(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// Returns the place of a key below.
    pub(super) fn key(&self, key: &str) -> Self {
        Self(format!("{self}.{key}"))
    }

    /// Returns the place of an element of a list.
    pub(super) fn element(&self, index: usize) -> Self {
        Self(format!("{self}[{index}]"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl Problem ===

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place == Place::default() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.place, self.message)
    }
}

// === impl Findings ===

impl Findings {
    /// Adds a problem with a value.
    pub(super) fn problem(&mut self, place: &Place, message: impl Into<String>) {
        if !self.unknown.contains(place) {
            self.problems.push(Problem {
                place: place.clone(),
                message: message.into(),
            });
        }
    }

    /// Adds a problem with an unknown key, which the sentence names.
    pub(super) fn unknown_key(&mut self, sentence: String) {
        self.problem(&Place::default(), sentence);
    }

    /// Adds a problem unless the value is valid.
    pub(super) fn check(&mut self, is_good: bool, place: &Place, message: &str) {
        if !is_good {
            self.problem(place, message);
        }
    }

    /// Adds a problem with a value of the wrong type.
    pub(super) fn unreadable(&mut self, place: &Place, message: &str) {
        self.unknown.insert(place.clone());
        self.unreadable.push(format!("{message} at {place}"));
    }

    /// Adds a problem with a value whose environment variable is not set.
    pub(super) fn unset(&mut self, place: &Place, variable: &str) {
        let message = format!("environment variable not set: {variable}");
        self.unknown.remove(place);
        self.problem(place, message);
        self.unknown.insert(place.clone());
    }

    /// Adds a warning for the operator.
    pub(super) fn warn(&mut self, warning: String) {
        // Several databases may give the same warning about the environment.
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Returns values of the wrong type, other problems, and warnings.
    pub(super) fn into_parts(self) -> (Vec<String>, Vec<Problem>, Vec<String>) {
        (self.unreadable, self.problems, self.warnings)
    }
}
