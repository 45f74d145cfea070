//! SQL of a vector search. Every name in it comes from PostgreSQL's own catalogue, and is quoted.

use std::fmt::Write as _;

use crate::{Nearest, quoted, vector};
use ziggurat_postgres::metadata::{Column, Table};

/// Number of rows that an index of pgvector examines by default.
const DEFAULT_EF_SEARCH: u32 = 40;

/// Maximum number of characters of an id.
const LONGEST_ID: u32 = 200;

/// Maximum number of characters of a text in a sample.
const LONGEST_SAMPLE: u32 = 1000;

/// Queries for one vector.
pub(super) struct Query<'a> {
    nearest: &'a Nearest<'a>,
    /// SQL of the distance, for each vector column.
    distances: Vec<String>,
}

// === impl Query ===

impl<'a> Query<'a> {
    pub(super) fn new(nearest: &'a Nearest<'a>, asked: &[f32]) -> Self {
        let distances = nearest.vectors.iter().map(|vector| {
            let column = vector.column;
            let operator = nearest.metric.operator();
            vector::distance(&quoted(column.name()), column.data_type(), operator, asked)
        });
        Self {
            nearest,
            distances: distances.collect(),
        }
    }

    /// Returns a query over the whole table. Texts are cut only in the rows that are returned.
    pub(super) fn ordered(&self) -> String {
        let order = match &*self.distances {
            [distance] => distance.clone(),
            distances => self.sum(distances.iter().map(|distance| format!("({distance})"))),
        };
        let has_one = self.non_null(" OR ");
        format!(
            "SELECT near.distance, NULL, {}
             FROM (SELECT {order} AS distance, {} FROM {} WHERE {has_one}
                   ORDER BY 1 LIMIT {}) AS near",
            self.result_columns("near"),
            self.inner_columns(),
            name(self.nearest.table),
            self.nearest.rows,
        )
    }

    /// Returns a query for the closest rows of each column, ordered by their sums, with a lower
    /// bound on the sums of all other rows, or NULL if there are no other rows.
    pub(super) fn joined(&self, reach: u32) -> String {
        let (table, rows) = (name(self.nearest.table), self.nearest.rows);
        let has_all = self.non_null(" AND ");
        let mut distances = String::new();
        for (at, distance) in self.distances.iter().enumerate() {
            write!(distances, "{distance} AS d{at}, ").expect("a string takes everything");
        }
        let arms = (0..self.distances.len()).map(|arm| {
            format!(
                "(SELECT {arm} AS arm, tableoid AS part, ctid AS place, {distances}{}
                  FROM {table} WHERE {has_all} ORDER BY {} LIMIT {reach})",
                self.inner_columns(),
                arm + 4,
            )
        });
        let arms: Vec<_> = arms.collect();
        let places = 0..self.distances.len();
        let edge = |arm| format!("max(d{arm}) FILTER (WHERE arm = {arm})");
        let full = |arm| format!("count(*) FILTER (WHERE arm = {arm}) = {reach}");
        let full: Vec<_> = places.clone().map(full).collect();
        format!(
            "WITH near AS MATERIALIZED ({arms}),
             best AS (SELECT * FROM (
                 SELECT DISTINCT ON (part, place) {sum} AS distance, {carried}
                 FROM near ORDER BY part, place) AS one
                 ORDER BY distance LIMIT {rows}),
             edge AS (SELECT CASE WHEN {full} THEN {reached} END AS reach FROM near)
             SELECT best.distance, edge.reach, {shown}
             FROM best CROSS JOIN edge ORDER BY best.distance",
            arms = arms.join(" UNION ALL "),
            sum = self.sum(places.clone().map(|arm| format!("d{arm}"))),
            carried = self.outer_columns(),
            full = full.join(" AND "),
            reached = self.sum(places.map(edge)),
            shown = self.result_columns("best"),
        )
    }

    fn sum(&self, terms: impl Iterator<Item = String>) -> String {
        let weights = self.nearest.vectors.iter().map(|vector| vector.weight);
        let terms: Vec<_> = weights
            .zip(terms)
            .map(|(weight, term)| format!("{weight:e} * {term}"))
            .collect();
        terms.join(" + ")
    }

    fn non_null(&self, between: &str) -> String {
        let columns = self.nearest.vectors.iter();
        let present: Vec<_> = columns
            .map(|vector| format!("{} IS NOT NULL", quoted(vector.column.name())))
            .collect();
        present.join(between)
    }

    /// Returns the columns of the result, under names of this module.
    fn inner_columns(&self) -> String {
        let id = self.nearest.id.map_or("NULL".to_owned(), of);
        let mut list = format!("{id} AS id");
        for (at, text) in self.nearest.texts.iter().enumerate() {
            write!(list, ", {} AS t{at}", of(*text)).expect("a string takes everything");
        }
        list
    }

    fn outer_columns(&self) -> String {
        let mut list = "id".to_owned();
        for at in 0..self.nearest.texts.len() {
            write!(list, ", t{at}").expect("a string takes everything");
        }
        list
    }

    fn result_columns(&self, of: &str) -> String {
        let mut list = cut(&format!("{of}.id"), LONGEST_ID);
        for at in 0..self.nearest.texts.len() {
            let text = cut(&format!("{of}.t{at}"), self.nearest.characters);
            write!(list, ", {text}").expect("a string takes everything");
        }
        list
    }
}

