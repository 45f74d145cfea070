//! The console: whether there is one, and its addresses.

use std::net::SocketAddr;

use axum::response::{Redirect, Response};
use tracing::warn;
use ziggurat_console::{HOME, Sites, redirect};
use ziggurat_layers::origin::{InvalidOrigin, Origins};

use crate::configuration::Http;

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
        own.try_fold(origins, |origins, origin| origins.and(origin))
    }

    /// Sends a browser that opens the address of the server to the console.
    pub(crate) fn admit<B>(
        &self,
        request: &mut http::Request<B>,
    ) -> Result<impl FnOnce(Response) -> Response + use<B>, Box<Response>> {
        match redirect(request) {
            Some(response) => Err(Box::new(response)),
            None => Ok(|response| response),
        }
    }
}

/// Answers the path of the console without its last slash.
pub(crate) async fn home() -> Redirect {
    Redirect::permanent(HOME)
}
