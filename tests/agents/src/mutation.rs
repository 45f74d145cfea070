//! Statements with one mistake, made from the statements of the corpus.

mod kind;
mod misspelling;
mod places;

use std::collections::BTreeSet;

use serde_json::json;
use sqlx::{AssertSqlSafe, PgConnection};

pub(crate) use self::kind::Kind;
use self::places::Places;
use crate::{
    known::names::contains,
    question::{Fact, Question},
    server::Server,
};

/// Limit on the mistakes of a kind in the statements of a database.
const PER_KIND: usize = 8;

/// A statement with one mistake.
#[derive(Debug)]
pub(crate) struct Mutation {
    pub(crate) kind: Kind,
    pub(crate) sql: String,
    /// The text that the error must contain, so that the statement can be corrected.
    pub(crate) right: String,
}

/// The mistakes of a database that can be made, by their kind.
#[derive(Debug, Default)]
pub(crate) struct Candidates(Vec<Mutation>);

// === impl Candidates ===

impl Candidates {
    /// Makes all mistakes that fit, and keeps those that PostgreSQL notices for the right reason.
    pub(crate) async fn make(
        questions: &[(Question, BTreeSet<Fact>)],
        connection: &mut PgConnection,
    ) -> anyhow::Result<Self> {
        let schema = places::Schema::load(questions, connection).await?;
        let mut kept = Vec::new();
        for kind in Kind::ALL {
            let mut left = PER_KIND;
            // One of each statement first, so that the first ones are from different statements.
            let made = questions.iter().map(|(question, facts)| {
                let places = Places::new(&question.sql, facts, &schema);
                kind.mistakes(&places)
            });
            let made: Vec<Vec<(String, String)>> = made.collect();
            let longest = made.iter().map(Vec::len).max().unwrap_or_default();
            for round in 0..longest {
                for (sql, right) in made.iter().filter_map(|mistakes| mistakes.get(round)) {
                    if left > 0 && fails(sql, kind, connection).await? {
                        left -= 1;
                        kept.push(Mutation {
                            kind,
                            sql: sql.clone(),
                            right: right.clone(),
                        });
                    }
                }
            }
        }
        Ok(Self(kept))
    }

    /// Takes the next mistake of a kind.
    pub(crate) fn take(&mut self, kind: Kind) -> Option<Mutation> {
        let at = self.0.iter().position(|mutation| mutation.kind == kind)?;
        Some(self.0.remove(at))
    }
}

// === impl Mutation ===

impl Mutation {
    /// Runs the statement through the server. Returns the error if it does not name the correction.
    pub(crate) async fn missed(&self, server: &Server) -> anyhow::Result<Option<String>> {
        let text = server
            .call("query_database", &json!({"query": self.sql}))
            .await?;
        // An answer may repeat the statement, where the name may be right in another place.
        let told = text.replace(&self.sql, "");
        Ok((!names(&told, &self.right)).then_some(text))
    }
}

/// Returns whether PostgreSQL refuses a statement for the mistake of this kind.
async fn fails(sql: &str, kind: Kind, connection: &mut PgConnection) -> anyhow::Result<bool> {
    let explain = format!("EXPLAIN {sql}");
    match sqlx::raw_sql(AssertSqlSafe(explain))
        .execute(connection)
        .await
    {
        Err(sqlx::Error::Database(error)) => Ok(error.code().as_deref() == Some(kind.code())),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(false),
    }
}

/// Returns whether a text contains a name as a whole, outside of the excerpt of the statement.
fn names(text: &str, name: &str) -> bool {
    let mut told = text.lines().filter(|line| !line.starts_with("LINE "));
    told.any(|line| contains(line, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_only_as_a_whole_and_outside_of_the_excerpt() {
        assert!(names("ERROR: no\nHINT: Write shop.orders.", "shop.orders"));
        assert!(!names("LINE 1: SELECT shop.orders", "shop.orders"));
        assert!(!names("HINT: myshop.orders_old", "shop.orders"));
        assert!(names(
            "HINT: \"Verkauf\".\"Kunden\"",
            "\"Verkauf\".\"Kunden\""
        ));
    }
}
