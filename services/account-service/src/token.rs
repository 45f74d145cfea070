//! Access tokens: their claims, and how they are signed and verified.

use std::{fmt, sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use ziggurat_mcp_auth::Keys as _;
use ziggurat_sign_in_state::{EndedGrants, KeyFile};
use ziggurat_tokens::WallClock;

use crate::{AccountError, Credential, Id, UnixTime};

/// Contents of tokens that are the same for all clients.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TokenSettings {
    /// Issuer: the URL of the service as clients know it.
    pub issuer: String,
    /// Audience: servers that accept the token, in addition to the issuer.
    pub audience: Vec<String>,
    /// Scope of the token, if any.
    pub scope: Option<String>,
    /// Lifetime of the token.
    pub lifetime: Duration,
}

/// Signs and verifies tokens. Clones share their keys and settings.
#[derive(Clone)]
pub struct Tokens {
    shared: Arc<Shared>,
}

struct Shared {
    keys: KeyFile,
    settings: TokenSettings,
    clock: WallClock,
    /// The grants of people that have ended, if people sign in here.
    ended: Option<EndedList>,
}

/// Grants that have ended, and the seconds for which their tokens are good.
struct EndedList {
    grants: Arc<EndedGrants>,
    lifetime: i64,
}

/// The subject of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Principal {
    /// A client of a tenant.
    Client {
        /// Id of the tenant.
        tenant: Id,
        /// Record id of the client.
        client: Id,
    },
    /// A person, acting for a tenant.
    User {
        /// Id of the tenant.
        tenant: Id,
        /// Id of the person.
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
    /// The credential id; missing in the token of a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    /// The grant of a person who signed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    grant_id: Option<String>,
}

// === impl TokenSettings ===

impl TokenSettings {
    /// Makes settings with this issuer as the only audience and a lifetime of one day.
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
    pub fn new(keys: KeyFile, settings: TokenSettings, clock: WallClock) -> Self {
        let shared = Shared {
            keys,
            settings,
            clock,
            ended: None,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Accepts the tokens of people who signed in here, until their grant has ended. They have this
    /// lifetime.
    #[must_use]
    pub fn with_ended(self, grants: Arc<EndedGrants>, lifetime: Duration) -> Self {
        let Shared {
            keys,
            settings,
            clock,
            ..
        } = &*self.shared;
        let lifetime = lifetime.as_secs().try_into().unwrap_or(i64::MAX);
        let shared = Shared {
            keys: keys.clone(),
            settings: settings.clone(),
            clock: clock.clone(),
            ended: Some(EndedList { grants, lifetime }),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Lists the grants that have ended while tokens of theirs may be good, each with the end of the
    /// last one; `None` if people do not sign in here.
    pub(super) fn revoked_grants(&self) -> Option<Vec<(String, i64)>> {
        let ended = self.shared.ended.as_ref()?;
        let now = UnixTime::from(self.shared.clock.now()).seconds();
        let all = ended.grants.list().into_iter().map(|(grant, at)| {
            let at = i64::try_from(at).unwrap_or(i64::MAX);
            let until = at.saturating_add(ended.lifetime);
            (BASE64_URL_SAFE_NO_PAD.encode(grant), until)
        });
        Some(all.filter(|(_, until)| *until > now).collect())
    }

    /// Returns whether a grant may still be used.
    fn is_open(&self, grant: &str) -> bool {
        let Some(ended) = &self.shared.ended else {
            return false;
        };
        let id = BASE64_URL_SAFE_NO_PAD.decode(grant).ok();
        let id = id.and_then(|id| id.try_into().ok());
        id.is_some_and(|id| !ended.grants.contains(id))
    }

    /// Returns the lifetime of tokens, in seconds.
    #[must_use]
    pub fn lifetime(&self) -> i64 {
        self.shared.settings.seconds()
    }

    /// Returns the issuer.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.shared.settings.issuer
    }

    /// Returns the scope of tokens.
    #[must_use]
    pub fn scope(&self) -> Option<&str> {
        self.shared.settings.scope.as_deref()
    }

    /// Returns the keys.
    #[must_use]
    pub fn keys(&self) -> &KeyFile {
        &self.shared.keys
    }

    /// Returns the expiry of a token made now.
    pub(super) fn end(&self) -> UnixTime {
        UnixTime::from(self.shared.clock.now()).plus(self.lifetime())
    }

    /// Makes a token for an authenticated client.
    pub(super) fn for_client(
        &self,
        credential: Credential,
        credential_id: &str,
        ends: UnixTime,
    ) -> Result<String, AccountError> {
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

    /// Makes a token for a person, which only this service accepts.
    ///
    /// # Errors
    /// Fails if the library cannot sign it.
    pub fn for_user(
        &self,
        tenant: Id,
        user: Id,
        lifetime: Duration,
    ) -> Result<String, AccountError> {
        let seconds = lifetime.as_secs().try_into().unwrap_or(i64::MAX);
        let ends = UnixTime::from(self.shared.clock.now()).plus(seconds);
        self.sign(&Claims {
            sub: user.to_string(),
            ..self.claims(tenant, ends)?
        })
    }

    fn claims(&self, tenant: Id, ends: UnixTime) -> Result<Claims, AccountError> {
        let issuer = &self.shared.settings.issuer;
        Ok(Claims {
            iss: issuer.clone(),
            sub: String::new(),
            aud: vec![issuer.clone()],
            exp: ends.seconds(),
            iat: UnixTime::from(self.shared.clock.now()).seconds(),
            jti: Id::random()?.to_string(),
            tenant: tenant.to_string(),
            client_id: None,
            scope: None,
            grant_id: None,
        })
    }

    fn sign(&self, claims: &Claims) -> Result<String, AccountError> {
        let signed = self.shared.keys.sign_token(claims);
        signed.map_err(|_| AccountError::Unsigned)
    }

    /// Returns the subject of a token that this service has signed and that has not expired.
    #[must_use]
    pub fn read(&self, token: &str) -> Option<Principal> {
        let claims: Claims = self.shared.keys.read_token(token)?;
        let issuer = self.issuer();
        let is_ours = claims.iss == issuer && claims.aud.iter().any(|it| it == issuer);
        if !is_ours || claims.exp <= UnixTime::from(self.shared.clock.now()).seconds() {
            return None;
        }
        let (tenant, subject) = (claims.tenant.parse().ok()?, claims.sub.parse().ok()?);
        let user = Principal::User {
            tenant,
            user: subject,
        };
        match (claims.grant_id, claims.client_id) {
            // A token with a grant names a person.
            (Some(grant), _) => self.is_open(&grant).then_some(user),
            (None, Some(_)) => Some(Principal::Client {
                tenant,
                client: subject,
            }),
            (None, None) => Some(user),
        }
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
    /// Returns the tenant of the subject.
    #[must_use]
    pub fn tenant(&self) -> Id {
        match self {
            Self::Client { tenant, .. } | Self::User { tenant, .. } => *tenant,
        }
    }
}
