//! `ziggurat-rag`: answers questions from the tables of PostgreSQL.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The same as in the other server, for the same reason: many small allocations for each
/// question, most of them the drivers'.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ziggurat_rag::run(std::env::args_os().skip(1), |_| {})
}
