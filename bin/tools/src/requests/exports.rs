//! Downloads of exports by browsers, which send a cookie and no token.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE};
use ziggurat_accounts::{Accounts, CookieHalf};
use ziggurat_http::Refusal;
use ziggurat_layers::{bearer::Challenge, reject::Rejection};
use ziggurat_query_api::{QueryApi, exports::gone};
use ziggurat_tokens::Identity;

use crate::requests::{Door, is_export};

/// Finds the callers of downloads.
#[derive(Clone)]
pub(crate) struct ExportCallers {
    query: QueryApi,
    /// Sessions; `None` without authentication.
    accounts: Option<Accounts>,
    challenge: HeaderValue,
    door: Door,
}

// === impl ExportCallers ===

impl ExportCallers {
    pub(crate) fn new(
        query: QueryApi,
        accounts: Option<Accounts>,
        challenge: &Challenge,
        door: Door,
    ) -> Self {
        Self {
            query,
            accounts,
            challenge: challenge.to_header(),
            door,
        }
    }

    /// Returns the caller that made the export of a request with the cookie of the same session.
    fn maker(&self, request: &Request) -> Option<Identity> {
        let browser: CookieHalf = *request.extensions().get()?;
        let path = request.uri().path();
        let (_, id) = path.rsplit_once('/')?;
        self.query.maker_of_export(id, browser)
    }
}

/// Gives a download without a token the identity for which its export was made, and the limits of
/// that caller. Any other request for an export needs a token.
pub(crate) async fn identify_export(
    State(callers): State<ExportCallers>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(accounts) = &callers.accounts else {
        return next.run(request).await;
    };
    let has_token = request.extensions().get::<Identity>().is_some();
    if has_token || !is_export(request.uri().path()) {
        return next.run(request).await;
    }
    let identity = match callers.maker(&request) {
        Some(maker) => accounts.verify_digest(maker.token()).await.ok(),
        None => None,
    };
    let Some(identity) = identity else {
        if request.extensions().get::<CookieHalf>().is_some() {
            return gone().into_response();
        }
        let message = "Missing Authorization header";
        let rejection = Rejection::new(StatusCode::UNAUTHORIZED, "missing_token", message)
            .with_header(WWW_AUTHENTICATE, callers.challenge);
        return Refusal::<ziggurat_layers::reject::ErrorString>::from(rejection).into_response();
    };
    request.extensions_mut().insert(identity);
    match callers.door.admit(&mut request) {
        Ok(announce) => announce(next.run(request).await),
        Err(refused) => *refused,
    }
}
