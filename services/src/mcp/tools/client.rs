//! How a tool gets to the database of its caller, and what it says when it cannot.

use std::fmt::Display;

use crate::{
    accounts::Identity,
    databases::{Current, Databases},
    mcp::{Caller, Reported, ToolError},
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
