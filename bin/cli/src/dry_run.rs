//! Reports a dry run: the checks that passed and the request that was not sent.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::value::RawValue;
use ziggurat_account_client::{Mask, Recorded, is_json, shown_headers};

use crate::{
    context::Context,
    failure::Failure,
    output::{self, View, print},
};

/// The check of a deletion: it would ask first.
pub(crate) const WOULD_CONFIRM: &str = "would require confirmation (--force bypasses)";

/// The check of a name, for which the platform was asked for its records.
pub(crate) const LOOKED_UP: &str = "the name belongs to one record of the platform";

#[derive(Serialize)]
struct DryRunReport<'a> {
    dry_run: bool,
    server_validated: bool,
    checks_passed: &'a [&'a str],
    request: Option<RequestReport>,
}

#[derive(Serialize)]
struct RequestReport {
    method: String,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<serde_json::Map<String, serde_json::Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_text: Option<String>,
}

/// Prints the report of a dry run without a failure.
///
/// # Errors
///
/// Fails if standard output cannot be written.
pub(crate) fn report(
    context: &mut Context<'_>,
    recorded: Option<&Recorded>,
    checks: &[&str],
) -> Result<(), Failure> {
    let mask = Mask::default();
    let with_headers = context.globals.debug;
    let request = recorded.map(|recorded| RequestReport::of(recorded, &mask, with_headers));
    let text = text(request.as_ref(), checks);
    let report = DryRunReport {
        dry_run: true,
        server_validated: false,
        checks_passed: checks,
        request,
    };
    print::report(context, &report, View::Plain(text))
}

/// Prints the checks that passed before a dry run failed.
pub(crate) fn stopped(context: &mut Context<'_>, checks: &[&str]) {
    if !checks.is_empty() {
        context.ask(passed(checks));
    }
}

// === impl RequestReport ===

impl RequestReport {
    fn of(recorded: &Recorded, mask: &Mask, with_headers: bool) -> Self {
        let shown = recorded
            .body
            .as_ref()
            .filter(|body| !body.is_empty())
            .map(|body| mask.dump(body));
        let (body, body_text) = match shown {
            Some(shown) if is_json(shown.as_bytes()) => (RawValue::from_string(shown).ok(), None),
            other => (None, other),
        };
        Self {
            method: recorded.method.to_string(),
            url: mask.url(&recorded.url),
            headers: with_headers.then(|| headers(recorded, mask)),
            body,
            body_text,
        }
    }
}

fn headers(recorded: &Recorded, mask: &Mask) -> serde_json::Map<String, serde_json::Value> {
    let mut all = serde_json::Map::new();
    for (name, value) in shown_headers(&recorded.headers, mask) {
        let values = all
            .entry(name)
            .or_insert_with(|| serde_json::Value::Array(Vec::new()));
        if let serde_json::Value::Array(values) = values {
            values.push(value.into());
        }
    }
    all
}

fn text(request: Option<&RequestReport>, checks: &[&str]) -> String {
    let mut text = passed(checks);
    let Some(request) = request else {
        text.push_str("nothing would be sent; the server was not consulted.\n");
        return text;
    };
    let _ = writeln!(text, "would send:\n  {} {}", request.method, request.url);
    for (name, values) in request.headers.iter().flatten() {
        for value in values.as_array().into_iter().flatten() {
            let _ = writeln!(text, "  {name}: {}", value.as_str().unwrap_or_default());
        }
    }
    let body = match (&request.body, &request.body_text) {
        (Some(body), _) => output::pretty(body.get().as_bytes()),
        (None, body) => body.clone(),
    };
    for line in body.iter().flat_map(|body| body.lines()) {
        let _ = writeln!(text, "  {line}");
    }
    text.push_str(if checks.contains(&LOOKED_UP) {
        "nothing was written; the server may still reject this request.\n"
    } else {
        "nothing was written; the server was not consulted and may still reject this request.\n"
    });
    text
}

fn passed(checks: &[&str]) -> String {
    if checks.is_empty() {
        return "checks passed: none — this command has no client-side checks\n".to_owned();
    }
    let lines = checks.iter().map(|check| format!("  ✓ {check}\n"));
    format!("checks passed:\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, Method, header};

    use super::*;

    fn recorded(body: Option<&str>) -> Recorded {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer t"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        Recorded {
            method: Method::PATCH,
            url: "https://h/base/account/v1/tenants/1?token=x".to_owned(),
            headers,
            body: body.map(|body| body.to_owned().into()),
        }
    }

    fn shown(recorded: Option<&Recorded>, checks: &[&str], with_headers: bool) -> String {
        let request = recorded.map(|it| RequestReport::of(it, &Mask::default(), with_headers));
        text(request.as_ref(), checks)
    }

    #[test]
    fn a_report_says_what_was_checked_and_what_would_be_sent() {
        let mut delete = recorded(None);
        delete.method = Method::DELETE;
        assert_eq!(
            shown(Some(&delete), &[WOULD_CONFIRM], false),
            "checks passed:\n  ✓ would require confirmation (--force bypasses)\nwould send:\n  \
             DELETE https://h/base/account/v1/tenants/1?token=████\nnothing was written; the server \
             was not consulted and may still reject this request.\n"
        );
        assert_eq!(
            shown(None, &[], false),
            "checks passed: none — this command has no client-side checks\nnothing would be sent; \
             the server was not consulted.\n"
        );
    }

    #[test]
    fn a_body_keeps_its_order_and_loses_its_secrets() {
        let body = r#"{"name":"acme","client_secret":"hush","a":1}"#;
        let shown = shown(Some(&recorded(Some(body))), &[], true);
        assert!(
            shown.contains(
                "\n  Accept: application/json\n  Authorization: ████\n  {\n    \"name\": \
                 \"acme\",\n    \"client_secret\": \"████\",\n    \"a\": 1\n  }\n"
            ),
            "{shown}"
        );
    }

    #[test]
    fn a_body_that_is_no_json_is_shown_as_text() {
        let request = RequestReport::of(&recorded(Some("a=1&token=x")), &Mask::default(), false);
        assert!(request.body.is_none());
        assert_eq!(request.body_text.as_deref(), Some("a=1&token=████"));
        let long = format!("[{}0]", "0,".repeat(5000));
        let request = RequestReport::of(&recorded(Some(&long)), &Mask::default(), false);
        assert!(request.body.is_none());
        assert!(
            request
                .body_text
                .is_some_and(|text| text.ends_with("… (truncated, 10003 bytes total)"))
        );
    }
}
