//! Clients that were revoked before their tokens expire.

use std::{collections::HashSet, time::Duration};

use serde::Deserialize;

use super::fetch::{FetchError, Fetched};

/// The revoked clients.
#[derive(Debug, Default)]
pub(super) struct Revoked {
    clients: HashSet<String>,
    tag: Option<String>,
    fetched_at: Option<Duration>,
}

#[derive(Deserialize)]
struct RevocationList {
    issuer: String,
    revoked: Vec<RevokedClient>,
}

#[derive(Deserialize)]
struct RevokedClient {
    client: String,
}

// === impl Revoked ===

impl Revoked {
    pub(super) fn has(&self, client: &str) -> bool {
        self.clients.contains(client)
    }

    /// Returns the entity tag of the last response.
    pub(super) fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the time of the last successful fetch.
    pub(super) fn fetched_at(&self) -> Option<Duration> {
        self.fetched_at
    }

    /// Returns the state after a response.
    pub(super) fn after(
        &self,
        fetched: Fetched,
        issuer: &str,
        now: Duration,
    ) -> Result<Self, FetchError> {
        let (body, tag) = match fetched {
            Fetched::New { body, tag } => (body, tag),
            Fetched::Same => {
                return Ok(Self {
                    clients: self.clients.clone(),
                    tag: self.tag.clone(),
                    fetched_at: Some(now),
                });
            }
        };
        let written: RevocationList = serde_json::from_slice(&body)
            .map_err(|_| FetchError::NotUnderstood("not a list of clients"))?;
        if written.issuer != issuer {
            return Err(FetchError::NotUnderstood("the list of another issuer"));
        }
        let clients = written.revoked.into_iter().map(|gone| gone.client);
        Ok(Self {
            clients: clients.collect(),
            tag,
            fetched_at: Some(now),
        })
    }
}
