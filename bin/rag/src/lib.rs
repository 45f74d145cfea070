//! The program `ziggurat-rag` as a library, for programs that embed it.
//!
//! [`run`] is the program: it reads a command line, runs the command, and returns the exit code.
//! The modules hold the command line and the configuration, the parts of pipelines (`clients`,
//! `app`), the layers around a request (`stack`), and the reload of a changed configuration
//! (`reload`).

// An optimising compiler looks through all layers of the tower at once.
#![recursion_limit = "256"]

mod adopt;
mod app;
mod arguments;
mod authentication;
mod clients;
mod commands;
mod configuration;
mod doctor;
mod eval;
mod ingest;
mod logs;
mod observation;
mod reload;
mod secrets;
mod serving;
mod stack;
mod sync;
mod tokens;

use std::{
    ffi::OsString,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use tracing::{error, info};
use ziggurat_postgres::pool::Pools;
use ziggurat_runtime::{
    console::{self, print_error},
    listen::Listening,
};
use ziggurat_telemetry::Metrics;

use self::serving::stdio::StdioOptions;
use crate::{
    app::PipelineBuilder,
    arguments::{Arguments, Command},
    authentication::Authentication,
    configuration::{ConfigSources, Configuration, LoadError, Loaded, locate},
    secrets::Secrets,
    serving::{folder, prove, stdio},
};

/// The OpenAPI document of the server.
const DOCUMENT: &str = ziggurat_openapi::RAG;

/// Runs the command of a command line.
///
/// `listening` is called with an address of the server as soon as it accepts connections.
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
            print_error(&format!("{refusal}\n{}", arguments::usage()));
            return 2.into();
        }
    };
    let config = arguments.config.as_deref();
    match arguments.command {
        Command::Help => {
            print_error(&arguments::usage());
            ExitCode::SUCCESS
        }
        Command::Version => print(&version()),
        Command::Manual => print(&arguments::reference().manual()),
        Command::Completion(shell) => print(&arguments::reference().completion(shell)),
        Command::Describe => print(DOCUMENT),
        Command::Check => check(config),
        Command::Examine(options) => doctor::run(config, &options),
        Command::AskHealth { is_ready } => commands::ended(doctor::ask_health(config, is_ready)),
        Command::VerifyAudit(verification) => {
            let verified = verification.run().context("-audit-key-file");
            verified.unwrap_or_else(|error| {
                print_error(&format!("{error:#}\n"));
                ExitCode::FAILURE
            })
        }
        Command::Tokens(command) => tokens::run(config, command),
        Command::Ingest(options) => ingest::run(config, &options),
        Command::Eval(options) => eval::run(config, &options),
        Command::GenerateQuestions(options) => eval::generate(config, &options),
        Command::Adopt(options) => adopt::run(&options),
        Command::Sync(options) => sync::run(config, &options),
        Command::ReadDocument(words) => match ziggurat_ingest::read_in_child(&words) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                print_error(&ziggurat_runtime::causes(&error));
                ExitCode::FAILURE
            }
        },
        Command::ProveQuestions => prove::run(config),
        Command::Serve => served(serve(config, listening)),
        Command::ServeStdio(options) => served(serve_stdio(config, options)),
    }
}

/// Logs why a server has failed, and returns its exit code.
fn served(outcome: anyhow::Result<()>) -> ExitCode {
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    let error = format!("{error:#}");
    error!(error, "server failed");
    ExitCode::FAILURE
}

fn serve(config: Option<&Path>, listening: Listening<'_>) -> anyhow::Result<()> {
    let (sources, secrets) = (ConfigSources::of_process(), Secrets::default());
    let loaded = start_log(load(config, &sources), &sources, &secrets, false)?;
    commands::in_runtime(serving::serve(loaded, sources, secrets, listening))
}

fn serve_stdio(config: Option<&Path>, options: StdioOptions) -> anyhow::Result<()> {
    let (sources, secrets) = (ConfigSources::of_process(), Secrets::default());
    let loaded = if options.folders.is_empty() {
        load(config, &sources)
    } else {
        folder::configuration(&options.folders, options.model.as_deref(), &sources)
    };
    let loaded = start_log(loaded, &sources, &secrets, true)?;
    commands::in_runtime(stdio::serve(loaded, sources, secrets, options.folders))
}

fn load(config: Option<&Path>, sources: &ConfigSources) -> anyhow::Result<Loaded> {
    let path = find(config, sources)?;
    Configuration::load(&path, sources).context("failed to load configuration")
}

/// Starts the log, which also reports a failure to load the configuration.
fn start_log(
    loaded: anyhow::Result<Loaded>,
    sources: &ConfigSources,
    secrets: &Secrets,
    is_stdio: bool,
) -> anyhow::Result<Loaded> {
    let log = loaded.as_ref().map(|loaded| &loaded.value.log);
    logs::start(&sources.environment, log.ok(), secrets.clone(), is_stdio);
    let loaded = loaded?;
    warn(&loaded);
    let pipelines = loaded.value.pipelines.len();
    info!(pipelines, "configuration loaded");
    Ok(loaded)
}

fn find(config: Option<&Path>, sources: &ConfigSources) -> anyhow::Result<PathBuf> {
    locate(config, sources).context("failed to locate configuration file")
}

/// Prints the problems of the configuration, one per line.
fn check(config: Option<&Path>) -> ExitCode {
    let sources = ConfigSources::of_process();
    match find(config, &sources).map(|path| Configuration::load(&path, &sources)) {
        Err(error) => print_problems([format!("{error:#}")]),
        Ok(Err(LoadError::Invalid(problems))) => print_problems(problems),
        Ok(Err(error)) => print_problems([error.to_string()]),
        Ok(Ok(loaded)) => {
            console::print_warnings(&loaded.warnings);
            let auth = loaded.value.server.auth.as_ref();
            let auth = auth.and_then(|auth| Authentication::check(auth).err());
            let mut problems = without_clients(&loaded.value, sources);
            problems.extend(auth.map(|error| format!("{error:#}")));
            if problems.is_empty() {
                return print("the configuration is valid\n");
            }
            print_problems(problems)
        }
    }
}

/// Returns the reasons why pipelines of a valid configuration cannot be built.
fn without_clients(configuration: &Configuration, sources: ConfigSources) -> Vec<String> {
    let builder = PipelineBuilder::new(Pools::new().0, sources, Secrets::default(), Metrics::off());
    let pipelines = configuration.pipelines.iter();
    pipelines
        .filter_map(|pipeline| builder.clients(pipeline, configuration, None).err())
        .map(|error| format!("{error:#}"))
        .collect()
}

fn print_problems(problems: impl IntoIterator<Item = String>) -> ExitCode {
    let lines = problems.into_iter().map(|problem| problem + "\n");
    print(&lines.collect::<String>());
    ExitCode::FAILURE
}

fn warn(loaded: &Loaded) {
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
}

/// Returns the version and the build. The release build sets the variables: reading the clock and git
/// here would make builds irreproducible.
fn version() -> String {
    format!(
        "Ziggurat RAG server\n  Version:    {}\n  Build Time: {}\n  Git Commit: {}\n",
        env!("CARGO_PKG_VERSION"),
        option_env!("ZIGGURAT_BUILD_TIME").unwrap_or("unknown"),
        option_env!("ZIGGURAT_GIT_COMMIT").unwrap_or("unknown"),
    )
}

/// Writes to standard output.
fn print(text: &str) -> ExitCode {
    match console::print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
