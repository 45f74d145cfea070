//! Calls of all programs: what a caller may use, what it sees, and the statements that it runs.
//!
//! - [`limits`] limits each caller by its name: calls, statements at once, rows and bytes of a day.
//! - [`toolsets`] determines which tools, resources, prompts and areas of the REST API it sees.
//! - [`activity`] lists the statements that run, and cancels them.
//!
//! A door of a program begins a [`Call`] of a [`Caller`] to a [`Target`], and passes it to the parts
//! that answer the call. The feature `mcp` has what the Model Context Protocol needs.

pub mod activity;
mod call;
mod caller;
pub mod http;
pub mod limits;
#[cfg(feature = "mcp")]
pub mod mcp;
mod receipt;
mod target;
pub mod toolsets;

pub use self::{
    call::{Call, Calls, ErrorReason},
    caller::Caller,
    receipt::CallReceipt,
    target::{Protocol, RecordRule, RequestFacts, Target},
};
