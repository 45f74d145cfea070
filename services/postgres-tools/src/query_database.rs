//! `query_database`: runs one statement and returns its rows as tab-separated text.

mod ad_hoc_connection;
mod answer;
mod checked;
mod confirm;
mod connection_directive;
#[cfg(test)]
mod tests;
mod url_hosts;

use std::{borrow::Cow, sync::Arc};

use serde::Deserialize;
use serde_json::Number;
use tokio::time;
use ziggurat_accounts::PasswordAttempts;
use ziggurat_answers::{
    CallFormat, ResultFormat, SqlErrors, Table, checked::check_wish, client, step_up,
};
use ziggurat_calls::Call;
use ziggurat_databases::{Configured, Databases};
use ziggurat_mcp::{
    Annotations, Error, Lenient, Property, Recorded, Reported, Schema, Text, ToolDescriptor,
    ToolHandler, ToolRequest, ToolResult,
};
use ziggurat_postgres::{
    database::{Database, MAX_ROWS},
    error::QueryError,
    large_rows::LargeRows,
    statement::{Statement, Window},
};

pub(crate) use self::answer::MIN_ROW_LIMIT;
pub use self::url_hosts::{ConnectionUrls, InvalidUrlHost, UrlHost};
use self::{
    ad_hoc_connection::{AdHocConnections, CALL_TIMEOUT, UrlRules},
    answer::{Request, UNCONFIRMED, WritePermission, complaint},
    checked::{CheckedStatement, Next, RunOf},
    confirm::WriteQuestion,
    connection_directive::Directive,
};

/// Default limit on the bytes of rows in an answer.
const DEFAULT_MAX_BYTES: usize = 4 << 20;

/// Limit on the memory for large rows of all answers, as a multiple of the bytes of one answer.
pub(crate) const LARGE_ANSWERS: usize = 8;

/// Runs a statement for its caller.
///
/// The statement runs in a read-only transaction unless the database allows writes, on a connection
/// that only the caller's token uses. An answer holds as many rows as the window and
/// [`with_max_bytes`](Self::with_max_bytes) allow, and says how to get more. If the operator allows
/// more than 1,000 rows, larger answers are streamed instead of held in memory.
///
/// The structured result has the rows too, as many as fit into the same number of bytes. For a
/// statement without rows it is an empty table, and its row count is the number of changed rows.
///
/// A text may name its connection by the URL of a database that is not configured, at a host and
/// port of a configured one. API tokens, OAuth clients and users that are restricted to certain
/// databases cannot do this, and [`with_connection_urls`](Self::with_connection_urls) disables it
/// for all callers or allows other hosts.
#[derive(Clone, Debug)]
pub struct QueryDatabase {
    databases: Databases,
    max_bytes: usize,
    large_rows: LargeRows,
    url_rules: UrlRules,
    format: ResultFormat,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments<'a> {
    #[serde(borrow)]
    query: Lenient<Words<'a>>,
    limit: Lenient<Number>,
    offset: Lenient<Number>,
    database: Lenient<String>,
    approve: Lenient<String>,
}

/// A text, which is borrowed from the call unless it has escapes: it may be long.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Words<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Statement that is ready to run.
struct Planned<'a> {
    statement: Statement,
    plan: Request,
    checked: Option<CheckedStatement<'a>>,
    question: Option<WriteQuestion<'a>>,
}

/// The rows that a call requests, and the form of its answer.
#[derive(Clone, Copy)]
struct CallOptions {
    limit: Option<u32>,
    offset: u64,
    is_structured: bool,
    is_negotiated: bool,
    format: CallFormat,
}

// === impl QueryDatabase ===

impl QueryDatabase {
    /// Makes a tool that runs statements in the database of the caller.
    #[must_use]
    pub fn new(databases: Databases) -> Self {
        Self {
            databases,
            max_bytes: DEFAULT_MAX_BYTES,
            large_rows: LargeRows::new(LARGE_ANSWERS * DEFAULT_MAX_BYTES),
            url_rules: UrlRules::default(),
            format: ResultFormat::default(),
        }
    }

