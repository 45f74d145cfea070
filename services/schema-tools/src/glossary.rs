//! The glossary: words of the business, and notes about tables and columns.

use serde::Deserialize;
use ziggurat_runtime::Problem;

use crate::search_schema::name;

/// Limit on the entries of a glossary.
const MAX_ENTRIES: usize = 2000;

/// Terms with their meaning, and notes about tables and columns.
///
/// It is shown where tables are described, to callers that may use the database.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Glossary {
    /// In the order of the file.
    terms: Vec<(String, String)>,
    /// Sorted by path; of equal paths, the note for one database comes before the note for all.
    notes: Vec<ObjectNote>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ObjectNote {
    /// Schema and table, for a column with its name.
    path: Vec<String>,
    is_of_all: bool,
    /// Empty for all databases.
    database: String,
    note: String,
}

/// Entry of a glossary, as it is written: a term, or an object of a database, and a note about it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GlossaryEntry {
    term: Option<String>,
    database: Option<String>,
    object: Option<String>,
    note: Option<String>,
}

// === impl Glossary ===

impl Glossary {
    /// Checks the entries.
    ///
    /// # Errors
    ///
    /// Fails if an entry is not valid, or if there are too many.
    pub fn read(entries: Vec<GlossaryEntry>) -> Result<Self, Problem> {
        let mut glossary = Self::default();
        if entries.len() > MAX_ENTRIES {
            return Err(format!("glossary: more than {MAX_ENTRIES} entries").into());
        }
        for (index, entry) in entries.into_iter().enumerate() {
            let added = glossary.add(entry);
            added.map_err(|problem| problem.within(format!("glossary {index}")))?;
        }
        glossary.notes.sort_unstable();
        Ok(glossary)
    }

    fn add(&mut self, entry: GlossaryEntry) -> Result<(), Problem> {
        let text = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let note = text(entry.note).ok_or(Problem::Missing("note"))?;
        let database = text(entry.database);
        match (text(entry.term), text(entry.object)) {
            (Some(_), None) if database.is_some() => {
                Err("a term is of all databases: remove database".into())
            }
            (Some(term), None) => {
                if self.terms.iter().any(|(known, _)| *known == term) {
                    return Err(Problem::Duplicate("term", term));
                }
                self.terms.push((term, note));
                Ok(())
            }
            (None, Some(object)) => {
                let path = name::split(&object).filter(|path| matches!(path.len(), 2 | 3));
                let expected = "schema.table or schema.table.column";
                let invalid = || Problem::NotListed("object", object.clone(), expected);
                let path = path.ok_or_else(invalid)?;
                let database = database.unwrap_or_default();
                let is_same = |known: &ObjectNote| known.path == path && known.database == database;
                if self.notes.iter().any(is_same) {
                    return Err(Problem::Duplicate("object", object));
                }
                self.notes.push(ObjectNote {
                    path,
                    is_of_all: database.is_empty(),
                    database,
                    note,
                });
                Ok(())
            }
            _ => Err(Problem::Missing("either term or object")),
        }
    }

    /// Returns whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.notes.is_empty()
    }

    /// Returns the terms and their meanings.
    pub(crate) fn terms(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.terms.iter().map(|(term, note)| (&**term, &**note))
    }

    /// Returns the note about a table, or about a column of it.
    pub(crate) fn note(
        &self,
        database: &str,
        table: (&str, &str),
        column: Option<&str>,
    ) -> Option<&str> {
        let sought = [table.0, table.1].into_iter().chain(column);
        let compare =
            |entry: &ObjectNote| entry.path.iter().map(String::as_str).cmp(sought.clone());
        let first = self.notes.partition_point(|entry| compare(entry).is_lt());
        let of_path = self
            .notes
            .get(first..)?
            .iter()
            .take_while(|entry| compare(entry).is_eq());
        let mut fitting = of_path.filter(|entry| entry.is_of_all || entry.database == database);
        fitting.next().map(|entry| &*entry.note)
    }

    /// Returns the glossary of a database as Markdown, or an empty text.
    pub(crate) fn markdown(&self, database: &str) -> String {
        let terms = self.terms.iter().map(|(term, note)| (term.clone(), note));
        let of_it = |entry: &&ObjectNote| entry.is_of_all || entry.database == database;
        let notes = self.notes.iter().filter(of_it);
        let notes = notes.map(|entry| {
            (
                name::path(entry.path.iter().map(String::as_str)),
                &entry.note,
            )
        });
        let mut text = list("Terms", terms);
        text.push_str(&list("Tables and columns", notes));
        text
    }
}

/// Returns a part of the document, empty if it has no entries.
fn list<'a, I>(heading: &str, entries: I) -> String
where
    I: Iterator<Item = (String, &'a String)>,
{
    let mut text = String::new();
    for (name, note) in entries {
        if text.is_empty() {
            text = format!("# {heading}\n\n");
        }
        let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
        text.extend(["- **", &name, "**: ", &note, "\n"]);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
