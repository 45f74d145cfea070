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
    #[error("signed by an unknown key: {}", .0.escape_debug())]
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The public key of RFC 8037, appendix A.
    const KEY: &str =
        r#"{"keys":[{"crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

    /// A receipt that was put together by other programs: the second of two, signed by `openssl`.
    const FOREIGN: &str = concat!(
        r#"{"v":1,"payload":"eyJpZCI6IjAwMDAwMDAwMDAwMDAwZmYiLCJhdCI6IjIwMjYtMDEtMzFUMTI6MzQ6NTYuM"#,
        r#"DAwWiIsInNlcnZlciI6InMiLCJ2ZXJzaW9uIjp7InppZ2d1cmF0IjoiMSJ9LCJjYWxsZXIiOnsia2luZCI6Imxv"#,
        r#"Y2FsIiwibmFtZSI6IiJ9LCJ0b29sIjoidCIsImRhdGFiYXNlIjoiZCIsInN0YXRlbWVudCI6eyJzaGEyNTYiOiI"#,
        r#"ifSwibGltaXQiOjEsIm9mZnNldCI6MCwic2VudCI6e30sInJvd3MiOnsiY291bnQiOjAsInRydW5jYXRlZCI6Zm"#,
        r#"Fsc2UsInNoYTI1NiI6IiJ9LCJtYXNrZWQiOmZhbHNlfQ","index":1,"size":2,"#,
        r#""path":["IBJ4cbuYUG_LLrJqsPcmqX_QQHwDFAmKRBjjH0CrdKY"],"#,
        r#""signature":"6T1P7XPvPEEZf-VPBsVbvL3zYzN5I6j_OzWi4XiRV02qySjt9Bka_ZbC5ytnrWBJaN0m1jYHtcXw"#,
        r#"9P6ZUpI6DA","kid":"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"}"#,
    );

    #[test]
    fn a_receipt_of_other_programs_verifies_and_another_place_in_its_tree_does_not() {
        let keys = PublicKey::read(KEY.as_bytes()).expect("a key");
        let receipt: Receipt = serde_json::from_str(FOREIGN).expect("JSON");
        let payload = receipt.verify(&keys).expect("good");
        assert_eq!(payload.id, "00000000000000ff");
        for (index, size) in [(0, 2), (2, 2), (1, 1), (1, 3), (3, 4), (1, 0)] {
            let moved = Receipt {
                index,
                size,
                ..receipt.clone()
            };
            let error = moved.verify(&keys).expect_err("another place");
            assert_eq!(error, ReceiptError::Signature, "{index} of {size}");
        }
    }
}
