//! Ranks rows by the index of an extension.
//!
//! Several extensions call their access method `bm25`, so they are distinguished by the extension
//! that owns the operator class. Names are taken from the catalogue with their schemas, which need
//! not be on the search path.

use crate::{
    quoted,
    retrieval_queries::{Hit, QueryBuilder, Search, SearchTable, Shape, shape::literal},
};
use ziggurat_postgres::{error::QueryError, pool::Pool, single_round_trip::ReadOnlyQuery};

/// Factor for the number of rows from the index if a filter left too few.
const FILTER_FACTOR: u32 = 4;

/// Extension that ranks texts by their words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extension {
    /// An index over a column of texts.
    PgTextsearch,
    /// An index over a table, with a column that identifies its rows.
    PgSearch,
    /// An index over a column of token vectors.
    VchordBm25,
}

/// Index of an extension, with the names that its queries need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    extension: Extension,
    /// The index, with its schema.
    index: String,
    /// The schema of the operator class.
    schema: String,
    /// The column that is ranked, of texts or of token vectors.
    column: String,
    /// The column that identifies rows, or the tokenizer, if the extension needs one.
    by: String,
}

// === impl Extension ===

impl Extension {
    /// All extensions, the preferred one first.
    pub const ALL: [Self; 3] = [Self::PgTextsearch, Self::PgSearch, Self::VchordBm25];

    /// Returns the name of the extension.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PgTextsearch => "pg_textsearch",
            Self::PgSearch => "pg_search",
            Self::VchordBm25 => "vchord_bm25",
        }
    }

    /// Returns advice on how to create the index.
    #[must_use]
    pub fn advice(self, place: &SearchTable) -> String {
        let (table, text) = (&place.table, quoted(&place.text));
        match self {
            Self::PgTextsearch => format!(
                "CREATE INDEX CONCURRENTLY ON {table} USING bm25 ({text}) \
                 WITH (text_config = 'english')"
            ),
            Self::PgSearch => {
                let id = quoted(place.id.as_deref().unwrap_or("id"));
                format!("CREATE INDEX ON {table} USING bm25 ({id}, {text}) WITH (key_field = {id})")
            }
            Self::VchordBm25 => format!(
                "an index USING bm25 over a column of type bm25vector of {table}, which a trigger \
                 of pg_tokenizer fills from {text}"
            ),
        }
    }
}

// === impl Ranking ===

impl Ranking {
    /// Returns the extension of the index.
    #[must_use]
    pub fn extension(&self) -> Extension {
        self.extension
    }
}

// === impl Shape ===

impl Shape {
    /// Returns the index of an extension over the texts, if there is one that can be queried. Its
    /// scores would tell a caller of rows that it may not see.
    #[must_use]
    pub fn ranking(&self, extension: Extension, place: &SearchTable) -> Option<Ranking> {
        if self.hides_rows() {
            return None;
        }
        self.indexes().iter().find_map(|index| {
            let is_of = |name: &Option<String>| name.as_deref() == Some(extension.name());
            let key = index.keys.iter().find(|key| is_of(&key.extension))?;
            let (column, by) = match extension {
                Extension::PgTextsearch => {
                    let is_text = key.column.as_ref() == Some(&place.text);
                    is_text.then(|| (place.text.clone(), String::new()))?
                }
                Extension::PgSearch => {
                    let option = index.options.iter();
                    let mut by = option.filter_map(|option| option.strip_prefix("key_field="));
                    let by = by.next_back()?.to_owned();
                    let is_about = index.reads.contains(&place.text);
                    is_about.then(|| (place.text.clone(), by))?
                }
                Extension::VchordBm25 => {
                    let column = key.column.clone()?;
                    let tokenizer = self.tokenizer(&column, place)?;
                    (column, tokenizer)
                }
            };
            Some(Ranking {
                extension,
                index: index.name.clone(),
                schema: key.schema.clone(),
                column,
                by,
            })
        })
    }

    /// Returns the tokenizer of a column, from the arguments of the trigger that fills it: the
    /// tokenizer, the column to read and the column to write.
    fn tokenizer(&self, column: &str, place: &SearchTable) -> Option<String> {
        let mut triggers = self.trigger_arguments();
        triggers.find_map(|arguments| match arguments[..] {
            [tokenizer, source, target] if source == place.text && target == column => {
                Some(tokenizer.to_owned())
            }
            _ => None,
        })
    }
}

// === impl Search ===

impl Search<'_> {
    /// Finds the rows that have words of a question, by the index of an extension, the best first.
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn ranked(
        &self,
        ranking: &Ranking,
        question: &str,
        pool: &Pool,
    ) -> Result<Vec<Hit>, QueryError> {
        let mut index_rows = self.rows;
        loop {
            let read_query = self.ranked_query(ranking, question, index_rows);
            let found = read_query.read(pool.lease().await?, Hit::read).await?;
            let found: Vec<_> = found
                .into_iter()
                .flatten()
                .filter(|found| found.score > 0.0)
                .collect();
            // The filter may have left out too many rows of the index.
            let has_filter = self.filter.is_some() || self.place.is_filtered();
            let is_short = u32::try_from(found.len()).is_ok_and(|count| count < self.rows);
            if !has_filter || !is_short || index_rows > self.rows {
                return Ok(found);
            }
            index_rows = self.rows.saturating_mul(FILTER_FACTOR);
        }
    }

    /// Returns the query, which gives better rows higher scores. `index_rows` is the number of rows
    /// that the index returns.
    pub(super) fn ranked_query(
        &self,
        ranking: &Ranking,
        question: &str,
        index_rows: u32,
    ) -> ReadOnlyQuery {
        let mut builder: QueryBuilder<'_> = self.builder();
        let allowed = self.allowed(&mut builder);
        let question = builder.text(question);
        let Ranking { schema, by, .. } = ranking;
        let index = literal(&ranking.index);
        let column = quoted(&ranking.column);
        let (matches, score, direction) = match ranking.extension {
            Extension::PgTextsearch => {
                let order = format!(
                    "{column} OPERATOR({schema}.<@>) {schema}.to_bm25query({question}, {index})"
                );
                (String::new(), order, "ASC")
            }
            Extension::PgSearch => (
                format!(
                    "{column} @@@ paradedb.match({}, {question}) AND ",
                    literal(&ranking.column)
                ),
                format!("paradedb.score({})", quoted(by)),
                "DESC",
            ),
            Extension::VchordBm25 => {
                let tokenizer = literal(by);
                let order = format!(
                    "{column} OPERATOR({schema}.<&>) {schema}.to_bm25query({index}::regclass, \
                     tokenizer_catalog.tokenize({question}, {tokenizer})::{schema}.bm25vector)"
                );
                (String::new(), order, "ASC")
            }
        };
        let sign = if direction == "ASC" { "-" } else { "" };
        let query = format!(
            "SELECT found.id::text, found.content::text, ({sign}found.score)::text,
                    found.title::text, found.url::text
             FROM (SELECT {}, {score} AS score FROM {} WHERE {matches}{allowed}
                   ORDER BY {score} {direction} LIMIT {index_rows}) AS found LIMIT {}",
            builder.inner_columns(),
            self.place.table,
            self.rows,
        );
        let limit = match ranking.extension {
            Extension::VchordBm25 => Some(format!(
                "SELECT pg_catalog.set_config('{schema}.bm25_limit', '{}', true)",
                index_rows.clamp(100, 65_535)
            )),
            _ => None,
        };
        ReadOnlyQuery {
            name: "SELECT",
            before: limit,
            query,
            values: builder.values,
        }
    }
}
