//! Names that a program has configured, as numbers.

use std::{collections::BTreeMap, sync::Arc};

use crate::label::{Label, Values};

/// Number that stands for all values that a label does not have.
pub(crate) const OTHER: usize = 0;

/// Number of the empty value: the label does not apply.
pub(crate) const ABSENT: usize = 1;

/// Number of the first value with a name.
pub(crate) const FIRST: usize = 2;

/// Names per set. A program that is reloaded with new names again and again stays below it.
const MAX_NAMES: usize = 4096;

/// Set of names that a program has configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Set {
    /// Methods of calls, such as `tools/call` and `GET /api/databases`.
    Methods,
    /// Tools, built in and defined by the operator.
    Tools,
    /// Databases by the names in the configuration.
    Databases,
    /// Pipelines of questions.
    Pipelines,
    /// Providers of models.
    Providers,
    /// Paths under which a server is reached, such as `/mcp/v1` and `/api`.
    Endpoints,
}

/// The names of each [`Set`] that have series of their own.
#[derive(Clone, Debug, Default)]
pub struct Known(BTreeMap<Set, Vec<String>>);

/// Names of all sets, in their order, with their numbers, which never change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names([SetNames; Set::COUNT]);

/// Names of one set.
#[derive(Clone, Debug, Default)]
struct SetNames {
    /// The name of each number from [`FIRST`] on.
    by_id: Vec<Arc<str>>,
    /// The same, sorted by name.
    by_name: Vec<(Arc<str>, usize)>,
}

// === impl Set ===

impl Set {
    /// Number of sets.
    const COUNT: usize = Self::Endpoints as usize + 1;

    /// Returns the words for the values of a label in the reference.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Methods => "methods of the program",
            Self::Tools => "tools, built in and defined by the operator",
            Self::Databases => "configured databases; `state` is that of `ziggurat-platform`",
            Self::Pipelines => "configured pipelines",
            Self::Providers => "configured providers of models",
            Self::Endpoints => "paths under which the server is reached",
        }
    }
}

// === impl Known ===

impl Known {
    /// Adds names to a set.
    #[must_use]
    pub fn with(mut self, set: Set, names: impl IntoIterator<Item: Into<String>>) -> Self {
        let names = names.into_iter().map(Into::into);
        self.0.entry(set).or_default().extend(names);
        self
    }
}

// === impl Names ===

impl Names {
    /// Adds the names that are new, as far as there is room for them.
    pub(crate) fn add(&mut self, known: &Known) {
        for (set, names) in &known.0 {
            let numbered = &mut self.0[*set as usize];
            for name in names {
                numbered.add(name);
            }
        }
    }

    fn of(&self, set: Set) -> &SetNames {
        // Each set has a place.
        &self.0[set as usize]
    }

    /// Returns the number of a value.
    pub(crate) fn id(&self, label: &Label, value: &str) -> usize {
        if value.is_empty() {
            return ABSENT;
        }
        let found = match label.values {
            Values::Fixed(values) => values
                .iter()
                .position(|known| *known == value)
                .map(|position| position + FIRST),
            Values::Known(set) => self.of(set).id(value),
            Values::Build => None,
        };
        found.unwrap_or(OTHER)
    }

    /// Returns the value that has a number.
    pub(crate) fn value(&self, label: &Label, id: usize) -> Option<&str> {
        match (id, &label.values) {
            (OTHER, _) => Some("other"),
            (ABSENT, _) => Some(""),
            (_, Values::Fixed(values)) => values.get(id - FIRST).copied(),
            (_, Values::Known(set)) => self.of(*set).by_id.get(id - FIRST).map(|name| &**name),
            (_, Values::Build) => None,
        }
    }

    /// Returns the numbers of the values that have names.
    pub(crate) fn ids(&self, label: &Label) -> impl Iterator<Item = usize> + use<> {
        let count = match label.values {
            Values::Fixed(values) => values.len(),
            Values::Known(set) => self.of(set).by_id.len(),
            Values::Build => 0,
        };
        FIRST..FIRST + count
    }
}

// === impl SetNames ===

impl SetNames {
    fn id(&self, name: &str) -> Option<usize> {
        let position = self.position(name).ok()?;
        self.by_name.get(position).map(|(_, id)| *id)
    }

    fn add(&mut self, name: &str) {
        // A tool may have the name `other`; it shares the series.
        if name.is_empty() || name == "other" || self.by_id.len() >= MAX_NAMES {
            return;
        }
        if let Err(position) = self.position(name) {
            let (name, id) = (Arc::<str>::from(name), FIRST + self.by_id.len());
            self.by_name.insert(position, (Arc::clone(&name), id));
            self.by_id.push(name);
        }
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        // By length first, so that most names are told apart without reading them.
        self.by_name
            .binary_search_by(|(known, _)| (known.len(), &**known).cmp(&(name.len(), name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label;

    #[test]
    fn numbers_of_names_stay_when_names_are_added() {
        let mut names = Names::default();
        names.add(&Known::default().with(Set::Tools, ["m", "", "other", "m"]));
        let before = names.id(&label::TOOL, "m");
        names.add(&Known::default().with(Set::Tools, ["a", "z", "m"]));
        assert_eq!(names.id(&label::TOOL, "m"), before);
        for name in ["a", "m", "z"] {
            let id = names.id(&label::TOOL, name);
            assert_eq!(names.value(&label::TOOL, id), Some(name));
        }
        assert_eq!(names.ids(&label::TOOL).count(), 3);
    }

    #[test]
    fn a_name_that_is_not_known_is_other_and_none_is_absent() {
        let names = Names::default();
        for label in [&label::TOOL, &label::VERDICT] {
            assert_eq!(names.id(label, "invented"), OTHER);
            assert_eq!(names.id(label, "other"), OTHER);
            assert_eq!(names.id(label, ""), ABSENT);
        }
        assert_eq!(names.value(&label::TOOL, 17), None);
        assert_eq!(names.value(&label::VERDICT, 170), None);
    }

    #[test]
    fn names_beyond_the_bound_are_other() {
        let mut names = Names::default();
        let many = (0..2 * MAX_NAMES).map(|number| format!("tool_{number}"));
        names.add(&Known::default().with(Set::Tools, many));
        assert_eq!(names.ids(&label::TOOL).count(), MAX_NAMES);
        assert_ne!(names.id(&label::TOOL, "tool_4095"), OTHER);
        assert_eq!(names.id(&label::TOOL, "tool_4096"), OTHER);
    }
}
