//! A tool of the operator as clients see it.

mod answer;
mod checked;
mod confirmation;

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use ziggurat_answers::{ResultFormat, SqlErrors, WITHHELD, checked::check_wish, client, step_up};
use ziggurat_calls::{Call, ErrorReason};
use ziggurat_databases::{Current, Databases};
use ziggurat_mcp::{
    Annotations, Caller, Error, Reported, ToolDescriptor, ToolHandler, ToolRequest, ToolResult,
};
use ziggurat_postgres::{
    error::QueryError, large_rows::LargeRows, rows::ResultRow, statement::Statement,
};
use ziggurat_tokens::{CallerFacts, Fact, Identity};

use self::answer::Answer;
pub(crate) use self::answer::AnswerError;
use self::checked::{Next, takes_approval};
use crate::{
    StatementChecks,
    arguments::{self, ArgumentError, Members},
    definition::{Definition, Shape},
    input_schema::{self, APPROVE},
    kind::Checked,
    parameter::Filling,
};

/// A call of a tool, once its database is known.
pub(crate) struct ToolCall<'a> {
    pub(crate) current: &'a Current,
    pub(crate) request: &'a ToolRequest,
    /// The line before the text of the result, with its line break; empty for none.
    pub(crate) label: &'a str,
}

/// Runs the statement of one tool.
#[derive(Clone)]
pub(crate) struct SqlTool {
    pub(crate) definition: Arc<Definition>,
    pub(crate) databases: Databases,
    pub(crate) checks: StatementChecks,
    pub(crate) large_rows: LargeRows,
    pub(crate) max_bytes: usize,
    pub(crate) format: ResultFormat,
    /// Column with statements of others, of which literals are not shown where columns are masked.
    pub(crate) statements: Option<&'static str>,
}

// === impl SqlTool ===

impl SqlTool {
    /// Makes a tool with another definition that is the same otherwise.
    pub(crate) fn with_definition(&self, definition: Arc<Definition>) -> Self {
        Self {
            definition,
            ..self.clone()
        }
    }

    /// Checks the arguments of a call, and returns the values of the parameters.
    pub(crate) fn values(
        &self,
        members: &Members<'_>,
        request: &ToolRequest,
    ) -> Result<Vec<Option<Checked>>, Error> {
        let identity = request.identity::<Identity>();
        let role = self.definition.role(&self.databases, identity);
        let values = arguments::read(&self.definition, members, identity, role.as_deref());
        values.map_err(|error| match error {
            ArgumentError::Wrong(reported) => {
                Call::of(request).set_reason(ErrorReason::Refused);
                reported.into()
            }
            // It does not exist for the caller, so it was not called.
            ArgumentError::NotFilled => Error::said("This tool does not serve this caller."),
        })
    }

    /// Prepares the statement of a call.
    pub(crate) fn statement(
        &self,
        call: &ToolCall<'_>,
        text: &str,
        values: Vec<Option<Checked>>,
    ) -> Result<Statement, QueryError> {
        let definition = &self.definition;
        let database = call.current.database();
        let statement = if definition.write.is_some() {
            Statement::new(database, text)?
        } else {
            Statement::read_only(database, text)?
        };
        let statement = if definition.is_unmasked {
            statement.unmasked()
        } else {
            statement.masked_by_origin()
        };
        let statement = match self.statements {
            Some(column) if self.databases.has_masks() => statement.normalizing(column),
            _ => statement,
        };
        let rows = match definition.shape {
            // One more row is fetched than wanted, and tells that there are several.
            Shape::Value | Shape::Record => 1,
            _ => definition.row_limit.unwrap_or(database.row_limit()),
        };
        Ok(statement
            .with_row_limit(rows)
            .with_max_row_bytes(self.max_bytes.max(answer::MIN_ROW_LIMIT))
            .with_large_rows(self.large_rows.clone())
            .with_values(arguments::bound(definition, values))
            .with_max_changed_rows(Call::of(call.request).max_changed_rows())
            .with_timeout(definition.timeout))
    }

    /// Runs the statement on a connection of the caller.
    pub(crate) async fn answer(
        &self,
        call: &ToolCall<'_>,
        text: &str,
        values: Vec<Option<Checked>>,
    ) -> Result<ToolResult, AnswerError> {
        let statement = self.statement(call, text, values)?;
        let lease = Call::of(call.request).lease(call.current.pool()).await;
        let lease = lease.map_err(QueryError::from)?;
        let may_define = statement.may_define();
        let answer = async {
            let rows = statement.run(lease).await?;
            self.writer(call).read(rows).await
        };
        let answer = answer.await;
        if may_define {
            self.databases.changed(call.current);
        }
        answer
    }

    /// Runs a statement on a connection of the caller, and returns all its rows.
    pub(crate) async fn rows(
        &self,
        call: &ToolCall<'_>,
        statement: Statement,
    ) -> Result<Vec<ResultRow>, QueryError> {
        let lease = Call::of(call.request).lease(call.current.pool()).await?;
        statement.run(lease).await?.try_collect().await
    }

    /// Returns the writer of the result of a call.
    pub(crate) fn writer<'a>(&'a self, call: &ToolCall<'a>) -> Answer<'a> {
        Answer {
            definition: &self.definition,
            max_bytes: self.max_bytes,
            format: self.format.of(call.request),
            call: Call::of(call.request),
            label: call.label,
            is_structured: call.request.wants_structure(),
        }
    }

