//! The console: whether there is one, and its addresses.

use std::net::SocketAddr;

use axum::response::{Redirect, Response};
use tracing::warn;
use ziggurat_audit::Destination;
use ziggurat_calls::{Caller, toolsets::Area};
use ziggurat_console::{
    HOME, SignIn, Sites, redirect,
    session::{Facts, Features, RowLimits},
};
use ziggurat_layers::origin::{InvalidOrigin, Origins};
use ziggurat_query_api::MAX_PROGRAM_ROWS;
use ziggurat_tokens::Identity;

use crate::{
    app::App,
    catalogue::current::CurrentCatalogue,
    configuration::{Configuration, Http},
    interface::{NAME, VERSION},
    sign_in::ServedSignIn,
};

/// The console of a running server.
#[derive(Clone, Debug)]
pub(crate) struct Console {
    sites: Sites,
}

// === impl Console ===

impl Console {
    /// Returns the console, unless it is off. Without authentication only this machine gets it.
    pub(crate) fn new(http: &Http, address: SocketAddr, has_auth: bool) -> Option<Self> {
        let is_loopback = address.ip().to_canonical().is_loopback();
        if !http.console || !(has_auth || is_loopback) {
            return None;
        }
        if http.public_url.is_none() && !is_loopback {
            warn!("http.public_url is not set; without it browsers cannot sign in to the console");
        }
        let has_tls = http.tls.is_some();
        let sites = Sites::new(address, has_tls, http.public_url.as_ref());
        Some(Self { sites })
    }

    /// Adds its own origins, because a browser sends the origin of a page also to the server that the
    /// page is from.
    pub(crate) fn add_origins(&self, origins: Origins) -> Result<Origins, InvalidOrigin> {
        let mut own = self.sites.origins();
        own.try_fold(origins, Origins::and)
    }

    /// Makes the endpoints of signing in.
    pub(crate) fn sign_in(
        &self,
        configuration: &Configuration,
        app: &App,
        own: Option<&ServedSignIn>,
    ) -> SignIn {
        let accounts = app.accounts.clone().zip(app.guard.clone());
        let browser = own.map(|own| own.console.at(&own.issuer));
        let offered = Offered::new(configuration, app);
        SignIn::new(
            (NAME, VERSION),
            self.sites.clone(),
            accounts,
            browser,
            move |caller| offered.to(caller),
        )
    }

    /// Sends a browser that opens the address of the server to the console, and gives requests of
    /// its pages the token of their session.
    pub(crate) fn admit<B>(
        &self,
        request: &mut http::Request<B>,
    ) -> Result<impl FnOnce(Response) -> Response + use<B>, Box<Response>> {
        if let Some(response) = redirect(request) {
            return Err(Box::new(response));
        }
        self.sites.join(request);
        Ok(|response| response)
    }
}

/// Parts and limits of the server for callers.
struct Offered {
    catalogue: CurrentCatalogue,
    features: Features,
    limits: RowLimits,
}

// === impl Offered ===

impl Offered {
    fn new(configuration: &Configuration, app: &App) -> Self {
        let audit = configuration.audit.as_ref();
        let has_file =
            |audit: &ziggurat_audit::Settings| matches!(audit.destination, Destination::File(_));
        let database = configuration.databases.first();
        let row_limit = database.map_or(0, |entry| entry.database.row_limit());
        Self {
            catalogue: app.catalogue.clone(),
            features: Features {
                llm: app.proxy.is_some(),
                embedding: configuration.embedding.is_enabled,
                knowledgebase: configuration.knowledgebase.is_enabled,
                conversations: app.conversations.is_some(),
                library: app.conversations.is_some(),
                audit: audit.is_some_and(has_file),
                receipts: configuration.receipts.key_file.is_some(),
            },
            limits: RowLimits {
                row_limit,
                max_rows: configuration.limits.max_rows,
                max_export_rows: configuration.limits.max_export_rows,
            },
        }
    }

    /// Returns what a caller may use.
    fn to(&self, caller: Option<&Identity>) -> Facts {
        let catalogue = self.catalogue.get();
        let areas = catalogue.access.areas(&Caller::new(caller).id());
        let rights = catalogue.access.query_rights(&Caller::new(caller).id());
        let Self {
            features, limits, ..
        } = *self;
        let is_user = caller.is_some_and(|caller| caller.user().is_some());
        let is_admin = caller.is_some_and(Identity::is_admin);
        let limits = if rights.is_unlimited {
            limits
        } else {
            RowLimits {
                max_rows: limits.max_rows.min(MAX_PROGRAM_ROWS),
                max_export_rows: 0,
                ..limits
            }
        };
        Facts {
            features: Features {
                llm: features.llm && areas.contains(&Area::Llm),
                conversations: features.conversations
                    && is_user
                    && areas.contains(&Area::Conversations),
                library: features.library && is_user && areas.contains(&Area::Library),
                audit: features.audit && is_admin,
                ..features
            },
            limits,
        }
    }
}

/// Answers the path of the console without its last slash.
pub(crate) async fn home() -> Redirect {
    Redirect::permanent(HOME)
}
