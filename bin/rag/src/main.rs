//! `ziggurat-rag`: answers questions from the tables of PostgreSQL.

use std::process::ExitCode;

fn main() -> ExitCode {
    ziggurat_rag::run(std::env::args_os().skip(1), |_| {})
}
