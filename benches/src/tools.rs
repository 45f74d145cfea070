//! What the benches of the assembled server share: the program, a PostgreSQL, a client.
//!
//! The machine is shared too, and so are its processors: the client, the server and PostgreSQL
//! compete for them, and whatever else runs takes its part. So a bench compares rates that were
//! measured in turns, within seconds of each other, and takes the median of the ratios.

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
    program::{Home, Program, Talk},
    report::{Report, median, thousands},
    request::{post, query, search, send, tool},
};

/// Connections of a client, and clients of pgbench.
pub const CONNECTIONS: usize = 16;
