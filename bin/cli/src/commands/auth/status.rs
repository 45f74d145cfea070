//! `auth status`: shows the credential that would be used, without a request.

use jiff::Timestamp;
use serde::Serialize;
use ziggurat_account_client::{Address, Cache, binding};

use crate::{
    config::PERSON,
    context::Context,
    credentials::{self, Credentials, Missing, Source},
    failure::Failure,
    output::{View, escape, print},
};

/// The state of the cached token.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub(in crate::commands) struct TokenState {
    /// It has not expired.
    pub(in crate::commands) token_valid: bool,
    /// It belongs to this credential at this address.
    pub(in crate::commands) token_bound: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::commands) expires_at: Option<String>,
}

#[derive(Default, Serialize)]
struct Status {
    authenticated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// `person` if a person signed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credential_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    storage: Option<&'static str>,
    #[serde(flatten)]
    token: TokenState,
}

/// Prints the state, then fails if there is no credential.
pub(in crate::commands) fn status(context: &mut Context<'_>) -> Result<(), Failure> {
    let found = look(context);
    let is_env = matches!(&found, Ok(credentials) if credentials.source == Source::Env);
    let address = credentials::address(context, is_env)?;
    let mut credentials = match found {
        Ok(credentials) => credentials,
        Err(missing) => return without_credential(context, &address, missing),
    };
    let token = token_state(context, &mut credentials, &address);
    let status = Status {
        authenticated: true,
        source: Some(credentials.source.name()),
        problem: None,
        auth: credentials.is_person().then_some(PERSON),
        credential_id: Some(credentials.client_id.clone()),
        api_url: Some(address.as_str().to_owned()),
        storage: Some(storage(credentials.source)),
        token,
    };
    let view = lines(&status, credentials.source);
    print::report(context, &status, view)
}

/// Returns the state of the cached token of a credential.
pub(in crate::commands) fn token_state(
    context: &Context<'_>,
    credentials: &mut Credentials,
    address: &Address,
) -> TokenState {
    if !credentials.may_be_cached() {
        return TokenState::default();
    }
    let cache = Cache::of(&context.config.cache_folder(), &context.profile);
    let Some(cached) = cache.load() else {
        return TokenState::default();
    };
    let fingerprint = binding::of(address, credentials).ok();
    TokenState {
        token_valid: cached.token.is_valid(Timestamp::now()),
        token_bound: fingerprint.is_some_and(|fingerprint| fingerprint == cached.fingerprint),
        expires_at: Some(shown(cached.token.expires_at)),
    }
}

/// Formats a time for output: seconds, UTC.
pub(super) fn shown(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Returns the credential with its secret; fails if the secret cannot be read.
pub(in crate::commands) fn look(context: &mut Context<'_>) -> Result<Credentials, Missing> {
    let mut credentials = Credentials::resolve(context)?;
    credentials.secret()?;
    Ok(credentials)
}

fn without_credential(
    context: &mut Context<'_>,
    address: &Address,
    missing: Missing,
) -> Result<(), Failure> {
    let status = Status {
        problem: missing.problem(),
        api_url: Some(address.as_str().to_owned()),
        ..Status::default()
    };
    let text = match &status.problem {
        Some(problem) => format!("Not authenticated: {}\n", escape(problem)),
        None => "Not authenticated.\n".to_owned(),
    };
    print::report(context, &status, View::Plain(text))?;
    Err(missing.into_failure())
}

fn storage(source: Source) -> &'static str {
    match source {
        Source::Flags => "flags",
        Source::Env => "env",
        Source::Config => "file",
        Source::Keychain => "keychain",
    }
}

fn lines(status: &Status, source: Source) -> View {
    let expires = status.token.expires_at.as_deref();
    let token = match (expires, status.token.token_valid, status.token.token_bound) {
        _ if source == Source::Env => "never cached (env credentials)".to_owned(),
        (None, _, _) => "not cached".to_owned(),
        (Some(_), false, _) => "expired".to_owned(),
        (Some(expires), true, true) => format!("valid (expires {expires})"),
        (Some(_), true, false) => "stale (different credential or API URL)".to_owned(),
    };
    let storage = (source == Source::Config).then_some("file (plain text)");
    let shown = |value: Option<&str>| value.unwrap_or_default().to_owned();
    View::Lines {
        width: 15,
        lines: vec![
            (
                "credential_id",
                "Credential ID",
                shown(status.credential_id.as_deref()),
            ),
            ("auth", "Signed in as", shown(status.auth)),
            ("source", "Auth source", shown(status.source)),
            ("api_url", "API URL", shown(status.api_url.as_deref())),
            ("storage", "Storage", shown(storage)),
            ("token_valid", "Token", token),
        ],
    }
}
