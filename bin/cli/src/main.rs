//! `ziggurat`: the command line of a Ziggurat account.

use std::process::ExitCode;

use ziggurat_cli::{Environment, Streams};

fn main() -> ExitCode {
    ExitCode::from(ziggurat_cli::watched(|| {
        let environment =
            Environment::of_process(std::env::vars_os()).with_program(std::env::current_exe().ok());
        let mut streams = Streams::of_process();
        ziggurat_cli::run(std::env::args_os().skip(1), &environment, &mut streams)
    }))
}
