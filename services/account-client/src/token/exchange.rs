//! Exchanges a client id and secret for a token.

use std::{io::Write, time::Duration};

use http::{HeaderMap, HeaderValue, Method, header};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use crate::{
    error::{Error, Kind},
    http::{
        address::Address,
        classify,
        mask::Mask,
        message::{Incoming, Outgoing, Purpose, Sent, TransportError},
        retry,
        transport::Transport,
    },
    token::Token,
};

/// The path of the token endpoint.
const PATH: &str = "/account/v1/oauth/token";

/// Timeout of an exchange if `--timeout 0` disables the limit.
const UNBOUNDED: Duration = Duration::from_secs(30);

/// Maximum lifetime that is accepted.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 366);

#[derive(Serialize)]
struct TokenRequest<'a> {
    client_id: &'a str,
    client_secret: &'a str,
}

#[derive(Deserialize)]
struct TokenResponse {
    #[serde(default)]
    access_token: String,
    expires_in: f64,
}

/// Exchanges a credential for a token, which is not cached.
///
/// # Errors
///
/// Fails if the token endpoint rejects the request or does not respond.
pub async fn exchange(
    transport: &mut Transport<'_>,
    notes: &mut (dyn Write + Send),
    address: &Address,
    client_id: &str,
    client_secret: &str,
) -> Result<Token, Error> {
    warn_of_plain_http(notes, address);
    transport.hide(client_secret);
    let options = transport.options();
    let (timeout, headers) = (options.timeout, options.headers.clone());
    let request = request(address, client_id, client_secret, timeout, headers);
    let sent = transport.send(&request, notes).await;
    let mask = transport.mask();
    let token = match sent {
        Ok(Sent::Answer(answer)) => token(&answer, address, Timestamp::now(), mask),
        Ok(Sent::Stopped(_)) => Err(Error::new(
            Kind::General,
            "the dry run stopped before the token exchange",
        )),
        Err(error) => Err(unanswered(&error, address, mask)),
    };
    let token = token.map_err(|error| error.with_request("POST", mask.url(&request.url)))?;
    transport.hide(token.bearer.expose());
    Ok(token)
}

pub(crate) fn warn_of_plain_http(notes: &mut dyn Write, address: &Address) {
    if address.is_unencrypted() {
        // A failure to write the warning cannot be reported.
        let _ = writeln!(
            notes,
            "Warning: {} is plain http: the credential can be read and stolen on the network",
            address.as_str()
        );
    }
}

fn request(
    address: &Address,
    client_id: &str,
    client_secret: &str,
    timeout: Option<Duration>,
    mut headers: HeaderMap,
) -> Outgoing {
    let request = TokenRequest {
        client_id,
        client_secret,
    };
    let body = serde_json::to_vec(&request).expect("two strings");
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    Outgoing {
        method: Method::POST,
        url: address.join(PATH),
        headers,
        body: Some(body.into()),
        purpose: Purpose::Exchange,
        timeout: Some(timeout.unwrap_or(UNBOUNDED)),
        retries: 0,
    }
}

/// Parses the token in a response.
fn token(
    answer: &Incoming,
    address: &Address,
    now: Timestamp,
    mask: &Mask,
) -> Result<Token, Error> {
    if let Some(refused) = classify::error(answer, mask) {
        return Err(refusal(answer, &refused, mask));
    }
    let excerpt = mask.excerpt(&answer.body);
    let response: TokenResponse = serde_json::from_slice(&answer.body).map_err(|error| {
        let line = answer.status_line();
        let cause = undecoded(&error);
        failed(
            Kind::Server,
            &format!(
                "decode token response from {} ({line}): {cause}: {excerpt}",
                address.as_str()
            ),
        )
    })?;
    if response.access_token.is_empty() {
        return Err(failed(
            Kind::Server,
            &format!("token endpoint returned no access_token: {excerpt}"),
        ));
    }
    if !response
        .access_token
        .bytes()
        .all(|byte| byte.is_ascii_graphic())
    {
        return Err(failed(
            Kind::Server,
            "token endpoint returned an access_token with characters that a header cannot have",
        ));
    }
    let lifetime = SignedDuration::try_from_secs_f64(response.expires_in)
        .unwrap_or(LONGEST)
        .clamp(SignedDuration::ZERO, LONGEST);
    Ok(Token {
        bearer: response.access_token.into(),
        expires_at: now.checked_add(lifetime).unwrap_or(Timestamp::MAX),
        issued_at: Some(now),
    })
}

/// Returns the error for an exchange without a response.
pub(crate) fn unanswered(error: &TransportError, address: &Address, mask: &Mask) -> Error {
    let cause = mask.text(&error.to_string());
    failed(
        error.kind(),
        &format!("token request to {}: {cause}", address.as_str()),
    )
}

