//! Answers to those who cannot sign in.

use std::time::Duration;

use http::{HeaderValue, StatusCode, header};
use ziggurat_accounts::LoginError;
use ziggurat_http::ErrorAndCode;
use ziggurat_layers::{reject::Rejection, sanitize::ErrorDetail};

pub(crate) type Refusal = ziggurat_http::Refusal<ErrorAndCode>;

/// Time until it is worth asking again, in a failure of the server.
const LATER: Duration = Duration::from_secs(5);

pub(crate) fn bad_request() -> Refusal {
    let message = "Send a username and a password, a token, or a code";
    Refusal::new(StatusCode::BAD_REQUEST, "bad_request", message)
}

pub(crate) fn denied() -> Refusal {
    let message = "The token is not valid, or has ended";
    Refusal::new(StatusCode::UNAUTHORIZED, "denied", message)
}

pub(crate) fn bad_code() -> Refusal {
    let message = "The sign-in has expired, start it again";
    Refusal::new(StatusCode::UNAUTHORIZED, "bad_credentials", message)
}

pub(crate) fn https_required() -> Refusal {
    let message = "Signing in needs HTTPS: configure http.tls, or an https address as \
                   http.public_url";
    Refusal::new(StatusCode::FORBIDDEN, "https_required", message)
}

pub(crate) fn foreign_origin() -> Refusal {
    let message = "Only the console of this server can sign in. If this is its page, set \
                   http.public_url to its address";
    Refusal::new(StatusCode::FORBIDDEN, "foreign_origin", message)
}

pub(crate) fn unavailable() -> Refusal {
    let message = "Tokens cannot be checked now, try again later";
    later(
        StatusCode::SERVICE_UNAVAILABLE,
        "unavailable",
        message.to_owned(),
        LATER,
    )
}

/// Returns the answer to a failed login, in the words of the login tool.
pub(crate) fn login(error: LoginError) -> Refusal {
    let message = error.to_string();
    let refused = |code| Refusal::new(StatusCode::UNAUTHORIZED, code, message.clone());
    let busy = StatusCode::SERVICE_UNAVAILABLE;
    match error {
        LoginError::Disabled => refused("account_disabled"),
        LoginError::UseBrowser => {
            Refusal::new(StatusCode::FORBIDDEN, "use_browser_sign_in", message)
        }
        LoginError::RateLimited { retry_after } => {
            let limited = StatusCode::TOO_MANY_REQUESTS;
            later(limited, "too_many_attempts", message, retry_after)
        }
        LoginError::Busy { retry_after } => later(busy, "busy", message, retry_after),
        LoginError::Unavailable {
            retry_after,
            source,
        } => {
            let refusal = later(busy, "unavailable", message, retry_after);
            refusal.with_detail(ErrorDetail::new(source))
        }
        LoginError::Internal(fault) => Refusal::fault(message, ErrorDetail::new(fault)),
        _ => refused("bad_credentials"),
    }
}

fn later(status: StatusCode, code: &'static str, message: String, after: Duration) -> Refusal {
    // Rounded up, so that a client that retries after these seconds is admitted.
    let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
    let rejection = Rejection::new(status, code, message);
    rejection
        .with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
        .into()
}
