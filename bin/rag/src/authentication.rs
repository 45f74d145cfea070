//! Verification of the tokens of callers.

use anyhow::{Context as _, bail};
use jiff::SignedDuration;
use tokio::task::JoinSet;
use tracing::info;
use ziggurat_layers::bearer::{BearerLayer, Challenge};
use ziggurat_tokens::{
    ApiTokens, KeptClaims, OpenError, TokenFile, WallClock,
    issuer::{Issuer, Settings, TokenVerifier, TrustedIssuer},
};

use crate::configuration::Auth;

/// Verifies API tokens, and tokens of an issuer if one is trusted.
type Verifier = TokenVerifier<ApiTokens>;

/// The tokens of a server.
pub(crate) struct Authentication {
    tokens: Option<ApiTokens>,
    issuer: Option<Issuer>,
    challenge: Challenge,
}

// === impl Authentication ===

impl Authentication {
    /// Reads the token file, and prepares the verification of tokens of the issuer, of which these
    /// claims are kept.
    ///
    /// # Errors
    /// Fails if a file cannot be used, or a setting of the issuer.
    pub(crate) fn open(auth: &Auth, claims: KeptClaims) -> anyhow::Result<Self> {
        let tokens = auth.token_file.clone().map(|path| {
            // Nothing is kept for a caller beyond its requests.
            let (at_once, clock) = (SignedDuration::ZERO, WallClock::default());
            ApiTokens::open(path, true, at_once, clock, |_| {}).map_err(described)
        });
        Ok(Self {
            tokens: tokens.transpose()?,
            issuer: issuer(auth, claims)?,
            challenge: challenge(auth)?,
        })
    }

    /// Checks that the files and the settings can be used. Changes no file.
    ///
    /// # Errors
    /// Fails as [`open`](Self::open) does.
    pub(crate) fn check(auth: &Auth) -> anyhow::Result<()> {
        if let Some(path) = &auth.token_file {
            if !path.exists() {
                bail!(described(OpenError::NotFound(path.clone())));
            }
            TokenFile::new(path).list()?;
        }
        issuer(auth, KeptClaims::default())?;
        challenge(auth).map(drop)
    }

    /// Starts the tasks that apply changes of the token file, and fetch the keys of the issuer. They
    /// end when the set is dropped.
    pub(crate) fn keep_current(&self) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        if let Some(tokens) = &self.tokens {
            tasks.spawn(tokens.watch().run());
        }
        if let Some(issuer) = self.issuer.clone() {
            tasks.spawn(issuer.run());
        }
        tasks
    }

    /// Builds the layer that demands a token.
    pub(crate) fn layer(&self) -> BearerLayer<Verifier> {
        BearerLayer::new(TokenVerifier::new(self.tokens.clone(), self.issuer.clone()))
            .with_challenge(self.challenge.clone())
            // Guessing 32 random bytes needs no counting.
            .with_failures_reported(false)
    }
}

/// Prepares the verification of tokens of an issuer, if one is configured.
fn issuer(auth: &Auth, claims: KeptClaims) -> anyhow::Result<Option<Issuer>> {
    let Some(trusted) = &auth.issuer else {
        return Ok(None);
    };
    let settings = Settings {
        claims,
        ..trusted.settings()?
    };
    let issuer = Issuer::new(settings, |_| {}).context("server.auth.issuer")?;
    info!(
        "tokens of {} are accepted for {}",
        trusted.url,
        trusted.resource()
    );
    Ok(Some(issuer))
}

fn challenge(auth: &Auth) -> anyhow::Result<Challenge> {
    let challenge = TrustedIssuer::challenge(auth.issuer.as_ref());
    challenge.context("server.auth.issuer")
}

/// Adds to the error what the operator can do.
fn described(error: OpenError) -> anyhow::Error {
    match error {
        OpenError::NotFound(_) => anyhow::anyhow!(
            "{error}; create a token with -add-token, or remove server.auth.token_file"
        ),
        error => error.into(),
    }
}
