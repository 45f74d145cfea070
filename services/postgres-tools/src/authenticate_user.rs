//! `authenticate_user`: exchanges a name and a password for a session token.

#[cfg(test)]
mod tests;

use std::time::Duration;

use http::{HeaderValue, StatusCode, header};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ziggurat_accounts::{Accounts, LoginError, Session};
use ziggurat_calls::{Call, ErrorReason};
use ziggurat_mcp::{
    Error, Failure, Property, Schema, ToolDescriptor, ToolHandler, ToolRequest, ToolResult,
    Visibility,
};

/// Logs a user in.
///
/// A caller without a token calls it to get one, so it requires none. It is for programs that ask a
/// user for the password, and not in the list that a model sees.
#[derive(Clone, Debug, Default)]
pub struct AuthenticateUser {
    accounts: Option<Accounts>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments<'a> {
    #[serde(borrow)]
    username: Option<&'a RawValue>,
    #[serde(borrow)]
    password: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct LoginAnswer<'a> {
    success: bool,
    session_token: &'a str,
    expires_at: String,
    message: &'static str,
}

// === impl AuthenticateUser ===

impl AuthenticateUser {
    /// Makes a tool that logs in users of these accounts.
    #[must_use]
    pub fn new(accounts: Accounts) -> Self {
        let accounts = Some(accounts);
        Self { accounts }
    }

    /// Makes a tool that returns an error to every caller: there are no users over standard input
    /// and output, or if authentication is off.
    #[must_use]
    pub fn unconfigured() -> Self {
        Self::default()
    }
}

impl ToolHandler for AuthenticateUser {
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new(
            "authenticate_user",
            "Logs a user in and returns a session token for the Authorization header of further \
             requests. For client programs, which ask their user for the password.",
            Schema::new()
                .with_required("username", Property::string("The name of the user."))
                .with_required("password", Property::string("The password of the user.")),
        )
        .with_visibility(Visibility::Nowhere)
        .without_statements()
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let arguments: Arguments<'_> = request.arguments()?;
        let username = non_empty(
            arguments.username,
            "username is required",
            "username must be a non-empty string",
        )?;
        let password = SecretString::from(non_empty(
            arguments.password,
            "password is required",
            "password must be a non-empty string",
        )?);
        let Some(accounts) = &self.accounts else {
            return Err(Failure::new("user authentication is not configured").into());
        };
        let client = request.caller().client_ip();
        let session = accounts.login(&username, password, client).await;
        if let Err(error) = &session
            && let Some(reason) = reason(error)
        {
            Call::of(&request).set_reason(reason);
        }
        Ok(answer(&session.map_err(refusal)?))
    }
}

/// Returns why a login was refused; a fault of the server is no refusal.
fn reason(error: &LoginError) -> Option<ErrorReason> {
    match error {
        LoginError::RateLimited { .. } => Some(ErrorReason::Limited("logins")),
        LoginError::Busy { .. } | LoginError::Unavailable { .. } | LoginError::Internal(_) => None,
        _ => Some(ErrorReason::Denied),
    }
}

fn non_empty(
    argument: Option<&RawValue>,
    missing: &'static str,
    wrong: &'static str,
) -> Result<String, Failure> {
    let argument = argument.ok_or_else(|| Failure::new(missing))?;
    let text = serde_json::from_str::<String>(argument.get()).ok();
    text.filter(|text| !text.is_empty())
        .ok_or_else(|| Failure::new(wrong))
}

fn answer(session: &Session) -> ToolResult {
    let answer = LoginAnswer {
        success: true,
        session_token: session.token.expose_secret(),
        expires_at: session.expires_at.to_string(),
        message: "Authentication successful",
    };
    ToolResult::text(serde_json::to_string(&answer).expect("texts and a boolean"))
}

fn refusal(error: LoginError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        LoginError::RateLimited { retry_after } => {
            later(failure, StatusCode::TOO_MANY_REQUESTS, retry_after)
        }
        LoginError::Busy { retry_after } => {
            later(failure, StatusCode::SERVICE_UNAVAILABLE, retry_after)
        }
        LoginError::Unavailable {
            retry_after,
            source,
        } => later(
            failure.with_source(source),
            StatusCode::SERVICE_UNAVAILABLE,
            retry_after,
        ),
        LoginError::Internal(fault) => failure.with_source(fault),
        _ => failure,
    }
}

fn later(failure: Failure, status: StatusCode, after: Duration) -> Failure {
    // Rounded up, so that a client that retries after these seconds is admitted.
    let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
    failure
        .with_status(status)
        .with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
}
