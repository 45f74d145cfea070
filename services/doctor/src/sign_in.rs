//! Checks of a sign-in with a browser.

use std::time::Duration;

use reqwest::{
    Client, StatusCode,
    header::{ACCEPT, WWW_AUTHENTICATE},
};
use serde_json::Value;
use ziggurat_runtime::causes;

use crate::{Finding, clock};

/// Id of the check.
pub const ID: &str = "auth.oauth";

/// Asks the server at its public address for what clients look for first: the documents of the
/// sign-in, and the challenge of a call without a token. The server has to run.
pub async fn public_address(url: &str, timeout: Duration) -> Finding {
    match problem(url, timeout).await {
        None => Finding::ok(ID, format!("clients find the sign-in at {url}")),
        Some(problem) => Finding::fail(
            ID,
            problem,
            "correct http.public_url; or let clients reach it, and have the proxy forward \
             /.well-known/*, /oauth/*, /authorize, /token, /register and /mcp as they come",
        ),
    }
}

/// Returns the finding about a provider that was tried, and compares its clock.
pub async fn provider(issuer: &str, failure: Option<String>, timeout: Duration) -> Finding {
    if let Some(failure) = failure {
        let fix = "correct http.auth.oauth, or let this machine reach the provider";
        return Finding::fail(ID, format!("{issuer}: {failure}"), fix);
    }
    if let Some(difference) = clock::difference(issuer, timeout).await {
        return Finding::warn(
            ID,
            format!("the clock of this machine is {difference:#} away from the clock of {issuer}"),
            "synchronise the clock of this machine",
        );
    }
    Finding::ok(ID, format!("{issuer} answers"))
}

/// Returns the first problem that a client would have.
async fn problem(url: &str, timeout: Duration) -> Option<String> {
    let client = match Client::builder().timeout(timeout).build() {
        Ok(client) => client,
        Err(error) => return Some(causes(&error)),
    };
    let resource = format!("{url}/.well-known/oauth-protected-resource/mcp");
    for (address, member, expected) in [
        (
            format!("{url}/.well-known/oauth-authorization-server"),
            "issuer",
            url.to_owned(),
        ),
        (resource.clone(), "resource", format!("{url}/mcp")),
    ] {
        let answer = match client.get(&address).send().await {
            Ok(answer) => answer,
            Err(error) => return Some(format!("{address}: {}", causes(&error.without_url()))),
        };
        let status = answer.status();
        if status != StatusCode::OK {
            return Some(format!("{address} answers {status}"));
        }
        let body = answer.bytes().await.unwrap_or_default();
        let document: Value = serde_json::from_slice(&body).unwrap_or_default();
        if document[member] != *expected {
            let found = &document[member];
            return Some(format!(
                "{address} has the {member} {found}, not {expected}"
            ));
        }
    }
    let address = format!("{url}/mcp");
    let asked = client.get(&address).header(ACCEPT, "text/event-stream");
    let answer = match asked.send().await {
        Ok(answer) => answer,
        Err(error) => return Some(format!("{address}: {}", causes(&error.without_url()))),
    };
    let challenge = answer.headers().get(WWW_AUTHENTICATE);
    let challenge = challenge.and_then(|text| text.to_str().ok());
    let names_document = challenge.is_some_and(|text| text.contains(&resource));
    if answer.status() != StatusCode::UNAUTHORIZED || !names_document {
        let status = answer.status();
        return Some(format!(
            "{address} answers {status} without a token, and not 401 with the address of {resource}"
        ));
    }
    None
}
