//! What the server is to do, from the command line, the environment and a file.
//!
//! Each setting is looked for in that order, one by one, and has a default. What is written is
//! raw: a struct per section in which everything may be missing. What comes out is checked, and
//! complete. Neither the process environment nor the place of the program is looked at on the
//! way: both come in as [`Surroundings`].

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
use ziggurat_services::program::file::{self, Read};

pub(crate) use ziggurat_services::program::{Secret, Surroundings, file::FileError};

pub(crate) use self::{
    address::Address,
    auth::{Auth, TrustedIssuer},
    builtins::Builtins,
    databases::Entry,
    embedding::{Embedding, EmbeddingProvider},
    http::Http,
    invalid::Invalid,
    knowledgebase::Knowledgebase,
    limits::Limits,
    llm::{Llm, LlmProvider},
    logs::{CallLevel, DetailLevel, Logs},
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
    /// What it says will not do.
    #[error("invalid configuration")]
    Invalid(#[from] Invalid),
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
    pub(crate) fn load(overrides: &Overrides, around: &Surroundings) -> Result<Loaded, LoadError> {
        let mut reader = Reader::new(&around.environment);
        let (path, read) = find(overrides.config.as_deref(), around)?;
        let (mut raw, mut warnings) = read
            .map(|read| (read.raw, read.warnings))
            .unwrap_or_default();
        raw.overlay(&mut reader, overrides);
        let configuration = raw.check(&mut reader, overrides, around)?;
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
    fn overlay(&mut self, reader: &mut Reader<'_>, overrides: &Overrides) {
        let http = self.http.get_or_insert_default();
        http.overlay(reader, &overrides.transport);
        http.auth
            .get_or_insert_default()
            .overlay(reader, &overrides.auth);
        databases::overlay(
            self.databases.get_or_insert_default(),
            reader,
            &overrides.database,
        );
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
    }

    fn check(
        self,
        reader: &mut Reader<'_>,
        overrides: &Overrides,
        around: &Surroundings,
    ) -> Result<Configuration, Invalid> {
        let mut http = self.http.unwrap_or_default();
        let auth = http.auth.take().unwrap_or_default();
        let embedding = self.embedding.unwrap_or_default();
        let knowledgebase = self.knowledgebase.unwrap_or_default();
        let data_folder = around.path_or(self.data_dir, "data");
        Ok(Configuration {
            http: http.check(around)?,
            auth: auth.check(reader, around, &data_folder)?,
            databases: databases::check(self.databases.unwrap_or_default(), around)?,
            embedding: embedding.check(reader, around)?,
            llm: self.llm.unwrap_or_default().check(reader, around)?,
            knowledgebase: knowledgebase.check(reader, around)?,
            builtins: self.builtins.unwrap_or_default().check(),
            limits: self.limits.unwrap_or_default().check()?,
            protocol: self.mcp.unwrap_or_default().check(),
            state: self.state.unwrap_or_default().check(reader, around)?,
            logs: Logs::read(reader),
            debug: overrides.debug.unwrap_or(false),
            secret_file: around.path(self.secret_file),
            custom_definitions: around.path(self.custom_definitions_path),
            data_folder,
        })
    }
}

/// Reads the file that was asked for, or the first of the usual ones that is there.
fn find(
    asked: Option<&Path>,
    around: &Surroundings,
) -> Result<(PathBuf, Option<Read<Raw>>), LoadError> {
    if let Some(path) = asked {
        let read = file::read(path).map_err(|error| LoadError::about(path, error))?;
        return Ok((path.to_owned(), Some(read)));
    }
    let usual = around.usual_files("ziggurat-tools.yaml");
    for path in &usual {
        match file::read(path) {
            Ok(read) => return Ok((path.clone(), Some(read))),
            Err(FileError::NotFound) => {}
            Err(error) => return Err(LoadError::about(path, error)),
        }
    }
    let [_, next_to_the_program] = usual;
    Ok((next_to_the_program, None))
}
