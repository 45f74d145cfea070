//! Library of the program `ziggurat-tools`, for programs that embed it.
//!
//! [`run`] parses a command line, runs its command, and returns the exit code. The modules: command
//! line and configuration, commands for accounts (`admin`), tools and resources for clients
//! (`catalogue`), and the layers in front of them (`stack`).

// An optimising compiler looks through all layers of the tower at once.
#![recursion_limit = "256"]

mod admin;
mod app;
mod arguments;
mod calls;
mod catalogue;
mod check;
mod configuration;
mod interface;
mod logs;
mod observation;
mod providers;
mod reload;
mod requests;
mod serving;
mod setup;
mod sign_in;
mod stack;
mod state;

use std::{ffi::OsString, net::SocketAddr, process::ExitCode, time::Duration};

use anyhow::{Context as _, anyhow};
use ziggurat_audit::AdminAudit;
use ziggurat_runtime::{
    config::Source,
    console::{self, Console, print_error},
    listen::Listening,
};

use crate::{
    admin::AdminContext,
    arguments::{Arguments, ClientName, Command, Overrides},
    configuration::{
        ConfigSources, Configuration, FileError, LoadError, Loaded,
        start::{CUSTOM_DEFINITIONS, definition_problems},
    },
};

/// Key of the least number of characters of a new password.
const MIN_PASSWORD_LENGTH: &str = "http.auth.min_password_length";

/// Time for file writes that are in progress when the server ends.
const FILE_WRITE_TIMEOUT: Duration = Duration::from_millis(500);

/// Runs the program with a command line.
///
/// `listening` is called with the address of an HTTP server as soon as it accepts connections.
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
            print_error(&refusal.to_string());
            return refusal.exit_code().into();
        }
    };
    let outcome = match arguments.command {
        Command::Help => {
            print_error(&arguments::usage());
            Ok(())
        }
        Command::Serve => serve(arguments, listening),
        Command::Describe => print(ziggurat_openapi::TOOLS),
        Command::Manual => print(&arguments::reference().manual()),
        Command::Completion(shell) => print(&arguments::reference().completion(shell)),
        Command::Version => print(&format!("{} {}\n", interface::NAME, interface::VERSION)),
        Command::Adopt(options) => return setup::adopt::run(&options),
        Command::Check(options) => return check::run(&arguments.overrides, &options),
        Command::Examine(options) => return check::doctor::run(&arguments.overrides, &options),
        Command::Prove(options) => return check::prove::run(&arguments.overrides, &options),
        Command::Init(asked) => return setup::init::run(asked),
        Command::PrintClient(client) => print_client(client, &arguments.overrides),
        Command::PrintSealSql(name) => print_seal_sql(&name, &arguments.overrides),
        Command::AskHealth(path) => check::doctor::ask_health(&arguments.overrides, path),
        Command::VerifyAudit(verification) => match verification.run() {
            Ok(code) => return code,
            Err(error) => Err(error).context("-audit-key-file"),
        },
        Command::MakeReceiptKey(path) => check::receipt::make_key(&path),
        Command::VerifyReceipt(options) => {
            return check::receipt::run(&arguments.overrides, &options);
        }
        command => administer(command, &arguments.overrides),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            for line in problems(&error) {
                print_error(&format!("ERROR: {line}\n"));
            }
            ExitCode::FAILURE
        }
    }
}

fn print_client(client: ClientName, overrides: &Overrides) -> anyhow::Result<()> {
    let loaded = Configuration::load(overrides, &ConfigSources::of_process())?;
    print(&setup::clients::text(client, overrides, &loaded)?)
}

fn print_seal_sql(name: &str, overrides: &Overrides) -> anyhow::Result<()> {
    let loaded = Configuration::load(overrides, &ConfigSources::of_process())?;
    let mut databases = loaded.value.databases.iter();
    let entry = databases.find(|entry| entry.database.name() == name);
    let entry = entry.with_context(|| format!("there is no database '{name}'"))?;
    let callers = entry.callers.as_ref();
    let key = callers.and_then(|callers| callers.seal.as_ref());
    let missing = || format!("database '{name}' has no identity.seal_key_file");
    print(&key.with_context(missing)?.sql())
}

/// Formats an error as lines, one for each problem of a configuration.
fn problems(error: &anyhow::Error) -> Vec<String> {
    match error.downcast_ref() {
        Some(LoadError::Invalid(problems)) => problems
            .iter()
            .map(|problem| format!("invalid configuration: {problem}"))
            .collect(),
        _ => match error.downcast_ref() {
            Some(error) => definition_problems(error),
            None => vec![format!("{error:#}")],
        },
    }
}

/// Formats an error of definitions, or of a catalogue made of them, as lines without its kind.
fn reasons(error: &anyhow::Error) -> Vec<String> {
    let kinds = [CUSTOM_DEFINITIONS, "invalid configuration"];
    let reason = |line: String| {
        let mut kinds = kinds.iter();
        let rest = kinds.find_map(|kind| line.strip_prefix(kind)?.strip_prefix(": "));
        rest.map_or_else(|| line.clone(), str::to_owned)
    };
    problems(error).into_iter().map(reason).collect()
}

/// Writes to standard output.
fn print(text: &str) -> anyhow::Result<()> {
    console::print(text).context("cannot print")
}

fn serve(arguments: Arguments, listening: Listening<'_>) -> anyhow::Result<()> {
    let sources = ConfigSources::of_process();
    let loaded = Configuration::load(&arguments.overrides, &sources)?;
    logs::start(&loaded.value);
    warn(&loaded);
    loaded.value.check_address()?;
    loaded.value.check_files()?;
    let source = reload::Source {
        overrides: Overrides {
            tells_causes: Some(loaded.value.tells_causes()),
            ..arguments.overrides
        },
        sources,
        path: loaded.path.clone(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(serving::serve(loaded, source, listening));
    // The thread that reads standard input cannot be interrupted: without a limit, the shutdown
    // would wait for the next line of the client.
    runtime.shutdown_timeout(FILE_WRITE_TIMEOUT);
    outcome
}

fn administer(command: Command, overrides: &Overrides) -> anyhow::Result<()> {
    let sources = ConfigSources::of_process();
    let loaded = Configuration::load(overrides, &sources).map_err(|error| match error {
        LoadError::File {
            path,
            source: FileError::NotFound,
        } => anyhow!("Configuration file not found: {}", path.display()),
        error => error.into(),
    })?;
    logs::start(&loaded.value);
    warn(&loaded);
    let admin_context = AdminContext {
        configuration: &loaded.value,
        refuses_short_passwords: loaded.sources.of(MIN_PASSWORD_LENGTH) != Source::Default,
    };
    let trail = loaded.value.audit.as_ref();
    let recorded = command.recorded();
    Console::of_process(|console| {
        let run = || admin::run(command, &admin_context, console);
        match recorded {
            None => run(),
            Some(flag) => AdminAudit::run(trail, flag, run),
        }
    })
}

fn warn(loaded: &Loaded) {
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
}
