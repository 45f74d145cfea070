//! Planting of the rows of one caller in one table.

use std::collections::BTreeSet;

use ziggurat_postgres::driver::{DriverError, Row};

use crate::{
    failure::Unplanted,
    party::{Party, Side, last_word},
    planting::{
        Planted, StoredRow, text_of,
        values::{Seat, Text, literal, of_fact},
        world::World,
    },
    schema::{Column, ForeignKey, Relation, Schema, owner::Owner, query},
};

/// Attempts for the first row of a table.
const MAX_ATTEMPTS: usize = 600;

/// Attempts for each further row.
const MAX_MORE: usize = 40;

/// Plants rows of a caller in a table.
pub(super) struct Planter<'a> {
    schema: &'a Schema,
    table: &'a Relation,
    party: &'a Party,
    side: Side,
    world: World,
}

/// A row that could be stored, and the attempt that did it.
struct Stored {
    row: StoredRow,
    attempt: usize,
}

// === impl Planter ===

impl<'a> Planter<'a> {
    pub(super) fn new(
        schema: &'a Schema,
        table: &'a Relation,
        party: &'a Party,
        side: Side,
        world: World,
    ) -> Self {
        Self {
            schema,
            table,
            party,
            side,
            world,
        }
    }

    /// Plants so many rows, or fewer if a unique key does not take more. Returns them, and their
    /// words.
    ///
    /// # Errors
    /// Returns why not a single row could be planted that its owner reads.
    pub(super) async fn plant(
        &self,
        owner: &mut Owner,
        planted: &Planted,
        count: usize,
    ) -> Result<(Vec<StoredRow>, BTreeSet<String>), Unplanted> {
        let (mut rows, mut words) = (Vec::new(), BTreeSet::new());
        let mut from = 0;
        for row in 0..count {
            let limit = if row == 0 { MAX_ATTEMPTS } else { MAX_MORE };
            match self
                .plant_row(owner, planted, row, from..from + limit)
                .await
            {
                Ok(stored) => {
                    from = stored.attempt;
                    words.extend(self.words(row, &stored.row));
                    rows.push(stored.row);
                }
                Err(reason) if row == 0 => return Err(reason),
                Err(_) => break,
            }
        }
        Ok((rows, words))
    }

    async fn plant_row(
        &self,
        owner: &mut Owner,
        planted: &Planted,
        row: usize,
        attempts: std::ops::Range<usize>,
    ) -> Result<Stored, Unplanted> {
        let choices = self.choices(planted, row);
        let all = combinations(choices.iter().map(|(_, values)| values.len()));
        let seen = self.count().await;
        let mut reason = Unplanted::Dropped;
        for attempt in attempts.start..attempts.end.min(all) {
            let insert = self.insert(&choices, attempt);
            let rows = match owner.run(&insert).await {
                Ok(rows) => rows,
                Err(error) => {
                    let is_lost = !matches!(error, DriverError::Server(_));
                    reason = Unplanted::Refused(error);
                    if is_lost {
                        break;
                    }
                    continue;
                }
            };
            let Some(row) = stored(&rows) else {
                continue;
            };
            match (&seen, self.count().await) {
                (Some(Ok(before)), Some(Ok(after))) if after <= *before => {
                    reason = Unplanted::Unseen;
                }
                (_, Some(Err(error))) => reason = error,
                _ => return Ok(Stored { row, attempt }),
            }
            owner.run(&removal(&rows)).await.ok();
        }
        Err(reason)
    }

    /// Counts the rows that the caller reads; none if the table is closed to it.
    async fn count(&self) -> Option<Result<u64, Unplanted>> {
        let is_open = self.party.reads(&self.table.oid);
        if is_open {
            Some(self.counted().await)
        } else {
            None
        }
    }

    async fn counted(&self) -> Result<u64, Unplanted> {
        let text = format!("SELECT count(*) FROM {}", self.table.quoted);
        let lease = self.party.pool.lease().await?;
        let number = |row: &Row| Ok(row.text(0)?.parse().unwrap_or_default());
        let rows = query(&text, Vec::new()).read(lease, number).await?;
        Ok(rows.first().copied().unwrap_or_default())
    }

    /// Returns the columns that get a value, each with the values to try.
    fn choices(&self, planted: &Planted, row: usize) -> Vec<(&'a Column, Vec<Text>)> {
        let mut choices = Vec::new();
        let columns = self.table.columns.iter().filter(|it| !it.is_generated);
        for column in columns {
            let values = match self.key_of(column) {
                Some(key) => self.key_values(key, column, planted, row),
                None => self.values(column, planted, row),
            };
            if !values.is_empty() {
                choices.push((column, values));
            }
        }
        // The values of policies change last: each needs a look with the eyes of the caller.
        choices.sort_by_key(|(column, _)| self.names_caller(column));
        choices
    }

    fn values(&self, column: &Column, planted: &Planted, row: usize) -> Vec<Text> {
        let seat = self.seat(row);
        if self.names_caller(column) {
            let mut values = self.party_values(column);
            values.extend(self.membership_values(column, planted));
            if !column.is_drawn {
                values.extend(seat.alternatives(column));
            }
            return distinct(values);
        }
        if column.is_drawn {
            return Vec::new();
        }
        let values = if column.checks.is_empty() && column.labels.is_empty() {
            vec![seat.value(column)]
        } else {
            seat.alternatives(column)
        };
        if values == [None] && column.has_default {
            return Vec::new();
        }
        values
    }

