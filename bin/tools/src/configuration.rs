//! Configuration of the server, from the command line, the environment and a file.
//!
//! Each setting is looked up in that order and has a default. The raw form is a struct per section
//! in which every field is optional; the checked form is complete. The process environment and the
//! location of the program are never read here: both come in as [`ConfigSources`].

mod address;
mod api_key;
mod auth;
mod builtins;
pub(crate) mod changes;
mod client_ip;
mod databases;
mod embedding;
mod environment;
#[cfg(test)]
mod fixture;
mod http;
mod invalid;
mod knowledgebase;
mod limits;
mod llm;
mod logs;
mod mcp;
mod provider;
pub(crate) mod start;
mod state;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;
use ziggurat_runtime::{
    file::{self, Read},
    logs::RawLog,
};

pub(crate) use ziggurat_runtime::{ConfigSources, Secret, file::FileError};

pub(crate) use self::{
    address::Address,
    auth::{Auth, TrustedIssuer},
    builtins::Builtins,
    databases::{Entry, is_url},
    embedding::{Embedding, EmbeddingProvider},
    http::Http,
    invalid::{Invalid, Problems},
    knowledgebase::Knowledgebase,
    limits::Limits,
    llm::{Llm, LlmProvider},
    logs::Logs,
    mcp::Protocol,
    state::State,
};
use self::{
    builtins::RawBuiltins,
    databases::RawDatabase,
    embedding::RawEmbedding,
    environment::{Reader, set},
    http::RawHttp,
    knowledgebase::RawKnowledgebase,
    limits::RawLimits,
    llm::RawLlm,
    mcp::RawProtocol,
    state::RawState,
};
use crate::arguments::Overrides;

/// Keys of the reference implementation that have no effect here.
const FOREIGN: &[&str] = &[
    "databases[].pool_health_check_period",
    "databases[].allow_llm_switching",
    "databases[].allowed_pl_languages",
    "trace_file",
    "trace_metadata_only",
];

/// Configuration file as written.
#[derive(Debug, Default, Deserialize)]
struct Raw {
    http: Option<RawHttp>,
    databases: Option<Vec<RawDatabase>>,
    embedding: Option<RawEmbedding>,
    llm: Option<RawLlm>,
    knowledgebase: Option<RawKnowledgebase>,
    builtins: Option<RawBuiltins>,
    limits: Option<RawLimits>,
    mcp: Option<RawProtocol>,
    state: Option<RawState>,
    log: Option<RawLog>,
    secret_file: Option<PathBuf>,
    custom_definitions_path: Option<PathBuf>,
    data_dir: Option<PathBuf>,
}

/// Checked configuration of the server.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    /// HTTP settings; none if the server uses standard input and output.
    pub(crate) http: Option<Http>,
    /// Authentication over HTTP.
    pub(crate) auth: Auth,
    /// The databases; the first is the default.
    pub(crate) databases: Vec<Entry>,
    /// Embedding settings.
    pub(crate) embedding: Embedding,
    /// Language model settings.
    pub(crate) llm: Llm,
    /// Settings of the knowledge base.
    pub(crate) knowledgebase: Knowledgebase,
    /// Built-in tools, resources and prompts that are switched off.
    pub(crate) builtins: Builtins,
    /// Limits for clients.
    pub(crate) limits: Limits,
    /// Features for newer protocol revisions.
    pub(crate) protocol: Protocol,
    /// Database in which replicas share their state, if there are several.
    pub(crate) state: Option<State>,
    /// Log levels and format.
    pub(crate) logs: Logs,
    /// True if clients get the causes of failures, and requests are logged.
    pub(crate) debug: bool,
    /// File with the secret that signs confirmation state, so that any replica accepts it.
    pub(crate) secret_file: Option<PathBuf>,
    /// File with the operator's custom resources and prompts.
    pub(crate) custom_definitions: Option<PathBuf>,
    /// Folder of the server's data.
    pub(crate) data_folder: PathBuf,
}

/// Checked configuration, with its path and warnings.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// The configuration.
    pub(crate) configuration: Configuration,
    /// The file that was read, or the default path if there is none.
    pub(crate) path: PathBuf,
    /// Warnings for the operator; each a line of the log.
    pub(crate) warnings: Vec<String>,
}

/// Reason why loading failed. Print it with its sources, as `{:#}` of anyhow does.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum LoadError {
    /// The file cannot be used.
    #[error("failed to load config file {}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        source: FileError,
    },
    /// Settings are invalid; has all messages.
    #[error("invalid configuration: {}", .0.join("; "))]
    Invalid(Vec<String>),
}

// === impl LoadError ===

impl LoadError {
    fn about(path: &Path, source: FileError) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
}

// === impl Configuration ===

impl Configuration {
    /// Loads the configuration. To reload it, call this again with the same arguments.
    ///
    /// Reads files, and may therefore block; does not use the network.
    ///
    /// # Errors
    /// Fails if a file named with `-config` is missing, on a file that cannot be parsed, and on
    /// invalid settings.
    pub(crate) fn load(overrides: &Overrides, around: &ConfigSources) -> Result<Loaded, LoadError> {
        let mut reader = Reader::new(&around.environment);
        let (path, read) = find(overrides.config.as_deref(), around)?;
        let (mut raw, mut problems, mut warnings) = read
            .map(|read| (read.raw, read.unknown, read.foreign))
            .unwrap_or_default();
        let overlaid = raw.overlay(&mut reader, overrides);
        let checked = raw.check(&mut reader, overrides, around);
        let overlaid = overlaid.as_ref().err();
        let invalid = overlaid
            .into_iter()
            .chain(checked.as_ref().err().into_iter().flatten());
        problems.extend(invalid.map(invalid::with_sources));
        let Some(configuration) = checked.ok().filter(|_| problems.is_empty()) else {
            return Err(LoadError::Invalid(problems));
        };
        warnings.extend(reader.into_warnings());
        warnings.extend(configuration.pointless(overrides));
        Ok(Loaded {
            configuration,
            path,
            warnings,
        })
    }

