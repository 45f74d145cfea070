//! Which documents a request may see.
//!
//! A [`Filter`] is what a client or an operator writes, in JSON or in YAML. Checked, it is a
//! [`CheckedFilter`], whose values have the digits they were written with: the type of the
//! column says what they mean. Operators may write SQL instead, as a [`RawFilter`].
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

/// The most conditions of a filter.
const MAX_CONDITIONS: usize = 50;

/// The operators, as they are written.
const ALLOWED: &str = "=, !=, <, >, <=, >=, LIKE, ILIKE, IN, NOT IN, IS NULL, IS NOT NULL";

/// A filter as it is written, not checked yet.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    conditions: Vec<Condition>,
    logic: String,
}

/// What is read of it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    conditions: Option<Vec<Mapping<Condition>>>,
    logic: Option<String>,
}

/// One of its conditions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    column: Option<String>,
    operator: Option<String>,
    value: Option<Value>,
}

/// A filter with at least one condition, all of which make sense.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedFilter {
    conditions: Conditions,
}

/// Why a filter is no good. `Display` is for whoever wrote it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidFilter {
    /// Neither AND nor OR.
    #[error("invalid logic operator: {0} (must be AND or OR)")]
    Logic(String),
    /// None of the twelve.
    #[error("unsupported operator: {0} (allowed: {ALLOWED})")]
    Operator(String),
    /// A list is needed.
    #[error("IN operator requires array value, got: {0}")]
    NoList(&'static str),
    /// A list with something in it is needed.
    #[error("IN operator requires non-empty array")]
    EmptyList,
    /// Nothing is equal to null.
    #[error("IN operator does not accept null elements")]
    NullElement,
    /// Something to compare with is needed.
    #[error("operator {0} requires non-nil value")]
    NoValue(String),
    /// A condition names no column.
    #[error("filter column is required")]
    NoColumn,
    /// There are too many conditions.
    #[error("filter exceeds maximum of {MAX_CONDITIONS} conditions")]
    TooMany,
    /// SQL that would change the query around it.
    #[error("filter must not contain {0}")]
    Unsafe(&'static str),
}

/// What is written as a mapping, and not as a list of the same values.
struct Mapping<T>(T);

/// Takes a mapping only.
struct OnlyMapping<T>(PhantomData<T>);

/// What an operator asks for.
enum Operator {
    Compare(Comparison),
    OneOf { is_wanted: bool },
    Null { is_wanted: bool },
}

// === impl Filter ===

impl Filter {
    /// Checks it. Without conditions it is none.
    ///
    /// # Errors
    /// Says what is wrong with the first part that is.
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
        let Mapping(Written { conditions, logic }) = Mapping::deserialize(deserializer)?;
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

    /// The columns it names.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        let list = self.conditions.list.iter();
        list.map(|condition| &*condition.column)
    }
}

// === impl Condition ===

impl Condition {
    fn check(self) -> Result<Tested, InvalidFilter> {
        // PostgreSQL takes no NUL in a message, and no name has one.
        let column = self.column.unwrap_or_default().replace('\0', "");
        if column.is_empty() {
            return Err(InvalidFilter::NoColumn);
        }
        let written = self.operator.unwrap_or_default();
        let value = self.value.unwrap_or(Value::Null);
        let test = match Operator::parse(&written) {
            None => return Err(InvalidFilter::Operator(written)),
            Some(Operator::Null { is_wanted }) => Test::Null { is_wanted },
            Some(Operator::OneOf { is_wanted }) => {
                let values = elements(value)?;
                Test::OneOf { is_wanted, values }
            }
            Some(Operator::Compare(comparison)) => match value.into_text() {
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

// === impl Operator ===

impl Operator {
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
