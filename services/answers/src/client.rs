//! Access of a tool to the database of its caller, and messages for errors there.

use std::{
    fmt::{Display, Write as _},
    sync::Arc,
    time::Duration,
};

use ziggurat_calls::{Call, ErrorReason, limits::Refused};
use ziggurat_databases::{Current, Databases, MetadataError};
use ziggurat_mcp::{Caller, Error, Property, Reported, ToolDescriptor, ToolRequest};
use ziggurat_postgres::{
    error::{QueryError, Report},
    metadata::Metadata,
    pool::LeaseError,
};
use ziggurat_tokens::Identity;

/// Description of the argument `database`.
pub const DATABASE: &str = "The database to use; list_databases shows them.";

/// Description of the argument `approve`.
pub const APPROVE: &str = "The seal of a preview, to commit exactly that change.";

/// Returns the database of the caller, once the server has connected to it.
async fn current(databases: &Databases, caller: &Caller) -> Result<Current, Error> {
    let current = databases
        .current(caller.extension::<Identity>())
        .map_err(|error| no_client(&error))?;
    current.ready().await.map_err(|error| unread(&error))?;
    Ok(current)
}

/// Returns the database that a call names in its argument `database`, or the current one of its
/// caller. A client that does not negotiate a revision cannot name one.
pub async fn chosen(
    databases: &Databases,
    request: &ToolRequest,
    name: Option<String>,
) -> Result<Current, Error> {
    let chosen = choose(databases, request, name).await?;
    Ok(noted(request, chosen))
}

/// Returns the database that the operator has chosen for a tool, or the current one of its caller.
pub async fn configured(
    databases: &Databases,
    request: &ToolRequest,
    name: Option<&str>,
) -> Result<Current, Error> {
    let current = match name {
        Some(name) => named(databases, request, name).await?,
        None => current(databases, request.caller()).await?,
    };
    Ok(noted(request, current))
}

/// Notes the database for the call, and gives its statements the context of the call.
fn noted(request: &ToolRequest, current: Current) -> Current {
    let call = Call::of(request);
    call.set_database(current.database());
    current.with_call(call.context())
}

async fn choose(
    databases: &Databases,
    request: &ToolRequest,
    name: Option<String>,
) -> Result<Current, Error> {
    let caller = request.caller();
    let name = name.filter(|name| !name.is_empty() && request.is_negotiated());
    let Some(name) = name else {
        return current(databases, caller).await;
    };
    named(databases, request, &name).await
}

async fn named(databases: &Databases, request: &ToolRequest, name: &str) -> Result<Current, Error> {
    let named = databases.named(request.identity::<Identity>(), name);
    let Some(named) = named else {
        Call::of(request).set_reason(ErrorReason::Denied);
        return Err(Error::said(format!("Unknown database: {name}")));
    };
    named.ready().await.map_err(|error| unread(&error))?;
    Ok(named)
}

/// Adds the argument `database` to a tool, if there is more than one database.
pub fn with_database(databases: &Databases, tool: ToolDescriptor) -> ToolDescriptor {
    if !databases.has_several(None) {
        return tool;
    }
    tool.with_negotiated_argument("database", Property::string(DATABASE))
}

/// Adds the argument `approve` to a tool.
pub fn with_approval(tool: ToolDescriptor) -> ToolDescriptor {
    let property = Property::string(APPROVE);
    tool.with_negotiated_argument("approve", property)
}

/// Returns whether the texts for a call begin with the line of [`label`].
fn is_labelled(databases: &Databases, request: &ToolRequest) -> bool {
    request.is_negotiated() && databases.has_several(request.caller().extension::<Identity>())
}

/// Returns the first line of the texts for a call, with its line break, if the caller has several
/// databases.
pub fn label(databases: &Databases, request: &ToolRequest, current: &Current) -> String {
    if is_labelled(databases, request) {
        format!("database: {}\n", current.label())
    } else {
        String::new()
    }
}

/// Returns the line that names the database of an answer.
pub fn heading(databases: &Databases, request: &ToolRequest, current: &Current) -> String {
    let label = current.label();
    if is_labelled(databases, request) {
        format!("database: {label}")
    } else {
        format!("Database: {label}")
    }
}

/// Puts the label before an error.
#[must_use]
pub fn labelled(label: &str, error: Error) -> Error {
    match error {
        Error::Reported(reported) if !label.is_empty() => {
            Error::said(format!("{label}{}", reported.as_str()))
        }
        error => error,
    }
}

/// Returns the metadata of the database, as old as its operator allows.
pub async fn metadata(current: &Current) -> Result<Arc<Metadata>, Error> {
    let metadata = current.metadata().await;
    metadata.map_err(|error| unread(&error))
}

/// Returns metadata of the last seconds, for a tool that is about to report a table as missing.
pub async fn recent_metadata(current: &Current) -> Result<Arc<Metadata>, Error> {
    /// Shorter than the time to create a table and retry, and long enough that requests for missing
    /// tables cannot reload the metadata each time.
    const RELOAD_INTERVAL: Duration = Duration::from_secs(3);
    let metadata = current.metadata_within(RELOAD_INTERVAL).await;
    metadata.map_err(|error| unread(&error))
}

/// Describes a failed connection for the caller.
#[must_use]
pub fn unavailable(cause: &LeaseError) -> Reported {
    if let LeaseError::NotOpen { .. } | LeaseError::TooManyPairs = cause {
        return Reported::new(cause.public_message());
    }
    no_client(&cause.public_message())
}

fn no_client(cause: &impl Display) -> Reported {
    Reported::new(format!(
        "Failed to get database client: {cause}\nCheck the connection settings of the server."
    ))
}

/// Describes a statement that did not run because of its cost.
#[must_use]
pub fn too_costly(cost: Option<f64>, max: f64) -> Reported {
    let refused = match cost {
        Some(cost) => Refused::MaxCost { cost, max },
        None => Refused::UnknownCost { max },
    };
    Reported::new(refused.to_string())
}

/// Returns the message of PostgreSQL, with detail and hint on separate lines.
#[must_use]
pub fn explained(report: &Report) -> String {
    let mut text = report.to_string();
    for (label, more) in [("DETAIL", &report.detail), ("HINT", &report.hint)] {
        if let Some(more) = more {
            write!(text, "\n{label}: {more}").expect("a string takes all that is written");
        }
    }
    text
}

/// Describes a failure to read the metadata.
fn unread(error: &MetadataError) -> Error {
    let MetadataError::Load(cause) = error else {
        return Error::NotReady;
    };
    match &**cause {
        QueryError::Lease(cause) => unavailable(cause),
        QueryError::Failed { report, .. } => {
            Reported::new(format!("Failed to load database metadata: {report}"))
        }
        _ => Reported::new(
            "Failed to load database metadata: the connection to the database was lost",
        ),
    }
    .into()
}
