//! How a tool gets to the database of its caller, and what it says when something is wrong there.

use std::{
    fmt::{Display, Write as _},
    sync::Arc,
    time::Duration,
};

use ziggurat_accounts::Identity;
use ziggurat_databases::{Current, Databases, MetadataError};
use ziggurat_mcp::{Caller, Reported, ToolError};
use ziggurat_postgres::{
    error::{QueryError, Report},
    metadata::Metadata,
    pool::LeaseError,
};

/// The database the caller is using, once the server has started with it.
pub(super) async fn current(databases: &Databases, caller: &Caller) -> Result<Current, ToolError> {
    let current = databases
        .current(caller.extension::<Identity>())
        .map_err(|error| no_client(&error))?;
    current.ready().await.map_err(|error| unread(&error))?;
    Ok(current)
}

/// The tables of the database, as old as its operator allows.
pub(super) async fn metadata(current: &Current) -> Result<Arc<Metadata>, ToolError> {
    let metadata = current.metadata().await;
    metadata.map_err(|error| unread(&error))
}

/// The tables of the database as they were a moment ago, for a tool that is about to say that
/// one is not there.
pub(super) async fn recent_metadata(current: &Current) -> Result<Arc<Metadata>, ToolError> {
    /// Short beside how long somebody takes to create a table and ask again, long beside how
    /// often a client can ask for one that does not exist.
    const MOMENT: Duration = Duration::from_secs(3);
    let metadata = current.metadata_within(MOMENT).await;
    metadata.map_err(|error| unread(&error))
}

/// Says why there is no connection, and what to do about it.
pub(super) fn unavailable(cause: &LeaseError) -> Reported {
    no_client(&cause.told())
}

fn no_client(cause: &impl Display) -> Reported {
    Reported::new(format!(
        "Failed to get database client: {cause}\nCheck the connection settings of the server."
    ))
}

/// What PostgreSQL says, with what it adds on lines of their own.
pub(super) fn explained(report: &Report) -> String {
    let mut text = report.to_string();
    for (label, more) in [("DETAIL", &report.detail), ("HINT", &report.hint)] {
        if let Some(more) = more {
            write!(text, "\n{label}: {more}").expect("a string takes all that is written");
        }
    }
    text
}

/// Says why the tables are not known.
fn unread(error: &MetadataError) -> ToolError {
    let MetadataError::Load(cause) = error else {
        return ToolError::NotReady;
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
