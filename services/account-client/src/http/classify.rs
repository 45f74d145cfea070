//! Classifies error responses. The status decides; the body only adds details.

use serde_json::Value;

use crate::{
    error::{Error, Kind},
    http::{mask::Mask, message::Incoming, retry},
};

/// Reasons of the API that are useful for users.
const REASONS: [&str; 3] = [
    "membership_revoked",
    "plan_expired",
    "developer_plan_backup",
];

/// Returns the error for a response; `None` for a success.
pub(crate) fn error(answer: &Incoming, mask: &Mask) -> Option<Error> {
    if answer.status.is_success() {
        return None;
    }
    let said = ServerMessage::of(answer, mask);
    let (kind, message) = said.classified(answer);
    let error = Error::new(kind, message).with_status(answer.status.as_u16());
    Some(error.with_reason(said.reason).with_server(said.server))
}

/// Returns whether a router or a proxy answered instead of the API: a 404 without `code`.
pub(crate) fn is_of_a_router(answer: &Incoming) -> bool {
    let names_code = serde_json::from_slice::<Value>(&answer.body).is_ok_and(|body| {
        body.as_object()
            .is_some_and(|body| body.contains_key("code"))
    });
    answer.status.as_u16() == 404 && !names_code
}

/// Advice for a response of a router.
pub(crate) const WRONG_BASE: &str = "this server does not serve an endpoint this command needs: a \
     router or a proxy answered, not the account API. Check --api-url, or the api_url of the \
     profile; it ends before /account/v1";

/// The body of a response, ready to be shown.
struct ServerMessage {
    excerpt: String,
    reason: Option<String>,
    server: Option<Value>,
}

// === impl ServerMessage ===

impl ServerMessage {
    fn of(answer: &Incoming, mask: &Mask) -> Self {
        let server = (!answer.body.is_empty()).then(|| {
            let shown = mask.body(&answer.body);
            serde_json::from_str::<Value>(&shown)
                .unwrap_or_else(|_| Value::from(mask.dump(&answer.body)))
        });
        let member = |name| server.as_ref()?.get(name)?.as_str();
        let reason = member("reason")
            .filter(|reason| REASONS.contains(reason))
            .map(str::to_owned);
        let excerpt = match member("message").filter(|message| !message.trim().is_empty()) {
            Some(message) => {
                let message = mask.excerpt(message.as_bytes());
                match &reason {
                    Some(reason) => format!("{message} ({reason})"),
                    None => message,
                }
            }
            None => mask.excerpt(&answer.body),
        };
        Self {
            excerpt,
            reason,
            server,
        }
    }

    fn classified(&self, answer: &Incoming) -> (Kind, String) {
        let status = answer.status.as_u16();
        let excerpt = &self.excerpt;
        let plainly = |label: &str| {
            format!("{label} ({status}): {excerpt}")
                .trim_end()
                .to_owned()
        };
        let advised = |advice: &str| format!("{advice}\n(server said ({status}): {excerpt})");
        match status {
            401 => (Kind::Auth, plainly("authentication error")),
            403 => (Kind::Forbidden, plainly("authentication error")),
            400 if contains(&answer.body, "plan does not allow") => {
                let advice = "this tenant's plan does not allow this resource: the credential is \
                     valid, so signing in again changes nothing. 'ziggurat platform doctor' shows \
                     the plan";
                (Kind::Forbidden, advised(advice))
            }
            400 if contains(&answer.body, "requires status")
                || contains(&answer.body, "database is not in available status") =>
            {
                let advice = "the resource is busy with another operation: wait until that is \
                     done, then run the command again";
                (Kind::Conflict, advised(advice))
            }
            404 if !is_of_a_router(answer) => (Kind::NotFound, plainly("resource not found")),
            404 => (Kind::General, advised(WRONG_BASE)),
            408 | 504 => (Kind::Timeout, plainly("request timed out")),
            409 => (Kind::Conflict, plainly("conflict")),
            429 => {
                let said = retry::with_wait(excerpt.clone(), &answer.headers);
                let message = format!("rate limited (429): {said}");
                (Kind::RateLimited, message.trim_end().to_owned())
            }
            500..=599 => (Kind::Server, plainly("API error")),
            _ => (Kind::General, plainly("API error")),
        }
    }
}

