//! Checks before the start of the server.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use thiserror::Error;
use ziggurat_audit::Destination;
use ziggurat_http::{Tls, TlsFiles};
use ziggurat_llm::{ModelSource, StaticModels};
use ziggurat_postgres_tools::custom::{Definitions, DefinitionsError};
use ziggurat_runtime::causes;
use ziggurat_sql_tools::{ADMINISTRATOR_TOOLS, Environment};

use crate::configuration::{
    Address, Configuration,
    builtins::{FIXED_TOOLS, SWITCHED_TOOLS},
};

/// Prefix of errors of custom definitions.
pub(crate) const CUSTOM_DEFINITIONS: &str = "Failed to load custom definitions";

/// Reason not to start. The specification fixes the messages about files.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum StartError {
    /// The certificate file is missing.
    #[error("Certificate file not found: {}", .0.display())]
    Certificate(PathBuf),
    /// The file of its private key is missing.
    #[error("Key file not found: {}", .0.display())]
    Key(PathBuf),
    /// The file of intermediate certificates is configured but missing.
    #[error("Chain file not found: {}", .0.display())]
    Chain(PathBuf),
    /// The token file is missing, without which no client could authenticate.
    #[error(
        "Token file not found: {}\n\
         Create a token with: ziggurat-tools -add-token\n\
         Or turn authentication off, for development only, with: -no-auth",
        .0.display()
    )]
    Tokens(PathBuf),
    /// The address can be reached by other machines, and authentication is off.
    #[error(
        "without authentication the server listens on this machine only, and other machines can \
         reach {0}\n\
         Listen on 127.0.0.1, or allow it with: -no-auth=public, or http.allow_public: true"
    )]
    Public(Address),
}

// === impl Configuration ===

impl Configuration {
    /// Refuses an address that other machines can reach if authentication is off, unless the
    /// configuration allows it.
    pub(crate) fn check_address(&self) -> Result<(), StartError> {
        match &self.http {
            Some(http)
                if !self.auth.is_enabled && !http.allow_public && !http.address.is_loopback() =>
            {
                Err(StartError::Public(http.address.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the required files exist.
    pub(crate) fn check_files(&self) -> Result<(), StartError> {
        self.missing_files().into_iter().next().map_or(Ok(()), Err)
    }

    /// Returns an error for each required file that does not exist.
    fn missing_files(&self) -> Vec<StartError> {
        let Some(http) = &self.http else {
            return Vec::new();
        };
        let mut missing = Vec::new();
        if let Some(TlsFiles { cert, key, chain }) = &http.tls {
            missing.extend(missing_file(cert, StartError::Certificate));
            missing.extend(missing_file(key, StartError::Key));
            let chain = chain.as_deref();
            missing.extend(chain.and_then(|chain| missing_file(chain, StartError::Chain)));
        }
        if self.auth.needs_tokens() {
            missing.extend(missing_file(&self.auth.token_file, StartError::Tokens));
        }
        missing
    }

    /// Returns what custom tools may name, and the names that built-in ones have.
    pub(crate) fn environment(&self) -> Environment {
        let databases = self.databases.iter();
        let administrator_tools = ADMINISTRATOR_TOOLS.iter().filter(|_| self.dba);
        let built_in = SWITCHED_TOOLS.iter().chain(&FIXED_TOOLS);
        let tools = built_in.chain(administrator_tools);
        Environment {
            databases: databases.map(|entry| Arc::clone(&entry.database)).collect(),
            tools: tools.map(|&name| name.to_owned()).collect(),
            local: self.identities.local.clone(),
        }
    }

    /// Returns the problems of the named files: missing ones, and invalid certificates and custom
    /// definitions.
    pub(crate) fn check_named_files(&self) -> Vec<String> {
        let mut problems = Vec::new();
        problems.extend(self.check_address().err().map(|error| error.to_string()));
        let missing = self.missing_files();
        let are_there = missing
            .iter()
            .all(|error| matches!(error, StartError::Tokens(_)));
        problems.extend(missing.iter().map(ToString::to_string));
        let tls = self.http.as_ref().and_then(|http| http.tls.as_ref());
        if let Some(files) = tls.filter(|_| are_there)
            && let Err(error) = Tls::open(files)
        {
            problems.push(causes(&error));
        }
        problems.extend(self.check_contents());
        problems
    }

    /// Returns the problems of named files that the HTTP server does not use.
    pub(crate) fn check_contents(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let trail = self.audit.as_ref().map(|audit| &audit.destination);
        if let Some(Destination::File(path)) = trail
            && let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty())
            && !folder.is_dir()
        {
            let folder = folder.display();
            problems.push(format!("audit.file: the folder {folder} does not exist"));
        }
        problems.extend(self.receipts.keys().err().map(|error| causes(&error)));
        if let Some(path) = &self.custom_definitions
            && let (_, Err(error)) = Definitions::load(path, &self.environment())
        {
            problems.extend(definition_problems(&error));
        }
        let (embedding, knowledge) = (&self.embedding, &self.knowledgebase);
        let used = [
            (embedding.is_enabled, &embedding.vectors),
            (knowledge.is_enabled, &knowledge.vectors),
        ];
        let used = used.into_iter().filter(|(is_enabled, _)| *is_enabled);
        let used = used.filter(|(_, vectors)| vectors.provider == ModelSource::Static);
        let models = StaticModels::default();
        let paths = used.filter_map(|(_, vectors)| vectors.model_path.as_deref());
        let loaded = paths.filter_map(|path| models.load(path).err());
        problems.extend(loaded.map(|error| error.to_string()));
        problems
    }
}

/// Formats an error of custom definitions as lines, one for each problem of a tool.
pub(crate) fn definition_problems(error: &DefinitionsError) -> Vec<String> {
    if let DefinitionsError::Tools(problems) = error {
        let lines = problems.iter();
        return lines
            .map(|line| format!("{CUSTOM_DEFINITIONS}: {line}"))
            .collect();
    }
    vec![format!("{CUSTOM_DEFINITIONS}: {}", causes(error))]
}

/// Returns an error if a path does not exist or is a folder.
fn missing_file(path: &Path, error: fn(PathBuf) -> StartError) -> Option<StartError> {
    let is_there = path.exists() && !path.is_dir();
    (!is_there).then(|| error(path.to_owned()))
}
