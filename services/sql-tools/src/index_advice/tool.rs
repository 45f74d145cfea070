//! The tool as clients see it.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value as Json;
use ziggurat_answers::{ResultFormat, SqlErrors, client};
use ziggurat_calls::Call;
use ziggurat_databases::{Current, Databases};
use ziggurat_mcp::{
    Annotations, Error, Lenient, Property, Recorded, Reported, Schema, ToolDescriptor, ToolHandler,
    ToolRequest, ToolResult, Visibility,
};
use ziggurat_postgres::{
    driver::{Row, Value},
    error::{DriverError, QueryError},
};
use ziggurat_sql::Planned;

use crate::index_advice::{
    Advice, Candidate, Fallen, Table, Trial,
    answer::{Advised, Outcome},
    candidates::candidates,
    plan,
    planner::{Hypothetical, PlannedText, Planner},
    recorded::{self, Missing},
};

const TABLES: &str = include_str!("../../dba/index_advice_tables.sql");

const NEITHER: &str = "Give query or queryid. Advice is for one statement, not for the whole \
    workload: top_queries shows the statements that cost most, with their queryid.";

const BOTH: &str = "Give query or queryid, not both.";

const NO_NUMBER: &str = "queryid must be an integer, as top_queries shows it.";

const NO_PLAN: &str = "PostgreSQL plans only SELECT, INSERT, UPDATE, DELETE, MERGE, VALUES and \
    TABLE, with or without WITH. Give such a statement, without EXPLAIN.";

const LONG_PLAN: &str = "The plan of this statement is too long.";

const SECURED: &str = "row security holds for a table of the statement, which is left out";

/// Limit on the time to try candidates on a database without a limit of its own.
const MAX_TRIAL: Duration = Duration::from_secs(30);

/// Looks for indexes that would make a statement cheaper.
///
/// The statement does not run, and no index is created: the answer has the text of each
/// `CREATE INDEX`.
pub(crate) struct IndexAdvice {
    databases: Databases,
    format: ResultFormat,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    query: Lenient<String>,
    queryid: Lenient<String>,
    database: Lenient<String>,
}

/// The statement that a call is about.
enum Subject {
    Text(String),
    Recorded(i64),
}

// === impl IndexAdvice ===

impl IndexAdvice {
    /// Makes a tool for the databases of its callers, with this form of the values in texts.
    pub(crate) fn new(databases: Databases, format: ResultFormat) -> Self {
        Self { databases, format }
    }

    async fn text_of(
        &self,
        subject: Subject,
        current: &Current,
        request: &ToolRequest,
    ) -> Result<String, Error> {
        let queryid = match subject {
            Subject::Text(text) => return Ok(text),
            Subject::Recorded(queryid) => queryid,
        };
        match recorded::text(current, queryid).await {
            Ok(text) => Ok(text),
            Err(Missing::Reported(reported)) => Err(reported.into()),
            Err(Missing::Query(error)) => Err(failed(current, "", &error, request).await),
        }
    }
}

impl ToolHandler for IndexAdvice {
    fn describe(&self) -> ToolDescriptor {
        let query = "The text of one statement. It does not run; parameters such as $1 need no \
            values.";
        let tool = ToolDescriptor::new(
            "index_advice",
            "Looks for indexes that would make one statement cheaper. Give query or queryid. \
             Answers with the text of each CREATE INDEX and with the estimated costs if the \
             extension hypopg is installed; creates nothing.",
            Schema::new()
                .with_optional("query", Property::string(query))
                .with_optional(
                    "queryid",
                    Property::string("The queryid of a statement that top_queries shows."),
                ),
        )
        .with_title("Index advice")
        .with_recorded(Recorded::Statement("query"))
        .with_annotations(Annotations::reading())
        .with_visibility(Visibility::OnlyNegotiated);
        client::with_database(&self.databases, tool)
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let mut arguments: Arguments = request.arguments()?;
        let database = arguments.database.0.take();
        let subject = Subject::read(arguments)?;
        let current = client::chosen(&self.databases, &request, database).await?;
        let format = self.format.of(&request);
        let label = client::label(&self.databases, &request, &current);
        let call = Call::of(&request);
        call.admit(current.database(), subject.text()).await?;
        call.runs();
        let shown = |error| format.error(client::labelled(&label, error));
        let text = self.text_of(subject, &current, &request).await;
        let text = text.map_err(shown)?;
        let text = text.trim();
        match advise(&current, text, &request).await {
            Ok(Some(outcome)) => {
                let text = format!("{label}{}", outcome.text(format));
                let rows = outcome.advised.len() as u64;
                call.set_rows(rows);
                call.count(rows, text.len());
                Ok(ToolResult::text(text))
            }
            Ok(None) => Err(shown(Reported::new(NO_PLAN).into())),
            Err(error) => Err(shown(failed(&current, text, &error, &request).await)),
        }
    }
}

// === impl Subject ===

impl Subject {
    /// Returns the text, if the call has it.
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Recorded(_) => "",
        }
    }

    fn read(arguments: Arguments) -> Result<Self, Reported> {
        let given = |text: Lenient<String>| text.0.filter(|text| !text.trim().is_empty());
        match (given(arguments.query), given(arguments.queryid)) {
            (Some(_), Some(_)) => Err(Reported::new(BOTH)),
            (None, None) => Err(Reported::new(NEITHER)),
            (Some(text), None) => Ok(Self::Text(text)),
            (None, Some(number)) => {
                let number = number.trim().parse();
                number
                    .map(Self::Recorded)
                    .map_err(|_| Reported::new(NO_NUMBER))
            }
        }
    }
}

