//! Checks of the tokens that callers prove themselves with.

use std::{path::Path, time::Duration};

use jiff::Timestamp;
use ziggurat_runtime::causes;
use ziggurat_tokens::{TokenFile, issuer::TrustedIssuer};

use crate::{Finding, clock};

const TOKENS: &str = "auth.tokens";
const ISSUER: &str = "auth.issuer";

/// Checks the file with the API tokens of a program. With an issuer it may be missing.
#[must_use]
pub fn file(program: &str, path: &Path, has_issuer: bool) -> Vec<Finding> {
    let shown = path.display();
    if !path.is_file() {
        if has_issuer {
            let finding = "there are no API tokens, only tokens of the issuer";
            return vec![Finding::ok(TOKENS, finding)];
        }
        let finding = format!("{shown} is not there, and the server needs it");
        return vec![Finding::fail(
            TOKENS,
            finding,
            format!("{program} -add-token"),
        )];
    }
    let tokens = match TokenFile::new(path).list() {
        Ok(tokens) => tokens,
        Err(error) => {
            let fix = "correct the file, or make a new one with -add-token";
            return vec![Finding::fail(TOKENS, causes(&error), fix)];
        }
    };
    let now = Timestamp::now();
    let expired = tokens.iter().filter(|token| token.is_expired(now));
    let mut findings: Vec<_> = expired
        .map(|token| {
            let finding = format!("the API token {} has expired", token.id);
            Finding::warn(
                TOKENS,
                finding,
                format!("{program} -remove-token {}", token.id),
            )
        })
        .collect();
    if findings.is_empty() {
        let finding = format!("{} API tokens in {shown}", tokens.len());
        findings.push(Finding::ok(TOKENS, finding));
    }
    findings
}

/// Returns the finding about an issuer that was tried, and compares its clock.
pub async fn issuer(
    trusted: &TrustedIssuer,
    failure: Option<String>,
    timeout: Duration,
) -> Finding {
    let url = &trusted.url;
    if let Some(failure) = failure {
        let fix = "correct the section issuer, or let this machine reach the issuer";
        return Finding::fail(ISSUER, format!("{url}: {failure}"), fix);
    }
    if let Some(difference) = clock::difference(url, timeout).await {
        return Finding::warn(
            ISSUER,
            format!("the clock of this machine is {difference:#} away from the clock of {url}"),
            "synchronise the clock of this machine",
        );
    }
    let resource = trusted.resource();
    Finding::ok(
        ISSUER,
        format!("{url} answers; its tokens are for {resource}"),
    )
}
