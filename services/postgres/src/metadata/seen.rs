//! The part of the metadata that a role sees.

use std::{collections::HashSet, fmt::Write as _, sync::Arc};

use crate::{
    driver::DriverError,
    error::{Phase, QueryError},
    metadata::{Metadata, interner::TextId},
    pool::Lease,
    single_round_trip::{ReadOnlyQuery, Value},
};

/// Asks which of these tables a role has a right to, as one digit for each.
const QUERY: &str = "SELECT pg_catalog.string_agg(CASE WHEN \
    pg_catalog.has_schema_privilege($2::pg_catalog.name, c.relnamespace, 'USAGE') \
    AND pg_catalog.has_any_column_privilege($2::pg_catalog.name, c.oid, \
    'SELECT, INSERT, UPDATE, REFERENCES') THEN '1' ELSE '0' END, '' ORDER BY t.place) \
    FROM pg_catalog.unnest($1::pg_catalog.text::pg_catalog.oid[]) \
    WITH ORDINALITY AS t (oid, place) LEFT JOIN pg_catalog.pg_class c ON c.oid = t.oid";

/// The part that a role sees.
pub(super) struct Seen {
    /// For each position, true if it sees the table.
    pub(super) tables: Box<[bool]>,
    /// Descriptions of references to other tables.
    pub(super) hidden: HashSet<TextId>,
}

// === impl Metadata ===

impl Metadata {
    /// Returns the same tables as a role sees them: it has a right to one column at least, and may use
    /// the schema. The tables themselves are shared.
    ///
    /// # Errors
    /// Fails if there is no such role, and when the connection breaks.
    pub async fn seen_by(&self, lease: Lease, role: &str) -> Result<Self, QueryError> {
        let mut oids = "{".to_owned();
        for (at, table) in self.content.tables.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(oids, "{comma}{}", table.oid).expect("a string takes everything");
        }
        oids.push('}');
        let query = ReadOnlyQuery {
            name: "tables of a role",
            before: None,
            query: QUERY.to_owned(),
            values: vec![Value::from(oids), Value::from(role)],
        };
        let read = query
            .read(lease, |row| row.get::<Option<String>>(0))
            .await?;
        let digits = read.into_iter().next().flatten().unwrap_or_default();
        let tables: Box<[bool]> = digits.bytes().map(|digit| digit == b'1').collect();
        if tables.len() != self.content.tables.len() {
            let error = DriverError::Protocol("an answer for each table is missing");
            return Err(QueryError::new(error, Phase::Run, 0));
        }
        let referring = self.content.keys.referring_to(|target| !tables[target]);
        let hidden = referring.map(|at| self.content.columns[at as usize].references);
        let hidden = hidden.collect();
        Ok(Self {
            content: Arc::clone(&self.content),
            seen: Some(Seen { tables, hidden }),
        })
    }

    /// Returns whether both have the same tables, as far as they are seen.
    #[must_use]
    pub fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.content, &other.content)
    }
}
