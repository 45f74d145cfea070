//! `ziggurat-platform`: the account service that the command line client uses.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Same allocator as in the other servers.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ziggurat_platform::run(std::env::args_os().skip(1), |_| {})
}
