//! What tests of whole programs need: a database, a running program, and a client.
//!
//! Everything here panics where something is not as it should be, for a test is all there is to
//! tell.
#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "it panics everywhere, and a test may do something only to see it work"
)]

mod folder;
mod http;
mod postgres;
mod program;
mod waiting;

use std::time::Duration;

pub use self::{
    folder::Folder,
    http::{Answer, Client},
    postgres::Postgres,
    program::{Program, Ran},
    waiting::{connect, ended, output, output_of, received, until},
};

/// How long anything may take before a test gives up.
///
/// It only ends tests that hang. On a machine with much else to do the programs get a small part
/// of a processor, and what takes a second elsewhere takes a minute.
pub const PATIENCE: Duration = Duration::from_mins(3);
