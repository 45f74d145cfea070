//! The way into the console: people sign in with the pages, and get a session of the console.

use std::{fmt, sync::Arc, time::Duration};

use http::Extensions;
use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use tokio::task::spawn_blocking;
use ziggurat_accounts::{Accounts, BrowserLogin, LoginError, PersonId, Session};
use ziggurat_console::session::{BrowserCode, BrowserSignIn};
use ziggurat_mcp_auth::{ConsoleCode, ConsoleLogin, Seconds};
use ziggurat_sign_in_state::EndedGrants;
use ziggurat_state::StoreError;
use ziggurat_tokens::Watched as _;

use crate::sign_in::OwnSignIn;

/// Path of the page that browsers come back to.
pub(super) const PAGE: &str = "/console/sign-in";

/// Longest session of the console.
pub(super) const LONGEST_SESSION: Duration = Duration::from_hours(24);

/// Opens sessions of the console for people who signed in with the pages.
#[derive(Clone)]
pub(crate) struct ConsoleEntrance {
    service: OwnSignIn,
    accounts: Accounts,
}

// === impl ConsoleEntrance ===

impl ConsoleEntrance {
    pub(super) fn new(service: OwnSignIn, accounts: Accounts) -> Self {
        Self { service, accounts }
    }

    /// Makes the entrance of the console, which browsers come back to at this address.
    pub(crate) fn at(&self, issuer: &str) -> BrowserSignIn {
        let entrance = self.clone();
        BrowserSignIn::new(issuer, move |code, request| {
            let entrance = entrance.clone();
            Box::pin(async move { entrance.enter(&code, &request).await })
        })
    }

    async fn enter(
        &self,
        code: &BrowserCode,
        request: &Extensions,
    ) -> Result<Option<Session>, LoginError> {
        let code = ConsoleCode {
            code: code.code.expose_secret(),
            verifier: code.verifier.expose_secret(),
            redirect_uri: &code.redirect_uri,
        };
        let entered = self.service.enter_console(code, request).await;
        let entered = entered.map_err(|_| StoreError::TimedOut)?;
        let Some(login) = entered.as_ref().and_then(login) else {
            return Ok(None);
        };
        self.accounts.open_session(login).await.map(Some)
    }
}

impl fmt::Debug for ConsoleEntrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsoleEntrance").finish_non_exhaustive()
    }
}

/// Ends the sessions of grants that have ended. Never ends; drop the future to stop.
pub(super) async fn end_sessions(ended: Arc<EndedGrants>, accounts: Accounts) {
    let mut changes = ended.changes();
    while changes.changed().await.is_ok() {
        let accounts = accounts.clone();
        // A sweep that was aborted is made up for by the next one.
        let _ = spawn_blocking(move || accounts.sweep()).await;
    }
}

fn login(entered: &ConsoleLogin) -> Option<BrowserLogin> {
    Some(BrowserLogin {
        person: PersonId::read(&entered.person)?,
        signed_in_at: moment(entered.signed_in_at)?,
        grant: entered.grant,
        ends_at: moment(entered.ends_at)?,
    })
}

fn moment(seconds: Seconds) -> Option<Timestamp> {
    Timestamp::from_second(seconds.try_into().ok()?).ok()
}
