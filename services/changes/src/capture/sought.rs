//! Changed rows of a table that is too large to be read through.
//!
//! They are sought through indexes: at the places that a RETURNING behind the text names, at keys that
//! were drawn from a sequence, and by foreign keys to changed rows of other tables. All rows with a
//! found key are looked at then, before and after.
//!
//! PostgreSQL counts each change. If as many rows were found as it has counted, all of them were found:
//! the counters are never too low, and a row that changed twice makes them too high.

use std::collections::{BTreeMap, BTreeSet};

use ziggurat_postgres::{
    error::{DriverError, QueryError},
    quoted,
    statement::{HeldRows, Statement},
};

use crate::{
    Reason, Table, Text,
    capture::{
        connections::{Capture, Stop},
        describe::{Described, Stored},
        opening::{FACTS, MISSING, Opening},
        rows::list,
        touched::Touched,
    },
    change::literal,
};

/// Rows before and after, by the root of their table.
pub(super) type Sides = BTreeMap<u32, [Vec<Vec<Text>>; 2]>;

/// Places of rows by the OID of their table.
pub(super) type Places = BTreeMap<u32, Vec<String>>;

/// Facts about a run.
pub(super) struct Facts<'a> {
    pub(super) opening: &'a Opening,
    pub(super) touched: &'a Touched,
    pub(super) described: &'a Described,
    /// Places that the statement has returned.
    pub(super) returned: &'a Places,
}

impl Capture<'_> {
    /// Runs a statement in the transaction that is open. With a list for RETURNING it also returns the
    /// places of the rows that it changes.
    pub(super) async fn execute(
        &mut self,
        statement: &Statement,
        list: Option<String>,
    ) -> Result<(HeldRows, Places), Stop> {
        let (max_bytes, most) = (self.rules.max_bytes, self.rules.max_rows.saturating_add(1));
        let returning = list.map(|list| statement.returning(&list, most));
        let sent = returning.as_ref().unwrap_or(statement);
        let rows = sent.run_within(&mut self.writer, max_bytes).await;
        let rows = rows.map_err(|error| match error {
            QueryError::Row(DriverError::Oversized { .. }) => {
                Stop::Unseen(Reason::Returned(max_bytes))
            }
            error => Stop::Failed(error),
        })?;
        let mut places = Places::new();
        if returning.is_none() {
            return Ok((rows, places));
        }
        let (rows, returned) = rows.without_rows(statement.command());
        for row in returned {
            for at in (0..row.fields().len()).step_by(2) {
                if let Some(place) = row.get(at)? {
                    places.entry(row.get(at + 1)?).or_default().push(place);
                }
            }
        }
        Ok((rows, places))
    }

    /// Returns the rows of a table before and after, or `None` if not all were found.
    pub(super) async fn seek(
        &mut self,
        facts: &Facts<'_>,
        table: &Stored,
        sides: &Sides,
    ) -> Result<Option<[Vec<Vec<Text>>; 2]>, Stop> {
        let definition = facts.described.tables.get(&table.root);
        let Some(definition) = definition.filter(|it| !it.key.is_empty()) else {
            return Ok(None);
        };
        let mut keys = BTreeSet::new();
        for way in self.ways(facts, table, definition, sides).await? {
            let found = self.rows(facts.opening, table, Some(&way)).await?;
            let found = found.iter().flatten();
            keys.extend(found.map(|row| definition.key_of(row)));
        }
        let by_key = definition.key.iter().enumerate().map(|(at, place)| {
            let column = &definition.columns[*place];
            let values = keys.iter().filter_map(|key| key[at].as_deref()).collect();
            any(&column.name, &column.type_name, &values)
        });
        let found = match by_key.collect::<Option<Vec<_>>>() {
            Some(conditions) if !keys.is_empty() => {
                let way = conditions.join(" AND ");
                self.rows(facts.opening, table, Some(&way)).await?
            }
            _ => Default::default(),
        };
        let [added, changed, removed] = facts.touched.moved(&facts.opening.counters, table.oid);
        let counted = [changed + removed, added + changed];
        let is_complete = found.each_ref().map(|rows| rows.len() as u64) == counted;
        Ok(is_complete.then_some(found))
    }

    /// Returns conditions that lead to changed rows through an index.
    async fn ways(
        &mut self,
        facts: &Facts<'_>,
        table: &Stored,
        definition: &Table,
        sides: &Sides,
    ) -> Result<Vec<String>, Stop> {
        let mut ways = Vec::new();
        if let Some(places) = facts.returned.get(&table.oid) {
            let places = literal(&list(places));
            ways.push(format!("t.ctid = ANY ({places}::tid[])"));
        }
        let key = definition
            .key
            .first()
            .map(|place| &definition.columns[*place]);
        for sequence in facts.touched.drawn(facts.opening) {
            if let Some(column) = key.filter(|it| it.sequences.contains(&sequence.oid)) {
                let low = sequence.before.min(sequence.after);
                let high = sequence.before.max(sequence.after);
                let name = quoted(&column.name);
                ways.push(format!("t.{name} BETWEEN {low} AND {high}"));
            }
        }
        let sql = format!("{FOREIGN_KEYS} {} ORDER BY k.oid", table.oid);
        let sets = self
            .writer
            .begin()
            .ask_all(&sql, &mut FACTS.clone())
            .await?;
        let mut keys: BTreeMap<u32, Option<Vec<String>>> = BTreeMap::new();
        for row in sets.first().ok_or(MISSING)? {
            let (name, root, column): (String, u32, String) =
                (row.get(1)?, row.get(2)?, row.get(3)?);
            let condition = referring(facts.described, sides, root, &column)
                .and_then(|(type_name, values)| any(&name, type_name, &values));
            let conditions = keys.entry(row.get(0)?).or_insert_with(|| Some(Vec::new()));
            match (conditions.as_mut(), condition) {
                (Some(conditions), Some(condition)) => conditions.push(condition),
                _ => *conditions = None,
            }
        }
        let keys = keys.into_values().flatten();
        ways.extend(keys.map(|conditions| conditions.join(" AND ")));
        Ok(ways)
    }
}

