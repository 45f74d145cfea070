//! Checks before the server starts.

use std::path::{Path, PathBuf};

use thiserror::Error;
use ziggurat_http::serve;
use ziggurat_postgres_tools::custom::Definitions;

use super::{Address, Configuration, http::Tls};

/// The first words about custom definitions that are no good.
pub(crate) const CUSTOM_DEFINITIONS: &str = "Failed to load custom definitions";

/// A reason not to start. The words about files are those of the specification.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum CannotStart {
    /// The certificate.
    #[error("Certificate file not found: {}", .0.display())]
    Certificate(PathBuf),
    /// Its private key.
    #[error("Key file not found: {}", .0.display())]
    Key(PathBuf),
    /// Intermediate certificates, where some were announced.
    #[error("Chain file not found: {}", .0.display())]
    Chain(PathBuf),
    /// The tokens, without which nobody could sign in.
    #[error(
        "Token file not found: {}\n\
         Create a token with: ziggurat-tools -add-token\n\
         Or let everybody in, for development only, with: -no-auth",
        .0.display()
    )]
    Tokens(PathBuf),
    /// An address that other machines can reach, without authentication.
    #[error(
        "without authentication the server listens on this machine only, and other machines can \
         reach {0}\n\
         Listen on 127.0.0.1, or allow it with: -no-auth=public, or http.allow_public: true"
    )]
    Public(Address),
}

// === impl Configuration ===

impl Configuration {
    /// Refuses an address that other machines can reach, where no client has to sign in and
    /// nothing says that this is meant.
    pub(crate) fn check_address(&self) -> Result<(), CannotStart> {
        match &self.http {
            Some(http)
                if !self.auth.is_enabled && !http.allow_public && !http.address.is_loopback() =>
            {
                Err(CannotStart::Public(http.address.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Looks for the files a server cannot do without.
    pub(crate) fn check_files(&self) -> Result<(), CannotStart> {
        let Some(http) = &self.http else {
            return Ok(());
        };
        if let Some(Tls { cert, key, chain }) = &http.tls {
            exists(cert, CannotStart::Certificate)?;
            exists(key, CannotStart::Key)?;
            if let Some(chain) = chain {
                exists(chain, CannotStart::Chain)?;
            }
        }
        if self.auth.is_enabled && self.auth.issuer.is_none() {
            exists(&self.auth.token_file, CannotStart::Tokens)?;
        }
        Ok(())
    }

    /// The problems of the files it names: those that are missing, and certificates and custom
    /// definitions that are no good.
    pub(crate) fn check_named_files(&self) -> Vec<String> {
        let mut problems = Vec::new();
        problems.extend(self.check_address().err().map(|error| error.to_string()));
        let tls = self.http.as_ref().and_then(|http| http.tls.as_ref());
        if let Err(error) = self.check_files() {
            problems.push(error.to_string());
        } else if let Some(Tls { cert, key, chain }) = tls
            && let Err(error) = serve::Tls::from_files(cert, key, chain.as_deref())
        {
            problems.push(format!("{:#}", anyhow::Error::from(error)));
        }
        if let Some(path) = &self.custom_definitions
            && let Err(error) = Definitions::load(path)
        {
            let error = anyhow::Error::from(error);
            problems.push(format!("{:#}", error.context(CUSTOM_DEFINITIONS)));
        }
        problems
    }
}

/// Tells whether there is such a file, or a thing that may be read like one.
fn exists(path: &Path, error: fn(PathBuf) -> CannotStart) -> Result<(), CannotStart> {
    if path.exists() && !path.is_dir() {
        Ok(())
    } else {
        Err(error(path.to_owned()))
    }
}
