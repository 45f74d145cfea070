//! The command `adopt`: converts the vectorizers of pgai into a configuration.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, anyhow};
use ziggurat_adopt::Pgai;
use ziggurat_postgres::{
    database::{Database, Settings},
    single_round_trip::ReadOnlyQuery,
};
use ziggurat_runtime::{
    Environment, Secret,
    console::{self, print_error},
    file,
    flags::{Flag, Flags, Refusal},
    private_file,
};

use crate::{
    arguments::Command,
    commands,
    configuration::{ConfigSources, Configuration, LoadError},
};

/// The flags of the command.
pub(crate) const FLAGS: &[Flag] = &[
    Flag::path(
        "url-file",
        "FILE",
        "file with the connection URL of the database; required",
    ),
    Flag::path("dir", "FOLDER", "folder of the new file (the current one)"),
    Flag::switch("json", "print the report as JSON"),
    Flag::switch("help", "print this help, and exit"),
];

/// Beginning of the help.
pub(crate) const HEAD: &str = "
Usage: ziggurat-rag adopt -url-file FILE [flags]

Reads the vectorizers of pgai in a database, and writes a configuration with a pipeline for each of
them. It changes nothing in the database, and writes no password. It ends with 3 if something has no
equal here.

";

/// Maximum size of the file with the URL.
const MAX_URL_FILE: u64 = 64 << 10;

/// Options of the command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AdoptOptions {
    url_file: PathBuf,
    folder: PathBuf,
    as_json: bool,
}

/// Returns the command of the flags.
pub(crate) fn adopt_command(flags: &Flags, rest: &[OsString]) -> Result<Command, Refusal> {
    if let Some(word) = rest.first() {
        return Err(Refusal::Leftover(word.display().to_string()));
    }
    let url_file = flags.path("url-file").ok_or(Refusal::NoValue(&FLAGS[0]))?;
    Ok(Command::Adopt(AdoptOptions {
        url_file,
        folder: flags.path("dir").unwrap_or_else(|| ".".into()),
        as_json: flags.has("json"),
    }))
}

/// Runs the command, and returns its exit code.
pub(crate) fn run(options: &AdoptOptions) -> ExitCode {
    match adopt(options) {
        Ok(code) => code,
        Err(error) => {
            print_error(&format!("ERROR: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

fn adopt(options: &AdoptOptions) -> anyhow::Result<ExitCode> {
    let sources = ConfigSources::of_process();
    let name = || options.url_file.display().to_string();
    let url = file::text(&options.url_file, MAX_URL_FILE).with_context(name)?;
    let pgai = Pgai::new(&Secret::from(url.trim()));
    let rows = rows(&pgai, &sources.environment)?;
    let adopted = pgai.finish(&rows).context("ai.vectorizer")?;
    let files = adopted.files.iter();
    let files: Vec<_> = files
        .map(|file| (options.folder.join(file.name), &*file.text))
        .collect();
    private_file::create_all(&files)?;
    let paths = files.iter().map(|(path, _)| path);
    let written: Vec<_> = paths
        .clone()
        .map(|path| path.display().to_string())
        .collect();
    console::print(&adopted.text(&written, options.as_json))?;
    let problems: Vec<_> = paths.flat_map(|path| check(path, &sources)).collect();
    for problem in &problems {
        print_error(&format!("ERROR: {problem}\n"));
    }
    Ok(adopted.exit_code(!problems.is_empty()))
}

/// Reads the rows of `ai.vectorizer` in a read-only transaction.
fn rows(pgai: &Pgai, environment: &Environment) -> anyhow::Result<Vec<String>> {
    let database = Arc::new(Database::try_from(settings(pgai, environment)?)?);
    let query = ReadOnlyQuery {
        name: "SELECT",
        before: None,
        query: Pgai::QUERY.to_owned(),
        values: Vec::new(),
    };
    commands::with_pools(async |pools| {
        let lease = pools.pool("adopt", &database).lease().await;
        let lease = lease.map_err(|error| anyhow!("{}", error.cause()))?;
        let rows = query.read(lease, |row| Ok(row.text(0)?.to_owned())).await;
        rows.context("reading ai.vectorizer")
    })
}

fn settings(pgai: &Pgai, environment: &Environment) -> anyhow::Result<Settings> {
    let (source, default) = (pgai.database(), Settings::default());
    let owned = |key: &str| source.text(key).map(str::to_owned);
    let port = source.text("port").map(str::parse).transpose();
    let ssl_mode = source.text("sslmode").and_then(|mode| mode.parse().ok());
    let password = source.password().find(|name| environment.get(name));
    Ok(Settings {
        name: source.name().to_owned(),
        host: owned("host").context("the connection URL names no host")?,
        port: port.context("port")?.unwrap_or(default.port),
        database: owned("database").context("the connection URL names no database")?,
        user: owned("user").context("the connection URL names no user")?,
        password: password.to_owned().into(),
        ssl_mode: ssl_mode.unwrap_or(default.ssl_mode),
        ssl_root_cert: owned("sslrootcert").map(Into::into),
        ssl_cert: owned("sslcert").map(Into::into),
        ssl_key: owned("sslkey").map(Into::into),
        shows_causes: true,
        ..default
    })
}

/// Returns the problems of a configuration.
fn check(path: &Path, sources: &ConfigSources) -> Vec<String> {
    match Configuration::load(path, sources) {
        Ok(_) => Vec::new(),
        Err(LoadError::Invalid(problems)) => problems,
        Err(error) => vec![error.to_string()],
    }
}
