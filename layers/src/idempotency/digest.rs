//! Digests of keys, request heads and request bodies.

use std::hash::{Hash, Hasher};

use bytes::Buf;
use http::{HeaderName, HeaderValue, Request, header};
use sha2::{Digest as _, Sha256};

use crate::idempotency::key::SentKey;

/// A SHA-256 digest. Entries hold digests only, so long keys and bodies take no more memory.
pub(super) type Digest = [u8; 32];

/// The bytes of a body that were read so far.
#[derive(Clone, Debug, Default)]
pub(super) struct BytesRead {
    hasher: Sha256,
    length: u64,
}

/// The part of a request body that the handler read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BodyDigest {
    pub(super) digest: Digest,
    pub(super) length: u64,
    /// The handler read the body to its end.
    pub(super) is_whole: bool,
}

/// Feeds values into a cryptographic hash.
struct HashInto(Sha256);

/// Digests a key together with the client that sent it.
pub(super) fn of_key(identity: impl Hash, key: &SentKey) -> Digest {
    let mut hasher = HashInto(Sha256::new());
    identity.hash(&mut hasher);
    hasher.0.update(key.as_bytes());
    hasher.0.finalize().into()
}

/// Digests what a request asks for, without its body.
pub(super) fn of_head<B>(request: &Request<B>) -> Digest {
    let field = |name: HeaderName| request.headers().get(name).map(HeaderValue::as_bytes);
    let uri = request.uri();
    // HTTP/2 may omit the header, HTTP/1.1 the authority.
    let authority = uri
        .authority()
        .map(|authority| authority.as_str().as_bytes());
    let parts = [
        Some(request.method().as_str().as_bytes()),
        authority.or_else(|| field(header::HOST)),
        Some(uri.path().as_bytes()),
        uri.query().map(str::as_bytes),
        field(header::CONTENT_TYPE),
        field(header::CONTENT_ENCODING),
    ];
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.unwrap_or_default());
        // No part contains a line feed, so two heads with one digest are equal.
        hasher.update(b"\n");
    }
    hasher.finalize().into()
}

// === impl BytesRead ===

impl BytesRead {
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn add(&mut self, mut data: impl Buf) {
        while data.has_remaining() {
            let chunk = data.chunk();
            let length = chunk.len();
            self.add_chunk(chunk);
            data.advance(length);
        }
    }

    pub(super) fn add_chunk(&mut self, chunk: &[u8]) {
        self.hasher.update(chunk);
        self.length += chunk.len() as u64;
    }

    pub(super) fn finish(self, is_whole: bool) -> BodyDigest {
        BodyDigest {
            digest: self.hasher.finalize().into(),
            length: self.length,
            is_whole,
        }
    }
}

// === impl HashInto ===

impl Hasher for HashInto {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.clone().finalize();
        digest
            .iter()
            .take(8)
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte))
    }
}
