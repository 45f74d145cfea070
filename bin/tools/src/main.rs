//! `ziggurat-tools`: an MCP server for PostgreSQL.

use std::process::ExitCode;

fn main() -> ExitCode {
    ziggurat_tools::run(std::env::args_os().skip(1), |_| {})
}
