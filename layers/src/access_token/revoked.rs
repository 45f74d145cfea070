//! Tokens that were revoked before they expire.

use std::collections::HashSet;

use serde::Deserialize;

use crate::access_token::{claims::AccessToken, fetch::FetchError};

/// The revoked tokens of an issuer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Revoked {
    clients: HashSet<String>,
    subjects: HashSet<String>,
    tokens: HashSet<String>,
    grants: HashSet<String>,
}

/// The parts of a token by which it can be revoked.
#[derive(Clone, Debug)]
pub(super) struct TokenNames {
    subject: String,
    client_id: Option<String>,
    token_id: Option<String>,
    grant_id: Option<String>,
}

#[derive(Deserialize)]
struct RevocationList {
    issuer: String,
    revoked: Vec<RevokedEntry>,
    #[serde(default)]
    revoked_grants: Vec<RevokedGrant>,
}

#[derive(Deserialize)]
struct RevokedEntry {
    #[serde(alias = "client")]
    client_id: Option<String>,
    sub: Option<String>,
    jti: Option<String>,
}

/// A grant that has ended. The other members say until when it has to be known.
#[derive(Deserialize)]
struct RevokedGrant {
    grant: String,
}

// === impl Revoked ===

impl Revoked {
    pub(super) fn parse(document: &[u8], issuer: &str) -> Result<Self, FetchError> {
        let list: RevocationList = serde_json::from_slice(document)
            .map_err(|_| FetchError::malformed("the document is not a list of revoked tokens"))?;
        if list.issuer != issuer {
            return Err(FetchError::malformed("the list is of another issuer"));
        }
        let grants = list.revoked_grants.into_iter();
        let mut revoked = Self {
            grants: grants.map(|ended| ended.grant).collect(),
            ..Self::default()
        };
        for RevokedEntry {
            client_id,
            sub,
            jti,
        } in list.revoked
        {
            if client_id.is_none() && sub.is_none() && jti.is_none() {
                // Passing over it would accept a token that the issuer has revoked.
                let reason = "an entry of the list names no client, subject or token";
                return Err(FetchError::malformed(reason));
            }
            revoked.clients.extend(client_id);
            revoked.subjects.extend(sub);
            revoked.tokens.extend(jti);
        }
        Ok(revoked)
    }

    pub(super) fn has(&self, names: &TokenNames) -> bool {
        let TokenNames {
            subject,
            client_id,
            token_id,
            grant_id,
        } = names;
        // RFC 9068, section 2.2: a token that a client got for itself has the client as its
        // subject, and a plain one may have no `client_id`.
        self.clients.contains(subject)
            || self.subjects.contains(subject)
            || client_id
                .as_ref()
                .is_some_and(|id| self.clients.contains(id))
            || token_id.as_ref().is_some_and(|id| self.tokens.contains(id))
            || grant_id.as_ref().is_some_and(|id| self.grants.contains(id))
    }
}

// === impl TokenNames ===

impl TokenNames {
    pub(super) fn of(token: &AccessToken) -> Self {
        Self {
            subject: token.subject().to_owned(),
            client_id: token.client_id().map(str::to_owned),
            token_id: token.token_id().map(str::to_owned),
            grant_id: token.grant_id().map(str::to_owned),
        }
    }
}
