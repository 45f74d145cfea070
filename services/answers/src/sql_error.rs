//! Errors of statements as texts from which a model can correct its statement at the first try.
//!
//! The text has the message of PostgreSQL, the line of the statement with a mark below the place,
//! the detail and the hint of PostgreSQL, and a hint of this server: names that are close to a
//! wrong one, the arguments of a function, the labels of an enum, or the usual correction.
//!
//! Such texts are for clients that negotiate the revision of the protocol. The others may depend on
//! the exact text of errors.

mod access;
mod catalogue;
mod columns;
mod excerpt;
mod functions;
mod grammar;
mod names;
mod operators;
mod scope;
mod tables;
#[cfg(test)]
mod tests;
mod types;
mod values;

use std::{borrow::Cow, fmt::Write as _, sync::Arc, time::Duration};

use tokio::time;
use ziggurat_databases::Current;
use ziggurat_mcp::{ListedTools, Reported, ToolRequest};
use ziggurat_postgres::{
    database::Database,
    error::{Phase, QueryError, Report},
    name::written,
};

pub use self::access::WITHHELD;
use self::{access::WriteRule, scope::Scope};
use crate::client;

/// Limits on the characters of PostgreSQL's message, and of each other part of a text.
const MAX_MESSAGE: usize = 2_000;
const MAX_PART: usize = 1_400;

/// Limits on the time to read the metadata again, and to find a hint.
const MAX_LOAD_TIME: Duration = Duration::from_secs(2);
const MAX_HINT_TIME: Duration = Duration::from_secs(3);

/// Describes the errors of one statement.
#[derive(Clone, Debug)]
pub struct SqlErrors {
    database: Arc<Database>,
    /// `None` for a connection of which no catalogue is read.
    current: Option<Current>,
    before: String,
    text: Arc<str>,
    after: &'static str,
    /// The tools that hints may name.
    tools: Option<ListedTools>,
}

/// Hint of this server.
struct Hint {
    text: String,
    /// A hint of PostgreSQL that quotes this name, alone or behind a dot, says the same.
    name: Option<String>,
}

// === impl SqlErrors ===

impl SqlErrors {
    /// Describes the errors of a call's text in its database. Positions count from the first
    /// character of the text, which has no white space before it.
    pub fn new(current: &Current, text: impl Into<Arc<str>>) -> Self {
        Self {
            current: Some(current.clone()),
            ..Self::ad_hoc(current.database(), text)
        }
    }

    /// Describes the errors of a caller's text in a database that it named by a URL.
    pub fn ad_hoc(database: &Arc<Database>, text: impl Into<Arc<str>>) -> Self {
        Self {
            database: Arc::clone(database),
            current: None,
            before: String::new(),
            text: text.into(),
            after: "",
            tools: None,
        }
    }

    /// Sets the call that the texts answer, so that they refer to tools in the list of its client.
    #[must_use]
    pub fn for_request(mut self, request: &ToolRequest) -> Self {
        self.tools = Some(request.listed_tools());
        self
    }

    /// Sets the text of this server around the caller's.
    #[must_use]
    pub fn within(mut self, before: &str, after: &'static str) -> Self {
        before.clone_into(&mut self.before);
        self.after = after;
        self
    }

    /// Describes an error.
    pub async fn reported(&self, error: &QueryError) -> Reported {
        match error {
            QueryError::Failed { phase, report } => {
                Reported::new(self.described(*phase, report).await)
            }
            error => self.unreported(error),
        }
    }

    /// Describes an error that PostgreSQL did not report.
    #[must_use]
    pub fn unreported(&self, error: &QueryError) -> Reported {
        Reported::new(match error {
            QueryError::Lease(error) => return client::unavailable(error),
            QueryError::TooCostly { cost, max } => return client::too_costly(*cost, *max),
            QueryError::Changes(limit) => return Reported::new(limit.to_string()),
            QueryError::Empty => "Query is empty",
            QueryError::Refused(refusal) => {
                let mut text = refusal.to_string();
                if let Some(hint) = access::refused(refusal, self.write_rule()) {
                    push(&mut text, "HINT", &hint);
                }
                return Reported::new(text);
            }
            QueryError::Row(_) => {
                "A value of the result is not valid text. Leave out its column, or convert it, for \
                 example with encode(convert_to(…), 'hex')."
            }
            QueryError::Silent => "The database did not answer in time. Try again later.",
            QueryError::NoRoom => {
                "Other answers with large rows take all the memory there is for them. Ask for \
                 fewer or shorter columns, or try again later."
            }
            _ => "The connection to the database was lost. Try again.",
        })
    }

    fn write_rule(&self) -> WriteRule {
        let Some(current) = &self.current else {
            return WriteRule::AdHoc;
        };
        if current.withholds_writes() {
            WriteRule::Withheld
        } else if self.database.allows_writes() {
            WriteRule::OtherTool
        } else {
            WriteRule::Never
        }
    }

    /// Returns the text about an error of PostgreSQL.
    pub async fn described(&self, phase: Phase, report: &Report) -> String {
        let mut text = shortened(&report.to_string(), MAX_MESSAGE).into_owned();
        let place = report.position.filter(|_| !self.text.is_empty());
        let excerpt = place.and_then(|position| excerpt::excerpt(&self.text, position));
        if let Some(excerpt) = excerpt {
            text.push('\n');
            text.push_str(&excerpt);
        }
        if let Some(detail) = &report.detail {
            push(&mut text, "DETAIL", detail);
        }
        if let Some(hint) = &report.hint {
            push(&mut text, "HINT", hint);
        }
        if phase == Phase::Commit {
            let undone = "The statement ran, but its changes could not be kept: nothing changed.";
            push(&mut text, "NOTE", undone);
        }
        // Boxed: rare, and its futures are large.
        let hint = Box::pin(self.hint(report));
        if let Ok(Some(hint)) = time::timeout(MAX_HINT_TIME, hint).await
            && !hint.is_in(report)
        {
            push(&mut text, "HINT", &hint.text);
        }
        text
    }

