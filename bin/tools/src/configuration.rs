//! What the server is to do, from the command line, the environment and a file.
//!
//! Each setting is looked for in that order, one by one, and has a default. What is written is
//! raw: a struct per section in which everything may be missing. What comes out is checked, and
//! complete. Neither the process environment nor the place of the program is looked at on the
//! way: both come in as [`ConfigSources`].

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

/// Keys that the reference implementation has, and this one has no use for.
const FOREIGN: &[&str] = &[
    "databases[].pool_health_check_period",
    "databases[].allow_llm_switching",
    "databases[].allowed_pl_languages",
    "trace_file",
    "trace_metadata_only",
];

/// A configuration file as written.
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

/// What the server is to do, checked.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    /// How to serve HTTP; nothing for standard input and output.
    pub(crate) http: Option<Http>,
    /// Who is let in over HTTP.
    pub(crate) auth: Auth,
    /// The databases; the first is the default.
    pub(crate) databases: Vec<Entry>,
    /// Where vectors come from.
    pub(crate) embedding: Embedding,
    /// Which language model answers.
    pub(crate) llm: Llm,
    /// The documents that can be searched.
    pub(crate) knowledgebase: Knowledgebase,
    /// What is switched off.
    pub(crate) builtins: Builtins,
    /// What clients may take.
    pub(crate) limits: Limits,
    /// What clients of newer revisions of the protocol get.
    pub(crate) protocol: Protocol,
    /// Where replicas keep what they share, if there are several.
    pub(crate) state: Option<State>,
    /// How much is logged.
    pub(crate) logs: Logs,
    /// Whether clients are told the causes of failures, and traffic is logged.
    pub(crate) debug: bool,
    /// What seals the questions to clients, so that any replica takes the answers.
    pub(crate) secret_file: Option<PathBuf>,
    /// Resources and prompts of the operator.
    pub(crate) custom_definitions: Option<PathBuf>,
    /// Where the server keeps what it remembers.
    pub(crate) data_folder: PathBuf,
}

/// A configuration, and how it came about.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// The configuration.
    pub(crate) configuration: Configuration,
    /// The file that was read, or would have been.
    pub(crate) path: PathBuf,
    /// What the operator should know; each a line for the log.
    pub(crate) warnings: Vec<String>,
}

/// Why there is no configuration. To be shown with its sources, as `{:#}` of anyhow does.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum LoadError {
    /// The file is of no use.
    #[error("failed to load config file {}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: FileError,
    },
    /// It was understood, and will not do: with everything that is wrong.
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
    /// Loads it. To reload it, call this again with the same arguments.
    ///
    /// Reads files and looks nothing up in the network; may block.
    ///
    /// # Errors
    /// Fails on a file that was asked for and is not there, on one that is not understood, and
    /// on settings that will not do.
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

    /// What the command line says to no effect.
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
    /// Lets the environment, then the command line, have their say.
    ///
    /// # Errors
    /// Fails on a connection URL that will not do.
    fn overlay(&mut self, reader: &mut Reader<'_>, overrides: &Overrides) -> Result<(), Invalid> {
        let http = self.http.get_or_insert_default();
        http.overlay(reader, overrides);
        if overrides.database_url.is_some() && overrides.transport.http.is_none() {
            // A connection URL alone is for a client that starts the server itself.
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

    /// Checks every section, and all of them though one will not do.
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

/// Reads the file that was asked for, or the first of the usual ones that is there.
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
