//! Finds rows by the full-text search of PostgreSQL, with an index.
//!
//! The index only finds the rows that have the words. The caller ranks them: to rank them,
//! PostgreSQL would have to parse the text of each row again.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::{
    number, quoted,
    retrieval_queries::{
        Hit, QueryBuilder, Search, SearchTable, Shape, TextConfiguration, read_row,
        shape::{Index, MAX_COUNTED},
    },
    text,
};
pub(super) use ziggurat_postgres::{
    driver::{DriverError, Row},
    error::QueryError,
    pool::Pool,
    single_round_trip::{ReadOnlyQuery, Value},
};

/// Parsing every text would take minutes, even if the planner prefers it; and JIT compilation takes
/// longer than a query by index.
const BY_INDEX: &str = "SELECT pg_catalog.set_config('enable_seqscan', 'off', true),
    pg_catalog.set_config('jit', 'off', true)";

/// The same for a role that may not execute `set_config`.
const BY_INDEX_OF_ROLE: &str =
    "DO $$BEGIN SET LOCAL enable_seqscan = off; SET LOCAL jit = off; END$$";

/// A lexeme that occurs in few rows or none.
const RARE_LEXEME: &str = "ziggurat-0-unheard-of";

/// An index over the words of a column of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexicon {
    /// SQL of the `tsvector` that is indexed.
    vector: String,
    configuration: TextConfiguration,
    /// Columns that are searched by words and that it does not cover.
    missing: usize,
}

/// Rows that have all lexemes of one of these lists. A star at the end stands for any end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LexemeQuery(pub Vec<Vec<String>>);

// === impl Shape ===

impl Shape {
    /// Returns the index over the words of the texts, if there is one.
    #[must_use]
    pub fn lexicon(&self, place: &SearchTable) -> Option<Lexicon> {
        let mut found: Vec<_> = self
            .indexes()
            .iter()
            .filter_map(|index| self.lexicon_of(index, place))
            .collect();
        // An index over all columns that are searched, and over no other, comes first.
        found.sort_by_key(|(others, lexicon)| (lexicon.missing, *others));
        let mut found = found.into_iter().map(|(_, lexicon)| lexicon);
        let wanted = place.configuration();
        found.find_map(|lexicon| {
            let is_served = lexicon.configuration.serves(wanted);
            is_served.then(|| Lexicon {
                // The vectors may come from the application, which says nothing of their
                // configuration.
                configuration: lexicon.configuration.or(wanted),
                ..lexicon
            })
        })
    }

    /// Returns an index as a lexicon, with the number of columns that it covers but that are not
    /// searched.
    fn lexicon_of(&self, index: &Index, place: &SearchTable) -> Option<(usize, Lexicon)> {
        let key = index.keys.first()?;
        if !matches!(&*index.method, "gin" | "gist") || key.class != "tsvector_ops" {
            return None;
        }
        let is_searched =
            |name: &String| *name == place.text || place.keyword_columns.contains(name);
        let missing = |covers: &dyn Fn(&str) -> bool| {
            let columns = place.keyword_columns.iter();
            columns.filter(|name| !covers(name)).count()
        };
        let Some(column) = &key.column else {
            let is_about = index.reads.contains(&place.text);
            let lexicon = Lexicon {
                vector: format!("({})", key.definition),
                configuration: TextConfiguration::of_expression(&key.definition),
                missing: missing(&|name| index.reads.iter().any(|column| column == name)),
            };
            let others = index.reads.iter().filter(|name| !is_searched(name)).count();
            return is_about.then_some((others, lexicon));
        };
        let made = self.column(column).and_then(|column| column.made.clone());
        let lexicon = |configuration, missing| Lexicon {
            vector: quoted(column),
            configuration,
            missing,
        };
        match made {
            Some(made) => {
                let is_about = mentions(&made, &place.text);
                let missing = missing(&|name| mentions(&made, name));
                let configuration = TextConfiguration::of_expression(&made);
                is_about.then(|| (1, lexicon(configuration, missing)))
            }
            // The column is filled by a trigger or by the application, from columns of their choice.
            None => Some((2, lexicon(self.configuration_of_trigger(column), 0))),
        }
    }

    /// Returns the settings of a query that an index has to serve.
    fn by_index(&self) -> String {
        let settings = if self.is_acting {
            BY_INDEX_OF_ROLE
        } else {
            BY_INDEX
        };
        settings.to_owned()
    }

