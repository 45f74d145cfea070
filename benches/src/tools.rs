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
    request::{modern, negotiated, post, query, search, send, tool},
};

/// Connections of a client, and clients of pgbench.
pub const CONNECTIONS: usize = 16;

/// A hundred rows of ten columns of common types.
pub const WIDE: &str = "CREATE TABLE wide AS SELECT n AS id, 'item ' || n AS name, n % 7 AS kind,
    n * 1.25 AS price, n % 2 = 0 AS is_open, now() AS created_at, current_date AS day,
    md5(n::text) AS digest, NULL::text AS remark, n * 1e6 AS weight
    FROM generate_series(1, 100) AS n";
