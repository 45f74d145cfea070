//! Extractors for the input of requests.

use axum::{
    body::to_bytes,
    extract::{FromRequest, FromRequestParts, Path, Request},
};
use http::{HeaderMap, StatusCode, header, request::Parts};
use serde_json::{Map, Value};
use ziggurat_http::Refusal;
use ziggurat_layers::reject::Rejection;
use ziggurat_runtime::json;

use crate::{
    Id, Principal, Role,
    reply::{Refused, forbidden, invalid, unauthorized},
};

/// Media type of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Json,
    Form,
}

/// Id of the record, from the path of the request.
pub(super) struct Target(pub(super) Id);

/// The caller and its role, as set by the authentication.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Authenticated {
    pub(super) principal: Principal,
    pub(super) role: Role,
}

/// The caller, of any role.
pub(super) struct Caller(pub(super) Principal);

/// A caller that may change its tenant. Others are refused before their body is read.
pub(super) struct AdminCaller(pub(super) Principal);

/// A caller that is a person, not a client.
pub(super) struct UserCaller {
    pub(super) tenant: Id,
    pub(super) user: Id,
}

/// The members of a JSON object.
pub(super) struct JsonObject(Map<String, Value>);

// === impl Target ===

impl<S: Send + Sync> FromRequestParts<S> for Target {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let id = path.ok().and_then(|Path(text)| text.parse().ok());
        id.map(Self).ok_or_else(|| invalid("invalid id"))
    }
}

// === impl Authenticated ===

impl<S: Sync> FromRequestParts<S> for Authenticated {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        let authenticated = parts.extensions.get::<Self>();
        authenticated
            .copied()
            .ok_or_else(|| unauthorized("missing access token"))
    }
}

impl Authenticated {
    /// Returns the caller, if it may change its tenant.
    pub(super) fn admin(self) -> Result<Principal, Refused> {
        match self.role {
            Role::Admin => Ok(self.principal),
            Role::Reader => Err(forbidden(
                "a client with the role reader may only read; this needs the role admin",
            )),
        }
    }
}

// === impl Caller ===

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let authenticated = Authenticated::from_request_parts(parts, state).await?;
        Ok(Self(authenticated.principal))
    }
}

// === impl AdminCaller ===

impl<S: Sync> FromRequestParts<S> for AdminCaller {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let authenticated = Authenticated::from_request_parts(parts, state).await?;
        authenticated.admin().map(Self)
    }
}

// === impl UserCaller ===

impl<S: Send + Sync> FromRequestParts<S> for UserCaller {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        match Caller::from_request_parts(parts, state).await?.0 {
            Principal::User { tenant, user } => Ok(Self { tenant, user }),
            Principal::Client { .. } => Err(unauthorized("an api client is not a user")),
        }
    }
}

// === impl JsonObject ===

impl<S: Sync> FromRequest<S> for JsonObject {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        if kind(request.headers()) != Some(Kind::Json) {
            return Err(unsupported());
        }
        Self::parse(&read(request).await?)
    }
}

impl JsonObject {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Refused> {
        match json::value(body) {
            Ok(Value::Object(members)) => Ok(Self(members)),
            Err(json::Fault::Twice(name)) => {
                Err(invalid(format!("the body has the member {name:?} twice")))
            }
            Ok(_) | Err(json::Fault::NotJson) => Err(invalid("the body must be a JSON object")),
        }
    }

    /// Returns a text, if the member is present.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Refused> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(invalid(format!("{name} must be a string"))),
        }
    }

    /// Returns a text, and fails if the member is missing.
    pub(super) fn required(&mut self, name: &str) -> Result<String, Refused> {
        let text = self.text(name)?;
        text.ok_or_else(|| invalid(format!("{name} is required")))
    }

    /// Returns a whole number, if the member is present.
    pub(super) fn integer(&mut self, name: &str) -> Result<Option<i64>, Refused> {
        let Some(value) = self.0.remove(name) else {
            return Ok(None);
        };
        let number = value.as_i64();
        let message = format!("{name} must be a whole number");
        number.map(Some).ok_or_else(|| invalid(message))
    }
}

/// Reads the whole body. An outer layer limits its size.
pub(super) async fn read(request: Request) -> Result<bytes::Bytes, Refused> {
    let read = to_bytes(request.into_body(), usize::MAX).await;
    read.map_err(|error| Rejection::unreadable_body(&error).into())
}

/// Returns the media type of the body.
pub(super) fn kind(headers: &HeaderMap) -> Option<Kind> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let essence = value.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Some(Kind::Json);
    }
    let is_form = essence.eq_ignore_ascii_case("application/x-www-form-urlencoded");
    is_form.then_some(Kind::Form)
}

/// Builds a 415: the media type of the body is not supported.
pub(super) fn unsupported() -> Refused {
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    Refusal::new(
        status,
        "unsupported_media_type",
        "the body must be application/json",
    )
}
