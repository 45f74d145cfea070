//! Exchanges a client id and secret for a token.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, header};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::Token;
use crate::{
    failure::{Code, Failure},
    http::{
        address::Address,
        classify,
        mask::Mask,
        message::{Incoming, Outgoing, Purpose, TransportError},
        retry,
    },
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

/// Builds the request for a token.
pub(crate) fn request(
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
pub(crate) fn token(
    answer: &Incoming,
    address: &Address,
    now: Timestamp,
    mask: &Mask,
) -> Result<Token, Failure> {
    if let Some(refused) = classify::failure(answer, mask) {
        return Err(refusal(answer, &refused, mask));
    }
    let excerpt = mask.excerpt(&answer.body);
    let response: TokenResponse = serde_json::from_slice(&answer.body).map_err(|error| {
        let line = answer.status_line();
        let cause = undecoded(&error);
        failed(
            Code::Server,
            &format!(
                "decode token response from {} ({line}): {cause}: {excerpt}",
                address.as_str()
            ),
        )
    })?;
    if response.access_token.is_empty() {
        return Err(failed(
            Code::Server,
            &format!("token endpoint returned no access_token: {excerpt}"),
        ));
    }
    if !response
        .access_token
        .bytes()
        .all(|byte| byte.is_ascii_graphic())
    {
        return Err(failed(
            Code::Server,
            "token endpoint returned an access_token that no header can carry",
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

/// Returns the failure for an exchange without a response.
pub(crate) fn unanswered(error: &TransportError, address: &Address, mask: &Mask) -> Failure {
    let code = match error {
        TransportError::Deadline(_) => Code::Timeout,
        TransportError::Connection { .. } => Code::Unreachable,
        TransportError::Answer(_) => Code::Server,
    };
    let cause = mask.text(&error.to_string());
    failed(
        code,
        &format!("token request to {}: {cause}", address.as_str()),
    )
}

/// Returns the failure for a rejected exchange. Only this is the fault of the credential: exit 5.
fn refusal(answer: &Incoming, refused: &Failure, mask: &Mask) -> Failure {
    let code = match answer.status.as_u16() {
        400 | 401 => Code::Auth,
        404 if classify::is_of_a_router(answer) => Code::General,
        404 => Code::Server,
        _ => refused.code(),
    };
    let line = answer.status_line();
    let said = retry::with_wait(mask.excerpt(&answer.body), &answer.headers);
    let mut message = format!("token endpoint returned {line}: {said}");
    message.truncate(message.trim_end().len());
    if classify::is_of_a_router(answer) {
        message = format!("{message}\n{}", classify::WRONG_BASE);
    }
    failed(code, &message).with_status(answer.status.as_u16())
}

/// Describes an invalid body without quoting it, because it may contain a token.
fn undecoded(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Category::Data => "a member is missing or of another kind",
        Category::Io | Category::Syntax | Category::Eof => "not JSON",
    };
    format!("{what}, line {} column {}", error.line(), error.column())
}

fn failed(code: Code, message: &str) -> Failure {
    Failure::new(code, format!("authentication failed: {message}"))
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn read(status: u16, body: &str) -> Result<Token, Failure> {
        let answer = Incoming {
            status: StatusCode::from_u16(status).expect("a status"),
            headers: HeaderMap::new(),
            body: body.to_owned().into(),
        };
        let address = Address::parse("http://h", "--api-url").expect("an address");
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

    #[test]
    fn only_an_endpoint_that_refused_makes_it_the_fault_of_the_credential() {
        for (status, body, message, exit) in [
            (
                401,
                r#"{"code":401}"#,
                r#"token endpoint returned 401 Unauthorized: {"code":401}"#,
                5,
            ),
            (400, "", "token endpoint returned 400 Bad Request:", 5),
            (403, "no", "token endpoint returned 403 Forbidden: no", 5),
            (408, "", "token endpoint returned 408 Request Timeout:", 3),
            (504, "", "token endpoint returned 504 Gateway Timeout:", 3),
            (429, "", "token endpoint returned 429 Too Many Requests:", 1),
            (
                500,
                "",
                "token endpoint returned 500 Internal Server Error:",
                1,
            ),
            (
                404,
                r#"{"code":1}"#,
                r#"token endpoint returned 404 Not Found: {"code":1}"#,
                1,
            ),
            (
                404,
                "nginx",
                "token endpoint returned 404 Not Found: nginx",
                1,
            ),
            (
                200,
                r#"{"expires_in":1}"#,
                r#"token endpoint returned no access_token: {"expires_in":1}"#,
                1,
            ),
        ] {
            let failure = read(status, body).expect_err(body);
            let shown = failure.to_string();
            let first = shown.lines().next().unwrap_or_default();
            assert_eq!(first, format!("authentication failed: {message}"));
            assert_eq!(failure.exit(), exit, "{status} {body}");
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
            let failure = read(200, body).expect_err(body);
            assert_eq!(failure.exit(), 1);
            let shown = failure.to_string();
            assert!(
                !shown.contains("hush") && !shown.contains("4804211"),
                "{shown}"
            );
        }
    }
}
