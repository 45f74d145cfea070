//! The program `ziggurat-platform` as a library, for programs that embed it.
//!
//! [`run`] is the program: it parses a command line, runs the command, and returns the exit code.
//! Its modules hold the command line and the configuration, the commands of administrators
//! (`admin`), and the layers around the service (`stack`).

mod admin;
mod arguments;
mod configuration;
mod doctor;
mod logs;
mod observation;
mod services;
mod serving;
mod sign_in;
mod stack;

use std::{ffi::OsString, net::SocketAddr, process::ExitCode, time::Duration};

use ziggurat_audit::AdminAudit;
use ziggurat_runtime::{
    ConfigSources,
    console::{self, print_error},
    listen::Listening,
};

use crate::{
    arguments::{Arguments, Task},
    configuration::Configuration,
};

/// Time for running look-ups and file operations when the program ends.
const BLOCKING_TASKS_TIMEOUT: Duration = Duration::from_millis(500);

/// Runs a command line.
///
/// Calls `listening` with the address of the server as soon as it accepts connections.
pub fn run(
    words: impl IntoIterator<Item = OsString>,
    listening: impl FnOnce(SocketAddr),
) -> ExitCode {
    run_words(words.into_iter().collect(), Box::new(listening))
}

fn run_words(words: Vec<OsString>, listening: Listening<'_>) -> ExitCode {
    let arguments = match Arguments::parse(words) {
        Ok(arguments) => arguments,
        Err(refusal) => {
            print_error(&format!(
                "{refusal}\nRun 'ziggurat-platform -help' for the commands and flags.\n"
            ));
            return 2.into();
        }
    };
    let outcome = match arguments.task {
        Task::Help => print(&arguments::usage()),
        Task::Version => print(&version()),
        Task::Manual => print(&arguments::reference().manual()),
        Task::Completion(shell) => print(&arguments::reference().completion(shell)),
        Task::Describe => print(ziggurat_openapi::PLATFORM),
        Task::Check => check(&arguments),
        Task::Examine(options) => match doctor::run(&arguments.flags, &options) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Task::AskHealth(path) => doctor::ask_health(&arguments.flags, path),
        _ => act(&arguments, listening),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&format!("ERROR: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

fn act(arguments: &Arguments, listening: Listening<'_>) -> anyhow::Result<()> {
    let sources = ConfigSources::of_process();
    let loaded = Configuration::load(&arguments.flags, &sources)?;
    let (configuration, warnings) = (loaded.value, loaded.warnings);
    logs::start(&sources.environment, &configuration.log);
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = match arguments.task {
        Task::Serve => runtime.block_on(serving::serve(&configuration, listening)),
        _ => AdminAudit::run(configuration.audit.as_ref(), arguments.command, || {
            let text = runtime.block_on(admin::run(arguments, &configuration))?;
            print(&text)
        }),
    };
    runtime.shutdown_timeout(BLOCKING_TASKS_TIMEOUT);
    outcome
}

/// Prints the problems of the configuration.
fn check(arguments: &Arguments) -> anyhow::Result<()> {
    let loaded = Configuration::load(&arguments.flags, &ConfigSources::of_process())?;
    console::print_warnings(&loaded.warnings);
    print("the configuration is valid\n")
}

fn version() -> String {
    format!("ziggurat-platform {}\n", env!("CARGO_PKG_VERSION"))
}

/// Writes to standard output.
fn print(text: &str) -> anyhow::Result<()> {
    Ok(console::print(text)?)
}
