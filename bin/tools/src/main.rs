//! `ziggurat-tools`: an MCP server for PostgreSQL.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A call makes some fifty small allocations that live as long as it does, a third of them the
/// driver's; with this one a statement takes 3 of 45 µs less than with the C library's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ziggurat_tools::run(std::env::args_os().skip(1), |_| {})
}
