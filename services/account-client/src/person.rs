//! Signs a person in at the account service (OAuth 2.1), and keeps the person signed in.

use std::{io::Write, time::Duration};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderValue, Method, header};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rand::{
    TryRng as _,
    rngs::{SysError, SysRng},
};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use ziggurat_runtime::Secret;

use crate::{
    error::{Error, Kind},
    http::{
        address::Address,
        message::{Incoming, Outgoing, Purpose, Sent},
        transport::Transport,
    },
    token::{Token, exchange},
};

/// Id of this program as a client.
pub const CLIENT_ID: &str = "ziggurat-cli";

/// Message after the end of a sign-in.
const AGAIN: &str = "sign in again with 'ziggurat platform auth login --browser'";

/// Characters that are encoded in a form. Secrets have none of them, so they look in the log as they
/// are, and are masked.
const ODD: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

const METADATA: &str = "/.well-known/oauth-authorization-server";

/// Timeout of a request if `--timeout 0` disables the limit.
const UNBOUNDED: Duration = Duration::from_secs(30);

/// The service as an issuer of tokens.
#[derive(Clone, Debug, Deserialize)]
pub struct PersonIssuer {
    /// Its name in tokens and answers.
    pub issuer: String,
    /// The page at which people sign in.
    #[serde(default)]
    pub authorization_endpoint: String,
}

/// A secret of one sign-in, and the challenge that names it before (RFC 7636).
#[derive(Clone, Debug)]
pub struct Verifier {
    /// The secret.
    pub verifier: Secret,
    /// Its challenge.
    pub challenge: String,
}

/// The tokens of a person.
#[derive(Clone, Debug)]
pub struct PersonTokens {
    /// The access token.
    pub token: Token,
    /// The token for the next access token.
    pub refresh: Secret,
}

/// The codes of a device (RFC 8628).
#[derive(Clone, Debug, Deserialize)]
pub struct DeviceCodes {
    /// The code of the device.
    pub device_code: Secret,
    /// The code that the person types.
    pub user_code: String,
    /// The page to type it at.
    pub verification_uri: String,
    /// The lifetime of both codes, in seconds.
    pub expires_in: u64,
    /// The time between two questions, in seconds.
    #[serde(default = "usual_interval")]
    pub interval: u64,
}

/// Answers to a device that asks for its tokens.
#[derive(Clone, Debug)]
pub enum DeviceAnswer {
    /// The person allowed it.
    Tokens(PersonTokens),
    /// The person has not decided.
    Waits,
    /// The person has not decided, and the device asks too often.
    SlowDown,
    /// The person denied.
    Denied,
    /// The codes have expired.
    Expired,
}

/// Sends the requests of a sign-in at one address.
#[derive(Debug)]
pub struct PersonSignIn<'t, 'o, 'a> {
    transport: &'t mut Transport<'o>,
    address: &'a Address,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: Secret,
    refresh_token: Option<Secret>,
    expires_in: u32,
}

#[derive(Deserialize)]
struct ErrorAnswer {
    error: String,
}

fn usual_interval() -> u64 {
    5
}