    async fn hint(&self, report: &Report) -> Option<Hint> {
        let whole = format!("{}{}{}", self.before, self.text, self.after);
        let scope = Scope::read(&whole);
        let index = report.position.and_then(|position| {
            let at = excerpt::byte_at(&self.text, position)?;
            let is_end = at == self.text.len();
            Some(if is_end {
                scope.len()
            } else {
                scope.index_at(self.before.len() + at)
            })
        });
        match &*report.sqlstate {
            "25006" => Some(Hint::of(access::read_only(self.write_rule()))),
            // With a column it is about a mask, which no grant lifts.
            "42501" if report.column.is_none() => Some(Hint::of(access::denied(report, &scope))),
            "57014" => access::cancelled(report, &self.database).map(Hint::of),
            "42601" if scope.is_word(0, &["DESCRIBE", "DESC", "SHOW", "USE"]) => {
                self.schema_hint().map(Hint::of)
            }
            "42601" => grammar::syntax(&scope, index?).map(Hint::of),
            "42803" | "42P20" => grammar::grouping(&scope, index?).map(Hint::of),
            "42P01" => {
                let current = self.current.as_ref()?;
                // The table may have been created just now.
                let recent = time::timeout(MAX_LOAD_TIME, client::recent_metadata(current)).await;
                let metadata = match recent {
                    Ok(Ok(metadata)) => metadata,
                    _ => client::metadata(current).await.ok()?,
                };
                tables::unknown(report, &scope, index, &metadata, self.schema_hint())
            }
            "42703" => {
                let metadata = client::metadata(self.current.as_ref()?).await.ok()?;
                columns::unknown(&scope, index?, &metadata)
            }
            "42702" => {
                let metadata = client::metadata(self.current.as_ref()?).await.ok()?;
                columns::ambiguous(&scope, index?, &metadata)
            }
            _ => self.catalogue_hint(report, &scope, index).await,
        }
    }

    /// Names the tool that shows tables and columns.
    fn schema_hint(&self) -> Option<String> {
        let listed = self.tools.as_ref()?;
        let mut tools = ["search_schema", "get_schema_info"].into_iter();
        let tool = tools.find(|tool| listed.has(tool))?;
        Some(format!("{tool} shows tables and their columns."))
    }

    /// Returns a hint for which the catalogue may have to be read.
    async fn catalogue_hint(
        &self,
        report: &Report,
        scope: &Scope<'_>,
        index: Option<usize>,
    ) -> Option<Hint> {
        let current = self.current.as_ref();
        let text = match &*report.sqlstate {
            "42883" => {
                if let Some(text) = operators::unknown(&report.message) {
                    return Some(Hint::of(text));
                }
                let names = scope.names(index?);
                let end = index? + (2 * names.len()).saturating_sub(1);
                let name = names.last().filter(|_| scope.is_symbol(end, b'('))?;
                let functions = catalogue::functions(current?, name).await?;
                return functions::unknown(&names, report, &functions);
            }
            "42704" if scope.is_word(0, &["SHOW"]) => self.schema_hint()?,
            "42704" => {
                let name = types::name(scope, index?)?;
                types::unknown(&name, &catalogue::types(current?).await?)?
            }
            "3F000" => {
                let name = index.and_then(|index| scope.name(index))?;
                types::unknown_schema(&name, &catalogue::schemas(current?).await?)?
            }
            "22P02" | "22003" | "22007" | "22008" => match values::invalid(report) {
                Some(text) => text,
                None => values::labels(report, &catalogue::labels(current?, report).await?)?,
            },
            "42P02" => {
                "Write the values into the statement: parameters such as $1 have none.".to_owned()
            }
            "22012" => "Write NULLIF(divisor, 0), so that a division by zero is NULL.".to_owned(),
            "21000" => {
                "Write IN or = ANY instead of =, or let the subquery return one row: LIMIT 1, or \
                 an aggregate function."
                    .to_owned()
            }
            "23502" => {
                let (table, column) = (report.table.as_deref()?, report.column.as_deref()?);
                let (table, column) = (written(table), written(column));
                format!("Give the column {column} of {table} a value that is not NULL.")
            }
            code if code.starts_with("23") => {
                let definition = catalogue::constraint(current?, report).await?;
                let name = report.constraint.as_deref()?;
                format!("The constraint {} is: {definition}", written(name))
            }
            _ => return None,
        };
        Some(Hint::of(text))
    }
}

// === impl Hint ===

impl Hint {
    fn of(text: String) -> Self {
        Self { text, name: None }
    }

    /// Makes a hint that is left out if PostgreSQL's hint has the name.
    fn unless_named(text: String, name: &str) -> Self {
        Self {
            text,
            name: Some(name.to_owned()),
        }
    }

    fn is_in(&self, report: &Report) -> bool {
        match (&self.name, &report.hint) {
            (Some(name), Some(hint)) => {
                hint.contains(&format!("\"{name}\"")) || hint.contains(&format!(".{name}\""))
            }
            _ => false,
        }
    }
}

/// Writes a part of a text on a line of its own.
fn push(text: &mut String, label: &str, part: &str) {
    let part = shortened(part, MAX_PART);
    write!(text, "\n{label}: {part}").expect("a string takes all that is written");
}

/// Returns a text of at most `most` characters, with a mark at the end if it was longer.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
