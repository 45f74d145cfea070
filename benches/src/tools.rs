//! Shared code of the benches of `ziggurat-tools`: the program, a PostgreSQL, a client.
//!
//! Client, server, PostgreSQL and other programs compete for the processors of the machine. So a
//! bench compares rates that were measured in turns, within seconds of each other, and takes the
//! median of the ratios.

mod exchange;
mod load;
mod postgres;
pub(crate) mod program;
mod report;
mod request;

pub use self::{
    exchange::exchange,
    load::Load,
    postgres::Postgres,
    program::{Home, Program, StdioClient},
    report::{Report, median, thousands},
    request::{post, query, search, send, tool},
};

/// Connections of a client, and clients of pgbench.
pub const CONNECTIONS: usize = 16;