/// Creates a random text that cannot be guessed.
///
/// # Errors
/// Fails if the system has no random bytes.
pub fn random_text() -> Result<String, SysError> {
    let mut bytes = [0; 32];
    SysRng.try_fill_bytes(&mut bytes)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

// === impl Verifier ===

impl Verifier {
    /// Creates one.
    ///
    /// # Errors
    /// Fails if the system has no random bytes.
    pub fn new() -> Result<Self, SysError> {
        let verifier = random_text()?;
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        Ok(Self {
            verifier: verifier.into(),
            challenge,
        })
    }
}

// === impl PersonSignIn ===

impl<'t, 'o, 'a> PersonSignIn<'t, 'o, 'a> {
    /// Sends with this transport.
    pub fn new(transport: &'t mut Transport<'o>, address: &'a Address) -> Self {
        Self { transport, address }
    }

    /// Returns the issuer at the address.
    ///
    /// # Errors
    /// Fails if it cannot be read, people do not sign in there, or it names itself otherwise: then its
    /// pages could belong to another service (RFC 8414, section 3.3).
    pub async fn issuer(&mut self, notes: &mut (dyn Write + Send)) -> Result<PersonIssuer, Error> {
        exchange::warn_of_plain_http(notes, self.address);
        let answer = self.sent(notes, Method::GET, METADATA, None).await?;
        if let Some(error) = self.refusal(&answer) {
            return Err(error);
        }
        let here = self.address.as_str().trim_end_matches('/');
        let read: Option<PersonIssuer> = serde_json::from_slice(&answer.body).ok();
        let Some(issuer) = read.filter(|it| !it.authorization_endpoint.is_empty()) else {
            let message = format!(
                "people do not sign in at {here}: its operator switches it on with sign_in.enabled"
            );
            return Err(Error::new(Kind::General, message));
        };
        if issuer.issuer != here {
            let message = format!(
                "the service at {here} calls itself {}: sign in with --api-url and that address",
                issuer.issuer
            );
            return Err(Error::new(Kind::General, message));
        }
        Ok(issuer)
    }

    /// Exchanges a code.
    ///
    /// # Errors
    /// Fails if the service refuses or does not answer.
    pub async fn by_code(
        &mut self,
        notes: &mut (dyn Write + Send),
        code: &str,
        verifier: &Verifier,
        redirect: &str,
    ) -> Result<PersonTokens, Error> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier.verifier.expose()),
            ("redirect_uri", redirect),
        ];
        let answer = self.asked(notes, "/oauth/token", &form).await?;
        self.tokens(&answer)
    }

    /// Exchanges a refresh token, which is void from then on.
    ///
    /// # Errors
    /// Fails if the sign-in has ended, or the service does not answer.
    pub async fn refreshed(
        &mut self,
        notes: &mut (dyn Write + Send),
        refresh: &Secret,
    ) -> Result<PersonTokens, Error> {
        exchange::warn_of_plain_http(notes, self.address);
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.expose()),
        ];
        let answer = self.asked(notes, "/oauth/token", &form).await?;
        self.tokens(&answer)
    }

    /// Begins a sign-in on another device.
    ///
    /// # Errors
    /// Fails if the service refuses or does not answer.
    pub async fn device(
        &mut self,
        notes: &mut (dyn Write + Send),
        issuer: &str,
    ) -> Result<DeviceCodes, Error> {
        let form = [("scope", "mcp offline_access"), ("resource", issuer)];
        let answer = self
            .asked(notes, "/oauth/device_authorization", &form)
            .await?;
        if let Some(error) = self.refusal(&answer) {
            return Err(error);
        }
        serde_json::from_slice(&answer.body).map_err(|_| invalid())
    }

    /// Asks for the tokens of a device.
    ///
    /// # Errors
    /// Fails if the service refuses or does not answer.
    pub async fn by_device(
        &mut self,
        notes: &mut (dyn Write + Send),
        codes: &DeviceCodes,
    ) -> Result<DeviceAnswer, Error> {
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", codes.device_code.expose()),
        ];
        let answer = self.asked(notes, "/oauth/token", &form).await?;
        Ok(match error_of(&answer).as_deref() {
            Some("authorization_pending") => DeviceAnswer::Waits,
            Some("slow_down") => DeviceAnswer::SlowDown,
            Some("access_denied") => DeviceAnswer::Denied,
            Some("expired_token") => DeviceAnswer::Expired,
            _ => DeviceAnswer::Tokens(self.tokens(&answer)?),
        })
    }

    /// Ends the grant of a refresh token.
    ///
    /// # Errors
    /// Fails if the service refuses or does not answer.
    pub async fn revoke(
        &mut self,
        notes: &mut (dyn Write + Send),
        refresh: &Secret,
    ) -> Result<(), Error> {
        let form = [("token", refresh.expose())];
        let answer = self.asked(notes, "/oauth/revoke", &form).await?;
        match self.refusal(&answer) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Sends a form as this client.
    async fn asked(
        &mut self,
        notes: &mut (dyn Write + Send),
        path: &str,
        form: &[(&str, &str)],
    ) -> Result<Incoming, Error> {
        let mut body = format!("client_id={CLIENT_ID}");
        for (name, value) in form {
            if !matches!(*name, "grant_type" | "scope" | "resource" | "redirect_uri") {
                self.transport.hide(value);
            }
            body.push('&');
            body.push_str(name);
            body.push('=');
            body.extend(utf8_percent_encode(value, ODD));
        }
        self.sent(notes, Method::POST, path, Some(body.into()))
            .await
    }

    async fn sent(
        &mut self,
        notes: &mut (dyn Write + Send),
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<Incoming, Error> {
        let options = self.transport.options();
        let mut headers = options.headers.clone();
        if body.is_some() {
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            headers.insert(header::CONTENT_TYPE, form);
        }
        let request = Outgoing {
            method,
            url: self.address.join(path),
            headers,
            body,
            purpose: Purpose::Exchange,
            timeout: Some(options.timeout.unwrap_or(UNBOUNDED)),
            retries: 0,
        };
        match self.transport.send(&request, notes).await {
            Ok(Sent::Answer(answer)) => Ok(answer),
            Ok(Sent::Stopped(_)) => Err(Error::new(
                Kind::General,
                "the dry run stopped before the sign-in",
            )),
            Err(error) => {
                let mask = self.transport.mask();
                let error = exchange::unanswered(&error, self.address, mask);
                Err(error.with_request(request.method.as_str(), mask.url(&request.url)))
            }
        }
    }

    fn tokens(&mut self, answer: &Incoming) -> Result<PersonTokens, Error> {
        if let Some(error) = self.refusal(answer) {
            return Err(error);
        }
        let read: TokenAnswer = serde_json::from_slice(&answer.body).map_err(|_| invalid())?;
        let refresh = read.refresh_token.ok_or_else(invalid)?;
        let is_sendable = |byte: u8| byte.is_ascii_graphic();
        if !read.access_token.expose().bytes().all(is_sendable) {
            return Err(invalid());
        }
        self.transport.hide(read.access_token.expose());
        self.transport.hide(refresh.expose());
        let now = Timestamp::now();
        let lifetime = jiff::SignedDuration::from_secs(read.expires_in.into());
        Ok(PersonTokens {
            token: Token {
                bearer: read.access_token,
                expires_at: now.checked_add(lifetime).unwrap_or(Timestamp::MAX),
                issued_at: Some(now),
            },
            refresh,
        })
    }

    /// Returns the error for an answer, if it is one.
    fn refusal(&self, answer: &Incoming) -> Option<Error> {
        if answer.status.is_success() {
            return None;
        }
        if error_of(answer).as_deref() == Some("invalid_grant") {
            return Some(Error::new(Kind::Auth, AGAIN));
        }
        let mask = self.transport.mask();
        let error = crate::http::classify::error(answer, mask)?;
        Some(exchange::refusal(answer, &error, mask))
    }
}

/// Returns the error that an answer names (RFC 6749, section 5.2).
fn error_of(answer: &Incoming) -> Option<String> {
    if answer.status.is_success() {
        return None;
    }
    let read: ErrorAnswer = serde_json::from_slice(&answer.body).ok()?;
    Some(read.error)
}

fn invalid() -> Error {
    Error::new(
        Kind::Server,
        "authentication failed: the token endpoint sent no tokens",
    )
}
