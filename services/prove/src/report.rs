//! The findings as lines.

use std::{collections::BTreeSet, fmt};

use crate::{
    rule::{Level, Rule},
    schema::Relation,
};

/// The object of a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The name of the database in the configuration.
    pub database: String,
    /// The schema and the name; none for the database as a whole.
    pub object: Option<(String, String)>,
    /// The policies of a table, or another part.
    pub part: Option<String>,
}

/// A finding about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The object.
    pub place: Place,
    /// The rule that is broken.
    pub rule: Rule,
    /// The sentence about it.
    pub text: String,
    /// The way in and the number of the call, if a call found it.
    pub case: Option<(String, usize)>,
}

/// The findings of a proof.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order of their objects.
    pub findings: Vec<Finding>,
    /// The objects without rows of B, and the reason.
    pub inconclusive: Vec<(Place, String)>,
    /// The calls of A in each world.
    pub calls: usize,
    /// The objects that A may reach.
    pub objects: usize,
}

// === impl Place ===

impl Place {
    /// Returns the place of a database as a whole.
    pub(crate) fn of_database(database: &str) -> Self {
        Self {
            database: database.to_owned(),
            ..Self::default()
        }
    }

    /// Returns the place of an object in a schema.
    pub(crate) fn of_object(database: &str, schema: &str, name: &str) -> Self {
        Self {
            object: Some((schema.to_owned(), name.to_owned())),
            ..Self::of_database(database)
        }
    }

    /// Returns the place of a table or a view, with its policies.
    pub(crate) fn of_relation(database: &str, relation: &Relation) -> Self {
        let policies = relation.policies.join(", ");
        let has_policies = relation.is_protected && !policies.is_empty();
        Self {
            part: has_policies.then(|| format!("policy {policies}")),
            ..Self::of_object(database, &relation.schema, &relation.name)
        }
    }

    /// Returns its address without the part.
    pub(crate) fn uri(&self) -> String {
        match &self.object {
            Some((schema, name)) => format!("pg://{}/{schema}/{name}", self.database),
            None => format!("pg://{}", self.database),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.uri())?;
        self.part.iter().try_for_each(|part| write!(f, " {part}"))
    }
}

// === impl Finding ===

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (level, name) = (self.rule.level(), self.rule.name());
        write!(f, "{}: {level} {name}: {}", self.place, self.text)?;
        let mut case = self.case.iter();
        case.try_for_each(|(entrance, number)| write!(f, " ({entrance}, case {number})"))
    }
}

// === impl Report ===

impl Report {
    /// Sorts the findings by their objects, and drops those that follow from another one.
    pub(crate) fn finish(&mut self) {
        self.findings.sort_by(|one, two| {
            let key = |it: &Finding| {
                (
                    it.place.uri(),
                    it.rule.clone(),
                    it.case.clone().map(|it| it.1),
                )
            };
            key(one).cmp(&key(two))
        });
        let mut known = BTreeSet::new();
        self.findings.retain(|it| {
            let key = (it.place.clone(), it.rule.clone());
            // Each weakness of the schema stands for itself.
            it.case.is_none() || known.insert(key)
        });
        let all = self.findings.iter();
        let all: BTreeSet<_> = all.map(|it| (it.place.uri(), it.rule.clone())).collect();
        self.findings.retain(|it| {
            let mut causes = causes(&it.rule).iter();
            !causes.any(|cause| all.contains(&(it.place.uri(), cause.clone())))
        });
    }

    /// Returns the number of findings of a level. Times are in no count.
    pub(crate) fn count(&self, level: Level) -> usize {
        let counted = self.findings.iter().filter(|it| it.rule != Rule::Timing);
        counted.filter(|it| it.rule.level() == level).count()
    }

    /// Returns the exit code of the program.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.count(Level::Error) > 0 {
            3
        } else if self.inconclusive.is_empty() {
            0
        } else {
            4
        }
    }
}

/// Returns the rules from which a finding of this rule follows.
fn causes(rule: &Rule) -> &'static [Rule] {
    match rule {
        Rule::Value => &[Rule::Row],
        Rule::Count => &[Rule::Row, Rule::Value],
        Rule::ErrorText | Rule::Plan | Rule::Statistics => &[Rule::Row, Rule::Value, Rule::Count],
        _ => &[],
    }
}

impl fmt::Display for Report {
    /// Writes a line for each finding, and the counts at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        for (place, reason) in &self.inconclusive {
            writeln!(f, "{}: inconclusive: {reason}", place.uri())?;
        }
        let named = |count: usize, name: &str| {
            let end = if count == 1 { "" } else { "s" };
            format!("{count} {name}{end}")
        };
        writeln!(
            f,
            "{} on {}, {}, {}, {}, {} inconclusive",
            named(self.calls, "call"),
            named(self.objects, "object"),
            named(self.count(Level::Error), "error"),
            named(self.count(Level::Warning), "warning"),
            named(self.count(Level::Note), "note"),
            self.inconclusive.len(),
        )
    }
}

#[cfg(test)]
mod tests;