    /// Sets the form of the values in texts.
    #[must_use]
    pub fn with_format(mut self, format: ResultFormat) -> Self {
        self.format = format;
        self
    }

    /// Sets the limit on the bytes of rows in an answer (4 MiB by default); an answer holds at
    /// least one row. A streamed answer has no limit. Rows of more than 128 KiB may use eight times
    /// this memory in all answers; an answer that exceeds it waits.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self.large_rows = LargeRows::new(max_bytes.saturating_mul(LARGE_ANSWERS));
        self
    }

    /// Sets which databases a URL in a text may name (by default those at a host and port of a
    /// configured database).
    #[must_use]
    pub fn with_connection_urls(mut self, connection_urls: ConnectionUrls) -> Self {
        self.url_rules.urls = connection_urls;
        self
    }

    /// Sets whether callers without an identity are on this machine (by default they are); remote
    /// callers without an identity may not use URLs.
    #[must_use]
    pub fn with_local_callers(mut self, is_local: bool) -> Self {
        self.url_rules.is_local = is_local;
        self
    }

    /// Counts wrong passwords in URLs with the same limiter as failed logins.
    #[must_use]
    pub fn with_password_attempts(mut self, attempts: PasswordAttempts) -> Self {
        self.url_rules.attempts = attempts;
        self
    }

    async fn run_in_chosen(
        &self,
        [database, approve]: [Option<String>; 2],
        query: &str,
        options: CallOptions,
        request: &ToolRequest,
    ) -> Result<ToolResult, Error> {
        let current = client::chosen(&self.databases, request, database).await?;
        let label = client::label(&self.databases, request, &current);
        let place = client::heading(&self.databases, request, &current);
        Call::of(request).admit(current.database(), query).await?;
        let approve = approve.as_deref();
        let run = RunOf {
            current: &current,
            query,
            approve,
            request,
        };
        let answer = self.run_in(run, [place, label.clone()], options);
        let answer = answer.await;
        answer.map_err(|error| client::labelled(&label, error))
    }

    async fn run_in(
        &self,
        run: RunOf<'_>,
        [place, label]: [String; 2],
        options: CallOptions,
    ) -> Result<ToolResult, Error> {
        let RunOf {
            current,
            query,
            request,
            ..
        } = run;
        let errors =
            |text: &Arc<str>| SqlErrors::new(current, Arc::clone(text)).for_request(request);
        let call = Call::of(request);
        let mut statement = Statement::new(current.database(), query)
            .map_err(|error| options.unsent(request, &error, errors))?
            .with_window(options.window(current.database()))
            .with_large_rows(self.large_rows.clone())
            .with_max_cost(call.max_cost())
            .with_max_changed_rows(call.max_changed_rows());
        if !statement.only_reads() {
            step_up(request, current)?;
        }
        let question = WriteQuestion::new(current, query, request);
        check_wish(request, current.database())?;
        let checked = run.checked(&statement, self.max_bytes);
        if let Some(checked) = &checked {
            if checked.reads_first() {
                statement = statement.unconfirmed();
            }
        } else if let Some(question) = &question {
            if statement.only_reads() && !question.is_answered() {
                statement = statement.unconfirmed();
            } else if let Some(asked) = question.ask().await? {
                return Ok(asked);
            }
        }
        let database = current.database();
        // A database that a caller has named by its URL has the URL as name, and stays read-only.
        let is_configured = !database.name().contains("://");
        let writes = if current.withholds_writes() {
            Some(WritePermission::Grant)
        } else if is_configured && !database.allows_writes() {
            Some(WritePermission::Operator)
        } else {
            let is_asked = question.is_some() || checked.is_some();
            (is_asked && !statement.may_write()).then_some(WritePermission::User)
        };
        let plan = Request::new(place, &statement, self.max_bytes)
            .with_label(label)
            .with_call(options, request)
            .with_writes(writes)
            .with_errors(options.is_negotiated.then(|| errors(statement.text())));
        let planned = Planned {
            statement,
            plan,
            checked,
            question,
        };
        self.run_planned(run, planned).await
    }

    /// Runs a statement as far as it is approved.
    async fn run_planned(
        &self,
        RunOf {
            current, request, ..
        }: RunOf<'_>,
        planned: Planned<'_>,
    ) -> Result<ToolResult, Error> {
        let Planned {
            statement,
            mut plan,
            checked,
            question,
        } = planned;
        if let Some(checked) = &checked
            && statement.may_write()
        {
            // Boxed: rare, and large.
            match Box::pin(checked.run(plan)).await? {
                Next::Answer(answer) => return Ok(answer),
                Next::Run(rest) => plan = *rest,
            }
        }
        let lease = Call::of(request).lease(current.pool()).await;
        let lease = lease.map_err(|error| client::unavailable(&error))?;
        let may_define = statement.may_define();
        let again = checked.as_ref().map(|_| plan.clone());
        let answer = plan.run(statement, lease).await;
        if may_define {
            self.databases.changed(current);
        }
        let mut answer = answer?;
        let needs_answer = answer.is_none();
        if let Some((checked, plan)) = checked.as_ref().zip(again).filter(|_| needs_answer) {
            if let Next::Answer(asked) = Box::pin(checked.run(plan)).await? {
                answer = Some(asked);
            }
        } else if let (None, Some(question)) = (&answer, question) {
            answer = question.ask().await?;
        }
        answer.ok_or_else(|| Error::said(UNCONFIRMED))
    }

    async fn run_ad_hoc(
        &self,
        url: &str,
        query: &str,
        options: CallOptions,
        ad_hoc: AdHocConnections<'_>,
        request: &ToolRequest,
    ) -> Result<ToolResult, Error> {
        let (database, connection) = ad_hoc.connect(url).await?;
        if query
            .trim_matches(|c: char| c == ';' || c.is_whitespace())
            .is_empty()
        {
            let text = "Connection command executed successfully. No query to run.";
            return Ok(options.done(text));
        }
        let call = Call::of(request);
        call.admit(&database, query).await?;
        call.runs();
        let errors = |text: &Arc<str>| SqlErrors::ad_hoc(&database, Arc::clone(text));
        let statement = Statement::read_only(&database, query)
            .map_err(|error| options.unsent(request, &error, errors))?
            .with_window(options.window(&database))
            .with_large_rows(self.large_rows.clone())
            .with_max_cost(call.max_cost());
        let plan = Request::for_ad_hoc(database.name(), &statement, self.max_bytes)
            .with_call(options, request)
            .with_errors(options.is_negotiated.then(|| errors(statement.text())));
        let (lease, _permit) = connection.into_parts();
        let lease = lease.with_call(call.context());
        match time::timeout(CALL_TIMEOUT, plan.run(statement, lease)).await {
            Ok(answer) => answer?.ok_or_else(|| Error::said(UNCONFIRMED)),
            Err(_) if options.is_negotiated => Err(Error::said(format!(
                "The database did not answer within {CALL_TIMEOUT:?}."
            ))),
            Err(_) => Err(Error::said(format!(
                "Error iterating rows: no response within {CALL_TIMEOUT:?}"
            ))),
        }
    }
}

