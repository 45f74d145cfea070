//! Shared parts of tools over PostgreSQL: the database of a call, the form of values in texts,
//! rows of structured results, and errors of statements from which a model can learn.
//!
//! It has no tool of its own. The protocol is in [`ziggurat_mcp`]; connections and statements are in
//! [`ziggurat_postgres`].

pub mod checked;
pub mod client;
pub mod confirm;
mod result_format;
mod sql_error;
mod step_up;
mod table;
#[cfg(any(test, feature = "test-support"))]
pub mod test_server;

pub use self::{
    result_format::{CallFormat, Fence, ResultFormat, ShowHidden, write_cut_note},
    sql_error::{SqlErrors, WITHHELD},
    step_up::step_up,
    table::{Table, write_scalar},
};
