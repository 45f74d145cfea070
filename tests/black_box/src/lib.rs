//! Tools for tests of whole programs: a database, a running program, and a client.
//!
//! All functions panic on a failure, because that fails the test.
#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "it panics everywhere, and a test may do something only to see it work"
)]

mod folder;
mod http;
mod issuer;
mod postgres;
mod program;
mod provider;
mod sign_in;
mod telemetry;
mod terminal;
mod waiting;

use std::time::Duration;

pub use self::{
    folder::Folder,
    http::{Answer, Client},
    issuer::FakeIssuer,
    postgres::Postgres,
    program::{Program, Ran},
    provider::FakeProvider,
    sign_in::{Browser, GrantedTokens, OAuthClient, claims, granted},
    telemetry::{Collector, MetricsPage, spans_of},
    terminal::in_a_terminal,
    waiting::{connect, ended, output, output_of, received, until, within_a_day},
};

/// Time limit of every wait of a test.
///
/// It only ends tests that hang. On a busy machine the programs get a small part of a processor,
/// and one second of work takes a minute.
pub const PATIENCE: Duration = Duration::from_mins(3);
