//! Rows found by the full-text search of PostgreSQL, which has an index for it.
//!
//! The index only says which rows have which words. What they are worth is for the caller to
//! say: to rank them here, PostgreSQL would take the text of each apart again.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::{Draft, Place, Search, Shape, read_row, shape::Index};
use crate::pg::{
    error::QueryError,
    flight::{Flight, Value},
    lease::Pool,
    nearest::{quoted, text},
};

/// An index over the words of a column of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexicon {
    /// The words in SQL, the way the index has them.
    vector: String,
    /// The configuration that made them, as a constant; none for the usual one.
    configuration: Option<String>,
}

/// Rows that have all lexemes of one of these lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted(pub Vec<Vec<String>>);

// === impl Shape ===

impl Shape {
    /// The index over the words of the texts, if there is one.
    #[must_use]
    pub fn lexicon(&self, place: &Place) -> Option<Lexicon> {
        let mut found: Vec<_> = self
            .indexes()
            .iter()
            .filter_map(|index| self.lexicon_of(index, place))
            .collect();
        // The one that is about the texts alone comes first.
        found.sort_by_key(|(others, _)| *others);
        found.into_iter().next().map(|(_, lexicon)| lexicon)
    }

    /// An index as a lexicon, and how many other columns it is about.
    fn lexicon_of(&self, index: &Index, place: &Place) -> Option<(usize, Lexicon)> {
        let key = index.keys.first()?;
        if !matches!(&*index.method, "gin" | "gist") || key.class != "tsvector_ops" {
            return None;
        }
        let others = |reads: &[String]| reads.iter().filter(|name| **name != place.text).count();
        let Some(column) = &key.column else {
            let is_about = index.reads.contains(&place.text);
            let lexicon = Lexicon {
                vector: format!("({})", key.definition),
                configuration: configuration_in(&key.definition),
            };
            return is_about.then(|| (others(&index.reads), lexicon));
        };
        let made = self.column(column).and_then(|column| column.made.clone());
        let lexicon = |configuration| Lexicon {
            vector: quoted(column),
            configuration,
        };
        match made {
            Some(made) => {
                let is_about = mentions(&made, &place.text);
                is_about.then(|| (1, lexicon(configuration_in(&made))))
            }
            // Filled by a trigger, or by whoever writes the rows.
            None => Some((2, lexicon(self.configuration_of_trigger(column)))),
        }
    }

    /// What `tsvector_update_trigger` was told: the column, the configuration, the texts.
    fn configuration_of_trigger(&self, column: &str) -> Option<String> {
        self.trigger_arguments()
            .find(|arguments| arguments.len() > 2 && arguments[0] == column)
            .map(|arguments| super::shape::literal(arguments[1]))
    }
}

/// The constant before `::regconfig` in an expression.
fn configuration_in(expression: &str) -> Option<String> {
    let (before, _) = expression.split_once("::regconfig")?;
    let inside = before.strip_suffix('\'')?;
    let (_, constant) = inside.rsplit_once("('")?;
    Some(format!("'{constant}'"))
}

/// Whether an expression of the catalogue has this column in it.
fn mentions(expression: &str, column: &str) -> bool {
    let quoted = quoted(column);
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    expression.contains(&quoted)
        || expression
            .split(|c| !is_of_name(c))
            .any(|word| word == column)
}

// === impl Lexicon ===

impl Lexicon {
    /// The index to create where there is none.
    #[must_use]
    pub fn advice(place: &Place) -> String {
        format!(
            "CREATE INDEX CONCURRENTLY ON {} USING gin (to_tsvector('english', {}))",
            place.table,
            quoted(&place.text)
        )
    }

    #[cfg(test)]
    pub(super) fn parts(&self) -> (&str, Option<&str>) {
        (&self.vector, self.configuration.as_deref())
    }

    /// The lexemes of each of some words. Words that are too common have none.
    ///
    /// # Errors
    /// As [`closest`](Search::closest).
    pub async fn lexemes(
        &self,
        words: &[String],
        pool: &Pool,
    ) -> Result<Vec<Vec<String>>, QueryError> {
        let configuration = match &self.configuration {
            Some(constant) => format!("{constant}::regconfig, "),
            None => String::new(),
        };
        let flight = Flight {
            name: "SELECT",
            before: None,
            query: format!(
                "SELECT word.place::text, found.lexeme
                 FROM unnest($1::text[]) WITH ORDINALITY AS word (word, place)
                 CROSS JOIN LATERAL unnest(
                     pg_catalog.to_tsvector({configuration}word.word)) AS found"
            ),
            values: vec![Value::Texts(words.to_vec())],
        };
        let pair = |row: &_| {
            let place = text(row, 0)?.and_then(|place| place.parse::<usize>().ok());
            Ok(place.zip(text(row, 1)?))
        };
        let pairs = flight.read(pool.lease().await?, pair).await?;
        let mut lexemes = vec![Vec::new(); words.len()];
        for (place, lexeme) in pairs.into_iter().flatten() {
            if let Some(list) = place.checked_sub(1).and_then(|at| lexemes.get_mut(at)) {
                list.push(lexeme);
            }
        }
        Ok(lexemes)
    }

