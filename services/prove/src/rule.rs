//! The rules that findings belong to.

use std::fmt;

/// Weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// The caller sees something of another.
    Error,
    /// The database has a weakness.
    Warning,
    /// PostgreSQL tells it to every role.
    Note,
}

/// The rule of a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A row came back.
    Row,
    /// A value came back.
    Value,
    /// A number depends on rows.
    Count,
    /// The text of an error depends on rows.
    ErrorText,
    /// A plan depends on rows.
    Plan,
    /// Statistics depend on rows.
    Statistics,
    /// A unique key tells that it exists.
    UniqueOracle,
    /// A foreign key tells that it exists.
    ForeignKeyOracle,
    /// A sequence counts the rows of all.
    Sequence,
    /// The size of a table counts the rows of all.
    Size,
    /// The places of rows tell of others between them.
    PhysicalOrder,
    /// The time depends on rows.
    Timing,
    /// A weakness that the definition of the schema shows.
    Policy(String),
}

/// The rules with fixed names: the name and the sentence.
const NAMED: [(Rule, &str, &str); 12] = [
    (Rule::Row, "row", "a row of B came back"),
    (Rule::Value, "value", "a value of B came back"),
    (Rule::Count, "count", "a number depends on rows of B"),
    (
        Rule::ErrorText,
        "error-text",
        "the text of an error depends on rows of B",
    ),
    (Rule::Plan, "plan", "a plan depends on rows of B"),
    (
        Rule::Statistics,
        "statistics",
        "statistics depend on rows of B",
    ),
    (
        Rule::UniqueOracle,
        "unique-oracle",
        "a unique key tells whether B has a value",
    ),
    (
        Rule::ForeignKeyOracle,
        "foreign-key-oracle",
        "a foreign key tells whether B has a row",
    ),
    (
        Rule::Sequence,
        "sequence",
        "a sequence counts the rows of B",
    ),
    (
        Rule::Size,
        "size",
        "the size of the table counts the rows of B",
    ),
    (
        Rule::PhysicalOrder,
        "physical-order",
        "the places of rows tell of rows of B",
    ),
    (Rule::Timing, "timing", "the time depends on rows of B"),
];

/// The weakness of policies that is an error.
const OPEN_POLICY: &str = "policy-true";

// === impl Level ===

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

// === impl Rule ===

impl Rule {
    /// Returns the rule of a name in the file of cases.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut named = NAMED.into_iter();
        named.find_map(|(rule, known, _)| (known == name).then_some(rule))
    }

    /// Returns its name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Policy(name) => name,
            rule => rule.named_as().0,
        }
    }

    /// Returns the sentence about a finding.
    pub(crate) fn sentence(&self) -> &'static str {
        self.named_as().1
    }

    /// Returns the weight of its findings.
    pub(crate) fn level(&self) -> Level {
        match self {
            Self::Row
            | Self::Value
            | Self::Count
            | Self::ErrorText
            | Self::Plan
            | Self::Statistics => Level::Error,
            Self::Policy(name) if name == OPEN_POLICY => Level::Error,
            Self::Policy(_) => Level::Warning,
            _ => Level::Note,
        }
    }

    fn named_as(&self) -> (&'static str, &'static str) {
        let mut named = NAMED.into_iter();
        let found = named.find(|(rule, _, _)| rule == self);
        found.map_or(("policy", ""), |(_, name, sentence)| (name, sentence))
    }
}
