//! Access tokens: what is in them, and how they are made and read.

use std::{fmt, sync::Arc, time::Duration};

use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};
use ziggurat_accounts::WallClock;

use super::{Credential, Id, Keys, Moment, Trouble};

/// The type of an access token (RFC 9068, section 2.1).
const TYPE: &str = "at+jwt";

/// What a token says, besides for whom it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TokenSettings {
    /// Who issues it: the address of the service as its clients know it.
    pub issuer: String,
    /// Which servers it is for, besides the issuer itself.
    pub audience: Vec<String>,
    /// What it may be used for, if that is said.
    pub scope: Option<String>,
    /// For how long it is good.
    pub lifetime: Duration,
}

/// Makes and reads tokens. Clones share what they know.
#[derive(Clone)]
pub struct Tokens {
    shared: Arc<Shared>,
}

struct Shared {
    keys: Keys,
    settings: TokenSettings,
    validation: Validation,
    clock: WallClock,
}

/// Whom a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Principal {
    /// A program of a tenant.
    Client {
        /// The tenant.
        tenant: Id,
        /// The record of the client.
        client: Id,
    },
    /// A person, for a tenant.
    User {
        /// The tenant.
        tenant: Id,
        /// The person.
        user: Id,
    },
}

#[derive(Debug, Deserialize, Serialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Vec<String>,
    exp: i64,
    iat: i64,
    jti: String,
    tenant: String,
    /// The credential id; what a person's token does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
}

// === impl TokenSettings ===

impl TokenSettings {
    /// Tokens of this issuer, for itself, good for a day.
    #[must_use]
    pub fn new(issuer: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audience: Vec::new(),
            scope: None,
            lifetime: Duration::from_hours(24),
        }
    }

    fn seconds(&self) -> i64 {
        self.lifetime.as_secs().try_into().unwrap_or(i64::MAX)
    }
}

// === impl Tokens ===

impl Tokens {
    /// Signs with these keys.
    #[must_use]
    pub fn new(keys: Keys, settings: TokenSettings, clock: WallClock) -> Self {
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_issuer(&[&settings.issuer]);
        validation.set_audience(&[&settings.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // By our clock.
        validation.validate_exp = false;
        let shared = Shared {
            keys,
            settings,
            validation,
            clock,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// For how long a token is good, in seconds.
    #[must_use]
    pub fn lifetime(&self) -> i64 {
        self.shared.settings.seconds()
    }

    /// Who issues them.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.shared.settings.issuer
    }

    /// What they may be used for.
    #[must_use]
    pub fn scope(&self) -> Option<&str> {
        self.shared.settings.scope.as_deref()
    }

    /// The keys.
    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.shared.keys
    }

    /// When a token made now ends.
    pub(super) fn end(&self) -> Moment {
        Moment::from(self.shared.clock.now()).plus(self.lifetime())
    }

    /// Makes a token for a client that has signed in.
    pub(super) fn for_client(
        &self,
        credential: Credential,
        credential_id: &str,
        ends: Moment,
    ) -> Result<String, Trouble> {
        let settings = &self.shared.settings;
        let mut audience = vec![settings.issuer.clone()];
        audience.extend(settings.audience.iter().cloned());
        self.sign(&Claims {
            sub: credential.client.to_string(),
            aud: audience,
            client_id: Some(credential_id.to_owned()),
            scope: settings.scope.clone(),
            ..self.claims(credential.tenant, ends)?
        })
    }

    /// Makes a token for a person, which is good at the platform only.
    ///
    /// # Errors
    /// When the library does not sign it.
    pub fn for_user(&self, tenant: Id, user: Id, lifetime: Duration) -> Result<String, Trouble> {
        let seconds = lifetime.as_secs().try_into().unwrap_or(i64::MAX);
        let ends = Moment::from(self.shared.clock.now()).plus(seconds);
        self.sign(&Claims {
            sub: user.to_string(),
            ..self.claims(tenant, ends)?
        })
    }

    fn claims(&self, tenant: Id, ends: Moment) -> Result<Claims, Trouble> {
        let issuer = &self.shared.settings.issuer;
        Ok(Claims {
            iss: issuer.clone(),
            sub: String::new(),
            aud: vec![issuer.clone()],
            exp: ends.seconds(),
            iat: Moment::from(self.shared.clock.now()).seconds(),
            jti: Id::random()?.to_string(),
            tenant: tenant.to_string(),
            client_id: None,
            scope: None,
        })
    }

    fn sign(&self, claims: &Claims) -> Result<String, Trouble> {
        let signed = self.shared.keys.with_newest(|key| {
            let mut header = Header::new(Algorithm::EdDSA);
            header.typ = Some(TYPE.to_owned());
            header.kid = Some(key.id.clone());
            encode(&header, claims, &key.signing)
        });
        let signed = signed.and_then(Result::ok);
        signed.ok_or(Trouble::Unsigned)
    }

    /// Whom a token is for, if it is one of ours and has not ended.
    #[must_use]
    pub fn read(&self, token: &str) -> Option<Principal> {
        let header = decode_header(token).ok()?;
        if header.typ.as_deref() != Some(TYPE) {
            return None;
        }
        let claims = self.shared.keys.with(header.kid.as_deref()?, |key| {
            decode::<Claims>(token, &key.verifying, &self.shared.validation)
        });
        let claims = claims?.ok()?.claims;
        if claims.exp <= Moment::from(self.shared.clock.now()).seconds() {
            return None;
        }
        let (tenant, subject) = (claims.tenant.parse().ok()?, claims.sub.parse().ok()?);
        Some(match claims.client_id {
            Some(_) => Principal::Client {
                tenant,
                client: subject,
            },
            None => Principal::User {
                tenant,
                user: subject,
            },
        })
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}

// === impl Principal ===

impl Principal {
    /// The tenant it acts for.
    #[must_use]
    pub fn tenant(&self) -> Id {
        match self {
            Self::Client { tenant, .. } | Self::User { tenant, .. } => *tenant,
        }
    }
}
