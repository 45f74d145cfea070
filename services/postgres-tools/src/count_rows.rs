//! `count_rows`: counts the rows of a table, or those that match a condition.

#[cfg(test)]
mod tests;

use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use ziggurat_databases::{Current, Databases};
use ziggurat_mcp::{
    Annotations, Error, Lenient, Property, Recorded, Reported, Schema, Structure, ToolDescriptor,
    ToolHandler, ToolRequest, ToolResult, Visibility,
};
use ziggurat_postgres::{
    error::{Phase, QueryError},
    metadata::Metadata,
    quoted,
    statement::Statement,
};
use ziggurat_sql::{Lexer, Refusal, Token};

use ziggurat_answers::{ResultFormat, SqlErrors, client};
use ziggurat_calls::Call;

const SUBQUERY: &str = "query rejected: subqueries are not permitted in 'where'; \
    use query_database to count over several tables";

const NO_NUMBER: &str = "COUNT(*) gave no whole number: the search path of this database leads to a \
     count function that is not PostgreSQL's";

const UNBALANCED: &str = "query rejected: the parentheses in 'where' do not balance";

const UNCLOSED: &str = "query rejected: a comment, string or quoted name in 'where' has no end";

/// The text behind the condition. The line break ends a comment at its end.
const AFTER: &str = "\n)";

/// Counts the rows of one table for its caller.
///
/// Meant for the total of a paged `query_database` result. The condition is SQL of the caller and
/// stands in parentheses that it cannot close, so it can only be a condition. The statement is
/// always read-only.
#[derive(Clone, Debug)]
pub struct CountRows {
    databases: Databases,
    format: ResultFormat,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    table: Lenient<String>,
    schema: Lenient<String>,
    #[serde(rename = "where")]
    condition: Lenient<String>,
    database: Lenient<String>,
}

/// A count of a table, with an optional condition.
struct Count {
    schema: String,
    table: String,
    condition: Option<String>,
}

/// The structured answer.
#[derive(Serialize)]
struct Counted<'a> {
    database: &'a str,
    schema: &'a str,
    table: &'a str,
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    condition: Option<&'a str>,
    count: u64,
}

// === impl CountRows ===

impl CountRows {
    /// Makes a tool that counts in the database of the caller.
    #[must_use]
    pub fn new(databases: Databases) -> Self {
        let format = ResultFormat::default();
        Self { databases, format }
    }

    /// Sets the form of the values in texts.
    #[must_use]
    pub fn with_format(mut self, format: ResultFormat) -> Self {
        self.format = format;
        self
    }
}

impl ToolHandler for CountRows {
    fn describe(&self) -> ToolDescriptor {
        let schema = Property::string("The schema.").with_default("public");
        let condition = Property::string(
            "A condition as in a WHERE clause, without the word WHERE and without subqueries.",
        );
        let tool = ToolDescriptor::new(
            "count_rows",
            "Counts the rows of a table or view, or those that match a condition. Use it before \
             paging through a result.",
            Schema::new()
                .with_required("table", Property::string("The table, or schema.table."))
                .with_optional("schema", schema)
                .with_optional("where", condition),
        )
        .with_title("Count rows")
        .with_recorded(Recorded::Condition("where"))
        .with_output_on_demand(Counted::schema())
        .with_annotations(Annotations::reading())
        .with_visibility(Visibility::Negotiated);
        client::with_database(&self.databases, tool)
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let mut arguments: Arguments = request.arguments()?;
        let database = arguments.database.0.take();
        let mut count = Count::read(arguments)?;
        let current = client::chosen(&self.databases, &request, database).await?;
        let format = self.format.of(&request);
        if request.is_negotiated() && count.table.contains('.') {
            let metadata = client::metadata(&current).await?;
            count.qualify(&metadata);
        }
        let call = Call::of(&request);
        call.admit(current.database(), &count.sql()).await?;
        let counted = count.run(&current, call).await;
        if let Err(error) = &counted {
            call.set_error(error);
        }
        let rows = match counted {
            Ok(rows) => rows,
            Err(error) if request.is_negotiated() => {
                let label = client::label(&self.databases, &request, &current);
                let errors = count.errors(&current, &request);
                let reported = Box::pin(errors.reported(&error)).await;
                return Err(format.error(client::labelled(&label, reported.into())));
            }
            Err(error) => return Err(format.error(count.complaint(&error).into())),
        };
        // A search path may put a user-defined count function before the one of PostgreSQL.
        let rows: u64 = rows.parse().map_err(|_| Reported::new(NO_NUMBER))?;
        let heading = client::heading(&self.databases, &request, &current);
        let text = format!("{heading}\n\nSQL Query:\n{}\n\nCount: {rows}", count.sql());
        let text = format.text(&text).into_owned();
        let structure = || count.structure(current.label(), rows);
        let structure = request.wants_structure().then(structure);
        Ok(ToolResult::text(text).with_structure(structure))
    }
}

// === impl Count ===

