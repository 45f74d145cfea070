//! Proves a client by the key that signs its assertion.

use ziggurat_layers::access_token::{PublicKeys, Unproved};

use crate::{
    clients::{
        Client, assertion,
        document::{ALGORITHMS, ClientKeys},
    },
    keys::{Keys, digest},
    people::{People, Unavailable},
    service::{Read, Shared, Wanted},
    store::{Seconds, Store},
};

/// Age from which on keys are fetched anew for a key that is not among them.
const YOUNG: Seconds = 300;

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Returns whether a client has signed an assertion for this server, and it is new.
    pub(super) async fn is_asserted(
        &self,
        read: &Read,
        client: &Client,
        assertion: &str,
    ) -> Result<bool, Unavailable> {
        let Some(claims) = self.signed_by(read, client, assertion).await? else {
            return Ok(false);
        };
        let token = self.settings.address("/oauth/token");
        let audiences = [&*self.settings.issuer, &*token];
        let Some(claims) = assertion::check(&claims, &client.id, &audiences, read.now) else {
            return Ok(false);
        };
        let named = format!("assertion\0{}\0{}", client.id, claims.id);
        let hash = digest(named.as_bytes());
        self.store.use_once(hash, claims.ends_at, read.now).await
    }

    /// Returns the claims of an assertion that a key of the client has signed.
    async fn signed_by(
        &self,
        read: &Read,
        client: &Client,
        assertion: &str,
    ) -> Result<Option<Vec<u8>>, Unavailable> {
        let keys = client.published.as_ref().and_then(|it| it.keys.as_ref());
        let Some(keys) = keys.filter(|_| assertion.len() <= assertion::LONGEST) else {
            return Ok(None);
        };
        for oldest in [Seconds::MAX, YOUNG] {
            let keys = self.keys_of(read, keys, oldest).await?;
            match keys.payload(assertion, &assertion::HEADERS) {
                Ok(claims) => return Ok(Some(claims)),
                Err(Unproved::Invalid) => break,
                // The client may have a new key.
                Err(Unproved::UnknownKey) => {}
            }
        }
        Ok(None)
    }

    /// Returns the keys of a client. Keys that cannot be read now may be read later.
    async fn keys_of(
        &self,
        read: &Read,
        keys: &ClientKeys,
        oldest: Seconds,
    ) -> Result<PublicKeys, Unavailable> {
        let parse = |text: &str| PublicKeys::parse(text.as_bytes(), &ALGORITHMS);
        let found = match keys {
            ClientKeys::Written(text) => parse(text),
            ClientKeys::At(url) => {
                let check = |text: &str| parse(text).map(drop).ok_or("it has no usable keys");
                let wanted = Wanted { url, read, oldest };
                let copy = self.copy(wanted, check).await?;
                copy.as_deref().and_then(parse)
            }
        };
        found.ok_or(Unavailable)
    }
}
