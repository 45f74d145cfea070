//! `ziggurat-tools`: an MCP server for PostgreSQL.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A call makes about fifty small allocations that live as long as the call, a third of them in the
/// driver; with mimalloc a statement takes 42 instead of 45 µs.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ziggurat_tools::run(std::env::args_os().skip(1), |_| {})
}
