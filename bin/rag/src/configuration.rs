//! The configuration of the server, read from a file.
//!
//! Every value is read as a text, in which `${NAME}` stands for a variable. All problems are
//! collected in one pass, each with its place. The process environment and the folder of the
//! program are read only through [`ConfigSources`].

mod auth;
mod database;
mod defaults;
mod filter;
mod ingest;
mod key_files;
mod limits;
mod masks;
mod mcp;
mod model;
mod pipelines;
mod rerank;
mod search;
mod server;
mod sync;
mod tables;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use thiserror::Error;
use ziggurat_http::{SqlCommentKind, TelemetrySettings};
use ziggurat_runtime::{
    config::{self, Input, Section},
    file::FileError,
    flags::Flags,
    logs::RawLog,
};
use ziggurat_tokens::Identities;

use self::{defaults::Defaults, key_files::KeyFiles};
pub(crate) use ziggurat_llm::ModelSource;
pub(crate) use ziggurat_runtime::ConfigSources;

pub(crate) use self::{
    auth::Auth,
    database::of_address,
    ingest::Ingest,
    pipelines::{Model, Pipeline},
    rerank::Rerank,
    server::Server,
};

/// The checked configuration of the server.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    pub(crate) server: Server,
    /// Settings of the tools.
    pub(crate) mcp: ziggurat_rag_service::mcp::Settings,
    /// Facts about callers.
    pub(crate) identities: Identities,
    /// Limits of callers.
    pub(crate) limits: ziggurat_calls::limits::Settings,
    /// In the order of the file; never empty.
    pub(crate) pipelines: Vec<Pipeline>,
    /// Settings of the audit trail, if there is one.
    pub(crate) audit: Option<ziggurat_audit::Settings>,
    /// Metrics and traces.
    pub(crate) telemetry: TelemetrySettings,
    /// Kind of the comments in statements.
    pub(crate) sql_comment: SqlCommentKind,
    /// Log level and format, used if no environment variable sets them.
    pub(crate) log: RawLog,
}

/// A configuration, its file and its warnings.
pub(crate) type Loaded = config::Loaded<Configuration>;

/// The error if there is no file to read. The specification fixes the messages.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum LocateError {
    #[error("config file not found: {}", .0.display())]
    NotFound(PathBuf),
    #[error("no configuration file found; searched: [{}]", PathList(.0))]
    Nowhere([PathBuf; 2]),
}

/// The error for an invalid file. The specification fixes the beginning of the messages.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum LoadError {
    #[error("failed to read config file: {0}")]
    Unreadable(String),
    #[error("failed to parse config file: {0}")]
    NotUnderstood(String),
    #[error("invalid configuration: {}", .0.join("; "))]
    Invalid(Vec<String>),
}

struct PathList<'a>(&'a [PathBuf]);

/// Returns the path of the file: the named one, or the first of the default paths that exists.
///
/// # Errors
/// Fails if there is no such file.
pub(crate) fn locate(
    named: Option<&Path>,
    sources: &ConfigSources,
) -> Result<PathBuf, LocateError> {
    if let Some(path) = named {
        let is_there = path.exists();
        let path = path.to_owned();
        return is_there
            .then_some(path.clone())
            .ok_or(LocateError::NotFound(path));
    }
    let usual = sources.usual_files("ziggurat-rag.yaml");
    let found = usual.iter().find(|path| path.exists()).cloned();
    found.ok_or(LocateError::Nowhere(usual))
}

// === impl Configuration ===

impl Configuration {
    /// Loads a file. To reload it, call this again with the same arguments.
    ///
    /// It reads files and may block, but does not use the network.
    ///
    /// # Errors
    /// Fails on a file that cannot be parsed, and on invalid settings, all of which are named.
    pub(crate) fn load(path: &Path, sources: &ConfigSources) -> Result<Loaded, LoadError> {
        let flags = Flags::default();
        let input = Input::new(sources, &flags).with_expansion();
        Ok(input.load(Some(path), read)?)
    }

    /// Loads a text that this program has made.
    ///
    /// # Errors
    /// Fails on invalid settings, all of which are named.
    pub(crate) fn of_text(yaml: &str, sources: &ConfigSources) -> Result<Loaded, LoadError> {
        let flags = Flags::default();
        Ok(Input::new(sources, &flags).load_text(yaml, read)?)
    }

    /// Returns the keys that have another value in `other` and need a restart.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let mut keys = self.server.differences(&other.server);
        keys.extend((self.mcp != other.mcp).then_some("mcp"));
        keys.extend((self.audit != other.audit).then_some("audit"));
        keys.extend((self.telemetry != other.telemetry).then_some("telemetry"));
        let is_same = self.sql_comment == other.sql_comment;
        keys.extend((!is_same).then_some("telemetry.sql_comment"));
        keys
    }
}

fn read(file: &Section<'_>) -> Configuration {
    let server = server::read(&file.section("server"));
    let key_files = KeyFiles::read(&file.section("api_keys"));
    let mask_key = masks::key(&file.section("masking"));
    let defaults = Defaults::read(&file.section("defaults"), &key_files, mask_key);
    let pipelines = pipelines::read(&file.key("pipelines"), &defaults);
    auth::check_callers(file, server.auth.as_ref(), &pipelines);
    Configuration {
        server,
        mcp: mcp::read(&file.section("mcp")),
        identities: Identities::read(file),
        limits: limits::read(&file.section("limits")),
        audit: ziggurat_audit::Settings::read(file),
        telemetry: TelemetrySettings::read(file).with_providers(file),
        sql_comment: SqlCommentKind::read(file),
        log: file.log(),
        pipelines,
    }
}

// === impl LoadError ===

impl From<config::LoadError> for LoadError {
    fn from(error: config::LoadError) -> Self {
        match error {
            config::LoadError::Invalid(problems) => Self::Invalid(problems),
            config::LoadError::File { source, .. } => match source {
                FileError::NotUnderstood(_) | FileError::WrongKind(_) => {
                    Self::NotUnderstood(source.to_string())
                }
                FileError::Unreadable(source) => Self::Unreadable(source.to_string()),
                other => Self::Unreadable(other.to_string()),
            },
        }
    }
}

impl fmt::Display for PathList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, path) in self.0.iter().enumerate() {
            let before = if index == 0 { "" } else { " " };
            write!(f, "{before}{}", path.display())?;
        }
        Ok(())
    }
}
