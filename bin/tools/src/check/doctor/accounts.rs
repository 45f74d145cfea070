//! Checks of what callers prove themselves with.

use std::time::Duration;

use ziggurat_accounts::UserFile;
use ziggurat_doctor::{Finding, tokens};
use ziggurat_runtime::causes;

use crate::{
    check::connections::Attempt,
    configuration::{Auth, Configuration},
    interface::NAME,
};

const USERS: &str = "auth.users";

/// Checks the API tokens and the users, if callers need a token.
pub(super) fn check(configured: &Configuration) -> Vec<Finding> {
    let auth = &configured.auth;
    if configured.http.is_none() || !auth.is_enabled {
        return Vec::new();
    }
    let mut findings = tokens::file(NAME, &auth.token_file, auth.issuer.is_some());
    findings.extend(users(auth));
    findings
}

fn users(auth: &Auth) -> Vec<Finding> {
    if !auth.user_file.is_file() {
        return vec![Finding::ok(USERS, "there are no users")];
    }
    let users = match UserFile::new(&auth.user_file).list() {
        Ok(users) => users,
        Err(error) => {
            let fix = "correct the file, or make a new one with -add-user";
            return vec![Finding::fail(USERS, causes(&error), fix)];
        }
    };
    let open = users
        .iter()
        .filter(|user| user.is_enabled && !user.has_password());
    let mut findings: Vec<_> = open
        .map(|user| {
            let name = &user.name;
            let finding = format!("the account {name} has no password that could be checked");
            let fix = format!("{NAME} -update-user -username {name}");
            Finding::fail(USERS, finding, fix)
        })
        .collect();
    if findings.is_empty() {
        findings.push(Finding::ok(USERS, format!("{} users", users.len())));
    }
    findings
}

/// Checks the issuer of tokens and its clock, if one is trusted.
pub(super) async fn issuer(
    configured: &Configuration,
    attempts: &[Attempt],
    timeout: Duration,
) -> Option<Finding> {
    let trusted = configured.auth.issuer.as_ref()?;
    let attempt = attempts.iter().find(|it| it.what == "http.auth.issuer")?;
    let failure = attempt.failure.as_ref().map(|error| format!("{error:#}"));
    Some(tokens::issuer(trusted, failure, timeout).await)
}
