//! What has to be there before the server starts.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{Configuration, http::Tls};

/// A file that is not there, and the server cannot do without. The words are those of the specification.
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
}

// === impl Configuration ===

impl Configuration {
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
}

/// Whether there is such a file, or a thing that may be read like one.
fn exists(path: &Path, error: fn(PathBuf) -> CannotStart) -> Result<(), CannotStart> {
    if path.exists() && !path.is_dir() {
        Ok(())
    } else {
        Err(error(path.to_owned()))
    }
}
