//! Calls of all programs: what a caller may use, what it sees, and the statements that it runs.
//!
//! - [`limits`] limits each caller by its name: calls, statements at once, rows and bytes of a day.
//! - [`toolsets`] determines which tools, resources, prompts and areas of the REST API it sees.
//! - [`activity`] lists the statements that run, and cancels them.
//!
//! The crate knows no protocol: the program says which calls there are, and who calls.

pub mod activity;
pub mod limits;
pub mod toolsets;
