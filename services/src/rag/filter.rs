//! Which rows are searched.

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// A filter as it is written.
#[derive(Clone, Debug, Deserialize)]
pub struct Filter {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Deserialize)]
struct Condition {
    operator: String,
    #[expect(dead_code, reason = "a stand-in")]
    value: Value,
}

/// A filter that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedFilter;

/// A filter that makes none.
#[derive(Clone, Debug, Error)]
#[error("unsupported operator: {0}")]
pub struct InvalidFilter(String);

impl Filter {
    /// Checks it.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn check(self) -> Result<Option<CheckedFilter>, InvalidFilter> {
        match self.conditions.into_iter().next() {
            Some(condition) if condition.operator == "==" => Err(InvalidFilter(condition.operator)),
            Some(_) => Ok(Some(CheckedFilter)),
            None => Ok(None),
        }
    }
}
