//! Vectorizers of pgai, which are rows of the table `ai.vectorizer`.

mod drop;
mod pipeline;
#[cfg(test)]
mod tests;
mod vectorizer;

use ziggurat_runtime::Secret;

use self::vectorizer::Vectorizer;
use crate::{
    AdoptError, Adopted, Database, File, Surroundings,
    adoption::HEAD,
    database::Reading,
    document::Members,
    report::{Place, Report},
    tree::json,
};

/// Name of the source in the report; its lines are the numbers of vectorizers.
const SOURCE: &str = "ai.vectorizer";

/// Parameters of a URL that a pipeline does not have.
const WITHOUT_EQUAL: [&str; 3] = ["hostaddr", "options", "service"];

/// The vectorizers of a database, on their way into a configuration of `ziggurat-rag`.
#[derive(Debug)]
pub struct Pgai {
    database: Database,
    report: Report,
}

// === impl Pgai ===

impl Pgai {
    /// The query for the rows, each as a text of JSON.
    pub const QUERY: &str = "SELECT pg_catalog.to_jsonb(v)::pg_catalog.text FROM ai.vectorizer v \
                             ORDER BY id";

    /// Begins with the connection URL of the database.
    #[must_use]
    pub fn new(url: &Secret) -> Self {
        let mut report = Report::default();
        let mut database = Database::new("database");
        let mut reading = Reading {
            place: Place {
                file: SOURCE,
                line: 0,
                name: "database",
            },
            surroundings: &Surroundings::new(""),
            report: &mut report,
        };
        database.set_url(url.expose(), &mut reading);
        for key in WITHOUT_EQUAL {
            if database.text(key).is_some() {
                reading.changed(format!("{key}: a pipeline has no such key"));
            }
        }
        Self { database, report }
    }

    /// Returns the database to ask.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Makes a pipeline of each row.
    ///
    /// # Errors
    /// Fails on a row that is not a vectorizer.
    pub fn finish(mut self, rows: &[String]) -> Result<Adopted, AdoptError> {
        let (mut pipelines, mut entries, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            let node = json::read(row)?;
            let vectorizer = Vectorizer::read(&node).ok_or(AdoptError::Unknown)?;
            let name = vectorizer.pipeline_name(&names);
            let place = Place {
                file: SOURCE,
                line: vectorizer.id,
                name: &vectorizer.name,
            };
            let made = pipeline::of(&vectorizer, &name, &self.database, place, &mut self.report);
            pipelines.extend(made);
            entries.extend(drop::statements(&vectorizer));
            names.push(name);
        }
        let mut files = Vec::new();
        if !pipelines.is_empty() {
            let mut configuration = Members::default();
            configuration.set("pipelines", pipelines);
            files.push(File {
                name: "ziggurat-rag.yaml",
                text: format!("{HEAD}{}", configuration.render()),
            });
        }
        Ok(Adopted {
            files,
            entries,
            report: self.report,
        })
    }
}