fn contains(body: &[u8], phrase: &str) -> bool {
    body.windows(phrase.len())
        .any(|window| window == phrase.as_bytes())
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, StatusCode, header};

    use super::*;

    fn answer(status: u16, body: &str) -> Incoming {
        Incoming {
            status: StatusCode::from_u16(status).expect("a status"),
            headers: HeaderMap::new(),
            body: body.to_owned().into(),
        }
    }

    fn classified(status: u16, body: &str) -> Error {
        error(&answer(status, body), &Mask::default()).expect("an error")
    }

    const STATUSES: &[(u16, &str, &str, Kind)] = &[
        (
            401,
            r#"{"code":401,"message":"no"}"#,
            "authentication error (401): no",
            Kind::Auth,
        ),
        (
            403,
            "<html>",
            "authentication error (403): <html>",
            Kind::Forbidden,
        ),
        (401, "", "authentication error (401):", Kind::Auth),
        (
            400,
            r#"{"code":400,"message":"bad"}"#,
            "API error (400): bad",
            Kind::General,
        ),
        (
            400,
            r#"{"message":"database limit for plan reached"}"#,
            "API error (400): database limit for plan reached",
            Kind::General,
        ),
        (
            404,
            r#"{"code":404,"message":"client not found"}"#,
            "resource not found (404): client not found",
            Kind::NotFound,
        ),
        (
            404,
            r#"{"code":"x"}"#,
            r#"resource not found (404): {"code":"x"}"#,
            Kind::NotFound,
        ),
        (408, "", "request timed out (408):", Kind::Timeout),
        (504, "late", "request timed out (504): late", Kind::Timeout),
        (
            409,
            r#"{"message":"taken"}"#,
            "conflict (409): taken",
            Kind::Conflict,
        ),
        (429, "slow", "rate limited (429): slow", Kind::RateLimited),
        (
            500,
            "<h1>oops</h1>",
            "API error (500): <h1>oops</h1>",
            Kind::Server,
        ),
        (302, "", "API error (302):", Kind::General),
        (418, "tea", "API error (418): tea", Kind::General),
        (
            403,
            r#"{"message":"gone","reason":"membership_revoked"}"#,
            "authentication error (403): gone (membership_revoked)",
            Kind::Forbidden,
        ),
        (
            403,
            r#"{"message":"gone","reason":"whatever"}"#,
            "authentication error (403): gone",
            Kind::Forbidden,
        ),
        (
            500,
            r#"{"message":7}"#,
            r#"API error (500): {"message":7}"#,
            Kind::Server,
        ),
    ];

    #[test]
    fn every_status_has_its_message_and_its_kind() {
        for &(status, body, message, kind) in STATUSES {
            let error = classified(status, body);
            assert_eq!(error.to_string(), message, "{status} {body}");
            assert_eq!(error.kind(), kind, "{status} {body}");
            assert_eq!(error.into_parts().2.status, Some(status));
        }
        for status in 200..300 {
            assert!(error(&answer(status, "x"), &Mask::default()).is_none());
        }
    }

    #[test]
    fn three_answers_have_advice_and_the_message_of_the_server() {
        for (status, body, first, last, kind) in [
            (
                400,
                r#"{"message":"plan does not allow creating x"}"#,
                "this tenant's plan does not allow this resource:",
                "(server said (400): plan does not allow creating x)",
                Kind::Forbidden,
            ),
            (
                400,
                "requires status available",
                "the resource is busy with another operation",
                "(server said (400): requires status available)",
                Kind::Conflict,
            ),
            (
                400,
                r#"{"message":"database is not in available status"}"#,
                "the resource is busy with another operation",
                "(server said (400): database is not in available status)",
                Kind::Conflict,
            ),
            (
                404,
                r#"{"message":"Not Found"}"#,
                "this server does not serve an endpoint this command needs:",
                "(server said (404): Not Found)",
                Kind::General,
            ),
            (
                404,
                "",
                "this server does not serve an endpoint this command needs:",
                "(server said (404): )",
                Kind::General,
            ),
            (
                404,
                "[404]",
                "this server does not serve an endpoint this command needs:",
                "(server said (404): [404])",
                Kind::General,
            ),
        ] {
            let error = classified(status, body);
            let message = error.to_string();
            assert!(message.starts_with(first), "{message}");
            assert_eq!(message.lines().last(), Some(last), "{body}");
            assert_eq!(error.kind(), kind, "{body}");
        }
    }

    #[test]
    fn a_rate_limit_says_how_long() {
        let mut answer = answer(429, r#"{"message":"slow down"}"#);
        answer
            .headers
            .insert(header::RETRY_AFTER, HeaderValue::from_static("42"));
        let error = error(&answer, &Mask::default()).expect("an error");
        assert_eq!(
            error.to_string(),
            "rate limited (429): slow down, retry after 42s"
        );
    }

    #[test]
    fn an_error_never_quotes_a_secret() {
        let mut mask = Mask::default();
        mask.add("the-secret-itself");
        for body in [
            r#"{"code":400,"message":"the-secret-itself is wrong"}"#,
            r#"{"code":400,"token":"the-secret-itself"}"#,
            "the-secret-itself",
        ] {
            let error = error(&answer(400, body), &mask).expect("an error");
            let shown = format!("{error:?}");
            assert!(!shown.contains("the-secret-itself"), "{shown}");
        }
    }

    #[test]
    fn a_rule_looks_at_the_whole_body_and_quotes_the_start_of_it() {
        let body = format!("{}plan does not allow", "x".repeat(5000));
        let error = classified(400, &body);
        assert_eq!(error.kind(), Kind::Forbidden);
        assert!(error.to_string().contains("(truncated, 5019 bytes total)"));
    }
}
