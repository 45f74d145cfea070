//! Conditions of a client on rows, which put none of its text into the SQL.

use crate::{
    quoted,
    retrieval_queries::{Column, QueryBuilder},
};

/// Tests of a row's columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// True if one of them has to hold, false if all have to.
    pub any: bool,
    /// The tests; an empty list holds for every row.
    pub list: Vec<Condition>,
}

/// A test of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The name of the column, as in the catalogue.
    pub column: String,
    /// The test of its value.
    pub test: Test,
}

/// Test of a value.
///
/// Values are texts, which are cast to the type of the column.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It is NULL, or it is not.
    Null {
        /// True if it has to be NULL.
        is_wanted: bool,
    },
    /// It compares with another value.
    Compares(Comparison, String),
    /// It is one of some values, or none of them.
    OneOf {
        /// True if it has to be one of them.
        is_wanted: bool,
        /// The values.
        values: Vec<String>,
    },
}

/// Operator that compares two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `LIKE`
    Like,
    /// `ILIKE`
    LikeInAnyCase,
}

// === impl Conditions ===

impl Conditions {
    /// Returns them in SQL, without parentheses around them.
    pub(super) fn write(&self, builder: &mut QueryBuilder<'_>) -> String {
        let tests: Vec<_> = self.list.iter().map(|one| one.write(builder)).collect();
        if tests.is_empty() {
            "true".to_owned()
        } else {
            tests.join(if self.any { " OR " } else { " AND " })
        }
    }
}

// === impl Condition ===

impl Condition {
    fn write(&self, builder: &mut QueryBuilder<'_>) -> String {
        // PostgreSQL accepts no NUL in a message, and no name has one.
        let name = self.column.replace('\0', "");
        let column = quoted(&name);
        let known = builder.shape.column(&name);
        let cast = known.map(|column| format!("::{}", column.data_type));
        let cast = cast.as_deref().unwrap_or_default();
        match &self.test {
            Test::Null { is_wanted: true } => format!("{column} IS NULL"),
            Test::Null { is_wanted: false } => format!("{column} IS NOT NULL"),
            Test::Compares(comparison, value) => {
                let place = builder.text(value);
                let is_pattern = comparison.takes_pattern();
                // All text types take a pattern of the type `text`.
                let cast = match known {
                    Some(column) if is_pattern && column.is_text() => "",
                    _ => cast,
                };
                format!("{column} {} {place}{cast}", comparison.operator())
            }
            Test::OneOf { is_wanted, values } => {
                let place = builder.texts(values);
                // PostgreSQL has no array of arrays.
                if known.is_some_and(Column::is_array) {
                    let not = if *is_wanted { "" } else { "NOT " };
                    return format!(
                        "{column} {not}IN (SELECT value{cast} FROM pg_catalog.unnest({place}) AS value)"
                    );
                }
                let operator = if *is_wanted { "= ANY" } else { "<> ALL" };
                let array = if cast.is_empty() { "" } else { "[]" };
                format!("{column} {operator} ({place}{cast}{array})")
            }
        }
    }
}

// === impl Comparison ===

impl Comparison {
    fn operator(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::Greater => ">",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Like => "LIKE",
            Self::LikeInAnyCase => "ILIKE",
        }
    }

    fn takes_pattern(self) -> bool {
        matches!(self, Self::Like | Self::LikeInAnyCase)
    }
}
