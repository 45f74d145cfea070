//! `ziggurat-rag`: answers questions from the tables of PostgreSQL.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Allocator for many small allocations per question, most of them in the drivers.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ziggurat_rag::run(std::env::args_os().skip(1), |_| {})
}
