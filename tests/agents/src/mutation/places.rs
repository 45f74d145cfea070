//! Places of a statement at which a mistake can be made.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::PgConnection;
use ziggurat_sql::Token;

use crate::{
    question::{ColumnName, Fact, Question, TableName, quoted},
    sql_text::Piece,
};

/// All columns of a database, and the joins of the corpus.
#[derive(Debug)]
pub(super) struct Schema {
    columns: BTreeMap<TableName, Vec<String>>,
    joins: BTreeSet<(TableName, TableName)>,
}

/// A statement, and what its names mean.
#[derive(Debug)]
pub(super) struct Places<'a> {
    pub(super) sql: &'a str,
    pub(super) pieces: Vec<Piece<'a>>,
    facts: &'a BTreeSet<Fact>,
    schema: &'a Schema,
    /// The tables by alias, in all queries of the statement.
    aliases: BTreeMap<&'a str, &'a TableName>,
}

// === impl Schema ===

impl Schema {
    /// Reads the columns that a role may see.
    pub(super) async fn load(
        questions: &[(Question, BTreeSet<Fact>)],
        connection: &mut PgConnection,
    ) -> anyhow::Result<Self> {
        let rows: Vec<(String, String, String)> = sqlx::query_as(
            "SELECT table_schema::text, table_name::text, column_name::text
             FROM information_schema.columns
             WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
             ORDER BY table_schema, table_name, ordinal_position",
        )
        .fetch_all(connection)
        .await?;
        let mut columns = BTreeMap::<_, Vec<_>>::new();
        for (schema, name, column) in rows {
            columns
                .entry(TableName { schema, name })
                .or_default()
                .push(column);
        }
        let facts = questions.iter().flat_map(|(_, facts)| facts);
        let joins = facts.filter_map(|fact| match fact {
            Fact::Join(one, other) => Some([
                (one.table.clone(), other.table.clone()),
                (other.table.clone(), one.table.clone()),
            ]),
            _ => None,
        });
        Ok(Self {
            joins: joins.flatten().collect(),
            columns,
        })
    }

    /// Returns the columns of a table.
    fn columns(&self, table: &TableName) -> &[String] {
        self.columns.get(table).map_or(&[], Vec::as_slice)
    }
}

// === impl Places ===

impl<'a> Places<'a> {
    /// Reads a statement.
    pub(super) fn new(sql: &'a str, facts: &'a BTreeSet<Fact>, schema: &'a Schema) -> Self {
        let mut places = Self {
            sql,
            pieces: Piece::all(sql),
            facts,
            schema,
            aliases: BTreeMap::new(),
        };
        places.aliases = places
            .tables()
            .filter_map(|(at, table)| Some((places.pieces.get(at + 3)?.name()?, table)))
            .collect();
        places
    }

    /// Returns the tables with the positions of their schemas.
    pub(super) fn tables(&self) -> impl Iterator<Item = (usize, &'a TableName)> {
        let tables = self.facts.iter().filter_map(|fact| match fact {
            Fact::Table(table) => Some(table),
            _ => None,
        });
        let known: Vec<&TableName> = tables.collect();
        let pieces = self.pieces.windows(4).enumerate();
        pieces.filter_map(move |(at, window)| {
            let [
                Piece {
                    token: Token::Word("FROM" | "JOIN"),
                    ..
                },
                schema,
                dot,
                name,
            ] = window
            else {
                return None;
            };
            let (schema, name) = (schema.name()?, name.name()?);
            let is_it = |table: &&&TableName| table.schema == schema && table.name == name;
            let table = known.iter().find(is_it).filter(|_| dot.is(b'.'))?;
            Some((at + 1, *table))
        })
    }

    /// Returns the columns that are written behind an alias, with the positions of their aliases.
    pub(super) fn columns(&self) -> impl Iterator<Item = (usize, ColumnName)> {
        let pieces = self.pieces.windows(3).enumerate();
        pieces.filter_map(|(at, window)| {
            let [alias, dot, name] = window else {
                return None;
            };
            let (alias, name) = (alias.name()?, name.name()?);
            let table = self.aliases.get(alias).filter(|_| dot.is(b'.'))?;
            let column = ColumnName {
                table: (*table).clone(),
                name: name.to_owned(),
            };
            Some((at, column))
        })
    }

    /// Returns the values that the database defines.
    pub(super) fn values(&self) -> impl Iterator<Item = &'a str> {
        self.facts.iter().filter_map(|fact| match fact {
            Fact::Value(_, value) => Some(value.as_str()),
            _ => None,
        })
    }

    /// Returns columns of tables that could be joined and are not, each with its table. No table of
    /// the statement has such a column.
    pub(super) fn unjoined(&self) -> Vec<(String, String)> {
        let mut here: Vec<&TableName> = self.aliases.values().copied().collect();
        here.sort();
        here.dedup();
        let is_here = |column: &String| {
            here.iter()
                .any(|table| self.schema.columns(table).contains(column))
        };
        let pairs = self.schema.joins.iter();
        let others = pairs.filter(|(one, other)| here.contains(&one) && !here.contains(&other));
        let found = others.filter_map(|(_, other)| {
            let mut columns = self.schema.columns(other).iter();
            let column = columns.find(|column| !is_here(column))?;
            // The names of the first schema of the search path need none.
            let table = match &*other.schema {
                "public" => quoted(&other.name),
                _ => other.to_string(),
            };
            Some((quoted(column), table))
        });
        found.collect()
    }

    /// Returns the statement with another text for some tokens.
    pub(super) fn replaced(&self, from: usize, to: usize, text: &str) -> String {
        let (start, end) = (self.pieces[from].place.start, self.pieces[to].place.end);
        format!("{}{text}{}", &self.sql[..start], &self.sql[end..])
    }

    /// Returns the statement with another name for a token, in quotes if it had them.
    pub(super) fn renamed(&self, at: usize, name: &str) -> String {
        match self.pieces[at].token {
            Token::Quoted(_) => self.replaced(at, at, &format!("\"{name}\"")),
            _ => self.replaced(at, at, name),
        }
    }
}