    /// Returns whether a column names the owner of a row, by itself or through a foreign key to it.
    fn names_caller(&self, column: &Column) -> bool {
        let names = self.party.names();
        let names_caller = |column: &Column| column.is_policy || names.contains(&column.name);
        let is_named = |key: &ForeignKey| {
            let place = key.parent_columns.iter().position(|it| *it == column.name);
            let child = self.schema.relations.iter().find(|it| it.oid == key.child);
            let columns = child.into_iter().flat_map(|child| &child.columns);
            let name = place.and_then(|place| key.columns.get(place));
            let mut columns = columns.filter(|it| Some(&it.name) == name);
            columns.any(names_caller)
        };
        let mut keys = self.schema.keys.iter();
        names_caller(column) || keys.any(|key| key.parent == self.table.oid && is_named(key))
    }

    /// Returns the facts about the caller that a column takes, the ones of its name first.
    fn party_values(&self, column: &Column) -> Vec<Text> {
        let mut facts: Vec<_> = self.party.facts.iter().collect();
        facts.sort_by_key(|(name, _)| last_word(name) != column.name);
        let values = facts
            .iter()
            .map(|(name, value)| of_fact(name, value, column));
        values.flatten().map(Some).collect()
    }

    /// Returns the values of the caller in the tables that policies read.
    fn membership_values(&self, column: &Column, planted: &Planted) -> Vec<Text> {
        let mut values = Vec::new();
        for other in &self.table.read_by_policies {
            let rows = planted.rows(self.side, &other.oid);
            let texts = rows.iter().filter_map(|row| text_of(row, &other.name));
            values.extend(texts.map(|text| of_fact(&other.name, &text, column)));
        }
        values.retain(Option::is_some);
        values
    }

    fn key_of(&self, column: &Column) -> Option<&'a ForeignKey> {
        let mut keys = self.schema.keys.iter();
        keys.find(|key| key.child == self.table.oid && key.columns.contains(&column.name))
    }

    /// Returns the values that a column of a foreign key may have.
    fn key_values(
        &self,
        key: &ForeignKey,
        column: &Column,
        planted: &Planted,
        row: usize,
    ) -> Vec<Text> {
        let rows = planted.rows(self.side, &key.parent);
        let place = key.columns.iter().position(|it| *it == column.name);
        let name = place.and_then(|place| key.parent_columns.get(place));
        let Some(name) = name.filter(|_| !rows.is_empty() && key.parent != self.table.oid) else {
            return vec![None];
        };
        if self.names_caller(column) {
            return distinct(rows.iter().map(|row| text_of(row, name)).collect());
        }
        vec![text_of(&rows[row % rows.len()], name)]
    }

    fn insert(&self, choices: &[(&Column, Vec<Text>)], attempt: usize) -> String {
        let (mut columns, mut values, mut rest) = (Vec::new(), Vec::new(), attempt);
        for (column, candidates) in choices {
            columns.push(&*column.quoted);
            values.push(literal(&candidates[rest % candidates.len()]));
            rest /= candidates.len();
        }
        let table = &self.table.quoted;
        let rows = if columns.is_empty() {
            "DEFAULT VALUES".to_owned()
        } else {
            format!("({}) VALUES ({})", columns.join(", "), values.join(", "))
        };
        format!(
            "INSERT INTO {table} AS planted {rows} RETURNING to_jsonb(planted), tableoid::regclass, ctid"
        )
    }

    /// Returns the words that a stored row has.
    fn words(&self, row: usize, stored: &StoredRow) -> Vec<String> {
        let text = serde_json::to_string(stored)
            .unwrap_or_default()
            .to_lowercase();
        let columns = self.table.columns.iter();
        let words = columns.map(|column| (column, self.seat(row).word(column)));
        let words = words.filter(|(column, word)| column.base == "bytea" || text.contains(word));
        words.map(|(_, word)| word).collect()
    }

    fn seat(&self, row: usize) -> Seat<'a> {
        Seat {
            table: &self.table.quoted,
            side: self.side,
            world: self.world,
            row,
        }
    }
}

/// Returns how many rows can be made up. Many columns with a choice have more than a number holds.
fn combinations(counts: impl Iterator<Item = usize>) -> usize {
    counts.fold(1, |all, count| all.saturating_mul(count.max(1)))
}

/// Returns the statement that takes a row back.
fn removal(rows: &[Row]) -> String {
    let place = rows
        .first()
        .and_then(|row| row.text(1).ok().zip(row.text(2).ok()));
    let (table, place) = place.unwrap_or_default();
    format!("DELETE FROM {table} WHERE ctid = '{place}'")
}

fn stored(rows: &[Row]) -> Option<StoredRow> {
    let text = rows.first()?.text(0).ok()?;
    serde_json::from_str(text).ok()
}

fn distinct(values: Vec<Text>) -> Vec<Text> {
    let mut kept = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_many_choices_are_counted_without_overflow() {
        assert_eq!(combinations([3, 0, 4].into_iter()), 12);
        assert_eq!(combinations([4; 64].into_iter()), usize::MAX);
    }
}