    /// Warns of flags that have no effect.
    fn pointless(&self, overrides: &Overrides) -> Option<String> {
        let flags = &overrides.transport;
        let has_files = [&flags.cert, &flags.key, &flags.chain]
            .iter()
            .any(|path| path.is_some());
        let has_tls = self.http.as_ref().is_some_and(|http| http.tls.is_some());
        (has_files && !has_tls)
            .then(|| "-cert, -key and -chain have no effect without -tls".to_owned())
    }
}

// === impl Raw ===

impl Raw {
    /// Applies the environment, then the command line.
    ///
    /// # Errors
    /// Fails on an invalid connection URL.
    fn overlay(&mut self, reader: &mut Reader<'_>, overrides: &Overrides) -> Result<(), Invalid> {
        let http = self.http.get_or_insert_default();
        http.overlay(reader, overrides);
        if overrides.database_url.is_some() && overrides.transport.http.is_none() {
            // A connection URL alone is for a client that starts the server as a child process.
            http.turn_off();
        }
        http.auth
            .get_or_insert_default()
            .overlay(reader, &overrides.auth);
        self.embedding.get_or_insert_default().overlay(reader);
        self.llm.get_or_insert_default().overlay(reader);
        self.knowledgebase.get_or_insert_default().overlay(reader);
        self.builtins.get_or_insert_default().overlay(reader);
        for (name, path) in [
            ("ZIGGURAT_SECRET_FILE", &mut self.secret_file),
            (
                "ZIGGURAT_CUSTOM_DEFINITIONS_PATH",
                &mut self.custom_definitions_path,
            ),
            ("ZIGGURAT_DATA_DIR", &mut self.data_dir),
        ] {
            set(path, reader.path(name));
        }
        databases::overlay(self.databases.get_or_insert_default(), reader, overrides)
    }

    /// Checks all sections, also after one is invalid.
    fn check(
        self,
        reader: &mut Reader<'_>,
        overrides: &Overrides,
        around: &ConfigSources,
    ) -> Result<Configuration, Vec<Invalid>> {
        let mut raw_http = self.http.unwrap_or_default();
        let data_folder = around.path_or(self.data_dir, "data");
        let auth = raw_http.auth.take().unwrap_or_default();
        let auth = auth.check(reader, around, &data_folder);
        let is_debug = overrides.debug.unwrap_or(false);
        let databases = self.databases.unwrap_or_default();
        let databases = databases::check(databases, around, reader, is_debug);
        let embedding = self.embedding.unwrap_or_default().check(reader, around);
        let llm = self.llm.unwrap_or_default().check(reader, around);
        let knowledgebase = self.knowledgebase.unwrap_or_default();
        let knowledgebase = knowledgebase.check(reader, around);
        let state = self.state.unwrap_or_default().check(reader, around);
        let logs = Logs::read(reader, &self.log.unwrap_or_default());
        let has_auth = auth.as_ref().is_ok_and(|auth| auth.is_enabled);
        let mut problems = Problems::default();
        let http = problems.take(raw_http.check(around, has_auth));
        let auth = problems.take(auth);
        let databases = problems.take_all(databases);
        let embedding = problems.take(embedding);
        let llm = problems.take(llm);
        let knowledgebase = problems.take(knowledgebase);
        let builtins = problems.take(self.builtins.unwrap_or_default().check());
        let limits = problems.take(self.limits.unwrap_or_default().check());
        let state = problems.take(state);
        let logs = problems.take(logs);
        let configuration = move || {
            Some(Configuration {
                http: http?,
                auth: auth?,
                databases: databases?,
                embedding: embedding?,
                llm: llm?,
                knowledgebase: knowledgebase?,
                builtins: builtins?,
                limits: limits?,
                protocol: self.mcp.unwrap_or_default().check(),
                state: state?,
                logs: logs?,
                debug: is_debug,
                secret_file: around.path(self.secret_file),
                custom_definitions: around.path(self.custom_definitions_path),
                data_folder,
            })
        };
        configuration().ok_or(problems.0)
    }
}

/// Reads the file named with `-config`, or else the first default file that exists.
fn find(
    asked: Option<&Path>,
    around: &ConfigSources,
) -> Result<(PathBuf, Option<Read<Raw>>), LoadError> {
    if let Some(path) = asked {
        let read = file::read(path, FOREIGN).map_err(|error| LoadError::about(path, error))?;
        return Ok((path.to_owned(), Some(read)));
    }
    let usual = around.usual_files("ziggurat-tools.yaml");
    for path in &usual {
        match file::read(path, FOREIGN) {
            Ok(read) => return Ok((path.clone(), Some(read))),
            Err(FileError::NotFound) => {}
            Err(error) => return Err(LoadError::about(path, error)),
        }
    }
    let [_, next_to_the_program] = usual;
    Ok((next_to_the_program, None))
}
