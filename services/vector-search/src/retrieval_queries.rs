//! Finds the rows of a table that answer a question.
//!
//! A [`SearchTable`] is a table as an operator describes it, and a [`Shape`] is its definition in
//! the catalogue of PostgreSQL. A [`Search`] finds rows:
//!
//! ```no_run
//! use ziggurat_postgres::{error::QueryError, pool::Pool};
//! use ziggurat_vector_search::retrieval_queries::{Search, SearchTable, Shape};
//!
//! # async fn example(pool: Pool, question: &[f32]) -> Result<(), QueryError> {
//! let place = SearchTable::new("shop.manual", "body", "embedding").with_id("id");
//! let shape = Shape::load(&place, &pool).await?;
//! let search = Search {
//!     place: &place,
//!     shape: &shape,
//!     filter: None,
//!     excluded: &[],
//!     rows: 20,
//! };
//! for found in search.closest(question, None, None, &pool).await? {
//!     println!("{:?} {:.3}", found.id, found.score);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Names and raw filters come from the operator, types and expressions from the catalogue, and
//! values of a client are sent as parameters. A query without parameters is one message and one
//! round trip. All queries only read, and are cancelled when they are dropped.

mod adjacent;
mod closest;
mod condition;
mod configuration;
mod document;
mod lexemes;
mod random;
mod ranked;
mod rows;
mod shape;
#[cfg(test)]
mod tests;

use crate::{number, quoted, text, texts};
pub use ziggurat_postgres::{
    driver::{DriverError, Row},
    single_round_trip::Value,
};

pub use self::{
    adjacent::{Adjacent, DocumentOrder},
    condition::{Comparison, Condition, Conditions, Test},
    configuration::TextConfiguration,
    document::DocumentPart,
    lexemes::{LexemeQuery, Lexicon},
    ranked::{Extension, Ranking},
    rows::{Prefilter, ping},
    shape::{Column, Finding, Shape},
};

/// Table with passages, as an operator describes it.
#[derive(Clone, Debug)]
pub struct SearchTable {
    table: String,
    text: String,
    vector: String,
    id: Option<String>,
    title: Option<String>,
    url: Option<String>,
    order: Option<DocumentOrder>,
    /// Columns that are searched by words besides the texts.
    keyword_columns: Vec<String>,
    /// Set if the last of them is the title, which is searched unless it is left out.
    has_title_by_default: bool,
    filters: Vec<Restriction>,
    configuration: TextConfiguration,
}

/// Restriction of the rows that are searched.
#[derive(Clone, Debug, PartialEq)]
pub enum Restriction {
    /// A condition in SQL that an operator has written.
    Raw(String),
    /// Tests of columns.
    Tests(Conditions),
}

/// Search of a table.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The table.
    pub place: &'a SearchTable,
    /// Its definition in the catalogue.
    pub shape: &'a Shape,
    /// The conditions of the client.
    pub filter: Option<&'a Conditions>,
    /// Words that the texts must not have: letters and digits.
    pub excluded: &'a [String],
    /// Maximum number of rows.
    pub rows: u32,
}

/// A row that was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hit {
    /// Its id, as text.
    pub id: Option<String>,
    /// The id that identifies it, if that is not the one to show.
    pub key: Option<String>,
    /// Its text.
    pub content: String,
    /// Its score; more is better.
    pub score: f64,
    /// Its title, if the table has titles.
    pub title: Option<String>,
    /// Its address, if the table has addresses.
    pub url: Option<String>,
    /// The values of the other columns that are searched by words, if it was found by words.
    pub others: Vec<Option<String>>,
}

/// Query that is being built.
struct QueryBuilder<'a> {
    place: &'a SearchTable,
    shape: &'a Shape,
    values: Vec<Value>,
}

// === impl SearchTable ===

