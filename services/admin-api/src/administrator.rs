//! Refuses callers who are no administrators.

use axum::extract::FromRequestParts;
use http::{StatusCode, request::Parts};
use jiff::{SignedDuration, Timestamp};
use ziggurat_tokens::Identity;

use crate::Refusal;

/// Time for which a sign-in is enough to change something.
const RECENT: SignedDuration = SignedDuration::from_mins(15);

/// An administrator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Administrator;

/// An administrator who signed in a short time ago.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecentAdministrator;

impl<S: Sync> FromRequestParts<S> for Administrator {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        admit(parts).map(|_| Self)
    }
}

impl<S: Sync> FromRequestParts<S> for RecentAdministrator {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let began = admit(parts)?.signed_in_at();
        if began.is_some_and(|began| is_recent(began, Timestamp::now())) {
            return Ok(Self);
        }
        let (status, message) = (StatusCode::FORBIDDEN, "Sign in again to do this");
        Err(Refusal::new(status, "sign_in_again", message))
    }
}

fn admit(parts: &Parts) -> Result<&Identity, Refusal> {
    let identity: Option<&Identity> = parts.extensions.get();
    identity
        .filter(|identity| identity.is_admin())
        .ok_or_else(|| Refusal::new(StatusCode::FORBIDDEN, "not_admin", "Administrators only"))
}

fn is_recent(began: Timestamp, now: Timestamp) -> bool {
    now.duration_since(began) < RECENT
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::{Router, body::Body, routing::get};
    use http::Request;
    use tower::ServiceExt as _;
    use ziggurat_layers::bearer::TokenHash;
    use ziggurat_tokens::Holder;

    use super::*;

    fn user() -> Identity {
        let holder = Holder::User {
            name: "ada".into(),
            databases: [].into(),
        };
        Identity::new(TokenHash::of("a session"), holder)
    }

    async fn status(path: &str, identity: Option<Identity>) -> u16 {
        let routes: Router = Router::new()
            .route("/read", get(async |_: Administrator| ""))
            .route("/change", get(async |_: RecentAdministrator| ""));
        let mut request = Request::get(path).body(Body::empty()).expect("valid parts");
        if let Some(identity) = identity {
            request.extensions_mut().insert(identity);
        }
        let response = routes.oneshot(request).await.expect("infallible");
        response.status().as_u16()
    }

    #[tokio::test]
    async fn changes_need_an_administrator_who_signed_in_a_short_time_ago() {
        let (now, hour) = (Timestamp::now(), Duration::from_hours(1));
        let program = Holder::Program {
            id: "token-1".into(),
            database: None,
        };
        for (identity, read, change) in [
            (None, 403, 403),
            (Some(Identity::new(TokenHash::of("x"), program)), 403, 403),
            (Some(user().with_sign_in(now)), 403, 403),
            (Some(user().with_admin(true)), 200, 403),
            (
                Some(user().with_admin(true).with_sign_in(now - hour)),
                200,
                403,
            ),
            (Some(user().with_admin(true).with_sign_in(now)), 200, 200),
        ] {
            assert_eq!(
                status("/read", identity.clone()).await,
                read,
                "{identity:?}"
            );
            assert_eq!(
                status("/change", identity.clone()).await,
                change,
                "{identity:?}"
            );
        }
    }

    #[test]
    fn a_sign_in_is_recent_for_a_quarter_of_an_hour() {
        let began: Timestamp = "2026-11-21T10:00:00Z".parse().expect("a date");
        let quarter = Duration::from_mins(15);
        let second = Duration::from_secs(1);
        assert!(is_recent(began, began + quarter - second));
        assert!(!is_recent(began, began + quarter));
    }
}