impl ToolHandler for QueryDatabase {
    fn describe(&self) -> ToolDescriptor {
        let limit = Property::integer("Maximum number of rows.")
            .with_default(100)
            .with_minimum(1)
            .with_maximum(MAX_ROWS.into());
        let offset = Property::integer("Number of rows to skip, for paging.")
            .with_default(0)
            .with_minimum(0);
        let can_write = |seen: &Configured| seen.database().allows_writes();
        let writes = self.databases.visible(None).iter().any(can_write);
        let tool = ToolDescriptor::new(
            "query_database",
            "Runs a SQL statement in PostgreSQL and returns its rows as tab-separated text: a line \
             of column names, then a line for each row, NULL as an empty field. Statements run in \
             a read-only transaction. Results are cut at the limit; when there are more rows the \
             answer says which offset comes next. Ask for the columns you need, aggregate in SQL \
             rather than fetching rows to add up, and look at the schema first if a name is not \
             known.",
            Schema::new()
                .with_required("query", Property::string("One SQL statement."))
                .with_optional("limit", limit.clone())
                .with_optional("offset", offset.clone()),
        )
        .with_negotiated(
            "Runs a SQL statement in PostgreSQL and returns its rows as tab-separated text: a line \
             of column names, then a line for each row. NULL is \\N; a tab, line break or \
             backslash in a value is \\t, \\n or \\\\. Read-only unless the operator allows writes. \
             Aggregate in SQL instead of fetching rows to add up.",
            Schema::new()
                .with_required("query", Property::string("One SQL statement."))
                .with_optional("limit", limit)
                .with_optional("offset", offset),
        )
        .with_title("Run a SQL statement")
        .with_recorded(Recorded::Statement("query"))
        .with_output_on_demand(Table::schema())
        .with_annotations_by_access(Annotations::reading(), Annotations::writing())
        .with_annotations(if writes {
            Annotations::writing()
        } else {
            Annotations::reading()
        });
        checked::with_approval(
            &self.databases,
            client::with_database(&self.databases, tool),
        )
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let arguments: Arguments<'_> = request.arguments()?;
        let options = CallOptions {
            limit: rows(arguments.limit),
            // A negative offset means none.
            offset: arguments.offset.0.and_then(|it| it.as_u64()).unwrap_or(0),
            is_structured: request.wants_structure(),
            is_negotiated: request.is_negotiated(),
            format: self.format.of(&request),
        };
        let Words(query) = arguments
            .query
            .or_report("Missing or invalid 'query' parameter")?;
        let ad_hoc = AdHocConnections::new(&self.databases, request.caller(), &self.url_rules);
        let answer = match Directive::read(&query) {
            Directive::Absent => {
                let names = [arguments.database.0, arguments.approve.0];
                self.run_in_chosen(names, &query, options, &request).await
            }
            // Boxed: rare, and each future is larger than the future of a query.
            Directive::Default(url) => {
                let set = Box::pin(ad_hoc.set_default(url)).await;
                set.map(|text| options.done(text)).map_err(Error::from)
            }
            Directive::Once { url, rest } => {
                Box::pin(self.run_ad_hoc(url, &rest, options, ad_hoc, &request)).await
            }
        };
        answer.map_err(|error| options.format.error(error))
    }
}

// === impl CallOptions ===

impl CallOptions {
    /// Describes the error of a text that was not sent.
    fn unsent(
        self,
        request: &ToolRequest,
        error: &QueryError,
        errors: impl Fn(&Arc<str>) -> SqlErrors,
    ) -> Reported {
        Call::of(request).set_error(error);
        if self.is_negotiated {
            errors(&Arc::default()).unreported(error)
        } else {
            complaint(error)
        }
    }

    /// Makes the result of a call without rows.
    fn done(self, text: impl Into<Text>) -> ToolResult {
        let structure = self.is_structured.then(|| Table::changed(0));
        ToolResult::text(text).with_structure(structure)
    }

    fn window(self, database: &Database) -> Window {
        Window {
            rows: self.limit.unwrap_or(database.row_limit()),
            offset: self.offset,
        }
    }
}

/// Returns the number of rows of an argument; one out of range means the default.
fn rows(limit: Lenient<Number>) -> Option<u32> {
    let rows = limit.0?.as_u64()?;
    let rows = u32::try_from(rows).ok()?;
    (1..=MAX_ROWS).contains(&rows).then_some(rows)
}
