//! Questions, and what a model has to know to answer them.

mod facts;
mod joins;

use std::fmt;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use sqlx::{AssertSqlSafe, PgConnection};

pub(crate) use self::facts::Fact;

/// A question of a person, with the statement that answers it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    #[serde(rename = "question")]
    pub(crate) text: String,
    pub(crate) sql: String,
    /// Literals that the database defines, as `schema.table.column=value`.
    #[serde(default)]
    values: Vec<String>,
}

/// A table or view.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TableName {
    pub(crate) schema: String,
    pub(crate) name: String,
}

/// A column of a table or view.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ColumnName {
    pub(crate) table: TableName,
    pub(crate) name: String,
}

// === impl Question ===

impl Question {
    /// Reads the questions of a database.
    pub(crate) fn parse(yaml: &str) -> anyhow::Result<Vec<Self>> {
        Ok(serde_yaml::from_str(yaml)?)
    }

    /// Checks that the statement runs and returns a row.
    pub(crate) async fn check(&self, connection: &mut PgConnection) -> anyhow::Result<()> {
        let statement = sqlx::raw_sql(AssertSqlSafe(self.sql.as_str()));
        let rows = statement.fetch_all(connection).await;
        let rows = rows.with_context(|| format!("running {}", self.sql))?;
        ensure!(!rows.is_empty(), "no row: {}", self.sql);
        Ok(())
    }
}

// === impl TableName ===

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", quoted(&self.schema), quoted(&self.name))
    }
}

// === impl ColumnName ===

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.table, quoted(&self.name))
    }
}

/// Returns a name as SQL needs it. The names of the corpus are no reserved words.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = |c: char| c == '_' || c.is_ascii_digit() || c.is_lowercase();
    if name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("\"{name}\"")
}
