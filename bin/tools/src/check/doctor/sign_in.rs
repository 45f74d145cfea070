//! Checks of the sign-in with a browser.

use std::time::Duration;

use ziggurat_accounts::UserFile;
use ziggurat_doctor::{Finding, health, sign_in};
use ziggurat_runtime::causes;
use ziggurat_sign_in_state::{KeyFile, SignInSection};

use crate::{
    configuration::{Configuration, Http},
    interface::NAME,
};

/// Checks the sign-in, if it is on.
pub(super) async fn check(configured: &Configuration, timeout: Duration) -> Vec<Finding> {
    let (Some(http), Some(section)) = (&configured.http, &configured.auth.oauth) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    findings.extend(accounts(configured, section));
    findings.extend(keys(configured));
    findings.extend(providers(section, timeout).await);
    findings.push(public_address(http, timeout).await);
    findings
}

/// Looks for an account that could sign in. A file that cannot be read has a finding of its own.
fn accounts(configured: &Configuration, section: &SignInSection) -> Option<Finding> {
    if section.provider_names().next().is_some() {
        return None;
    }
    let users = UserFile::new(&configured.auth.user_file).list().ok()?;
    if users.iter().any(|user| user.is_enabled) {
        return None;
    }
    Some(Finding::warn(
        sign_in::ID,
        "there is no account that could sign in",
        format!("{NAME} -add-user"),
    ))
}

/// Reads the keys, if the server has made them.
fn keys(configured: &Configuration) -> Option<Finding> {
    let path = KeyFile::place(&configured.data_folder);
    if !path.exists() {
        return None;
    }
    let error = KeyFile::open(&configured.data_folder).err()?;
    Some(Finding::fail(
        sign_in::ID,
        causes(&error),
        "restore the file from a backup; or remove it, which ends all grants",
    ))
}

async fn providers(section: &SignInSection, timeout: Duration) -> Vec<Finding> {
    let tried = match section.try_providers().await {
        Ok(tried) => tried,
        Err(error) => {
            let fix = "correct http.auth.oauth.registration.ca_file";
            return vec![Finding::fail(sign_in::ID, causes(&error), fix)];
        }
    };
    let each = tried.into_iter().map(async |(issuer, failure)| {
        let failure = failure.map(|error| causes(&*error));
        sign_in::provider(&issuer, failure, timeout).await
    });
    futures_util::future::join_all(each).await
}

/// Asks the server at its public address, if the server runs.
async fn public_address(http: &Http, timeout: Duration) -> Finding {
    let sockets = http.address.candidates().unwrap_or_default();
    let socket = sockets.into_iter().find(|socket| socket.port() != 0);
    let url = match (&http.public_url, socket) {
        (Some(url), _) => url.origin(),
        (None, Some(socket)) => http.issuer(socket),
        // The system chooses a port at the start.
        (None, None) => return Finding::ok(sign_in::ID, "people sign in at this machine"),
    };
    let answer = health::ask(&http.address, http.tls.is_some(), "/health").await;
    if !answer.is_ok_and(|answer| answer.contains(NAME)) {
        let finding = format!("people sign in at {url}, which is checked while the server runs");
        return Finding::ok(sign_in::ID, finding);
    }
    sign_in::public_address(&url, timeout).await
}