impl SearchTable {
    /// Takes the name of a table, which may have a schema before a dot and parts in quotes, and the
    /// names of its text column and its vector column.
    #[must_use]
    pub fn new(table: &str, text: &str, vector: &str) -> Self {
        Self {
            table: qualified(table),
            text: text.to_owned(),
            vector: vector.to_owned(),
            id: None,
            title: None,
            url: None,
            order: None,
            keyword_columns: Vec::new(),
            has_title_by_default: false,
            filters: Vec::new(),
            configuration: TextConfiguration::default(),
        }
    }

    /// Sets the text search configuration of its texts.
    #[must_use]
    pub fn with_configuration(mut self, configuration: TextConfiguration) -> Self {
        self.configuration = configuration;
        self
    }

    /// Returns the text search configuration of its texts.
    #[must_use]
    pub fn configuration(&self) -> &TextConfiguration {
        &self.configuration
    }

    /// Sets the column that identifies a row.
    #[must_use]
    pub fn with_id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }

    /// Sets the column with the title of a row.
    #[must_use]
    pub fn with_title(mut self, title: &str) -> Self {
        self.title = Some(title.to_owned());
        self
    }

    /// Sets the column with the address of a row.
    #[must_use]
    pub fn with_url(mut self, url: &str) -> Self {
        self.url = Some(url.to_owned());
        self
    }

    /// Sets the columns that are searched by words besides the texts.
    #[must_use]
    pub fn with_keyword_columns(mut self, names: Vec<String>) -> Self {
        self.keyword_columns = names;
        self
    }

    /// Adds the title to the columns that are searched by words.
    #[must_use]
    pub fn with_words_of_title(mut self) -> Self {
        self.has_title_by_default = self.title.is_some();
        self.keyword_columns.extend(self.title.clone());
        self
    }

    /// Returns whether columns besides the texts and the title are searched by words, or the title
    /// because an operator wants it.
    #[must_use]
    pub fn has_keyword_columns(&self) -> bool {
        self.keyword_columns.len() > usize::from(self.has_title_by_default)
    }

    /// Adds a restriction of the rows that are searched.
    #[must_use]
    pub fn with_filter(mut self, filter: Restriction) -> Self {
        self.filters.push(filter);
        self
    }

    /// Returns its quoted name.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Returns whether it has restrictions.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        !self.filters.is_empty()
    }

    /// Returns whether its rows have ids.
    #[must_use]
    pub fn has_ids(&self) -> bool {
        self.id.is_some()
    }

    /// Returns the name of the vector column.
    #[must_use]
    pub fn vector(&self) -> &str {
        &self.vector
    }
}

// === impl Search ===

impl Search<'_> {
    fn builder(&self) -> QueryBuilder<'_> {
        QueryBuilder {
            place: self.place,
            shape: self.shape,
            values: Vec::new(),
        }
    }

    /// Returns whether it leaves out rows that have a text.
    fn is_filtered(&self) -> bool {
        self.filter.is_some() || self.place.is_filtered() || !self.excluded.is_empty()
    }

    /// Returns the condition for rows that may be shown and have a text.
    fn allowed(&self, builder: &mut QueryBuilder<'_>) -> String {
        let mut parts = Vec::new();
        for filter in &self.place.filters {
            let condition = match filter {
                Restriction::Raw(sql) => sql.clone(),
                Restriction::Tests(tests) => tests.write(builder),
            };
            // The line break ends a comment in the last line.
            parts.push(format!("({condition}\n)"));
        }
        if let Some(filter) = self.filter {
            parts.push(format!("({})", filter.write(builder)));
        }
        if !self.excluded.is_empty() {
            let patterns: Vec<_> = self.excluded.iter().map(|word| whole_word(word)).collect();
            let patterns = builder.texts(&patterns);
            let text = quoted(&self.place.text);
            parts.push(format!("{text}::text !~* ALL ({patterns})"));
        }
        parts.push(format!("{} IS NOT NULL", quoted(&self.place.text)));
        parts.join(" AND ")
    }
}

// === impl QueryBuilder ===

