//! Seals that carry a state outside of the questions of the protocol.

use std::fmt::{self, Write as _};

use hmac_sha256::HMAC;

use crate::{
    RecordUnreachable,
    elicit::signed_state::{SignedState, StateScope, StateSigner, now},
};

/// Seals what one principal consents to. The consent is valid for ten minutes and one action.
#[derive(Debug)]
pub struct Sealer<'a> {
    signer: &'a StateSigner,
    principal: String,
}

/// A seal that was made for this principal, action and facts, and has not expired.
pub struct Seal(SignedState);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}

// === impl StateSigner ===

impl StateSigner {
    /// Returns the sealer of a principal.
    ///
    /// ```
    /// use ziggurat_mcp::StateSigner;
    ///
    /// # tokio_test::block_on(async {
    /// let signer = StateSigner::random();
    /// let sealer = signer.sealer("ann".to_owned());
    /// let text = sealer.seal("delete", b"row 7", &sealer.mark(b"the row"));
    /// assert!(signer.sealer("bob".to_owned()).open(&text, "delete", b"row 7").is_none());
    /// let seal = sealer.open(&text, "delete", b"row 7").expect("hers");
    /// assert_eq!(seal.state(), sealer.mark(b"the row"));
    /// assert!(sealer.use_up(&seal).await?);
    /// assert!(!sealer.use_up(&seal).await?);
    /// # Ok::<_, ziggurat_mcp::RecordUnreachable>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn sealer(&self, principal: String) -> Sealer<'_> {
        Sealer {
            signer: self,
            principal,
        }
    }
}

// === impl Sealer ===

impl Sealer<'_> {
    /// Returns 64 digits that are the same for the same secret. They tell nothing else of it.
    #[must_use]
    pub fn mark(&self, secret: &[u8]) -> String {
        let mut mac: HMAC = self.signer.keyed();
        mac.update(b"ziggurat mark\0");
        mac.update(secret);
        let mut mark = String::new();
        for byte in mac.finalize() {
            write!(mark, "{byte:02x}").expect("a string takes all that is written");
        }
        mark
    }

    /// Seals the consent to an action with these facts. The state can be read by all who see the
    /// seal.
    #[must_use]
    pub fn seal(&self, action: &str, facts: &[u8], state: &str) -> String {
        let scope = StateScope::of_action(&self.principal, action, facts);
        self.signer.sign_at(state, &scope, now())
    }

    /// Verifies a seal for an action with these facts.
    #[must_use]
    pub fn open(&self, seal: &str, action: &str, facts: &[u8]) -> Option<Seal> {
        let scope = StateScope::of_action(&self.principal, action, facts);
        self.signer.verify_at(seal, &scope, now()).map(Seal)
    }

    /// Uses up a seal. Returns whether it was unused.
    ///
    /// # Errors
    /// Fails if it is not known whether it was used before.
    pub async fn use_up(&self, seal: &Seal) -> Result<bool, RecordUnreachable> {
        let principal = self.principal.as_bytes();
        self.signer.use_up_by(&seal.0, principal).await
    }
}

// === impl Seal ===

impl Seal {
    /// Returns the state that was sealed.
    #[must_use]
    pub fn state(&self) -> &str {
        &self.0.text
    }
}