impl Count {
    fn read(arguments: Arguments) -> Result<Self, Reported> {
        let table = arguments.table.0.filter(|table| !table.is_empty());
        let table = Lenient(table).or_report("Missing or invalid 'table' parameter")?;
        let schema = arguments.schema.0.filter(|schema| !schema.is_empty());
        let schema = schema.as_deref().unwrap_or("public");
        let condition = arguments.condition.0.unwrap_or_default();
        let condition = condition
            .trim()
            .trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        check(condition)?;
        Ok(Self {
            schema: schema.to_owned(),
            table,
            condition: Some(condition.to_owned()).filter(|text| !text.is_empty()),
        })
    }

    /// Takes a table given as `schema.table` apart, unless a table has this name with the dot.
    fn qualify(&mut self, metadata: &Metadata) {
        if metadata.table(&self.schema, &self.table).is_some() {
            return;
        }
        if let Some((schema, table)) = self.table.split_once('.') {
            let unquoted = |name: &str| name.trim_matches('"').to_owned();
            (self.schema, self.table) = (unquoted(schema), unquoted(table));
        }
    }

    fn from(&self) -> String {
        format!(
            "SELECT COUNT(*) FROM {}.{}",
            quoted(&self.schema),
            quoted(&self.table)
        )
    }

    /// Returns the statement to show, without the parentheses around the condition.
    fn sql(&self) -> String {
        match &self.condition {
            Some(condition) => format!("{} WHERE {condition}", self.from()),
            None => self.from(),
        }
    }

    /// Returns the text before the condition.
    fn before(&self) -> String {
        format!("{} WHERE (", self.from())
    }

    fn errors(&self, current: &Current, request: &ToolRequest) -> SqlErrors {
        let errors = match &self.condition {
            Some(condition) => SqlErrors::new(current, &**condition).within(&self.before(), AFTER),
            None => SqlErrors::new(current, self.from()),
        };
        errors.for_request(request)
    }

    async fn run(&self, current: &Current, call: &Call) -> Result<String, QueryError> {
        let database = current.database();
        let statement = match &self.condition {
            Some(condition) => Statement::wrapped(database, &self.before(), condition, AFTER)?,
            None => Statement::read_only(database, &self.from())?,
        };
        let statement = statement.judged_by_plan().with_max_cost(call.max_cost());
        let mut rows = statement.run(call.lease(current.pool()).await?).await?;
        let mut count = String::new();
        while let Some(row) = rows.try_next().await? {
            count.push_str(row.text(0)?.unwrap_or_default());
        }
        Ok(count)
    }

    fn structure(&self, label: &str, rows: u64) -> Structure {
        let counted = Counted {
            database: label,
            schema: &self.schema,
            table: &self.table,
            condition: self.condition.as_deref(),
            count: rows,
        };
        Structure::new(&counted).expect("texts and a number are JSON")
    }

    fn complaint(&self, error: &QueryError) -> Reported {
        let problem = match error {
            QueryError::Refused(refusal) => return Reported::new(refusal.to_string()),
            QueryError::TooCostly { cost, max } => return client::too_costly(*cost, *max),
            QueryError::Lease(error) => return client::unavailable(error),
            QueryError::Failed { phase, report } => match phase {
                Phase::Begin => {
                    return Reported::new(format!("Failed to begin transaction: {report}"));
                }
                Phase::Commit => {
                    return Reported::new(format!("Failed to commit transaction: {report}"));
                }
                _ => client::explained(report),
            },
            _ => "the connection to the database was lost".to_owned(),
        };
        Reported::new(format!("SQL Query:\n{}\n\nError: {problem}", self.sql()))
    }
}

// === impl Counted ===

impl Counted<'_> {
    fn schema() -> Schema {
        let condition = Property::string("The condition on the rows, if given.");
        let count = Property::integer("The number of rows.").with_minimum(0);
        Schema::new()
            .with_required("database", Property::string("The database of the table."))
            .with_required("schema", Property::string("The schema of the table."))
            .with_required("table", Property::string("The table or view."))
            .with_optional("where", condition)
            .with_required("count", count)
    }
}

/// Refuses text that is more than a condition.
fn check(condition: &str) -> Result<(), Reported> {
    let mut depth = 0_usize;
    for token in Lexer::new(condition) {
        match token {
            Token::Word(word)
                if word.eq_ignore_ascii_case("SELECT") || word.eq_ignore_ascii_case("TABLE") =>
            {
                return Err(Reported::new(SUBQUERY));
            }
            Token::Symbol(b';') => return Err(Reported::new(Refusal::Several.to_string())),
            Token::Symbol(b'(') => depth += 1,
            Token::Symbol(b')') if depth == 0 => return Err(Reported::new(UNBALANCED)),
            Token::Symbol(b')') => depth -= 1,
            Token::Unclosed => return Err(Reported::new(UNCLOSED)),
            _ => {}
        }
    }
    if depth > 0 {
        return Err(Reported::new(UNBALANCED));
    }
    Ok(())
}