    /// Returns the configuration from the arguments of `tsvector_update_trigger`: the column, the
    /// configuration, the texts.
    fn configuration_of_trigger(&self, column: &str) -> TextConfiguration {
        self.trigger_arguments()
            .find(|arguments| arguments.len() > 2 && arguments[0] == column)
            .map(|arguments| TextConfiguration::named(arguments[1]))
            .unwrap_or_default()
    }
}

/// Returns whether an expression of the catalogue mentions this column.
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
    /// Returns the statement that creates a missing index.
    #[must_use]
    pub fn advice(place: &SearchTable) -> String {
        let columns: Vec<_> = place.keyword_columns.iter().chain([&place.text]).collect();
        format!(
            "CREATE INDEX CONCURRENTLY ON {} USING gin (to_tsvector({}, {}))",
            place.table,
            place.configuration().constant().unwrap_or("'english'"),
            Self::texts(&columns),
        )
    }

    /// Returns the SQL of the text that an index over the words of these columns reads.
    #[must_use]
    pub fn texts(columns: &[&String]) -> String {
        if let [column] = columns {
            return quoted(column);
        }
        let columns = columns.iter();
        let columns = columns.map(|name| format!("coalesce({}::text, '')", quoted(name)));
        columns.collect::<Vec<_>>().join(" || ' ' || ")
    }

    /// Returns whether it covers all columns that are searched by words.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.missing == 0
    }

    #[cfg(test)]
    pub(super) fn parts(&self) -> (&str, Option<&str>) {
        (&self.vector, self.configuration.constant())
    }

    /// Returns the configuration that made the lexemes.
    #[must_use]
    pub fn configuration(&self) -> &TextConfiguration {
        &self.configuration
    }

    /// Returns the number of rows that have each lexeme. Lexemes in many rows are in the statistics
    /// of the last ANALYZE; for them it is the estimate of PostgreSQL. The others are counted, up
    /// to `most`. If rows of others are hidden, all are counted, since the estimates know those rows.
    ///
    /// The planner is asked for the statistics, since the view with the statistics of an index
    /// shows them only to the owner of the table.
    ///
    /// # Errors
    /// As [`closest`](Search::closest).
    pub async fn frequencies(
        &self,
        lexemes: &[String],
        most: u32,
        place: &SearchTable,
        shape: &Shape,
        pool: &Pool,
    ) -> Result<Vec<f64>, QueryError> {
        if lexemes.is_empty() {
            return Ok(Vec::new());
        }
        if shape.hides_rows() {
            let lexemes: Vec<_> = lexemes.iter().map(String::as_str).collect();
            return self
                .count(&lexemes, MAX_COUNTED, (place, shape), pool)
                .await;
        }
        let mut expected = self.expected(lexemes, place, pool).await?;
        // The estimate for a lexeme that is not in the statistics.
        let unknown = expected.pop().unwrap_or_default();
        let pairs = lexemes.iter().zip(&expected);
        let unknowns = pairs.filter(|(_, expected)| **expected <= unknown);
        let uncounted: Vec<_> = unknowns.map(|(lexeme, _)| &**lexeme).collect();
        let counts = self.count(&uncounted, most, (place, shape), pool).await?;
        let mut counts = counts.into_iter();
        for frequency in expected.iter_mut().filter(|expected| **expected <= unknown) {
            let count = counts.next().unwrap_or_default();
            let is_more = count >= f64::from(most);
            *frequency = if is_more { count.max(unknown) } else { count };
        }
        Ok(expected)
    }

    /// Returns the estimated number of rows of each lexeme, and then of one that is not in the
    /// statistics. It runs only EXPLAIN.
    async fn expected(
        &self,
        lexemes: &[String],
        place: &SearchTable,
        pool: &Pool,
    ) -> Result<Vec<f64>, QueryError> {
        let all: Vec<_> = lexemes.iter().map(String::as_str).collect();
        let all = [&*all, &[RARE_LEXEME]].concat();
        let (queries, values) = self.each(&all, |condition| {
            format!("(SELECT count(*) FROM {} WHERE {condition})", place.table)
        });
        let read_query = ReadOnlyQuery {
            name: "EXPLAIN",
            // In a parallel plan the estimate is for one process.
            before: Some("SET LOCAL max_parallel_workers_per_gather = 0".to_owned()),
            query: format!("EXPLAIN (FORMAT JSON) SELECT {queries}"),
            values,
        };
        let plans = read_query
            .read(pool.lease().await?, |row| text(row, 0))
            .await?;
        let expected = plans.iter().flatten().find_map(|plan| expected(plan));
        let mut expected = expected.unwrap_or_default();
        expected.resize(lexemes.len() + 1, 1.0);
        Ok(expected)
    }

    async fn count(
        &self,
        lexemes: &[&str],
        most: u32,
        (place, shape): (&SearchTable, &Shape),
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
        let read_query = ReadOnlyQuery {
            name: "SELECT",
            before: Some(shape.by_index()),
            query: format!("SELECT {queries}"),
            values,
        };
        let counts = |row: &Row| {
            let counts = (0..lexemes.len()).map(|at| number(row, at));
            counts.collect::<Result<Vec<_>, DriverError>>()
        };
        let rows = read_query.read(pool.lease().await?, counts).await?;
        let counts = rows.into_iter().flatten();
        Ok(counts.map(Option::unwrap_or_default).collect())
    }

    /// Returns a list of queries, one for each lexeme, made by `query` from the condition that a
    /// row has the lexeme.
    fn each(&self, lexemes: &[&str], query: impl Fn(&str) -> String) -> (String, Vec<Value>) {
        let mut values = Vec::new();
        let queries: Vec<_> = lexemes
            .iter()
            .map(|lexeme| {
                let lexeme_query = LexemeQuery(vec![vec![(*lexeme).to_owned()]]);
                values.push(Value::Text(lexeme_query.query()));
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

/// Returns the number of rows that a plan expects below each of its counts.
fn expected(plan: &str) -> Option<Vec<f64>> {
    let document: Json = serde_json::from_str(plan).ok()?;
    let counts = document[0]["Plan"]["Plans"].as_array()?;
    let rows = |count: &Json| count["Plans"][0]["Plan Rows"].as_f64();
    counts.iter().map(rows).collect()
}

// === impl LexemeQuery ===

impl LexemeQuery {
    /// Returns the lists as text of the type `tsquery`.
    fn query(&self) -> String {
        let mut query = String::new();
        for (at, all) in self.0.iter().enumerate() {
            let or = if at == 0 { "" } else { " | " };
            write!(query, "{or}(").expect("a string takes everything");
            for (at, lexeme) in all.iter().enumerate() {
                let and = if at == 0 { "" } else { " & " };
                let (lexeme, mark) = match lexeme.strip_suffix('*') {
                    Some(beginning) if !beginning.is_empty() => (beginning, ":*"),
                    _ => (&**lexeme, ""),
                };
                let lexeme = lexeme.replace('\\', "\\\\").replace('\'', "''");
                write!(query, "{and}'{lexeme}'{mark}").expect("a string takes everything");
            }
            query.push(')');
        }
        query
    }
}

// === impl Search ===

impl Search<'_> {
    /// Reads rows that have the wanted lexemes, in no order, by the index. `keep` is the same as in
    /// [`scan`](Self::scan).
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn matching<T>(
        &self,
        lexicon: &Lexicon,
        lexeme_query: &LexemeQuery,
        keep: impl Fn(Hit) -> T,
        pool: &Pool,
    ) -> Result<Vec<T>, QueryError> {
        let read_query = self.matching_query(lexicon, lexeme_query);
        read_query
            .read(pool.lease().await?, |row| read_row(row, &keep))
            .await
    }

    pub(super) fn matching_query(
        &self,
        lexicon: &Lexicon,
        lexeme_query: &LexemeQuery,
    ) -> ReadOnlyQuery {
        let mut builder: QueryBuilder<'_> = self.builder();
        let allowed = self.allowed(&mut builder);
        let query = builder.text(&lexeme_query.query());
        ReadOnlyQuery {
            name: "SELECT",
            before: Some(self.shape.by_index()),
            query: format!(
                "SELECT {} FROM {} WHERE {} @@ {query}::tsquery AND {allowed} LIMIT {}",
                builder.result_columns(),
                self.place.table,
                lexicon.vector,
                self.rows,
            ),
            values: builder.values,
        }
    }
}
