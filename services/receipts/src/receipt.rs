//! A receipt as clients get it.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Digest, Payload, PublicKey, sha256, tree};

/// Version of the form.
pub(crate) const VERSION: u8 = 1;

/// Bytes before the root of a tree in the signed message.
const CONTEXT: &[u8] = b"ziggurat receipt v1\0";

/// A receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub(crate) v: u8,
    /// The payload, in base64url.
    pub(crate) payload: String,
    /// Place of the payload in its batch, and the number of payloads there.
    pub(crate) index: u64,
    pub(crate) size: u64,
    /// Path from the leaf to the root, in base64url.
    pub(crate) path: Vec<String>,
    pub(crate) signature: String,
    /// Id of the key.
    pub(crate) kid: String,
}

/// Reason why a receipt is not good.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReceiptError {
    /// No key of this id is known.
    #[error("signed by an unknown key: {0}")]
    UnknownKey(String),
    /// The signature is not one of this payload.
    #[error("the signature is wrong")]
    Signature,
}

// === impl Receipt ===

impl Receipt {
    /// Returns its payload, if one of these keys has signed it.
    ///
    /// # Errors
    /// Fails if it is wrong, or its key is unknown.
    pub fn verify(&self, keys: &[PublicKey]) -> Result<Payload, ReceiptError> {
        let key = keys.iter().find(|key| **key.id() == *self.kid);
        let key = key.ok_or_else(|| ReceiptError::UnknownKey(self.kid.clone()))?;
        self.read(key).ok_or(ReceiptError::Signature)
    }

    fn read(&self, key: &PublicKey) -> Option<Payload> {
        if self.v != VERSION {
            return None;
        }
        let decoded = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).ok();
        let payload = decoded(&self.payload)?;
        let path: Option<Vec<Digest>> = self
            .path
            .iter()
            .map(|digest| decoded(digest)?.try_into().ok())
            .collect();
        let root = tree::root(tree::leaf(&payload), self.index, self.size, &path?)?;
        let is_signed = key.has_signed(&message(&root), &decoded(&self.signature)?);
        // The key signs payloads of this program only.
        is_signed.then(|| serde_json::from_slice(&payload).ok())?
    }

    /// Returns the digest of its payload.
    pub(crate) fn digest(&self) -> Option<Digest> {
        let payload = BASE64_URL_SAFE_NO_PAD.decode(&self.payload).ok()?;
        Some(sha256(&payload))
    }
}

/// Returns the signed message about a tree.
pub(crate) fn message(root: &Digest) -> Vec<u8> {
    [CONTEXT, root].concat()
}
