//! Two methods that the protocol does not have: listing the databases and selecting one.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ziggurat_databases::Databases;
use ziggurat_layers::json_rpc::{Call, Error};
use ziggurat_mcp::{Caller, Mcp, Method, MethodFuture};
use ziggurat_tokens::Identity;

struct List(Databases);

struct Select(Databases);

#[derive(Serialize)]
struct Selected<'a> {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Adds `svc/listDatabases` and `svc/selectDatabase`, with which chat clients let their users
/// choose a database, and sets which callers may write.
#[must_use]
pub fn with_databases(mcp: Mcp, databases: &Databases) -> Mcp {
    let all = databases.clone();
    mcp.with_write_access(move |caller| all.may_write(caller.extension()))
        .with_method("svc/listDatabases", List(databases.clone()))
        .with_method("svc/selectDatabase", Select(databases.clone()))
}

impl Method for List {
    fn call(&self, caller: &Caller, _: &Call) -> Result<MethodFuture, Error> {
        let listing = to_bytes(&self.0.listing(caller.extension()));
        Ok(Box::pin(async move { listing }))
    }
}

impl Method for Select {
    fn call(&self, caller: &Caller, call: &Call) -> Result<MethodFuture, Error> {
        let name = database(call)?;
        let identity = caller.extension::<Identity>().cloned();
        Ok(Box::pin(select(self.0.clone(), identity, name)))
    }
}

/// Reads the name of a database from the params.
fn database(call: &Call) -> Result<String, Error> {
    #[derive(Deserialize)]
    struct DatabaseParams {
        #[serde(default)]
        name: Value,
    }

    let params: DatabaseParams = call.params()?;
    match params.name {
        Value::String(name) if !name.is_empty() => Ok(name),
        _ => Err(Error::invalid_params().with_data("database name is required")),
    }
}

async fn select(databases: Databases, identity: Option<Identity>, name: String) -> Bytes {
    to_bytes(&match databases.select(identity.as_ref(), &name).await {
        Ok(()) => Selected {
            success: true,
            current: Some(&name),
            message: Some("Database selected successfully"),
            error: None,
        },
        Err(error) => Selected {
            success: false,
            current: None,
            message: None,
            error: Some(error.to_string()),
        },
    })
}

fn to_bytes(result: &impl Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(result).expect("text is JSON"))
}
