//! The program behind `ziggurat-rag`, for the programs that bring it along.
//!
//! [`run`] is the program: it reads a command line, does what it says, and gives back the exit
//! code. Everything else is in its own room: what the command line and the configuration say,
//! what pipelines are made of (`clients`, `house`), how a request gets to them (`stack`), and how
//! all that is kept to a configuration that changes (`reload`).

mod app;
mod arguments;
mod clients;
mod configuration;
mod logs;
mod reload;
mod secrets;
mod serving;
mod stack;
mod version;

use std::{
    ffi::OsString,
    io::{self, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context as _;
use tracing::{error, info};
use ziggurat_postgres::pool::Pools;

use crate::{
    app::PipelineBuilder,
    arguments::{Arguments, Command},
    configuration::{ConfigSources, Configuration, LoadError, Loaded, locate},
    secrets::Secrets,
};

/// What the server says of itself.
const DOCUMENT: &str = ziggurat_openapi::RAG;

/// Time for look-ups of names and files when the server ends; nobody waits for them.
const LAST_THREADS: Duration = Duration::from_millis(500);

/// Does what a command line says.
///
/// `listening` is told an address of the server as soon as it takes connections.
pub fn run(
    words: impl IntoIterator<Item = OsString>,
    listening: impl FnOnce(SocketAddr),
) -> ExitCode {
    let arguments = match Arguments::parse(words) {
        Ok(arguments) => arguments,
        Err(refusal) => {
            remark(&format!("{refusal}\n{}", arguments::USAGE));
            return 2.into();
        }
    };
    let config = arguments.config.as_deref();
    match arguments.command {
        Command::Help => {
            remark(arguments::USAGE);
            ExitCode::SUCCESS
        }
        Command::Version => print(&version::Version.to_string()),
        Command::Describe => print(DOCUMENT),
        Command::Check => check(config),
        Command::Serve => match serve(config, listening) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let error = format!("{error:#}");
                error!(error, "server failed");
                ExitCode::FAILURE
            }
        },
    }
}

fn serve(config: Option<&Path>, listening: impl FnOnce(SocketAddr)) -> anyhow::Result<()> {
    let (around, secrets) = (ConfigSources::of_process(), Secrets::default());
    let path = find(config, &around);
    let loaded = path.and_then(|path| {
        Configuration::load(&path, &around).context("failed to load configuration")
    });
    // Also if it could not be loaded, which the log says.
    let log = loaded.as_ref().map(|loaded| &loaded.configuration.log);
    logs::start(&around.environment, log.ok(), secrets.clone());
    let loaded = loaded?;
    warn(&loaded);
    let pipelines = loaded.configuration.pipelines.len();
    info!(pipelines, "configuration loaded");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(serving::serve(loaded, around, secrets, listening));
    runtime.shutdown_timeout(LAST_THREADS);
    outcome
}

fn find(config: Option<&Path>, around: &ConfigSources) -> anyhow::Result<PathBuf> {
    locate(config, around).context("failed to locate configuration file")
}

/// Says what is wrong with the configuration, a line each.
fn check(config: Option<&Path>) -> ExitCode {
    let around = ConfigSources::of_process();
    match find(config, &around).map(|path| Configuration::load(&path, &around)) {
        Err(error) => complain([format!("{error:#}")]),
        Ok(Err(LoadError::Invalid(problems))) => complain(problems.iter().map(ToString::to_string)),
        Ok(Err(error)) => complain([error.to_string()]),
        Ok(Ok(loaded)) => {
            for warning in &loaded.warnings {
                remark(&format!("warning: {warning}\n"));
            }
            let problems = without_clients(&loaded.configuration, around);
            if problems.is_empty() {
                return print("the configuration is good\n");
            }
            complain(problems)
        }
    }
}

/// Why pipelines could not be served, though all is well with what the file says.
fn without_clients(configuration: &Configuration, around: ConfigSources) -> Vec<String> {
    let workshop = PipelineBuilder::new(Pools::new().0, around, Secrets::default());
    let pipelines = configuration.pipelines.iter();
    pipelines
        .filter_map(|pipeline| workshop.clients(pipeline, configuration, None).err())
        .map(|error| format!("{error:#}"))
        .collect()
}

fn complain(problems: impl IntoIterator<Item = String>) -> ExitCode {
    let lines = problems.into_iter().map(|problem| problem + "\n");
    print(&lines.collect::<String>());
    ExitCode::FAILURE
}

fn warn(loaded: &Loaded) {
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
}

/// Writes to standard output.
fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Writes to standard error.
fn remark(text: &str) {
    // Nobody can be told that nobody can be told.
    let _ = io::stderr().write_all(text.as_bytes());
}