/// Returns the settings for a transaction that asks an index for `reach` rows.
///
/// An index that returns too few rows continues its scan (from pgvector 0.8). A setting unknown to
/// pgvector is accepted before pgvector is loaded into the session and refused afterwards. So a
/// setting that an older pgvector lacks is made only if no setting of pgvector is known yet. A
/// value that an operator has set stays. The role of a caller may not be allowed to execute
/// `set_config`.
#[must_use]
pub fn settings(reach: u32, is_acting: bool) -> String {
    if is_acting {
        return settings_of_role(reach);
    }
    let look_on = |name: &str, how: &str| {
        let current = current(name);
        format!(
            "pg_catalog.set_config('{name}', coalesce(nullif({current}, 'off'), '{how}'), true)"
        )
    };
    let mut settings = format!(
        "SELECT {}, {} WHERE {} IS NOT NULL OR {} IS NULL",
        look_on("hnsw.iterative_scan", "strict_order"),
        look_on("ivfflat.iterative_scan", "relaxed_order"),
        current("hnsw.iterative_scan"),
        current("hnsw.ef_search"),
    );
    if reach > DEFAULT_EF_SEARCH {
        let known = current("hnsw.ef_search");
        write!(
            settings,
            " UNION ALL SELECT pg_catalog.set_config('hnsw.ef_search',
                 greatest({known}::int, {reach})::text, true), NULL"
        )
        .expect("a string takes everything");
    }
    settings
}

/// Returns the same settings for a role that may not execute `set_config`.
fn settings_of_role(reach: u32) -> String {
    let is_off = |name: &str| format!("coalesce({}, 'off') = 'off'", current(name));
    format!(
        "DO $$BEGIN
         IF {scan} IS NOT NULL OR {known} IS NULL THEN
             IF {scan_is_off} THEN SET LOCAL hnsw.iterative_scan = strict_order; END IF;
             IF {lists_are_off} THEN SET LOCAL ivfflat.iterative_scan = relaxed_order; END IF;
         END IF;
         IF coalesce({known}::int, {DEFAULT_EF_SEARCH}) < {reach} THEN
             SET LOCAL hnsw.ef_search = {reach};
         END IF; END$$",
        scan = current("hnsw.iterative_scan"),
        known = current("hnsw.ef_search"),
        scan_is_off = is_off("hnsw.iterative_scan"),
        lists_are_off = is_off("ivfflat.iterative_scan"),
    )
}

/// Returns the SQL of the value of a setting; NULL without one.
fn current(name: &str) -> String {
    format!("nullif(pg_catalog.current_setting('{name}', true), '')")
}

/// Returns a query for the texts of any `rows` rows.
pub(super) fn sample(nearest: &Nearest<'_>, rows: u32) -> String {
    let texts = nearest.texts.iter();
    let texts: Vec<_> = texts.map(|text| cut(&of(*text), LONGEST_SAMPLE)).collect();
    format!(
        "SELECT {} FROM {} LIMIT {rows}",
        texts.join(", "),
        name(nearest.table)
    )
}

fn cut(expression: &str, characters: u32) -> String {
    format!("pg_catalog.left({expression}::text, {characters})")
}

fn of(column: Column<'_>) -> String {
    quoted(column.name())
}

fn name(table: Table<'_>) -> String {
    format!("{}.{}", quoted(table.schema()), quoted(table.name()))
}
