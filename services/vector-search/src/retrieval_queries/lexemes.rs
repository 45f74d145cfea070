//! Rows found by the full-text search of PostgreSQL, which has an index for it.
//!
//! The index only says which rows have which words. What they are worth is for the caller to
//! say: to rank them here, PostgreSQL would take the text of each apart again.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::{Draft, Search, SearchTable, Shape, read_row, shape::Index};
use crate::{number, quoted, text};
pub(super) use ziggurat_postgres::{
    driver::{DriverError, Row},
    error::QueryError,
    pool::Pool,
    single_round_trip::{Flight, Value},
};

/// To take the words out of every text would take minutes, whatever the planner thinks of it;
/// and to compile what an index answers takes longer than the answer.
const BY_INDEX: &str = "SELECT pg_catalog.set_config('enable_seqscan', 'off', true),
    pg_catalog.set_config('jit', 'off', true)";

/// A lexeme that is in no table, or in few rows.
const UNHEARD_OF: &str = "ziggurat-0-unheard-of";

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
    pub fn lexicon(&self, place: &SearchTable) -> Option<Lexicon> {
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
    fn lexicon_of(&self, index: &Index, place: &SearchTable) -> Option<(usize, Lexicon)> {
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
    pub fn advice(place: &SearchTable) -> String {
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

    /// In how many rows each of some lexemes is: as many as PostgreSQL expects by what it counted
    /// when it last analysed the table, where it remembers the lexeme. It remembers those that
    /// are in many rows; the others are counted, up to `most`.
    ///
    /// Its planner is asked what it remembers, and not the view with the counts, which shows
    /// those of an index only to the owner of the table.
    ///
    /// # Errors
    /// As [`closest`](Search::closest).
    pub async fn frequencies(
        &self,
        lexemes: &[String],
        most: u32,
        place: &SearchTable,
        pool: &Pool,
    ) -> Result<Vec<f64>, QueryError> {
        if lexemes.is_empty() {
            return Ok(Vec::new());
        }
        let mut expected = self.expected(lexemes, place, pool).await?;
        // What is expected of a lexeme that is not remembered.
        let unknown = expected.pop().unwrap_or_default();
        let pairs = lexemes.iter().zip(&expected);
        let unknowns = pairs.filter(|(_, expected)| **expected <= unknown);
        let uncounted: Vec<_> = unknowns.map(|(lexeme, _)| &**lexeme).collect();
        let counts = self.count(&uncounted, most, place, pool).await?;
        let mut counts = counts.into_iter();
        for frequency in expected.iter_mut().filter(|expected| **expected <= unknown) {
            let count = counts.next().unwrap_or_default();
            let is_more = count >= f64::from(most);
            *frequency = if is_more { count.max(unknown) } else { count };
        }
        Ok(expected)
    }

    /// In how many rows each lexeme is expected, and then one that nobody remembers. Nothing is
    /// searched.
    async fn expected(
        &self,
        lexemes: &[String],
        place: &SearchTable,
        pool: &Pool,
    ) -> Result<Vec<f64>, QueryError> {
        let all: Vec<_> = lexemes.iter().map(String::as_str).collect();
        let all = [&*all, &[UNHEARD_OF]].concat();
        let (queries, values) = self.each(&all, |condition| {
            format!("(SELECT count(*) FROM {} WHERE {condition})", place.table)
        });
        let flight = Flight {
            name: "EXPLAIN",
            // What several processes expect each is not what all of them do.
            before: Some(
                "SELECT pg_catalog.set_config('max_parallel_workers_per_gather', '0', true)"
                    .to_owned(),
            ),
            query: format!("EXPLAIN (FORMAT JSON) SELECT {queries}"),
            values,
        };
        let plans = flight.read(pool.lease().await?, |row| text(row, 0)).await?;
        let expected = plans.iter().flatten().find_map(|plan| expected(plan));
        let mut expected = expected.unwrap_or_default();
        expected.resize(lexemes.len() + 1, 1.0);
        Ok(expected)
    }

    async fn count(
        &self,
        lexemes: &[&str],
        most: u32,
        place: &SearchTable,
        pool: &Pool,
    ) -> Result<Vec<f64>, QueryError> {
        if lexemes.is_empty() {
            return Ok(Vec::new());
        }
        let (queries, values) = self.each(lexemes, |condition| {
            format!(
                "(SELECT count(*)::text FROM (SELECT FROM {} WHERE {condition} LIMIT {most}) AS c)",
                place.table
            )
        });
        let flight = Flight {
            name: "SELECT",
            before: Some(BY_INDEX.to_owned()),
            query: format!("SELECT {queries}"),
            values,
        };
        let counts = |row: &Row| {
            let counts = (0..lexemes.len()).map(|at| number(row, at));
            counts.collect::<Result<Vec<_>, DriverError>>()
        };
        let rows = flight.read(pool.lease().await?, counts).await?;
        let counts = rows.into_iter().flatten();
        Ok(counts.map(Option::unwrap_or_default).collect())
    }

    /// A list of queries, one for each lexeme with the condition that a row has it.
    fn each(&self, lexemes: &[&str], query: impl Fn(&str) -> String) -> (String, Vec<Value>) {
        let mut values = Vec::new();
        let queries: Vec<_> = lexemes
            .iter()
            .map(|lexeme| {
                let wanted = Wanted(vec![vec![(*lexeme).to_owned()]]);
                values.push(Value::Text(wanted.query()));
                query(&format!(
                    "{} @@ ${}::text::tsquery",
                    self.vector,
                    values.len()
                ))
            })
            .collect();
        (queries.join(", "), values)
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
            before: Some(BY_INDEX.to_owned()),
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
