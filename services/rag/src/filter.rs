//! Filters on the rows that a request may search.
//!
//! A [`Filter`] is written by a client or an operator, in JSON or in YAML. Checking it returns a
//! [`CheckedFilter`]. Its values keep the digits they were written with, because the type of the
//! column decides their meaning. Operators may write SQL instead, as a [`RawFilter`].
//!
//! ```
//! use ziggurat_rag_service::filter::Filter;
//!
//! let filter: Filter = serde_json::from_str(
//!     r#"{"conditions": [{"column": "tenant", "operator": "=", "value": 12345678901234567890}]}"#,
//! )?;
//! assert!(filter.check()?.is_some());
//!
//! let filter: Filter = serde_json::from_str(
//!     r#"{"conditions": [{"column": "tenant", "operator": "~", "value": "x"}]}"#,
//! )?;
//! let refusal = filter.check().expect_err("no such operator").to_string();
//! assert!(refusal.starts_with("unsupported operator: ~ (allowed: "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod raw;
#[cfg(test)]
mod tests;
mod value;

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use thiserror::Error;
use ziggurat_vector_search::retrieval_queries::{
    Comparison, Condition as Tested, Conditions, Test,
};

pub use self::raw::RawFilter;
use self::value::Value;

/// Limit on the conditions of a filter.
const MAX_CONDITIONS: usize = 50;

/// The operators, for error messages.
const OPERATORS: &str = "=, !=, <, >, <=, >=, LIKE, ILIKE, IN, NOT IN, IS NULL, IS NOT NULL";

/// A filter that is not checked yet.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    conditions: Vec<Condition>,
    logic: String,
}

/// The members of a filter that are parsed.
#[derive(Default, Deserialize)]
#[serde(default)]
struct FilterMembers {
    conditions: Option<Vec<Mapping<Condition>>>,
    logic: Option<String>,
}

/// A condition that is not checked yet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    column: Option<String>,
    operator: Option<String>,
    value: Option<Value>,
}

/// A valid filter with at least one condition.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedFilter {
    conditions: Conditions,
}

/// The reason why a filter is invalid. `Display` is for the author of the filter.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidFilter {
    /// The logic is neither AND nor OR.
    #[error("invalid logic operator: {0} (must be AND or OR)")]
    Logic(String),
    /// The operator is unknown.
    #[error("unsupported operator: {0} (allowed: {OPERATORS})")]
    Operator(String),
    /// The value of IN or NOT IN is not a list.
    #[error("IN operator requires array value, got: {0}")]
    NoList(&'static str),
    /// The list of IN or NOT IN is empty.
    #[error("IN operator requires non-empty array")]
    EmptyList,
    /// The list contains null, which no value is equal to.
    #[error("IN operator does not accept null elements")]
    NullElement,
    /// The operator needs a value.
    #[error("operator {0} requires non-nil value")]
    NoValue(String),
    /// A condition names no column.
    #[error("filter column is required")]
    NoColumn,
    /// There are too many conditions.
    #[error("filter exceeds maximum of {MAX_CONDITIONS} conditions")]
    TooMany,
    /// The SQL could change the query around it.
    #[error("filter must not contain {0}")]
    Unsafe(&'static str),
}

/// A value that must be written as a mapping; serde would also accept a list of the fields.
struct Mapping<T>(T);

/// Visitor that accepts only a mapping.
struct OnlyMapping<T>(PhantomData<T>);

/// A parsed operator.
enum ParsedOperator {
    Compare(Comparison),
    OneOf { is_wanted: bool },
    Null { is_wanted: bool },
}

// === impl Filter ===

impl Filter {
    /// Checks the filter. A filter without conditions becomes `None`.
    ///
    /// # Errors
    /// Names the first part that is invalid.
    pub fn check(self) -> Result<Option<CheckedFilter>, InvalidFilter> {
        if self.conditions.is_empty() {
            return Ok(None);
        }
        if self.conditions.len() > MAX_CONDITIONS {
            return Err(InvalidFilter::TooMany);
        }
        let any = match &*self.logic.to_uppercase() {
            "" | "AND" => false,
            "OR" => true,
            other => return Err(InvalidFilter::Logic(other.to_owned())),
        };
        let list = self.conditions.into_iter().map(Condition::check);
        let list = list.collect::<Result<_, _>>()?;
        let conditions = Conditions { any, list };
        Ok(Some(CheckedFilter { conditions }))
    }
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Mapping(FilterMembers { conditions, logic }) = Mapping::deserialize(deserializer)?;
        let conditions = conditions.unwrap_or_default();
        Ok(Self {
            conditions: conditions.into_iter().map(|Mapping(one)| one).collect(),
            logic: logic.unwrap_or_default(),
        })
    }
}

// === impl CheckedFilter ===

impl CheckedFilter {
    pub(super) fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Returns the columns that the filter names.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        let list = self.conditions.list.iter();
        list.map(|condition| &*condition.column)
    }
}

// === impl Condition ===

impl Condition {
    fn check(self) -> Result<Tested, InvalidFilter> {
        // PostgreSQL accepts no NUL in a message, and no column name contains one.
        let column = self.column.unwrap_or_default().replace('\0', "");
        if column.is_empty() {
            return Err(InvalidFilter::NoColumn);
        }
        let written = self.operator.unwrap_or_default();
        let value = self.value.unwrap_or(Value::Null);
        let test = match ParsedOperator::parse(&written) {
            None => return Err(InvalidFilter::Operator(written)),
            Some(ParsedOperator::Null { is_wanted }) => Test::Null { is_wanted },
            Some(ParsedOperator::OneOf { is_wanted }) => {
                let values = elements(value)?;
                Test::OneOf { is_wanted, values }
            }
            Some(ParsedOperator::Compare(comparison)) => match value.into_text() {
                Some(value) => Test::Compares(comparison, value),
                None => return Err(InvalidFilter::NoValue(written)),
            },
        };
        Ok(Tested { column, test })
    }
}

fn elements(value: Value) -> Result<Vec<String>, InvalidFilter> {
    let kind = value.kind();
    let list = value.into_list().ok_or(InvalidFilter::NoList(kind))?;
    if list.is_empty() {
        return Err(InvalidFilter::EmptyList);
    }
    let texts = list.into_iter().map(Value::into_text);
    let texts: Option<Vec<_>> = texts.collect();
    texts.ok_or(InvalidFilter::NullElement)
}

// === impl Mapping ===

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Mapping<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mapping = deserializer.deserialize_map(OnlyMapping(PhantomData))?;
        Ok(Self(mapping))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyMapping<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a structured filter object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

// === impl ParsedOperator ===

impl ParsedOperator {
    fn parse(written: &str) -> Option<Self> {
        Some(match &*written.to_ascii_uppercase() {
            "=" => Self::Compare(Comparison::Equal),
            "!=" => Self::Compare(Comparison::NotEqual),
            "<" => Self::Compare(Comparison::Less),
            ">" => Self::Compare(Comparison::Greater),
            "<=" => Self::Compare(Comparison::AtMost),
            ">=" => Self::Compare(Comparison::AtLeast),
            "LIKE" => Self::Compare(Comparison::Like),
            "ILIKE" => Self::Compare(Comparison::LikeInAnyCase),
            "IN" => Self::OneOf { is_wanted: true },
            "NOT IN" => Self::OneOf { is_wanted: false },
            "IS NULL" => Self::Null { is_wanted: true },
            "IS NOT NULL" => Self::Null { is_wanted: false },
            _ => return None,
        })
    }
}
