//! Resources from a definitions file.

use futures_util::TryStreamExt as _;
use ziggurat_databases::Databases;
use ziggurat_mcp::{
    Caller, Error, Failure, ReadError, ResourceDescriptor, ResourceHandler, Resources, Unavailable,
};
use ziggurat_postgres::{error::QueryError, statement::Statement};
use ziggurat_tokens::Identity;

use ziggurat_answers::{Fence, ResultFormat};
use ziggurat_calls::Call;

/// Limit on the bytes of rows in a resource, because the number of rows is not known in advance.
const MAX_BYTES: usize = 4 << 20;

/// Error code of a resource while its database is unreachable.
const NOT_READY: &str = "DATABASE_NOT_READY";

/// Description and source of a resource.
#[derive(Clone, Debug)]
pub(super) struct CustomResource {
    pub(super) about: ResourceDescriptor,
    pub(super) source: TextSource,
}

/// Source of the text of a resource.
#[derive(Clone, Debug)]
pub(super) enum TextSource {
    Sql(String),
    Json(String),
}

/// The rows of a query, as tab-separated text.
struct Rows {
    about: ResourceDescriptor,
    sql: String,
    databases: Databases,
    format: ResultFormat,
}

/// A constant text.
struct Fixed {
    about: ResourceDescriptor,
    json: String,
}

// === impl CustomResource ===

impl CustomResource {
    pub(super) fn add(
        &self,
        resources: Resources,
        databases: &Databases,
        format: ResultFormat,
    ) -> Resources {
        let about = self.about.clone();
        match self.source.clone() {
            TextSource::Json(json) => resources.with(Fixed { about, json }),
            TextSource::Sql(sql) => resources.with(Rows {
                about,
                sql,
                databases: databases.clone(),
                format,
            }),
        }
    }
}

// === impl Rows ===

impl Rows {
    async fn tsv(&self, caller: &Caller) -> Result<String, ReadError> {
        let call = Call::by(caller);
        let current = self
            .databases
            .current(caller.extension::<Identity>())
            .map_err(|error| Unavailable::new(NOT_READY, error.to_string()))?
            .with_call(call.context());
        call.admit_of_operator(current.database(), &self.sql)
            .await
            .map_err(Error::from)?;
        let statement = Statement::read_only(current.database(), &self.sql).map_err(unreadable)?;
        let statement = statement.masked_by_origin();
        let lease = call.lease(current.pool()).await;
        let lease = lease.map_err(|error| unreadable(error.into()))?;
        let mut rows = statement.run(lease).await.map_err(unreadable)?;
        let mut tsv = String::new();
        if rows.columns().is_empty() {
            return Ok(tsv);
        }
        let format = self.format.for_client(caller.context().is_negotiated());
        let fence = format.fence();
        tsv.push_str(&fence.as_ref().map(Fence::first_line).unwrap_or_default());
        rows.write_header(&mut tsv, format.fields());
        tsv.push('\n');
        let (left, mut count) = (call.left(), 0);
        while let Some(row) = rows.try_next().await.map_err(unreadable)? {
            let before = tsv.len();
            row.write_tsv(&mut tsv, format.fields())
                .map_err(unreadable)?;
            tsv.push('\n');
            if tsv.len() > MAX_BYTES || left.exceeded(count + 1, tsv.len()).is_some() {
                tsv.truncate(before);
                break;
            }
            count += 1;
        }
        call.count(count, tsv.len());
        if let Some(fence) = fence {
            tsv.push_str(fence.last_line().trim_start());
        }
        Ok(tsv)
    }
}

impl ResourceHandler for Rows {
    fn describe(&self) -> ResourceDescriptor {
        self.about.clone()
    }

    async fn read(&self, caller: Caller) -> Result<String, ReadError> {
        self.tsv(&caller).await
    }
}

/// Converts a query error. The statement is the operator's, so its errors are logged too.
fn unreadable(error: QueryError) -> ReadError {
    let public_message = match &error {
        QueryError::Silent => "the database did not answer in time".to_owned(),
        QueryError::Lease(cause) => return out_of_reach(cause.public_message()),
        QueryError::Connection(_) => {
            return out_of_reach("the connection to the database was lost".to_owned());
        }
        QueryError::Empty => "the query is empty".to_owned(),
        QueryError::Refused(refusal) => refusal.to_string(),
        QueryError::TooCostly { .. } => "the query costs too much".to_owned(),
        QueryError::Failed { report, .. } => report.to_string(),
        QueryError::Row(_) => "a value is not text".to_owned(),
        QueryError::Changes(_) => error.to_string(),
        QueryError::NoRoom => "too much memory is in use for large rows".to_owned(),
    };
    Failure::new(public_message).with_source(error).into()
}

fn out_of_reach(cause: String) -> ReadError {
    Unavailable::new(NOT_READY, cause).retryable().into()
}

// === impl Fixed ===

impl ResourceHandler for Fixed {
    fn describe(&self) -> ResourceDescriptor {
        self.about.clone()
    }

    async fn read(&self, _: Caller) -> Result<String, ReadError> {
        Ok(self.json.clone())
    }
}
