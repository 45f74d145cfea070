//! How a tool gets to the database of its caller, and what it says when something is wrong there.

use std::fmt::{Display, Write as _};

use crate::{
    accounts::Identity,
    databases::{Current, Databases},
    mcp::{Caller, Reported, ToolError},
    pg::error::Report,
};

/// The database the caller is using.
pub(super) fn current(databases: &Databases, caller: &Caller) -> Result<Current, ToolError> {
    databases
        .current(caller.extension::<Identity>())
        .map_err(|error| unavailable(&error).into())
}

/// Says why there is no connection, and what to do about it.
pub(super) fn unavailable(cause: &impl Display) -> Reported {
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
