//! Browsers that come from the sign-in of this server.

use std::{fmt, pin::Pin};

use http::Extensions;
use secrecy::SecretString;
use ziggurat_accounts::{LoginError, Session};

/// Opens sessions for the codes of the sign-in of this server.
pub struct BrowserSignIn {
    origin: String,
    open: Box<OpenSession>,
}

/// A code that a browser came back with.
#[derive(Debug)]
pub struct BrowserCode {
    /// The code.
    pub code: SecretString,
    /// The verifier of the request for the code.
    pub verifier: SecretString,
    /// The address of the page that the browser came back to.
    pub redirect_uri: String,
}

/// Session for a code; `None` if the code is not valid.
pub type OpenedSession = Pin<Box<dyn Future<Output = Result<Option<Session>, LoginError>> + Send>>;

type OpenSession = dyn Fn(BrowserCode, Extensions) -> OpenedSession + Send + Sync;

// === impl BrowserSignIn ===

impl BrowserSignIn {
    /// Uses the sign-in that sends browsers back to the console at this origin. `open` gets a code and
    /// the extensions of the request that brought it.
    pub fn new(
        origin: impl Into<String>,
        open: impl Fn(BrowserCode, Extensions) -> OpenedSession + Send + Sync + 'static,
    ) -> Self {
        Self {
            origin: origin.into(),
            open: Box::new(open),
        }
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    pub(super) fn open(&self, code: BrowserCode, request: Extensions) -> OpenedSession {
        (self.open)(code, request)
    }
}

impl fmt::Debug for BrowserSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrowserSignIn")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
