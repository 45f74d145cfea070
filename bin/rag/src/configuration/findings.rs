//! What is wrong with a configuration: everything, not only the first thing.

use std::{collections::BTreeSet, fmt};

/// Where a value is in the file: `pipelines[0].tables[1].text_column`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(String);

/// A problem of a value, or of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    place: Place,
    message: String,
}

/// Collects what is wrong.
#[derive(Debug, Default)]
pub(super) struct Findings {
    problems: Vec<Problem>,
    /// Values that are of no known kind; as bad as a file that is no YAML.
    unreadable: Vec<String>,
    /// Values that are not known: what follows from that is no news.
    unknown: BTreeSet<Place>,
    warnings: Vec<String>,
}

// === impl Place ===

impl Place {
    /// A section of the file.
    pub(super) fn section(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// A key below.
    pub(super) fn key(&self, key: &str) -> Self {
        Self(format!("{self}.{key}"))
    }

    /// An element of a list.
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
    /// Notes that a value will not do.
    pub(super) fn problem(&mut self, place: &Place, message: impl Into<String>) {
        if !self.unknown.contains(place) {
            self.problems.push(Problem {
                place: place.clone(),
                message: message.into(),
            });
        }
    }

    /// Notes a key that means nothing; the sentence names it.
    pub(super) fn unknown_key(&mut self, sentence: String) {
        self.problem(&Place::default(), sentence);
    }

    /// Notes what a value will not do for, unless it will.
    pub(super) fn check(&mut self, is_good: bool, place: &Place, message: &str) {
        if !is_good {
            self.problem(place, message);
        }
    }

    /// Notes that a value is of no known kind.
    pub(super) fn unreadable(&mut self, place: &Place, message: &str) {
        self.unknown.insert(place.clone());
        self.unreadable.push(format!("{message} at {place}"));
    }

    /// Notes that a value is taken from a variable that is not set.
    pub(super) fn unset(&mut self, place: &Place, variable: &str) {
        let message = format!("environment variable not set: {variable}");
        self.unknown.remove(place);
        self.problem(place, message);
        self.unknown.insert(place.clone());
    }

    /// Notes what the operator should know.
    pub(super) fn warn(&mut self, warning: String) {
        // Several databases have the same to say about the environment.
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// What is of no known kind, what will not do, and what is worth a word.
    pub(super) fn into_parts(self) -> (Vec<String>, Vec<Problem>, Vec<String>) {
        (self.unreadable, self.problems, self.warnings)
    }
}
