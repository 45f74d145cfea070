//! Facts of a database that a statement needs. PostgreSQL finds them: it records the columns that a
//! view depends on.

use std::{collections::BTreeSet, fmt};

use anyhow::Context as _;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::{ColumnName, Question, TableName, joins};

/// Something that a model must know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fact {
    /// The name of a table, with its schema.
    Table(TableName),
    /// A column, and its table.
    Column(ColumnName),
    /// The spelling of a value of a column.
    Value(ColumnName, String),
    /// Two columns that join their tables.
    Join(ColumnName, ColumnName),
}

/// The columns that the view `gold` depends on.
const USED: &str = "
SELECT DISTINCT n.nspname::text, c.relname::text, a.attname::text
FROM pg_catalog.pg_rewrite r
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass
        AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass
    JOIN pg_catalog.pg_class c ON c.oid = d.refobjid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
        AND a.attnum > 0
WHERE r.ev_class = 'pg_temp.gold'::regclass AND c.oid <> r.ev_class";

// === impl Question ===

impl Question {
    /// Returns what its statement needs, sorted.
    pub(crate) async fn facts(
        &self,
        connection: &mut PgConnection,
    ) -> anyhow::Result<BTreeSet<Fact>> {
        let mut transaction = connection.begin().await?;
        let create = format!("CREATE TEMP VIEW gold AS {}", self.sql);
        sqlx::raw_sql(AssertSqlSafe(create))
            .execute(&mut *transaction)
            .await
            .with_context(|| format!("making a view of {}", self.sql))?;
        let used: Vec<(String, String, Option<String>)> =
            sqlx::query_as(USED).fetch_all(&mut *transaction).await?;
        // So that every table in the text has its schema.
        sqlx::raw_sql("SET LOCAL search_path = ''")
            .execute(&mut *transaction)
            .await?;
        let text: String = sqlx::query_scalar("SELECT pg_get_viewdef('pg_temp.gold'::regclass)")
            .fetch_one(&mut *transaction)
            .await?;
        transaction.rollback().await?;

        let mut facts = BTreeSet::new();
        for (schema, name, column) in used {
            let table = TableName { schema, name };
            facts.insert(Fact::Table(table.clone()));
            facts.extend(column.map(|name| Fact::Column(ColumnName { table, name })));
        }
        let tables: Vec<TableName> = facts.iter().filter_map(Fact::table).cloned().collect();
        let joins = joins::of(&text, &tables);
        facts.extend(joins.into_iter().map(|(one, other)| Fact::Join(one, other)));
        for value in &self.values {
            let fact = Fact::value(value).with_context(|| format!("reading the value {value}"))?;
            facts.insert(fact);
        }
        Ok(facts)
    }
}

// === impl Fact ===

impl Fact {
    /// Returns the table if this is the fact that it exists.
    fn table(&self) -> Option<&TableName> {
        match self {
            Self::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Reads `schema.table.column=value`.
    fn value(text: &str) -> Option<Self> {
        let (column, value) = text.split_once('=')?;
        let mut names = column.splitn(3, '.').map(str::to_owned);
        let (schema, name) = (names.next()?, names.next()?);
        let column = ColumnName {
            table: TableName { schema, name },
            name: names.next()?,
        };
        Some(Self::Value(column, value.to_owned()))
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(table) => write!(f, "table {table}"),
            Self::Column(column) => write!(f, "column {column}"),
            Self::Value(column, value) => write!(f, "value {column} = '{value}'"),
            Self::Join(one, other) => write!(f, "join {one} = {other}"),
        }
    }
}