impl QueryBuilder<'_> {
    /// Adds a text as a parameter, and returns its placeholder.
    fn text(&mut self, text: &str) -> String {
        self.values.push(Value::Text(text.to_owned()));
        format!("${}::text", self.values.len())
    }

    /// Adds an array of texts as a parameter, and returns its placeholder.
    fn texts(&mut self, texts: &[String]) -> String {
        self.values.push(Value::Texts(texts.to_vec()));
        format!("${}::text[]", self.values.len())
    }

    /// Adds ids as a parameter, and returns an array of them in the type of the ids.
    fn ids(&mut self, ids: &[String]) -> String {
        let name = self.place.id.as_deref().unwrap_or_default();
        let column = self.shape.column(name);
        let cast = column.map_or_else(String::new, |column| format!("::{}[]", column.data_type));
        self.texts(ids) + &cast
    }

    /// Returns the columns of the result, under names of this module.
    fn inner_columns(&self) -> String {
        let [id, title, url] = self.optional_columns();
        format!(
            "{id} AS id, {} AS content, {title} AS title, {url} AS url",
            quoted(&self.place.text)
        )
    }

    /// Returns the columns of a hit, as text, with an expression for its score.
    fn hit_columns(&self, score: &str) -> String {
        let [id, title, url] = self.optional_columns();
        let content = quoted(&self.place.text);
        format!("({id})::text, ({content})::text, {score}, ({title})::text, ({url})::text")
    }

    /// Returns the columns of a hit without a score, and the others that are searched by words.
    fn result_columns(&self) -> String {
        let others = self.place.keyword_columns.iter();
        let others: Vec<_> = others
            .map(|name| format!(", ({})::text", quoted(name)))
            .collect();
        self.hit_columns("NULL") + &others.concat()
    }

    /// Returns the id, the title and the address; `NULL` for those that the table has not.
    fn optional_columns(&self) -> [String; 3] {
        let columns = [&self.place.id, &self.place.title, &self.place.url];
        columns.map(|name| match name {
            Some(name) => quoted(name),
            None => "NULL".to_owned(),
        })
    }
}

// === impl Hit ===

impl Hit {
    /// Returns the id that identifies it.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref().or(self.id.as_deref())
    }

    /// Reads a row with the columns id, content, score, title and address. A row without a score
    /// is left out.
    fn read(row: &Row) -> Result<Option<Self>, DriverError> {
        let score = number(row, 2)?.filter(|score| score.is_finite());
        let hit = Self::read_unscored(row)?;
        Ok(score.zip(hit).map(|(score, hit)| Self { score, ..hit }))
    }

    /// Reads a row that the caller ranks. A row without a text is left out.
    fn read_unscored(row: &Row) -> Result<Option<Self>, DriverError> {
        let Some(content) = text(row, 1)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            id: text(row, 0)?,
            key: None,
            content,
            score: 0.0,
            title: text(row, 3)?,
            url: text(row, 4)?,
            others: texts(row, 5)?,
        }))
    }
}

/// Returns a regular expression for a word. Which letters make up a word depends on the locale, so
/// a word with letters outside ASCII is also found within words.
fn whole_word(word: &str) -> String {
    if word.is_ascii() {
        format!(r"\m{word}\M")
    } else {
        word.to_owned()
    }
}

fn read_row<T>(row: &Row, keep: impl Fn(Hit) -> T) -> Result<T, DriverError> {
    Ok(keep(Hit::read_unscored(row)?.unwrap_or_default()))
}

/// Returns a name with all its parts quoted: a part in quotes is written as in SQL, any other as it
/// is.
#[must_use]
pub fn qualified(name: &str) -> String {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut is_in_quotes = false;
    let mut characters = name.chars().filter(|c| *c != '\0').peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_in_quotes && characters.next_if_eq(&'"').is_some() => part.push('"'),
            '"' if is_in_quotes || part.is_empty() => is_in_quotes = !is_in_quotes,
            '.' if !is_in_quotes => parts.push(std::mem::take(&mut part)),
            other => part.push(other),
        }
    }
    parts.push(part);
    let parts: Vec<_> = parts.iter().map(|part| quoted(part)).collect();
    parts.join(".")
}