/// Returns the error for a rejected exchange. Only this is the fault of the credential.
pub(crate) fn refusal(answer: &Incoming, refused: &Error, mask: &Mask) -> Error {
    let kind = match answer.status.as_u16() {
        400 | 401 => Kind::Auth,
        404 if classify::is_of_a_router(answer) => Kind::General,
        404 => Kind::Server,
        _ => refused.kind(),
    };
    let line = answer.status_line();
    let said = retry::with_wait(mask.excerpt(&answer.body), &answer.headers);
    let mut message = format!("token endpoint returned {line}: {said}");
    message.truncate(message.trim_end().len());
    if classify::is_of_a_router(answer) {
        message = format!("{message}\n{}", classify::WRONG_BASE);
    }
    failed(kind, &message).with_status(answer.status.as_u16())
}

/// Describes an invalid body without quoting it, because it may contain a token.
fn undecoded(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Category::Data => "a member is missing or has the wrong type",
        Category::Io | Category::Syntax | Category::Eof => "not JSON",
    };
    format!("{what}, line {} column {}", error.line(), error.column())
}

fn failed(kind: Kind, message: &str) -> Error {
    Error::new(kind, format!("authentication failed: {message}"))
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn read(status: u16, body: &str) -> Result<Token, Error> {
        let answer = Incoming {
            status: StatusCode::from_u16(status).expect("a status"),
            headers: HeaderMap::new(),
            body: body.to_owned().into(),
        };
        let address = Address::parse("http://h").expect("an address");
        let now = Timestamp::from_second(1000).expect("a time");
        token(&answer, &address, now, &Mask::default())
    }

    #[test]
    fn a_token_expires_from_when_it_was_received() {
        for (status, body, expires) in [
            (
                200,
                r#"{"access_token":"a","expires_in":60,"token_type":"Bearer"}"#,
                1060,
            ),
            (
                201,
                r#"{"access_token":"a","expires_in":1e30}"#,
                1000 + 86400 * 366,
            ),
            (200, r#"{"access_token":"a","expires_in":-5}"#, 1000),
        ] {
            let token = read(status, body).expect(body);
            assert_eq!(token.expires_at.as_second(), expires, "{body}");
            assert_eq!(token.issued_at.map(Timestamp::as_second), Some(1000));
        }
    }

    const REFUSALS: &[(u16, &str, &str, Kind)] = &[
        (
            401,
            r#"{"code":401}"#,
            r#"token endpoint returned 401 Unauthorized: {"code":401}"#,
            Kind::Auth,
        ),
        (
            400,
            "",
            "token endpoint returned 400 Bad Request:",
            Kind::Auth,
        ),
        (
            403,
            "no",
            "token endpoint returned 403 Forbidden: no",
            Kind::Forbidden,
        ),
        (
            408,
            "",
            "token endpoint returned 408 Request Timeout:",
            Kind::Timeout,
        ),
        (
            504,
            "",
            "token endpoint returned 504 Gateway Timeout:",
            Kind::Timeout,
        ),
        (
            429,
            "",
            "token endpoint returned 429 Too Many Requests:",
            Kind::RateLimited,
        ),
        (
            500,
            "",
            "token endpoint returned 500 Internal Server Error:",
            Kind::Server,
        ),
        (
            404,
            r#"{"code":1}"#,
            r#"token endpoint returned 404 Not Found: {"code":1}"#,
            Kind::Server,
        ),
        (
            404,
            "nginx",
            "token endpoint returned 404 Not Found: nginx",
            Kind::General,
        ),
        (
            200,
            r#"{"expires_in":1}"#,
            r#"token endpoint returned no access_token: {"expires_in":1}"#,
            Kind::Server,
        ),
    ];

    #[test]
    fn only_an_endpoint_that_refused_makes_it_the_fault_of_the_credential() {
        for &(status, body, message, kind) in REFUSALS {
            let error = read(status, body).expect_err(body);
            let shown = error.to_string();
            let first = shown.lines().next().unwrap_or_default();
            assert_eq!(first, format!("authentication failed: {message}"));
            assert_eq!(error.kind(), kind, "{status} {body}");
            assert_eq!(shown.contains("--api-url"), body == "nginx", "{shown}");
        }
    }

    #[test]
    fn the_error_of_an_invalid_answer_does_not_show_its_token() {
        for body in [
            r#"{"access_token":"hush","expires_in":"soon"}"#,
            r#"{"access_token":"hush""#,
            r#"{"access_token":["hush"],"expires_in":1}"#,
            r#"{"access_token":4804211,"expires_in":1}"#,
            r#"{"access_token":"hush\u0007","expires_in":1}"#,
        ] {
            let error = read(200, body).expect_err(body);
            assert_eq!(error.kind(), Kind::Server);
            let shown = error.to_string();
            assert!(
                !shown.contains("hush") && !shown.contains("4804211"),
                "{shown}"
            );
        }
    }
}
