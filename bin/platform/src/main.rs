//! `ziggurat-platform`: the account service that the command line talks to.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The same as in the other servers.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ziggurat_platform::run(std::env::args_os().skip(1), |_| {})
}
