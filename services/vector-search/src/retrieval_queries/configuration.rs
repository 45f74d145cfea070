//! Text search configurations of PostgreSQL: the rules that make lexemes of words.

use crate::{retrieval_queries::shape::literal, text};
use ziggurat_postgres::{
    error::QueryError,
    pool::Pool,
    single_round_trip::{ReadOnlyQuery, Value},
};

/// Configurations of languages that write several nouns as one word.
const JOINING: [&str; 6] = [
    "danish",
    "dutch",
    "finnish",
    "german",
    "norwegian",
    "swedish",
];

/// A text search configuration; by default the one of the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextConfiguration {
    /// Its name as a constant in SQL.
    constant: Option<String>,
}

// === impl TextConfiguration ===

impl TextConfiguration {
    /// Takes a name, which may have a schema before a dot.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            constant: Some(literal(name)),
        }
    }

    /// Returns whether its language is known to write several nouns as one word.
    #[must_use]
    pub fn joins_words(&self) -> bool {
        let constant = self.constant.as_deref().unwrap_or_default();
        let name = constant.trim_matches('\'').rsplit('.').next();
        name.is_some_and(|name| JOINING.contains(&name))
    }

    /// Finds the constant before `::regconfig` in an expression.
    pub(super) fn of_expression(expression: &str) -> Self {
        let constant = expression
            .split_once("::regconfig")
            .and_then(|(before, _)| before.strip_suffix('\'')?.rsplit_once("('"))
            .map(|(_, name)| format!("'{name}'"));
        Self { constant }
    }

    /// Returns its name as a constant in SQL; `None` for the configuration of the database.
    pub(super) fn constant(&self) -> Option<&str> {
        self.constant.as_deref()
    }

    /// Returns this configuration, or the other one if it has no name.
    pub(super) fn or(self, other: &Self) -> Self {
        if self.constant.is_some() {
            self
        } else {
            other.clone()
        }
    }

    /// Returns whether an index of this configuration serves searches with the other one.
    pub(super) fn serves(&self, other: &Self) -> bool {
        let name = |constant: &str| constant.replace("'pg_catalog.", "'");
        match (&self.constant, &other.constant) {
            (Some(own), Some(other)) => name(own) == name(other),
            _ => true,
        }
    }

    /// Returns the lexemes of each word. Stop words have none.
    ///
    /// # Errors
    /// Fails when there is no connection, when the database has no such configuration, and when
    /// the connection breaks.
    pub async fn lexemes(
        &self,
        words: &[String],
        pool: &Pool,
    ) -> Result<Vec<Vec<String>>, QueryError> {
        let configuration = match &self.constant {
            Some(constant) => format!("{constant}::regconfig, "),
            None => String::new(),
        };
        let read_query = ReadOnlyQuery {
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
        let pairs = read_query.read(pool.lease().await?, pair).await?;
        let mut lexemes = vec![Vec::new(); words.len()];
        for (place, lexeme) in pairs.into_iter().flatten() {
            if let Some(list) = place.checked_sub(1).and_then(|at| lexemes.get_mut(at)) {
                list.push(lexeme);
            }
        }
        Ok(lexemes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_serves_its_own_name_with_or_without_the_schema_of_the_system() {
        let english = TextConfiguration::named("english");
        let of_index = "to_tsvector('pg_catalog.english'::regconfig, body)";
        let of_index = TextConfiguration::of_expression(of_index);
        assert!(of_index.serves(&english) && english.serves(&of_index));
        assert!(!of_index.serves(&TextConfiguration::named("german")));
        assert!(of_index.serves(&TextConfiguration::default()));
        assert!(TextConfiguration::named("pg_catalog.german").joins_words());
        assert!(!english.joins_words() && !TextConfiguration::default().joins_words());
        assert_eq!(
            TextConfiguration::of_expression("to_tsvector(body)"),
            TextConfiguration::default()
        );
    }
}
