//! The caller of a request, and what the program has added to it.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use ziggurat_accounts::CookieHalf;
use ziggurat_calls::Call;
use ziggurat_databases::{Current, Databases};
use ziggurat_tokens::Identity;

use crate::{QueryApi, QueryRights, stop::Stop};

/// Name of the session of all callers without authentication.
const ANONYMOUS: &str = "default";

/// The session that something belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The session of a browser, known by its cookie.
    Browser(CookieHalf),
    /// The session of a token.
    Session(String),
}

/// The caller of a request, and what it may do.
#[derive(Clone, Debug)]
pub(crate) struct QueryCaller {
    pub(crate) identity: Option<Identity>,
    browser: Option<CookieHalf>,
    databases: Databases,
    pub(crate) rights: QueryRights,
    pub(crate) call: Call,
}

// === impl QueryCaller ===

impl QueryCaller {
    /// Returns the name of its session.
    pub(crate) fn session(&self) -> &str {
        let identity = self.identity.as_ref();
        identity.map_or(ANONYMOUS, Identity::session_key)
    }

    /// Returns the owner of what it makes.
    pub(crate) fn owner(&self) -> Owner {
        match self.browser {
            Some(browser) => Owner::Browser(browser),
            None => Owner::Session(self.session().to_owned()),
        }
    }

    /// Returns the database with a name, or the selected one, once the server has connected to it.
    pub(crate) async fn database(&self, name: Option<&str>) -> Result<Current, Stop> {
        let identity = self.identity.as_ref();
        let current = match name.filter(|name| !name.is_empty()) {
            None => self.databases.current(identity)?,
            Some(name) => {
                let named = self.databases.named(identity, name);
                named.ok_or_else(Stop::no_database)?
            }
        };
        current.ready().await?;
        Ok(current.with_call(self.call.context()))
    }

    /// Drops the cached tables of a database, since their definitions may have changed.
    pub(crate) fn changed(&self, current: &Current) {
        self.databases.changed(current);
    }
}

impl FromRequestParts<QueryApi> for QueryCaller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, api: &QueryApi) -> Result<Self, Infallible> {
        let extensions = &parts.extensions;
        let own: Option<&Databases> = extensions.get();
        Ok(Self {
            identity: extensions.get().cloned(),
            browser: extensions.get().copied(),
            databases: own.unwrap_or(&api.databases).clone(),
            rights: extensions.get().copied().unwrap_or_default(),
            call: extensions.get().cloned().unwrap_or_default(),
        })
    }
}
