//! The receipts of a server.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use aws_lc_rs::{
    hmac,
    rand::{SecureRandom as _, SystemRandom},
};

use crate::{
    Digest, Keys, Mode, Payload, Receipt, Settings, Signer, SignerTask, StatementDigest, Versions,
    hex,
};

/// The receipts of a server. Clones share them.
#[derive(Clone)]
pub struct Receipts(Arc<Shared>);

struct Shared {
    signer: Signer,
    settings: ArcSwap<Settings>,
    server: String,
    version: &'static str,
    /// Key of the marks of statements of the operator.
    marks: hmac::Key,
}

/// A receipt that a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// True if it names the snapshot.
    pub snapshot: bool,
    /// True if it has a digest of each row.
    pub each_row: bool,
}

// === impl Receipts ===

impl Receipts {
    /// Makes the receipts of a server with this public address and version, and the task that signs
    /// them. Servers with the same secret mark a statement of the operator in the same way.
    pub fn new(
        keys: Keys,
        settings: Settings,
        server: Option<String>,
        version: &'static str,
        secret: Option<&[u8]>,
    ) -> (Self, SignerTask) {
        let (signer, task) = Signer::new(keys);
        let secret = secret.map_or_else(|| random::<32>().to_vec(), <[u8]>::to_vec);
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        let derived = hmac::sign(&secret, b"ziggurat statements of receipts");
        let shared = Shared {
            signer,
            settings: ArcSwap::from_pointee(settings),
            server: server.unwrap_or_else(|| hex(&random::<8>())),
            version,
            marks: hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()),
        };
        (Self(Arc::new(shared)), task)
    }

    /// Applies changed settings with their keys.
    pub fn replace(&self, settings: Settings, keys: Keys) {
        self.0.settings.store(Arc::new(settings));
        self.0.signer.replace(keys);
    }

    /// Returns the public keys as a set of RFC 7517.
    #[must_use]
    pub fn published(&self) -> String {
        self.0.signer.keys().published()
    }

    /// Returns the receipt that a request asks for, with the value of a member: `true`, or `"rows"`
    /// for one with a digest of each row.
    #[must_use]
    pub fn asked(&self, asked: Option<&str>) -> Option<Wanted> {
        let each_row = asked == Some(r#""rows""#);
        let is_asked = each_row || asked == Some("true");
        is_asked.then(|| self.wanted(each_row))
    }

    /// Returns the receipt that a call of a tool gets, if it gets one: `asked` is as in
    /// [`asked`](Self::asked). Clients that negotiate no revision get one only if the operator allows
    /// that.
    #[must_use]
    pub fn of_tool(&self, asked: Option<&str>, is_negotiated: bool) -> Option<Wanted> {
        let settings = self.0.settings.load();
        if !is_negotiated {
            return self.asked(asked).filter(|_| settings.v1);
        }
        let is_for_all = settings.mode == Mode::All;
        self.asked(asked)
            .or_else(|| is_for_all.then(|| self.wanted(false)))
    }

    fn wanted(&self, each_row: bool) -> Wanted {
        Wanted {
            snapshot: self.0.settings.load().snapshot,
            each_row,
        }
    }

    /// Returns the mark of a statement of the operator.
    #[must_use]
    pub fn mark(&self, statement: &Digest) -> StatementDigest {
        StatementDigest::Hmac(hex(hmac::sign(&self.0.marks, statement).as_ref()))
    }

    /// Returns a payload with the members that are the server's.
    #[must_use]
    pub fn payload(&self, postgresql: Option<String>) -> Payload {
        Payload {
            id: hex(&random::<8>()),
            server: self.0.server.clone(),
            version: Versions {
                ziggurat: self.0.version.to_owned(),
                postgresql,
            },
            ..Payload::default()
        }
    }

    /// Signs a payload. Returns `None` if the server ends.
    pub async fn sign(&self, payload: Vec<u8>) -> Option<Receipt> {
        self.0.signer.sign(payload).await
    }
}

impl fmt::Debug for Receipts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receipts").field(&self.0.signer).finish()
    }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.expect("the operating system has random bytes");
    bytes
}
