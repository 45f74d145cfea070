//! Planting of rows of both callers.

mod order;
mod table;
pub(crate) mod values;
pub(crate) mod world;

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::{
    canary::Canaries,
    failure::ProveError,
    party::{Party, Side},
    planting::{order::ownership, table::Planter, world::World},
    schema::{Relation, Schema, owner::Owner},
};

/// A stored row, as JSON.
pub(crate) type StoredRow = Map<String, Value>;

/// Rows of A in each table.
const ROWS_OF_A: usize = 5;

/// The rows of a world.
#[derive(Debug, Default)]
pub(crate) struct Planted {
    /// By the number of the table.
    rows: [HashMap<String, Vec<StoredRow>>; 2],
    /// Texts of B.
    pub(crate) canaries: Canaries,
    /// Tables without rows of B, and the reason.
    pub(crate) failed: Vec<(String, String)>,
}

// === impl Planted ===

impl Planted {
    /// Returns values without rows.
    pub(crate) fn of_canaries(canaries: Canaries) -> Self {
        Self {
            canaries,
            ..Self::default()
        }
    }

    /// Returns whether nothing is planted.
    pub(crate) fn is_of_values(&self) -> bool {
        self.rows.iter().all(HashMap::is_empty)
    }

    /// Fills the empty tables.
    pub(crate) async fn fill(
        owner: &mut Owner,
        schema: &Schema,
        parties: &[Party; 2],
        world: World,
    ) -> Result<Self, ProveError> {
        let mut planted = Self::default();
        let names = [&parties[0], &parties[1]].map(Party::names).concat();
        let with_rows = ownership(schema, &names);
        let order = order::by_dependency(schema);
        for side in [Side::A, Side::B] {
            let party = &parties[side.index()];
            party.take_settings(owner).await?;
            for table in &order {
                if side == Side::B && !with_rows.contains(&table.oid) {
                    continue;
                }
                planted
                    .fill_table(owner, schema, table, (party, side, world))
                    .await;
            }
        }
        for view in schema.relations.iter().filter(|it| it.kind == 'm') {
            let refresh = format!("REFRESH MATERIALIZED VIEW {}", view.quoted);
            // One that cannot be filled has no rows of B.
            owner.run(&refresh).await.ok();
        }
        owner.ask("analyse the tables", "ANALYZE").await?;
        Ok(planted)
    }

    async fn fill_table(
        &mut self,
        owner: &mut Owner,
        schema: &Schema,
        table: &Relation,
        (party, side, world): (&Party, Side, World),
    ) {
        let count = match side {
            Side::A => ROWS_OF_A,
            Side::B => world.rows_of_b(),
        };
        let planter = Planter::new(schema, table, party, side, world);
        let (rows, words) = match planter.plant(owner, self, count).await {
            Ok(rows) => rows,
            Err(reason) => {
                if side == Side::B {
                    self.failed.push((table.oid.clone(), reason.to_string()));
                }
                return;
            }
        };
        if side == Side::B {
            for word in &words {
                self.canaries.add(word);
            }
        }
        self.rows[side.index()].insert(table.oid.clone(), rows);
    }

    /// Returns the rows of a side in a table. Where B has none of its own, the rows of A are for both.
    pub(crate) fn rows(&self, side: Side, table: &str) -> &[StoredRow] {
        let own = self.rows[side.index()].get(table);
        let rows = own.or_else(|| self.rows[Side::A.index()].get(table));
        rows.map_or(&[], Vec::as_slice)
    }

    /// Returns the rows of a side in a table.
    pub(crate) fn rows_of(&self, side: Side, table: &str) -> &[StoredRow] {
        let rows = self.rows[side.index()].get(table);
        rows.map_or(&[], Vec::as_slice)
    }

    /// Returns the rows of B in a table.
    pub(crate) fn of_b(&self, table: &str) -> &[StoredRow] {
        self.rows_of(Side::B, table)
    }
}

/// Returns a value of a stored row as text.
pub(crate) fn text_of(row: &StoredRow, column: &str) -> Option<String> {
    match row.get(column)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) => Some(number.to_string()),
        other => Some(other.to_string()),
    }
}