    /// In how many rows PostgreSQL expects each of some lexemes, by what it has counted when
    /// it last analysed the table. Nothing is searched.
    ///
    /// Its planner is asked, and not the view with the counts, which shows those of an index
    /// only to the owner of the table.
    ///
    /// # Errors
    /// As [`closest`](Search::closest).
    pub async fn frequencies(
        &self,
        lexemes: &[String],
        place: &Place,
        pool: &Pool,
    ) -> Result<Vec<f64>, QueryError> {
        if lexemes.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = Vec::new();
        let counts: Vec<_> = lexemes
            .iter()
            .map(|lexeme| {
                let wanted = Wanted(vec![vec![lexeme.clone()]]);
                values.push(Value::Text(wanted.query()));
                let (table, vector, at) = (&place.table, &self.vector, values.len());
                format!("(SELECT count(*) FROM {table} WHERE {vector} @@ ${at}::text::tsquery)")
            })
            .collect();
        let flight = Flight {
            name: "EXPLAIN",
            // What several processes expect each is not what all of them do.
            before: Some(
                "SELECT pg_catalog.set_config('max_parallel_workers_per_gather', '0', true)"
                    .to_owned(),
            ),
            query: format!("EXPLAIN (FORMAT JSON) SELECT {}", counts.join(", ")),
            values,
        };
        let plans = flight.read(pool.lease().await?, |row| text(row, 0)).await?;
        let counts = plans.iter().flatten().find_map(|plan| expected(plan));
        let mut counts = counts.unwrap_or_default();
        counts.resize(lexemes.len(), 1.0);
        Ok(counts)
    }
}

/// How many rows are expected below each count of a plan.
fn expected(plan: &str) -> Option<Vec<f64>> {
    let document: Json = serde_json::from_str(plan).ok()?;
    let counts = document[0]["Plan"]["Plans"].as_array()?;
    let rows = |count: &Json| count["Plans"][0]["Plan Rows"].as_f64();
    counts.iter().map(rows).collect()
}

// === impl Wanted ===

impl Wanted {
    /// As a constant of the type `tsquery`.
    fn query(&self) -> String {
        let mut query = String::new();
        for (at, all) in self.0.iter().enumerate() {
            let or = if at == 0 { "" } else { " | " };
            write!(query, "{or}(").expect("a string takes everything");
            for (at, lexeme) in all.iter().enumerate() {
                let and = if at == 0 { "" } else { " & " };
                let lexeme = lexeme.replace('\\', "\\\\").replace('\'', "''");
                write!(query, "{and}'{lexeme}'").expect("a string takes everything");
            }
            query.push(')');
        }
        query
    }
}

// === impl Search ===

impl Search<'_> {
    /// Reads rows that have the lexemes that are wanted, in no order, by the index. `keep` is as
    /// in [`scan`](Self::scan).
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn matching<T>(
        &self,
        lexicon: &Lexicon,
        wanted: &Wanted,
        keep: impl Fn(Option<String>, String) -> T,
        pool: &Pool,
    ) -> Result<Vec<T>, QueryError> {
        let flight = self.matching_flight(lexicon, wanted);
        flight
            .read(pool.lease().await?, |row| read_row(row, &keep))
            .await
    }

    pub(super) fn matching_flight(&self, lexicon: &Lexicon, wanted: &Wanted) -> Flight {
        let mut draft: Draft<'_> = self.draft();
        let allowed = self.allowed(&mut draft);
        let query = draft.text(&wanted.query());
        Flight {
            name: "SELECT",
            // To take the words out of every text would take minutes, whatever the planner
            // thinks of it.
            before: Some("SELECT pg_catalog.set_config('enable_seqscan', 'off', true)".to_owned()),
            query: format!(
                "SELECT {} FROM {} WHERE {} @@ {query}::tsquery AND {allowed} LIMIT {}",
                draft.shown(),
                self.place.table,
                lexicon.vector,
                self.rows,
            ),
            values: draft.values,
        }
    }
}