/// Lists the columns of foreign keys of a table with an index: the key, the column, the root of the
/// other table, and the column there.
const FOREIGN_KEYS: &str = "SELECT k.oid, a.attname, \
    coalesce(pg_partition_root(k.confrelid)::oid, k.confrelid), b.attname \
    FROM pg_constraint k CROSS JOIN unnest(k.conkey, k.confkey) AS pair (own, other) \
    JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = pair.own \
    JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = pair.other \
    WHERE k.contype = 'f' AND EXISTS (SELECT FROM pg_index i WHERE i.indrelid = k.conrelid \
    AND i.indisvalid AND i.indpred IS NULL AND i.indkey[0] = ANY (k.conkey)) AND k.conrelid =";

/// Returns the type and the values of a column in the changed rows of a table.
fn referring<'a>(
    described: &'a Described,
    sides: &'a Sides,
    root: u32,
    column: &str,
) -> Option<(&'a str, BTreeSet<&'a str>)> {
    let table = described.tables.get(&root)?;
    let place = table.columns.iter().position(|it| it.name == column)?;
    let rows = sides.get(&root)?.iter().flatten();
    let values = rows.filter_map(|row| row[place].as_deref()).collect();
    Some((&table.columns[place].type_name, values))
}

/// Writes the condition that a column has one of these values. Arrays cannot be looked up in this way.
fn any(column: &str, type_name: &str, values: &BTreeSet<&str>) -> Option<String> {
    if values.is_empty() || type_name.ends_with("[]") {
        return None;
    }
    let values: Vec<_> = values.iter().map(|value| literal(value)).collect();
    Some(format!(
        "t.{} = ANY (ARRAY[{}]::{type_name}[])",
        quoted(column),
        values.join(",")
    ))
}
