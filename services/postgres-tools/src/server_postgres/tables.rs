//! `postgres://user@host/{table}/schema`: the columns of the tables of `public`.

use futures_util::TryStreamExt as _;
use serde::Serialize;
use ziggurat_calls::Call;
use ziggurat_databases::{Current, Databases};
use ziggurat_layers::json_rpc;
use ziggurat_mcp::{Caller, Failure, ReadError, ResourceDescriptor, ResourcePage, ResourceSource};
use ziggurat_postgres::{
    database::{Host, Settings},
    driver::Value,
    error::QueryError,
    rows::ResultRow,
    statement::Statement,
};
use ziggurat_text::percent;
use ziggurat_tokens::Identity;

use crate::server_postgres::{json, message};

const TABLES: &str = "SELECT table_name FROM information_schema.tables
    WHERE table_schema = 'public' ORDER BY table_name";

const COLUMNS: &str = "SELECT column_name, data_type FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name = $1 ORDER BY ordinal_position";

/// Limit on the tables in a list, and on the columns of one.
const MAX_ROWS: u32 = 100_000;

const SCHEME: &str = "postgres://";

/// The columns of each table and view of `public` in the database of the caller.
#[derive(Clone, Debug)]
pub struct TableSchemas {
    databases: Databases,
}

#[derive(Serialize)]
struct Column {
    column_name: String,
    data_type: String,
}

// === impl TableSchemas ===

impl TableSchemas {
    /// Makes the resources of these databases.
    #[must_use]
    pub fn new(databases: Databases) -> Self {
        Self { databases }
    }

    fn current(&self, caller: &Caller) -> Result<Current, Failure> {
        let current = self.databases.current(caller.extension::<Identity>());
        let current = current.map_err(|error| failure(error.to_string()))?;
        Ok(current.with_call(Call::by(caller).context()))
    }
}

impl ResourceSource for TableSchemas {
    fn pattern(&self) -> &'static str {
        "postgres://{server}/{table}/schema"
    }

    async fn list(&self, caller: Caller, _: Option<String>) -> Result<ResourcePage, Failure> {
        let current = self.current(&caller)?;
        let base = base(current.database().settings());
        let rows = rows(&current, &caller, TABLES, Vec::new()).await?;
        let described = rows.iter().map(|row| {
            let table = text(row, 0);
            let encoded: String = percent::encode(&table).collect();
            let uri = format!("{base}{encoded}/schema");
            ResourceDescriptor::new(uri, format!("\"{table}\" database schema"), "")
        });
        Ok(described.collect::<Vec<_>>().into())
    }

    async fn read(&self, uri: &str, caller: Caller) -> Result<Option<String>, ReadError> {
        let Some(path) = uri.strip_prefix(SCHEME) else {
            return Ok(None);
        };
        let path = path.split_once(['?', '#']).map_or(path, |(path, _)| path);
        let mut parts = path.rsplit('/');
        let (Some("schema"), Some(table)) = (parts.next(), parts.next()) else {
            return Err(failure("Invalid resource URI".to_owned()).into());
        };
        let table = percent::decode(table).unwrap_or_default().into_owned();
        let current = self.current(&caller)?;
        let rows = rows(&current, &caller, COLUMNS, vec![Value::Text(table)]).await?;
        let columns = rows.iter().map(|row| Column {
            column_name: text(row, 0),
            data_type: text(row, 1),
        });
        Ok(Some(json::pretty(&columns.collect::<Vec<_>>())))
    }
}

async fn rows(
    current: &Current,
    caller: &Caller,
    sql: &str,
    values: Vec<Value>,
) -> Result<Vec<ResultRow>, Failure> {
    let call = Call::by(caller);
    let admitted = call.admit_of_operator(current.database(), sql).await;
    admitted.map_err(|refused| failure(refused.to_string()))?;
    let rows = async {
        let statement = Statement::read_only(current.database(), sql)?;
        let statement = statement.with_values(values).with_streamed_rows(MAX_ROWS);
        let lease = call.lease(current.pool()).await?;
        statement.run(lease).await?.try_collect().await
    };
    rows.await.map_err(|error: QueryError| {
        call.set_error(&error);
        failure(message(current, &error))
    })
}

/// Returns the address of the server, to which the name of a table is added.
fn base(settings: &Settings) -> String {
    let user: String = percent::encode(&settings.user).collect();
    let Host { name, port, .. } = &settings.all_hosts()[0];
    let host = if name.contains(':') {
        format!("[{name}]")
    } else {
        percent::encode(name).collect()
    };
    let has_port = settings.given_port.is_some() || !settings.hosts.is_empty();
    let port = if has_port {
        format!(":{port}")
    } else {
        String::new()
    };
    format!("{SCHEME}{user}@{host}{port}/")
}

/// Returns a text of a row; names are texts in every database.
fn text(row: &ResultRow, column: usize) -> String {
    let text = row.text(column).unwrap_or_default();
    text.unwrap_or_default().to_owned()
}

fn failure(message: String) -> Failure {
    Failure::new(message).with_code(json_rpc::Error::INTERNAL_ERROR)
}
