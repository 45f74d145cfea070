//! Constraints, indexes, policies and usual values of single tables.
//!
//! [`Metadata`](ziggurat_postgres::metadata::Metadata) has the short facts that are needed of all
//! tables; [`TableDetails`] has the rest, and is read for the tables that are shown.
//!
//! Expressions are written as PostgreSQL prints them, but on one line, in lower case where case has
//! no meaning, and without the casts that it adds to constants. Each text is cut at 4,000 characters
//! and then ends with `…`; all of one table have at most 256 KiB.

mod expression;
mod query;
mod rows;
#[cfg(test)]
mod tests;

use serde::Serialize;
use ziggurat_postgres::{
    error::{Phase, QueryError},
    pool::Lease,
    quoted,
    single_round_trip::ReadOnlyQuery,
    statement::MaskedColumns,
};

/// Maximum number of tables that are read at once.
const MAX_TABLES: usize = 20;

/// Limits on details.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DetailOptions {
    /// Number of distinct values up to which the values of a column are read; with 0, never.
    pub(crate) values_max: u32,
}

/// Details of a table, in addition to its metadata.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub(crate) struct TableDetails {
    /// The name of its schema.
    pub(crate) schema: String,
    /// Its name in the schema.
    pub(crate) name: String,
    /// Its check constraints and the check constraints of the domains of its columns.
    pub(crate) checks: Vec<Constraint>,
    /// The columns of each unique constraint and unique index, without the primary key and without
    /// indexes on expressions or on some of the rows.
    pub(crate) uniques: Vec<Vec<String>>,
    /// Its indexes, without the index of the primary key:
    /// `orders_open unique btree (customer_id, day desc) where closed_at is null`.
    pub(crate) indexes: Vec<String>,
    /// The state of its row security.
    pub(crate) row_security: RowSecurity,
    /// Its policies, which have no effect while its row security is off.
    pub(crate) policies: Vec<Policy>,
    /// The names of its triggers.
    pub(crate) triggers: Vec<String>,
    /// The query of a view that the role may read.
    pub(crate) view_definition: Option<String>,
    /// Its partitions, if it is partitioned.
    pub(crate) partitions: Option<Partitions>,
    /// The table that it is a partition of, as `schema.table`, and its bounds:
    /// `from ('2024-01-01') to ('2025-01-01')`.
    pub(crate) partition_of: Option<(String, String)>,
    /// The values of columns with few distinct ones, as far as the role may see them.
    pub(crate) values: Vec<ColumnValues>,
    /// The privileges that the role has, of `SELECT`, `INSERT`, `UPDATE` and `DELETE`. The first
    /// three may be limited to some columns.
    pub(crate) privileges: Vec<&'static str>,
    /// The columns that the role may not read, if it may read others.
    pub(crate) unreadable_columns: Vec<String>,
    /// Details are missing because there are too many.
    pub(crate) is_cut: bool,
}

/// Check constraint of a table or a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Constraint {
    /// Its name.
    pub(crate) name: String,
    /// Its condition: `status <> ''`. A domain calls the value of the column `value`.
    pub(crate) definition: String,
    /// The column that it is about, if it is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<String>,
}

/// State of the row security of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RowSecurity {
    /// Policies have no effect.
    #[default]
    Off,
    /// Policies hold for all roles but the owner of the table.
    On,
    /// Policies hold for the owner too.
    Forced,
}

/// Policy of row security.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Policy {
    /// Its name.
    pub(crate) name: String,
    /// `SELECT`, `INSERT`, `UPDATE`, `DELETE` or `ALL`.
    pub(crate) command: String,
    /// The roles that it holds for; `PUBLIC` for all.
    pub(crate) roles: Vec<String>,
    /// One permissive policy is enough for a row, while every restrictive one has to hold.
    pub(crate) is_permissive: bool,
    /// The condition for rows that are read or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) using: Option<String>,
    /// The condition for rows that are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) with_check: Option<String>,
}

/// Partitions of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partitions {
    /// The number of its direct partitions.
    pub(crate) count: u32,
    /// Its strategy and key: `range (day)`.
    pub(crate) key: String,
}

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnValues {
    /// The name of the column.
    pub(crate) column: String,
    /// The most common values, and the part of the rows that has each: 0.25 for a quarter.
    pub(crate) values: Vec<(String, f32)>,
}

// === impl TableDetails ===

impl TableDetails {
    /// Reads the details of up to 20 tables, in a read-only transaction limited by the query
    /// timeout of the database. They are in the order of `tables`, a list of schemas and names.
    /// Tables that do not exist, or that the metadata does not have, are left out.
    ///
    /// # Errors
    /// Fails when PostgreSQL refuses it or takes too long, and when the connection breaks.
    pub(crate) async fn load(
        lease: Lease,
        tables: &[(&str, &str)],
        options: DetailOptions,
    ) -> Result<Vec<Self>, QueryError> {
        let tables = &tables[..tables.len().min(MAX_TABLES)];
        let masked = MaskedColumns::marks(&lease.pool()).await;
        // Statistics are values.
        let options = if masked.is_empty() {
            options
        } else {
            DetailOptions { values_max: 0 }
        };
        let Some(text) = query::text(tables, options) else {
            return Ok(Vec::new());
        };
        let query = ReadOnlyQuery {
            name: "table details",
            before: Some("SET LOCAL jit = off".to_owned()),
            query: text,
            values: Vec::new(),
        };
        let found = query.read(lease, |row| Ok(row.clone())).await?;
        let mut details =
            rows::details(tables, &found).map_err(|error| QueryError::new(error, Phase::Run, 0))?;
        for table in &mut details {
            table.hide(&masked);
        }
        Ok(details)
    }

    /// Removes texts with what could be values of masked columns.
    fn hide(&mut self, masked: &MaskedColumns) {
        let name = (&*self.schema, &*self.name);
        if masked.is_empty() || !masked.are_of(name) {
            return;
        }
        let is_about = |check: &Constraint| {
            let column = check.column.as_deref();
            masked.are_in(&check.definition, name)
                || column.is_some_and(|column| masked.are_in(&quoted(column), name))
        };
        self.checks.retain(|check| !is_about(check));
        for index in &mut self.indexes {
            *index = masked.shown(index, name).to_owned();
        }
        self.indexes.retain(|index| !index.is_empty());
        for policy in &mut self.policies {
            for condition in [&mut policy.using, &mut policy.with_check] {
                condition.take_if(|text| masked.shown(text, name).is_empty());
            }
        }
        if let Some((_, bounds)) = &mut self.partition_of {
            "…".clone_into(bounds);
        }
    }
}