/// Looks for indexes; `None` for a statement that has no plan.
async fn advise(
    current: &Current,
    text: &str,
    request: &ToolRequest,
) -> Result<Option<Outcome>, QueryError> {
    let call = Call::of(request).context();
    let checked = PlannedText::new(current.database(), text, call)?;
    if Planned::of(checked.text()) != Planned::From(0) {
        return Ok(None);
    }
    let mut planner = Planner::begin(current.pool(), checked).await?;
    let outcome = look(&mut planner, current).await;
    // The error of the statement says more.
    let ended = planner.end().await;
    let outcome = outcome?;
    ended.map(|()| Some(outcome))
}

async fn look(planner: &mut Planner, current: &Current) -> Result<Outcome, QueryError> {
    let plan = planner.plan().await?;
    let scanned = plan::scanned_tables(&plan);
    let count = scanned.len();
    let mut tables = tables(planner, scanned).await?;
    let hides = current.database().hides_plans();
    for table in &mut tables {
        table.is_secured &= hides;
    }
    // A table that the catalogue does not show may be a part of one with row security.
    let is_secured = hides && (tables.len() < count || tables.iter().any(|it| it.is_secured));
    let advice = candidates(&plan, &tables);
    let cost = plan::total_cost(&plan);
    let untried = match planner.hypothetical() {
        _ if is_secured => SECURED,
        Hypothetical::Usable(_) => {
            let limit = current.database().query_timeout().unwrap_or(MAX_TRIAL);
            return tried(planner, advice, cost, limit).await;
        }
        Hypothetical::Absent => "hypopg is not installed",
        Hypothetical::Denied => "the role may not use hypopg",
        Hypothetical::Shared => "a pooler shares the connections, so hypopg cannot be used",
    };
    let Advice { chosen, fallen } = advice.guessed();
    let guess = |candidate| Advised {
        candidate,
        cost_before: (!is_secured).then_some(cost),
        cost_after: None,
    };
    Ok(Outcome {
        untried: Some(untried),
        advised: chosen.into_iter().map(guess).collect(),
        fallen,
    })
}

/// Describes the tables with these schemas and names.
async fn tables(
    planner: &mut Planner,
    scanned: Vec<(String, String)>,
) -> Result<Vec<Table>, QueryError> {
    let (schemas, names) = scanned.into_iter().unzip();
    let values = vec![Value::Texts(schemas), Value::Texts(names)];
    let rows = planner.ask(TABLES, values).await?;
    let tables = rows.iter().map(table).collect::<Result<_, _>>();
    tables.map_err(QueryError::Row)
}

fn table(row: &Row) -> Result<Table, DriverError> {
    let json = |column| -> Result<Json, DriverError> {
        serde_json::from_str(row.text(column)?).map_err(DriverError::value)
    };
    let (columns, indexes, root) = (json(3)?, json(4)?, json(5)?);
    let (schema, name, rows) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let is_secured = row.text(6)? == "t";
    let table = Table::new(schema, name, rows, &columns, &indexes, &root);
    Ok(Table {
        is_secured,
        ..table
    })
}

/// Tries candidates as hypothetical indexes.
async fn tried(
    planner: &mut Planner,
    advice: Advice,
    cost: f64,
    limit: Duration,
) -> Result<Outcome, QueryError> {
    let began = Instant::now();
    let candidates = advice.chosen;
    let sizes: Vec<f64> = candidates.iter().map(|it| it.bytes).collect();
    let mut trial = Trial::new(&sizes, cost);
    while let Some(candidate) = trial.next() {
        if began.elapsed() > limit {
            trial.stop();
            break;
        }
        let kept = trial.kept().iter().map(|kept| kept.candidate);
        let indexes = kept.chain([candidate]);
        let indexes = indexes.flat_map(|at| candidates[at].hypothetical());
        match planner.plan_with(indexes.collect()).await {
            Ok(plan) => trial.measured(Some(plan::total_cost(&plan))),
            // The statement was cancelled, as every other one would be.
            Err(QueryError::Failed { report, .. }) if report.sqlstate.starts_with("57") => {
                trial.stop();
                break;
            }
            Err(QueryError::Failed { .. }) => trial.measured(None),
            Err(error) => return Err(error),
        }
    }
    Ok(sorted(&trial, &candidates, advice.fallen))
}

/// Makes the answer of a trial.
fn sorted(trial: &Trial, candidates: &[Candidate], fallen: Vec<Fallen>) -> Outcome {
    let advised = trial.kept().iter().map(|kept| Advised {
        candidate: candidates[kept.candidate].clone(),
        cost_before: Some(kept.cost_before),
        cost_after: Some(kept.cost_after),
    });
    let fell = trial.fallen().map(|(at, reason)| Fallen {
        candidate: candidates[at].clone(),
        reason,
    });
    Outcome {
        untried: None,
        advised: advised.collect(),
        fallen: fell.chain(fallen).collect(),
    }
}

/// Describes an error of the statement.
async fn failed(current: &Current, text: &str, error: &QueryError, request: &ToolRequest) -> Error {
    Call::of(request).set_error(error);
    if let QueryError::Row(DriverError::Oversized { .. }) = error {
        return Reported::new(LONG_PLAN).into();
    }
    let errors = SqlErrors::new(current, text).for_request(request);
    Box::pin(errors.reported(error)).await.into()
}
