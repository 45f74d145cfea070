//! The configuration of the server, read from a file.
//!
//! The raw form has one struct per section, in which every key is optional and every value is a
//! text. The checked form is complete and valid. All problems are collected in one pass, each with
//! its place. The process environment and the folder of the program are read only through
//! [`ConfigSources`].

mod database;
mod defaults;
mod filter;
mod findings;
mod key_files;
mod model;
mod pipelines;
mod rerank;
mod server;
mod tables;
#[cfg(test)]
mod tests;
mod written;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use thiserror::Error;
use ziggurat_runtime::{
    file::{self, FileError, Read},
    logs::RawLog,
};

use self::{
    defaults::RawDefaults, findings::Place, key_files::RawKeyFiles, pipelines::RawPipeline,
    server::RawServer, written::Reader,
};
pub(crate) use ziggurat_runtime::ConfigSources;

pub(crate) use self::{
    findings::Problem,
    model::Maker,
    pipelines::{Model, Pipeline},
    rerank::Rerank,
    server::{Server, Tls},
};

/// The raw configuration file.
#[derive(Debug, Default, Deserialize)]
struct Raw {
    server: Option<RawServer>,
    api_keys: Option<RawKeyFiles>,
    defaults: Option<RawDefaults>,
    pipelines: Option<Vec<RawPipeline>>,
    log: Option<RawLog>,
}

/// The checked configuration of the server.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    pub(crate) server: Server,
    /// In the order of the file; never empty.
    pub(crate) pipelines: Vec<Pipeline>,
    /// Log level and format, used if no environment variable sets them.
    pub(crate) log: RawLog,
}

/// A configuration, its file and its warnings.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) configuration: Configuration,
    /// The file that was read.
    pub(crate) path: PathBuf,
    /// Warnings for the operator; each becomes a line of the log.
    pub(crate) warnings: Vec<String>,
}

/// The error if there is no file to read. The specification fixes the messages.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum LocateError {
    #[error("config file not found: {}", .0.display())]
    NotFound(PathBuf),
    #[error("no configuration file found; searched: [{}]", Listed(.0))]
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
    #[error("invalid configuration: {}", Joined(.0))]
    Invalid(Vec<Problem>),
}

struct Joined<'a>(&'a [Problem]);

struct Listed<'a>(&'a [PathBuf]);

/// Returns the path of the file: the named one, or the first of the default paths that exists.
///
/// # Errors
/// Fails if there is no such file.
pub(crate) fn locate(named: Option<&Path>, around: &ConfigSources) -> Result<PathBuf, LocateError> {
    if let Some(path) = named {
        let is_there = path.exists();
        let path = path.to_owned();
        return is_there
            .then_some(path.clone())
            .ok_or(LocateError::NotFound(path));
    }
    let usual = around.usual_files("ziggurat-rag.yaml");
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
    pub(crate) fn load(path: &Path, around: &ConfigSources) -> Result<Loaded, LoadError> {
        let Read {
            raw,
            unknown,
            foreign: mut warnings,
        } = file::read::<Raw>(path, &[])?;
        let mut reader = Reader::new(around);
        for key in unknown {
            reader.findings.unknown_key(key);
        }
        let configuration = raw.check(&mut reader);
        let (unreadable, problems, more) = reader.findings.into_parts();
        if !unreadable.is_empty() {
            return Err(LoadError::NotUnderstood(unreadable.join("; ")));
        }
        if !problems.is_empty() {
            return Err(LoadError::Invalid(problems));
        }
        warnings.extend(more);
        Ok(Loaded {
            configuration,
            path: path.to_owned(),
            warnings,
        })
    }
}

// === impl Raw ===

impl Raw {
    fn check(self, reader: &mut Reader<'_>) -> Configuration {
        let server = self.server.unwrap_or_default().check(reader);
        let key_files = self.api_keys.unwrap_or_default();
        let key_files = key_files.read(reader, &Place::section("api_keys"));
        let defaults = self.defaults.unwrap_or_default().check(reader, &key_files);
        let pipelines = self.pipelines.unwrap_or_default();
        let log = self.log.unwrap_or_default();
        for (key, problem) in log.problems() {
            reader.findings.problem(&Place::section(key), problem);
        }
        Configuration {
            server,
            pipelines: pipelines::check(pipelines, reader, &defaults),
            log,
        }
    }
}

// === impl LoadError ===

impl From<FileError> for LoadError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::NotUnderstood(error) => Self::NotUnderstood(error.to_string()),
            error @ FileError::WrongKind(_) => Self::NotUnderstood(error.to_string()),
            FileError::Unreadable(source) => Self::Unreadable(source.to_string()),
            other => Self::Unreadable(other.to_string()),
        }
    }
}

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let before = if index == 0 { "" } else { "; " };
            write!(f, "{before}{problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, path) in self.0.iter().enumerate() {
            let before = if index == 0 { "" } else { " " };
            write!(f, "{before}{}", path.display())?;
        }
        Ok(())
    }
}