    /// Describes an error. The statement is the operator's, and is not shown; nor is the message of
    /// PostgreSQL if it may repeat a value that the caller must not see, in a spelling of its own.
    pub(crate) fn error(&self, call: &ToolCall<'_>, error: AnswerError) -> Error {
        let error = match error {
            AnswerError::Query(error) => error,
            AnswerError::Reported(reported) => return reported.into(),
        };
        Call::of(call.request).set_error(&error);
        let reported = match &error {
            QueryError::Failed { report, .. } if self.definition.has_secret_values() => {
                let code = &report.sqlstate;
                Reported::new(format!(
                    "Error: PostgreSQL refused the call (SQLSTATE {code}). Its message may repeat \
                     values that are not shown, so it is left out."
                ))
            }
            QueryError::Failed { report, .. } => {
                let mut text = format!("Error: {}", client::explained(report));
                if error.is_about_a_write() && call.current.withholds_writes() {
                    text.push('\n');
                    text.push_str(WITHHELD);
                }
                Reported::new(text)
            }
            QueryError::Refused(refusal) => Reported::new(refusal.to_string()),
            QueryError::Row(_) => Reported::new("Error: a value of the result is not valid text"),
            error => SqlErrors::new(call.current, "").unreported(error),
        };
        self.format.of(call.request).error(reported.into())
    }
}

impl ToolHandler for SqlTool {
    fn describe(&self) -> ToolDescriptor {
        let definition = &self.definition;
        let mut tool = ToolDescriptor::new(
            definition.name.clone(),
            definition.description.clone(),
            input_schema::of(&definition.parameters, false),
        )
        .with_annotations(annotations(definition));
        if takes_approval(definition, &self.databases) {
            let schema = input_schema::of(&definition.parameters, true);
            tool = tool.with_negotiated(definition.description.clone(), schema);
        }
        if let Some(title) = &definition.title {
            tool = tool.with_title(title.clone());
        }
        let is_bound = |filling: &Filling| matches!(filling, Filling::Bound(_));
        let has_bound = definition.parameters.iter().any(|it| is_bound(&it.filling));
        if has_bound || definition.database.is_some() {
            let (definition, databases) = (Arc::clone(definition), self.databases.clone());
            tool = tool.with_audience(move |caller| serves(&definition, &databases, caller));
        }
        match (answer::schema(definition.shape), definition.shape) {
            (Some(schema), Shape::Json) => tool.with_output(schema),
            (Some(schema), _) => tool.with_output_on_demand(schema),
            (None, _) => tool,
        }
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let definition = &*self.definition;
        let mut members: Members<'_> = request.arguments()?;
        let approve = if request.is_negotiated() && takes_approval(definition, &self.databases) {
            members.take_text(APPROVE)
        } else {
            None
        };
        let values = self.values(&members, &request)?;
        let text = definition.statement(&values);
        if let Some(error) = self.checks.error(&definition.name, &text) {
            let name = &definition.name;
            return Err(Error::said(format!("Tool '{name}' cannot run: {error}")));
        }
        let name = definition.database.as_deref();
        let current = client::configured(&self.databases, &request, name).await?;
        if definition.write.is_some() {
            step_up(&request, &current)?;
        }
        let call = ToolCall {
            current: &current,
            request: &request,
            label: "",
        };
        if definition.write.is_some() {
            check_wish(&request, current.database())?;
        }
        let mode = self.mode(&call);
        if mode.is_none()
            && let Some(question) =
                confirmation::question(definition, &current, &text, &values, &request).await?
        {
            return Ok(question);
        }
        Call::of(&request)
            .admit_of_operator(current.database(), &text)
            .await?;
        if let Some(mode) = mode {
            let check = self.check(&call, (&text, &values), approve.as_deref(), mode);
            // Boxed: rare, and large.
            if let Next::Answer(answer) = Box::pin(check).await? {
                return Ok(answer);
            }
        }
        let answer = self.answer(&call, &text, values).await;
        answer.map_err(|error| self.error(&call, error))
    }
}

/// Returns whether a tool exists for a caller, who may use its database and has all facts that its
/// parameters are filled with.
pub(crate) fn serves(definition: &Definition, databases: &Databases, caller: &Caller) -> bool {
    is_open(definition, databases, caller.extension(), |_| true)
}

/// Returns whether a caller may use the database of a tool, and has the needed facts.
pub(crate) fn is_open(
    definition: &Definition,
    databases: &Databases,
    identity: Option<&Identity>,
    is_needed: impl Fn(&Fact) -> bool,
) -> bool {
    let role = definition.role(databases, identity);
    let facts = CallerFacts {
        identity,
        local: &definition.local,
        role: role.as_deref(),
    };
    let database = definition.database.as_deref();
    database.is_none_or(|name| databases.permits(identity, name))
        && definition
            .parameters
            .iter()
            .all(|parameter| match &parameter.filling {
                Filling::Bound(source) if is_needed(source) => {
                    parameter.bound(source, facts).is_some()
                }
                _ => true,
            })
}

fn annotations(definition: &Definition) -> Annotations {
    match definition.write {
        None => Annotations::reading(),
        Some(write) => Annotations {
            destructive_hint: Some(write.is_destructive),
            idempotent_hint: Some(write.is_idempotent),
            ..Annotations::writing()
        },
    }
}
