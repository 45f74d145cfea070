//! `/oauth/token`: exchanges a secret for a token.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Extension, Query, Request, State},
    response::{AppendHeaders, IntoResponse, Response},
    routing::post,
};
use http::{HeaderName, StatusCode, Uri, header};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};
use ziggurat_layers::{
    rate_limit::{
        FailureWindow, Key, Limited, Outcome, Permit as _, Policy as _, Quota, RateLimitLayer,
    },
    reject::{AuthFailed, Rejection},
};
use ziggurat_runtime::Secret;
use ziggurat_tokens::WallClock;

use crate::{
    Store, Tokens,
    input::{self, JsonObject, Kind},
    reply::{ErrorBody, ErrorFormat, Refused, invalid, no_method, unauthorized},
};

/// Path of the exchange.
pub const EXCHANGE: &str = "/account/v1/oauth/token";

/// Headers that forbid caching of the response.
pub(super) const NO_STORE: AppendHeaders<[(HeaderName, &str); 1]> =
    AppendHeaders([(header::CACHE_CONTROL, "no-store")]);

/// Message of a refusal after too many failures.
const TOO_MANY_FAILED: &str = "too many failed attempts, try again later";

/// OpenAPI description of this endpoint.
#[derive(Debug, OpenApi)]
#[openapi(paths(exchange), components(schemas(TokenRequest, ErrorBody)))]
pub(super) struct Description;

/// Limits on failed exchanges.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Attempts {
    /// Failures from one address. Should be below the limit per id: otherwise one address could
    /// lock out a client.
    pub by_address: Quota,
    /// Failures for one credential id.
    pub by_id: Quota,
}

/// State of the endpoint.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    store: Store,
    tokens: Tokens,
    /// Counted here and not by a layer, because the id is in the body.
    by_id: FailureWindow<WallClock>,
}

/// A request for a token.
#[derive(Deserialize, ToSchema)]
struct TokenRequest {
    /// Credential id of the client.
    #[schema(value_type = String)]
    client_id: Option<String>,
    /// Secret of the client.
    #[schema(value_type = String)]
    client_secret: Option<Secret>,
    /// OAuth grant; only `client_credentials` is supported.
    #[schema(nullable = false, pattern = "^client_credentials$")]
    grant_type: Option<String>,
}

/// A response with a token.
#[derive(Serialize, ToSchema)]
struct TokenResponse {
    /// The access token.
    access_token: String,
    /// Lifetime of the token, in seconds.
    expires_in: i64,
    /// Type of the token.
    token_type: &'static str,
}

// === impl Attempts ===

/// Thirty failures in 15 minutes from one address, and sixty per minute for one id.
impl Default for Attempts {
    fn default() -> Self {
        let quota = |text: &str| text.parse().expect("a quota");
        Self {
            by_address: quota("30 per 15 minutes"),
            by_id: quota("60 per minute"),
        }
    }
}

// === impl Exchange ===

impl Exchange {
    async fn token(&self, id: &str, secret: &Secret) -> Result<TokenResponse, Refused> {
        let ends = self.tokens.end();
        let found = self.store.sign_in(id, secret.expose(), ends).await?;
        let credential = found.ok_or_else(|| unauthorized("invalid client credentials"))?;
        Ok(TokenResponse {
            access_token: self.tokens.for_client(credential, id, ends)?,
            expires_in: self.tokens.lifetime(),
            token_type: "Bearer",
        })
    }
}

/// Builds the route of the endpoint.
pub(super) fn routes(
    store: Store,
    tokens: Tokens,
    attempts: Attempts,
    clock: &WallClock,
) -> Router {
    let policy = |quota| FailureWindow::new(quota).with_clock(clock.clone());
    let by_address = RateLimitLayer::new(policy(attempts.by_address))
        .with_render(ErrorFormat)
        .with_message(TOO_MANY_FAILED);
    let exchange = Exchange {
        store,
        tokens,
        by_id: policy(attempts.by_id),
    };
    let endpoint = post(self::exchange)
        // Refuses an address before its body is read.
        .layer(by_address)
        .fallback(async || no_method());
    Router::new()
        .route(EXCHANGE, endpoint)
        .with_state(Arc::new(exchange))
}

/// Exchanges the secret of a client for a token
///
/// A form with the same fields is accepted, too. After too many failures, clients have to wait.
#[utoipa::path(post, path = "/oauth/token", tag = "auth", operation_id = "getToken",
    security(()),
    request_body = TokenRequest,
    responses(
        (status = 200, description = "An access token", body = TokenResponse),
        (status = 400, description = "A field is missing or invalid"),
        (status = 401, description = "The client id or the secret is wrong"),
        (status = 413, description = "The body exceeds the size limit"),
        (status = 415, description = "The content type is neither JSON nor a form"),
        (status = 429, description = "Too many failed attempts from this address or for this \
            client"),
    ),
)]
async fn exchange(
    State(exchange): State<Arc<Exchange>>,
    request: Request,
) -> Result<Response, Refused> {
    let (id, secret) = parsed(request).await?;
    let by_id = &exchange.by_id;
    let by_id = by_id.admit(Key::of(&id), by_id.limit()).map_err(limited)?;
    Ok(match exchange.token(&id, &secret).await {
        Ok(token) => (NO_STORE, Json(token)).into_response(),
        Err(refused) => {
            by_id.settle(Outcome::Failed);
            (Extension(AuthFailed), refused).into_response()
        }
    })
}

async fn parsed(request: Request) -> Result<(String, Secret), Refused> {
    let kind = input::kind(request.headers()).ok_or_else(input::unsupported)?;
    let body = input::read(request).await?;
    let request = match kind {
        Kind::Json => {
            let mut members = JsonObject::parse(&body)?;
            TokenRequest {
                client_id: members.text("client_id")?,
                client_secret: members.text("client_secret")?.as_deref().map(Secret::from),
                grant_type: members.text("grant_type")?,
            }
        }
        Kind::Form => form(&body)?,
    };
    let usual = "client_credentials";
    if request.grant_type.is_some_and(|grant| grant != usual) {
        return Err(invalid("grant_type must be client_credentials"));
    }
    let id = request.client_id.filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| invalid("client_id is required"))?;
    let secret = request.client_secret;
    let secret = secret.filter(|secret| !secret.is_empty());
    let secret = secret.ok_or_else(|| invalid("client_secret is required"))?;
    Ok((id, secret))
}

/// Parses a form like the query of a URL.
fn form(body: &[u8]) -> Result<TokenRequest, Refused> {
    let text = str::from_utf8(body).ok();
    let uri = text.and_then(|text| format!("/?{}", text.trim()).parse::<Uri>().ok());
    let form = uri.and_then(|uri| Query::try_from_uri(&uri).ok());
    let Query(form) = form.ok_or_else(|| invalid("the body must be a form"))?;
    Ok(form)
}

fn limited(limited: Limited) -> Refused {
    // Rounded up: a client that returns too early would have to wait again.
    let seconds = limited.retry_after().as_millis().div_ceil(1000).max(1);
    let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
    Rejection::new(
        StatusCode::TOO_MANY_REQUESTS,
        "rate_limited",
        TOO_MANY_FAILED,
    )
    .with_header(header::RETRY_AFTER, seconds.into())
    .into()
}
