//! `ziggurat-tools`: an MCP server for PostgreSQL.

#[expect(
    dead_code,
    reason = "the administration that reads the rest comes next"
)]
mod arguments;
#[expect(dead_code, reason = "the server that reads the rest comes next")]
mod configuration;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use crate::{
    arguments::{Arguments, Command},
    configuration::{Configuration, Surroundings},
};

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args_os().skip(1)) {
        Ok(arguments) => arguments,
        Err(refusal) => {
            say(&refusal.to_string());
            return refusal.exit_code().into();
        }
    };
    let outcome = match arguments.command {
        Command::Help => {
            say(&arguments::usage());
            Ok(())
        }
        _ => check(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("ERROR: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Loads the configuration and says what is the matter with it.
fn check(arguments: &Arguments) -> anyhow::Result<()> {
    let loaded = Configuration::load(&arguments.overrides, &Surroundings::of_process())?;
    for warning in &loaded.warnings {
        say(&format!("WARNING: {warning}\n"));
    }
    if let Command::Serve = arguments.command {
        loaded.configuration.check_files()?;
    }
    anyhow::bail!("the configuration is good, but this build only checks it")
}

/// Writes to standard error: standard output belongs to the protocol.
fn say(text: &str) {
    // Nobody can be told that nobody can be told.
    let _ = io::stderr().write_all(text.as_bytes());
}
